"""The project's exceptions. A class exists only where some caller acts on it differently.

Ordinary outcomes (an unknown document, a stale version, nothing to offer) are values, not exceptions.
"""


class GooseError(Exception):
    """Something a user can act on; its message is one line that says what was found and what would be right."""


class ConfigError(GooseError):
    """A setting is unknown, has the wrong type or lies outside its range."""


class ModelMissingError(GooseError):
    """The model is known but not on this machine yet; the message names the command that fetches it."""


class ModelLoadError(GooseError):
    """A model file is broken, truncated or of a kind this engine does not run."""


class DaemonUnavailableError(GooseError):
    """No daemon answers and none could be started."""


class ProtocolError(GooseError):
    """A peer sent bytes that are not this protocol, or a message of another version."""


class CancelledError(GooseError):
    """The work was asked to stop; raised between decode steps or prefill chunks, never inside one."""
