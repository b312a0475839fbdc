"""Characters that a provider split in two: half a surrogate pair in one chunk, half in the next."""

from __future__ import annotations

from collections.abc import Hashable


class Halves:
    """Joins the halves, for each channel of a reply on its own. A half without its other becomes U+FFFD."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, str] = {}

    def mend(self, channel: Hashable, text: str) -> str:
        """The text without lone surrogates. A half at its end waits for what comes next."""
        if self._waiting:
            text = self._waiting.pop(channel, "") + text
        try:
            text.encode()
        except UnicodeEncodeError:
            return self._mended(channel, text)
        return text

    def _mended(self, channel: Hashable, text: str) -> str:
        if "\ud800" <= text[-1] <= "\udbff":
            self._waiting[channel] = text[-1]
            text = text[:-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
