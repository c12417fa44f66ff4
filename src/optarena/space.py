"""Search spaces: the grammar, its validation, and transforms of whole batches of points.

    >>> space = Space({"rate": {"type": "real", "space": "log", "range": [1e-5, 1e-1]},
    ...                "depth": {"type": "int", "space": "linear", "range": [1, 15]},
    ...                "kernel": {"type": "cat", "values": ["rbf", "poly"]}})
    >>> space.to_dicts(space.from_unit([[0.5, 0.0, 0.9]]))
    [{'rate': 0.001, 'depth': 1, 'kernel': 'poly'}]

A batch of points has three forms, and every conversion is vectorised over the batch:

* *dicts*: what a person reads and what most problems take, `{"rate": 0.001, "depth": 1, …}`;
* *matrix*: (n, D) floats, one column per parameter in the declared order. Numbers stand for themselves, a bool
  is 0 or 1, a category is its index in `values`. Array-native optimizers and problems meet in this form;
* *unit*: (n, D) in the unit cube. A range is linear in its warped coordinate; each integer owns an equal
  share of a linear range, and each member of a list (bool, cat, ordinal, values) an equal share of [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from optarena._json import printable
from optarena.errors import OptarenaError, SuggestionError, nearest

Array = npt.NDArray[np.float64]
Point = dict[str, Any]

_FLOAT = np.dtype(np.float64)
TYPES = ("real", "int", "bool", "cat", "ordinal")
TOLERANCE = 1e-9  # of a real range's width on its own scale: what rounding in a warp and back may cost, and no more


def _logit(x: Array) -> Array:
    return np.log(x / (1.0 - x))


def _expit(w: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-w))


def _bilog(x: Array) -> Array:
    return np.sign(x) * np.log1p(np.abs(x))


def _biexp(w: Array) -> Array:
    return np.sign(w) * np.expm1(np.abs(w))


def _same(x: Array) -> Array:
    return x


WARPS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "linear": (_same, _same),
    "log": (np.log, np.exp),
    "logit": (_logit, _expit),
    "bilog": (_bilog, _biexp),
}
DOMAINS = {
    "linear": "a range must be finite",
    "log": "log needs numbers above 0",
    "logit": "logit needs numbers between 0 and 1",
    "bilog": "a range must be finite",
}


class Parameter:
    """One validated line of the grammar. `values` is None for a range; lists of numbers are kept sorted."""

    __slots__ = ("high", "least", "low", "most", "name", "type", "values", "warp")

    def __init__(self, name: str, config: Any) -> None:
        self.name = name
        if not isinstance(config, Mapping):
            raise self._error(f"expected a table such as {{type = 'real', …}}, got {config!r}")
        unknown = sorted(set(config) - {"type", "space", "range", "values"}, key=str)
        if unknown:
            hint = nearest(str(unknown[0]), ("type", "space", "range", "values"))
            raise self._error(f"unknown key {unknown[0]!r} (known: type, space, range, values).{hint}")
        self.type: str = config.get("type", None)
        if self.type not in TYPES:
            hint = nearest(str(self.type), TYPES)
            raise self._error(f"type must be one of {', '.join(TYPES)}, got {self.type!r}.{hint}")
        self.warp: str | None = None
        self.values: list[Any] | None = None
        self.low, self.high = 0.0, 1.0
        if self.type in ("real", "int"):
            self._read_number(config)
        else:
            self._read_list(config)
        self.least, self.most = self._limits()

    def _error(self, text: str) -> OptarenaError:
        return OptarenaError(f"space, parameter {self.name!r}: {text}")

    def _read_number(self, config: Mapping[str, Any]) -> None:
        warp = config.get("space")
        if not isinstance(warp, str) or warp not in WARPS:
            hint = nearest(str(warp), WARPS)
            raise self._error(f"space must be one of {', '.join(WARPS)}, got {warp!r}.{hint}")
        self.warp = warp
        given = [key for key in ("range", "values") if config.get(key) is not None]
        if len(given) != 1:
            raise self._error(f"a {self.type} needs either range or values, got {' and '.join(given) or 'neither'}")
        raw = config[given[0]]
        if isinstance(raw, (str, bytes)) or not isinstance(raw, (Sequence, np.ndarray)):
            raise self._error(f"{given[0]} must be a list of numbers, got {raw!r}")
        numbers = [self._number(given[0], value) for value in raw]
        if given[0] == "range":
            if len(numbers) != 2:
                raise self._error(f"range must be [low, high], got {list(raw)!r}")
            if numbers[0] > numbers[1]:
                raise self._error(f"range must be [low, high] with low <= high, got {list(raw)!r}")
        else:
            if len(set(numbers)) < len(numbers):
                raise self._error(f"values has a member twice: {list(raw)!r}")
            if len(numbers) < 2:
                raise self._error(f"values needs at least 2 members, got {len(numbers)}")
            numbers = sorted(numbers)
            self.values = list(numbers)
        with np.errstate(all="ignore"):
            ends = WARPS[warp][0](np.array([numbers[0], numbers[-1]], dtype=float))
        if not np.isfinite(ends).all():
            where = numbers[0] if not math.isfinite(ends[0]) else numbers[-1]
            raise self._error(f"space {warp!r} has no finite value at {where!r} ({DOMAINS[warp]})")
        self.low, self.high = float(numbers[0]), float(numbers[-1])
        if not math.isfinite(self.high - self.low):
            raise self._error(f"the width of {given[0]} must be finite, got {list(raw)!r}")

    def _number(self, key: str, value: Any) -> float:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise self._error(f"{key} must hold numbers, got {value!r}")
        try:
            number = float(value)
        except OverflowError:
            raise self._error(f"{key} must hold numbers that a float can hold, got {_short(value)}") from None
        if math.isnan(number):
            raise self._error(f"{key} must hold numbers, got nan")
        if self.type == "real":
            return number
        if not number.is_integer():
            raise self._error(f"{key} of an int must hold whole numbers, got {value!r}")
        if abs(number) > 2**53:
            raise self._error(f"{key} of an int must lie within ±2**53, got {value!r}")
        return int(number)

    def _read_list(self, config: Mapping[str, Any]) -> None:
        extra = [key for key in ("space", "range") if config.get(key) is not None]
        if extra:
            raise self._error(f"a {self.type} has no {extra[0]}")
        values = config.get("values")
        if self.type == "bool":
            if values is not None:
                raise self._error("a bool has no values")
            self.values = [False, True]
            return
        if values is None or isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)):
            raise self._error(f"a {self.type} needs values, a list of texts")
        for value in values:
            if not isinstance(value, str) or value != printable(value):
                raise self._error(
                    f"values of {'an' if self.type == 'ordinal' else 'a'} {self.type} must be texts, got {value!r}"
                )
        if len(values) < 2:
            raise self._error(f"values needs at least 2 members, got {len(values)}")
        if len(set(values)) < len(values):
            raise self._error(f"values has a member twice: {list(values)!r}")
        self.values = [str(value) for value in values]

    @property
    def config(self) -> dict[str, Any]:
        """The grammar again, in plain data: equal parameters give equal texts."""
        out: dict[str, Any] = {"type": self.type}
        if self.warp is not None:
            out["space"] = self.warp
        if self.values is None:
            out["range"] = [self._plain(self.low), self._plain(self.high)]
        elif self.type != "bool":
            out["values"] = list(self.values)
        return out

    def _plain(self, value: float) -> float | int:
        return int(value) if self.type == "int" else value

    def encode(self, value: Any) -> float:
        """The matrix form of one value, or a SuggestionError that says what is wrong with it."""
        kind = self.type
        if kind in ("cat", "ordinal"):
            if isinstance(value, str):
                try:
                    return float(self.values.index(value))  # type: ignore[union-attr]
                except ValueError:
                    pass
            raise SuggestionError(f"{self.name} = {_short(value)} is not one of {self.values}")
        if kind == "bool":
            if isinstance(value, (bool, np.bool_)):
                return float(value)
            raise SuggestionError(f"{self.name} = {_short(value)} is not a bool")
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise SuggestionError(f"{self.name} = {_short(value)} is not a number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not self.least <= number <= self.most:
            raise SuggestionError(f"{self.name} = {_short(value)} is outside [{self.low:g}, {self.high:g}]")
        if kind == "int" and number != round(number):
            raise SuggestionError(f"{self.name} = {value!r} is not a whole number")
        if self.values is not None and number not in self.values:
            raise SuggestionError(f"{self.name} = {value!r} is not one of {self.values}")
        return number

    def _limits(self) -> tuple[float, float]:
        """The range with what rounding may add to it, on the parameter's own scale; integers and lists get nothing."""
        if self.type != "real" or self.values is not None:
            return self.low, self.high
        forward, back = WARPS[self.warp or "linear"]
        ends = forward(np.array([self.low, self.high]))
        slack = TOLERANCE * (ends[1] - ends[0])
        low, high = back(ends + np.array([-slack, slack]))
        return min(self.low, float(low)), max(self.high, float(high))

    def decode(self, column: Array) -> list[Any]:
        """A column of the matrix form as plain Python values."""
        if self.type == "real":
            return column.tolist()
        whole = column.astype(np.int64).tolist()
        if self.type == "int":
            return whole
        values = self.values or []
        return [values[index] for index in whole]


