"""Several hosts on this machine, for tests: network namespaces with names and addresses of their own, and a switch.

Their addresses exist only inside the namespaces. A host can be cut off from the others, and joined again.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

NETWORK = "10.99.0"


def missing() -> list[str]:
    """What this machine lacks; `apt-get install iproute2` brings `ip`."""
    if lacks := [name for name in ("ip", "unshare") if shutil.which(name) is None] + (["root"] if os.getuid() else []):
        return lacks
    probe = f"optarena-{secrets.token_hex(3)}"
    if subprocess.run(["ip", "netns", "add", probe], capture_output=True).returncode:
        return ["network namespaces"]
    subprocess.run(["ip", "netns", "del", probe], check=True)
    return []


class Host:
    def __init__(self, number: int, token: str) -> None:
        self.number, self.space, self.hub = number, f"optarena-{token}-{number}", f"optarena-{token}-hub"
        self.address = f"{NETWORK}.{number}"
        self.port = f"host{number}"

    def start(self, command: list[str], hidden: Path | None = None, **options) -> subprocess.Popen:
        """Run a command here; hidden: a directory that is empty for it."""
        hide = f"mount -t tmpfs none {shlex.quote(str(hidden))} && " if hidden else ""
        shell = f"hostname host{self.number} && {hide}exec {shlex.join(command)}"
        within = ["ip", "netns", "exec", self.space, "unshare", "--uts", "--mount", "sh", "-c", shell]
        return subprocess.Popen(within, **options)

    def cut_off(self) -> None:
        _ip("-n", self.hub, "link", "set", self.port, "down")

    def join(self) -> None:
        _ip("-n", self.hub, "link", "set", self.port, "up")


@contextlib.contextmanager
def hosts(count: int) -> Iterator[list[Host]]:
    token = secrets.token_hex(3)
    made = [Host(number, token) for number in range(1, count + 1)]
    hub = made[0].hub
    try:
        _ip("netns", "add", hub)
        _ip("-n", hub, "link", "add", "switch", "type", "bridge")
        _ip("-n", hub, "link", "set", "switch", "up")
        for host in made:
            _ip("netns", "add", host.space)
            _ip("-n", hub, "link", "add", host.port, "type", "veth", "peer", "name", "eth0", "netns", host.space)
            _ip("-n", hub, "link", "set", host.port, "master", "switch")
            host.join()
            _ip("-n", host.space, "address", "add", f"{host.address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip("-n", host.space, "link", "set", device, "up")
        yield made
    finally:
        for space in (hub, *(host.space for host in made)):
            subprocess.run(["ip", "netns", "del", space], capture_output=True)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
