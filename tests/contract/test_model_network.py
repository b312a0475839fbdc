"""Proxies and certificates: only by the user's word, never around it."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from steersman.domain.settings import ModelSettings, Settings
from steersman.errors import ModelFailed
from steersman.models.provider import Provider
from steersman.ports.model import Finish, ModelRequest
from tests.fixtures.provider import DONE, fin, http, provider, reply, txt

HELLO = reply(txt("hello"), fin("stop"), DONE)
NOWHERE = "http://model.invalid/v1"


async def ask(models: Provider) -> str:
    text = ""
    try:
        async for item in models.model().stream(ModelRequest(body=b"{}")):
            text += "" if isinstance(item, Finish) else item.text or ""
    finally:
        await models.close()
    return text


def models(environ: dict[str, str] | None = None, **settings: str) -> Provider:
    return Provider(Settings(model=ModelSettings(name="m", **settings)), environ or {})  # type: ignore[arg-type]


async def test_a_proxy_of_the_settings_carries_the_request() -> None:
    async with provider(HELLO) as proxy:
        url = f"http://me:pa55word@127.0.0.1:{proxy.port}"
        assert await ask(models(base_url=NOWHERE, proxy=url)) == "hello"
    [request] = proxy.requests
    assert request.target == f"{NOWHERE}/chat/completions"
    assert "proxy-authorization" in request.headers


async def test_a_proxy_of_the_environment_counts_but_not_for_loopback() -> None:
    async with provider(HELLO) as proxy, provider(HELLO) as endpoint:
        environ = {"HTTP_PROXY": f"http://127.0.0.1:{proxy.port}", "NO_PROXY": "[odd, ://, 10.0.0.0/99"}
        assert await ask(models(environ, base_url=endpoint.base_url)) == "hello"
        assert proxy.requests == []
        assert await ask(models(environ, base_url=NOWHERE)) == "hello"
        assert len(proxy.requests) == 1


async def test_variables_of_the_process_do_not_count_by_themselves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with provider(HELLO) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        with pytest.raises(ModelFailed) as caught:
            await ask(models(base_url=NOWHERE))
    assert caught.value.code == "transport"
    assert proxy.requests == []


async def test_a_proxy_that_refuses_is_told_without_its_password() -> None:
    async with provider(http(407, "who are you, me:pa55word?")) as proxy:
        with pytest.raises(ModelFailed) as caught:
            await ask(models(base_url=NOWHERE, proxy=f"http://me:pa55word@127.0.0.1:{proxy.port}"))
    assert "pa55word" not in str(caught.value)
    assert "407" in str(caught.value)


@pytest.mark.parametrize(
    "proxy", ["gopher://me:pa55word@proxy:1", "http://[me:pa55word", "socks5://pa55word:1"]
)
async def test_a_proxy_that_cannot_be_used_is_a_clear_failure_without_its_password(proxy: str) -> None:
    with pytest.raises(ModelFailed) as caught:
        await ask(models(base_url=NOWHERE, proxy=proxy))
    assert caught.value.code == "bad-request"
    assert "model.proxy" in str(caught.value)
    assert "pa55word" not in str(caught.value)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """A self-signed certificate for 127.0.0.1 and a server context that shows it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not there to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return certificate, context


async def test_a_certificate_of_an_own_authority_is_trusted_once_it_is_named(
    authority: tuple[Path, ssl.SSLContext],
) -> None:
    certificate, context = authority
    async with provider(HELLO, tls=context) as endpoint:
        assert await ask(models(base_url=endpoint.base_url, ca_file=str(certificate))) == "hello"


async def test_a_certificate_that_nobody_vouches_for_is_refused_for_good(
    authority: tuple[Path, ssl.SSLContext],
) -> None:
    async with provider(HELLO, tls=authority[1]) as endpoint:
        with pytest.raises(ModelFailed) as caught:
            await ask(models(base_url=endpoint.base_url))
    assert not caught.value.retryable
    assert "model.caFile" in str(caught.value)
    assert endpoint.requests == []


async def test_an_authority_file_that_is_missing_or_no_certificate_is_a_clear_failure(tmp_path: Path) -> None:
    (tmp_path / "bad.pem").write_text("no certificate")
    for path in (tmp_path / "missing.pem", tmp_path / "bad.pem", tmp_path):
        with pytest.raises(ModelFailed) as caught:
            await ask(models(base_url="https://127.0.0.1:1/v1", ca_file=str(path)))
        assert caught.value.code == "bad-request"
        assert "model.caFile" in str(caught.value)


@pytest.mark.parametrize("value", ["secret\nb", "secret\x00", "secret caf\u00e9"])
async def test_a_header_that_cannot_be_sent_is_a_clear_failure_without_its_value(value: str) -> None:
    async with provider(HELLO) as endpoint:
        chosen = ModelSettings(name="m", base_url=endpoint.base_url, headers={"X-Odd": value})
        with pytest.raises(ModelFailed) as caught:
            await ask(Provider(Settings(model=chosen), {}))
    assert caught.value.code == "bad-request"
    assert "model.headers" in str(caught.value)
    assert "secret" not in str(caught.value)
