"""Files that hold secrets by their name. A narrow list: what programmers write themselves stays readable."""

from fnmatch import fnmatchcase
from pathlib import PurePath

# Compared with the lower-case name of the file alone.
_NAMES = frozenset({
    ".env", ".envrc", ".netrc", "_netrc", ".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf",
    ".npmrc", ".yarnrc", ".pypirc", ".git-credentials", ".htpasswd", ".vault-token", ".dockercfg",
    ".dockerconfigjson", ".boto", ".s3cfg", ".credentials", "credentials", "credentials.json",
    "client_secret.json", "application_default_credentials.json", "kubeconfig", "secring.gpg",
    "terraform.tfstate", "master.key", "credentials.yml.enc", ".bash_history", ".zsh_history",
    ".python_history", ".psql_history", ".mysql_history", ".node_repl_history",
})  # fmt: skip
_PATTERNS = (
    ".env.*", "*.env", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12",
    "*.pfx", "*.p8", "*.jks", "*.keystore", "*.kdbx", "*.kdb", "*.ppk", "*.gpg", "*.pgp", "*.age",
    "*.ovpn", "*.tfvars", "*.tfvars.json", "*.tfstate", "*.tfstate.*", "*.pkcs12", "*.agekey",
    "secret.y*ml", "secrets.y*ml", "secret.json", "secrets.json", "secrets.toml", "secrets.ini",
    "secrets.env", "service-account*.json", "service_account*.json", "serviceaccount*.json",
    "client_secret*.json", "*-credentials.json", "*_credentials.json", "vault.y*ml",
)  # fmt: skip
# Folder and name, both lower-case.
_PLACES = frozenset({
    (".aws", "config"), (".docker", "config.json"), (".kube", "config"), (".ssh", "config"),
    (".azure", "accesstokens.json"), (".azure", "azureprofile.json"), (".gnupg", "pubring.kbx"),
    ("gh", "hosts.yml"), (".cargo", "credentials.toml"), (".gem", "credentials"),
})  # fmt: skip
# Made to be shown: what a template names is not secret.
_SHOWN = (
    "*.example", "*.sample", "*.template", "*.dist", "*.defaults", "*.schema", "example.env",
    "sample.env", "template.env", "*.pub",
)  # fmt: skip

# The line that begins a private key, whatever the file is called.
PRIVATE_KEY = "PRIVATE KEY-----"


def is_secret_name(path: PurePath) -> bool:
    """Whether a file of this name holds credentials or keys; the name of its folder may matter too."""
    name = path.name.lower()
    if any(fnmatchcase(name, pattern) for pattern in _SHOWN):
        return False
    return (
        name in _NAMES
        or (path.parent.name.lower(), name) in _PLACES
        or any(fnmatchcase(name, pattern) for pattern in _PATTERNS)
    )
