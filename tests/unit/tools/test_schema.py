"""Tool arguments: small schemas, and a strict way back that names what is wrong."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.errors import ToolFailed
from steersman.tools.base import AnyTool
from steersman.tools.registry import INTELLIGENCE, READ_ONLY, TOOLS, toolbox
from steersman.tools.schema import decode, schema

BINDING = {
    "list_files": ([], ["path", "glob", "limit"]),
    "search_text": (["pattern"], ["path", "glob", "regex", "limit"]),
    "read_file": (["path"], ["start_line", "end_line"]),
    "read_result": (["handle"], ["offset"]),
    "edit_file": (["path", "edits"], []),
    "write_file": (["path", "content"], ["overwrite"]),
    "rename_path": (["path", "new_path"], []),
    "delete_path": (["path"], []),
    "run_tests": ([], ["files", "tests"]),
    "run_command": (["argv"], ["cwd", "timeout_seconds"]),
    "ask_user": (["question"], ["choices"]),
    "diagnostics": ([], ["path"]),
    "definition": (["path", "line", "symbol"], []),
    "references": (["path", "line", "symbol"], []),
    "symbols": (["query"], []),
    "hover": (["path", "line", "symbol"], []),
}
TOOL = toolbox("agent")
ALL = (*TOOLS, *INTELLIGENCE)


def refused(name: str, raw: str) -> str:
    with pytest.raises(ToolFailed) as caught:
        decode(TOOL[name].arguments, raw)
    assert caught.value.code == "INVALID_ARGUMENTS"
    return str(caught.value)


def test_the_tools_and_their_members_are_the_binding_ones() -> None:
    assert list(TOOL) == [tool.name for tool in TOOLS]
    found = {}
    for tool in ALL:
        parameters = schema(tool.arguments)
        members = list(parameters["properties"])
        found[tool.name] = (parameters["required"], [m for m in members if m not in parameters["required"]])
    assert found == BINDING


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: tool.name)
def test_a_schema_is_plain_and_small(tool: AnyTool) -> None:
    parameters = schema(tool.arguments)
    text = json.dumps(parameters)
    assert len(text) < 600
    assert "$ref" not in text
    assert '"null"' not in text
    assert parameters["type"] == "object"
    assert len(tool.description) < 250


def test_modes_that_only_read_offer_only_reading() -> None:
    reading = ["list_files", "search_text", "read_file", "read_result"]
    assert [tool.name for tool in READ_ONLY] == reading
    assert list(toolbox("plan")) == list(toolbox("ask")) == reading


@pytest.mark.parametrize("raw", ["", "  \n", "null", " null ", "{}"])
def test_nothing_means_an_empty_object(raw: str) -> None:
    assert decode(TOOL["list_files"].arguments, raw).path is None
    assert "path" in refused("read_file", raw)


def test_broken_json_is_refused_with_its_position() -> None:
    assert "byte" in refused("read_file", '{"path": "x", bad')


@pytest.mark.parametrize(
    "raw", ["[]", '"x"', "1", "true", '{"path":"x"}{}', "[" * 100_000, '{"path":"\\ud83d"}']
)
def test_what_is_not_an_object_of_text_is_refused(raw: str) -> None:
    assert refused("read_file", raw)


@pytest.mark.parametrize(
    ("name", "raw", "member"),
    [
        ("read_file", '{"path": 1}', "path"),
        ("read_file", '{"path": "x", "start_line": 0}', "start_line"),
        ("read_file", '{"path": "x", "line": 1}', "line"),
        ("edit_file", '{"path": "x", "edits": [{"old_text": "a"}]}', "new_text"),
        ("edit_file", '{"path": "x", "edits": []}', "edits"),
        ("run_command", '{"argv": []}', "argv"),
        ("run_command", '{"argv": "ls -l"}', "argv"),
        ("run_command", '{"argv": ["ls"], "timeout_seconds": 3601}', "timeout_seconds"),
    ],
)
def test_a_wrong_member_is_named(name: str, raw: str, member: str) -> None:
    assert member in refused(name, raw)


@given(raw=st.text(max_size=60))
def test_any_argument_string_decodes_or_is_refused(raw: str) -> None:
    with suppress(ToolFailed):
        decode(TOOL["read_file"].arguments, raw)
