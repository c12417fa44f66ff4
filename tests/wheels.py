"""Wheels of a file or two, so that tests can install packages without a package index."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path


def wheel(
    name: str, version: str, files: Mapping[str, str], requires: Sequence[str] = (), folder: Path | None = None
) -> str:
    """Write the wheel of a package; the name of its file."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {text}\n" for text in requires)
    inside = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}\nIts text.\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    inside[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in [*inside, f"{info}/RECORD"])
    path = (folder or Path()) / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in inside.items():
            archive.writestr(zipfile.ZipInfo(file), text)
    return path.name
