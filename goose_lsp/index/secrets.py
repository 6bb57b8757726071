"""Files that hold secrets by their name. A narrow list: what programmers write themselves stays readable."""

import os
import re
from fnmatch import translate
from pathlib import PurePath

# Compared with the lower-case name of the file alone.
_NAMES = frozenset({
    ".env", ".envrc", ".netrc", "_netrc", ".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf",
    ".npmrc", ".yarnrc", ".pypirc", ".git-credentials", ".htpasswd", "htpasswd", ".vault-token", ".dockercfg",
    ".dockerconfigjson", ".boto", ".s3cfg", "rclone.conf", ".rclone.conf", ".credentials", "credentials",
    "credentials.json", "credentials.toml", "access_tokens.json", "local.settings.json", ".terraformrc",
    "application_default_credentials.json", "kubeconfig", "secring.gpg", "master.key", ".secret", ".secrets",
    ".token", "credentials.yml.enc", "fish_history", ".histfile", ".lesshst", "settings-security.xml",
})  # fmt: skip
_PATTERNS = (
    ".env.*", ".env-*", ".env_*", "*.env", ".envrc.*", ".dev.vars*", "id_rsa*", "id_dsa*", "id_ecdsa*",
    "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.jks", "*.keystore", "*.kdbx", "*.kdb",
    "*.ppk", "*.gpg", "*.pgp", "*.age", "*.ovpn", "*.tfvars", "*.tfvars.json", "*.tfstate", "*.tfstate.*",
    "*.tfrc.json", "*.pkcs12", "*.agekey", "*.keytab", "*.kubeconfig", "*.mobileprovision",
    "secret.y*ml", "secrets.y*ml", "secrets.*.y*ml", "*[-_.]secret.y*ml", "*[-_.]secrets.y*ml",
    "credentials.y*ml", "secret.json", "secrets.json", "secrets.*.json", "*[-_.]secrets.json",
    "secrets.toml", "secrets.ini", "secrets.txt", "secret.txt", "passwords.txt", "password.txt",
    "service[-_]account*.json", "serviceaccount*.json", "*firebase-adminsdk*.json", "client_secret*.json",
    "*[-_]credentials.json", "vault.y*ml", ".*_history",
)  # fmt: skip
# Folder and name, both lower-case.
_PLACES = frozenset({
    (".aws", "config"), (".docker", "config.json"), (".kube", "config"), (".ssh", "config"),
    (".azure", "accesstokens.json"), (".azure", "azureprofile.json"), (".gnupg", "pubring.kbx"),
    ("gh", "hosts.yml"), (".cargo", "credentials.toml"), (".gem", "credentials"), (".m2", "settings.xml"),
})  # fmt: skip
# Made to be shown: what a template names is not secret.
_SHOWN = (
    "*.example", "*.sample", "*.template", "*.dist", "*.defaults", "*.schema", "*.pub",
    "example.env", "sample.env", "template.env",
    "*.example.*", "*.sample.*", "*.template.*",
)  # fmt: skip


def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)))


_IS_SHOWN, _IS_SECRET = _any_of(_SHOWN), _any_of(_PATTERNS)
# What editors and people put around the name of a copy: `#.env#`, `.id_rsa.swp`, `secrets.yaml.bak~`.
_COPY_SUFFIX = re.compile(r"(?:~|#|\.(?:bak|backup|old|orig|save|tmp|copy|sw[a-p]))+$")

_HEADER = r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
# As a line of its own, or in quotes with something like a key behind it; code may name the header alone.
_PRIVATE_KEY = re.compile(
    rf"^[ \t]*{_HEADER}[ \t]*$|{_HEADER}.{{0,300}}?(?=[A-Za-z+/]{{0,60}}[0-9])[A-Za-z0-9+/]{{32}}",
    re.MULTILINE | re.DOTALL,
)


def is_secret_name(path: PurePath | str) -> bool:
    """Whether a file of this name holds credentials or keys; the name of its folder may matter too."""
    folder, name = os.path.split(os.fspath(path))
    name = name.lower()
    if _IS_SHOWN.match(name):
        return False
    if (os.path.basename(folder).lower(), name) in _PLACES:
        return True
    return any(n in _NAMES or _IS_SECRET.match(n) is not None for n in _originals(name))


def _originals(name: str) -> list[str]:
    """The name, and those of which it may be the name of a copy."""
    plain = _COPY_SUFFIX.sub("", name)
    if plain == name:
        return [name]
    return [name, plain, plain.removeprefix("#"), plain.removeprefix(".")]


def holds_private_key(text: str) -> bool:
    """Whether there is a private key in it, whatever the file is called."""
    return "PRIVATE KEY" in text and _PRIVATE_KEY.search(text) is not None
