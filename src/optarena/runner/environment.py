"""Facts of this machine and process, kept with every journal: versions, BLAS kernel, threads."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import sys
from pathlib import Path
from typing import Any

from optarena._json import strict
from optarena._version import __version__

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONHASHSEED")


def environment() -> dict[str, Any]:
    """What may explain a difference between two machines."""
    return {
        "optarena": __version__,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "numpy": importlib.metadata.version("numpy"),
        "scipy": importlib.metadata.version("scipy"),
        "blas": _blas(),
        "variables": {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ},
        "argv": strict([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else [],
    }


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()


def _blas() -> str:
    """OpenBLAS picks a kernel by the CPU it finds, and kernels differ in the last digit: name it."""
    import numpy as np

    folder = Path(np.__file__).parent.parent / "numpy.libs"
    for library in sorted(folder.glob("*openblas*")):
        try:
            handle = ctypes.CDLL(str(library))
        except OSError:
            continue
        for symbol in ("scipy_openblas_get_corename64_", "openblas_get_corename64_", "openblas_get_corename"):
            function = getattr(handle, symbol, None)
            if function is not None:
                function.restype = ctypes.c_char_p
                return f"openblas {function().decode()}"
    return "unknown"
