"""Building a workspace's index for somebody who waits for it, and what it holds in words for people and programs."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goose_lsp.index.messages import Published, Start
from goose_lsp.index.persist import Shelf
from goose_lsp.index.process import build_once
from goose_lsp.index.scan import Scanner


@dataclass(frozen=True, slots=True)
class Report:
    folders: Sequence[str]
    published: Published
    n_bytes: int  # on disk
    kept_in: Path
    notices: Sequence[str]  # what went wrong on the way

    def as_json(self) -> dict[str, Any]:
        published = self.published
        return {
            "folders": list(self.folders),
            "files": published.n_files,
            "files_read": published.n_read,
            "tokens": published.n_tokens,
            "left_out": published.refused,
            "bytes": self.n_bytes,
            "kept_in": str(self.kept_in),
        }

    def as_facts(self) -> dict[str, object]:
        """The most frequent reason for leaving a file out comes first."""
        published = self.published
        by_number = sorted(published.refused.items(), key=lambda pair: (-pair[1], pair[0]))
        return {
            "folders": ", ".join(self.folders),
            "files": f"{published.n_files:,}, of which {published.n_read:,} were read anew",
            "tokens": f"{published.n_tokens:,}",
            "left out": {reason: f"{n:,}" for reason, n in by_number},
            "size": f"{self.n_bytes / 1e6:,.1f} MB",
            "kept in": self.kept_in,
        }


def build_index(
    folders: Sequence[Path],
    cache_dir: Path,
    tokenizer_file: Path,
    tokenizer_key: str,
    tell: Callable[[str, int, int], None],
) -> Report:
    """Build a workspace's index or bring it up to date, in a process of its own; raises `GooseError`."""
    roots = Scanner(folders).roots
    start = Start(
        [os.fsencode(root) for root in roots],
        os.fsencode(cache_dir),
        os.fsencode(tokenizer_file),
        tokenizer_key,
    )
    published, notices = build_once(start, tell)
    shelf = Shelf.of(cache_dir, roots, tokenizer_key, n_vocab=0)  # to look at, not to read
    n_bytes = shelf.n_bytes(published.generation)
    return Report(roots, published, n_bytes, shelf.folder, notices)
