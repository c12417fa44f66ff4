"""Problems that are programs: what is said to them, what they may answer, and that nothing of them stays behind."""

from __future__ import annotations

import gc
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
from optarena.problem import as_evaluation, build
from optarena.problems.command import CommandError, CommandProblem
from processes import children
from waiting import wait_for

pytestmark = pytest.mark.xdist_group("processes")  # one after the other: they measure time and kill

EXAMPLES = Path(__file__).parents[1] / "examples" / "commands"
SPACE = {"x": {"type": "real", "space": "linear", "range": [-5.0, 5.0]}}
LOOP = """
import json, os, sys, time

calls = 0
for line in sys.stdin:
    request = json.loads(line)
    x = request["parameters"]["x"]
    calls += 1
    {body}
    sys.stdout.flush()
"""


def program(body: str, **fields) -> CommandProblem:
    """A problem whose program does this for each line."""
    return CommandProblem([sys.executable, "-c", LOOP.format(body=body)], SPACE, **fields)


def write(name="mine.toml", command=None, space='x = { type = "real", space = "linear", range = [-5, 5] }', **fields):
    command = command or [sys.executable, "-S", "-c", LOOP.format(body="print(x ** 2)")]
    lines = ["[problem]", f"command = {json.dumps(command)}"]
    lines += [
        f"{key} = {_text(value).replace('NaN', 'nan').replace('Infinity', 'inf')}" for key, value in fields.items()
    ]
    Path(name).write_text("\n".join([*lines, "[problem.space]", space]) + "\n")
    return name


