"""Programs that speak lines: what is heard of them, and what is left of them."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from optarena.children import Child, TooLong, signal_name
from waiting import wait_for


def start(text: str, *, listens: bool = True, longest: int = 1 << 20) -> Child:
    return Child([sys.executable, "-S", "-u", "-c", text], listens=listens, longest=longest)


def listen(child: Child) -> list[bytes]:
    """All its lines, to its end."""
    out = []
    while not child.quiet:
        child.look(1.0)
        while (line := child.line()) is not None:
            out.append(line)
    return out


def test_lines_come_whole_and_what_follows_the_last_is_the_rest():
    child = start("import sys; sys.stdout.write('one\\ntwo\\n\\nthr'); sys.stdout.flush(); sys.stdout.write('ee')")
    assert listen(child) == [b"one", b"two", b""]
    assert child.rest() == b"three"
    assert (child.code(), child.death()) == (0, "")
    child.kill()


def test_what_is_said_is_given_also_where_it_does_not_fit_a_pipe():
    child = start("import sys; print(len(sys.stdin.read()))")
    child.say(b"x" * 1_000_000)
    child.look(0.01)
    child.say(b"y" * 1_000_000, last=True)
    assert listen(child) == [b"2000000"]
    child.kill()


def test_a_line_of_any_length_is_heard_up_to_the_limit():
    child = start("print('x' * 3_000_000)", longest=1 << 22)
    assert [len(line) for line in listen(child)] == [3_000_000]
    child.kill()
    child = start("print('x' * 3_000_000)")
    with pytest.raises(TooLong, match="more than 1 MB"):
        listen(child)
    assert child.heard.startswith(b"xxx")
    child.kill()


def test_an_output_that_a_grandchild_holds_open_ends_with_the_child():
    child = start("import subprocess; print(1); subprocess.Popen(['sleep', '60'])")
    assert listen(child) == [b"1"]
    child.kill()


def test_the_last_line_of_stderr_is_kept_after_any_flood():
    child = start("import sys; sys.stderr.write('e' * 1_000_000 + '\\nno mesh\\n\\n'); sys.exit(3)", listens=False)
    assert listen(child) == []
    child.wait(None)
    assert (child.last_line(), child.death()) == ("no mesh", "exit code 3")
    child.kill()


def test_one_that_ends_with_its_input_is_not_killed():
    child = start("import sys; sys.stdin.read(); open('ended', 'w').close()")
    child.end()
    assert child.code() == 0
    assert Path("ended").exists()


def test_one_that_ignores_everything_is_killed_with_what_it_started():
    text = (
        "import signal, subprocess, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        " print(subprocess.Popen(['sleep', '60']).pid); time.sleep(60)"
    )
    child = start(text)
    while (line := child.line()) is None:
        child.look(1.0)
    child.end(now=True)
    assert child.code() == -signal.SIGKILL
    assert child.death() == signal_name(signal.SIGKILL) == "SIGKILL"
    grandchild = int(line)
    wait_for(lambda: not _alive(grandchild))


def test_no_pipe_stays_open():
    before = _open_files()
    for listens in (True, False):
        child = start("print(1)", listens=listens)
        listen(child)
        child.kill()
    assert _open_files() == before


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's death")
def test_one_that_does_not_listen_dies_with_us():
    text = (
        "from optarena.children import Child\n"
        "child = Child(['sleep', '60'], listens=False, longest=1)\n"
        "print(child._popen.pid, flush=True)\n"
        "import os; os.kill(os.getpid(), 9)\n"
    )
    parent = Child([sys.executable, "-c", text], listens=True, longest=1 << 20)
    (line,) = listen(parent)
    parent.wait(None)
    wait_for(lambda: not _alive(int(line)))
    parent.kill()


def _open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_waiting_has_an_end():
    child = start("import time; time.sleep(600)")
    assert not child.wait(0.05)
    child.kill()
