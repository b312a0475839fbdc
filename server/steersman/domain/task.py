"""The task state machine that a person sees (exits.md). Pure: a state and a cause give the next state."""

from __future__ import annotations

from typing import Final, Literal

TaskState = Literal[
    "IDLE",
    "IN_PROGRESS",
    "WAITING_FOR_USER",
    "SUB_TASK_FAILED",
    "PAUSED",
    "SUCCEEDED",
    "FAILED",
    "CANCELLED",
]

TASK_ROWS: Final[frozenset[tuple[TaskState, TaskState]]] = frozenset(
    {
        ("IDLE", "IN_PROGRESS"),
        ("SUCCEEDED", "IN_PROGRESS"),
        ("FAILED", "IN_PROGRESS"),
        ("CANCELLED", "IN_PROGRESS"),
        ("PAUSED", "IN_PROGRESS"),
        ("IN_PROGRESS", "WAITING_FOR_USER"),
        ("SUB_TASK_FAILED", "WAITING_FOR_USER"),
        ("WAITING_FOR_USER", "IN_PROGRESS"),
        ("WAITING_FOR_USER", "SUB_TASK_FAILED"),
        ("IN_PROGRESS", "SUB_TASK_FAILED"),
        ("SUB_TASK_FAILED", "IN_PROGRESS"),
        ("IN_PROGRESS", "PAUSED"),
        ("WAITING_FOR_USER", "PAUSED"),
        ("SUB_TASK_FAILED", "PAUSED"),
        ("IN_PROGRESS", "SUCCEEDED"),
        ("IN_PROGRESS", "FAILED"),
        ("WAITING_FOR_USER", "FAILED"),
        ("SUB_TASK_FAILED", "FAILED"),
        ("IDLE", "CANCELLED"),
        ("IN_PROGRESS", "CANCELLED"),
        ("WAITING_FOR_USER", "CANCELLED"),
        ("SUB_TASK_FAILED", "CANCELLED"),
        ("PAUSED", "CANCELLED"),
        # A person may complete an unfinished goal at any time.
        ("IDLE", "SUCCEEDED"),
        ("PAUSED", "SUCCEEDED"),
        ("FAILED", "SUCCEEDED"),
        ("WAITING_FOR_USER", "SUCCEEDED"),
        ("SUB_TASK_FAILED", "SUCCEEDED"),
        ("CANCELLED", "SUCCEEDED"),
    }
)
"""The rows of the table: what may follow what. The fold refuses anything else."""
