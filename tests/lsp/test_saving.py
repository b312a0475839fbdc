"""Before a run the person of an editor that does not save by itself is asked to, and not waited for long."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from steersman.lsp.abilities import ClientAbilities
from steersman.lsp.saving import RUN_ANYWAY
from tests.lsp.test_editor_apply import FULL, House

MESSAGE = "window/showMessageRequest"
PLAIN = ClientAbilities(apply_edit=True)


@pytest.fixture
def house(tmp_path: Path) -> House:
    """An editor without a word of the extension, with one file whose buffer was typed in."""
    house = House(tmp_path, PLAIN)
    dirty(house, "a.py")
    return house


def dirty(house: House, name: str) -> Path:
    path = house.write(name, "old")
    house.client.open(house.uri(name), "new")
    return path


async def asked(house: House, *names: str) -> float:
    begun = asyncio.get_running_loop().time()
    await house.editor.ask_to_save(tuple(house.root / name for name in names))
    return asyncio.get_running_loop().time() - begun


async def test_the_person_saves_and_it_goes_on_without_an_answer(house: House) -> None:
    async def saves_but_leaves_the_message(_: dict[str, Any]) -> None:
        house.client.save(house.uri("a.py"), house.root / "a.py")
        await asyncio.sleep(60)

    house.client.answers[MESSAGE] = saves_but_leaves_the_message
    await asked(house, "a.py")
    ((method, params),) = house.client.calls
    assert method == MESSAGE
    assert "a.py has unsaved changes" in params["message"]
    assert params["actions"] == [{"title": RUN_ANYWAY}]
    assert house.editor.unsaved() == ()


@pytest.mark.parametrize("answer", [None, {"title": RUN_ANYWAY}, 7, RuntimeError("-32601")])
async def test_any_answer_or_refusal_is_enough(house: House, answer: Any) -> None:
    house.client.answer(MESSAGE, answer)
    assert await asked(house, "a.py") < 0.2
    assert house.editor.unsaved() == (house.root / "a.py",)


async def test_silence_ends_at_the_limit_for_an_answer(house: House) -> None:
    async def never(_: dict[str, Any]) -> None:
        await asyncio.sleep(60)

    house.client.answers[MESSAGE] = never
    assert 0.2 < await asked(house, "a.py") < 5


async def test_what_was_left_unsaved_is_asked_about_once_until_it_was_saved(house: House) -> None:
    house.client.answer(MESSAGE, None)
    await asked(house, "a.py")
    await asked(house, "a.py")
    assert len(house.client.calls) == 1
    dirty(house, "b.py")
    await asked(house, "a.py", "b.py")
    assert "a.py, b.py have unsaved changes" in house.client.calls[-1][1]["message"]
    house.client.save(house.uri("a.py"), house.root / "a.py")
    await asked(house, "b.py")
    assert len(house.client.calls) == 2
    house.client.type(house.uri("a.py"), 0, 0, "x")
    await asked(house, "a.py", "b.py")
    assert len(house.client.calls) == 3, "a.py was saved, and then changed again"


async def test_nobody_is_asked_who_need_not_be_or_cannot_be(tmp_path: Path) -> None:
    extension = msgspec.structs.replace(FULL, messages=False)
    saves = msgspec.structs.replace(FULL, messages=True, extension=frozenset({"save"}))
    for number, abilities in enumerate((extension, saves)):
        (tmp_path / str(number)).mkdir()
        house = House(tmp_path / str(number), abilities)
        dirty(house, "a.py")
        await asked(house, "a.py")
        assert house.client.calls == []
    await asked(House(tmp_path, PLAIN))


async def test_a_stop_withdraws_the_message(house: House) -> None:
    withdrawn = False

    async def never(_: dict[str, Any]) -> None:
        nonlocal withdrawn
        try:
            await asyncio.sleep(60)
        finally:
            withdrawn = True

    house.client.answers[MESSAGE] = never
    waiting = asyncio.create_task(asked(house, "a.py"))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert withdrawn
