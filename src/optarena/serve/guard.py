"""Who may ask the server: only whoever has its token, and only from our own page.

- Everything needs the token: once in the address, from then on in a cookie that no script and no other site can use.
- The Host header must name this server: a site that makes its own name point here (DNS rebinding) is refused.
- Origin and Sec-Fetch-Site must be our own: no other page can ask, frame or command this one.
- Control is for this machine only, asks for a header that other sites cannot send, and never comes through a proxy.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from dataclasses import dataclass, field
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from optarena._process import host as machine

TOKEN = "token"
HEADER = "x-optarena-token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
"""Of every answer."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
LONGEST_ADDRESS = 16_000
FORWARDED = ("forwarded", "via", "x-real-ip", *(f"x-forwarded-{what}" for what in ("for", "host", "proto", "server")))
"""What proxies add to a request."""


@dataclass
class Guard:
    """host: what the server listens on; port: as it turned out."""

    host: str
    port: int = 0
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def cookie(self) -> str:
        return f"optarena-{self.port}"

    @property
    def session(self) -> str:
        """What the cookie holds: made of the token, which it does not tell."""
        return self._made("session")

    @property
    def control(self) -> str:
        """What a command must carry in a header: only our page knows it."""
        return self._made("control")

    def _made(self, purpose: str) -> str:
        return hmac.new(self.token.encode(), purpose.encode(), hashlib.sha256).hexdigest()

    @property
    def local(self) -> bool:
        """Whether it listens to this machine only."""
        return is_loopback(self.host)

    @property
    def address(self) -> str:
        """The page, with its token."""
        shown = machine() if self.host in ("0.0.0.0", "::") else self.host
        name = f"[{shown}]" if ":" in shown else shown
        return f"http://{name}:{self.port}/?{TOKEN}={self.token}"

    def refusal(self, request: Request) -> Response | None:
        """Why a request is not answered; None where it is."""
        if len(str(request.url)) > LONGEST_ADDRESS:
            return _no(414, "the address is too long")
        if not self._is_our_name(request.headers.get("host", "")):
            return _no(421, "this server is not called that")
        if not self._is_our_page(request):
            return _no(403, "only the page of this server may ask it")
        given = request.query_params.get(TOKEN)
        if given is not None:
            if request.method != "GET" or not _same(given, self.token):
                return _no(401, "wrong token: use the address that optarena serve printed")
            return self._enter(request)
        if not _same(request.cookies.get(self.cookie, ""), self.session):
            return _no(401, "open the address that optarena serve printed: it has the token")
        return None

    def _enter(self, request: Request) -> Response:
        """Put the session into a cookie, and the token out of sight."""
        rest = urlencode([(name, value) for name, value in request.query_params.multi_items() if name != TOKEN])
        # lax: a link in a chat or a mail opens the page; what other sites ask for in the background has no cookie
        # never '//elsewhere', which would be another site
        out = RedirectResponse("/" + request.url.path.lstrip("/\\") + (f"?{rest}" if rest else ""), 303)
        out.set_cookie(self.cookie, self.session, httponly=True, samesite="lax", path="/")
        return out

    def may_have_key(self, request: Request) -> str:
        """Why the key of commands is not given; nothing where it is: on this machine, without a proxy between."""
        if not self.local or request.client is None or not is_loopback(request.client.host):
            return "control works on this machine only: serve on 127.0.0.1"
        # as nginx speaks where it says nothing of itself
        if any(name in request.headers for name in FORWARDED) or request.scope.get("http_version") == "1.0":
            return "control does not work through a proxy"
        return ""

    def may_control(self, request: Request) -> str:
        """Why a command is refused; nothing where it is not."""
        if why := self.may_have_key(request):
            return why
        if request.headers.get("origin") is None:
            return "a command comes from the page of this server"
        return "" if _same(request.headers.get(HEADER, ""), self.control) else "a command needs the page's own key"

    def _is_our_name(self, given: str) -> bool:
        name, port = _split(given)
        if port not in (None, self.port):
            return False
        if name in LOOPBACK or name == self.host.lower():
            return True
        if self.local:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name == machine().lower()
        return True  # no site can make an address of ours its own name

    def _is_our_page(self, request: Request) -> bool:
        site, mode = request.headers.get("sec-fetch-site"), request.headers.get("sec-fetch-mode")
        if site not in (None, "same-origin", "none") and not (request.method == "GET" and mode == "navigate"):
            return False
        origin = request.headers.get("origin")
        return origin is None or origin.lower() == f"http://{request.headers.get('host', '').lower()}"


def is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _split(given: str) -> tuple[str, int | None]:
    """A Host header as name and port."""
    name, _, port = given.lower().rpartition(":") if not given.endswith("]") else (given.lower(), "", "")
    if not name:
        name, port = given.lower(), ""
    return name.strip("[]"), int(port) if port.isdecimal() and len(port) < 6 else None if not port else -1


def _same(given: str, wanted: str) -> bool:
    return secrets.compare_digest(given.encode(), wanted.encode())


def _no(status: int, why: str) -> Response:
    return PlainTextResponse(f"optarena: {why}\n", status)
