"""`optarena bayesmark`: the slides' commands, with Bayesmark's ids, seeds, messages and files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import polars as pl
import pytest

import optarena as oa
from optarena.bayesmark import Launch, deal, study_uuid
from optarena.bayesmark.files import read_database
from optarena.bayesmark.jobs import launcher_seed
from optarena.bayesmark.launch import DATA, OPTIMIZERS
from optarena.cli import main
from optarena.errors import OptarenaError
from terminals import on_terminal

HERE = Path(__file__).parent
SEEDS = json.loads((HERE / "data" / "bayesmark" / "seeds.json").read_text())
WRAPPERS = HERE / "data" / "bayesmark_wrappers"
ROOT = "0123456789abcdef0123456789abcdef"
SMALL = ["-c", "DT", "-d", "iris", "-n", "3", "-r", "2", "-u", ROOT, "--workers", "1"]


WRAPPER = """
from bayesmark.abstract_optimizer import AbstractOptimizer
from bayesmark.random_search import suggest_dict
class Mine(AbstractOptimizer):
    def suggest(self, n_suggestions=1):
        {how}
    def observe(self, X, y):
        pass
"""
WORKS = WRAPPER.format(how="return suggest_dict([], [], self.api_config, n_suggestions)")
BROKEN = WRAPPER.format(how="raise RuntimeError('out of ideas')")


def wrapper(root: Path, name: str, text: str) -> Path:
    """A folder of the challenge's kind."""
    (root / name).mkdir(parents=True)
    (root / name / "optimizer.py").write_text(text)
    return root / name


def small() -> Launch:
    return Launch(uuid.UUID(ROOT), models=["DT", "SVM"], data=["iris"], optimizers=["RandomSearch"], repeat=3)


# ---- ids and seeds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", SEEDS["sub_uuid"], ids=lambda case: f"{case['run_uuid'][:4]}-{case['name']}")
def test_a_study_has_bayesmarks_id(case):
    trial, model, data, optimizer, metric = case["name"].split("_")
    root = uuid.UUID(case["run_uuid"])
    assert study_uuid(root, int(trial), case["n_repeat"], model, data, optimizer, metric).hex == case["uuid5_hex"]


@pytest.mark.parametrize("case", SEEDS["launcher_seed"], ids=lambda case: case["hex"][:8])
def test_the_launcher_has_bayesmarks_seed(case):
    assert launcher_seed(uuid.UUID(case["hex"])) == case["np_seed"]


def test_the_plan_carries_ids_and_seeds():
    experiment = small()
    plan = experiment.plan()
    assert [uuid.UUID(study.id).hex for study in plan.studies] == [study.seed for study in plan.studies]
    assert sorted(study.seed for study in plan.studies) == sorted(command.uuid for command in experiment.commands())


def test_all_is_the_product_of_everything(monkeypatch):
    experiment = Launch(uuid.UUID(ROOT), optimizers=["RandomSearch"], calls=4, suggestions=8, repeat=2)
    assert len(experiment.problems) == 2 * 9 * len(experiment.data)
    assert set(experiment.data) <= set(DATA)
    assert experiment.budget == 32  # -n counts batches
    assert experiment.batch == 8
    assert "RandomSearch" in OPTIMIZERS


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"models": ["SMV"]}, "no classifier named 'SMV'. Did you mean 'SVM'?"),
        ({"data": ["irish"]}, "no data set named 'irish'. Did you mean 'iris'?"),
        ({"metrics": ["auc"]}, "no metric named 'auc'"),
        ({"data": ["iris"], "metrics": ["mse"]}, "iris needs one of the metrics acc, nll; given: mse"),
        ({"data": ["clf-mine"]}, "give the folder of clf-mine.csv with --data-root"),
        ({"optimizers": ["RandomSaerch"]}, "Did you mean 'RandomSearch'?"),
    ],
)
def test_a_name_that_is_nothing_is_said(flags, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptarenaError, match=re.escape(says)):
        Launch(uuid.UUID(ROOT), **{"optimizers": ["RandomSearch"], **flags})


