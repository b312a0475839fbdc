"""What a boundary gives to the sessions: the client's editor, its person, and the listener of the feed."""

from __future__ import annotations

import msgspec

from steersman.ports.approval import ApprovalPort
from steersman.ports.editor import EditorPort
from steersman.ports.feed import Feed
from steersman.ports.process import ProcessPort, TestRunner
from steersman.ports.query import QueryPort
from steersman.ports.question import QuestionPort
from steersman.ports.viewer import Viewer


class ClientPorts(msgspec.Struct, frozen=True, kw_only=True):
    """`tests`, `commands`, `queries` and `viewer` are None for a client that does not offer them."""

    editor: EditorPort
    approvals: ApprovalPort
    questions: QuestionPort
    feed: Feed
    tests: TestRunner | None = None
    commands: ProcessPort | None = None
    queries: QueryPort | None = None
    viewer: Viewer | None = None
