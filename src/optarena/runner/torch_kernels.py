"""Square roots of torch that are the same on every CPU.

torch computes them with MKL's vector library, which starts from the processor's own approximation (RSQRTPS) where it
does not use AVX2: AMD's and Intel's differ, and no variable switches that off. NumPy rounds square roots correctly, as
the IEEE standard defines them, and takes over where kernels are pinned.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_installed: list[Any] = []


def pin_torch() -> None:
    """Take over torch's square roots: now, or as soon as somebody imports torch."""
    if _installed:
        return
    if "torch" in sys.modules:
        _take_over()
    elif not any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterImport())


class _AfterImport(MetaPathFinder):
    """Lets torch be found as usual, by whoever asks, and takes over when it has been loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "torch":
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_take_over(module: ModuleType) -> None:
                load(module)
                _take_over()

            spec.loader.exec_module = load_and_take_over  # type: ignore[method-assign]
        return spec


def _take_over() -> None:
    if _installed:
        return
    import numpy as np
    import torch

    def root(x: Any) -> Any:
        if x.dtype in (torch.bfloat16, torch.float16):
            return root(x.float()).to(x.dtype)
        if not (x.is_floating_point() or x.is_complex()):
            x = x.to(torch.get_default_dtype())
        with np.errstate(invalid="ignore"):
            return torch.from_numpy(np.asarray(np.sqrt(x.detach().resolve_conj().numpy())))

    def in_place(x: Any) -> Any:
        return into(x, out=x)

    def into(x: Any, *, out: Any) -> Any:
        found = root(x)
        if not torch.can_cast(found.dtype, out.dtype):
            raise RuntimeError(f"result type {found.dtype} can't be cast to the desired output type {out.dtype}")
        if out.shape != found.shape:
            out.resize_(found.shape)
        return out.copy_(found)

    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that a kernel is replaced
        for name, function in (("sqrt", root), ("sqrt_", in_place), ("sqrt.out", into)):
            library.impl(name, function, "CPU")
    _installed.append(library)  # the functions are withdrawn with it