# ---- running --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def launched(tmp_path_factory):
    pytest.importorskip("sklearn")
    root = tmp_path_factory.mktemp("root")
    flags = ["-dir", str(root), "-b", "db", "-odir", str(WRAPPERS / "configured"), "-o", "RandomSearch", "Near"]
    assert main(["bayesmark", "launch", *SMALL, *flags, "-p", "2"]) == 0
    return root


def test_a_launch_speaks_as_bayesmarks_does(tmp_path, capsys):
    pytest.importorskip("sklearn")
    flags = ["-dir", str(tmp_path), "-b", "bo_example_folder", "-o", "RandomSearch", "-m", "acc", "-v"]
    assert main(["bayesmark", "launch", *SMALL, *flags]) == 0
    done = capsys.readouterr()
    assert "1 optimizer × 1 problem × 2 trials" in done.err  # progress is not mixed with what Bayesmark prints
    lines = done.out.splitlines()
    assert len(lines) == 3 + 2 + 2
    assert lines[:3] == [
        f"Supply --uuid {ROOT} to reproduce this run.",
        "Supply --dbid bo_example_folder to append to this experiment or reproduce jobs file.",
        "User must ensure equal reps of each optimizer for unbiased results",
    ]
    first = study_uuid(uuid.UUID(ROOT), 0, 2, "DT", "iris", "RandomSearch", "acc").hex
    assert lines[3] == f"-c DT -d iris -o RandomSearch -u {first} -m acc -n 3 -p 1 -dir {tmp_path} -b bo_example_folder"
    assert lines[-2:] == ["0 failures of benchmark script after 2 studies.", "done"]


def test_a_verbose_launch_on_a_terminal_has_logs_without_bars_and_a_pipe_gets_what_wrappers_print(tmp_path):
    pytest.importorskip("sklearn")
    wrappers = tmp_path / "wrappers"
    wrappers.mkdir()
    near = (WRAPPERS / "configured" / "near_wrapper.py").read_text()
    (wrappers / "near_wrapper.py").write_text("print('hello from a wrapper')\n" + near)
    (wrappers / "config.json").write_text((WRAPPERS / "configured" / "config.json").read_text())
    flags = ["-dir", str(tmp_path), "-b", "db", "-odir", str(wrappers), "-o", "Near", "-m", "acc", "-v"]
    code, screen, lines = on_terminal("bayesmark", "launch", *SMALL, *flags, stdout=tmp_path / "piped")
    assert code == 0, screen.text
    assert not [line for line in lines if "█" in line or "░" in line]
    assert "hello from a wrapper" in (tmp_path / "piped").read_text()


def test_a_launch_leaves_bayesmarks_files(launched):
    studies = read_database(launched / "db")
    assert len(studies) == 2 * 2 * 2
    assert {study.shape for study in studies} == {(3, 2)}
    assert {len(study.signature[1]) for study in studies} == {5}
    names = {study.method.split("_")[0] for study in studies}
    assert names == {"RandomSearch", "Near"}
    assert all(len(study.method.split("_")) == 3 and len(study.method.split("_")[2]) == 7 for study in studies)
    assert all(set(study.times) == {"suggest", "eval", "observe"} for study in studies)


def test_the_summary_of_the_slides_is_printed(launched, capsys):
    flags = ["-dir", str(launched), "-b", "db"]
    assert main(["bayesmark", "agg", *flags]) == 0
    assert main(["bayesmark", "anal", *flags, "-v"]) == 0
    done = capsys.readouterr()
    for title in ("median score @ 3:", "mean score @ 3:", "normed mean score @ 3:"):
        assert re.search(
            rf"{title}\noptimizer\nNear_\S+ +\d\S*( +\[.*\])?\nRandomSearch_\S+ +\d\S*( +\[.*\])?\n", done.out
        )
    assert done.out.endswith("done\n")
    assert "Need to construct baseline" in done.err
    for name in ("eval", "time", "baseline", "perf", "summary", "DT_iris_acc"):
        assert (launched / "db" / "derived" / f"{name}.json").is_file()


