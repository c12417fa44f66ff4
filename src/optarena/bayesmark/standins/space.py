"""Stands in for `bayesmark.space`: its encoding of points as numbers, by the warps of `optarena.space`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from optarena import _bayesmark_encoding as encoding
from optarena import space as own
from optarena.bayesmark.standins.np_util import clip_chk, snap_to
from optarena.errors import SuggestionError

N_GRID_DEFAULT = 8
WARPED_DTYPE = np.float64


class Space:
    """One parameter. Values of any shape become numbers with one more axis: one column, or one a category."""

    type = ""
    dtype: Any = np.float64

    def __init__(self, warp: str | None = "linear", values: Any = None, range_: Any = None) -> None:
        line: dict[str, Any] = {"type": self.type}
        if self.type in ("real", "int"):
            line["space"] = warp
            line.update({"values": values} if values is not None else {"range": range_})
        elif self.type == "cat":
            line["values"] = values
        self._space = own.Space({"x": line})
        parameter = self._space.parameters[0]
        self.values = None if parameter.values is None else np.array(sorted(parameter.values))
        self.lower: Any = None if self.type == "cat" else self.dtype(parameter.low)
        self.upper: Any = None if self.type == "cat" else self.dtype(parameter.high)
        self.lower_warped, self.upper_warped = self.get_bounds().T

    def validate(self, X: Any, pre: bool = False) -> Any:  # noqa: ARG002
        """The values as an array; whatever lies outside is an assertion that fails."""
        array = np.asarray(X)
        try:
            self._space.to_matrix([{"x": value} for value in array.ravel().tolist()])
        except SuggestionError as error:
            raise AssertionError(str(error)) from None
        return array.astype(self.dtype) if self.type != "cat" else array

    def validate_warped(self, X: Any, pre: bool = False) -> Any:  # noqa: ARG002
        array = np.asarray(X, dtype=WARPED_DTYPE)
        clip_chk(array, self.lower_warped, self.upper_warped)
        return array

    def warp(self, X: Any) -> npt.NDArray[np.float64]:
        array = self.validate(X)
        warped = encoding.warp(self._space, [{"x": value} for value in array.ravel().tolist()])
        return warped.reshape((*array.shape, -1))

    def unwarp(self, X_w: Any) -> Any:
        array = clip_chk(np.asarray(X_w, dtype=WARPED_DTYPE), self.lower_warped, self.upper_warped)
        points = encoding.unwarp(self._space, array.reshape(-1, array.shape[-1]))
        out = np.array([point["x"] for point in points], dtype=None if self.type == "cat" else self.dtype)
        return out.reshape(array.shape[:-1])[()] if array.ndim > 1 else out[0]

    def get_bounds(self) -> npt.NDArray[np.float64]:
        return encoding.warped_bounds(self._space)

    def grid(self, max_interp: int = N_GRID_DEFAULT) -> list[Any]:
        return encoding.grid(self._space, max_interp)["x"]


class Real(Space):
    type = "real"


class Integer(Space):
    type, dtype = "int", np.int64


class Boolean(Space):
    type, dtype = "bool", np.bool_


class Categorical(Space):
    type, dtype = "cat", np.str_


_KINDS = {"real": Real, "int": Integer, "bool": Boolean, "cat": Categorical, "ordinal": Categorical}


class JointSpace:
    """A whole space; a point is a dict, an encoded point a row: parameters in sorted order, categories one-hot."""

    def __init__(self, meta: Mapping[str, Any]) -> None:
        assert len(meta) > 0, "a space needs at least one parameter"
        self._space = own.Space(meta)
        self.param_list = sorted(self._space.names)
        self.spaces = {name: _parameter(meta[name]) for name in self.param_list}
        self.blocks = np.cumsum([len(space.get_bounds()) for space in self.spaces.values()])

    def validate(self, X: Sequence[Mapping[str, Any]]) -> None:
        """Nothing, or an assertion that fails and says which point and parameter is wrong."""
        try:
            self._space.to_matrix(X)
        except SuggestionError as error:
            raise AssertionError(str(error)) from None

    def warp(self, X: Sequence[Mapping[str, Any]]) -> npt.NDArray[np.float64]:
        self.validate(X)
        return encoding.warp(self._space, X).reshape(len(X), int(self.blocks[-1]))

    def unwarp(self, X_w: npt.ArrayLike, fixed_vals: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Encoded rows as dicts again; `fixed_vals` are put in where a value must be just that, after rounding."""
        array = np.asarray(X_w, dtype=WARPED_DTYPE)
        assert array.ndim == 2, f"Expected 2 dimensions for X, got {array.ndim}"
        bounds = self.get_bounds()
        points = encoding.unwarp(self._space, clip_chk(array, bounds[:, 0], bounds[:, 1]))
        for name, value in (fixed_vals or {}).items():
            for point in points:
                point[name] = snap_to(point[name], value).item()
        return points

    def get_bounds(self) -> npt.NDArray[np.float64]:
        """(columns, 2): least and greatest."""
        return encoding.warped_bounds(self._space)

    def grid(self, max_interp: int = N_GRID_DEFAULT) -> dict[str, list[Any]]:
        return encoding.grid(self._space, max_interp)


def _parameter(line: Mapping[str, Any]) -> Space:
    return _KINDS[line["type"]](warp=line.get("space"), values=line.get("values"), range_=line.get("range"))
