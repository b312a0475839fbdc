"""Names that a person is always asked about: what runs by itself, what sets permissions, what holds secrets.

Pure string work: whether a file exists does not matter. The lists never loosen anything else.
"""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from pathlib import PurePath
from typing import Final

_FOLDERS: Final = {
    ".git": "it belongs to the repository's own data and hooks",
    "git~1": "it belongs to the repository's own data and hooks",
    ".hg": "it belongs to the repository's own data and hooks",
    ".svn": "it belongs to the repository's own data and hooks",
    ".husky": "git runs these hooks by itself",
    ".githooks": "git runs these hooks by itself",
    ".vscode": "editor and task settings can run programs",
    ".idea": "editor and task settings can run programs",
    ".vs": "editor and task settings can run programs",
    ".zed": "editor and task settings can run programs",
    ".fleet": "editor and task settings can run programs",
    ".devcontainer": "editor and task settings can run programs",
    ".circleci": "the CI service runs it",
    ".buildkite": "the CI service runs it",
    ".steersman": "it holds the agent's own settings",
}
_NESTED: Final = {
    (".github", "workflows"): "the CI service runs it",
    (".github", "actions"): "the CI service runs it",
}
_FILES: Final = {
    **dict.fromkeys(
        (".gitlab-ci.yml", ".travis.yml", ".drone.yml", "jenkinsfile", "appveyor.yml", "azure-pipelines.yml",
         "bitbucket-pipelines.yml"),
        "the CI service runs it",
    ),
    **dict.fromkeys(
        (".pre-commit-config.yaml", ".pre-commit-config.yml", "lefthook.yml", ".lefthook.yml"),
        "git runs these hooks by itself",
    ),
    **dict.fromkeys(
        (".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc",
         ".zshenv", ".zprofile", ".zlogin", ".kshrc", ".cshrc", ".tcshrc", ".login", ".envrc", "config.fish"),
        "shells run it when they start",
    ),
    **dict.fromkeys((".gitconfig", ".gitmodules", ".gitattributes"), "git settings can run programs"),
}  # fmt: skip
_SECRET_FILES: Final = frozenset(
    (".netrc", "_netrc", ".npmrc", ".pypirc", ".htpasswd", ".pgpass", ".git-credentials", ".vault_pass",
     "credentials", "credentials.json", "secrets.json", "secrets.yaml", "secrets.yml", "secrets.toml",
     "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "service-account.json")
)  # fmt: skip
_SECRET_FOLDERS: Final = frozenset((".ssh", ".gnupg", ".aws", ".kube"))
_SECRET_ENDINGS: Final = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx")
_INVISIBLE: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0") | {
    chr(c) for c in range(0xFE00, 0xFE10)
}
"""What shows nothing although Unicode does not class it as format or control."""
_HARMLESS: Final = (".example", ".sample", ".template", ".dist")


def plain_name(name: str) -> str:
    """A name as it is compared: no invisible characters, compatibility forms and case folded, no end dots."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    visible = "".join(
        c for c in folded if unicodedata.category(c) not in ("Cf", "Cc") and c not in _INVISIBLE
    )
    return visible.split(":")[0].rstrip(". ")


def protected_reason(path: PurePath) -> str | None:
    """Why changing this path always needs a person's word, or None."""
    names = [plain_name(part) for part in path.parts]
    for name in names:
        if name in _FOLDERS:
            return _FOLDERS[name]
    for pair in pairwise(names):
        if pair in _NESTED:
            return _NESTED[pair]
    last = names[-1] if names else ""
    if last.endswith(".code-workspace"):
        return "editor and task settings can run programs"
    return _FILES.get(last)


def is_secret(path: PurePath) -> bool:
    """Whether the name says that secrets are inside: `.env` and its variants, keys, credentials."""
    names = [plain_name(part) for part in path.parts]
    if not names:
        return False
    last = names[-1]
    if any(name in _SECRET_FOLDERS for name in names[:-1]):
        return True
    if last.endswith(_HARMLESS):
        return False
    if last == ".env" or last.startswith(".env.") or last.endswith(".env"):
        return True
    return last in _SECRET_FILES or last.endswith(_SECRET_ENDINGS)
