"""Addresses to listen on: written clearly, and on this machine unless a person insists."""

from __future__ import annotations

import socket

import pytest

from steersman.lsp.tcp import listen, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:7000", ("127.0.0.1", 7000)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:65535", ("::1", 65535)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text", ["", "7000", ":7000", "localhost", "localhost:", "localhost:http", "::1:7000", "[]:1", "h:-1"]
)
def test_what_is_no_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"127\.0\.0\.1:7000|not a port"):
        parse_address(text)


@pytest.mark.parametrize("port", ["65536", "99999999999", "٣"])
def test_a_port_is_a_number_that_exists(port: str) -> None:
    with pytest.raises(ValueError, match="not a port"):
        parse_address(f"localhost:{port}")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_other_machines_are_kept_out(host: str) -> None:
    with pytest.raises(ValueError, match="whoever connects can run commands here"):
        listen(host, 0)


def test_a_person_can_insist_on_other_machines() -> None:
    with listen("0.0.0.0", 0, remote=True) as listener:
        assert listener.getsockname()[0] == "0.0.0.0"


def test_a_port_that_is_taken_is_an_error() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(OSError, match="in use"):
            listen("127.0.0.1", other.getsockname()[1])
