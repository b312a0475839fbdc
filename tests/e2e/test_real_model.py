"""A real model answers a question about a file by really reading it, over the whole stack.

Needs a model behind a compatible endpoint, for instance llama.cpp's server with a small instruct model. Name
it by `STEERSMAN_REAL_MODEL_URL=http://127.0.0.1:8080/v1` and `STEERSMAN_REAL_MODEL=name`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.conftest import Steersman

URL = os.environ.get("STEERSMAN_REAL_MODEL_URL")
NAME = os.environ.get("STEERSMAN_REAL_MODEL", "model")
SECONDS = 600.0


@pytest.mark.skipif(
    URL is None, reason="no real model is named: set STEERSMAN_REAL_MODEL_URL to its endpoint"
)
@pytest.mark.timeout(SECONDS)
def test_a_real_model_reads_a_file_and_says_what_stands_in_it(tmp_path: Path, steersman: Steersman) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "config.py").write_text('PORT = 8123\nHOST = "localhost"\n', encoding="utf-8")
    question = "Read the file config.py and tell me the value of PORT."
    endpoint = ["--base-url", str(URL), "--model", NAME]
    ran = steersman(
        *["run", "--workspace", str(folder), "--prompt", question, *endpoint],
        env={"OPENAI_API_KEY": "local"},
        timeout=SECONDS,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "read_file config.py – ok" in ran.stdout
    assert "8123" in ran.stdout.split("read_file config.py – ok")[1]
