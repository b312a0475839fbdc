"""When a request goes through a proxy: only by the user's word, and never to loopback."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.domain.settings import ModelSettings
from steersman.models.proxies import proxy_for

PROXY = "http://proxy.example:3128"


def through(base_url: str, no_proxy: str = "", **environ: str) -> str | None:
    return proxy_for(base_url, ModelSettings(), {"HTTPS_PROXY": PROXY, "NO_PROXY": no_proxy, **environ})


def test_the_environment_counts_as_the_users_word() -> None:
    assert through("https://api.example/v1") == PROXY
    assert proxy_for("https://api.example", ModelSettings(), {"https_proxy": "proxy:1"}) == "http://proxy:1"
    assert proxy_for("https://api.example", ModelSettings(), {"ALL_PROXY": PROXY}) == PROXY
    assert proxy_for("http://api.example", ModelSettings(), {"HTTPS_PROXY": PROXY}) is None
    assert proxy_for("http://api.example", ModelSettings(), {"HTTP_PROXY": PROXY}) == PROXY
    assert proxy_for("https://api.example", ModelSettings(), {}) is None


def test_the_settings_win_over_the_environment() -> None:
    environ = {"HTTPS_PROXY": PROXY, "NO_PROXY": "api.example"}
    assert proxy_for("https://api.example", ModelSettings(proxy="http://mine:1"), environ) is None
    mine = ModelSettings(proxy="http://mine:1", no_proxy="")
    assert proxy_for("https://api.example", mine, environ) == "http://mine:1"


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:80",
        "127.9.9.9",
        "localhost:1",
        "LOCALHOST",
        "x.localhost",
        "[::1]:8080",
        "[::ffff:127.0.0.1]",
    ],
)
def test_loopback_is_never_proxied(host: str) -> None:
    assert through(f"https://{host}/v1") is None
    assert proxy_for(f"http://{host}/v1", ModelSettings(proxy=PROXY), {}) is None


@pytest.mark.parametrize(
    ("entries", "url", "excepted"),
    [
        ("*", "https://api.example", True),
        ("api.example", "https://api.example", True),
        ("example", "https://api.example", True),
        (".example", "https://api.example", True),
        ("*.example", "https://api.example", True),
        ("API.Example", "https://api.example.", True),
        ("ample", "https://api.example", False),
        ("other, api.example", "https://api.example", True),
        ("other api.example", "https://api.example", True),
        ("api.example:443", "https://api.example", True),
        ("api.example:8443", "https://api.example", False),
        ("10.0.0.0/8", "https://10.1.2.3", True),
        ("10.0.0.1/8", "https://10.1.2.3", True),
        ("10.0.0.0/8", "https://11.1.2.3", False),
        ("10.0.0.0/8", "https://ten.example", False),
        ("10.1.2.3", "https://10.1.2.3", True),
        ("fd00::/8", "https://[fd00::1]", True),
        ("[fd00::1]", "https://[fd00::1]", True),
        ("fd00::/8", "https://10.1.2.3", False),
        ("http://[broken, ://, 10.0.0.0/99, :::, ,., *.", "https://api.example", False),
    ],
)
def test_exceptions_are_names_addresses_and_networks(entries: str, url: str, excepted: bool) -> None:
    assert (through(url, entries) is None) == excepted


@given(st.text(max_size=60))
def test_no_exception_list_crashes(entries: str) -> None:
    through("https://api.example", entries)
    through("https://[fd00::1]", entries)
