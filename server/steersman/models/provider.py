"""The model that is configured: a scripted one, or an endpoint. Asking about it imports nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from steersman.domain.settings import Settings
from steersman.models.openai_chat import Endpoint, OpenAIChatModel
from steersman.models.proxies import proxy_for
from steersman.models.scripted import ScriptedModel
from steersman.models.secrecy import Secrets, secret_values, without_login
from steersman.ports.model import ModelInfo

DEFAULT_BASE_URL: Final = "https://api.openai.com/v1"
_RESERVED: Final = frozenset({"model", "messages", "tools", "stream"})
"""Members of a request that are the builder's own; extraBody cannot replace them."""


class Provider:
    """Chooses the model from the user's settings, then from `OPENAI_API_KEY`, `_BASE_URL` and `_MODEL`.

    `environ` is the server's own environment; proxies are taken from it too.
    """

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self._settings = settings.model
        self._default_name = settings.model.name or environ.get("OPENAI_MODEL") or ""
        self._told_url = settings.model.base_url or environ.get("OPENAI_BASE_URL") or None
        self._base_url = self._told_url or DEFAULT_BASE_URL
        self._url_problem = _url_problem(self._base_url)
        proxy = None if self._url_problem else proxy_for(self._base_url, settings.model, environ)
        values = secret_values(self._base_url, settings.model, proxy)
        self._secrets = Secrets(environ.get("OPENAI_API_KEY", ""), values)
        self._scripted = settings.scripted_model is not None
        self._model: OpenAIChatModel | ScriptedModel
        if settings.scripted_model is not None:
            self._model = ScriptedModel(Path(settings.scripted_model), settings.model)
        else:
            endpoint = Endpoint(base_url=self._base_url, settings=settings.model, proxy=proxy)
            self._model = OpenAIChatModel(endpoint, self._secrets)

    def info(self, name: str | None = None) -> ModelInfo:
        """What would answer for model `name` (None: the default), and if it cannot, what to do about it."""
        model_name = name or self._default_name
        problem = None if self._scripted else self._problem(model_name)
        return ModelInfo(
            name=model_name or ("scripted" if self._scripted else ""),
            base_url=None if self._scripted else without_login(self._base_url),
            configured=problem is None,
            context_window=self._settings.context_window,
            problem=problem,
        )

    def params(self) -> dict[str, object]:
        """Members that the settings add to each request. `extraBody` wins over the named settings."""
        params: dict[str, object] = {}
        if self._settings.temperature is not None:
            params["temperature"] = self._settings.temperature
        if self._settings.max_output_tokens is not None:
            params[self._settings.max_tokens_field] = self._settings.max_output_tokens
        params.update(self._settings.extra_body)
        return {name: value for name, value in params.items() if name not in _RESERVED}

    def model(self) -> OpenAIChatModel | ScriptedModel:
        return self._model

    def set_key(self, api_key: str) -> None:
        """Replace the key in memory; requests that run go on with the old one."""
        self._secrets.set_key(api_key)

    def redact(self, text: str) -> str:
        """The text with the key, and what else in the settings is secret, masked."""
        return self._secrets.redact(text)

    async def warm(self) -> None:
        """Load what the first request needs, off the event loop, once the editor has been answered."""
        if isinstance(self._model, OpenAIChatModel) and self.info().configured:
            await self._model.warm()

    async def close(self) -> None:
        await self._model.close()

    def _problem(self, model_name: str) -> str | None:
        if self._url_problem is not None:
            return self._url_problem
        if not model_name:
            if self._told_url is not None:
                return "No model is named. Set model.name to one that the endpoint of model.baseUrl has."
            return "No model is configured. Set model.name, and an API key or model.baseUrl."
        if self._told_url is None and not self._secrets.key:
            return (
                "No API key is set. Give one (OPENAI_API_KEY in the server's environment works too), "
                "or set model.baseUrl to an endpoint that needs none."
            )
        return self._secrets.problem


def _url_problem(base_url: str) -> str | None:
    try:
        url = urlsplit(base_url)
        usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        usable = False
    return None if usable else "model.baseUrl is no http:// or https:// URL. Correct it in the settings."
