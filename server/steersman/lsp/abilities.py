"""What the client said it can do, read once from `initialize`. Odd capabilities count as absent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from lsprotocol import types

from steersman.lsp.positions import PositionEncoding


class ClientAbilities(msgspec.Struct, frozen=True, kw_only=True):
    """The abilities that the server acts on. The defaults are those of a client that tells nothing."""

    apply_edit: bool = False
    document_changes: bool = False
    resource_operations: frozenset[str] = frozenset()
    work_done_progress: bool = False
    show_document: bool = False
    messages: bool = False
    """It says that it shows messages with buttons (`window.showMessage`)."""
    extension: frozenset[str] = frozenset()
    """Members of `experimental.steersman`: `events`, `approvals`, `save` and so on."""
    speaks_extension: bool = False
    encoding: PositionEncoding = "utf-16"


def abilities_of(capabilities: types.ClientCapabilities, encoding: PositionEncoding) -> ClientAbilities:
    """Read the capabilities; `encoding` is the one that the server chose."""
    workspace = capabilities.workspace
    edit = workspace.workspace_edit if workspace else None
    window = capabilities.window
    members = _extension(capabilities.experimental)
    return ClientAbilities(
        apply_edit=bool(workspace and workspace.apply_edit),
        document_changes=bool(edit and edit.document_changes),
        resource_operations=frozenset(
            str(getattr(kind, "value", kind)) for kind in (edit and edit.resource_operations) or ()
        ),
        work_done_progress=bool(window and window.work_done_progress),
        show_document=bool(window and window.show_document and window.show_document.support),
        messages=bool(window and window.show_message is not None),
        extension=frozenset(members or ()),
        speaks_extension=members is not None,
        encoding=encoding,
    )


def _extension(experimental: Any) -> frozenset[str] | None:
    """The members that are objects, as the contract says; None if the client does not speak it."""
    ours = _member(experimental, "steersman")
    if ours is None:
        return None
    names = ours if isinstance(ours, Mapping) else getattr(ours, "_fields", ())
    return frozenset(name for name in names if _is_object(_member(ours, name)))


def _member(value: Any, name: str) -> Any:
    """A member of an untyped object, which is a mapping or (from the protocol library) a named tuple."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping) or hasattr(value, "_fields")
