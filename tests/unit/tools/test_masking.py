"""Masking: secret-like values go, code stays, the same way each time, and soon."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.tools.masking import MASK, masked

SECRETS = [
    ("OPENAI_API_KEY=canaryvalue", "canaryvalue"),
    ("export GITHUB_TOKEN='abcdefgh'", "abcdefgh"),
    ("a=1\0DB_PASSWORD=abcdefgh\0b=2", "abcdefgh"),
    ("12|SECRET=abcdefgh", "abcdefgh"),
    ("+API_KEY=abcdefgh", "abcdefgh"),
    ('api_key = "abc123def456ghi"', "abc123def456ghi"),
    ('{"clientSecret": 1, "client_secret": "abc123def456ghi"}', "abc123def456ghi"),
    ("12|db_password: Hunter2Hunter2x", "Hunter2Hunter2x"),
    ("password: Hunter2Hunter2x\r", "Hunter2Hunter2x"),
    ("Authorization: Bearer abcdef123456789", "abcdef123456789"),
    ("postgres://user:pa55word@host/db", "pa55word"),
    ("key is sk-proj-abcdefghijklmnop1234", "sk-proj-abcdefghijklmnop1234"),
    ("ghp_" + "a1" * 18, "ghp_" + "a1" * 18),
    ("AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP"),
    ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl", "c2lnbmF0dXJl"),
    ("-----BEGIN RSA PRIVATE KEY-----\nabc\ndef\n-----END RSA PRIVATE KEY-----", "def"),
    ("-----BEGIN PRIVATE KEY-----\nabc cut here", "abc"),
]
CODE = [
    "password=config.password",
    "token = self.next_token()",
    "def login(token: str, password: str | None = None) -> None:",
    "MAX_TOKENS=4096000",
    "TOKEN=$OTHER_TOKEN",
    "TOKEN=${{ secrets.TOKEN }}",
    'api_key = os.environ["OPENAI_API_KEY"]',
    '"password": "changeme"',
    "key = value",
    "https://host/path?x=1:2@3",
    "secret_key: SecretBytesType",
    "the password is not here",
    "task-force sk-1",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_secret_values_are_masked_and_what_is_around_them_stays(text: str, secret: str) -> None:
    shown = masked(text)
    assert secret not in shown
    assert MASK in shown
    assert masked(text) == shown
    assert masked(f"before\n{text}\nafter").startswith("before\n")


@pytest.mark.parametrize("text", CODE)
def test_ordinary_code_is_left_alone(text: str) -> None:
    assert masked(text) == text


@given(st.text(max_size=200))
def test_masking_twice_changes_nothing_more(text: str) -> None:
    assert masked(masked(text)) == masked(text)


@pytest.mark.parametrize(
    "text",
    [
        "A_" * 200_000,
        "token=" * 60_000,
        "eyJ" * 100_000,
        "a://" * 80_000,
        "api_key" + " " * 400_000,
        "sk-" * 99_999,
    ],
)
def test_masking_ends_soon_whatever_the_text(text: str) -> None:
    started = time.process_time()
    masked(text)
    assert time.process_time() - started < 2
