"""Keys that can be recognised go in by every door, and no artefact of the product may hold one of them.

The doors: environment, `credentials/set`, settings (also where no key belongs), headers, a provider that
echoes what it was sent, files and variables that tools show. The artefacts: every byte that the server said
or complained, every file that it left, also after it was killed.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
import tempfile
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from tests.fixtures.provider import DONE, Provider, Request, event, fin, http, provider, reply, tc, txt
from tests.proof.layer import require
from tests.proof.real_server import Died, RealServer, real_server

_CANARIES: Final = {
    "environment": "sk-canaryone-0123456789abcdefABCDEF",
    "credentials/set": "sk-canarytwo-9876543210fedcbaFEDCBA",
    "settings": "sk-canarythree-55555aaaaa66666bbbbb",
    "header": "canaryfour/with+odd=signs0123456789",
    "proxy password": "canaryfive0password99",
}


def spellings(secret: str) -> Iterator[bytes]:
    """How a text may look in an artefact."""
    raw = secret.encode()
    yield raw
    yield quote(secret, safe="").encode()
    yield secret[::-1].encode()
    for start in range(3):  # base64 of a longer text that holds it, at each alignment
        yield b64encode(b"\0" * start + raw)[4 if start else 0 : -4]
    yield raw.hex().encode()
    yield secret.encode("utf-16-le")


def found_in(artefacts: Mapping[str, bytes]) -> list[str]:
    """Which canary is in which artefact."""
    return [
        f"the key of {door} is in {name}"
        for name, content in artefacts.items()
        for door, secret in _CANARIES.items()
        if any(spelling in content for spelling in spellings(secret))
    ]


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _echo(request: Request) -> str:
    return f"you sent {request.headers} to {request.target}"


def _script() -> list[Any]:
    command = f'{{"argv": ["{sys.executable}", "show.py"]}}'
    return [
        lambda request: http(401, {"error": {"message": _echo(request), "code": "invalid_api_key"}}),
        lambda request: http(503, _echo(request), {"x-echo": request.headers["authorization"]}),
        lambda request: reply(txt("half"), event({"error": {"message": _echo(request), "code": 500}})),
        lambda request: http(
            302, b"", {"location": f"http://127.0.0.1:9/?{request.headers['authorization']}"}
        ),
        reply(tc(0, "c1", "run_command", command), fin("tool_calls"), DONE),
        reply(tc(0, "c2", "read_file", '{"path": "notes.txt"}'), fin("tool_calls"), DONE),
        reply(txt("seen"), fin("stop"), DONE),
        lambda request: http(400, {"error": {"message": _echo(request)}}),
        lambda request: reply(txt("slow"), 60.0),
    ]


def _workspace(folder: Path) -> Path:
    workspace = folder / "workspace"
    workspace.mkdir()
    env = _CANARIES["environment"]
    (workspace / ".env").write_text(f"OPENAI_API_KEY={env}\nOTHER_TOKEN={_CANARIES['settings']}\n")
    (workspace / "notes.txt").write_text(f"the key is {env}, and api_key = {_CANARIES['credentials/set']}\n")
    show = "import os\nprint(open('.env').read())\nfor item in os.environ.items():\n    print(*item)\n"
    (workspace / "show.py").write_text(show, encoding="utf-8")
    return workspace


def _options(folder: Path, endpoint: Provider) -> dict[str, Any]:
    key = _CANARIES["settings"]
    return {
        "stateDir": str(folder / "state"),
        "apiKey": key,
        "OPENAI_API_KEY": key,
        "model": {
            "baseUrl": endpoint.base_url,
            "name": "m",
            "apiKey": key,
            "headers": {"X-Gateway": _CANARIES["header"]},
            "proxy": f"http://user:{_CANARIES['proxy password']}@127.0.0.1:9",
            "maxRetries": 1,
            "retryBaseSeconds": 0,
            "temperature": key,
        },
        "permissions": {"commands": [{"argv": [sys.executable, "show.py"], "decision": "allow"}]},
    }


def secret_case(number: int) -> Counter[str]:
    """The whole way once, ended in one of several manners."""
    folder = Path(tempfile.mkdtemp(prefix="steersman-keys-")).resolve()
    try:
        return asyncio.run(_everywhere(folder, (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM)[number % 3]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _everywhere(folder: Path, end: signal.Signals) -> Counter[str]:
    workspace = _workspace(folder)
    key = _CANARIES["environment"]
    more = {
        "OPENAI_API_KEY": key,
        "ALIAS": key,
        "PROOF_SECRET": _CANARIES["header"],
        "HOME": str(folder / "home"),
    }
    async with provider(*_script()) as endpoint:
        options = _options(folder, endpoint)
        async with real_server(workspace, options, env=more) as server:
            server.tell("$/setTrace", {"value": "verbose"})
            texts = await _talk(server)
            server.process.send_signal(end)
            await server.gone()
        async with real_server(workspace, options, env=more) as again:
            texts += await _look(again)
        keys = {request.headers.get("authorization", "") for request in endpoint.requests}
        require(f"Bearer {key}" in keys, "the key never went to the endpoint: nothing was tried")
        require(f"Bearer {_CANARIES['credentials/set']}" in keys, "the second key was never used")
        require(len(endpoint.requests) >= 8, f"only {len(endpoint.requests)} requests were made")
    artefacts = {f"state/{name}": content for name, content in files_below(folder / "state").items()}
    artefacts |= {f"home/{name}": content for name, content in files_below(folder / "home").items()}
    artefacts |= {"stdout": bytes(server.said), "stderr": bytes(server.complaints)}
    artefacts |= {"second stdout": bytes(again.said), "second stderr": bytes(again.complaints)}
    artefacts |= {f"answer {n}": text.encode() for n, text in enumerate(texts)}
    require(any(name.endswith("session.db") for name in artefacts), "no log was looked at")
    require(b"127.0.0.1" in artefacts["stdout"], "the echo of the provider never came")
    leaks = found_in(artefacts)
    require(not leaks, "; ".join(leaks))
    return Counter(artefacts=len(artefacts), bytes=sum(map(len, artefacts.values())))


async def _talk(server: RealServer) -> list[str]:
    """All turns; what the server answered to a person who looks at everything."""
    session = (await server.result("steersman/session/new", {"title": "keys"}))["sessionId"]
    for text in ("one", "two", "three", "four"):
        seen = len(server.events)
        await server.result("steersman/turn/prompt", {"sessionId": session, "text": text})
        await server.until("turn/end", seen)
        if text == "one":
            await server.result("steersman/credentials/set", {"apiKey": _CANARIES["credentials/set"]})
    texts = await _look(server)
    seen = len(server.events)
    await server.result("steersman/turn/prompt", {"sessionId": session, "text": "five"})
    await server.until("turn/end", seen)
    await server.result("steersman/turn/prompt", {"sessionId": session, "text": "six"})
    await server.until("assistant/chunk", seen)
    return texts


async def _look(server: RealServer) -> list[str]:
    texts = [str(await server.result("steersman/status"))]
    sessions = (await server.result("steersman/session/list", {}))["sessions"]
    texts.append(str(sessions))
    for info in sessions:
        page = {"sessionId": info["sessionId"]}
        texts.append(str(await server.result("steersman/session/events", page)))
        for form in ("jsonl", "markdown"):
            try:
                answer = await asyncio.wait_for(
                    server.ask("steersman/session/export", page | {"format": form}), 20
                )
            except Died:
                continue
            texts.append(str(answer))
    return texts
