"""Optimizers that are programs: what is said to them, what they may answer, and how their studies end if they fail."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import optarena as oa
from optarena.cli import main
from optarena.errors import Exhausted, OptarenaError, SuggestionError
from optarena.formats import export
from optarena.optimizer import get_optimizer
from optarena.optimizers import command
from optarena.optimizers.command import CommandError
from optarena.space import Space
from optarena.testing import MIXED, assert_optimizer, check_optimizer
from processes import children
from waiting import wait_for

pytestmark = pytest.mark.xdist_group("processes")  # one after the other: they measure time and kill

SPACE = Space.box(-5.0, 5.0, 2)
EXAMPLES = Path(__file__).parents[1] / "examples" / "optimizers"
PROGRAM = """
import json, os, random, sys, time

{first}
def answer(**fields):
    print(json.dumps(dict(id=request["id"], **fields)), flush=True)

for line in sys.stdin:
    request = json.loads(line)
    call = request["call"]
    {body}
    if call == "hello":
        answer(protocol=1, name="mine", version="1.2", capabilities={capabilities!r})
    elif call == "start":
        source, ranges = random.Random(request["seed"]), [each["range"] for each in request["space"]]
        settings = request["settings"]
        answer()
    elif call == "suggest":
        answer(points=[[source.uniform(*ends) for ends in ranges] for _ in range(request["n"])])
    elif call == "observe":
        answer()
