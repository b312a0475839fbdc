"""list_files and search_text: ignore rules, secrets, unsaved text, limits, patterns that end."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.domain.settings import ContextSettings, Settings
from steersman.errors import ToolFailed
from steersman.tools import walk
from steersman.tools.base import Ask, Refuse
from steersman.tools.patterns import matcher
from tests.unit.tools.context import Context


def fill(root: Path, *names: str, text: str = "needle\n") -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


async def listed(context: Context, **arguments: object) -> list[str]:
    return (await context.call("list_files", **arguments)).content.split("\n")


async def found(context: Context, pattern: str = "needle", **arguments: object) -> str:
    return (await context.call("search_text", pattern=pattern, **arguments)).content


async def test_files_are_listed_nearest_first_in_a_form_that_is_valid_as_input(
    context: Context, root: Path
) -> None:
    fill(root, "b/deep/x.py", "a.py", "c.py")
    assert await listed(context) == ["a.py", "b/", "c.py", "b/deep/", "b/deep/x.py"]
    assert await listed(context, path="b") == ["b/deep/", "b/deep/x.py"]


async def test_ignored_files_are_neither_listed_nor_searched(context: Context, root: Path) -> None:
    fill(
        root, "keep.py", "x.log", "sub/y.log", "sub/keep.log", "build/out.py", "node_modules/m/i.js",
        ".git/config", "sub/top.txt", "top.txt", "other/ignored.txt",
    )  # fmt: skip
    (root / ".gitignore").write_text("*.log\nbuild/\n/top.txt\n\\\n[z-a]\n")
    (root / "sub" / ".gitignore").write_text("!keep.log\n")
    (root / "other" / ".ignore").write_text("*\n")
    names = await listed(context)
    assert names == [
        ".gitignore",
        "keep.py",
        "other/",
        "sub/",
        "sub/.gitignore",
        "sub/keep.log",
        "sub/top.txt",
    ]
    hits = await found(context)
    assert [line for line in hits.split("\n") if "|" not in line] == [
        "keep.py",
        "sub/keep.log",
        "sub/top.txt",
    ]


async def test_an_ignored_path_that_is_named_exactly_is_read_listed_and_searched(
    context: Context, root: Path
) -> None:
    fill(root, "node_modules/m/i.js", "x.log")
    (root / ".gitignore").write_text("*.log\nnode_modules\n")
    assert "1|needle" in (await context.call("read_file", path="x.log")).content
    assert "1|needle" in await found(context, path="x.log")
    assert await listed(context, path="node_modules/m") == ["node_modules/m/i.js"]


async def test_globs_fit_names_paths_and_alternatives(context: Context, root: Path) -> None:
    fill(root, "a.py", "src/b.ts", "src/deep/c.tsx", "src/d.md", "!odd.py")
    assert await listed(context, glob="*.py") == ["!odd.py", "a.py"]
    assert await listed(context, glob="src/**/*.{ts,tsx}") == ["src/b.ts", "src/deep/c.tsx"]
    assert await listed(context, path="src", glob="src/*.md") == ["src/d.md"]
    assert await listed(context, glob="!odd.py") == ["!odd.py"]
    assert (await context.call("list_files", glob="*.rs")).content == "No file fits."
    for glob in ("\\", "{a,b}" * 10):
        with pytest.raises(ToolFailed, match="glob"):
            await context.call("list_files", glob=glob)


async def test_a_list_is_bounded_and_says_so(context: Context, root: Path) -> None:
    fill(root, *(f"f{n}" for n in range(10)))
    names = await listed(context, limit=3)
    assert names[:3] == ["f0", "f1", "f2"]
    assert "more than 3" in names[3]
    assert len(await listed(context, limit=10)) == 10


async def test_links_are_neither_followed_nor_searched_twice(context: Context, root: Path) -> None:
    fill(root, "real/x")
    fill(root.parent, "outside/secret-needle")
    (root / "loop").symlink_to(root)
    (root / "out").symlink_to(root.parent / "outside")
    (root / "link").symlink_to("real/x")
    assert await listed(context) == ["link", "loop", "out", "real/", "real/x"]
    assert (await found(context)).split("\n") == ["real/x", "1|needle"]


async def test_unsaved_text_is_searched_instead_of_the_disk_s(context: Context, root: Path) -> None:
    fill(root, "a", "b")
    context.editor.open(root / "a", "changed\nnew needle\n")
    context.editor.open(root / "b", "gone\n")
    assert await found(context) == "a\n2|new needle"


async def test_secret_files_are_not_searched_unless_named_and_then_asked_about(
    context: Context, root: Path
) -> None:
    fill(root, ".env", "keys/server.pem", "plain")
    hits = await found(context)
    assert "2 files whose names say that they hold secrets were not searched" in hits
    assert ".env" not in hits
    assert isinstance(context.permit("search_text", pattern="x", path=".env"), Ask)
    assert ".env" in await listed(context)


async def test_binary_and_huge_files_are_left_out(context: Context, root: Path) -> None:
    (root / "b").write_bytes(b"needle\0")
    (root / "huge").write_bytes(b"needle\n" * 400_000)
    (root / "wide").write_text("needle\n", encoding="utf-16")
    hits = await found(context)
    assert hits.startswith("wide\n1|needle\n")
    assert "1 files above 2 MB were not searched" in hits


async def test_matches_are_bounded_in_number_and_size_and_say_so(root: Path) -> None:
    context = Context(root, settings=Settings(context=ContextSettings(result_limit_bytes=2000)))
    fill(root, "a", text="needle in a hay stack\n" * 1000)
    hits = await found(context, limit=500)
    assert len(hits.encode()) <= 2000
    assert "narrow it" in hits
    assert context.blobs == {}
    few = await found(context, limit=2)
    assert few.split("\n")[:3] == ["a", "1|needle in a hay stack", "2|needle in a hay stack"]
    assert "more than these 2" in few


async def test_a_match_in_an_endless_line_is_shown_with_its_surroundings(
    context: Context, root: Path
) -> None:
    fill(root, "min.js", text="x" * 5000 + "needle" + "y" * 5000)
    hits = await found(context)
    assert "needle" in hits
    assert len(hits) < 400


async def test_a_line_that_an_expression_could_not_search_whole_is_said(context: Context, root: Path) -> None:
    fill(root, "a", text="x" * 5000 + "needle\n")
    assert "1 lines were too long to search whole" in await found(context, pattern="n.*e", regex=True)


async def test_nothing_found_is_said(context: Context, root: Path) -> None:
    fill(root, "a")
    assert await found(context, pattern="hay") == "No match."
    with pytest.raises(ToolFailed, match="does not exist"):
        await found(context, path="nowhere")


def test_searching_outside_is_refused(context: Context) -> None:
    permit = context.permit("search_text", pattern="x", path="..")
    assert isinstance(permit, Refuse)
    assert permit.code == "OUTSIDE_WORKSPACE"


async def test_several_folders_are_all_searched_and_named(tmp_path: Path) -> None:
    one, two = tmp_path.resolve() / "one", tmp_path.resolve() / "two"
    fill(one, "a")
    fill(two, "a")
    context = Context(one, two)
    assert (await found(context)).split("\n") == ["one/a", "1|needle", "two/a", "1|needle"]
    assert await listed(context) == ["one/a", "two/a"]


async def test_a_stop_ends_a_search(context: Context, root: Path) -> None:
    fill(root, *(f"d{n}/f{m}" for n in range(20) for m in range(20)))
    context.cancel.set()
    outcome = await context.call("search_text", pattern="needle")
    assert outcome.outcome == "aborted"
    assert "needle" not in outcome.content


async def test_a_search_does_not_hold_up_the_event_loop(context: Context, root: Path) -> None:
    fill(root, *(f"d{n}/f{m}" for n in range(30) for m in range(30)), text="hay\n" * 300)
    longest, last = 0.0, time.monotonic()
    searching = asyncio.create_task(context.call("search_text", pattern=r"ne+dle\d", regex=True))
    while not searching.done():
        await asyncio.sleep(0.005)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    assert (await searching).content == "No match."
    assert longest < 0.5


async def test_a_walk_ends_at_its_limit_and_says_so(
    context: Context, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(root, *(f"f{n}" for n in range(20)))
    monkeypatch.setattr(walk, "MOST_ENTRIES", 5)
    assert "more than 5" in (await listed(context))[-1]
    assert "before the search reached its limit" in await found(context, pattern="hay")


@pytest.mark.parametrize(
    "pattern",
    [r"fo+\d", r"(a|b)c", r"^\s*def \w+\(.*\)", r"[)(*+]+x", r"(ab)+", r"(?P<n>x)(?P=n)", r"a{2,3}?"],
)
def test_ordinary_expressions_are_accepted(pattern: str) -> None:
    matcher(pattern, True)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|a)*b",
        "((a?)b)*",
        "(?:(?:x*)y)+",
        "(a{1,9}){1,9}",
        "a?" * 30 + "a" * 30,
        "(a|aa)" * 40,
        ".*" * 9,
    ],
)
def test_expressions_that_could_take_for_ever_are_refused(pattern: str) -> None:
    with pytest.raises(ToolFailed) as caught:
        matcher(pattern, True)
    assert caught.value.code == "INVALID_ARGUMENTS"


@pytest.mark.parametrize("pattern", ["", "(", "[", "x" * 501, "*", "(?<n", "a{99999999999}"])
def test_unusable_expressions_are_refused_clearly(pattern: str) -> None:
    with pytest.raises(ToolFailed, match="pattern"):
        matcher(pattern, True)


def test_a_plain_text_is_not_an_expression() -> None:
    assert matcher("a.b(", False).match("xa.b(") == (1, 5)
    assert matcher("a.b", False).match("axb") is None
    with pytest.raises(ToolFailed, match="several lines"):
        matcher("a\nb", False)


@pytest.mark.parametrize("pattern", ["a*a*a*a*b", ".*.*.*.*x", r"\w*\w*\w*\w*\W"])
def test_the_worst_accepted_expressions_end_soon_on_an_endless_line(pattern: str) -> None:
    match = matcher(pattern, True).match
    started = time.process_time()
    match("a" * 1_000_000)
    assert time.process_time() - started < 1


@given(pattern=st.text(st.sampled_from("ab()[]{}*+?|\\^$.,:=!<>P-19"), max_size=25))
def test_any_pattern_is_a_matcher_or_a_clear_refusal(pattern: str) -> None:
    try:
        found = matcher(pattern, True)
    except ToolFailed as failure:
        assert failure.code == "INVALID_ARGUMENTS"  # noqa: PT017 - both ends are right
    else:
        found.match("aabb" * 10)
