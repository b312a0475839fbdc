"""Params from the wire to values, strictly; and errors on their way back, with what a client can act on."""

from __future__ import annotations

import re
from typing import Any, Final, TypeVar

import msgspec

from steersman.errors import InvalidParams, RequestRefused

T = TypeVar("T")
INVALID_PARAMS: Final = -32602
REQUEST_FAILED: Final = -32803
INTERNAL_ERROR: Final = -32603
METHOD_NOT_FOUND: Final = -32601
INVALID_REQUEST: Final = -32600
PARSE_ERROR: Final = -32700
NOT_INITIALIZED: Final = -32002
REQUEST_CANCELLED: Final = -32800
_AT: Final = re.compile(r" - at `([^`]+)`\Z")


def decode_params(raw: Any, params: type[T]) -> T:
    """Plain JSON as a value. Missing params are an empty object.

    Raises:
        InvalidParams: names the member; `errors` holds `path: problem`.
    """
    try:
        return msgspec.convert({} if raw is None else raw, params, strict=True)
    except msgspec.ValidationError as error:
        text = str(error)
        found = _AT.search(text)
        path = found[1] if found else "$"
        problem = _AT.sub("", text)
        raise InvalidParams(f"{path}: {problem}", [f"{path}: {problem}"]) from None


def error_object(error: BaseException) -> dict[str, Any]:
    """A failure as a JSON-RPC error object. What nobody foresaw says only that it was one."""
    match error:
        case InvalidParams():
            return {"code": INVALID_PARAMS, "message": str(error), "data": {"errors": error.errors}}
        case RequestRefused():
            data = {"kind": error.kind, "retryable": error.retryable, **error.data}
            return {"code": REQUEST_FAILED, "message": str(error), "data": data}
        case _:
            message = "Steersman failed to carry this out; its log (stderr) says more."
            return {"code": INTERNAL_ERROR, "message": message, "data": {"kind": "internal"}}
