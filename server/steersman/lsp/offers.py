"""What the connected client offers, as ports. What it did not advertise is None: the server does it alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from steersman.domain.settings import Settings
from steersman.lsp.abilities import ClientAbilities
from steersman.lsp.approvals import LspApprovals
from steersman.lsp.channel import ClientChannel
from steersman.lsp.client_commands import ClientCommands
from steersman.lsp.client_messages import COMMAND_RESULT, TESTS_PROGRESS, TESTS_RESULT
from steersman.lsp.client_tests import ClientTestRunner
from steersman.lsp.editor import LspEditor
from steersman.lsp.queries import LspQueries
from steersman.lsp.questions import LspQuestions
from steersman.lsp.viewer import LspViewer
from steersman.ports.feed import Feed
from steersman.sessions.client_ports import ClientPorts

Listener = Callable[[Any], None]


class Offers(msgspec.Struct, frozen=True, kw_only=True):
    """`listeners` take the notifications, by method, with which a client answers requests of the ports."""

    ports: ClientPorts
    listeners: Mapping[str, Listener]


def offers_of(
    channel: ClientChannel, abilities: ClientAbilities, editor: LspEditor, feed: Feed, settings: Settings
) -> Offers:
    """The ports of a client with these abilities."""
    listeners: dict[str, Listener] = {}
    tests = commands = None
    if "tests" in abilities.extension:
        tests = ClientTestRunner(channel, editor.uri_of, settings.tests.command)
        listeners[TESTS_RESULT] = tests.result
        listeners[TESTS_PROGRESS] = tests.progress
    if "commands" in abilities.extension:
        commands = ClientCommands(channel, editor.uri_of)
        listeners[COMMAND_RESULT] = commands.result
    seconds = settings.loop.client_request_timeout_seconds
    queries = None
    if "query" in abilities.extension:
        queries = LspQueries(channel, editor.uri_of, abilities.encoding, request_timeout_seconds=seconds)
    ports = ClientPorts(
        editor=editor,
        approvals=LspApprovals(channel, abilities),
        questions=LspQuestions(channel, abilities),
        feed=feed,
        tests=tests,
        commands=commands,
        queries=queries,
        viewer=LspViewer(channel, request_timeout_seconds=seconds) if abilities.show_document else None,
    )
    return Offers(ports=ports, listeners=listeners)
