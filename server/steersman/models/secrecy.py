"""The key, and every other value that no message, log or repr may hold."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from steersman.domain.settings import ModelSettings

_MASK: Final = "***"
_SHORTEST: Final = 6
"""Shorter values are words of ordinary text; masking them would only garble messages."""


class Secrets:
    """Holds the current key and masks secrets in texts, also those that were current before."""

    def __init__(self, key: str, others: Iterable[str] = ()) -> None:
        self._key = ""
        self._hidden: set[str] = set()
        self._hide(*others)
        self.set_key(key)

    def __repr__(self) -> str:
        return "Secrets(***)"

    @property
    def key(self) -> str:
        """The current key; empty where none is set."""
        return self._key

    @property
    def problem(self) -> str | None:
        """Why the key cannot be one: it holds characters that no header can carry."""
        if self._key and not (self._key.isascii() and self._key.isprintable() and " " not in self._key):
            return "The API key holds spaces or characters that no key has. Copy it again and set it anew."
        return None

    def set_key(self, key: str) -> None:
        self._key = key.strip()
        self._hide(self._key)

    def redact(self, text: str) -> str:
        """The text with each secret masked, as it is and as URLs and JSON spell it."""
        for value in sorted(self._hidden, key=len, reverse=True):
            text = text.replace(value, _MASK)
        return text

    def _hide(self, *values: str) -> None:
        for value in values:
            spellings = (value, quote(value, safe=""), json.dumps(value)[1:-1])
            self._hidden.update(spelling for spelling in spellings if len(spelling) >= _SHORTEST)


def secret_values(base_url: str, settings: ModelSettings, proxy: str | None) -> list[str]:
    """The settings that may hold a secret: headers, query, and the passwords in URLs.

    A header's `Bearer …` counts with and without its scheme.
    """
    values = [*settings.headers.values(), *settings.query.values()]
    values += [value.partition(" ")[2] for value in settings.headers.values() if " " in value]
    for url in (base_url, proxy):
        password = _password(url) if url else None
        if password:
            values += [password, unquote(password)]
    return values


def without_login(url: str) -> str:
    """A URL to show: without a user's name and password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _password(url: str) -> str | None:
    try:
        return urlsplit(url).password
    except ValueError:
        return None
