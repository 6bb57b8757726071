"""Fetching from the Hugging Face hub, as a process of its own: it can be watched and ended like pip.

`python -m goose_lsp.engine.hub REPO_ID REVISION FOLDER PATTERN...` fills the folder, or says in one
line on stderr why not and exits 1.
"""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    repo_id, revision, folder, *patterns = argv
    try:
        from huggingface_hub import snapshot_download  # noqa: PLC0415  may be missing: say so
    except ImportError:
        return _fail("huggingface-hub is not installed; install goose-lsp[engine]")
    try:
        snapshot_download(repo_id, revision=revision, local_dir=folder, allow_patterns=patterns)
    except Exception as error:  # noqa: BLE001  whatever it is, the parent needs one line
        return _fail(f"{repo_id}: {explain(error)}")
    return 0


def explain(error: Exception) -> str:
    """One line that says what to do. Exceptions are told apart by name, subclasses before bases."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if "GatedRepoError" in names:
        return "the repository is gated; accept its terms on the hub and log in with: hf auth login"
    if "RepositoryNotFoundError" in names:
        return "the hub has no such repository, or only for those who log in with: hf auth login"
    if names & {"RevisionNotFoundError", "RemoteEntryNotFoundError"}:
        return "the repository has no such revision or file"
    # Without a network the hub library looks into its cache, and reports what that lacks.
    if names & {
        "LocalEntryNotFoundError",
        "OfflineModeIsEnabled",
        "ConnectError",
        "ConnectTimeout",
    }:
        return "the hub does not answer; is there a network?"
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"


def _fail(message: str) -> int:
    sys.stderr.write(message + "\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
