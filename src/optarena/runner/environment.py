"""Facts of this machine and process, kept with every journal, and the variables that workers are started with."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

from optarena._version import __version__
from optarena.runner import kernels

THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
VARIABLES = (*THREADS, "PYTHONHASHSEED", *kernels.VARIABLES, kernels.NUMPY)


def environment() -> dict[str, Any]:
    """What may explain a difference between two machines; no command line, which belongs to whoever called us."""
    return {
        "optarena": __version__,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu": cpu(),
        "cores": os.cpu_count(),
        "numpy": importlib.metadata.version("numpy"),
        "scipy": importlib.metadata.version("scipy"),
        "blas": kernels.blas(),
        "kernels": kernels.in_use(),
        "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
    }


def for_workers(kernel: str) -> dict[str, str]:
    """The environment of a worker: one thread per numeric library, equal hashes in every process, these kernels."""
    pins = kernels.variables() if kernel == kernels.PINNED else {}
    return {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONHASHSEED": "0", **pins}


def cpu() -> str:
    """The model of this machine's CPU."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()
