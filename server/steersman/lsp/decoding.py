"""Params from the wire to values, strictly; and errors on their way back, with what a client can act on."""

from __future__ import annotations

import re
from typing import Any, Final, TypeVar

import msgspec

from steersman.errors import Aborted, InvalidParams, RequestRefused

T = TypeVar("T")
INVALID_PARAMS: Final = -32602
REQUEST_FAILED: Final = -32803
INTERNAL_ERROR: Final = -32603
METHOD_NOT_FOUND: Final = -32601
INVALID_REQUEST: Final = -32600
PARSE_ERROR: Final = -32700
NOT_INITIALIZED: Final = -32002
REQUEST_CANCELLED: Final = -32800
SERVER_CANCELLED: Final = -32802
_AT: Final = re.compile(r"(?P<problem>.*) - at `\$(?P<path>.*)`", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `(?P<name>[^`]*)`")


def decode_params(raw: Any, params: type[T]) -> T:
    """Plain JSON as a value. Missing params are an empty object.

    Raises:
        InvalidParams: names every member that does not fit; `errors` holds `path: problem` for each.
    """
    given = {} if raw is None else raw
    try:
        return msgspec.convert(given, params, strict=True)
    except msgspec.ValidationError as error:
        problems = _problems_of_members(given, params) or [problem_at("$", error)]
    raise InvalidParams("; ".join(problems), problems)


def problem_at(path: str, error: msgspec.ValidationError) -> str:
    """`path: problem`, where `path` leads to the value that was converted and the error further down."""
    text = str(error)
    if found := _AT.fullmatch(text):
        text, path = found["problem"], path + found["path"]
    if found := _MISSING.fullmatch(text):
        text, path = "it is required", f"{path}.{found['name']}"
    return f"{path}: {text}"


def _problems_of_members(given: Any, params: type[Any]) -> list[str]:
    """The library stops at the first problem; a person wants to know them all."""
    problems = []
    for field in msgspec.structs.fields(params) if isinstance(given, dict) else ():
        path = f"$.{field.encode_name}"
        if field.encode_name not in given:
            if field.required:
                problems.append(f"{path}: it is required")
            continue
        try:
            msgspec.convert(given[field.encode_name], field.type, strict=True)
        except msgspec.ValidationError as error:
            problems.append(problem_at(path, error))
    return problems


def error_object(error: BaseException) -> dict[str, Any]:
    """A failure as a JSON-RPC error object. What nobody foresaw says only that it was one."""
    match error:
        case InvalidParams():
            return {"code": INVALID_PARAMS, "message": str(error), "data": {"errors": error.errors}}
        case RequestRefused():
            data = {"kind": error.kind, "retryable": error.retryable, **error.data}
            return {"code": REQUEST_FAILED, "message": str(error), "data": data}
        case Aborted():
            return {"code": REQUEST_CANCELLED, "message": "It was stopped before it was done."}
        case _:
            message = "Steersman failed to carry this out; its log (stderr) says more."
            return {"code": INTERNAL_ERROR, "message": message, "data": {"kind": "internal"}}
