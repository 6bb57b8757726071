from pathlib import PurePosixPath

import pytest

from goose_lsp.index.secrets import holds_private_key, is_secret_name

SECRET = (
    ".env", ".env.local", ".ENV", "production.env", "id_rsa", "id_ed25519", "server.key", "cert.pem",
    "store.jks", ".netrc", ".npmrc", ".pypirc", ".git-credentials", "prod.tfvars", "terraform.tfstate",
    "secrets.yaml", "secrets.yml", "service-account-prod.json", ".aws/credentials", ".aws/config",
    ".env-prod", ".env_local", ".env~", "#.env#", ".env.swp", ".id_rsa.swp", ".secrets.yaml.swp", "server.key.bak",
    "secrets.yaml.orig~", ".netrc.old", "db-secret.yaml", "app.secrets.yml", "secrets.prod.yaml", ".m2/settings.xml",
    "local.settings.json", ".mysql_history", "proj-firebase-adminsdk-1.json", "service_account.json", "Secrets.YML",
    ".docker/config.json", ".kube/config", "application_default_credentials.json", "vault.kdbx",
)  # fmt: skip
NO_SECRET = (
    ".env.example", ".env.sample", ".env.template", "example.env", "id_rsa.pub", "settings.json", "config.json",
    "tokenizer.json", "secrets.py", "credentials.py", "env.py", "keys.ts", "environment.yml", "config",
    ".env.example.local", "secrets.example.yaml", "environment.env.dist", "backup.py", "a.py~", "history.md",
    "secretary.yaml", "settings.xml", "id.rsa", "history", "tokens.json", "secret_santa.json", "key", "c#",
    "password_hasher.go", "key.rs", "package.json", "docker/config.json", "main.tf", "readme.md",
)  # fmt: skip


@pytest.mark.parametrize("name", SECRET)
def test_credentials_and_keys_are_secret(name: str) -> None:
    assert is_secret_name(PurePosixPath("/srv/app") / name)


@pytest.mark.parametrize("name", NO_SECRET)
def test_what_people_write_and_show_is_not_secret(name: str) -> None:
    assert not is_secret_name(PurePosixPath("/srv/app") / name)


DASHES, KEY = "-" * 5, "PRIVATE " + "KEY"
BODY = "MIIEowIBAAKCAQEAx5Jm0Zt3rT0Q9gq2lNwP4y6dV8sKf1bHcU7eXoRjAaLiWnYg"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{DASHES}BEGIN {KEY}{DASHES}\n{BODY}\n", id="as tools write it"),
        pytest.param(f"{DASHES}BEGIN RSA {KEY}{DASHES}\nshort\n", id="a line of its own"),
        pytest.param(f"x\n  {DASHES}BEGIN OPENSSH {KEY}{DASHES}\n  short\n", id="indented"),
        pytest.param(f"{DASHES}BEGIN PGP {KEY} BLOCK{DASHES}\nVersion: 1\n", id="pgp"),
        pytest.param(f'k = "{DASHES}BEGIN EC {KEY}{DASHES}\\n{BODY}\\n"', id="in quotes"),
        pytest.param(f'"{DASHES}BEGIN {KEY}{DASHES}",\n  "{BODY}",\n', id="line by line"),
        pytest.param(f'"{DASHES}BEGIN {KEY}{DASHES}" +\n  Proc-Type: 4\n{BODY}', id="encrypted"),
    ],
)
def test_a_private_key_is_seen_wherever_it_stands(text: str) -> None:
    assert holds_private_key(text)


@pytest.mark.parametrize(
    "text",
    [
        f'if line.startswith("{DASHES}BEGIN {KEY}{DASHES}"):\n    load_private_key(line)\n',
        f"{DASHES}BEGIN CERTIFICATE{DASHES}\n{BODY}\n",
        f"{DASHES}BEGIN PUBLIC KEY{DASHES}\n{BODY}\n",
        f"the {KEY} of {BODY}",
    ],
)
def test_code_about_keys_holds_none(text: str) -> None:
    assert not holds_private_key(text)
