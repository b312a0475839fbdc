"""No key is in anything that the product says or leaves behind."""

from __future__ import annotations

from base64 import b64encode

import pytest

from tests.proof.layer import check
from tests.proof.layers import LAYERS
from tests.proof.secrets_everywhere import _CANARIES, found_in

SECRETS = LAYERS["secrets"]


@pytest.mark.timeout(180)
def test_no_key_is_in_any_artefact() -> None:
    assert check(SECRETS, SECRETS.quick)["artefacts"] > 5


@pytest.mark.full
@pytest.mark.timeout(0)
def test_no_key_is_in_any_artefact_however_the_server_ends() -> None:
    check(SECRETS, SECRETS.full)


@pytest.mark.parametrize("secret", _CANARIES.values())
def test_the_search_sees_a_key_in_any_spelling(secret: str) -> None:
    for content in (
        secret.encode(),
        b'{"a": "Bearer ' + secret.encode() + b'"}',
        b64encode(b"Bearer " + secret.encode() + b"\n"),
        b64encode(b"x:" + secret.encode()),
        b64encode(b"xy:" + secret.encode() + b"tail"),
        secret.encode().hex().encode(),
    ):
        assert found_in({"it": b"before" + content + b"behind"}), content
    assert found_in({"it": b"nothing of the kind"}) == []
