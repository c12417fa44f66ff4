"""Numeric kernels: workers are pinned, it is recorded, and an emulated Haswell computes the same bits as this CPU."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import optarena as oa
from optarena.cli import main
from optarena.errors import OptarenaError
from optarena.runner import kernels
from optarena.runner.again import replay
from optarena.runner.environment import for_workers

pytestmark = pytest.mark.skipif(not kernels.can_pin(), reason="this CPU has no AVX2: kernels are native")

STUDIES = Path(__file__).parent / "emulated.py"


@pytest.fixture
def _unpinned(monkeypatch):
    """As a user's shell is."""
    for name in (*kernels.VARIABLES, kernels.NUMPY):
        monkeypatch.delenv(name, raising=False)


def facts(store):
    """What the journals of a store say of their processes."""
    headers = [json.loads(path.read_text().splitlines()[0]) for path in Path(store, "journal").iterdir()]
    return [header["environment"] for header in headers]


def run(store, **options):
    return oa.Experiment("RandomSearch", "functions/sphere/d2", 3).run(store, **options)


def test_the_tests_themselves_run_with_pinned_kernels():
    assert kernels.in_use() == "x86-64-v3"


@pytest.mark.usefixtures("_unpinned")
def test_workers_are_pinned_and_the_journal_says_so():
    results = run("s", workers=1)
    (made,) = facts("s")
    assert made["kernels"] == "x86-64-v3"
    assert made["blas"] == "openblas Haswell"
    assert results.kernels() == {"x86-64-v3": 1}


