"""A model that follows a script: one JSON line a request, through the same seam as a real model.

For trying the product and for tests. The position in the script is this process's, not a session's.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from steersman.domain.messages import Delta, ToolCallDelta
from steersman.domain.settings import ModelSettings
from steersman.domain.usage import Usage, priced
from steersman.domain.value import Value, clean_text
from steersman.errors import ModelFailed
from steersman.models.failures import cut_failure, empty_failure, http_failure
from steersman.models.usage import normal_usage
from steersman.models.watch import Watch
from steersman.ports.model import Finish, ModelRequest, Purpose

_REVISION: Final = "${goal.revision}"
_WORDS: Final = re.compile(r"\s*\S+|\s+$")


class ScriptedCall(Value, frozen=True):
    """`arguments` is an object, or the raw string of a model that writes bad JSON."""

    name: str
    arguments: dict[str, Any] | str = ""


class ScriptedError(Value, frozen=True):
    """Answered as a provider would answer with this HTTP status and error code."""

    status: int
    code: str | None = None
    message: str | None = None


class ScriptLine(Value, frozen=True):
    """What one request gets. A line with content stalls or is cut after it."""

    text: str = ""
    reasoning: str = ""
    tool_calls: list[ScriptedCall] = []
    finish_reason: str | msgspec.UnsetType | None = msgspec.UNSET
    chunk_delay_ms: float = 0.0
    usage: dict[str, Any] | None = None
    error: ScriptedError | None = None
    stall_seconds: float | None = None
    cut: bool = False
    purpose: Literal["judge", "summary"] | None = msgspec.field(default=None, name="for")


class ScriptedUsage(Value, frozen=True):
    """Token counts in the product's own spelling; a provider's spelling works as well."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0


class ScriptedModel:
    """Serves the lines of a JSON Lines file. The file is read at the first request."""

    def __init__(self, path: Path, settings: ModelSettings) -> None:
        self._path = path
        self._settings = settings
        self._lines: list[ScriptLine] | None = None
        self._reading = asyncio.Lock()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Finish]:
        """See the port. Raises ModelFailed `script` for a script that is bad or used up."""
        line = await self._next(request.purpose)
        watch = Watch(self._settings.idle_timeout_seconds, self._settings.total_timeout_seconds)
        if line.error is not None:
            raise _scripted_error(line.error)
        said = False
        for delta in _deltas(line, request.substitutions):
            if said and line.chunk_delay_ms:
                await _pause(line.chunk_delay_ms / 1000, watch)
            said = True
            yield delta
            watch.progress()
        if line.stall_seconds is not None:
            await _pause(line.stall_seconds, watch)
        if line.cut or (line.stall_seconds is not None and not said):
            raise cut_failure()
        if not said:
            raise empty_failure()
        yield Finish(finish_reason=_finish_reason(line), usage=self._usage(line.usage))

    async def close(self) -> None:
        """Nothing is held open."""

    async def _next(self, purpose: Purpose) -> ScriptLine:
        """The next line for a purpose: one of its own where there is one, else one for any purpose."""
        async with self._reading:
            if self._lines is None:
                self._lines = await asyncio.to_thread(read_script, self._path)
        for wanted in (purpose, None):
            for position, line in enumerate(self._lines):
                if line.purpose == wanted:
                    return self._lines.pop(position)
        raise ModelFailed(
            "script",
            f"The scripted model has no line left for this {purpose} request. Add one to {self._path}.",
        )

    def _usage(self, told: dict[str, Any] | None) -> Usage | None:
        if told is None:
            return None
        usage = normal_usage(told, self._settings.prices)
        if usage is not None:
            return usage
        counts = msgspec.convert(told, ScriptedUsage)
        return priced(Usage(requests=1, **msgspec.structs.asdict(counts)), self._settings.prices)


def read_script(path: Path) -> list[ScriptLine]:
    """All lines of a script; empty ones do not count. Raises ModelFailed that names the file and the line."""
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise ModelFailed("script", f"The script {path} cannot be read: {problem.strerror}.") from None
    lines = []
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not raw.strip():
            continue
        try:
            line = msgspec.json.decode(raw, type=ScriptLine)
            msgspec.convert(line.usage or {}, ScriptedUsage)
        except (msgspec.DecodeError, UnicodeError) as problem:
            raise ModelFailed("script", f"{path}, line {number}: {problem}. Correct the script.") from None
        lines.append(line)
    return lines


def _deltas(line: ScriptLine, substitutions: dict[str, str]) -> Iterator[Delta]:
    for word in _WORDS.findall(clean_text(line.reasoning)):
        yield Delta(reasoning=word)
    for word in _WORDS.findall(clean_text(line.text)):
        yield Delta(text=word)
    for index, call in enumerate(line.tool_calls):
        arguments = _arguments(call.arguments, substitutions)
        yield Delta(tool_call=ToolCallDelta(index=index, name=call.name))
        if arguments:
            yield Delta(tool_call=ToolCallDelta(index=index, arguments=arguments))


def _arguments(arguments: dict[str, Any] | str, substitutions: dict[str, str]) -> str:
    if isinstance(arguments, str):
        return _replaced_text(arguments, substitutions)
    return msgspec.json.encode(_replaced(arguments, substitutions)).decode()


def _replaced(value: Any, substitutions: dict[str, str]) -> Any:
    """A copy with the placeholders filled in. A revision that stands alone becomes a number."""
    if isinstance(value, dict):
        return {name: _replaced(member, substitutions) for name, member in value.items()}
    if isinstance(value, list):
        return [_replaced(item, substitutions) for item in value]
    if not isinstance(value, str):
        return value
    text = _replaced_text(value, substitutions)
    return int(text) if value == _REVISION and text.isdecimal() else text


def _replaced_text(text: str, substitutions: dict[str, str]) -> str:
    for name, value in substitutions.items():
        text = text.replace("${" + name + "}", value)
    return text


def _finish_reason(line: ScriptLine) -> str | None:
    if line.finish_reason is not msgspec.UNSET:
        return line.finish_reason
    return "tool_calls" if line.tool_calls else "stop"


def _scripted_error(error: ScriptedError) -> ModelFailed:
    message = error.message or error.code or "scripted error"
    body = msgspec.json.encode({"error": {"code": error.code, "message": message}})
    return http_failure(error.status, body, {})


async def _pause(seconds: float, watch: Watch) -> None:
    try:
        async with watch.waiting():
            await asyncio.sleep(seconds)
    except TimeoutError:
        raise watch.failure() from None
