"""The command line. What a command needs is imported when it is called, so that `--help` is quick."""

from __future__ import annotations

import argparse
import asyncio
import io
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from steersman import __version__
from steersman.cli.parsers import add_session_commands

if TYPE_CHECKING:
    from rich.console import Console

_USAGE: Final = 2
"""The exit code of a command line that cannot be followed."""
_STOPPED: Final = 3
"""The exit code of a command that a person stopped before it could end in order."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code of the process."""
    arguments = _parser().parse_args(argv)
    try:
        code: int = arguments.act(arguments)
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return _STOPPED
    return code


def _serve(arguments: argparse.Namespace) -> int:
    if arguments.tcp is not None:
        return _serve_tcp(arguments)
    if arguments.remote:
        print("steersman serve: --remote goes with --tcp", file=sys.stderr)
        return _USAGE
    from steersman.lsp import stdio

    # First of all: from here on nothing that is printed reaches the protocol.
    source, sink = stdio.claim()
    from steersman import serving

    return serving.serve_stdio(source, sink)


def _serve_tcp(arguments: argparse.Namespace) -> int:
    from steersman import serving
    from steersman.lsp.tcp import listen, parse_address

    try:
        listener = listen(*parse_address(arguments.tcp), remote=arguments.remote)
    except (OSError, ValueError) as error:
        print(f"steersman serve: cannot listen on {arguments.tcp}: {error}", file=sys.stderr)
        return _USAGE
    return serving.serve_tcp(listener, lambda text: print(text, file=sys.stderr, flush=True))


def _run(arguments: argparse.Namespace) -> int:
    from steersman.headless.run import ExitCode, Run, UsageError, run, split_check

    options = _options(arguments)
    try:
        checks = [split_check(command) for command in arguments.check]
        if arguments.test_command is not None:
            options["tests"] = {"command": split_check(arguments.test_command, "--test-command")}
    except UsageError as error:
        print(f"steersman run: {error}", file=sys.stderr)
        return ExitCode.USAGE
    what = Run(
        workspace=arguments.workspace.resolve(),
        prompt=arguments.goal or arguments.prompt,
        goal=arguments.goal is not None,
        checks=checks,
        options=options,
        timeout=arguments.timeout,
    )
    return asyncio.run(run(what, _console())).code


def _demo(arguments: argparse.Namespace) -> int:
    from steersman.headless.demo import demo

    return asyncio.run(demo(_console(), os.environ, keep=arguments.keep))


def _console() -> Console:
    from rich.console import Console

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a narrow encoding must not end the work
    return Console(highlight=False)


def _version(arguments: argparse.Namespace) -> int:
    print(f"steersman {__version__}")
    return 0


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The server's settings as the command line gives them. The key comes from the environment alone."""
    model = {"name": arguments.model, "baseUrl": arguments.base_url}
    options: dict[str, Any] = {"model": {name: value for name, value in model.items() if value is not None}}
    if arguments.scripted_model is not None:
        options["scriptedModel"] = str(arguments.scripted_model.resolve())
    if arguments.state_dir is not None:
        options["stateDir"] = str(arguments.state_dir.resolve())
    return options


def _folder(text: str) -> Path:
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a folder")
    return path


def _words(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it must not be empty")
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError("it must be a number of seconds, more than 0")
    return seconds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="steersman", description="A coding agent that lives in a language server."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="the language server, for an editor: LSP on stdin and stdout")
    serve.add_argument("--tcp", metavar="HOST:PORT", help="wait there for one client instead")
    serve.add_argument("--remote", action="store_true", help="let --tcp listen for other machines too")
    serve.set_defaults(act=_serve)
    run = commands.add_parser("run", help="one prompt or one goal on a folder, without an editor")
    run.add_argument("--workspace", type=_folder, required=True, metavar="DIR", help="the folder to work in")
    what = run.add_mutually_exclusive_group(required=True)
    what.add_argument("--prompt", type=_words, metavar="TEXT", help="what to do, in one turn")
    what.add_argument(
        "--goal", type=_words, metavar="TEXT", help="what to reach, in rounds, until the checks pass"
    )
    run.add_argument(
        "--check",
        action="append",
        default=[],
        metavar="CMD",
        help="a command that must exit with 0 before the work counts as done (repeatable, no shell)",
    )
    run.add_argument("--model", metavar="NAME", help="the model's name (else OPENAI_MODEL)")
    run.add_argument("--base-url", metavar="URL", help="a compatible endpoint (else OPENAI_BASE_URL)")
    run.add_argument("--scripted-model", type=Path, metavar="FILE", help="replies from a file, no model")
    run.add_argument("--state-dir", type=Path, metavar="DIR", help="where sessions are kept")
    run.add_argument("--test-command", metavar="CMD", help="how this folder's tests are run")
    run.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="stop the turn after so long")
    run.set_defaults(act=_run)
    demo = commands.add_parser("demo", help="watch a small project being repaired, for real")
    demo.add_argument("--keep", action="store_true", help="keep the repaired copy")
    demo.set_defaults(act=_demo)
    add_session_commands(commands)
    version = commands.add_parser("version", help="print the version")
    version.set_defaults(act=_version)
    return parser


if __name__ == "__main__":
    sys.exit(main())
