"""Forward passes on 8-bit weights whose results do not depend on what shares a pass.

From below: `simd` gives numba code vectors, `tile` multiplies, `rows` works on single rows, `crew` shares
chunks between threads, `kernels` is a whole pass; `forward` is the model as the rest of the engine sees it,
`pack` converts weights, `converted` keeps them on disk, `probe` asks whether this machine can do all that.
"""

import hashlib
import os
import stat
from pathlib import Path

import numba
import platformdirs


def _kernel_cache() -> Path | None:
    """Where machine code is kept: a folder of its own for every state of the sources in this package.

    numba's own check looks at the file of a kernel, not at what the kernel calls. None where the folder
    cannot be trusted: what lies in it is run.
    """
    sources = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    digest = hashlib.sha256(sources).hexdigest()[:16]
    base = (
        os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_path("goose-lsp") / "kernels"
    )
    folder = Path(base) / f"goose-lsp-{digest}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError:
        return None
    if os.name == "posix" and (
        status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ):
        return None
    return folder


KERNEL_CACHE = _kernel_cache()
if KERNEL_CACHE is not None:
    numba.config.CACHE_DIR = str(KERNEL_CACHE)
