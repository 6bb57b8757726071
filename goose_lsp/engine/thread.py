"""How many threads the model's arithmetic may use."""

import os
from dataclasses import dataclass
from math import ceil
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def n_allowed_cores() -> int:
    """Cores this process may run on: affinity and a container's quota make them fewer than there are."""
    has_affinity = hasattr(os, "sched_getaffinity")
    n = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    quota = cgroup_quota(_CGROUP)
    return max(1, min(n, ceil(quota))) if quota else n


def cgroup_quota(root: Path) -> float | None:
    """Cores' worth of time a container may use, or None for no limit (Linux, either cgroup version)."""
    try:
        limit, period = (root / "cpu.max").read_text("ascii").split()
    except (OSError, ValueError):
        try:
            limit = (root / "cpu" / "cpu.cfs_quota_us").read_text("ascii").strip()
            period = (root / "cpu" / "cpu.cfs_period_us").read_text("ascii").strip()
        except OSError:
            return None
    if not limit.isdigit() or not period.isdigit() or int(period) == 0:  # "max" or -1
        return None
    return int(limit) / int(period)


def choose_threads(wanted: int) -> int:
    """The setting engine.threads as a number; 0 stands for `default_threads`."""
    return wanted or default_threads(n_allowed_cores())


def default_threads(n_cores: int) -> int:
    """One thread a core, at most four; on two cores or one, a single thread.

    On a small machine the second core belongs to the editor: a thread that waits for a busy core made
    single steps ten times slower.
    """
    return 1 if n_cores <= 2 else min(n_cores, 4)


# How much longer than measured steps take before more than one thread is given up, and for how many steps.
BUSY_FACTOR = 2.0
PATIENCE_STEPS = 400


@dataclass(slots=True)
class Governor:
    """Decides step by step how many threads to use: all, or one while others need the cores.

    Several threads wait for the slowest of them, so on a busy machine one alone is faster.
    """

    n_threads: int
    n_active: int = 0
    _n_left: int = 0  # steps still made alone

    def __post_init__(self) -> None:
        self.n_active = self.n_threads

    def after_step(self, slowdown: float) -> bool:
        """Whether `n_active` has changed, given how much longer than measured recent steps took."""
        before = self.n_active
        if self._n_left:
            self._n_left -= 1
            if not self._n_left:
                self.n_active = self.n_threads
        elif self.n_threads > 1 and slowdown > BUSY_FACTOR:
            self.n_active, self._n_left = 1, PATIENCE_STEPS
        return self.n_active != before
