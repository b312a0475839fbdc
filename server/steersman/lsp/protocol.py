"""The protocol over pygls: our own requests go to the dispatcher, the rest of LSP to pygls' features.

Every request gets exactly one answer, whatever it holds; nothing that a client sends ends the server.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import uuid
from collections.abc import Generator
from concurrent.futures import Future
from typing import Any, Final, NoReturn

import msgspec
from cattrs import transform_error
from cattrs.errors import BaseValidationError
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, lsp_method

from steersman.domain.value import clean_value, encode
from steersman.lsp.decoding import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    NOT_INITIALIZED,
    PARSE_ERROR,
    REQUEST_CANCELLED,
    error_object,
)
from steersman.lsp.dispatch import Dispatcher
from steersman.lsp.messages import COMMAND_PREFIX, COMMANDS, EXPERIMENTAL, NAMESPACE
from steersman.lsp.writer import FrameWriter

log = logging.getLogger(__name__)
CALL_PREFIX: Final = "s-"
"""Our own requests to the client have ids of this form; pygls' are bare UUIDs."""


class ClientError(Exception):
    """The client answered a request of ours with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code


class SteersmanProtocol(LanguageServerProtocol):
    """`dispatcher` is set by `initialize`. Documents are kept by our own truth of them, not by pygls'."""

    dispatcher: Dispatcher | None = None
    _server: Any

    def attach(self, writer: FrameWriter) -> None:
        """Where messages go, those of pygls too."""
        self.out = writer
        self._calls: dict[str, asyncio.Future[Any]] = {}

    def receive(self, body: bytes) -> None:
        """Take one message. Raises SystemExit on `exit`, and nothing else."""
        try:
            data = _decode(body)
        except (ValueError, RecursionError):
            self.send_error(None, PARSE_ERROR, "The message is not JSON, or nested too deeply.")
            return
        if not isinstance(data, dict) or not _is_id(data.get("id")):
            self.send_error(None, INVALID_REQUEST, "A message is one JSON object (batches are not taken).")
            return
        try:
            self._route(data)
        except Exception as error:
            log.error("a message could not be handled", exc_info=error)
            if data.get("id") is not None and "method" in data:
                described = error_object(error)
                self.send_error(data["id"], described["code"], described["message"], described["data"])

    def _route(self, data: dict[str, Any]) -> None:
        msg_id, method = data.get("id"), data.get("method")
        if isinstance(method, str):
            if msg_id is not None:
                self._request(msg_id, method, data)
            else:
                self._notification(method, data)
        elif msg_id is not None and "method" not in data:
            self._response(data)
        else:
            self.send_error(msg_id, INVALID_REQUEST, "A message needs a method, or the id of a request.")

    async def call(self, method: str, params: object, *, timeout: float) -> Any:  # noqa: ASYNC109
        """Ask the client and wait so many seconds for its answer, as plain JSON.

        When the time is over or the task is cancelled the request is withdrawn; a late or a second answer
        is ignored.

        Raises:
            TimeoutError, ClientError.
        """
        call_id = CALL_PREFIX + uuid.uuid4().hex
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._calls[call_id] = answer
        self.out.send(encode({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}))
        try:
            async with asyncio.timeout(timeout):
                return await answer
        except (TimeoutError, asyncio.CancelledError):
            self.notify_raw(types.CANCEL_REQUEST, {"id": call_id})
            raise
        finally:
            self._calls.pop(call_id, None)

    @property
    def is_shut_down(self) -> bool:
        """Whether the client has sent `shutdown`."""
        return self._shutdown

    def send_body(self, body: bytes) -> None:
        """Send a message that is encoded already."""
        self.out.send(body)

    def notify_raw(self, method: str, params: object) -> None:
        """Send a notification; `params` is anything that msgspec encodes."""
        self.out.send(encode({"jsonrpc": "2.0", "method": method, "params": params}))

    def send_error(self, msg_id: Any, code: int, message: str, data: Any = None) -> None:
        error = {"code": code, "message": message} | ({"data": data} if data is not None else {})
        self.out.send(encode({"jsonrpc": "2.0", "id": msg_id, "error": error}))

    def _request(self, msg_id: int | str, method: str, data: dict[str, Any]) -> None:
        if self._shutdown:
            self.send_error(msg_id, INVALID_REQUEST, "The server is shutting down.")
        elif self.dispatcher is None and method != types.INITIALIZE:
            self.send_error(msg_id, NOT_INITIALIZED, "The server is not initialized yet.")
        elif self.dispatcher is not None and method == types.INITIALIZE:
            self.send_error(msg_id, INVALID_REQUEST, "The server is initialized already.")
        elif method == types.SHUTDOWN:
            self._shut_down(msg_id)
        elif self.dispatcher is not None and method.startswith(NAMESPACE):
            self.dispatcher.request(msg_id, method, data.get("params"))
        elif self.dispatcher is not None and (command := _our_command(method, data)) is not None:
            self.dispatcher.command(msg_id, command, data["params"].get("arguments"))
        else:
            self._standard(data)

    def _shut_down(self, msg_id: int | str) -> None:
        """Stop first and answer then: what a client is told before the answer is final."""
        self._shutdown = True
        self._server.stop().add_done_callback(
            lambda _: self.out.send(encode({"jsonrpc": "2.0", "id": msg_id, "result": None}))
        )

    def _notification(self, method: str, data: dict[str, Any]) -> None:
        if method == types.EXIT:
            raise SystemExit(0 if self._shutdown else 1)
        if self._shutdown or (self.dispatcher is None and method != types.INITIALIZED):
            return
        if self.dispatcher is not None and method.startswith(NAMESPACE):
            self.dispatcher.notification(method, data.get("params"))
        elif method == types.CANCEL_REQUEST:
            self._cancel(data)
        else:
            self._standard(data)

    def _cancel(self, data: dict[str, Any]) -> None:
        params = data.get("params")
        wanted = params.get("id") if isinstance(params, dict) else None
        if wanted is None or not _is_id(wanted):
            return
        if self.dispatcher is None or not self.dispatcher.cancel(wanted):
            future = self._request_futures.get(wanted)
            if future is not None:
                future.cancel()

    def _response(self, data: dict[str, Any]) -> None:
        """Take an answer of the client's; a result that it leaves out is null."""
        answer = self._calls.get(data["id"]) if isinstance(data["id"], str) else None
        if answer is None or answer.done():
            return
        error = data.get("error")
        if error is None:
            answer.set_result(data.get("result"))
        else:
            members = error if isinstance(error, dict) else {}
            code = members.get("code")
            text = str(members.get("message", "an error without a message"))
            answer.set_exception(ClientError(code if isinstance(code, int) else 0, text))
            answer.exception()  # whoever waits may be cancelled in this very tick

    def _standard(self, data: dict[str, Any]) -> None:
        """A message of LSP itself: structured and handled by pygls, its params checked."""
        is_request = data.get("id") is not None
        try:
            message = self.structure_message({**data, "jsonrpc": "2.0"})
        except JsonRpcException as error:
            cause = error.__cause__
            problems = transform_error(cause, path="$") if isinstance(cause, BaseValidationError) else []
            text = problems[0] if problems else "The params do not fit."
            if is_request:
                self.send_error(data["id"], INVALID_PARAMS, text, {"errors": problems or [text]})
            else:
                log.warning("%s: %s", data.get("method"), text)
            return
        self.handle_message(message)

    def _send_handler_result(self, future: Future[Any], *, msg_id: int | str) -> None:
        """The answer of a feature. pygls would send the traceback of one that failed."""
        self._request_futures.pop(msg_id, None)
        if future.cancelled():
            self.send_error(msg_id, REQUEST_CANCELLED, "The request was cancelled.")
            return
        error = future.exception()
        if error is None:
            self._send_response(msg_id, future.result())
        elif isinstance(error, JsonRpcException):
            self.send_error(msg_id, error.code, error.message, error.data)
        else:
            described = error_object(error)
            if described["code"] == INTERNAL_ERROR:
                log.error("a request failed", exc_info=error)
            self.send_error(msg_id, described["code"], described["message"], described["data"])

    def _send_data(self, data: Any) -> None:
        """pygls' own answers and notifications, through the same writer."""
        if data:
            body = json.dumps(data, default=self._serialize_message)
            self.out.send(body.encode("utf-8"))

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """pygls' own answer, with what it does not know of: our commands and the extension."""
        result = yield from super().lsp_initialize(params)
        encoding = result.capabilities.position_encoding or types.PositionEncodingKind.Utf16
        self._server.begin(params, encoding)
        result.capabilities.experimental = {"steersman": EXPERIMENTAL}
        result.capabilities.execute_command_provider = types.ExecuteCommandOptions(commands=list(COMMANDS))
        return result

    @lsp_method(types.INITIALIZED)
    def lsp_initialized(self, params: types.InitializedParams) -> None:
        self._server.initialized()

    @lsp_method(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(self, params: types.WorkDoneProgressCancelParams) -> None:
        self._server.progress_cancelled(params.token)

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        self._server.documents.did_open(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        self._server.documents.did_change(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_SAVE)
    def lsp_text_document__did_save(self, params: types.DidSaveTextDocumentParams) -> None:
        self._server.documents.did_save(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._server.documents.did_close(params)

    @lsp_method(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def lsp_workspace__did_change_workspace_folders(
        self, params: types.DidChangeWorkspaceFoldersParams
    ) -> None:
        self._server.folders.did_change(params)


def _decode(body: bytes) -> Any:
    """The JSON of a body. Raises ValueError, RecursionError.

    Halves of surrogate pairs are no text that could be stored, so they are replaced – but not in what is
    told of documents: an editor on UTF-16 text may change one half after the other.
    """
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        data = _tolerant.decode(body.decode("utf-8", "surrogatepass"))
    method = data.get("method") if isinstance(data, dict) else None
    return data if isinstance(method, str) and method.startswith("textDocument/") else clean_value(data)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is out of range")
    return number


_tolerant: Final = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
"""The standard library's decoder takes halves of surrogate pairs."""


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, int | str) and not isinstance(value, bool))


def _our_command(method: str, data: dict[str, Any]) -> str | None:
    params = data.get("params")
    if method != types.WORKSPACE_EXECUTE_COMMAND or not isinstance(params, dict):
        return None
    command = params.get("command")
    return command if isinstance(command, str) and command.startswith(COMMAND_PREFIX) else None