"""


def write(name="mine.toml", *, body="pass", first="", capabilities=None, text=None, more="", **fields) -> str:
    """A manifest beside its program, which does this with each request before it answers it."""
    can = {"mixed": False} if capabilities is None else capabilities
    program = Path(name).with_suffix(".py")
    program.write_text(text or PROGRAM.format(first=first, body=body, capabilities=can))
    fields = {"command": [sys.executable, "-S", program.name], **fields}
    lines = ["[optimizer]", *(f"{key} = {json.dumps(value)}" for key, value in fields.items()), more]
    Path(name).write_text("\n".join(lines) + "\n")
    return name


def made(name="mine.toml", space=SPACE, seed=1, **fields):
    return get_optimizer(name)(space, rng=np.random.default_rng(seed), **fields)


def run(optimizers, problem="functions/sphere/d2", budget=6, store="s", **fields):
    workers = fields.pop("workers", 0)
    return oa.Experiment(optimizers, problem, budget, seed=7, **fields).run(store, workers=workers)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


# ---- what is said ---------------------------------------------------------------------------------------------------


def test_a_study_is_a_conversation_of_single_lines():
    write(body="open('seen', 'a').write(line)", more="[optimizer.settings]\nwidth = 0.5\nway = 'far'")
    made()  # which asks what it can do
    Path("seen").unlink()
    optimizer = made(width=2.0)
    X = optimizer.suggest(2)
    optimizer.observe(X, np.array([[1.5], [np.nan]]))
    optimizer.observe(np.array([[0.0, 1.0]]), np.array([[-np.inf]]))
    optimizer.close()
    lines = [json.loads(line) for line in Path("seen").read_text().splitlines()]
    seed = lines[1].pop("seed")
    assert 0 <= seed < 2**31
    range_ = {"type": "real", "space": "linear", "range": [-5.0, 5.0]}
    assert lines == [
        {"id": 1, "call": "hello", "protocol": 1, "optarena": oa.__version__},
        {
            "id": 2, "call": "start", "space": [{"name": "x1", **range_}, {"name": "x2", **range_}], "objectives": 1,
            "budget": None, "settings": {"width": 2.0, "way": "far"},
        },
        {"id": 3, "call": "suggest", "n": 2},
        {"id": 4, "call": "observe", "points": X.tolist(), "values": [[1.5], ["nan"]]},
        {"id": 5, "call": "observe", "points": [[0.0, 1.0]], "values": [["-inf"]]},
        {"id": 6, "call": "close"},
    ]  # fmt: skip
    assert Path("seen").read_text().startswith('{"id":1,"call":"hello","protocol":1,')
    assert not children()


def test_budget_violations_and_objectives_are_told_to_those_who_want_them():
    can = {"uses_budget": True, "constraints": True, "several_objectives": True, "batch": False, "unsuggested": False}
    write(body="open('seen', 'a').write(line)", capabilities=can)
    found = get_optimizer("mine.toml").capabilities
    assert {key: getattr(found, key) for key in can} == can
    optimizer = made(objectives=2, budget=30)
    optimizer.observe(optimizer.suggest(1), np.array([[1.0, 2.0]]), np.array([[-1.0]]))
    optimizer.close()
    lines = [json.loads(line) for line in Path("seen").read_text().splitlines()]
    start = next(line for line in lines if line["call"] == "start")
    assert (start["objectives"], start["budget"]) == (2, 30)
    observed = next(line for line in lines if line["call"] == "observe")
    assert (observed["values"], observed["violations"]) == ([[1.0, 2.0]], [[-1.0]])


def test_values_of_every_type_go_back_and_forth():
    points = [[0.5, 3.0, "b", True, 10], [0.25, 4, "a", False, 100]]
    space = Space(
        {
            "x": {"type": "real", "space": "linear", "range": [0, 1]},
            "i": {"type": "int", "space": "linear", "range": [1, 9]},
            "c": {"type": "cat", "values": ["a", "b"]},
            "flag": {"type": "bool"},
            "v": {"type": "int", "space": "log", "values": [10, 100]},
        }
    )
    say = f"answer(points={points!r}) if call == 'suggest' else answer()"
    text = PROGRAM.format(first="", body="open('seen', 'w').write(line)", capabilities={}).replace(
        "source, ranges = random.Random(request[\"seed\"]), [each[\"range\"] for each in request[\"space\"]]", "pass"
    )  # fmt: skip
    text = text.replace('answer(points=[[source.uniform(*ends) for ends in ranges] for _ in range(request["n"])])', say)
    write(text=text)
    optimizer = made(space=space)
    X = optimizer.suggest(2)
    assert space.to_rows(X) == [[0.5, 3, "b", True, 10], [0.25, 4, "a", False, 100]]
    optimizer.observe(X, np.array([[1.0], [2.0]]))
    assert json.loads(Path("seen").read_text())["points"] == space.to_rows(X)
    optimizer.close()


def test_nothing_more_to_suggest_ends_a_study_early():
    body = "if call == 'suggest' and request['id'] > 6: answer(exhausted='converged'); continue"
    write(body=body)
    optimizer = made()
    for _ in range(2):
        optimizer.observe(optimizer.suggest(1), np.array([[1.0]]))
    with pytest.raises(Exhausted, match="converged"):
        optimizer.suggest(1)
    optimizer.close()
    frame = run(["mine.toml"]).studies
    assert frame.select("status", "evaluations", "reason").rows() == [("stopped early", 2, "converged")]


def test_lines_that_a_library_prints_are_skipped():
    write(body="print('loading …'); print('[1] 3'); print()")
    frame = run(["mine.toml"]).studies
    assert frame["status"].to_list() == ["done"]


# ---- what goes wrong ------------------------------------------------------------------------------------------------

WRONG = [
    ("if call == 'suggest': sys.exit(3)", "suggest: CommandError: exit code 3"),
    ("if call == 'suggest': print('a', file=sys.stderr); print('no mesh', file=sys.stderr); sys.exit(3)", "no mesh"),
    ("if call == 'observe': sys.exit(0)", "observe: CommandError: ended without an answer"),
    ("if call == 'suggest': os.kill(os.getpid(), 9)", "killed by SIGKILL"),
    ("if call == 'start': os.close(1); time.sleep(60)", "start: closed its output without an answer"),
    ("if call == 'suggest': time.sleep(60)", "suggest: TimeoutError: no answer within 2 s"),
    ("if call == 'suggest': print('%', flush=True); time.sleep(60)", "it also wrote '%', which is no answer"),
    (
        "if call == 'suggest':\n        while True: print('garbage')",
        "lines that are no answers (it also wrote 'garbage'",
    ),
    (
        "if call == 'suggest':\n        while True: os.write(1, b'x' * 60000)",
        "answered with more than 64 MB, beginning",
    ),
    ("if call == 'suggest': print('{\"id\": 3', flush=True); continue", "which is not JSON"),
    ("if call == 'suggest': print('{' * 100000, flush=True); continue", "which is not JSON"),
    ("if call == 'suggest': print('{\"points\": []}', flush=True); continue", "lacks the id of the request, 3"),
    ("if call == 'suggest': request['id'] = 2", "lacks the id of the request, 3"),
    ("if call == 'suggest': answer(points=[[0, 0]])", "observe: CommandError: "),
    ("if call == 'suggest': request['id'] = 2; answer(name='again'); continue", "lacks the id of the request, 3"),
    ("if call == 'suggest': answer(exhausted=False); continue", "exhausted must be a text that says why, got 'False'"),
    ("if call == 'suggest': answer(point=[[0, 0]]); continue", "unknown 'point'. Did you mean 'points'?"),
    ("if call == 'suggest': answer(); continue", "the answer has no list of points"),
    ("if call == 'suggest': answer(points=[]); continue", "suggest(1) returned 0 points"),
    ("if call == 'suggest': answer(points=[[0, 99]]); continue", "point 0: x2 = 99 is outside ["),
    ("if call == 'suggest': answer(points=[[0, '1']]); continue", "point 0: x2 = '1' is not a number"),
    ("if call == 'suggest': answer(points=[[0]]); continue", "point 0 is not a list of 2 values but '[0]'"),
    ("if call == 'suggest': answer(points=[{'x1': 0, 'x2': 0}]); continue", "is not a list of 2 values"),
    (
        "if call == 'observe': answer(error='the model is singular'); continue",
        "observe: CommandError: the model is singular",
    ),
    ("if call == 'hello': answer(protocol=2); continue", "hello: it speaks protocol '2', expected 1"),
    ("if call == 'hello': answer(protocol=1, capabilities={'bacth': True}); continue", "Did you mean 'batch'?"),
    ("if call == 'hello': answer(protocol=1, capabilities={'batch': 1}); continue", "batch must be true or false"),
    ("if call == 'hello': answer(protocol=1, version=2); continue", "name and version must be texts"),
    ("if call == 'hello': answer(protocol=1, capabilities={'one_objective': False}); continue", "neither one"),
]


@pytest.mark.parametrize(("body", "reason"), WRONG)
def test_the_study_fails_with_the_reason_and_the_others_go_on(body, reason):
    write(body=body, seconds=2)
    frame = run(["mine.toml", "RandomSearch"], batch=1).studies.sort("optimizer")
    assert frame["status"].to_list() == ["done", "failed"]
    assert reason in frame["reason"][1]
    assert len(frame["reason"][1]) < 1000
    assert not children()


@pytest.mark.parametrize("body", ["sys.exit(4)", "time.sleep(600)", "print('{hello')", "os.close(1)"])
def test_one_that_never_says_hello_fails_its_studies_only(body):
    write(first=body, seconds=2)
    frame = run(["mine.toml", "RandomSearch"], trials=2, workers=1).studies.sort("optimizer")
    assert frame["optimizer"].to_list() == ["RandomSearch"] * 2 + ["mine"] * 2
    assert frame["status"].to_list() == ["done"] * 2 + ["failed"] * 2
    assert all(reason.startswith("creating the optimizer: CommandError: hello: ") for reason in frame["reason"][2:])


def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next():
    late = "print(json.dumps({'id': 5, 'points': [[0, 0]]}), flush=True); open('said', 'w').close()"
    text = PROGRAM.format(first="", body="pass", capabilities={"mixed": False})
    write(text=text + f"        time.sleep(0.1); {late}\n")
    optimizer = made()
    optimizer.observe(optimizer.suggest(1), np.array([[1.0]]))
    wait_for(Path("said").exists)
    with pytest.raises(CommandError, match="before it was asked"):
        optimizer.suggest(1)
    with pytest.raises(CommandError, match="it has ended"):
        optimizer.suggest(1)
    optimizer.close()


def test_floods_on_stderr_and_large_lines_block_nobody():
    write(body="sys.stderr.write('e' * 300_000)")
    optimizer = made(space=Space.box(0.0, 1.0, 2000))
    X = optimizer.suggest(50)
    assert X.shape == (50, 2000)
    optimizer.observe(X, np.ones((50, 1)))
    optimizer.close()


def test_what_it_started_ends_with_it():
    fork = "import subprocess; open('pid', 'w').write(str(subprocess.Popen(['sleep', '600']).pid))"
    write(body=f"if call == 'start': {fork}")
    optimizer = made()
    optimizer.suggest(1)
    optimizer.close()
    wait_for(lambda: gone(int(Path("pid").read_text())))
    assert not children()


def test_what_leaves_its_group_is_ended_by_the_supervisor():
    fork = "import subprocess; child = subprocess.Popen(['sleep', '600'], start_new_session=True)"
    write(body=f"if call == 'start': {fork}; open('pid', 'w').write(str(child.pid))")
    frame = run(["mine.toml", "RandomSearch"], workers=1).studies
    assert frame["status"].to_list() == ["done", "done"]
    wait_for(lambda: gone(int(Path("pid").read_text())))


def test_one_that_ignores_its_end_is_killed_and_its_study_counts():
    write(body="if call == 'close': import signal; signal.signal(15, signal.SIG_IGN); time.sleep(600)")
    assert run(["mine.toml"]).studies["status"].to_list() == ["done"]
    assert not children()


def test_many_studies_leave_no_process_and_no_pipe_behind():
    write()
    run(["mine.toml"], store="w")
    gc.collect()
    before = len(list(Path("/proc/self/fd").iterdir()))
    results = run(["mine.toml"], trials=8)
    assert set(results.studies["status"]) == {"done"}
    del results
    gc.collect()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
    assert not children()


def test_capabilities_that_change_from_one_start_to_the_next_are_noticed():
    text = PROGRAM.format(first="", body="pass", capabilities={"mixed": False})
    count = "open('starts', 'a').write('x'); n = os.path.getsize('starts')\n"
    write(text=text.replace("for line", f"{count}for line").replace("{'mixed': False}", "{'batch': n > 1}"))
    with pytest.raises(CommandError, match="something else than when the study was planned"):
        made()


# ---- manifests ------------------------------------------------------------------------------------------------------


def test_a_manifest_is_an_optimizer_of_run_of_experiments_and_of_replay(capsys):
    Path("plan").mkdir()
    write("plan/mine.toml", more="[optimizer.settings]\nwidth = 0.5")
    flags = ["run", "-p", "functions/sphere/d2", "-n", "8", "--seed", "1", "--store", "s"]
    assert main([*flags, "-o", "plan/mine.toml", "-o", "plan/mine.toml(width=2.0)", "--workers", "1"]) == 0
    frame = oa.open("s").studies.sort("optimizer")
    assert frame["optimizer"].to_list() == ["mine", "mine(width=2.0)"]
    assert frame["status"].to_list() == ["done", "done"]
    Path("plan/experiment.toml").write_text(
        'optimizers = [{ use = "mine.toml", settings = { width = 2.0 }, name = "wide" }, "mine.toml"]\n'
        'problems = ["functions/sphere/d2"]\nbudget = 8\n'
    )
    assert main(["run", "plan/experiment.toml", "--store", "t", "--workers", "0"]) == 0
    assert set(oa.open("t").studies["optimizer"]) == {"wide", "mine"}
    capsys.readouterr()
    os.chdir("plan")
    assert main(["replay", "../s", frame["study"][0][:8]]) == 0
    os.chdir("..")
    (start,) = {json.dumps(attempt.start.versions) for attempt in oa.open("s").attempts}
    assert start == '{"mine": "mine 1.2"}'


def test_a_study_continues_where_it_was_left():
    write()
    run(["mine.toml"], budget=5)
    twice = run(["mine.toml"], budget=12)
    once = run(["mine.toml"], budget=12, store="t")
    points = [[row["parameters"] for row in each.points(each.studies["study"][0])] for each in (twice, once)]
    assert points[0] == points[1]
    assert len(points[0]) == 12
    assert twice.studies["attempt"].to_list() == [0]


def test_a_worker_that_is_killed_takes_its_program_with_it_and_the_study_goes_on():
    once = "not os.path.exists('killed')"
    kill = "open('killed', 'w').write(str(os.getpid())); os.kill(os.getppid(), 9)"
    write(body=f"if call == 'suggest' and request['id'] == 9 and {once}: {kill}; time.sleep(600)")
    killed = run(["mine.toml"], budget=10, workers=1)
    assert killed.studies.select("status", "evaluations", "attempt").rows() == [("done", 10, 0)]
    wait_for(lambda: gone(int(Path("killed").read_text())))
    undisturbed = run(["mine.toml"], budget=10, store="t", workers=1)
    points = [[row["parameters"] for row in each.points(each.studies["study"][0])] for each in (killed, undisturbed)]
    assert points[0] == points[1]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")
def test_what_loops_ends_with_a_supervisor_that_is_killed():
    loop = "child = __import__('subprocess').Popen(['sleep', '600'], start_new_session=True)"
    write(body=f"if call == 'start': {loop}; open('pids', 'w').write(f'{{os.getpid()}} {{child.pid}}')")
    text = (
        Path("mine.py").read_text().replace('elif call == "suggest":', 'elif call == "suggest":\n        while 1: pass')
    )
    Path("mine.py").write_text(text)
    command = [sys.executable, "-m", "optarena", "run", "-o", "mine.toml", "-p", "functions/sphere/d2", "-n", "3"]
    process = subprocess.Popen([*command, "--store", "s"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: Path("pids").exists() and len(Path("pids").read_text().split()) == 2)
    process.kill()
    process.wait()
    for pid in map(int, Path("pids").read_text().split()):
        wait_for(lambda pid=pid: gone(pid))


def test_one_that_hangs_at_hello_is_waited_for_once_by_each_process(capsys, monkeypatch):
    monkeypatch.setattr(command, "SLOW_SECONDS", 0.05)
    write(body="open('starts', 'a').write('x'); time.sleep(600)", seconds=1)
    assert set(run(["mine.toml"], trials=4, workers=1).studies["status"]) == {"failed"}
    assert Path("starts").read_text() == "xx", "once for the plan, once in the worker"
    assert capsys.readouterr().err.startswith("mine.toml: waiting for its answer to hello")


@pytest.mark.parametrize("call", ["start", "suggest", "observe"])
def test_what_a_failed_call_has_cost_is_charged(call):
    write(body=f"if call == {call!r}: answer(error='too dear', cost={{'tokens': 7}}); continue")
    results = run(["mine.toml"])
    assert results.studies["status"].to_list() == ["failed"]
    assert "too dear" in results.studies["reason"][0]
    assert results.efforts_at_end("cost.tokens").tolist() == [7.0]


def test_one_that_does_not_repeat_is_seen_by_replay_and_by_check(capsys):
    write(body="if call == 'start': request['seed'] = time.time_ns()")
    results = run(["mine.toml"])
    assert main(["replay", "s", results.studies["study"][0][:8]]) == 1
    assert "the study is not repeatable" in " ".join(capsys.readouterr().out.split())
    run(["mine.toml"], budget=9)
    assert oa.open("s").studies["attempt"].to_list() == [1], "another attempt: the first could not be continued"
    assert main(["check", "mine.toml"]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "mine.toml: two runs with the same seed differ" in printed
    assert "Draw all randomness from the seed of start" in printed


def test_a_replay_whose_program_fails_says_why(capsys):
    results = run([write()])
    write(body="sys.exit('the licence has run out')")
    assert main(["replay", "s", results.studies["study"][0]]) == 1
    assert "the licence has run out" in " ".join(capsys.readouterr().out.split())


def test_a_study_of_a_program_that_hides_its_randomness_is_marked_as_not_repeatable(capsys):
    write(body="if call == 'start': request['seed'] = time.time_ns()")
    run(["mine.toml", "RandomSearch"], trials=2)
    assert not [note for note in oa.open("s").notes() if "repeatable" in note], "nobody has asked it again yet"
    run(["mine.toml", "RandomSearch"], budget=9, trials=2)
    note = "not repeatable: 2 studies of mine did not suggest or evaluate again what was recorded"
    for words in (["status", "s"], ["score", "s"], ["compare", "s", "--details"]):
        capsys.readouterr()
        assert main(words) == 0
        assert note in " ".join(capsys.readouterr().out.split())
    assert main(["report", "s", "-O", "r.html"]) == 0
    assert note.capitalize() in Path("r.html").read_text()
    run(["mine.toml", "RandomSearch"], budget=12, trials=2)
    failed, _ = oa.open("s").studies.filter(optimizer="mine").select("status", "reason").rows()
    assert failed[0] == "failed"
    assert failed[1].startswith("not repeatable: evaluation 1: suggested")


def test_replay_proves_that_a_study_of_a_program_repeats(capsys):
    results = run([write(), "RandomSearch"])
    for study in results.studies["study"]:
        assert main(["replay", "s", study]) == 0
    assert not capsys.readouterr().err


def test_killed_in_the_middle_and_continued_the_export_is_the_same():
    slow = "if call == 'suggest' and not os.path.exists('quick'): time.sleep(0.05)"
    text = PROGRAM.format(first="", body=slow, capabilities={"mixed": False})
    write(text=text.replace("answer(points=", "answer(cost={'tokens': len(line), 'money': 0.1}, points="))
    code = "from optarena.cli import main; raise SystemExit(main())"
    flags = ["-o", "mine.toml", "-p", "functions/sphere/d2", "-n", "60", "-r", "2", "--seed", "7", "--workers", "2"]
    process = subprocess.Popen([sys.executable, "-c", code, "run", *flags, "--store", "s"], stdout=subprocess.DEVNULL)
    wait_for(lambda: Path("s").exists() and (oa.open("s").studies["evaluations"].sum() or 0) >= 10)
    process.kill()
    process.wait()
    wait_for(lambda: set(oa.open("s").studies["status"]) == {"interrupted"})
    Path("quick").touch()
    exports = []
    for store in ("s", "whole"):
        assert main(["run", *flags, "--store", store]) == 0
        results = oa.open(store)
        assert results.studies.select("status", "evaluations", "attempt").unique().rows() == [("done", 60, 0)]
        export("csv", results, f"{store}.csv")
        exports.append(pl.read_csv(f"{store}.csv").drop("seconds"))
    assert exports[0].equals(exports[1])
    assert exports[0]["effort.cost.tokens"].max() > 60 * 20


@pytest.mark.parametrize("changed", ["mine.toml", "mine.py", "data.txt"])
def test_a_change_of_its_files_is_noticed(changed, capsys):
    Path("data.txt").write_text("1")
    write(files=["mine.py", "data.txt"])
    run(["mine.toml"])
    Path("unlisted.txt").write_text("1")
    run(["mine.toml"], budget=7)
    Path(changed).write_text(Path(changed).read_text() + "# more\n")
    with pytest.raises(OptarenaError, match=r"mine.toml: its source has changed"):
        run(["mine.toml"], budget=8)


def test_a_word_of_the_command_may_be_longer_than_a_files_name():
    write()
    text = Path("mine.toml").read_text().replace('"mine.py"', f'"mine.py", "{"x" * 5000}"', 1)
    Path("mine.toml").write_text(text)
    assert run(["mine.toml"]).studies["status"].to_list() == ["done"]


def test_without_a_list_the_files_in_the_command_belong_to_it():
    write()
    run(["mine.toml"])
    Path("mine.py").write_text(Path("mine.py").read_text() + "# more\n")
    with pytest.raises(OptarenaError, match=r"mine.toml: its source has changed"):
        run(["mine.toml"], budget=8)


def test_the_file_of_a_class_behind_the_shim_belongs_to_it():
    for name in ("optarena_shim.py", "hill.py", "hill.toml"):
        Path(name).write_text((EXAMPLES / name).read_text())
    run(["hill.toml"])
    Path("hill.py").write_text(Path("hill.py").read_text() + "# more\n")
    with pytest.raises(OptarenaError, match=r"hill.toml: its source has changed"):
        run(["hill.toml"], budget=8)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"command": ["./none"]}, "there is no program"),
        ({"command": "./mine"}, "command: expected a list such as ['./mine', '--fast'], got './mine'"),
        ({"command": ["no-such-program-anywhere"]}, "no program 'no-such-program-anywhere' is found on the PATH"),
        ({"seconds": 0}, "seconds: expected a number above 0"),
        ({"seconds": True}, "seconds: expected a number above 0"),
        ({"files": "mine.py"}, "files: expected a list of files"),
        ({"files": ["none.py"]}, "files: there is no file"),
        ({"comand": ["./mine"]}, "optimizer.comand: no such field. Did you mean 'command'?"),
        ({"more": "[optimizer.settings]\nwidth = [1]"}, "settings.width: a default is a number, a text, true or false"),
        ({"more": "[machine]\ncores = 3"}, "machine: there is nothing but [optimizer] and [environment]"),
        ({"more": "[settings]\nwidth = 1"}, "is it [optimizer.settings]"),
    ],
)
def test_a_bad_file_is_one_sentence(fields, text):
    write(**fields)
    with pytest.raises(OptarenaError) as caught:
        get_optimizer("mine.toml")
    assert text in str(caught.value)
    assert str(caught.value).startswith(str(Path("mine.toml").resolve()))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["self", "space", "objectives", "rng", "budget"])
def test_what_every_optimizer_is_made_with_is_no_name_of_a_setting(name):
    write()
    with Path("mine.toml").open("a") as file:
        file.write(f"\n[optimizer.settings]\n{name} = 3\n")
    with pytest.raises(OptarenaError, match=f"mine.toml: settings.{name}: the name is reserved"):
        get_optimizer("mine.toml")


def test_other_files_and_other_settings_are_refused(capsys):
    with pytest.raises(OptarenaError, match="there is no file"):
        run(["none.toml"])
    Path("other.toml").write_text("[problem]\ncommand = ['./x']\n")
    with pytest.raises(OptarenaError, match=r"of an optimizer: \[optimizer\]"):
        run(["other.toml"])
    write()
    assert main(["run", "mine.toml"]) == 2
    assert "mine.toml describes an optimizer, not an experiment: optarena run -o mine.toml" in capsys.readouterr().err
    assert main(["run", "-s", "mine.toml", "-p", "tsp/*", "--seconds", "1"]) == 2
    assert "mine.toml describes an optimizer, not a solver: -o mine.toml" in capsys.readouterr().err
    with pytest.raises(OptarenaError, match="has no setting 'width'"):
        run([oa.use("mine.toml", width=1.0)])
    write("set.toml", more="[optimizer.settings]\nwidth = 0.5")
    with pytest.raises(OptarenaError, match="width must be a number"):
        run([oa.use("set.toml", width="far")])
    refused = oa.Experiment("mine.toml", "functions/mixed-tuning", 5).plan().refused
    assert "takes real parameters only" in refused[0].reason


def test_the_whole_kit_runs_on_a_program(capsys):
    write()
    assert_optimizer("mine.toml")
    assert main(["check", "mine.toml"]) == 0
    assert "mine.toml: a well-behaved optimizer" in capsys.readouterr().out
    write("stays.toml", body="if call == 'close': time.sleep(600)")
    assert [(each.check, each.problem) for each in check_optimizer("stays.toml", rounds=1)] == [
        ("a program ends when it is closed", "it had to be killed after its input ended")
    ]
    write("other.toml", body="if call == 'observe' and 'nan' in line: sys.exit(3)")
    (finding,) = {(each.check, each.problem, each.place, each.traceback) for each in check_optimizer("other.toml")}
    assert finding == ("failed evaluations are survived", "raised CommandError: exit code 3", "other.toml", "")


def test_points_outside_are_refused_where_they_enter():
    write(
        capabilities={}, body="if call == 'start': answer(); continue\n    if call == 'suggest': answer(points=[[1]])"
    )
    optimizer = made(space=MIXED)
    with pytest.raises(SuggestionError, match=r"point 0 is not a list of"):
        optimizer.suggest(1)
    optimizer.close()
