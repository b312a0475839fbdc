"""A session that this process has taken: its journal, its agent, and what is told of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from steersman import __version__
from steersman.domain import events as ev
from steersman.domain.fold import empty
from steersman.domain.state import SessionState
from steersman.domain.value import encode
from steersman.domain.views import SessionInfo
from steersman.errors import SessionCorrupt
from steersman.goals.driver import Driver
from steersman.goals.service import Goals
from steersman.goals.tools import goal_tools
from steersman.goals.view import Activation, goal_view
from steersman.loop.agent import Agent
from steersman.loop.journal import Decision, Into, Journal, extended
from steersman.loop.services import Services
from steersman.ports.event_log import EventLog, SessionStore
from steersman.ports.feed import Feed
from steersman.sessions.announcer import Announcer
from steersman.sessions.fork import Fork, due_task
from steersman.sessions.loading import load
from steersman.sessions.projection import session_info
from steersman.sessions.recovery import recovery_events
from steersman.sessions.session_editor import SessionEditor
from steersman.tools.base import AnyTool

SERVER: Final = f"steersman {__version__}"
Toolbox = Callable[[ev.Mode], Mapping[str, AnyTool]]
STOP_SECONDS: Final = 1.9
"""How long an ordered end waits for a running turn: the tools' grace and their clean-up fit into it."""


class OpenSession:
    """Made by `create` or `take`; ended by `close`."""

    def __init__(
        self, log: EventLog, state: SessionState, services: Services, feed: Feed, store: SessionStore
    ) -> None:
        self._log = log
        self._store = store
        self.journal = Journal(log, state, services.clock)
        # The session's own copy: the goal's tools act on this session.
        self.services = services = msgspec.structs.replace(
            services,
            editor=SessionEditor(services.editor, lambda: self.state.workspace_folder),
            toolbox=self._toolbox(services.toolbox),
        )
        self.agent = Agent(self.journal, services)
        self.goals = Goals(self.journal, self.agent, services)
        self.driver = Driver(self.goals, self.agent, services)
        self.announcer = Announcer(state.session_id, feed, self.info)
        self.journal.told = self._told
        self.agent.touched = self.announcer.touched
        self.goals.changed = self.announcer.touched
        self.driver.changed = self.announcer.touched
        self._header_task: asyncio.Task[None] | None = None

    @classmethod
    async def create(
        cls,
        log: EventLog,
        created: ev.SessionCreated,
        configured: ev.SessionConfigured | None,
        services: Services,
        feed: Feed,
        store: SessionStore,
    ) -> OpenSession:
        """A new session on an empty log. Raises StorageFailed."""
        session = cls(log, empty(log.session_id), services, feed, store)
        opened = ev.SessionOpened(reason="new", server=SERVER)
        first = [created, opened] if configured is None else [created, opened, configured]
        await session.journal.append(*first)
        return session

    @classmethod
    def forked(
        cls, log: EventLog, fork: Fork, services: Services, feed: Feed, store: SessionStore
    ) -> OpenSession:
        """A fork that is in its log already. Told of it is what its parent does not have."""
        session = cls(log, fork.state, services, feed, store)
        session._told(fork.rows[fork.at :])
        return session

    @classmethod
    async def take(
        cls,
        log: EventLog,
        services: Services,
        feed: Feed,
        store: SessionStore,
        require_here: Callable[[str | None], None],
        reason: Literal["resume", "repair"] = "resume",
    ) -> OpenSession:
        """A session that exists, folded and recovered.

        `require_here` refuses a workspace folder that is not open, before anything is written.

        Raises:
            SessionCorrupt, StorageFailed, WorkspaceMismatch.
        """
        loaded = await load(log)
        if loaded.damaged is not None:
            raise SessionCorrupt.at(loaded.damaged.seq, loaded.damaged.reason)
        require_here(loaded.state.workspace_folder)
        session = cls(log, loaded.state, services, feed, store)
        due = due_task(loaded)
        state, _ = extended(loaded.state, due, loaded.state.last_time)
        recovery = await recovery_events(state, log, services.editor)
        opened = ev.SessionOpened(reason=reason, server=SERVER)
        await session.journal.append(*due, opened, *recovery)
        return session

    def _toolbox(self, base: Toolbox) -> Toolbox:
        """The tools of a mode, with the goal's: only looking at it in a mode that changes nothing."""

        def offered(mode: ev.Mode) -> Mapping[str, AnyTool]:
            goal = goal_tools(self.goals)
            return {**base(mode), **{tool.name: tool for tool in (goal if mode == "agent" else goal[:1])}}

        return offered

    @property
    def state(self) -> SessionState:
        return self.journal.state

    def info(self) -> SessionInfo:
        """The session as clients see it now."""
        model = self.services.models.info(self.state.model)
        return session_info(
            self.state,
            phase=self.agent.phase,
            waiting_on="pause" if self.driver.pausing else self.agent.waiting_on,
            goal=self.goals.view(),
            model=model.name or None,
            window_tokens=model.context_window,
        )

    def configure(self, change: ev.SessionConfigured, into: Into[None]) -> None:
        """Record a new title, model or mode; the next step uses it."""
        self.journal.submit(lambda state: Decision([change], None), into=into)

    async def close(self, cause: Callable[[], None] | None = None) -> None:
        """End: wait for the turn (after `cause` has told it to stop), then close the log. Idempotent."""
        self.driver.stop()
        if cause is not None:
            cause()
            if not await self.agent.settle(STOP_SECONDS):
                self.agent.kill()
        await self.journal.drain()
        if self._header_task is not None:
            await asyncio.wait({self._header_task})
        if self.state.opened:
            await self._store.write_header(self.state.session_id, self._header())
        await self._log.close()

    def _told(self, rows: Sequence[ev.StoredEvent]) -> None:
        self.announcer.told(rows)
        if any(row.type in _LISTED for row in rows):
            self._write_header()

    def _write_header(self) -> None:
        if self._header_task is None or self._header_task.done():
            writing = self._store.write_header(self.state.session_id, self._header())
            self._header_task = asyncio.create_task(writing)

    def _header(self) -> bytes:
        info = session_info(self.state, model=self.state.model, goal=goal_view(self.state, Activation()))
        return encode(msgspec.structs.replace(info, state="idle"))


_LISTED: Final = frozenset(
    {"session/created", "session/opened", "session/configured", "turn/start", "turn/end"}
)
"""Events after which a list would show something else."""