def test_a_baseline_that_is_older_than_the_studies_is_told(launched, tmp_path, capsys):
    shutil.copytree(launched / "db", tmp_path / "db")
    flags = ["-dir", str(tmp_path), "-b", "db"]
    for command in ("agg", "baseline", "agg"):
        assert main(["bayesmark", command, *flags]) == 0
    os.utime(tmp_path / "db" / "derived" / "baseline.json", (1, 1))
    capsys.readouterr()
    assert main(["bayesmark", "anal", *flags]) == 0
    assert "baseline.json is older than the scored studies" in capsys.readouterr().err


def test_without_random_search_it_is_said_what_to_do(launched, tmp_path, capsys):
    shutil.copytree(launched / "db", tmp_path / "db", ignore=shutil.ignore_patterns("optarena", "derived"))
    for study in read_database(tmp_path / "db"):
        if study.method.startswith("RandomSearch"):
            (tmp_path / "db" / "eval" / f"{study.uuid}.json").unlink()
    flags = ["-dir", str(tmp_path), "-b", "db"]
    assert main(["bayesmark", "agg", *flags]) == 0
    assert main(["bayesmark", "anal", *flags]) == 2
    assert f"{tmp_path / 'db'} has no RandomSearch on these problems" in capsys.readouterr().err


@pytest.mark.slow
def test_the_same_uuid_gives_the_same_and_goes_on_where_it_was(launched, tmp_path):
    flags = ["-odir", str(WRAPPERS / "configured"), "-o", "RandomSearch", "Near", "-p", "2", "-b", "db"]
    assert main(["bayesmark", "launch", *SMALL, *flags, "-dir", str(tmp_path)]) == 0
    for one, two in zip(read_database(launched / "db"), read_database(tmp_path / "db"), strict=True):
        assert (one.uuid, one.points) == (two.uuid, two.points)
        assert one.values["generalization"].tolist() == two.values["generalization"].tolist()
    longer = ["4" if flag == "3" else flag for flag in SMALL]
    assert main(["bayesmark", "launch", *longer, *flags, "-dir", str(tmp_path)]) == 0
    for one, two in zip(read_database(launched / "db"), read_database(tmp_path / "db"), strict=True):
        assert two.shape == (4, 2)
        assert one.values["generalization"].tolist() == two.values["generalization"][:3].tolist()


def test_what_another_tool_made_under_the_same_uuid_is_left_alone(launched, tmp_path, capsys):
    shutil.copytree(launched / "db", tmp_path / "db", ignore=shutil.ignore_patterns("optarena", "derived"))
    gone, *kept = sorted((tmp_path / "db" / "eval").iterdir())
    gone.unlink()
    before = [file.read_bytes() for file in kept]
    flags = ["-odir", str(WRAPPERS / "configured"), "-o", "RandomSearch", "Near", "-p", "2", "-b", "db"]
    for _ in range(2):
        assert main(["bayesmark", "launch", *SMALL, *flags, "-dir", str(tmp_path)]) == 0
        assert "7 of these studies are in the database" in capsys.readouterr().err
    assert [file.read_bytes() for file in kept] == before
    assert oa.open(tmp_path / "db" / "optarena").studies.height == 1
    assert len(read_database(tmp_path / "db")) == 8


def test_a_pairing_that_cannot_work_has_no_line_in_a_jobs_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    flags = ["-c", "kNN", "-d", "iris", "-o", "Scipy-NelderMead", "RandomSearch", "-r", "1", "-p", "2", "-b", "db"]
    assert main(["bayesmark", "launch", *flags, "-nj", "9"]) == 0
    assert "refused: Scipy-NelderMead on sklearn/kNN_iris_acc: " in capsys.readouterr().err
    assert [line.split()[9] for line in (tmp_path / "jobs.txt").read_text().splitlines()[2:]] == ["RandomSearch"] * 2


