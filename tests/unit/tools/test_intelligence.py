"""What language servers know, told in few words: real paths, lines from 1, never more than fits."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from steersman.errors import ToolFailed
from steersman.ports.query import Problem, ScriptedQueries, Spot, Symbol
from steersman.tools.registry import INTELLIGENCE, toolbox
from tests.unit.tools.context import Context

CART = "import os\r\n\r\ndef total(items):\r\n    return cart.total(items)\r\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "cart.py").write_bytes(CART.encode())
    (folder / ".env").write_text("KEY=1\n")
    return folder


@pytest.fixture
def context(shop: Path) -> Context:
    made = Context(shop)
    made.queries = ScriptedQueries()
    return made


def scripted(context: Context) -> ScriptedQueries:
    assert isinstance(context.queries, ScriptedQueries)
    return context.queries


def spot(path: Path, line: int) -> Spot:
    return Spot(uri=path.as_uri(), path=path, line=line)


@pytest.mark.parametrize("name", ["definition", "references"])
async def test_places_are_told_with_their_lines(context: Context, shop: Path, name: str) -> None:
    scripted(context).spots = [
        spot(shop / "cart.py", 4),
        spot(shop / "cart.py", 3),
        spot(shop / "cart.py", 99),
        spot(shop / ".env", 1),
        spot(Path("/usr/lib/lib.py"), 7),
        Spot(uri="untitled:x", path=None, line=1),
    ]
    outcome = await context.call(name, path="cart.py", line=4, symbol="total")
    assert outcome.content.split("\n") == [
        ".env:1",
        "cart.py:3: def total(items):",
        "cart.py:4: return cart.total(items)",
        "cart.py:99",
        "/usr/lib/lib.py:7",
        "untitled:x:1",
    ]
    assert scripted(context).asked == [(name, shop / "cart.py", CART.index("total(items)\r", 20))]


@pytest.mark.parametrize(
    ("line", "symbol", "meant"),
    [
        (1, "os", "os"),
        (3, "total", "total"),
        (4, "cart.total", "total(items)\r"),
        (4, "cart", "cart"),
        (4, "item", "items)\r\n"),
        (4, "(", "(items)\r\n"),
    ],
)
async def test_the_symbol_is_found_on_its_line(
    context: Context, shop: Path, line: int, symbol: str, meant: str
) -> None:
    await context.call("hover", path="cart.py", line=line, symbol=symbol)
    [(_, path, offset)] = scripted(context).asked
    assert path == shop / "cart.py"
    assert isinstance(offset, int)
    assert CART[offset:].startswith(meant)
    assert CART[:offset].count("\n") == line - 1


async def test_a_symbol_that_is_elsewhere_is_told_where(context: Context) -> None:
    with pytest.raises(ToolFailed, match=r"not on line 1 .*'import os'.*stands on 3, 4") as caught:
        await context.call("definition", path="cart.py", line=1, symbol="total")
    assert caught.value.code == "NOT_FOUND"
    with pytest.raises(ToolFailed, match="nor on any other line"):
        await context.call("hover", path="cart.py", line=1, symbol="nothing")
    with pytest.raises(ToolFailed, match="no line 90"):
        await context.call("hover", path="cart.py", line=90, symbol="total")
    with pytest.raises(ToolFailed, match="does not exist"):
        await context.call("hover", path="card.py", line=1, symbol="total")
    with pytest.raises(ToolFailed, match="outside the workspace"):
        await context.call("hover", path="/etc/passwd", line=1, symbol="root")
    assert scripted(context).asked == []


async def test_the_live_text_decides_where_a_symbol_stands(context: Context, shop: Path) -> None:
    context.editor.open(shop / "cart.py", "# new\nwanted = 1\n")
    await context.call("hover", path="cart.py", line=2, symbol="wanted")
    assert scripted(context).asked == [("hover", shop / "cart.py", 6)]


async def test_problems_are_sorted_by_weight_and_cut(context: Context, shop: Path) -> None:
    def problem(line: int, severity: str, message: str = "m") -> Problem:
        return Problem(
            spot=spot(shop / "cart.py", line),
            severity=severity,  # type: ignore[arg-type]
            message=message,
            source="lint",
            code="E1",
        )

    hints = [problem(n, "hint") for n in range(1, 151)]
    long = problem(9, "error", "no\n  such " + "x" * 1000)
    scripted(context).problems = [*hints, problem(5, "warning"), long]
    outcome = await context.call("diagnostics")
    lines = outcome.content.split("\n")
    assert lines[0].startswith("cart.py:9: error: no such xxx")
    assert lines[0].endswith("x… [lint E1]")
    assert lines[1] == "cart.py:5: warning: m [lint E1]"
    assert (len(lines), lines[-1]) == (101, "[52 more problems]")
    assert outcome.verified is not None
    assert not outcome.verified.ok
    assert scripted(context).asked == [("diagnostics", None)]


async def test_no_problem_is_said_so_and_a_path_is_checked_first(context: Context, shop: Path) -> None:
    outcome = await context.call("diagnostics", path="cart.py")
    assert outcome.content == "The editor reports no problem."
    assert outcome.verified is not None
    assert outcome.verified.ok
    assert scripted(context).asked == [("diagnostics", shop / "cart.py")]
    with pytest.raises(ToolFailed, match="does not exist"):
        await context.call("diagnostics", path="none.py")


async def test_symbols_are_told_with_what_holds_them(context: Context, shop: Path) -> None:
    uri = (shop / "cart.py").as_uri()
    scripted(context).found = [
        Symbol(name="total", kind="method", uri=uri, path=shop / "cart.py", line=3, container="Cart"),
        Symbol(name="cart", kind="module", uri=uri, path=shop / "cart.py", line=None),
    ]
    outcome = await context.call("symbols", query="t")
    assert outcome.content == "cart.py:3: method total in Cart\ncart.py: module cart"


@pytest.mark.parametrize("name", ["definition", "references", "hover"])
async def test_nothing_known_is_no_error(context: Context, name: str) -> None:
    outcome = await context.call(name, path="cart.py", line=3, symbol="total")
    assert outcome.outcome == "ok"
    assert outcome.content.startswith("The editor knows no")
    assert outcome.verified is not None
    assert not outcome.verified.ok


async def test_a_hover_is_told_as_it_is(context: Context) -> None:
    scripted(context).text = "```python\ndef total()\n```"
    outcome = await context.call("hover", path="cart.py", line=3, symbol="total")
    assert outcome.content == "```python\ndef total()\n```"


async def test_a_stop_does_not_wait_for_the_editor(context: Context) -> None:
    class Slow(ScriptedQueries):
        async def symbols(self, query: str) -> list[Symbol]:
            context.cancel.set()
            await asyncio.Event().wait()
            return []

    context.queries = Slow()
    async with asyncio.timeout(2):
        outcome = await context.call("symbols", query="x")
    assert outcome.outcome == "aborted"


async def test_an_editor_without_queries_is_unavailable(context: Context) -> None:
    context.queries = None
    with pytest.raises(ToolFailed) as caught:
        await context.call("symbols", query="x")
    assert caught.value.code == "UNAVAILABLE"


def test_they_are_parallel_and_offered_only_on_demand(context: Context) -> None:
    names = {tool.name for tool in INTELLIGENCE}
    assert names == {"diagnostics", "definition", "references", "symbols", "hover"}
    assert not names & set(toolbox("agent"))
    for mode in ("agent", "plan", "ask"):
        assert names < set(toolbox(mode, INTELLIGENCE))  # type: ignore[arg-type]
