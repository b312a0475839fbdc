"""Before something reads the disk: unsaved documents are saved by the editor, or at least named."""

from __future__ import annotations

from steersman.tools.base import ToolContext
from steersman.tools.paths import display, folder_of


async def save_all(context: ToolContext) -> str:
    """Ask the editor to save what is unsaved in the workspace; what stays unsaved is named, else ""."""
    folders = context.editor.folders()
    unsaved = tuple(path for path in context.editor.unsaved() if folder_of(path, folders) is not None)
    if not unsaved:
        return ""
    saved = await context.editor.save(unsaved)
    left = [display(path, folders) for path in unsaved if path not in saved]
    if not left:
        return ""
    return f"[not saved in the editor, so the run used the disk's older text: {', '.join(left)}]"
