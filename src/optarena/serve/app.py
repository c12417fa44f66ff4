"""The server's application: few routes, each answered from memory; no file of the machine has an address."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from optarena._text import visible
from optarena.errors import OptarenaError, WorkError
from optarena.report.bundle import PARTS, vega_bundle
from optarena.serve.choice import Choice
from optarena.serve.guard import HEADERS, Guard
from optarena.serve.hub import MOST_CLIENTS, Hub

if TYPE_CHECKING:
    from optarena.serve.pages import Pages

SCRIPTS = (*PARTS, "live.js")
LONGEST_BODY = 1000
LINES = "application/x-ndjson"
"""Who accepts it gets a page's data in parts, each when it is made."""
KINDS = {"js": "text/javascript", "css": "text/css", "html": "text/html", "json": "application/json"}


def make_app(hub: Hub, guard: Guard) -> Starlette:
    """The application. The hub follows stores as long as it runs."""

    @contextlib.asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        await hub.start()
        yield
        await hub.stop()

    assets = _assets()

    async def page(_request: Request) -> Response:
        return _answer(assets["live.html"], "html")

    async def study_page(_request: Request) -> Response:
        return _answer(assets["study.html"], "html")

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in assets or name.endswith(".html"):
            return JSONResponse({"error": "there is nothing here"}, 404)
        data = assets[name]
        tag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"etag": tag})
        return _answer(data, name.rpartition(".")[2], {"etag": tag, "cache-control": "no-cache"})

    async def state(_request: Request) -> Response:
        return _answer(hub.state, "json")

    async def events(_request: Request) -> Response:
        if hub.clients >= MOST_CLIENTS:
            return JSONResponse({"error": "too many pages are open"}, 503)
        return StreamingResponse(hub.listen(), media_type="text/event-stream")

    async def data(request: Request) -> Response:
        choice = Choice.of(request.query_params.multi_items())
        if not await hub.has_pages():
            return _answer(hub.nothing(), "json")
        if LINES in request.headers.get("accept", ""):
            return StreamingResponse(hub.in_parts(choice), media_type=LINES)
        return _answer(await hub.make(lambda pages: pages.data(choice)), "json")

    async def save(request: Request) -> Response:
        choice = Choice.of(request.query_params.multi_items())
        text = await hub.make(lambda pages: pages.file(choice))
        return _answer(text.encode(), "html", {"content-disposition": 'attachment; filename="report.html"'})

    # what draws and compares is loaded when it is asked for: the first screen needs none of it

    async def study(request: Request) -> Response:
        from optarena.serve.study import study_data

        id = request.query_params.get("id", "")
        return await _encoded(lambda pages: study_data(pages.results, id), reads=True)

    async def compare(request: Request) -> Response:
        from optarena.serve.versus import versus

        choice = Choice.of(request.query_params.multi_items())
        sides = [request.query_params.get(name, "") for name in ("a", "b")]
        return await _encoded(lambda pages: versus(pages, choice, *sides))

    async def keys(_request: Request) -> Response:
        """What the page needs to command: nothing where it may not."""
        return JSONResponse({"control": guard.control if guard.local else ""})

    async def control(request: Request) -> Response:
        if why := guard.may_control(request):
            return JSONResponse({"error": why}, 403)
        body = await _short_body(request)
        said = await hub.command(request.path_params["action"], body.trials)
        return JSONResponse({"did": said})

    async def _encoded(make: Callable[[Pages], object], *, reads: bool = False) -> Response:
        return _answer(msgspec.json.encode(await hub.make(make, reads=reads)), "json")

    routes = [
        Route("/", page),
        Route("/study", study_page),
        Route("/assets/{name}", asset),
        Route("/state", state),
        Route("/events", events),
        Route("/data", data),
        Route("/save", save),
        Route("/study-data", study),
        Route("/compare", compare),
        Route("/keys", keys),
        Route("/control/{action}", control, methods=["POST"]),
    ]
    return Starlette(
        routes=routes,
        lifespan=life,
        middleware=[Middleware(Guarded, guard=guard)],
        exception_handlers={OptarenaError: _refused, WorkError: _refused},
    )


class Command(msgspec.Struct, forbid_unknown_fields=True):
    """What a command carries."""

    trials: int = 0


async def _short_body(request: Request) -> Command:
    """The body of a command, which is short."""
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > LONGEST_BODY:
            raise OptarenaError("a command is short")
    try:
        return msgspec.json.decode(data or b"{}", type=Command)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise OptarenaError(f"not a command ({error})") from error


class Guarded:
    """Nothing passes that the guard refuses, and every answer has its headers."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self.app, self.guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # a web socket, say, is not accepted

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                had = {name for name, _ in message["headers"]}
                more = [(key.encode(), value.encode()) for key, value in HEADERS.items() if key.encode() not in had]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        refusal = self.guard.refusal(Request(scope))
        await (self.app if refusal is None else refusal)(scope, receive, sending)


def _refused(_request: Request, error: Exception) -> Response:
    return JSONResponse({"error": visible(str(error))}, 400)


def _answer(data: bytes, kind: str, headers: dict[str, str] | None = None) -> Response:
    return Response(data, media_type=KINDS[kind], headers=headers)


def _assets() -> dict[str, bytes]:
    """All that can be had by name."""
    ours, reports = files("optarena.serve"), files("optarena.report")

    def text(*names: str) -> str:
        here = [
            ours / "static" / name if (ours / "static" / name).is_file() else reports / "static" / name
            for name in names
        ]
        return "\n".join(one.read_text(encoding="utf-8") for one in here)

    found = {
        "vega.js": vega_bundle(),
        "live.js": text(*SCRIPTS),
        "study.js": text("basics.js", "embed.js", "study.js"),
        "live.css": text("page.css", "live.css"),
        "live.html": (ours / "templates" / "live.html").read_text(encoding="utf-8"),
        "study.html": (ours / "templates" / "study.html").read_text(encoding="utf-8"),
    }
    return {name: one.encode() for name, one in found.items()}