def _text(value) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {json.dumps(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize(
    ("answer", "values"),
    [
        ("1.5", [1.5]),
        ("-3", [-3.0]),
        ('{"value": 1.5}', [1.5]),
        ('{"values": [2]}', [2.0]),
        ("[2.5]", [2.5]),
        ('"inf"', [float("inf")]),
        ('{"value": "-inf"}', [float("-inf")]),
        ('{"value": 1e308, "evaluation": 1}', [1e308]),
    ],
)
def test_every_form_of_an_answer_is_read(answer, values):
    problem = program(f"print({answer!r})")
    assert as_evaluation(problem.evaluate({"x": 1.0}), problem).values == values
    problem.close()


@pytest.mark.parametrize("mode", ["study", "evaluation"])
def test_the_request_is_a_line_with_its_number_and_parameters(mode):
    problem = program("open('seen', 'a').write(line); print(0)", mode=mode)
    for x in (0.1, 0.2):
        problem.evaluate({"x": x})
    problem.close()
    assert Path("seen").read_text().splitlines() == [
        '{"evaluation":1,"parameters":{"x":0.1}}',
        '{"evaluation":2,"parameters":{"x":0.2}}',
    ]


def test_violations_and_metrics_reach_the_store():
    problem = program(
        "print(json.dumps({'values': [x, -x], 'violations': [x - 1], 'metrics': {'held': 2 * x}}))",
        sense=["min", "max"],
        constraints=1,
        metrics=["held"],
    )
    results = oa.Experiment("RandomSearch", problem, 5).run("s", workers=0)
    for row in results.points(results.studies["study"][0]):
        x = row["parameters"]["x"]
        assert row["values"] == {"1": x, "2": -x}
        assert (row["violations"], row["metrics"]) == ([x - 1], {"held": 2 * x})


FAILURES = [
    ("sys.exit(3)", "exit code 3"),
    ("print('no mesh', file=sys.stderr); print('at all', file=sys.stderr); sys.exit(3)", "exit code 3: at all"),
    ("os.kill(os.getpid(), 9)", "killed by SIGKILL"),
    ("print('hello')", "answered 'hello', which is not JSON"),
    ("print('NaN')", "which is not JSON"),
    ("print('null')", "neither a number nor an object"),
    ("print('true')", "neither a number nor an object"),
    ("print('\"n/a\"')", "answered 'n/a', which is not a number"),
    ("print('{\"vaule\": 1}')", "unknown 'vaule'. Did you mean 'value'?"),
    ("print('{\"values\": 1}')", "values and violations are lists"),
    ('print(\'{"value": 1, "evaluation": 7}\')', "answered evaluation 7, but was asked for 1"),
    ("print('{}')", "neither value and values"),
    ("os.write(1, b'1\\n2\\n')", "more than one line"),
    ("print('')", "answered nothing"),
    ("print('9' * 2_000_000)", "more than 1 MB"),
    ("print(9 ** 999)", "larger than any float"),
    ('print(\'{"error": "the mesh has collapsed"}\')', "the mesh has collapsed"),
]


@pytest.mark.parametrize("mode", ["study", "evaluation"])
@pytest.mark.parametrize(("body", "text"), FAILURES)
def test_what_goes_wrong_is_said(body, text, mode):
    if mode == "evaluation" and text == "more than one line":
        text = "not JSON"
    problem = program(body, mode=mode, seconds=10)
    with pytest.raises(CommandError) as caught:
        problem.evaluate({"x": 1.0})
    problem.close()
    assert text in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_program_that_ends_early_or_closes_its_output_has_not_answered():
    early = program("sys.exit(0)")
    with pytest.raises(CommandError, match="ended without an answer"):
        early.evaluate({"x": 1.0})
    silent = program("os.close(1); time.sleep(60)")
    with pytest.raises(CommandError, match="closed its output"):
        silent.evaluate({"x": 1.0})
    before = CommandProblem(["echo", "ready"], SPACE)
    with pytest.raises(CommandError, match=r"not JSON|before it was asked"):
        before.evaluate({"x": 1.0})
    assert not children()


def test_a_line_that_nobody_asked_for_is_not_taken_for_the_next_answer():
    late = "print(99); sys.stdout.flush(); open('said', 'w').close()"
    problem = program(f"print(x); sys.stdout.flush(); time.sleep(0.2); {late}")
    assert problem.evaluate({"x": 1.0}).values == [1.0]
    wait_for(Path("said").exists)
    with pytest.raises(CommandError, match="before it was asked"):
        problem.evaluate({"x": 2.0})
    assert problem.evaluate({"x": 3.0}).values == [3.0]
    problem.close()


@pytest.mark.parametrize("mode", ["study", "evaluation"])
def test_a_time_out_is_a_failed_evaluation_and_ends_the_whole_group(mode):
    body = "import subprocess; child = subprocess.Popen(['sleep', '61']); open('pid', 'w').write(str(child.pid))\n"
    problem = program(body + "    time.sleep(60 if x > 0 else 0); print(x)", mode=mode, seconds=5.0)
    with pytest.raises(TimeoutError, match="no answer within 5 s"):
        problem.evaluate({"x": 1.0})
    _gone(int(Path("pid").read_text()))
    assert problem.evaluate({"x": -1.0}).values == [-1.0]  # a child that holds the output open delays nothing
    problem.close()
    _gone(int(Path("pid").read_text()))
    assert not children()


def _gone(pid: int) -> None:
    def ended() -> bool:
        try:
            text = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return True
        return text.rpartition(")")[2].split()[0] == "Z"  # an orphan that nobody has waited for yet

    wait_for(ended)


def test_one_that_ignores_its_end_and_the_request_to_end_is_killed():
    problem = program("import signal; signal.signal(15, signal.SIG_IGN); print(x); sys.stdout.flush(); time.sleep(60)")
    assert problem.evaluate({"x": 1.0}).values == [1.0]
    problem.close()
    assert not children()


def test_in_mode_study_one_process_answers_all_and_a_dead_one_is_started_again():
    problem = program("sys.exit(1) if calls == 3 else print(calls)")
    results = oa.Experiment("RandomSearch", problem, 8).run("s", workers=0)
    rows = results.points(results.studies["study"][0])
    assert [row["status"] for row in rows] == ["ok", "ok", "error"] * 2 + ["ok", "ok"]
    assert [row["values"]["value"] for row in rows if row["status"] == "ok"] == [1, 2, 1, 2, 1, 2]
    assert rows[2]["message"] == "CommandError: exit code 1"


def test_check_takes_a_program_too(capsys):
    write("mine.toml")
    assert main(["check", "mine.toml"]) == 0
    assert "mine.toml: a well-behaved problem" in capsys.readouterr().out


def test_many_studies_leave_no_process_and_no_pipe_behind():
    oa.Experiment("RandomSearch", build(write("warm.toml")), 2).run("w", workers=0)
    gc.collect()  # what earlier tests left open is not ours
    before = descriptors(), children()
    for mode in ("study", "evaluation"):
        problem = build(write(f"{mode}.toml", mode=mode))
        results = oa.Experiment("RandomSearch", problem, 3, trials=12).run(f"s-{mode}", workers=0)
        assert set(results.studies["status"]) == {"done"}
        assert results.studies["failures"].sum() == 0
    del results, problem  # results keep their journals open, to read points from
    gc.collect()
    assert descriptors() <= before[0]
    assert children() == before[1]


def test_a_flood_on_stderr_and_a_large_request_block_nobody():
    space = {f"x{i}": SPACE["x"] for i in range(8000)}
    body = "sys.stderr.write('e' * 300_000); print(len(request['parameters']))".replace("x ** 2", "0")
    text = LOOP.replace('x = request["parameters"]["x"]', "pass").format(body=body)
    problem = CommandProblem([sys.executable, "-c", text], space, seconds=20)
    assert problem.evaluate(dict.fromkeys(space, 1.0 / 3)).values == [8000.0]
    problem.close()


def test_a_seed_is_passed_only_to_a_noisy_problem_and_is_the_same_again():
    write(command=[sys.executable, "-S", "-c", LOOP.format(body="print(request['seed'])")], noisy=True)
    seeds = []
    for store in ("a", "b"):
        results = oa.Experiment("RandomSearch", "mine.toml", 4, seed="0" * 31 + "1").run(store, workers=0)
        seeds.append(results.in_full().traces().values[:, 0])
    np.testing.assert_array_equal(*seeds)
    assert len(set(seeds[0])) == 4
    assert (seeds[0] == seeds[0].astype(int)).all()


def test_environment_and_directory_are_as_the_file_says():
    Path("plan/below").mkdir(parents=True)
    body = "print(len(os.getcwd()) if os.environ['MINE'] == 'yes' and 'HOME' in os.environ else -1)"
    write(
        "plan/mine.toml",
        command=[sys.executable, "-S", "-c", LOOP.format(body=body)],
        environment={"MINE": "yes"},
        directory="below",
    )
    problem = build("plan/mine.toml")
    assert problem.evaluate({"x": 0.0}).values == [len(str(Path("plan/below").resolve()))]
    problem.close()


def test_a_toml_file_is_a_problem_of_run_and_its_change_is_noticed(capsys):
    Path("plan").mkdir()
    write("plan/mine.toml", optimum=0.0)
    flags = ["run", "-o", "RandomSearch", "-p", "plan/mine.toml", "-n", "20", "--store", "s"]
    assert main(flags) == 0
    frame = oa.open("s").studies
    assert frame.select("problem", "function", "status", "failures", "optimum").rows() == [
        ("mine.toml", "mine", "done", 0, 0.0)
    ]
    Path("plan/experiment.toml").write_text('optimizers = ["RandomSearch"]\nproblems = ["mine.toml"]\nbudget = 20\n')
    assert main(["run", "plan/experiment.toml", "--store", "s"]) == 0
    assert oa.open("s").studies.height == 1
    study = frame["study"][0]
    capsys.readouterr()
    os.chdir("plan")
    assert main(["replay", "../s", study[:8]]) == 0
    os.chdir("..")
    write("plan/mine.toml", optimum=0.0, seconds=3)
    assert main(["run", "-o", "RandomSearch", "-p", "plan/mine.toml", "-n", "30", "--store", "s"]) == 2
    assert "mine.toml: its source has changed" in capsys.readouterr().err


def test_a_problem_given_as_an_experiment_is_told_apart(capsys):
    assert main(["run", write()]) == 2
    assert "mine.toml describes a problem, not an experiment: optarena run -p mine.toml" in capsys.readouterr().err


def test_a_worker_that_is_killed_takes_its_program_with_it():
    body = "open('pid', 'w').write(str(os.getpid())); time.sleep(60 if x > 3 else 0); print(x)"
    write(command=[sys.executable, "-S", "-c", LOOP.format(body=body)])
    results = oa.Experiment("RandomSearch", "mine.toml", 8, limits={"evaluation": 5.0}, seed="0" * 31 + "1").run(
        "s", workers=1
    )
    statuses = [row["status"] for row in results.points(results.studies["study"][0])]
    assert set(statuses) == {"ok", "timed out"}
    _gone(int(Path("pid").read_text()))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"command": ["./none"]}, "there is no program"),
        ({"command": ["./mine.toml"]}, "is not executable (chmod +x"),
        ({"command": ["no-such-program-anywhere"]}, "no program 'no-such-program-anywhere' is found on the PATH"),
        ({"command": [1]}, "every word must be a text"),
        ({"mode": "studdy"}, "mode: expected 'study' or 'evaluation', got 'studdy'. Did you mean 'study'?"),
        ({"seconds": 0}, "seconds: expected a number above 0"),
        ({"seconds": -1.5}, "seconds: expected a number above 0 (without it there is no limit), got -1.5"),
        ({"seconds": float("nan")}, "seconds: expected a number above 0 (without it there is no limit), got nan"),
        ({"seconds": float("inf")}, "seconds: expected a number above 0 (without it there is no limit), got inf"),
        ({"environment": {"A": 1}}, "environment: expected a table of texts"),
        ({"environment": []}, "environment: expected a table of texts"),
        ({"environment": {'"A=B"': "1"}}, "environment: a name is a text without '=' and NUL, got 'A=B'"),
        ({"environment": {'"A\\u0000"': "1"}}, "environment: a name is a text without '=' and NUL, got 'A\\x00'"),
        ({"environment": {"A": "\0"}}, "environment.A: a text without NUL is expected"),
        ({"optimum": "0"}, "optimum must be a number (a list of them), got '0'"),
        ({"optimum": True}, "optimum must be a number"),
        ({"optimum": [0.0, 1.0]}, "optimum needs a number for each objective"),
        ({"objectives": ["cost", "weight"]}, "each objective needs a sense"),
        ({"objectives": [1]}, "objectives must be a list of names, got [1]"),
        ({"metrics": 3}, "metrics must be a list of names, got 3"),
        ({"sense": 3}, "sense must be 'min', 'max' or a list of them, got 3"),
        ({"directory": "nowhere"}, "there is no directory"),
        ({"sens": "max"}, "problem.sens: no such field. Did you mean 'sense'?"),
        ({"sense": "up"}, "sense must be 'min' or 'max'"),
        ({"space": "x = { type = 'rael' }"}, "Did you mean 'real'?"),
    ],
)
def test_a_bad_file_is_one_sentence(fields, text):
    with pytest.raises(OptarenaError) as caught:
        build(write(**fields))
    assert text in str(caught.value)
    assert str(caught.value).startswith(str(Path("mine.toml").resolve()))


