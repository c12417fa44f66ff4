"""`optarena serve`: the report, live, in a browser."""

from __future__ import annotations

import atexit
import html
import os
import sys
import tempfile
import threading
import webbrowser
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from optarena._text import clean
from optarena.errors import NotInstalled

if TYPE_CHECKING:
    from optarena.serve.guard import Guard


REDIRECT_SECONDS = 60.0
"""A browser that is slow to start finds its file."""
_redirects: list[Path] = []


def command(
    stores: Annotated[list[Path], typer.Argument(help="The directories of stores; several are shown as one.")],
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="The port; by default the first free from 8770 on.")
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on: 0.0.0.0 for other machines too.")
    ] = "127.0.0.1",
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the address only, open no browser.")] = False,
) -> None:
    """Follow stores while experiments run."""
    server = server_module()

    def ready(guard: Guard) -> None:
        for line in server.said(guard):
            print(clean(line))
        print("Stop with Ctrl-C; runs continue without this page.")
        sys.stdout.flush()
        if not no_open:
            open_page(guard.address)

    server.serve(stores, host=host, port=port, ready=ready)
    sys.stdout.flush()
    _forget()
    os._exit(0)  # a page that is being made is not waited for


def open_page(address: str) -> None:
    """In a browser with windows; where there is none, the address is printed and that is all.

    All users see with which words a program was started: the browser is given a file that only this user can read.
    """
    if sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")):
        threading.Thread(target=webbrowser.open, args=[redirect(address).as_uri()]).start()
        forgetting = threading.Timer(REDIRECT_SECONDS, _forget)
        forgetting.daemon = True
        forgetting.start()


def redirect(address: str) -> Path:
    """A page that leads to an address, which nobody else can read."""
    descriptor, name = tempfile.mkstemp(prefix="optarena-", suffix=".html")  # its mode is 0600
    to = html.escape(address)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={to}">')
        file.write(f'<title>optarena</title><a href="{to}">The live page</a>\n')
    _redirects.append(Path(name))
    return Path(name)


@atexit.register
def _forget() -> None:
    """Leave no file behind that leads to a server."""
    while _redirects:
        _redirects.pop().unlink(missing_ok=True)


def server_module() -> ModuleType:
    """The server, where its extra is installed."""
    try:
        from optarena.serve import server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("starlette", "uvicorn", "anyio"):
            raise NotInstalled("the live page needs", "serve") from None
        raise
    return server
