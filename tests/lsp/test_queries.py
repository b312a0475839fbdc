"""Language intelligence over the client: positions in its encoding, values in every shape LSP allows."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from steersman.errors import ToolFailed
from steersman.lsp.positions import PositionEncoding
from steersman.lsp.queries import LspQueries
from steersman.ports.editor import Document
from steersman.ports.query import Problem, QueryPort, Spot, Symbol
from tests.lsp.client_runs import RunClient

METHOD = "steersman/query"
URI = "file:///w/caf%C3%A9.py"
PATH = Path("/w/café.py")
SPOT = Spot(uri=URI, path=PATH, line=3)


def at(line: int, character: int = 4) -> dict[str, Any]:
    place = {"line": line, "character": character}
    return {"start": place, "end": place}


def document(text: str, *, version: int | None = 1, bom: bool = False) -> Document:
    return Document(path=PATH, uri=URI, text=text, version=version, digest="", bom=bom)


@pytest.fixture
def client() -> RunClient:
    return RunClient()


def queries(client: RunClient, encoding: PositionEncoding = "utf-16", seconds: float = 5.0) -> QueryPort:
    return LspQueries(client, lambda path: f"spelled:{path.name}", encoding, request_timeout_seconds=seconds)


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 7), ("utf-16", 5), ("utf-32", 4)])
async def test_a_place_is_sent_in_the_clients_encoding(
    client: RunClient, encoding: PositionEncoding, column: int
) -> None:
    client.answer(METHOD, None)
    text = "one\r\n🚲 = name\n"
    assert await queries(client, encoding).definition(document(text), text.index("name")) == []
    [(_, params)] = client.calls
    assert params == {
        "kind": "definition",
        "uri": URI,
        "position": {"line": 1, "character": column},
    }


@pytest.mark.parametrize(("version", "column"), [(1, 1), (None, 0)])
async def test_a_byte_order_mark_counts_only_in_an_open_buffer(
    client: RunClient, version: int | None, column: int
) -> None:
    client.answer(METHOD, None)
    await queries(client).hover(document("name", version=version, bom=True), 0)
    assert client.calls[0][1]["position"] == {"line": 0, "character": column}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, []),
        ([], []),
        ({"uri": URI, "range": at(2)}, [SPOT]),
        ([{"uri": URI, "range": at(2)}, {"uri": URI, "range": at(2, 9)}], [SPOT]),
        ([{"targetUri": URI, "targetRange": at(0), "targetSelectionRange": at(2)}], [SPOT]),
        ([{"targetUri": URI, "targetRange": at(2), "originSelectionRange": at(9)}], [SPOT]),
        ({"uri": "untitled:1", "range": at(0)}, [Spot(uri="untitled:1", path=None, line=1)]),
    ],
)
async def test_definitions_and_references_come_in_several_shapes(
    client: RunClient, value: Any, found: list[Spot]
) -> None:
    client.answer(METHOD, value)
    assert await queries(client).definition(document("x"), 0) == found
    assert await queries(client).references(document("x"), 0) == found
    assert [params["kind"] for _, params in client.calls] == ["definition", "references"]


DIAGNOSTIC = {"range": at(2), "message": "bad", "severity": 2, "source": "lint", "code": 7}
PROBLEM = Problem(spot=SPOT, severity="warning", message="bad", source="lint", code="7")


@pytest.mark.parametrize(
    "value",
    [
        [{"uri": URI, "diagnostics": [DIAGNOSTIC]}],
        {"uri": URI, "diagnostics": [DIAGNOSTIC]},
        {"items": [{"uri": URI, "version": None, "kind": "full", "items": [DIAGNOSTIC]}]},
        [DIAGNOSTIC | {"uri": URI, "diagnostics": [DIAGNOSTIC]}],
    ],
)
async def test_diagnostics_of_the_workspace_name_their_files(client: RunClient, value: Any) -> None:
    client.answer(METHOD, value)
    assert await queries(client).diagnostics(None) == [PROBLEM]
    assert client.calls == [(METHOD, {"kind": "diagnostics"})]


@pytest.mark.parametrize("value", [[DIAGNOSTIC], {"kind": "full", "items": [DIAGNOSTIC]}])
async def test_diagnostics_of_a_file_belong_to_it(client: RunClient, value: Any) -> None:
    client.answer(METHOD, value)
    [problem] = await queries(client).diagnostics(PATH)
    assert (problem.spot.uri, problem.spot.line, problem.severity) == ("spelled:café.py", 3, "warning")
    assert client.calls == [(METHOD, {"kind": "diagnostics", "uri": "spelled:café.py"})]


async def test_a_diagnostic_that_tells_little_is_an_error_with_its_message(client: RunClient) -> None:
    client.answer(METHOD, [{"range": at(0), "message": {"kind": "markdown", "value": "no"}}])
    [problem] = await queries(client).diagnostics(PATH)
    assert (problem.severity, problem.message, problem.code) == ("error", "no", None)


async def test_symbols_may_lack_a_line(client: RunClient) -> None:
    client.answer(
        METHOD,
        [
            {"name": "total", "kind": 12, "location": {"uri": URI, "range": at(2)}, "containerName": "Cart"},
            {"name": "odd", "kind": 99, "location": {"uri": "untitled:1"}, "containerName": ""},
        ],
    )
    assert await queries(client).symbols("to") == [
        Symbol(name="total", kind="function", uri=URI, path=PATH, line=3, container="Cart"),
        Symbol(name="odd", kind="symbol", uri="untitled:1", path=None, line=None),
    ]
    assert client.calls == [(METHOD, {"kind": "symbols", "query": "to"})]


@pytest.mark.parametrize(
    ("contents", "text"),
    [
        ("words", "words"),
        ({"kind": "markdown", "value": "words\n"}, "words"),
        ({"language": "python", "value": "x: int"}, "```python\nx: int\n```"),
        (["a", {"language": "c", "value": "b"}, " "], "a\n\n```c\nb\n```"),
        ([], ""),
    ],
)
async def test_a_hover_has_contents_of_several_kinds(client: RunClient, contents: Any, text: str) -> None:
    client.answer(METHOD, {"contents": contents})
    assert await queries(client).hover(document("x"), 0) == text


async def test_no_hover_is_no_text(client: RunClient) -> None:
    client.answer(METHOD, None)
    assert await queries(client).hover(document("x"), 0) == ""


NONSENSE: list[Any] = [
    True,
    "x",
    7,
    {},
    [5],
    [{}],
    {"uri": URI},
    {"uri": 5, "range": at(0)},
    {"uri": URI, "range": at(-1)},
    {"uri": URI, "range": {"start": {"line": True}}},
    {"contents": 5},
    {"items": 5},
    {"items": None},
    [{"uri": 5, "diagnostics": [DIAGNOSTIC]}],
    [{"name": "n", "location": None}],
    [DIAGNOSTIC | {"severity": 9}],
]


@pytest.mark.parametrize("value", NONSENSE)
async def test_nonsense_is_a_clear_error(client: RunClient, value: Any) -> None:
    client.answer(METHOD, value)
    port = queries(client)
    asks = [
        port.definition(document("x"), 0),
        port.references(document("x"), 0),
        port.symbols("x"),
        port.diagnostics(None),
        port.hover(document("x"), 0),
    ]
    for ask in asks:
        with pytest.raises(ToolFailed, match="makes no sense") as caught:
            await ask
        assert caught.value.code == "FAILED"


async def test_an_error_of_the_editor_is_unavailable(client: RunClient) -> None:
    client.answer(METHOD, RuntimeError("no server for this language"))
    with pytest.raises(ToolFailed, match="no server for this language") as caught:
        await queries(client).symbols("x")
    assert caught.value.code == "UNAVAILABLE"


async def test_silence_has_an_end(client: RunClient) -> None:
    client.hold(METHOD)
    with pytest.raises(ToolFailed, match="did not answer"):
        await queries(client, seconds=0.02).symbols("x")
    assert client.left == 1


async def test_a_question_that_is_dropped_is_withdrawn(client: RunClient) -> None:
    client.hold(METHOD)
    task = asyncio.create_task(queries(client).symbols("x"))  # type: ignore[arg-type]
    await client.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert client.left == 1
