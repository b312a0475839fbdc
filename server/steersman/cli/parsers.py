"""The command lines of `steersman sessions` and `steersman replay`. What acts is imported when it acts."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_session_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `sessions` and `replay` to the program's commands."""
    sessions = commands.add_parser("sessions", help="list, show, export, verify, repair, delete")
    verbs = sessions.add_subparsers(dest="verb", required=True, metavar="VERB")
    listing = _verb(verbs, "list", "all sessions, newest first")
    listing.add_argument("--workspace", type=Path, metavar="DIR", help="only those of this folder")
    _json(listing)
    show = _verb(verbs, "show", "how a session stands")
    _session(show)
    _json(show)
    export = _verb(verbs, "export", "a session as text; secrets are masked")
    _session(export)
    export.add_argument("--format", choices=("markdown", "jsonl"), default="markdown")
    verify = _verb(verbs, "verify", "read every event of sessions (of all, if none is named)")
    verify.add_argument("session", nargs="*", metavar="SESSION")
    _json(verify)
    repair = _verb(verbs, "repair", "cut a damaged session back; the damaged file is kept beside it")
    _session(repair)
    repair.add_argument(
        "--through", type=_seq, required=True, metavar="SEQ", help="the last event that is kept"
    )
    _json(repair)
    delete = _verb(verbs, "delete", "remove sessions for good")
    delete.add_argument("session", nargs="+", metavar="SESSION")
    _json(delete)
    replay = commands.add_parser("replay", help="the state at an event, and the request the model was sent")
    _session(replay)
    _state_dir(replay)
    replay.add_argument("--at", type=_seq, metavar="SEQ", help="as it was after this event (else the last)")
    what = replay.add_mutually_exclusive_group()
    what.add_argument("--request", action="store_true", help="print only the request, byte for byte")
    what.add_argument("--follow", action="store_true", help="print the events after it, and each new one")
    replay.set_defaults(act=_replay)


def _sessions(arguments: argparse.Namespace) -> int:
    from steersman.cli.sessions import run

    return run(arguments)


def _replay(arguments: argparse.Namespace) -> int:
    from steersman.cli.replay import run

    return run(arguments)


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, words: str
) -> argparse.ArgumentParser:
    parser = verbs.add_parser(name, help=words, description=words.capitalize() + ".")
    _state_dir(parser)
    parser.set_defaults(act=_sessions)
    return parser


def _session(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="its id, or the beginning of one")


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _state_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state-dir", type=Path, metavar="DIR", help="where sessions are kept")


def _seq(text: str) -> int:
    try:
        seq = int(text)
    except ValueError:
        seq = 0
    if seq < 1:
        raise argparse.ArgumentTypeError("it must be the number of an event, from 1")
    return seq