def test_another_batch_under_the_same_uuid_is_refused(launched, capsys):
    flags = ["-odir", str(WRAPPERS / "configured"), "-o", "RandomSearch", "Near", "-b", "db", "-dir", str(launched)]
    assert main(["bayesmark", "launch", *SMALL, *flags, "-p", "1"]) == 2
    assert "was launched with -p 2" in capsys.readouterr().err


# ---- derived files and what they are made of ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """A launch, aggregated and scored, with the baseline that this made."""
    pytest.importorskip("sklearn")
    root = tmp_path_factory.mktemp("scored")
    place = ["-dir", str(root), "-b", "db"]
    assert main(["bayesmark", "launch", *SMALL, *place, "-o", "RandomSearch", "-m", "acc"]) == 0
    for command in ("agg", "anal"):
        assert main(["bayesmark", command, *place]) == 0
    return root / "db"


def copied(scored, tmp_path):
    """A copy of it, the flags that name it, and its baseline as data."""
    shutil.copytree(scored, tmp_path / "db")
    file = tmp_path / "db" / "derived" / "baseline.json"
    return ["-dir", str(tmp_path), "-b", "db"], file, json.loads(file.read_text())


@pytest.mark.slow
def test_cubes_that_lack_studies_of_the_database_are_refused_until_agg_is_run(scored, tmp_path, capsys):
    place, *_ = copied(scored, tmp_path)
    more = ["f" * 32 if flag == ROOT else flag for flag in SMALL]
    assert main(["bayesmark", "launch", *more, *place, "-o", "RandomSearch", "-m", "acc"]) == 0
    capsys.readouterr()
    for command in ("anal", "baseline"):
        assert main(["bayesmark", command, *place]) == 2
        said = capsys.readouterr()
        assert "was made of 2 studies, and the database has 4 now: run optarena bayesmark agg -dir" in said.err
        assert said.out == ""
    for command in ("agg", "anal"):
        assert main(["bayesmark", command, *place]) == 0


def test_cubes_of_studies_that_were_made_longer_are_refused(scored, tmp_path, capsys):
    place, *_ = copied(scored, tmp_path)
    longer = ["5" if flag == "3" else flag for flag in SMALL]
    assert main(["bayesmark", "launch", *longer, *place, "-o", "RandomSearch", "-m", "acc"]) == 0
    assert main(["bayesmark", "anal", *place]) == 2
    assert "was made of 2 studies, and they have changed since: run optarena bayesmark agg" in capsys.readouterr().err


def test_cubes_without_their_studies_are_scored(scored, tmp_path):
    place, *_ = copied(scored, tmp_path)
    shutil.rmtree(tmp_path / "db" / "eval")
    shutil.rmtree(tmp_path / "db" / "optarena")
    assert main(["bayesmark", "anal", *place]) == 0


def test_a_baseline_of_another_problem_or_batch_size_is_refused(scored, tmp_path, capsys):
    place, file, data = copied(scored, tmp_path)
    assert data["meta"]["suggestions"] == 1
    for name in data["meta"]["signature"]:
        data["meta"]["signature"][name][0] += 0.1
    file.write_text(json.dumps(data))
    store = str(scored / "optarena")
    for words in (["bayesmark", "anal", *place], ["score", store, "--mode", "bayesmark", "--frame", str(file)]):
        assert main(words) == 2
        assert "differs between the baseline and the studies" in capsys.readouterr().err
    data["meta"].update(suggestions=4, signature={})
    file.write_text(json.dumps(data))
    assert main(["bayesmark", "anal", *place]) == 2
    assert "the frame is for batches of 4, the studies have batches of 1" in capsys.readouterr().err


