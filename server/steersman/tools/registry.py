"""All tools by name, and which of them a mode offers. Adding a tool is one file and one line here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman.domain.events import Mode
from steersman.tools.ask_user import AskUser
from steersman.tools.base import AnyTool
from steersman.tools.commands import RunCommand
from steersman.tools.delete import DeleteTool
from steersman.tools.edit import EditFile
from steersman.tools.intelligence import Definition, Diagnostics, Hover, References, Symbols
from steersman.tools.listing import ListFiles
from steersman.tools.outcome import Bounded
from steersman.tools.read import ReadFile
from steersman.tools.rename import RenameTool
from steersman.tools.results import ReadResult
from steersman.tools.run_tests import RunTests
from steersman.tools.search import SearchText
from steersman.tools.write import WriteFile

_READING: Final[tuple[AnyTool, ...]] = (ListFiles(), SearchText(), ReadFile())
_ACTING: Final[tuple[AnyTool, ...]] = (
    EditFile(),
    WriteFile(),
    RenameTool(),
    DeleteTool(),
    RunTests(),
    RunCommand(),
    AskUser(),
)
_RESULTS: Final[AnyTool] = ReadResult()

READ_ONLY: Final[tuple[AnyTool, ...]] = (*map(Bounded, _READING), _RESULTS)
"""What every mode offers. read_result limits itself: its pages must not be stored again."""
TOOLS: Final[tuple[AnyTool, ...]] = (*READ_ONLY, *map(Bounded, _ACTING))

_ASKING: Final[tuple[AnyTool, ...]] = (Diagnostics(), Definition(), References(), Symbols(), Hover())
INTELLIGENCE: Final[tuple[AnyTool, ...]] = tuple(map(Bounded, _ASKING))
"""Reading through the editor's language servers, for every mode, where the editor answers such questions."""


def toolbox(mode: Mode, more: Iterable[AnyTool] = ()) -> dict[str, AnyTool]:
    """The tools that a mode offers, by name, in a fixed order; `more` are tools of other parts.

    The modes `plan` and `ask` offer only reading here; what else a mode needs is in `more`.
    """
    offered = TOOLS if mode == "agent" else READ_ONLY
    return {tool.name: tool for tool in (*offered, *more)}
