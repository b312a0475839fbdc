"""The wire contract as a table: one line a method. What is not here is answered MethodNotFound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from steersman.domain.events import EVENT_DATA
from steersman.sessions import requests as rq
from steersman.sessions.api import SessionApi

PROTOCOL_VERSION: Final = 1
NAMESPACE: Final = "steersman/"
COMMAND_PREFIX: Final = "steersman."
EXPERIMENTAL: Final[dict[str, Any]] = {
    "protocolVersion": PROTOCOL_VERSION,
    "sessions": {},
    "steer": {},
    "goal": {},
    "eventTypes": list(EVENT_DATA),
}
"""What `initialize` answers as `capabilities.experimental.steersman`: what this server really offers."""


class Route(msgspec.Struct, frozen=True):
    """A request: the struct of its params and the verb that answers it. `command` is its twin's name.

    `abortable`: it answers when its work is done, and `$/cancelRequest` ends that work. `destroys`: it takes
    something away for good, so that it is never done to a session that nobody named.
    """

    params: type[Any]
    verb: Callable[[SessionApi, Any], Any]
    command: str | None = None
    abortable: bool = False
    destroys: bool = False


ROUTES: Final[dict[str, Route]] = {
    "steersman/session/new": Route(rq.NewSession, lambda api, p: api.new(p), "newSession"),
    "steersman/session/list": Route(rq.ListSessions, lambda api, p: api.list(p), "listSessions"),
    "steersman/session/open": Route(rq.OpenSession, lambda api, p: api.open(p), "openSession"),
    "steersman/session/fork": Route(rq.ForkSession, lambda api, p: api.fork(p), "forkSession"),
    "steersman/session/export": Route(
        rq.ExportSession, lambda api, p: api.export(p), "exportSession", abortable=True
    ),
    "steersman/session/repair": Route(
        rq.RepairSession, lambda api, p: api.repair(p), "repairSession", abortable=True, destroys=True
    ),
    "steersman/session/close": Route(rq.SessionOnly, lambda api, p: api.close(p), "closeSession"),
    "steersman/session/rename": Route(rq.RenameSession, lambda api, p: api.rename(p), "renameSession"),
    "steersman/session/delete": Route(
        rq.SessionOnly, lambda api, p: api.delete(p), "deleteSession", destroys=True
    ),
    "steersman/session/events": Route(rq.ReadEvents, lambda api, p: api.events(p), "events"),
    "steersman/session/configure": Route(rq.ConfigureSession, lambda api, p: api.configure(p), "configure"),
    "steersman/session/compact": Route(
        rq.SessionOnly, lambda api, p: api.compact(p), "compact", abortable=True
    ),
    "steersman/turn/prompt": Route(rq.Prompt, lambda api, p: api.prompt(p), "prompt"),
    "steersman/turn/steer": Route(rq.Steer, lambda api, p: api.steer(p), "steer"),
    "steersman/turn/cancel": Route(rq.CancelTurn, lambda api, p: api.cancel(p), "cancel"),
    "steersman/queue/remove": Route(rq.RemoveMessage, lambda api, p: api.remove_message(p), "removeMessage"),
    "steersman/queue/update": Route(rq.UpdateMessage, lambda api, p: api.update_message(p), "updateMessage"),
    "steersman/queue/release": Route(rq.SessionOnly, lambda api, p: api.release_queue(p), "releaseQueue"),
    "steersman/goal/get": Route(rq.GetGoal, lambda api, p: api.goal(p), "goalGet"),
    "steersman/goal/create": Route(rq.CreateGoal, lambda api, p: api.create_goal(p), "goalCreate"),
    "steersman/goal/edit": Route(rq.EditGoal, lambda api, p: api.edit_goal(p), "goalEdit"),
    "steersman/goal/pause": Route(rq.GoalAt, lambda api, p: api.pause_goal(p), "goalPause"),
    "steersman/goal/resume": Route(rq.GoalAt, lambda api, p: api.resume_goal(p), "goalResume"),
    "steersman/goal/complete": Route(
        rq.CompleteGoal, lambda api, p: api.complete_goal(p), "goalComplete", abortable=True
    ),
    "steersman/goal/clear": Route(rq.GoalAt, lambda api, p: api.clear_goal(p), "goalClear"),
    "steersman/goal/command": Route(rq.CommandGoal, lambda api, p: api.command_goal(p), "goal"),
    "steersman/credentials/set": Route(rq.SetCredentials, lambda api, p: api.set_credentials(p)),
    "steersman/status": Route(rq.Nothing, lambda api, p: api.status(p), "status"),
}

COMMANDS: Final[dict[str, Route]] = {
    COMMAND_PREFIX + route.command: route for route in ROUTES.values() if route.command is not None
} | {COMMAND_PREFIX + "showTranscript": Route(rq.SessionOnly, lambda api, p: api.show_transcript(p))}
"""`workspace/executeCommand` twins. Credentials have none: a key is not an argument of a command. Showing a
transcript has no request: a client that speaks the contract exports it."""


def takes_latest(route: Route) -> bool:
    """Whether the params name a session that a command may leave out."""
    return "session_id" in route.params.__struct_fields__ and not route.destroys
