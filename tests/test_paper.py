"""A paper's figures and tables, with a LaTeX file that includes them."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

import optarena as oa
from optarena.cli import main
from optarena.report.paper import write_paper
from stores import hostile


@pytest.fixture(scope="module")
def classics(tmp_path_factory):
    experiment = oa.Experiment(["RandomSearch", "Scipy-NelderMead"], "bbob/f{1,2,6}/d{2,3}/i{1,2}", "20*D", trials=1)
    return experiment.run(tmp_path_factory.mktemp("classics") / "s", workers=0)


def compiled(directory):
    """The log of pdflatex, which must not have failed."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    call = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"]
    done = subprocess.run(call, cwd=directory, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def test_a_paper_has_every_figure_and_table_and_compiles(classics, tmp_path, capsys):
    assert main(["paper", "coco", str(classics.path), "-O", str(tmp_path / "paper")]) == 0
    out = capsys.readouterr().out
    assert out.startswith(str(tmp_path / "paper" / "paper.tex"))
    text = (tmp_path / "paper" / "paper.tex").read_text()
    included = re.findall(r"\\(?:includegraphics\[[^]]*\]|input)\{([^}]*)\}", text)
    files = {path.relative_to(tmp_path / "paper").as_posix() for path in (tmp_path / "paper").rglob("*.*")}
    assert set(included) == files - {"paper.tex"}
    assert len(included) == len(set(included))
    names = {path.removeprefix("figures/").removesuffix(".pdf") for path in included if path.startswith("figures")}
    assert {
        *("ecdf", "ecdf-groups", "ecdf-functions", "ecdf-functions-2", "contributions", "ert-dimension", "scaling"),
        *("scaling-2", "loss-budget", "scatter", "scatter-functions", "run-lengths", "run-lengths-2"),
    } == names
    assert all(path.stat().st_size < 1_000_000 for path in (tmp_path / "paper" / "figures").iterdir())
    captions = re.findall(r"\\caption\{(.*)\}", text)
    assert len(captions) == len(included)
    assert all("bbob" in caption and ("2 runs" in caption or "runs per" in caption) for caption in captions)
    assert "Output written on paper.pdf" in compiled(tmp_path / "paper")
    if shutil.which("pdftotext"):
        read = ["pdftotext", "-layout", str(tmp_path / "paper" / "paper.pdf"), "-"]
        pages = subprocess.run(read, capture_output=True, text=True, check=True).stdout.split("\f")[:-1]
        assert all("Figure" in page or "Table" in page for page in pages), "no heading stands alone"


def test_names_that_tex_would_read_are_only_names(tmp_path):
    hostile(tmp_path / "s")
    write_paper(oa.open(tmp_path / "s"), tmp_path / "paper")
    assert "Output written on paper.pdf" in compiled(tmp_path / "paper")


def test_what_cannot_be_drawn_is_left_out_and_named(tmp_path):
    results = oa.Experiment(["RandomSearch"], "bbob/f1/d2/i{1,2}", 20, trials=1).run(tmp_path / "s", workers=0)
    written = write_paper(results, tmp_path / "paper")
    names = {path.name for path in written}
    assert "scatter.pdf" not in names
    assert "ecdf.pdf" in names
    text = (tmp_path / "paper" / "paper.tex").read_text()
    assert "% scatter: a scatter plot needs two optimizers" in text
    assert "Two by two" not in text, "a section without a figure has no heading"
    compiled(tmp_path / "paper")


def test_a_paper_needs_a_directory_and_a_known_kind(classics, tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    assert main(["paper", "coco", str(classics.path), "-O", str(tmp_path / "file")]) == 2
    assert "is a file: name a directory" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"
    assert main(["paper", "ieee", str(classics.path), "-O", str(tmp_path / "p")]) == 2
    assert "coco" in capsys.readouterr().err
    assert not (tmp_path / "p").exists()
