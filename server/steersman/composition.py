"""The only place that builds concrete parts and wires them. No decisions are made here."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import platformdirs

from steersman.domain.settings import Settings
from steersman.goals.checks import HarnessChecks
from steersman.loop.services import Services
from steersman.models.provider import Provider
from steersman.policies.budget import budget
from steersman.policies.steps import steps
from steersman.policies.unanswered import unanswered
from steersman.ports.clock import SystemClock
from steersman.ports.event_log import SessionStore
from steersman.processes.cleaned import CleanedCommands, CleanedTests
from steersman.processes.runner import GuardedProcesses
from steersman.processes.test_runner import ServerTestRunner
from steersman.sessions.api import SessionApi
from steersman.sessions.client_ports import ClientPorts
from steersman.sessions.service import SessionService
from steersman.store.folder import FolderStore
from steersman.tools.registry import INTELLIGENCE, toolbox


def state_folder(settings: Settings) -> Path:
    """Where sessions live: `stateDir`, else the platform's place for a program's state."""
    if settings.state_dir is not None:
        return Path(settings.state_dir).expanduser()
    return Path(platformdirs.user_state_dir("steersman", appauthor=False))


def session_store(state_dir: str | None) -> SessionStore:
    """The stored sessions, without a client and without a model."""
    return FolderStore(state_folder(Settings(state_dir=state_dir)))


def redactor(environ: Mapping[str, str]) -> Callable[[str], str]:
    """What hides the key that the environment holds."""
    return Provider(Settings(), environ).redact


def build(settings: Settings, client: ClientPorts) -> SessionApi:
    """The sessions of one client. Raises StorageFailed where the state folder cannot be used."""
    processes = GuardedProcesses(grace_seconds=settings.loop.tool_grace_seconds)
    state_dir = state_folder(settings)
    services = Services(
        settings=settings,
        clock=SystemClock(),
        models=Provider(settings, os.environ),
        editor=client.editor,
        approvals=client.approvals,
        questions=client.questions,
        processes=processes,
        commands=CleanedCommands(client.commands) if client.commands else None,
        tests=CleanedTests(client.tests)
        if client.tests
        else ServerTestRunner(processes, settings.tests.command),
        checks=HarnessChecks(),
        toolbox=partial(toolbox, more=INTELLIGENCE if client.queries else ()),
        policies=[unanswered, budget, steps],
        jitter=random.random,
        queries=client.queries,
        trusted=settings.trusted,
    )
    return SessionService(services, FolderStore(state_dir), client.feed, str(state_dir), client.viewer)
