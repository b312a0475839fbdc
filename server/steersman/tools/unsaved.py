"""Before something reads the disk: unsaved documents are saved by the editor, or at least named."""

from __future__ import annotations

from pathlib import Path

from steersman.tools.base import ToolContext
from steersman.tools.paths import display, folder_of


async def save_all(context: ToolContext, *, ask: bool = False) -> tuple[Path, ...]:
    """Have the editor save what is unsaved in the workspace; the real paths of what stays unsaved.

    With `ask`, the person of an editor that does not save by itself is asked to.
    """
    unsaved = _unsaved(context)
    if not unsaved:
        return ()
    saved = await context.editor.save(unsaved)
    left = tuple(path for path in unsaved if path not in saved)
    if left and ask:
        await context.editor.ask_to_save(left)
        still = _unsaved(context)
        left = tuple(path for path in left if path in still)
    return left


def unsaved_note(left: tuple[Path, ...], context: ToolContext) -> str:
    """What a reader of the run must know about documents that stayed unsaved; "" where there is none."""
    if not left:
        return ""
    folders = context.editor.folders()
    names = ", ".join(display(path, folders) for path in left)
    return f"[not saved in the editor, where the disk has an older text: {names}]"


def _unsaved(context: ToolContext) -> tuple[Path, ...]:
    folders = context.editor.folders()
    return tuple(path for path in context.editor.unsaved() if folder_of(path, folders) is not None)
