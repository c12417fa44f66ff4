"""What it costs to start: `optarena --help` in CPU seconds, and the size of the core install."""

from __future__ import annotations

import importlib.metadata
import resource
import subprocess
import sys

from _measure import load

CORE = 450
"""MB that the core install may have, at most."""


def help_seconds() -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = "from optarena.cli import main; main(['--help'])"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def installed_megabytes() -> dict[str, float]:
    """Every distribution that optarena requires without extras, and theirs, by the sizes of their files."""
    sizes: dict[str, float] = {}
    wanted = ["optarena"]
    while wanted:
        name = wanted.pop().lower().replace("_", "-")
        if name in sizes:
            continue
        try:
            dist = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        files = [file.locate() for file in dist.files or ()]
        sizes[name] = sum(file.stat().st_size for file in map(_path, files) if file.is_file()) / 1e6
        for line in dist.requires or ():
            if "extra ==" not in line:
                wanted.append(_name(line))
    return sizes


def _path(file):
    from pathlib import Path

    return Path(str(file))


def _name(requirement: str) -> str:
    for sign in "<>=!~;[ (":
        requirement = requirement.split(sign)[0]
    return requirement


def must_be_small() -> None:
    size = sum(installed_megabytes().values())
    if size > CORE:
        raise SystemExit(f"the core install has {size:.0f} MB, more than {CORE}")
    print(f"core install: {size:.0f} MB (at most {CORE})")


def main() -> None:
    print(f"optarena --help: {min(help_seconds() for _ in range(5)):.2f} s CPU, least of 5 (to reach: 0.2; {load()})")
    sizes = installed_megabytes()
    print(f"core install: {sum(sizes.values()):.0f} MB in {len(sizes)} distributions (at most: {CORE})")
    for name, size in sorted(sizes.items(), key=lambda item: -item[1])[:5]:
        print(f"  {name:20s} {size:6.1f}")


if __name__ == "__main__":
    main()