def test_what_a_baseline_does_not_tell_is_said_to_be_unchecked(scored, tmp_path, capsys):
    place, file, data = copied(scored, tmp_path)
    file.write_text(json.dumps({**data, "meta": {"args": {}, "signature": {}}}))
    assert main(["bayesmark", "anal", *place]) == 0
    said = capsys.readouterr().err
    assert "note: the baseline does not state its batch size: not checked" in said
    assert "note: the baseline has no signature of DT_iris_acc, so whether it is" in said


def test_a_saved_frame_carries_the_signatures_of_its_problems(scored, tmp_path, capsys):
    file = tmp_path / "frame.json"
    assert main(["score", str(scored / "optarena"), "--save-frame", str(file)]) == 0
    assert main(["score", str(scored / "optarena"), "--frame", str(file)]) == 0
    assert "not checked" not in capsys.readouterr().out
    data = json.loads(file.read_text())
    data["signatures"]["sklearn/DT_iris_acc"][0] += 0.1
    file.write_text(json.dumps(data))
    assert main(["score", str(scored / "optarena"), "--frame", str(file)]) == 2
    assert "the signature of sklearn/DT_iris_acc differs between the baseline" in capsys.readouterr().err


@pytest.mark.slow
def test_one_failing_study_stops_nothing(tmp_path, capsys):
    pytest.importorskip("sklearn")
    folder = wrapper(tmp_path / "opts", "broken", BROKEN)
    flags = ["-dir", str(tmp_path), "-b", "db", "-odir", str(tmp_path / "opts"), "-o", "RandomSearch", "broken"]
    assert main(["bayesmark", "launch", *SMALL, *flags, "-m", "acc"]) == 1
    done = capsys.readouterr()
    assert "2 failures of benchmark script after 4 studies.\ndone" in done.out
    first = study_uuid(uuid.UUID(ROOT), 0, 2, "DT", "iris", "broken", "acc").hex
    assert f"not in the database: broken on DT_iris_acc, repetition 0 ({first}): failed: " in done.err
    assert "out of ideas" in done.err
    assert "Run what failed again: optarena bayesmark launch -c DT" in done.err
    assert {study.method.split("_")[0] for study in read_database(tmp_path / "db")} == {"RandomSearch"}
    for command in ("agg", "anal"):  # an optimizer without a score is named beside the scores
        assert main(["bayesmark", command, *flags[:4]]) == 0
        done = capsys.readouterr()
        assert "missing: broken: none of its 2 studies is complete, as broken on DT_iris_acc, repetition 0" in done.err
        assert "out of ideas" in done.err
    assert "normed mean score @ 3:" in done.out
    assert main(["bayesmark", "launch", *SMALL, *flags, "-m", "acc"]) == 1  # failed is finished, until --retry
    (folder / "optimizer.py").write_text(WORKS)
    assert main(["bayesmark", "launch", *SMALL, *flags, "-m", "acc", "--retry"]) == 0
    capsys.readouterr()
    assert main(["bayesmark", "agg", *flags[:4]]) == 0
    assert "missing" not in capsys.readouterr().err
    assert len(read_database(tmp_path / "db")) == 4


def test_a_users_own_data_are_found_by_their_folder(tmp_path):
    pytest.importorskip("sklearn")
    rows = "\n".join(f"{i % 7},{(i * i) % 5},{'red' if i % 3 else 'blue'},{i % 2}" for i in range(40))
    (tmp_path / "clf-mine.csv").write_text("a,b,c,y\n" + rows + "\n")
    flags = ["-dir", str(tmp_path), "-b", "db", "-dr", str(tmp_path), "-d", "clf-mine", "-m", "acc"]
    assert main(["bayesmark", "launch", "-c", "kNN", "-n", "2", "-r", "1", "-o", "RandomSearch", *flags]) == 0
    (study,) = read_database(tmp_path / "db")
    assert study.problem == "kNN_clf-mine_acc"
    assert main(["bayesmark", "agg", "-dir", str(tmp_path), "-b", "db"]) == 0
    assert main(["bayesmark", "anal", "-dir", str(tmp_path), "-b", "db"]) == 0


