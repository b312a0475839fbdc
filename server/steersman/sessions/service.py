"""The verbs of the wire contract on real sessions (sessions/api.py): open what must be open, ask the agent,
answer after the commit. It holds no state of a session; that is folded from its log."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from steersman import __version__
from steersman.domain import events as ev
from steersman.domain.ids import new_id
from steersman.domain.value import clean_text
from steersman.domain.views import GoalView, SessionInfo
from steersman.errors import NotConfigured, Unsupported
from steersman.goals.checkable import problem_of
from steersman.loop.agent import Stopped
from steersman.loop.compaction import Shorter
from steersman.loop.inbox import Receipt, Words
from steersman.loop.journal import Into
from steersman.loop.services import Services
from steersman.ports.event_log import SessionStore
from steersman.ports.feed import Feed
from steersman.ports.viewer import Viewer
from steersman.sessions import goal_verbs
from steersman.sessions import requests as rq
from steersman.sessions.catalogue import Catalogue
from steersman.sessions.export import export
from steersman.sessions.open_session import OpenSession
from steersman.sessions.registry import Registry

R = TypeVar("R")
PROTOCOL_VERSION: Final = 1


class SessionService:
    """Implements SessionApi. `state_dir` is shown in the status, a transcript by `viewer`."""

    def __init__(
        self,
        services: Services,
        store: SessionStore,
        feed: Feed,
        state_dir: str,
        viewer: Viewer | None = None,
    ) -> None:
        self._services = services
        self._store = store
        self._state_dir = state_dir
        self._viewer = viewer
        self._registry = Registry(services, store, feed)
        self._catalogue = Catalogue(store, self._registry)
        self._tasks: set[asyncio.Task[Any]] = set()

    def new(self, params: rq.NewSession) -> Future[SessionInfo]:
        return self._opening(self._registry.create(params))

    def open(self, params: rq.OpenSession) -> Future[SessionInfo]:
        if params.read_only:
            return self._task(self._registry.view(params.session_id))
        return self._opening(self._registry.reopened(params.session_id))

    def fork(self, params: rq.ForkSession) -> Future[SessionInfo]:
        return self._opening(self._registry.forked(params))

    def export(self, params: rq.ExportSession) -> Future[rq.Exported]:
        return self._task(self._export(params))

    def show_transcript(self, params: rq.SessionOnly) -> Future[rq.Shown]:
        return self._task(self._show_transcript(params.session_id))

    def repair(self, params: rq.RepairSession) -> Future[SessionInfo]:
        future: Future[SessionInfo] = asyncio.get_running_loop().create_future()
        cutting = self._task(self._registry.cut(params))

        def cut(done: Future[None]) -> None:
            if future.done():
                return
            try:
                done.result()
                self._opening(self._registry.repaired(params.session_id), future)
            except (Exception, asyncio.CancelledError) as error:
                future.set_exception(error)

        cutting.add_done_callback(cut)
        future.add_done_callback(lambda _: cutting.cancel())
        return future

    def list(self, params: rq.ListSessions) -> Future[rq.SessionList]:
        return self._task(self._catalogue.list(params))

    def events(self, params: rq.ReadEvents) -> Future[rq.EventPage]:
        return self._task(self._catalogue.events(params))

    def close(self, params: rq.SessionOnly) -> Future[rq.Nothing]:
        return self._task(self._close(params.session_id))

    def delete(self, params: rq.SessionOnly) -> Future[rq.Nothing]:
        return self._task(self._delete(params.session_id))

    def rename(self, params: rq.RenameSession) -> Future[SessionInfo]:
        return self._configure(
            params.session_id, ev.SessionConfigured(title=clean_text(params.title).strip())
        )

    def configure(self, params: rq.ConfigureSession) -> Future[SessionInfo]:
        change = ev.SessionConfigured(model=params.model, mode=params.mode)
        return self._configure(params.session_id, change)

    def compact(self, params: rq.SessionOnly) -> Future[rq.Compacted]:
        def act(session: OpenSession, future: Future[rq.Compacted]) -> None:
            self._require_model(session)
            session.agent.compact(Into(future, _shorter))

        return self._with(params.session_id, act)

    def prompt(self, params: rq.Prompt) -> Future[rq.Accepted]:
        problem = problem_of(params.checks or (), self._services)
        if problem is not None:
            return self._failed(Unsupported(problem))

        def act(session: OpenSession, future: Future[rq.Accepted]) -> None:
            words = replace(self._words(session, params), checks=params.checks)
            session.agent.prompt(words, Into(future, _accepted))

        return self._with(params.session_id, act)

    def steer(self, params: rq.Steer) -> Future[rq.Accepted]:
        def act(session: OpenSession, future: Future[rq.Accepted]) -> None:
            words = replace(self._words(session, params), expected_turn=params.expected_turn)
            session.agent.steer(words, Into(future, _accepted))

        return self._with(params.session_id, act)

    def cancel(self, params: rq.CancelTurn) -> Future[rq.Cancelled]:
        def answer(stopped: Stopped) -> rq.Cancelled:
            return rq.Cancelled(cancelled=stopped.anything, turn=stopped.turn)

        def act(session: OpenSession, future: Future[rq.Cancelled]) -> None:
            drop, into = params.queue == "drop", Into(future, answer)
            between = params.expected_turn is None and session.goals.between_rounds
            if between and session.agent.at_rest:
                session.goals.stop_between_rounds(into)
                return
            session.agent.cancel(drop=drop, expected_turn=params.expected_turn, into=into)
            if between:
                session.goals.stop_between_rounds()

        return self._with(params.session_id, act)

    def remove_message(self, params: rq.RemoveMessage) -> Future[rq.Removed]:
        def act(session: OpenSession, future: Future[rq.Removed]) -> None:
            session.agent.remove(params.message_id, Into(future, lambda done: rq.Removed(removed=done)))

        return self._with(params.session_id, act)

    def update_message(self, params: rq.UpdateMessage) -> Future[rq.Updated]:
        def act(session: OpenSession, future: Future[rq.Updated]) -> None:
            into: Into[bool] = Into(future, lambda done: rq.Updated(updated=done))
            session.agent.update(params.message_id, clean_text(params.text), into)

        return self._with(params.session_id, act)

    def release_queue(self, params: rq.SessionOnly) -> Future[rq.Released]:
        def act(session: OpenSession, future: Future[rq.Released]) -> None:
            session.agent.release(Into(future, lambda count: rq.Released(released=count)))

        return self._with(params.session_id, act)

    def goal(self, params: rq.GetGoal) -> Future[GoalView | None]:
        def act(session: OpenSession, future: Future[GoalView | None]) -> None:
            future.set_result(session.goals.view())

        return self._with(params.session_id, act)

    def create_goal(self, params: rq.CreateGoal) -> Future[GoalView]:
        def act(session: OpenSession, future: Future[GoalView]) -> None:
            self._require_model(session)
            wishes = goal_verbs.wishes_of(params)
            session.goals.create(wishes, "human", goal_verbs.viewed(session.goals, future))

        return self._with(params.session_id, act)

    def edit_goal(self, params: rq.EditGoal) -> Future[GoalView]:
        def act(session: OpenSession, future: Future[GoalView]) -> None:
            wishes = goal_verbs.wishes_of(params)
            into = goal_verbs.viewed(session.goals, future)
            session.goals.edit(params.ref, wishes, "human", into)

        return self._with(params.session_id, act)

    def pause_goal(self, params: rq.GoalAt) -> Future[GoalView]:
        def act(session: OpenSession, future: Future[GoalView]) -> None:
            into = goal_verbs.viewed(session.goals, future)
            session.goals.pause(params.ref, "human", into=into)

        return self._with(params.session_id, act)

    def resume_goal(self, params: rq.GoalAt) -> Future[GoalView]:
        def act(session: OpenSession, future: Future[GoalView]) -> None:
            self._require_model(session)
            session.goals.resume(params.ref, "human", goal_verbs.viewed(session.goals, future))

        return self._with(params.session_id, act)

    def complete_goal(self, params: rq.CompleteGoal) -> Future[GoalView]:
        async def work() -> GoalView:
            session = await asyncio.shield(self._registry.opened(params.session_id))
            return await goal_verbs.complete(session.goals, params)

        return self._task(work())

    def clear_goal(self, params: rq.GoalAt) -> Future[None]:
        def act(session: OpenSession, future: Future[None]) -> None:
            session.goals.clear(params.ref, "human", Into(future, lambda _: None))

        return self._with(params.session_id, act)

    def command_goal(self, params: rq.CommandGoal) -> Future[rq.GoalAnswer]:
        async def work() -> rq.GoalAnswer:
            session = await asyncio.shield(self._registry.opened(params.session_id))
            text = clean_text(params.text)
            return await goal_verbs.command(session.goals, text, lambda: self._require_model(session))

        return self._task(work())

    def set_credentials(self, params: rq.SetCredentials) -> Future[rq.Nothing]:
        self._services.models.set_key(params.api_key)
        future: Future[rq.Nothing] = asyncio.get_running_loop().create_future()
        future.set_result(rq.Nothing())
        return future

    def status(self, params: rq.Nothing) -> Future[rq.Status]:
        return self._task(self._status())

    def warm(self) -> None:
        self._task(self._services.models.warm())

    def trust(self, params: rq.Trust) -> None:
        self._services.trusted = params.trusted
        for session in self._registry.sessions():
            session.services.trusted = params.trusted
        if not params.trusted:
            for session in self._registry.sessions():
                session.goals.disarm("The workspace is not trusted any more.")
                session.agent.abort("trust")

    def latest(self, workspace_folder: str | None) -> Future[str]:
        return self._task(self._latest(workspace_folder))

    async def stop(self) -> None:
        await self._registry.close_all()
        await self._services.processes.close()
        for task in [*self._tasks]:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=0.2)
        await self._services.models.model().close()

    def _with(self, session_id: str, act: Callable[[OpenSession, Future[R]], None]) -> Future[R]:
        """Let `act` answer for an open session: in this very call if it is open, else in order behind it."""
        return self._behind(self._registry.opened(session_id), act)

    def _opening(
        self, opening: Future[OpenSession], answer: Future[SessionInfo] | None = None
    ) -> Future[SessionInfo]:
        """The answer to what opens a session. What happened while opening is told behind it."""
        return self._behind(opening, lambda session, future: future.set_result(session.info()), answer)

    def _behind(
        self,
        opening: Future[OpenSession],
        act: Callable[[OpenSession, Future[R]], None],
        answer: Future[R] | None = None,
    ) -> Future[R]:
        future: Future[R] = answer or asyncio.get_running_loop().create_future()

        def go(opened: Future[OpenSession]) -> None:
            if future.done():
                return
            try:
                act(opened.result(), future)
            except (Exception, asyncio.CancelledError) as error:
                future.set_exception(error)

        if opening.done():
            go(opening)
        else:
            opening.add_done_callback(go)
        return future

    def _configure(self, session_id: str, change: ev.SessionConfigured) -> Future[SessionInfo]:
        def act(session: OpenSession, future: Future[SessionInfo]) -> None:
            session.configure(change, Into(future, lambda _: session.info()))

        return self._with(session_id, act)

    def _words(self, session: OpenSession, params: rq.Prompt | rq.Steer) -> Words:
        """What a person sent, as it arrives now. Raises NotConfigured: without a model nothing is queued."""
        self._require_model(session)
        return Words(
            message_id=params.message_id or new_id("m"),
            text=clean_text(params.text),
            context=params.context,
            after_stop=session.agent.stopped,
        )

    def _require_model(self, session: OpenSession) -> None:
        info = self._services.models.info(session.state.model)
        if not info.configured:
            raise NotConfigured(info.problem or "No model is configured: set model.name and a key.")

    async def _export(self, params: rq.ExportSession) -> rq.Exported:
        redact = self._services.models.redact
        return rq.Exported(text=await export(self._store, params.session_id, params.format, redact))

    async def _show_transcript(self, session_id: str) -> rq.Shown:
        text = await export(self._store, session_id, "markdown", self._services.models.redact)
        path = await self._store.keep_transcript(session_id, text)
        shown = self._viewer is not None and await self._viewer.show(path)
        return rq.Shown(uri=path.as_uri(), shown=shown)

    async def _close(self, session_id: str) -> rq.Nothing:
        await self._registry.close(session_id)
        return rq.Nothing()

    async def _delete(self, session_id: str) -> rq.Nothing:
        await self._registry.close(session_id)
        await self._store.delete(session_id)
        return rq.Nothing()

    async def _status(self) -> rq.Status:
        info = self._services.models.info(None)
        return rq.Status(
            version=__version__,
            protocol_version=PROTOCOL_VERSION,
            model=rq.ModelStatus(name=info.name or None, base_url=info.base_url, configured=info.configured),
            state_dir=self._state_dir,
            sessions=await self._store.count(),
        )

    async def _latest(self, workspace_folder: str | None) -> str:
        found = await self._catalogue.latest(workspace_folder)
        if found is not None:
            return found
        session = await self._registry.create(rq.NewSession(workspace_folder=workspace_folder))
        return session.state.session_id

    def _task(self, work: Coroutine[Any, Any, R]) -> Future[R]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _failed(self, error: Exception) -> Future[Any]:
        future: Future[Any] = asyncio.get_running_loop().create_future()
        future.set_exception(error)
        return future


def _shorter(found: Shorter) -> rq.Compacted:
    return rq.Compacted(
        compacted=found.compacted, tokens_before=found.tokens_before, tokens_after=found.tokens_after
    )


def _accepted(receipt: Receipt) -> rq.Accepted:
    return rq.Accepted(message_id=receipt.message_id, outcome=receipt.outcome, turn=receipt.turn)
