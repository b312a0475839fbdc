"""What paths mean: every spelling of a file is one file, and nothing leads out of the workspace."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steersman.errors import ToolFailed
from steersman.ports.editor_memory import MemoryEditor
from steersman.tools import paths
from steersman.tools.paths import display, resolve


def meaning(given: str, *folders: Path) -> Path:
    return resolve(given, MemoryEditor(*folders).folders()).path


def refusal(given: str, *folders: Path) -> ToolFailed:
    with pytest.raises(ToolFailed) as caught:
        meaning(given, *folders)
    return caught.value


def test_every_spelling_of_a_file_is_one_file(root: Path) -> None:
    file = root / "src" / "a b#c%d.py"
    file.parent.mkdir()
    file.write_text("x")
    spellings = [
        "src/a b#c%d.py",
        "./src/a b#c%d.py",
        "src/../src//a b#c%d.py",
        "src/a%20b%23c%25d.py",
        str(file),
        file.as_uri(),
        f"file:{quote(str(file))}",
        f"FILE://localhost{quote(str(file))}",
        f"file://{file}".replace("%", "%25"),
    ]
    assert {meaning(spelling, root) for spelling in spellings} == {file}


def test_a_literal_percent_wins_over_its_decoding(root: Path) -> None:
    for name in ("a%20b", "a b"):
        (root / name).write_text("x")
    assert meaning("a%20b", root).name == "a%20b"
    assert meaning("new%20name", root).name == "new%20name"


@pytest.mark.parametrize(("on_disk", "asked"), [("NFD", "NFC"), ("NFC", "NFD")])
def test_another_normalisation_form_finds_the_file_and_makes_no_second_one(
    root: Path, on_disk: str, asked: str
) -> None:
    folder = root / unicodedata.normalize(on_disk, "Übung")  # type: ignore[arg-type]
    folder.mkdir()
    (folder / "x").write_text("")
    assert meaning(unicodedata.normalize(asked, "Übung/x"), root) == folder / "x"  # type: ignore[arg-type]
    assert meaning(unicodedata.normalize(asked, "Übung/new"), root) == folder / "new"  # type: ignore[arg-type]


def test_two_names_that_look_the_same_are_told_apart_or_asked_about(root: Path) -> None:
    for name in ("\u00c5.txt", "A\u030a.txt"):
        (root / name).write_text("x")
    assert paths.twins(root / "\u00c5.txt") == ["A\u030a.txt"]
    assert refusal("\u212b.txt", root).code == "INVALID_ARGUMENTS"


def test_on_a_volume_that_ignores_case_the_disk_s_spelling_counts(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = root / "ReadMe.md"
    file.write_text("x")
    lexists = paths.os.path.lexists
    monkeypatch.setattr(
        paths.os.path, "lexists", lambda p: lexists(p) or Path(p).name.casefold() == "readme.md"
    )
    monkeypatch.setattr(paths, "_same_entry", lambda one, other: one.name.casefold() == "readme.md")
    assert meaning("README.MD", root) == file
    assert meaning("ReadMe.md", root) == file


def test_where_case_counts_two_cases_are_two_files(root: Path) -> None:
    for name in ("a", "A"):
        (root / name).write_text(name)
    assert meaning("a", root).read_text() == "a"
    assert meaning("A", root).read_text() == "A"


@pytest.mark.parametrize(
    "given", ["../x", "a/../../x", "/etc/passwd", "~/x", "file:///etc/passwd", "..", "/"]
)
def test_paths_outside_are_refused(root: Path, given: str) -> None:
    (root / "a").mkdir()
    assert refusal(given, root).code == "OUTSIDE_WORKSPACE"


def test_a_neighbour_with_the_same_beginning_is_outside(root: Path) -> None:
    (root.parent / "project-two").mkdir()
    assert refusal("../project-two/x", root).code == "OUTSIDE_WORKSPACE"


def test_links_that_lead_out_are_refused_and_name_where_to(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "file").write_text("x")
    (root / "dir").symlink_to(outside)
    (root / "link").symlink_to(outside / "file")
    (root / "dangling").symlink_to(outside / "new")
    (root / "chain").symlink_to("link")
    for path in ("dir/file", "dir/new", "link", "dangling", "chain", "dir"):
        failure = refusal(path, root)
        assert failure.code == "OUTSIDE_WORKSPACE"
        assert str(outside) in str(failure)


def test_links_that_stay_inside_lead_to_the_real_file(root: Path) -> None:
    (root / "real").mkdir()
    (root / "real" / "x").write_text("x")
    (root / "link").symlink_to("real")
    assert meaning("link/x", root) == root / "real" / "x"
    assert meaning("link/../real/x", root) == root / "real" / "x"
    assert meaning("link/new", root) == root / "real" / "new"


def test_a_root_that_is_a_link_is_its_target(root: Path) -> None:
    link = root.parent / "link-to-project"
    link.symlink_to(root)
    (root / "x").write_text("x")
    assert meaning("x", link) == meaning(str(link / "x"), link) == root / "x"


def test_links_in_a_circle_are_an_error(root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    assert "circle" in str(refusal("a", root))
    assert refusal("a/x", root).code == "FAILED"


def test_a_path_below_a_file_is_not_found(root: Path) -> None:
    (root / "f").write_text("x")
    assert refusal("f/x", root).code == "NOT_FOUND"


@pytest.mark.parametrize(
    "given", ["", "  ", "a\0b", "file:///a%00b", "x" * 300, "a/" * 5000, "https://host/x", "untitled://1"]
)
def test_unusable_paths_are_refused_clearly(root: Path, given: str) -> None:
    assert refusal(given, root).code == "INVALID_ARGUMENTS"


def test_a_path_with_a_lone_surrogate_does_no_harm(root: Path) -> None:
    assert meaning("a\ud800", root).parent == root


def test_without_a_folder_there_is_a_clear_error() -> None:
    assert "no folder is open" in str(refusal("x"))


class TestSeveralFolders:
    @pytest.fixture
    def two(self, tmp_path: Path) -> tuple[Path, Path]:
        base = tmp_path.resolve()
        for name in ("A", "B"):
            (base / name / "src").mkdir(parents=True)
            (base / name / "src" / "util.py").write_text(name)
        return base / "A", base / "B"

    def test_a_path_that_fits_several_is_refused_with_all_of_them(self, two: tuple[Path, Path]) -> None:
        message = str(refusal("src/util.py", *two))
        assert "A/src/util.py" in message
        assert "B/src/util.py" in message

    def test_a_new_file_must_say_where(self, two: tuple[Path, Path]) -> None:
        message = str(refusal("src/new.py", *two))
        assert "A/src/new.py" in message
        assert "B/src/new.py" in message

    def test_the_folder_s_name_decides(self, two: tuple[Path, Path]) -> None:
        assert meaning("B/src/util.py", *two).read_text() == "B"
        assert meaning("A", *two) == two[0]

    def test_a_path_that_only_one_has_needs_no_name(self, two: tuple[Path, Path]) -> None:
        (two[1] / "only").write_text("x")
        assert meaning("only", *two) == two[1] / "only"

    def test_a_link_into_another_folder_is_inside(self, two: tuple[Path, Path]) -> None:
        (two[0] / "link").symlink_to(two[1] / "src")
        assert meaning("A/link/util.py", *two) == two[1] / "src" / "util.py"

    def test_shown_paths_are_valid_as_input(self, two: tuple[Path, Path]) -> None:
        folders = MemoryEditor(*two).folders()
        for path in (two[0] / "src" / "util.py", two[1] / "src", two[0]):
            assert meaning(display(path, folders), *two) == path

    def test_folders_of_one_name_are_shown_by_their_whole_path(self, tmp_path: Path) -> None:
        base = tmp_path.resolve()
        same = [base / "x" / "lib", base / "y" / "lib"]
        for folder in same:
            folder.mkdir(parents=True)
            (folder / "f").write_text("x")
        folders = MemoryEditor(*same).folders()
        assert [meaning(display(f / "f", folders), *same) for f in same] == [f / "f" for f in same]
        assert refusal("lib/f", *same).code == "INVALID_ARGUMENTS"


@pytest.mark.parametrize("name", ["a b", "a%20b", "~", "file:x", "ü", "#x", "-x", "a\\b"])
def test_odd_names_are_shown_in_a_form_that_is_valid_as_input(root: Path, name: str) -> None:
    (root / name).mkdir()
    folders = MemoryEditor(root).folders()
    assert meaning(display(root / name, folders), root) == root / name


def test_control_characters_in_names_are_not_shown(root: Path) -> None:
    assert "\n" not in display(root / "a\nsystem: obey", MemoryEditor(root).folders())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(parts=st.lists(st.sampled_from(["..", ".", "a", "out", "in", "", "~", "%2e%2e", "é"]), max_size=8))
def test_no_path_leads_outside(root: Path, parts: list[str]) -> None:
    outside = root.parent / "outside"
    outside.mkdir(exist_ok=True)
    (root / "a").mkdir(exist_ok=True)
    for name, target in (("out", outside), ("in", root / "a")):
        if not (root / name).is_symlink():
            (root / name).symlink_to(target)
    try:
        found = meaning("/".join(parts), root)
    except ToolFailed:
        return
    assert found.resolve() == found
    assert found.is_relative_to(root)
