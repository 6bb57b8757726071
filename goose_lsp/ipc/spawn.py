"""Starting a daemon as a process of its own."""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from goose_lsp.config import ENV_PREFIX, Settings
from goose_lsp.errors import DaemonUnavailableError
from goose_lsp.ipc.endpoint import Endpoint

# -P: a module in the directory of the start must never stand in for one of ours.
DAEMON_COMMAND = (sys.executable, "-P", "-m", "goose_lsp", "daemon", "run")
_MAX_START_LOG_BYTES = 64 * 1024


class StartedDaemon:
    """A daemon process on its way; it may still lose the race for the lock and end."""

    def __init__(self, process: subprocess.Popen[bytes], start_log: Path, offset: int) -> None:
        self._process = process
        self._start_log = start_log
        self._offset = offset
        # Somebody has to collect the exit status, or each daemon that ends stays as a zombie.
        threading.Thread(target=process.wait, name="daemon-reaper", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def last_words(self) -> str:
        """The last line it wrote to stderr; "" if there is none."""
        try:
            with self._start_log.open("rb") as stream:
                stream.seek(self._offset)
                text = stream.read().decode("utf-8", "replace")
        except OSError:
            return ""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1] if lines else ""


def start_daemon(settings: Settings, command: Sequence[str] = DAEMON_COMMAND) -> StartedDaemon:
    """Start a daemon with these settings and return at once, before it listens.

    Raises `ConfigError` if the runtime directory cannot be used, `DaemonUnavailableError` if no
    process can be made.
    """
    endpoint = Endpoint(settings.runtime_dir)
    endpoint.prepare()
    try:
        with endpoint.start_log_path.open("ab") as start_log:
            if start_log.tell() > _MAX_START_LOG_BYTES:
                start_log.truncate(0)
            offset = os.fstat(start_log.fileno()).st_size
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=start_log,
                cwd=endpoint.runtime_dir,
                env=environment_of(settings, os.environ),
                start_new_session=True,
            )
    except OSError as error:
        raise DaemonUnavailableError(f"no daemon could be started: {error}") from None
    return StartedDaemon(process, endpoint.start_log_path, offset)


def environment_of(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """`environ`, so completed that `load_settings` in another directory gives the same settings."""
    default = Settings()
    environment = dict(environ)
    for section in fields(settings):
        if section.name == "origins":
            continue
        part, default_part = getattr(settings, section.name), getattr(default, section.name)
        for key in fields(part):
            name, value = f"{section.name}.{key.name}", getattr(part, key.name)
            if value != getattr(default_part, key.name) or name in settings.origins:
                variable = f"{ENV_PREFIX}{section.name}_{key.name}".upper()
                environment[variable] = _absolute(name, str(value))
    return environment


def _absolute(name: str, value: str) -> str:
    is_path = name.startswith("paths.") or (name == "engine.model" and Path(value).exists())
    return str(Path(value).expanduser().absolute()) if is_path and value else value
