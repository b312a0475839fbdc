"""Changes of the core as LSP workspace edits: offsets become positions. Pure; sends nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from steersman.lsp.documents import BOM
from steersman.lsp.positions import LineBuffer, PositionEncoding
from steersman.ports.editor import Document, Replacement

Json = dict[str, Any]


def spliced(text: str, replacements: Sequence[Replacement]) -> str:
    """The text after the replacements. Raises ValueError if they overlap or leave the text."""
    parts: list[str] = []
    done = 0
    for item in sorted(replacements, key=lambda r: (r.start, r.end)):
        if not done <= item.start <= item.end <= len(text):
            raise ValueError("replacements overlap or lie outside the text")
        parts += (text[done : item.start], item.new_text)
        done = item.end
    return "".join((*parts, text[done:]))


def text_edits(
    document: Document, replacements: Sequence[Replacement], encoding: PositionEncoding
) -> list[Json]:
    """The replacements as LSP text edits, in the order of the text."""
    # A client that keeps the byte order mark in its buffer counts it as a character of line 0.
    mark = BOM if document.is_open and document.bom else ""
    buffer = LineBuffer(mark + document.text, encoding)
    edits = []
    for item in _expressible(document.text, replacements):
        start, end = (buffer.position_at(len(mark) + offset) for offset in (item.start, item.end))
        edits.append({"range": {"start": start._asdict(), "end": end._asdict()}, "newText": item.new_text})
    return edits


def edit_document(document: Document, edits: list[Json], *, document_changes: bool) -> Json:
    """A workspace edit of one document, bound to its version where the client can check that."""
    if not document_changes:
        return {"changes": {document.uri: edits}}
    identifier = {"uri": document.uri, "version": document.version}
    return {"documentChanges": [{"textDocument": identifier, "edits": edits}]}


def create_file(uri: str, text: str) -> Json:
    """A workspace edit that creates a file with a text, and never overwrites one."""
    options = {"overwrite": False, "ignoreIfExists": False}
    operations: list[Json] = [{"kind": "create", "uri": uri, "options": options}]
    if text:
        start = {"line": 0, "character": 0}
        edits = [{"range": {"start": start, "end": start}, "newText": text}]
        operations.append({"textDocument": {"uri": uri, "version": None}, "edits": edits})
    return {"documentChanges": operations}


def rename_file(uri: str, new_uri: str) -> Json:
    """A workspace edit that renames a file or folder, and never overwrites one."""
    options = {"overwrite": False, "ignoreIfExists": False}
    return {"documentChanges": [{"kind": "rename", "oldUri": uri, "newUri": new_uri, "options": options}]}


def delete_file(uri: str, *, recursive: bool) -> Json:
    """A workspace edit that deletes a file, or a folder with its content."""
    options = {"recursive": recursive, "ignoreIfNotExists": False}
    return {"documentChanges": [{"kind": "delete", "uri": uri, "options": options}]}


def _expressible(text: str, replacements: Sequence[Replacement]) -> list[Replacement]:
    """The same change with no border between CR and LF, where no position can point."""
    merged: list[Replacement] = []
    for item in sorted(replacements, key=lambda r: (r.start, r.end)):
        if merged and merged[-1].end == item.start:
            last = merged.pop()
            item = Replacement(start=last.start, end=item.end, new_text=last.new_text + item.new_text)
        merged.append(item)
    return [_widened(text, item) for item in merged]


def _widened(text: str, item: Replacement) -> Replacement:
    if text[item.start - 1 : item.start + 1] == "\r\n":
        item = msgspec.structs.replace(item, start=item.start - 1, new_text="\r" + item.new_text)
    if text[item.end - 1 : item.end + 1] == "\r\n":
        item = msgspec.structs.replace(item, end=item.end + 1, new_text=item.new_text + "\n")
    return item