def test_objectives_have_the_names_that_the_file_gives():
    problem = build(write(objectives=["cost", "weight"], sense=["min", "max"], optimum=[0, 1.5]))
    assert [(each.name, each.sense) for each in problem.objectives] == [("cost", "min"), ("weight", "max")]
    assert problem.known.optimum == (0.0, 1.5)


def test_files_that_describe_no_problem_are_refused():
    with pytest.raises(OptarenaError, match="there is no file"):
        build("none.toml")
    Path("other.toml").write_text("budget = 3\n")
    with pytest.raises(OptarenaError, match=r"no table \[problem\]"):
        build("other.toml")
    for beside, text in (
        ("seconds = 3", r"seconds: there is nothing but \[problem\].*\[problem.seconds\], or a field of"),
        ("[space.x]\ntype = 'bool'", r"is it \[problem.space\]"),
        ("[limits]\nevaluation = 1", r"limits: there is nothing but \[problem\] in such a file$"),
    ):
        file = Path(write("beside.toml"))
        file.write_text(f"{beside}\n{file.read_text()}")
        with pytest.raises(OptarenaError, match=text):
            build("beside.toml")
    Path("bad.toml").write_text("[problem\n")
    with pytest.raises(OptarenaError, match="not valid TOML"):
        build("bad.toml")


