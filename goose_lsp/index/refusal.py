"""Why a file is not indexed. Closed: every file that is left out carries one of these."""

from enum import StrEnum


class Refusal(StrEnum):
    IGNORED = "ignored"  # by git's rules or by .gooselspignore
    SECRET = "secret"
    NOT_REGULAR = "not-regular"  # a folder, a pipe, a device, a socket
    OUTSIDE = "outside"  # not in the workspace, or a link
    UNREADABLE = "unreadable"
    TOO_LARGE = "too-large"
    BINARY = "binary"
    GENERATED = "generated"
    MINIFIED = "minified"
    OVER_LIMIT = "over-limit"  # the workspace holds more than is indexed
