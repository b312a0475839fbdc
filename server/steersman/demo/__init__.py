"""The demo's material: a small project with a real defect, and what the scripted model says."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).parent / "project"
DEFECTIVE: Final = "bill.py"
"""The file with the defect, relative to the project: nothing else needs to change."""
SCRIPT: Final = Path(__file__).parent / "script.jsonl"
PROMPT: Final = "The tests of this project fail. Find out why, repair it, and show that they pass."