# ---- the examples ----------------------------------------------------------------------------------------------------


@pytest.fixture
def examples():
    shutil.copytree(EXAMPLES, "examples")
    return Path("examples")


def test_the_example_in_shell_runs(examples):
    problem = build("examples/himmelblau.toml")
    assert problem.evaluate({"x": 3.0, "y": 2.0}).values == [0.0]
    assert problem.evaluate({"x": 0.0, "y": -1e-05}).values == pytest.approx([170.0], abs=1e-3)
    results = oa.Experiment("RandomSearch", "examples/himmelblau.toml", 10).run("s", workers=1)
    assert results.studies.select("status", "failures").rows() == [("done", 0)]


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_the_example_in_c_runs(examples):
    with pytest.raises(OptarenaError, match="there is no program"):
        build("examples/beam.toml")
    subprocess.run(["cc", "-O2", "-o", "beam", "beam.c", "-lm"], cwd=examples, check=True)
    results = oa.Experiment(["RandomSearch"], "examples/beam.toml", 200, trials=2).run("s", workers=1)
    frame = results.studies
    assert set(frame["status"]) == {"done"}
    assert frame["failures"].sum() == 0
    assert frame["best"].null_count() == 0
    row = results.points(frame["study"][0])[0]
    assert list(row["metrics"]) == ["deflection"]
    assert len(row["violations"]) == 2
