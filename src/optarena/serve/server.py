"""Starts the server: a socket, the guard that knows its port, the hub, and uvicorn."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from optarena.errors import OptarenaError
from optarena.serve.guard import Guard, is_loopback
from optarena.store import Store

if TYPE_CHECKING:
    from optarena.serve.hub import Hub

PORT = 8770
"""The usual one; the next that is free where it is taken."""
TRIED = 20
NICE = 10
"""A run on the same machine comes first, as soon as the first numbers can be shown."""
SPARE = 100
"""Connections beside those of open pages; more are refused."""
LAST_SECONDS = 5.0
"""Pages have so long to read how it ended."""

FD, TOKEN, RUN = "OPTARENA_SERVE_FD", "OPTARENA_SERVE_TOKEN", "OPTARENA_SERVE_RUN"
"""How a run tells the server that it starts which socket and which token to use, and with which process to end."""


def serve(
    paths: Sequence[str | Path],
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    ready: Callable[[Guard], None] = lambda _: None,
) -> None:
    """Serve stores until the process is interrupted. ready: called with the address once it can be opened."""
    for path in paths:
        Store(path).must_exist()
    listening = _listen(host, port)
    guard = Guard(host, listening.getsockname()[1])
    ready(guard)
    _serve(paths, guard, listening, shown=_step_back)


def serve_beside(path: str | Path) -> tuple[Guard, subprocess.Popen[bytes]]:
    """Serve a store, which need not exist yet, in a process of its own; it ends with this one."""
    with _listen("127.0.0.1", None) as listening:
        guard = Guard("127.0.0.1", listening.getsockname()[1])
        fd = listening.fileno()
        process = subprocess.Popen(
            [sys.executable, "-m", "optarena.serve.server", str(path)],
            env={**os.environ, FD: str(fd), TOKEN: guard.token, RUN: str(os.getpid()), "POLARS_MAX_THREADS": "1"},
            pass_fds=[fd],
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the run
        )
    return guard, process


def _beside(paths: Sequence[str]) -> None:
    """What the process does that a run started."""
    parent = int(os.environ.pop(RUN))  # not getppid(): it may be gone already
    listening = socket.socket(fileno=int(os.environ.pop(FD)))
    guard = Guard("127.0.0.1", listening.getsockname()[1], os.environ.pop(TOKEN))

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        with contextlib.suppress(OSError):
            os.kill(os.getpid(), signal.SIGTERM)  # it looks once more, and says so to its pages
        time.sleep(2 * LAST_SECONDS)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    _step_back()
    _serve(paths, guard, listening, last=LAST_SECONDS)


def _step_back() -> None:
    """Let a run on the same machine come first, before all threads that this process has or starts."""
    with contextlib.suppress(OSError):
        tasks = [int(one.name) for one in Path("/proc/self/task").iterdir()] if sys.platform == "linux" else [0]
        for task in tasks:  # on Linux each thread has a priority of its own
            with contextlib.suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, task, NICE)


def _serve(
    paths: Sequence[str | Path],
    guard: Guard,
    listening: socket.socket,
    shown: Callable[[], None] = lambda: None,
    last: float = 0.0,
) -> None:
    """last: so long pages may read how it ended, before the server does."""
    with contextlib.suppress(KeyboardInterrupt):
        # the address is known by now: a browser starts while these are imported
        from optarena.serve.app import make_app
        from optarena.serve.hub import MOST_CLIENTS, Hub

        hub = Hub(paths, shown)
        config = uvicorn.Config(
            make_app(hub, guard),
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=1,
            limit_concurrency=MOST_CLIENTS + SPARE,
        )
        _Server(config, hub, last).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Ends the streams of its clients when it is told to end, so that it need not wait for them."""

    def __init__(self, config: uvicorn.Config, hub: Hub, last: float) -> None:
        super().__init__(config)
        self._hub, self._last = hub, last

    async def main_loop(self) -> None:
        await super().main_loop()
        await self._hub.look_a_last_time(self._last)
        self._hub.close()


def _listen(host: str, port: int | None) -> socket.socket:
    """A socket that listens, at the port that was asked for or at the first that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    ports = range(PORT, PORT + TRIED) if port is None else [port]
    why = ""
    for one in [*ports, *([0] if port is None else [])]:
        out = socket.socket(family, socket.SOCK_STREAM)
        out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            out.bind((host, one))
            out.listen(256)
            return out
        except (OSError, OverflowError) as error:
            out.close()
            why = getattr(error, "strerror", "") or str(error)
    where = f"{host}:{port}" if port is not None else host
    raise OptarenaError(f"cannot listen on {where}: {why}")


def said(guard: Guard) -> list[str]:
    """What is printed: the address, and what to know where others can reach it."""
    out = [guard.address]
    if not is_loopback(guard.host):
        out.append("Others can reach this page if they have its token; what it sends is not encrypted (docs/serve.md).")
    return out


if __name__ == "__main__":
    _beside(sys.argv[1:])
