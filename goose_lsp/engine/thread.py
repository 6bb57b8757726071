"""How many threads the model's arithmetic may use."""

import os

import torch


def use_threads(n_threads: int) -> None:
    """Use this many threads for every pass of this process; 0: `default_threads`."""
    torch.set_num_threads(n_threads or default_threads(n_allowed_cores()))


def n_allowed_cores() -> int:
    """Cores this process may run on, which affinity can make fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_threads(n_cores: int) -> int:
    """One thread a core, at most four; on two cores or one, a single thread.

    On a small machine the second core belongs to the editor: a thread that waits for a busy core made
    single steps ten times slower.
    """
    return 1 if n_cores <= 2 else min(n_cores, 4)
