"""The recorded streams of real providers, which live beside the repository and may be missing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[4] / "shared" / "corpus"
needs_corpus = pytest.mark.skipif(not ROOT.is_dir(), reason="the corpus of recorded streams is not there")


@dataclass(frozen=True)
class Recording:
    name: str
    body: bytes
    expected: dict[str, Any]

    @property
    def choice(self) -> dict[str, Any]:
        choice: dict[str, Any] = self.expected["choices"][0]
        return choice

    @property
    def text(self) -> str:
        return (self.choice["content"] or "") + (self.choice["refusal"] or "")

    @property
    def calls(self) -> list[tuple[str, str, str]]:
        return [(c["id"] or "", c["name"], c["arguments"]) for c in self.choice["tool_calls"]]


def recordings() -> list[Any]:
    """Every stream with its expected assembly, as pytest parameters."""
    pairs = [(path, ROOT / "expected" / f"{path.stem}.json") for path in ROOT.glob("streams/*.sse")]
    pairs += [(path, path.with_name(f"{path.stem}.expected.json")) for path in ROOT.glob("local/*.sse")]
    found = [
        Recording(path.stem, path.read_bytes(), json.loads(expected.read_text("utf-8")))
        for path, expected in sorted(pairs)
        if expected.exists()
    ]
    return [pytest.param(recording, id=recording.name) for recording in found]
