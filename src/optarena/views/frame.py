"""What scores are measured against: a frame has a hash, can be saved, and can be given to score other studies."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from optarena._damage import is_damage
from optarena._files import write_atomically
from optarena._json import strict
from optarena.errors import OptarenaError

T = TypeVar("T")


class Frame:
    """What a view measured against; every score names its hash."""

    def to_data(self) -> dict[str, Any]:
        """As plain data, with the name of its view."""
        raise NotImplementedError

    @property
    def hash(self) -> str:
        """The hash over canonical JSON by which a frame is known."""
        return hash_of(self.to_data())

    def save(self, path: str | Path) -> None:
        """Write it to a file, for `frame=` and `--frame`."""
        write_atomically(Path(path), msgspec.json.encode(strict(self.to_data())))


class PlainFrame(Frame, dict[str, Any]):
    """A frame that is nothing but plain data."""

    def to_data(self) -> dict[str, Any]:
        return dict(self)


def hash_of(frame: dict[str, Any]) -> str:
    """The hash over canonical JSON by which a frame is known."""
    return hashlib.sha256(msgspec.json.encode(strict(frame), order="deterministic")).hexdigest()


def saved(path: str | Path, view: str, read: Callable[[dict[str, Any]], T]) -> T:
    """A frame from a file. `read` makes it of the file's data, and raises where they are not what they should be."""
    try:
        data = msgspec.json.decode(Path(path).read_bytes())
        if data["view"] != view:
            raise KeyError("view")
        return read(data)
    except OSError as error:
        raise OptarenaError(f"cannot read the frame {path}: {error.strerror or error}") from None
    except Exception as error:
        if not is_damage(error):
            raise
        raise OptarenaError(
            f"{path} is not a frame of the {view} view (score --view {view} --save-frame writes one)"
        ) from None
