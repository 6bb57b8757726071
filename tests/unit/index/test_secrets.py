from pathlib import PurePosixPath

import pytest

from goose_lsp.index.secrets import is_secret_name

SECRET = (
    ".env", ".env.local", ".ENV", "production.env", "id_rsa", "id_ed25519", "server.key", "cert.pem",
    "store.jks", ".netrc", ".npmrc", ".pypirc", ".git-credentials", "prod.tfvars", "terraform.tfstate",
    "secrets.yaml", "secrets.yml", "service-account-prod.json", ".aws/credentials", ".aws/config",
    ".docker/config.json", ".kube/config", "application_default_credentials.json", "vault.kdbx",
)  # fmt: skip
NO_SECRET = (
    ".env.example", ".env.sample", ".env.template", "example.env", "id_rsa.pub", "settings.json", "config.json",
    "tokenizer.json", "secrets.py", "credentials.py", "env.py", "keys.ts", "environment.yml", "config",
    "password_hasher.go", "key.rs", "package.json", "docker/config.json", "main.tf", "readme.md",
)  # fmt: skip


@pytest.mark.parametrize("name", SECRET)
def test_credentials_and_keys_are_secret(name: str) -> None:
    assert is_secret_name(PurePosixPath("/work/app") / name)


@pytest.mark.parametrize("name", NO_SECRET)
def test_what_people_write_and_show_is_not_secret(name: str) -> None:
    assert not is_secret_name(PurePosixPath("/work/app") / name)
