"""What a boundary gives to the sessions: the client's editor, its person, and the listener of the feed."""

from __future__ import annotations

import msgspec

from steersman.ports.approval import ApprovalPort
from steersman.ports.editor import EditorPort
from steersman.ports.feed import Feed


class ClientPorts(msgspec.Struct, frozen=True, kw_only=True):
    editor: EditorPort
    approvals: ApprovalPort
    feed: Feed
