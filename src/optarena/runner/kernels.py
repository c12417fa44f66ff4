"""Numeric kernels: which machine code NumPy, BLAS and torch compute with, and how workers pin it.

Libraries choose their code by the CPU they find, and two kinds of code round differently. Workers are started with
variables that hold them to x86-64-v3 (AVX2 and FMA, every x86-64 CPU of the last ten years), so that the same study
gives the same bits on all of them. Libraries read these variables when they are loaded: a process that has already
loaded them keeps its own kernels.

    $ env $(python -m optarena.runner.kernels) python my_script.py    # pins this process and what it starts
"""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache
from pathlib import Path

from optarena.errors import OptarenaError

PINNED = "x86-64-v3"
NATIVE = "native"
CHOICES = ("pinned", NATIVE)

NUMPY = "NPY_DISABLE_CPU_FEATURES"
OPENBLAS = "OPENBLAS_CORETYPE"
VARIABLES = {
    OPENBLAS: "Haswell",
    "ATEN_CPU_CAPABILITY": "avx2",  # torch
    "MKL_CBWR": "COMPATIBLE",  # the only one that is the same on CPUs of Intel and of others
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "NUMBA_CPU_NAME": "haswell",
}

# the names under which NumPy's versions list what x86-64-v3 has
_WITHIN = {
    *"SSE SSE2 SSE3 SSSE3 SSE41 POPCNT SSE42 AVX F16C FMA3 AVX2 LAHF CX16 BMI BMI2 LZCNT MOVBE X86_V2 X86_V3".split(),  # noqa: SIM905
}


def chosen(kernels: str) -> str:
    """What a choice (`pinned` or `native`) means on this machine: `x86-64-v3` or `native`."""
    if kernels not in CHOICES:
        raise OptarenaError(f"kernels: expected {' or '.join(map(repr, CHOICES))}, got {kernels!r}")
    return PINNED if kernels == "pinned" and can_pin() else NATIVE


def can_pin() -> bool:
    """Whether this CPU has x86-64-v3: AVX2 and FMA."""
    available = {*_simd("baseline"), *_simd("found")}
    return platform.machine().lower() in ("x86_64", "amd64") and (
        "X86_V3" in available or {"AVX2", "FMA3"} <= available
    )


def variables() -> dict[str, str]:
    """The variables that pin a process that is started with them.

    NumPy's names every group of instructions beyond x86-64-v3 that the installed NumPy has code for.
    """
    groups = {*_simd("found"), *_simd("not found")} - _WITHIN
    disabled = {*os.environ.get(NUMPY, "").replace(",", " ").split(), *groups}
    return {**VARIABLES, **({NUMPY: ",".join(sorted(disabled))} if disabled else {})}


def in_use() -> str:
    """The kernels of this process, by what it has really loaded: `x86-64-v3` or `native`."""
    asked = all(os.environ.get(name) == value for name, value in VARIABLES.items())
    pinned = asked and not _beyond() and blas() in ("openblas Haswell", "unknown")
    return PINNED if pinned else NATIVE


def _beyond() -> set[str]:
    """The groups of instructions beyond x86-64-v3 that NumPy uses in this process."""
    return set(_simd("found")) - _WITHIN


@cache
def _simd(kind: str) -> tuple[str, ...]:
    import numpy as np

    config: dict[str, dict[str, list[str]]] = np.show_config(mode="dicts")  # type: ignore[assignment]
    return tuple(config.get("SIMD Extensions", {}).get(kind, ()))


@cache
def blas() -> str:
    """The kernel that NumPy's OpenBLAS has chosen, as `openblas Haswell`; `unknown` for another library."""
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


def main() -> None:
    """Print the variables, one per line, for `env` and shells."""
    for name, value in variables().items() if can_pin() else ():
        print(f"{name}={value}")


if __name__ == "__main__":
    main()
