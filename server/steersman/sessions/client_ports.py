"""What a boundary gives to the sessions: the client's editor, its person, and the listener of the feed."""

from __future__ import annotations

import msgspec

from steersman.ports.approval import ApprovalPort
from steersman.ports.editor import EditorPort
from steersman.ports.feed import Feed
from steersman.ports.process import ProcessPort, TestRunner
from steersman.ports.question import QuestionPort


class ClientPorts(msgspec.Struct, frozen=True, kw_only=True):
    """`tests` and `commands` are None for a client that runs none: then the server does it alone."""

    editor: EditorPort
    approvals: ApprovalPort
    questions: QuestionPort
    feed: Feed
    tests: TestRunner | None = None
    commands: ProcessPort | None = None
