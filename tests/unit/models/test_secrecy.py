"""What must not be told is not told."""

from __future__ import annotations

from steersman.domain.settings import ModelSettings
from steersman.models.secrecy import Secrets, secret_values, without_login

KEY = 'sk-c"anary/7+f'


def test_a_key_is_masked_as_it_is_and_as_urls_and_json_spell_it() -> None:
    secrets = Secrets(KEY)
    told = secrets.redact(f'key={KEY} url=?k=sk-c%22anary%2F7%2Bf json="sk-c\\"anary/7+f"')
    assert "anary" not in told
    assert KEY not in repr(secrets)


def test_an_old_key_stays_masked_after_a_new_one_is_set() -> None:
    secrets = Secrets("sk-first-key")
    secrets.set_key("sk-second-key\n")
    assert secrets.key == "sk-second-key"
    assert secrets.redact("sk-first-key sk-second-key") == "*** ***"


def test_short_or_missing_keys_do_not_garble_messages() -> None:
    assert Secrets("").redact("a message") == "a message"
    assert Secrets("ess").redact("a message") == "a message"


def test_headers_query_and_passwords_in_urls_are_secrets() -> None:
    settings = ModelSettings(headers={"Authorization": "Bearer abcdef123"}, query={"sig": "querysecret"})
    secrets = Secrets("", secret_values("https://me:hunter22@api", settings, "http://u:p%40ssword@proxy"))
    told = secrets.redact("abcdef123 querysecret hunter22 p%40ssword p@ssword")
    assert told == "*** *** *** *** ***"


def test_a_key_that_no_header_can_carry_is_told_without_telling_it() -> None:
    for key in ("sk-a b", "sk-caf\u00e9", "sk-a\x00b"):
        problem = Secrets(key).problem
        assert problem is not None
        assert key not in problem
    assert Secrets("sk-fine").problem is None
    assert Secrets("").problem is None


def test_a_url_is_shown_without_its_login() -> None:
    assert without_login("https://me:pw@api.example:8/v1?x=1") == "https://api.example:8/v1?x=1"
    assert without_login("http://[broken") == "http://[broken"
