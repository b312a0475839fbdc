"""Secret-like values in what tools say are replaced by one mask before anything is stored or sent.

Pure, and the same every time. It may miss a secret of an unknown shape; it never alters a file.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from steersman.errors import ToolFailed

MASK: Final = "⟦masked⟧"
"""What stands for a secret. Nothing that holds it is ever written to a file."""

_NAMES: Final = (
    r"(?:[A-Z0-9_-]*[_-])?(?:api[_-]?key|access[_-]?key(?:[_-]?id)?|(?:secret|private|signing|encryption|account)"
    r"[_-]?key|token|secret|passwd|password|passphrase|pwd|credentials?)"
)
_RANDOM: Final = r"(?=[^\s\"'`]*[A-Za-z])(?=[^\s\"'`]*[0-9])"
"""What follows has letters and digits: a word alone is rather a name than a secret."""
_BARE: Final = r"[^\s\"'`$<{(\[\]);,]"
_START: Final = r"(?:^|(?<=[\s\0'\"|+-]))"
"""Where a name begins; `|` ends the line numbers that the model is shown, `+` and `-` begin diff lines."""
_END: Final = r"(?=[\"']?(?:\Z|[\s\0]))"
_KEY_HINTS: Final = ("key", "token", "secret", "passw", "passphrase", "pwd", "credential")


class _Shape(msgspec.Struct, frozen=True):
    """A kind of secret. Only lines that hold a hint (lower case) are searched: hints are cheap to find."""

    hints: tuple[str, ...]
    pattern: re.Pattern[str]


def _shape(hints: tuple[str, ...], pattern: str, flags: int = 0) -> _Shape:
    return _Shape(hints, re.compile(pattern, flags))


_PRIVATE_KEY: Final = re.compile(
    r"(?P<before>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----)[\s\S]*?"
    r"(?P<after>-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)"
)
_SHAPES: Final = (
    _shape(("sk-", "sk_", "pk_", "rk_"), r"(?P<before>\b)(?:sk[-_]|[pr]k_)[A-Za-z0-9_-]{16,}(?P<after>)"),
    _shape(
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
        r"(?P<before>\b)(?:gh[pousr]_|github_pat_|glpat-)[A-Za-z0-9_-]{16,}(?P<after>)",
    ),
    _shape(
        ("xox", "hf_", "npm_", "pypi-"),
        r"(?P<before>\b)(?:xox[abeprs]-|hf_|npm_|pypi-)[A-Za-z0-9_-]{16,}(?P<after>)",
    ),
    _shape(
        ("akia", "asia", "aiza"),
        r"(?P<before>\b)(?:A(?:KIA|SIA)[A-Z0-9]{16}\b|AIza[A-Za-z0-9_-]{30,})(?P<after>)",
    ),
    _shape(("eyj",), r"(?P<before>\b)eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}(?P<after>)", re.ASCII),
    _shape(
        ("bearer", "basic"),
        r"(?P<before>\b(?:bearer|basic) {1,4})" + _RANDOM + r"[A-Z0-9._~+/=-]{12,}(?P<after>)",
        re.IGNORECASE,
    ),
    _shape(
        ("://",),
        r"(?P<before>://[^\s/:@\"'{}<>$]{0,64}:)[^\s/@\"'{}<>$]{3,}(?P<after>@)",
    ),
    # NAME=value, as in environments; a value of any kind if the name is in capitals
    _shape(
        _KEY_HINTS,
        rf"(?P<before>{_START}(?-i:(?:[A-Z0-9]+_)*(?:API_?KEY|ACCESS_KEY|[A-Z]+_KEY|TOKEN|SECRET|PASSWORD"
        rf"|PASSWD|PASSPHRASE|PWD|CREDENTIALS?))=[\"']?){_BARE}{{6,}}(?P<after>{_END})",
    ),
    _shape(
        _KEY_HINTS,
        rf"(?P<before>{_START}{_NAMES}=[\"']?){_RANDOM}{_BARE}{{12,}}(?P<after>{_END})",
        re.IGNORECASE,
    ),
    # name = "value" and "name": "value", as in code and configuration
    _shape(
        _KEY_HINTS,
        rf"(?P<before>\b{_NAMES}[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']){_RANDOM}[^\s\"'`$<{{]{{12,}}(?P<after>[\"'])",
        re.IGNORECASE,
    ),
    # name: value alone on its line, as in YAML
    _shape(
        _KEY_HINTS,
        rf"(?P<before>(?:^|(?<=\|))[ \t+-]*{_NAMES}:[ ]+){_RANDOM}{_BARE}{{12,}}(?P<after>[ \t\r]*$)",
        re.IGNORECASE,
    ),
)


def masked(text: str) -> str:
    """The text with every secret-like value replaced by `MASK`."""
    if "PRIVATE KEY-----" in text:
        text = _PRIVATE_KEY.sub(_replaced, text)
    lower = text.lower()
    active = [shape for shape in _SHAPES if any(hint in lower for hint in shape.hints)]
    if not active:
        return text
    return "\n".join(_masked_line(line, active) for line in text.split("\n"))


def refuse_mask(text: str, what: str) -> None:
    """Refuse text that holds a mask, before it is matched against a file or written to one.

    Raises:
        ToolFailed: `PROTECTED`.
    """
    if MASK in text:
        raise ToolFailed(
            "PROTECTED",
            f"{what} holds {MASK}, which stands for a secret that you were not shown: "
            "choose text around it, or ask the person to change that part",
        )


def _masked_line(line: str, shapes: list[_Shape]) -> str:
    lower = line.lower()
    for shape in shapes:
        if any(hint in lower for hint in shape.hints):
            line = shape.pattern.sub(_replaced, line)
    return line


def _replaced(found: re.Match[str]) -> str:
    return f"{found['before']}{MASK}{found['after']}"
