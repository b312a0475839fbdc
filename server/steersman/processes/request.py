"""What a guardian is asked, in bytes, and what is refused without starting one. Pure."""

from __future__ import annotations

import signal
from collections.abc import Mapping

from steersman.ports.process import Ended, ProcessOutcome, ProcessSpec


def problem_of(spec: ProcessSpec) -> str | None:
    """Why no system could run this, or None."""
    if not spec.argv or not spec.argv[0]:
        return "There is no program to run: the argument vector is empty."
    if not spec.cwd.startswith("/"):
        return f"The folder to run in must be an absolute path, not {spec.cwd!r}."
    texts = [*spec.argv, spec.cwd, *spec.env, *spec.env.values()]
    if any("\0" in text for text in texts):
        return "An argument, the folder or a variable holds a NUL character, which no program can be given."
    if any(not name or "=" in name for name in spec.env):
        return "The name of an environment variable is empty or holds '='."
    try:
        "".join(texts).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return "An argument, the folder or a variable is not valid Unicode."
    return None


def never_ran(ended: Ended, problem: str) -> ProcessOutcome:
    return ProcessOutcome(ended=ended, exit_code=None, output="", duration_ms=0, problem=problem)


def request_bytes(spec: ProcessSpec, grace_seconds: float, env: Mapping[str, str]) -> bytes:
    """The request as `guardian.py` reads it."""
    stop = signal.SIGINT if spec.stop_with == "interrupt" else signal.SIGTERM
    fields = [
        f"{grace_seconds:.3f}",
        str(int(stop)),
        spec.cwd,
        str(len(spec.argv)),
        *spec.argv,
        *(f"{name}={value}" for name, value in env.items()),
    ]
    body = "\0".join(fields).encode("utf-8", "surrogateescape")
    return b"%d\n%s" % (len(body), body)