class Space:
    """An ordered set of parameters, made from the grammar; see the module's first lines."""

    def __init__(self, config: Mapping[str, Any] | Space) -> None:
        if isinstance(config, Space):
            config = config.config
        if not isinstance(config, Mapping) or not config:
            raise OptarenaError("space: expected a table with at least one parameter, {name: {type: …}, …}")
        for name in config:
            if not isinstance(name, str) or not name or name != printable(name):
                raise OptarenaError(f"space: a parameter's name must be a text, got {name!r}")
        self.parameters = [Parameter(name, line) for name, line in config.items()]
        self.names = [parameter.name for parameter in self.parameters]
        self.dimension = len(self.parameters)
        self._compile()

    @classmethod
    def box(cls, low: float, high: float, dimension: int) -> Space:
        """`dimension` real parameters x1, x2, … in [low, high]: what array-native problems usually have."""
        line = {"type": "real", "space": "linear", "range": [low, high]}
        return cls({f"x{i + 1}": line for i in range(dimension)})

    @property
    def config(self) -> dict[str, dict[str, Any]]:
        """The grammar, in plain data."""
        return {parameter.name: parameter.config for parameter in self.parameters}

    @property
    def types(self) -> set[str]:
        """Which types of parameter occur."""
        return {parameter.type for parameter in self.parameters}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and list(self.config.items()) == list(other.config.items())

    def __hash__(self) -> int:
        return hash(tuple(self.names))

    def __repr__(self) -> str:
        return f"Space({self.config!r})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002
        """In a notebook: one line per parameter."""
        printer.text("\n".join(["Space({", *(f"    {p.name!r}: {p.config!r}," for p in self.parameters), "})"]))

    def _compile(self) -> None:
        """Group the columns by what must be done to them, so that a batch costs a few array operations."""
        ranged = [i for i, p in enumerate(self.parameters) if p.values is None]
        self.low = np.array([p.low for p in self.parameters])
        self.high = np.array([p.high for p in self.parameters])
        for i, p in enumerate(self.parameters):
            if p.type in ("bool", "cat", "ordinal"):
                self.low[i], self.high[i] = 0.0, len(p.values or ()) - 1.0
        self._check_low, self._check_high = self.low.copy(), self.high.copy()
        for i, p in enumerate(self.parameters):
            if p.type in ("real", "int"):
                self._check_low[i], self._check_high[i] = p.least, p.most
        # an integer owns [k - 1/2, k + 1/2] of its range before warping
        half = np.array([0.5 if p.type == "int" and p.values is None else 0.0 for p in self.parameters])
        self._warp_low, self._warp_high = np.zeros(self.dimension), np.ones(self.dimension)
        self._warped: list[tuple[str, npt.NDArray[np.intp]]] = []
        for warp, (forward, _) in WARPS.items():
            columns = np.array([i for i in ranged if self.parameters[i].warp == warp], dtype=np.intp)
            if columns.size:
                self._warp_low[columns] = forward(self.low[columns] - half[columns])
                self._warp_high[columns] = forward(self.high[columns] + half[columns])
                if warp != "linear":
                    self._warped.append((warp, columns))
        self._warp_width = self._warp_high - self._warp_low
        self._divisor = np.where(self._warp_width > 0, self._warp_width, 1.0)
        self._listed = np.array([i for i, p in enumerate(self.parameters) if p.values is not None], dtype=np.intp)
        self._sizes = np.array([float(len(self.parameters[i].values or ())) for i in self._listed])
        self._whole = np.array([i for i in ranged if self.parameters[i].type == "int"], dtype=np.intp)
        # lists of numbers: an index must be looked up, both ways
        self._tables = [
            (int(i), np.array(self.parameters[i].values, dtype=float))
            for i in self._listed
            if self.parameters[i].type in ("real", "int")
        ]
        self._indexed = np.array(
            [i for i, p in enumerate(self.parameters) if p.type not in ("real", "int")], dtype=np.intp
        )
        self.continuous = not self._listed.size and not self._whole.size
        """Whether every parameter is a real range (so that the matrix form is all there is)."""
        ends = zip(self.low.tolist(), self.high.tolist(), self._warp_width.tolist(), strict=True)
        self._simple = list(ends) if self.continuous and not self._warped else []
        self._limits = list(zip(self._check_low.tolist(), self._check_high.tolist(), strict=True))

    # ---- the unit cube -------------------------------------------------------------------------------------

    def from_unit(self, unit: npt.ArrayLike) -> Array:
        """Points of the unit cube in matrix form; coordinates outside [0, 1] count as the nearer end."""
        u = np.asarray(unit, dtype=float)
        if self._simple and len(u) == 1:
            return self._from_simple(u[0].tolist())
        matrix = self._warp_low + u * self._warp_width
        for warp, columns in self._warped:
            matrix[:, columns] = WARPS[warp][1](matrix[:, columns])
        if self._whole.size:
            matrix[:, self._whole] = np.rint(matrix[:, self._whole])
        if self._listed.size:
            index = np.floor(u[:, self._listed] * self._sizes)
            matrix[:, self._listed] = np.minimum(np.maximum(index, 0.0), self._sizes - 1.0)
            for column, table in self._tables:
                matrix[:, column] = table[matrix[:, column].astype(np.intp)]
        return np.minimum(np.maximum(matrix, self.low), self.high)

    def _from_simple(self, unit: list[float]) -> Array:
        """The same sums for one point of linear ranges, without the cost of small arrays."""
        along = zip(unit, self._simple, strict=True)
        row = [low if (x := low + at * width) < low else high if x > high else x for at, (low, high, width) in along]
        return np.array([row])

    def to_unit(self, matrix: npt.ArrayLike) -> Array:
        """The matrix form in the unit cube; a member of a list stands at the centre of its share."""
        warped = np.array(matrix, dtype=float)
        position = warped[:, self._listed]
        if self._tables:
            place = {int(column): at for at, column in enumerate(self._listed)}
            for column, table in self._tables:
                position[:, place[column]] = np.searchsorted(table, warped[:, column])
        for warp, columns in self._warped:
            warped[:, columns] = WARPS[warp][0](warped[:, columns])
        unit = (warped - self._warp_low) / self._divisor
        if self._listed.size:
            unit[:, self._listed] = (position + 0.5) / self._sizes
        return np.minimum(np.maximum(unit, 0.0), 1.0)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """n independent uniform points of the unit cube, in matrix form; n at once equal n times one."""
        if n == 1 and self._simple:
            return self._from_simple(rng.random(self.dimension).tolist())
        return self.from_unit(rng.random((n, self.dimension)))

    # ---- dicts and the matrix --------------------------------------------------------------------------------

    def to_rows(self, matrix: npt.ArrayLike) -> list[list[Any]]:
        """The matrix form as rows of plain Python values, in the declared order."""
        array = np.asarray(matrix, dtype=float)
        if self.continuous:
            return array.tolist()
        lists = [parameter.decode(column) for parameter, column in zip(self.parameters, array.T, strict=True)]
        return [list(row) for row in zip(*lists, strict=True)]

    def to_dicts(self, matrix: npt.ArrayLike) -> list[Point]:
        """The matrix form as a list of dicts with plain Python values."""
        names = self.names
        return [dict(zip(names, row, strict=True)) for row in self.to_rows(matrix)]

    def to_matrix(self, points: Sequence[Mapping[str, Any]]) -> Array:
        """Dicts in matrix form, each value checked; SuggestionError says which point and parameter is wrong."""
        rows = []
        for number, point in enumerate(points):
            if self.continuous and type(point) is dict and len(point) == self.dimension:
                values = list(map(point.get, self.names))
                for value, (low, high) in zip(values, self._limits, strict=True):
                    if type(value) is not float or not low <= value <= high:
                        break
                else:  # nothing but floats within their limits, as is usual
                    rows.append(values)
                    continue
            if not isinstance(point, Mapping):
                raise SuggestionError(f"point {number} is not a dict but {_short(point)}")
            if len(point) != self.dimension or any(name not in point for name in self.names):
                missing = [name for name in self.names if name not in point]
                extra = [str(name) for name in point if name not in self.names]
                texts = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"has unknown {', '.join(extra)}"] * bool(
                    extra
                )
                raise SuggestionError(f"point {number} {' and '.join(texts)}")
            try:
                rows.append([p.encode(point[p.name]) for p in self.parameters])
            except SuggestionError as error:
                raise SuggestionError(f"point {number}: {error}") from None
        return np.array(rows, dtype=float) if rows else np.empty((0, self.dimension))

    def encode_rows(self, rows: Sequence[Sequence[Any]]) -> Array:
        """What `to_rows` gave, as a matrix again."""
        if self.continuous:
            return np.array(rows, dtype=float)
        return np.array([[p.encode(value) for p, value in zip(self.parameters, row, strict=True)] for row in rows])

    def check(self, matrix: Any) -> tuple[Array, list[list[Any]]]:
        """A copy of the matrix in C order, and its rows in plain values.

        SuggestionError names the first point outside. C order, because compiled problems refuse or misread any other.
        """
        one = type(matrix) is np.ndarray and matrix.shape == (1, self.dimension) and matrix.dtype is _FLOAT
        if one and self.continuous:  # as from most that learn: without the cost of small arrays
            checked = matrix.copy()
            rows = checked.tolist()
            for value, (low, high) in zip(rows[0], self._limits, strict=True):
                if not low <= value <= high:
                    break
            else:
                return checked, rows
        try:
            given = np.asarray(matrix)
            if given.dtype.kind not in "fiu":
                raise TypeError
            checked = np.array(given, dtype=float, order="C")
        except (TypeError, ValueError, OverflowError):
            raise SuggestionError(f"expected an (n, {self.dimension}) array of numbers, got {_short(matrix)}") from None
        if checked.ndim != 2 or checked.shape[1] != self.dimension:
            raise SuggestionError(f"expected an (n, {self.dimension}) array, got shape {checked.shape}")
        if len(checked) == 1:
            return checked, [self._check_row(checked[0].tolist())]
        good = (checked >= self._check_low) & (checked <= self._check_high)
        for column in (*self._whole, *self._indexed):
            good[:, column] &= checked[:, column] == np.rint(checked[:, column])
        for column, table in self._tables:
            good[:, column] &= np.isin(checked[:, column], table)
        if not good.all():
            row, column = np.argwhere(~good)[0]
            raise SuggestionError(self._complaint(int(row), int(column), float(checked[row, column])))
        return checked, self.to_rows(checked)

    def _check_row(self, row: list[float]) -> list[Any]:
        """The same for a single point, without the cost of small arrays."""
        out: list[Any] = []
        for column, (value, (low, high)) in enumerate(zip(row, self._limits, strict=True)):
            p = self.parameters[column]
            if not low <= value <= high:
                raise SuggestionError(self._complaint(0, column, value))
            if p.type == "real" and p.values is None:
                out.append(value)
                continue
            if (p.type != "real" and value != int(value)) or (
                p.warp is not None and p.values and value not in p.values
            ):
                raise SuggestionError(self._complaint(0, column, value))
            out.append(value if p.type == "real" else int(value) if p.warp is not None else p.values[int(value)])  # type: ignore[index]
        return out

    def _complaint(self, row: int, column: int, value: float) -> str:
        parameter = self.parameters[column]
        if parameter.type in ("bool", "cat", "ordinal"):
            return f"point {row}: {parameter.name} = {value!r} is not an index into {parameter.values}"
        try:
            parameter.encode(value)
        except SuggestionError as error:
            return f"point {row}: {error}"
        return f"point {row}: {parameter.name} = {value!r} is outside its range"


def _short(value: Any) -> str:
    """A value in an error message: never long, and whatever its repr does."""
    try:
        text = printable(repr(value))
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "…"
