"""What a terminal would show in the end: bytes of output to plain text, piece by piece. Pure.

Escape sequences go, redraws collapse to the last state of each line, CRLF becomes a line end, control
characters are dropped. No byte of a control sequence must ever come through, wherever a read cuts it.
"""

from __future__ import annotations

import codecs
import re

ROWS = 50
"""Lines that a redraw may still change; what scrolled out above is settled."""
LINE_CHARACTERS = 8192
"""A longer line is settled as it stands: no progress bar is that long, and memory has an end."""
SEQUENCE_CHARACTERS = 2048
"""An escape string (a title, a link) that does not end within this was none."""

COLUMNS = 300
"""The furthest that a cursor movement goes, so that no few bytes turn into many blanks."""

_MOVES = "ABCDEFGHJKf"
_CSI = r"\x1b\[[0-?]{0,64}[ -/]{0,8}"
_STRING_BODY = rf"\x1b[\]PX^_][^\x07\x1b]{{0,{SEQUENCE_CHARACTERS}}}"
_DROPPED = re.compile(r"[\x00-\x06\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9a\x9c-\x9f]+")
_STRING = re.compile(rf"{_STRING_BODY}(?:\x07|\x1b\\)")
_STYLE = re.compile(rf"{_CSI}(?![{_MOVES}])[@-~]|\x1b[ -/]{{1,8}}[0-~]|\x1b(?![\[\]PX^_])[0-~]")
_MOVE = re.compile(rf"\x1b\[([0-?]{{0,64}})[ -/]{{0,8}}([{_MOVES}])|[\a\b\n\r\x1b]")
_REDRAW = re.compile(r"[\a\b\r\x1b]")
_OPEN = re.compile(rf"(?:{_CSI}|\x1b[ -/]{{0,8}}|{_STRING_BODY}\x1b?)\Z")


class TerminalText:
    """Feed it bytes as they come; it gives back text that nothing can change any more."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._cut = ""
        self._screen = _Screen()

    def feed(self, data: bytes) -> str:
        decoded = _DROPPED.sub("", self._decoder.decode(data))
        text = self._cut + decoded.replace("\x9b", "\x1b[")
        begun = _OPEN.search(text, max(0, len(text) - SEQUENCE_CHARACTERS - 4))
        self._cut = begun[0] if begun else ""
        return self._show(text[: len(text) - len(self._cut)])

    def finish(self) -> str:
        """The rest. Nothing may be fed afterwards."""
        settled = self._show(self._cut + self._decoder.decode(b"", final=True))
        return settled + self._screen.settle()

    def _show(self, text: str) -> str:
        if "\x1b" in text:
            text = _STYLE.sub("", _STRING.sub("", text))
        return self._screen.draw(text)


class _Screen:
    """The last lines and a cursor. Columns count code points."""

    def __init__(self) -> None:
        self._lines = [""]
        self._row = self._column = 0
        self._settled: list[str] = []

    def draw(self, text: str) -> str:
        """Draw, and return what has scrolled out of reach."""
        at_end = self._row == len(self._lines) - 1 and self._column == len(self._lines[-1])
        if at_end and not _REDRAW.search(text):
            self._append(text)
        else:
            begin = 0
            for token in _MOVE.finditer(text):
                self._write(text[begin : token.start()])
                self._move(token[2] or token[0], token[1] or "")
                begin = token.end()
            self._write(text[begin:])
        settled, self._settled = "".join(self._settled), []
        return settled

    def settle(self) -> str:
        """Return the whole screen and start an empty one."""
        shown = "\n".join(self._lines)
        self._lines, self._row, self._column = [""], 0, 0
        return shown

    def _append(self, text: str) -> None:
        """The common case, at the speed of the C library: text at the end and nothing but line ends in it."""
        lines = ("\n".join(self._lines) + text).rsplit("\n", ROWS)
        if len(lines) > ROWS:
            self._settled.append(lines.pop(0) + "\n")
        self._lines, self._row, self._column = lines, len(lines) - 1, len(lines[-1])
        self._limit_line()

    def _write(self, run: str) -> None:
        if not run:
            return
        line = self._lines[self._row]
        end = self._column + len(run)
        self._lines[self._row] = line[: self._column].ljust(self._column) + run + line[end:]
        self._column = end
        self._limit_line()

    def _limit_line(self) -> None:
        if len(self._lines[self._row]) > LINE_CHARACTERS:
            self._settled.append(self.settle())

    def _move(self, move: str, parameters: str) -> None:
        digits = parameters.partition(";")[0]
        count = min(int(digits), COLUMNS) if digits.isdecimal() else 0
        match move:
            case "\n":
                self._next_line()
            case "\r":
                self._column = 0
            case "\b" | "D":
                self._column = max(0, self._column - max(1, count))
            case "C":
                self._column = min(self._column + max(1, count), max(self._column, COLUMNS))
            case "G":
                self._column = max(0, count - 1)
            case "A" | "F":
                self._row = max(0, self._row - max(1, count))
            case "B" | "E":
                self._row = min(len(self._lines) - 1, self._row + max(1, count))
            case "K" | "J":
                self._erase(move, count)
            case "H" | "f" if self._column:
                # Home of a full screen that is not kept here: what was said stays, and a new line begins.
                self._row = len(self._lines) - 1
                self._next_line()
        if move in "EF":
            self._column = 0

    def _next_line(self) -> None:
        self._row += 1
        self._column = 0
        if self._row == len(self._lines):
            self._lines.append("")
        if len(self._lines) > ROWS:
            self._settled.append(self._lines.pop(0) + "\n")
            self._row -= 1

    def _erase(self, move: str, part: int) -> None:
        line = self._lines[self._row]
        if part == 0:
            self._lines[self._row] = line[: self._column]
            if move == "J":
                del self._lines[self._row + 1 :]
        elif move == "K":
            kept = line[self._column :] if part == 1 else ""
            self._lines[self._row] = " " * min(self._column, len(line)) + kept if kept else ""
