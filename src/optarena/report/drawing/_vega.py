"""Vega-Lite charts as plain data, with Altair's words. Altair takes long to import, and copies every layer many times.

>>> from optarena.report.drawing import _vega as vl
>>> vl.Chart({"name": "rows"}).mark("point", size=3).encode(x=vl.Field("effort:Q", title="time")).to_dict()["encoding"]
{'x': {'field': 'effort', 'title': 'time', 'type': 'quantitative'}}

Nothing is checked here: our tests let Altair check every figure against Vega-Lite's schema.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.4.1.json"
TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal"}
FIELD = re.compile(r"(?:(?P<aggregate>\w+)\()?(?P<field>\w+)\)?:(?P<type>[QNO])")

MANY = ("layer", "concat", "hconcat", "vconcat")
"""Ways to hold several charts."""
UNIT = ("data", "mark", "facet", "spec")
"""What comes first in the specification of any other."""

Data: TypeAlias = dict[str, str] | list[dict[str, Any]]
"""The rows, or `{"name": …}` of a data set that the page holds."""


class Part(dict[str, Any]):
    """A part of a chart, as Vega-Lite's documentation describes it."""

    def __init__(self, **given: Any) -> None:
        super().__init__(sorted(given.items()))


class Axis(Part):
    pass


class Scale(Part):
    pass


class Legend(Part):
    pass


class Header(Part):
    """Of the panels of a facet."""


class Sort(Part):
    """An order by another field."""


class Field(Part):
    """What a channel shows: `effort:Q`, or `min(effort):Q`. Q: quantitative, N: nominal, O: ordinal."""

    def __init__(self, field: str, **given: Any) -> None:
        found = FIELD.fullmatch(field)
        if found is None:
            raise ValueError(f"{field!r} is not a field with its type")
        parts = {name: part for name, part in found.groupdict().items() if part is not None}
        super().__init__(**{**parts, "type": TYPES[parts["type"]]}, **given)


def step(size: int, **given: Any) -> dict[str, Any]:
    """A width or height: so much for each value of a discrete scale."""
    return {"step": size, **given}


def title(text: str, **given: Any) -> dict[str, Any]:
    return {"text": text, **Part(**given)}


def condition(test: str, then: Any, otherwise: Any) -> dict[str, Any]:
    """A channel with a value where the test holds, and another value or a field elsewhere."""
    chosen = {"condition": {"test": test, "value": then}}
    return {**chosen, **otherwise} if isinstance(otherwise, Field) else {**chosen, "value": otherwise}


class Chart:
    """A chart, or several: layers, panels, charts side by side. Never changed: methods give another one."""

    def __init__(self, data: Data | None = None, **spec: Any) -> None:
        self.spec = spec if data is None else {"data": data, **spec}

    def having(self, **spec: Any) -> Chart:
        """The same with other properties, such as its title."""
        return Chart(**{**self.spec, **spec})

    def mark(self, kind: str, **given: Any) -> Chart:
        return self.having(mark={"type": kind, **Part(**given)})

    def encode(self, **channels: Any) -> Chart:
        """A channel shows a field (or its text), several fields, a value on a `condition`, or nothing (None)."""
        shown = {name: Field(one) if isinstance(one, str) else one for name, one in channels.items()}
        for name in shown.keys() & {"x2", "y2"}:  # of the type of x or y
            shown[name] = {key: value for key, value in shown[name].items() if key != "type"}
        every = {**self.spec.get("encoding", {}), **shown}
        return self.having(encoding=Part(**{name: one for name, one in every.items() if one is not None}))

    def transform(self, **one: Any) -> Chart:
        return self.having(transform=[*self.spec.get("transform", ()), one])

    def facet(self, field: Field | dict[str, Field], **given: Any) -> Chart:
        """The same chart for each value of a field; or for those of two, as a `row` and `column` each."""
        return Chart(self.spec["data"], facet=field, spec=self.having(data=None), **given)

    def to_dict(self) -> dict[str, Any]:
        """The complete specification: charts name their rows, which are there once."""
        datasets: dict[str, Any] = {}
        spec = {**self._named(datasets), "$schema": SCHEMA}
        return {**spec, "datasets": datasets} if datasets else spec

    def _named(self, datasets: dict[str, Any]) -> dict[str, Any]:
        """The specification without rows, which are added to `datasets` by the name that they give themselves."""
        out = {}
        first = next(([key] for key in MANY if key in self.spec), UNIT)
        for key in ["config", *first, *sorted(self.spec.keys() - first - {"config"})]:
            value = self.spec.get(key)
            if value is None:
                continue
            if key == "data" and isinstance(value, list):
                name = f"data-{hashlib.sha256(msgspec.json.encode(value, order='sorted')).hexdigest()[:32]}"
                datasets[name] = value
                value = {"name": name}
            elif isinstance(value, Chart):
                value = value._named(datasets)
            elif key in MANY:
                value = [one._named(datasets) for one in value]
            out[key] = value
        return out


def layer(*charts: Chart) -> Chart:
    """One above the other."""
    return together("layer", charts)


def together(way: str, charts: Sequence[Chart], **given: Any) -> Chart:
    """Several as one, in one of the ways `MANY`; rows that all share are named once."""
    data = charts[0].spec.get("data")
    if data is not None and all(one.spec.get("data") is data for one in charts):
        return Chart(data, **{way: [one.having(data=None) for one in charts]}, **given)
    return Chart(None, **{way: list(charts)}, **given)