@pytest.mark.slow
def test_the_studies_of_a_launch_can_be_replayed(launched, capsys, monkeypatch):
    monkeypatch.chdir(WRAPPERS)
    store = launched / "db" / "optarena"
    frame = oa.open(store).studies
    for name in ("RandomSearch", "Near"):
        study = frame.filter(pl.col("optimizer") == name)["study"][0]
        assert main(["replay", str(store), study]) == 0, capsys.readouterr()


NOISY = ["-c", "DT", "-d", "iris", "-m", "nll", "-n", "3"]


def noisy_study(trial: int) -> list[str]:
    """The flags of one study of the noisy problem: what a jobs file has a line of."""
    return [*NOISY, "-o", "RandomSearch", "-u", study_uuid(uuid.UUID(ROOT), trial, 2, *NOISY_NAMES).hex]


NOISY_NAMES = ("DT", "iris", "RandomSearch", "nll")


def values(path: Path) -> dict[str, list[float]]:
    """What every study of a database saw."""
    return {study.uuid: study.values["_visible_to_opt"].ravel().tolist() for study in read_database(path)}


@pytest.mark.slow
def test_a_study_is_the_same_alone_after_others_and_in_a_launch(tmp_path):
    """All that is random in it hangs on its id: neither its number nor what is in the database plays a part."""
    pytest.importorskip("sklearn")
    place = ["-dir", str(tmp_path), "-b"]
    assert main(["bayesmark", "exp", *noisy_study(1), *place, "alone"]) == 0
    for trial in (0, 1):
        assert main(["bayesmark", "exp", *noisy_study(trial), *place, "after"]) == 0
    flags = ["-r", "2", "-o", "RandomSearch", "-u", ROOT, "--workers", "1"]
    assert main(["bayesmark", "launch", *NOISY, *flags, *place, "launch"]) == 0
    launch = values(tmp_path / "launch")
    assert len(launch) == 2
    assert launch == values(tmp_path / "after")
    ((id, alone),) = values(tmp_path / "alone").items()
    assert launch[id] == alone
    assert sorted(oa.open(tmp_path / "after" / "optarena").studies["trial"]) == [0, 1]


@pytest.mark.slow
def test_studies_that_run_side_by_side_have_numbers_of_their_own(tmp_path):
    pytest.importorskip("sklearn")
    code = "import sys; from optarena.cli import main; sys.exit(main())"
    place = ["-dir", str(tmp_path), "-b", "db"]
    jobs = [
        subprocess.Popen([sys.executable, "-c", code, "bayesmark", "exp", *noisy_study(trial), *place])
        for trial in (0, 1)
    ]
    assert [job.wait() for job in jobs] == [0, 0]
    assert sorted(oa.open(tmp_path / "db" / "optarena").studies["trial"]) == [0, 1]


@pytest.mark.slow
def test_a_study_that_fails_in_a_job_says_why_and_is_tried_again_when_told(tmp_path, capsys):
    pytest.importorskip("sklearn")
    folder = wrapper(tmp_path, "mine", BROKEN)
    words = ["bayesmark", "exp", *NOISY, "-o", "mine", "-u", "a" * 32, "-odir", str(tmp_path), "-dir", str(tmp_path)]
    assert main([*words, "-b", "db"]) == 0
    assert "mine on DT_iris_nll, repetition 0 (aaaa" in (told := capsys.readouterr().err)
    assert "out of ideas" in told
    assert main(["bayesmark", "agg", "-dir", str(tmp_path), "-b", "db"]) == 2
    assert "has no complete study: mine on DT_iris_nll" in capsys.readouterr().err
    (folder / "optimizer.py").write_text(WORKS)
    assert main([*words, "-b", "db"]) == 2
    assert "its source has changed" in capsys.readouterr().err
    assert main([*words, "-b", "db", "--retry"]) == 0
    assert main([*words, "-b", "db"]) == 0
    assert len(read_database(tmp_path / "db")) == 1


