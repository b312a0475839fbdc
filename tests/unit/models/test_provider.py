"""Which model is configured, what is missing, and what the settings add to a request."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman.domain.settings import ModelSettings, Settings
from steersman.models.openai_chat import OpenAIChatModel
from steersman.models.provider import Provider
from steersman.models.scripted import ScriptedModel


def provider(environ: dict[str, str] | None = None, **model: object) -> Provider:
    return Provider(Settings(model=ModelSettings(**model)), environ or {})  # type: ignore[arg-type]


def test_a_name_and_a_key_are_enough() -> None:
    info = provider({"OPENAI_API_KEY": "k"}, name="m", context_window=1000).info()
    assert (info.name, info.base_url, info.configured) == ("m", "https://api.openai.com/v1", True)
    assert (info.context_window, info.problem) == (1000, None)


def test_an_endpoint_of_ones_own_needs_no_key() -> None:
    assert provider(name="m", base_url="http://127.0.0.1:8080/v1").info().configured
    assert provider({"OPENAI_BASE_URL": "http://127.0.0.1:8080/v1"}, name="m").info().configured


def test_the_settings_win_over_the_environment() -> None:
    environ = {"OPENAI_BASE_URL": "http://env/v1", "OPENAI_MODEL": "env", "OPENAI_API_KEY": "k"}
    assert provider(environ).info().name == "env"
    info = provider(environ, name="mine", base_url="http://mine/v1").info()
    assert (info.name, info.base_url) == ("mine", "http://mine/v1")
    assert provider(environ).info("session").name == "session"


@pytest.mark.parametrize(
    ("environ", "model", "todo"),
    [
        ({}, {}, "model.name"),
        ({"OPENAI_API_KEY": "k"}, {}, "model.name"),
        ({}, {"base_url": "http://127.0.0.1/v1"}, "model.name"),
        ({}, {"name": "m"}, "API key"),
        ({"OPENAI_API_KEY": "   "}, {"name": "m"}, "API key"),
        ({"OPENAI_API_KEY": "a b"}, {"name": "m"}, "API key"),
        ({}, {"name": "m", "base_url": "127.0.0.1:8080/v1"}, "model.baseUrl"),
        ({}, {"name": "m", "base_url": "ftp://x/v1"}, "model.baseUrl"),
        ({}, {"name": "m", "base_url": "http://"}, "model.baseUrl"),
        ({}, {"name": "m", "base_url": "http://x:99999/"}, "model.baseUrl"),
        ({}, {"name": "m", "base_url": "http://[x/"}, "model.baseUrl"),
    ],
)
def test_what_is_missing_is_told_with_what_to_do(
    environ: dict[str, str], model: dict[str, object], todo: str
) -> None:
    info = provider(environ, **model).info()
    assert not info.configured
    assert info.problem is not None
    assert todo in info.problem


def test_a_key_that_is_set_later_completes_the_configuration() -> None:
    models = provider(name="m")
    assert not models.info().configured
    models.set_key("k")
    assert models.info().configured


def test_a_login_in_the_url_is_not_shown() -> None:
    assert provider(name="m", base_url="https://me:pw@host/v1").info().base_url == "https://host/v1"


def test_a_script_needs_nothing_else() -> None:
    models = Provider(Settings(scripted_model="script.jsonl"), {})
    info = models.info()
    assert (info.name, info.configured, info.base_url) == ("scripted", True, None)
    assert isinstance(models.model(), ScriptedModel)
    assert models.model() is models.model()


def test_an_endpoint_is_the_model_otherwise() -> None:
    models = provider(name="m")
    assert isinstance(models.model(), OpenAIChatModel)
    assert models.model() is models.model()


def test_params_are_what_the_settings_add_and_never_the_request_itself() -> None:
    assert provider().params() == {}
    models = provider(
        temperature=0.0,
        max_output_tokens=50,
        max_tokens_field="max_completion_tokens",
        extra_body={
            "top_p": 0.5,
            "temperature": 0.7,
            "messages": [],
            "model": "x",
            "stream": False,
            "tools": [],
        },
    )
    assert models.params() == {"temperature": 0.7, "max_completion_tokens": 50, "top_p": 0.5}


async def test_warming_an_unconfigured_or_scripted_model_does_nothing(tmp_path: Path) -> None:
    for models in (provider(), Provider(Settings(scripted_model=str(tmp_path / "none")), {})):
        await models.warm()
        await models.close()
