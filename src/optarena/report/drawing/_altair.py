"""Our charts as Altair's, which show themselves in a notebook and can be changed there."""

from __future__ import annotations

from typing import Any

import altair as alt
from altair.utils.schemapi import debug_mode

from optarena.report.drawing._vega import Chart

KINDS: dict[str, Any] = {
    "layer": alt.LayerChart,
    "facet": alt.FacetChart,
    "concat": alt.ConcatChart,
    "hconcat": alt.HConcatChart,
    "vconcat": alt.VConcatChart,
}


def altair_chart(chart: Chart) -> Any:
    """The same chart as Altair makes it of a specification."""
    spec = chart.to_dict()
    kind = next((KINDS[key] for key in spec if key in KINDS), alt.Chart)
    with debug_mode(False):  # it would check every piece
        return kind.from_dict(spec, validate=False)