def test_names_may_be_typed_with_underscores(tmp_path, capsys):
    """A folder my_turbo is my-turbo to Bayesmark, and its users type either."""
    wrapper(tmp_path, "my_turbo", WORKS)
    for name in ("my_turbo", "my-turbo"):
        (use,) = Launch(uuid.UUID(ROOT), optimizers=[name], optimizer_root=tmp_path).optimizers
        assert use.label == "my-turbo"
    named = Launch(uuid.UUID(ROOT), optimizers=["my_turbo"], optimizer_root=tmp_path)
    assert "my_turbo is called my-turbo: Bayesmark puts names together by underscores" in named.notices
    (tmp_path / "configured").mkdir()
    (tmp_path / "configured" / "w.py").write_text(WORKS)
    (tmp_path / "configured" / "config.json").write_text('{"My_Own": ["w.py", {}]}')
    (use,) = Launch(uuid.UUID(ROOT), optimizers=["My_Own"], optimizer_root=tmp_path / "configured").optimizers
    assert use.label == "My-Own"
    assert oa.optimizer.get_optimizer(f"{tmp_path}:my_turbo").__name__ == "my-turbo"


def test_a_folder_of_data_adds_to_the_built_in_ones(tmp_path):
    for name in ("clf-mine", "reg-mine", "clf-a_b", "notes"):
        (tmp_path / f"{name}.csv").write_text("a,y\n" + "1,0\n2,1\n" * 20)
    launch = Launch(uuid.UUID(ROOT), optimizers=["RandomSearch"], models=["DT"], data_root=tmp_path)
    assert {"clf-mine", "reg-mine", "iris"} <= set(launch.data)
    assert not {"clf-a_b", "notes"} & set(launch.data)
    assert "left out: clf-a_b.csv, whose name has an underscore" in launch.notices


# ---- jobs -----------------------------------------------------------------------------------------------------------


def test_jobs_are_balanced_seeded_and_complete():
    by_optimizer = [[f"{name}{i}" for i in range(n)] for name, n in (("a", 10), ("b", 7))]
    jobs = deal(by_optimizer, 4, uuid.UUID(ROOT))
    assert jobs == deal(by_optimizer, 4, uuid.UUID(ROOT))
    assert jobs != deal(by_optimizer, 4, uuid.UUID(int=5))
    assert sorted(command for job in jobs for command in job) == sorted([*by_optimizer[0], *by_optimizer[1]])
    assert {len(job) for job in jobs} == {4, 5}
    assert {sum(command[0] == "a" for command in job) for job in jobs} == {2, 3}
    assert len(deal([["only"]], 50, uuid.UUID(ROOT))) == 1


