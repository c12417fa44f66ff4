"""Programs of the tests that start warm: forked from one process that has imported what every command imports.

A page of the docs types five commands, and importing NumPy, Polars and SciPy takes each of them longer than its work.
`python tests/warm.py SOCKET` imports them once; `client` writes programs that ask it for a fork: with their words,
directory, environment and standard streams, so the fork is the program in all that its reader can see. A command that
is killed, or whose process id matters, needs the real one.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import functools
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

CLIENT = """#!{python} -IS
import array, json, os, signal, socket, sys
door = socket.socket(socket.AF_UNIX)
door.connect({socket!r})
asked = json.dumps([{target!r}, sys.argv, os.getcwd(), dict(os.environ)]).encode()
streams = socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2])
door.sendmsg([len(asked).to_bytes(8, "little")], [streams])
door.sendall(asked)
pid = int.from_bytes(door.recv(8), "little")
for sign in (signal.SIGINT, signal.SIGTERM):
    signal.signal(sign, lambda sign, _: os.kill(pid, sign))
said = door.recv(8)
sys.exit(int.from_bytes(said, "little") if said else 1)
"""


def client(file: Path, target: str) -> None:
    """Write a program that runs `module:function`, or a file of Python given as `python FILE WORDS`, in a warm fork."""
    file.write_text(CLIENT.format(python=sys.executable, socket=_server(), target=target))
    file.chmod(0o755)


@functools.cache
def _server() -> str:
    """The address of this process's warm interpreter, which is no child of it, and ends with it."""
    address = f"{tempfile.mkdtemp(prefix='warm-')}/door"
    end, _held = os.pipe()
    subprocess.run([sys.executable, __file__, address], stdin=end, stdout=subprocess.DEVNULL, check=True)
    os.close(end)
    return address


def main(address: str) -> None:
    """In a process of its own, wait for programs to run until the standard input ends, which it does with the tests."""
    sys.path[0] = str(Path(__file__).parents[1] / "src")
    for name in (
        "optarena.cli",
        "optarena.experiment",
        "scipy.stats",
        "rich.progress",
        "rich.table",
    ):  # Polars has threads
        __import__(name)
    if (threads := Path("/proc/self/task")).is_dir():
        assert len(list(threads.iterdir())) == 1, "only a process without threads can be forked"
    door = socket.socket(socket.AF_UNIX)
    door.bind(address)
    door.listen(16)
    if os.fork():
        return
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    end = os.dup(0)
    while True:
        ready, _, _ = select.select([door, end], [], [])
        if end in ready:
            return
        asker, _ = door.accept()
        if os.fork() == 0:
            door.close()
            os.close(end)
            _attend(asker)
        asker.close()


def _attend(asker: socket.socket) -> None:
    """In a fork: run the program in a fork of its own, and tell its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, ancillary, _, _ = asker.recvmsg(8, socket.CMSG_SPACE(12))
    streams = array.array("i")
    streams.frombytes(ancillary[0][2])
    asked = b""
    while len(asked) < int.from_bytes(size, "little"):
        asked += asker.recv(1 << 16)
    pid = os.fork()
    if pid == 0:
        asker.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        _run(*json.loads(asked))
    for stream in streams:
        os.close(stream)
    asker.sendall(pid.to_bytes(8, "little"))
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    with contextlib.suppress(OSError):
        asker.sendall((code if code >= 0 else 128 - code).to_bytes(8, "little"))
    os._exit(0)


def _run(target: str, words: list[str], directory: str, environment: dict[str, str]) -> None:
    """In the program's process: become it, and end with its exit code."""
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = words
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace")
    code: object = 1
    try:
        module, _, function = target.partition(":")
        if function:
            sys.exit(getattr(__import__(module, fromlist=[function]), function)())
        else:
            sys.argv = words[1:]
            runpy.run_path(words[1], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code
        if isinstance(code, str):
            print(code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    main(sys.argv[1])
