"""A server of stores within a test, and a browser that has its cookie."""

from __future__ import annotations

from starlette.testclient import TestClient

from optarena.serve.app import make_app
from optarena.serve.guard import Guard
from optarena.serve.hub import Hub

PORT = 8770
HERE = f"http://127.0.0.1:{PORT}"
ROUTES = (
    "/",
    "/study",
    "/assets/live.js",
    "/state",
    "/events",
    "/data",
    "/save",
    "/study-data",
    "/studies",
    "/compare",
    "/keys",
)


class Served:
    """A server of a store, and a browser that has its cookie."""

    def __init__(self, *paths, host="127.0.0.1"):
        self.hub, self.guard = Hub(paths), Guard(host, PORT)
        self.app = make_app(self.hub, self.guard)

    def client(self, **options) -> TestClient:
        return TestClient(self.app, base_url=HERE, follow_redirects=False, client=("127.0.0.1", 5000), **options)

    def inside(self, client: TestClient) -> None:
        assert client.get(f"/?token={self.guard.token}").status_code == 303