@pytest.mark.slow
def test_a_jobs_file_is_run_line_by_line_elsewhere_and_aggregated(tmp_path, monkeypatch, capsys):
    pytest.importorskip("sklearn")
    shutil.copytree(WRAPPERS / "challenge", tmp_path / "opts")
    start, other = tmp_path / "start", tmp_path / "other"
    start.mkdir()
    other.mkdir()
    monkeypatch.chdir(start)
    flags = ["-dir", "foo", "-b", "db", "-odir", "../opts", "-o", "RandomSearch", "nudge_search", "-m", "nll"]
    assert main(["bayesmark", "launch", *SMALL, *flags, "-nj", "3", "-t", "1000"]) == 0
    lines = (start / "jobs.txt").read_text().splitlines()
    assert all(" -t 1000" in command for line in lines[2:] for command in line.split("&&"))
    assert lines[0].startswith(f"# running: {{'--uuid': '{ROOT}', '-db-root': '{start}/foo'")
    assert lines[1].startswith("# cmd: optarena bayesmark launch -c DT -d iris -n 3 -r 2")
    assert [line.split()[0] for line in lines[2:]] == [f"job_{ROOT[:7]}_{i}" for i in range(3)]
    assert not (start / "foo").exists()
    optarena = tmp_path / "bin" / "optarena"
    optarena.parent.mkdir()
    optarena.write_text(f"#!{sys.executable}\nimport sys\nfrom optarena.cli import main\nsys.exit(main())\n")
    optarena.chmod(0o755)
    monkeypatch.chdir(other)
    monkeypatch.setenv("PATH", str(optarena.parent), prepend=":")
    for line in lines[2:]:
        _, command = line.split(" ", 1)
        assert re.fullmatch(r"(optarena bayesmark exp [^&]+)( && optarena bayesmark exp [^&]+)*", command)
        subprocess.run(command, shell=True, check=True)
    studies = read_database(start / "foo" / "db")
    wanted = {
        study_uuid(uuid.UUID(ROOT), trial, 2, "DT", "iris", name, "nll").hex
        for trial in range(2)
        for name in ("RandomSearch", "nudge-search")
    }
    assert {study.uuid for study in studies} == wanted
    launched = ["-dir", str(other), "-b", "db", "-odir", str(tmp_path / "opts"), *flags[6:]]
    assert main(["bayesmark", "launch", *SMALL, *launched]) == 0  # the same studies, launched at once
    assert values(start / "foo" / "db") == values(other / "db")
    frame = oa.open(start / "foo" / "db" / "optarena").studies
    assert sorted(frame.filter(pl.col("optimizer") == "RandomSearch")["trial"]) == [0, 1]
    capsys.readouterr()
    scores = []
    for root in (start / "foo", other):
        for command in ("agg", "anal"):
            assert main(["bayesmark", command, "-dir", str(root), "-b", "db"]) == 0
        scores.append(capsys.readouterr().out)
    assert scores[0] == scores[1]
    monkeypatch.chdir(start)  # and a launch finds all of them done
    assert main(["bayesmark", "launch", *SMALL, *flags]) == 0
    assert "4 of them finished before" in capsys.readouterr().err
    assert {study.uuid for study in read_database(start / "foo" / "db")} == wanted


# ---- calls ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["lunch"], "no command 'lunch'. Did you mean 'launch'?"),
        (["agg"], "required: -b/--db"),
        (["launch", "-u", "123"], "'123' is not 32 hexadecimal digits"),
        (["launch", "-b", "../up"], "is not the name of a folder"),
        (["launch", "-n", "0"], "at least 1"),
        (["launch", "-nj", "-1"], "expected a whole number, got '-1'"),
        (["launch", "-t", "9", "--workers", "0"], "it needs --workers of at least 1"),
        (["launch", "-t", "1.5"], "expected a whole number, got '1.5'"),
        (["launch", "-odir", "/nowhere"], "there is no directory '/nowhere'"),
        (["agg", "-b", "none"], "is not a database of Bayesmark"),
        (["anal", "-b", "none"], "optarena bayesmark agg makes it"),
    ],
)
def test_a_bad_call_is_one_sentence(words, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["bayesmark", *words]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1


def test_help_names_the_commands_and_the_flags(capsys):
    assert main(["bayesmark"]) == 0
    assert "launch" in capsys.readouterr().out
    assert main(["bayesmark", "launch", "--help"]) == 0
    assert "--num-jobs" in capsys.readouterr().out


def test_init_makes_the_folders(tmp_path):
    assert main(["bayesmark", "init", "-dir", str(tmp_path), "-b", "db"]) == 0
    assert sorted(path.name for path in (tmp_path / "db").iterdir()) == sorted(
        ["derived", "eval", "log", "suggest_log", "time"]
    )