@pytest.mark.usefixtures("_unpinned")
def test_native_kernels_are_chosen_by_name_and_recorded(capsys):
    main(["run", "-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "3", "--store", "s", "--kernels", "native"])
    assert facts("s")[0]["kernels"] == "native"
    capsys.readouterr()
    main(["status", "s"])
    assert "numeric kernels: native in 1 study" in capsys.readouterr().out
    study = oa.open("s").studies["study"][0]
    assert not any("kernels" in fact for fact in replay("s", study).facts)  # run again as it was


def test_a_choice_of_kernels_that_is_none_is_refused():
    with pytest.raises(OptarenaError, match="kernels: expected 'pinned' or 'native', got 'fast'"):
        run("s", kernels="fast")
    assert not Path("s").exists()


@pytest.mark.parametrize("core", ["Haswell", "SkylakeX", "Zen"])
def test_what_the_shell_says_does_not_reach_pinned_workers_but_native_ones(monkeypatch, core):
    monkeypatch.setenv("OPENBLAS_CORETYPE", core)
    assert for_workers("x86-64-v3")["OPENBLAS_CORETYPE"] == "Haswell"
    assert for_workers("native")["OPENBLAS_CORETYPE"] == core


@pytest.mark.usefixtures("_unpinned")
def test_numpy_uses_nothing_beyond_x86_64_v3_in_a_pinned_process():
    code = "from optarena.runner import kernels; print(sorted(kernels._beyond()), kernels.in_use())"
    out = subprocess.run([sys.executable, "-c", code], env=for_workers("x86-64-v3"), capture_output=True, text=True)
    assert out.stdout.strip() == "[] x86-64-v3"


def test_what_a_user_disabled_stays_disabled(monkeypatch):
    monkeypatch.setenv(kernels.NUMPY, "AVX512_SPR")
    assert "AVX512_SPR" in kernels.variables()[kernels.NUMPY]


def test_a_cpu_without_avx2_runs_natively_and_says_so(monkeypatch, capsys):
    monkeypatch.setattr(kernels, "_simd", lambda kind: {"baseline": ("X86_V2",)}.get(kind, ()))
    main(["run", "-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "3", "--store", "s", "--workers", "1"])
    assert "NumPy finds no AVX2 and FMA on this machine: numeric kernels are native" in capsys.readouterr().out


# ---- torch ----------------------------------------------------------------------------------------------------------

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")


@needs_torch
def test_square_roots_of_torch_are_correctly_rounded_where_kernels_are_pinned():
    code = """
import importlib.util
from optarena.runner.torch_kernels import pin_torch
pin_torch()
importlib.util.find_spec("torch")  # as whoever asks whether it is installed
import numpy as np
import torch
for kind in (torch.float64, torch.float32):
    x = torch.rand(5000, generator=torch.Generator().manual_seed(1), dtype=kind)
    turned = x.reshape(50, 100).T.sqrt().T.ravel()
    for y in (x.sqrt(), x.clone().sqrt_(), torch.sqrt(x, out=torch.empty(0, dtype=kind)), turned):
        assert np.array_equal(y.numpy(), np.sqrt(x.numpy()))
x = torch.tensor([4.0], requires_grad=True)
x.sqrt().backward()
assert x.grad.item() == 0.25
assert torch.sqrt(torch.tensor([4, 9])).tolist() == [2.0, 3.0]
assert torch.tensor(-1.0).sqrt().isnan()
assert torch.tensor([4.0], dtype=torch.bfloat16).sqrt().dtype == torch.bfloat16
for refused in (lambda: torch.tensor([4]).sqrt_(), lambda: torch.sqrt(x.detach(), out=torch.zeros(1, dtype=int))):
    try:
        refused()
    except RuntimeError:
        continue
    raise AssertionError("a whole number cannot hold a root")
print("ok")
"""
    out = subprocess.run([sys.executable, "-c", code], env=for_workers("x86-64-v3"), capture_output=True, text=True)
    assert out.stdout.strip() == "ok", out.stderr


# ---- another CPU ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def haswell():
    """A command that runs a program on an emulated Haswell: qemu 8 or newer (7.2 crashes in NumPy's sorting)."""
    wanted = os.environ.get("OPTARENA_QEMU")
    qemu = wanted or shutil.which("qemu-x86_64")
    if qemu is None:
        pytest.skip("needs qemu-x86_64 (Debian: qemu-user)")
    command = [qemu, "-cpu", "Haswell"]
    probe = "import numpy as np; print(np.argsort(np.arange(40)[::-1].copy())[0])"
    out = subprocess.run([*command, sys.executable, "-c", probe], capture_output=True, text=True)
    if out.stdout.strip() != "39":
        assert not wanted, f"{wanted} does not run NumPy: {out.stderr[-500:]}"
        pytest.skip("needs a newer qemu-x86_64")
    return command


def signatures(results):
    return {id: [item.card.signature for item in signed] for id, signed in results.columns.signed.items()}


def assert_same_bits(haswell, *pairs):
    environment = for_workers("x86-64-v3")
    for store, command in (("here", []), ("there", haswell)):
        done = subprocess.run(
            [*command, sys.executable, str(STUDIES), store, *pairs], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-2000:]
    here, there = oa.open("here"), oa.open("there")
    assert here.studies.height == len(pairs)
    for study in here.studies.iter_rows(named=True):
        assert study["status"] == "done"
        assert here.points(study["study"]) == there.points(study["study"]), (study["optimizer"], study["problem"])
    assert np.array_equal(here.in_full().traces().values, there.in_full().traces().values, equal_nan=True)
    assert signatures(here) == signatures(there)


@pytest.mark.slow
def test_an_emulated_haswell_computes_the_same_bits(haswell):
    assert_same_bits(
        haswell,
        "CMA-ES=bbob/f10/d5/i1",
        "CMA-ES=sklearn/linear_wine_nll",
        "Optuna-TPE=bbob/f1/d3/i1",
        "RandomSearch=sklearn/SVM_iris_nll",
        "Scipy-Powell=functions/rosenbrock/d3",
    )


@pytest.mark.skipif(importlib.util.find_spec("skopt") is None, reason="scikit-optimize is not installed")
@pytest.mark.slow
def test_an_emulated_haswell_computes_the_same_bits_for_gaussian_processes(haswell):
    assert_same_bits(haswell, "Scikit-GP-Hedge=functions/rosenbrock/d3")


@needs_torch
@pytest.mark.slow
def test_an_emulated_haswell_computes_the_same_bits_for_gaussian_processes_in_torch(haswell):
    assert_same_bits(haswell, "Optuna-GP=functions/rosenbrock/d3")
