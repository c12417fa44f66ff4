"""The pictures of docs/images that explain a score: drawn from a few numbers, by the functions of the scores.

make pictures        # these too
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from optarena.stats.sequences import sequence
from optarena.views.anytime import primal_gap, primal_integral
from optarena.views.fixed_target import ecdf, runtimes
from optarena.views.pareto import hypervolume

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from pages import smaller

IMAGES = Path(__file__).parent / "images"
BLUE, ORANGE, GREY = "#4c78a8", "#e45756", "#888888"


def main() -> None:
    drawn = {
        "runtimes": runtimes_and_ecdf(),
        "hypervolume": area_of_a_front(),
        "igd": distances_to_a_front(),
        "primal-integral": area_of_a_gap(),
        "duels": duels(),
        "sequence": narrowing_intervals(),
    }
    for name, chart in drawn.items():
        path = IMAGES / f"{name}.svg"
        chart.configure(background="white", font="sans-serif").save(path)
        path.write_text(smaller(path.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"{path} ({path.stat().st_size / 1e3:.0f} kB)")


def runtimes_and_ecdf() -> alt.HConcatChart:
    """Two runs cross two targets; each crossing is a step of the ECDF (docs/scores.md 2.3 and 2.6)."""
    runs = {"first run": [90, 40, 40, 8, 8, 3, 0.5, 0.5], "second run": [60, 60, 20, 20, 5, 5, 5, 2]}
    targets = [10.0, 1.0]
    lines = [(name, t, y) for name, values in runs.items() for t, y in enumerate(values, 1)]
    hits = {name: runtimes(values, targets) for name, values in runs.items()}
    marks = [(name, float(t), y) for name, found in hits.items() for t, y in zip(found, targets, strict=True)]
    curves = _frame(lines, "run", "evaluation", "precision")
    x = alt.X("evaluation:Q", title="evaluations", scale=alt.Scale(domain=[1, 9], nice=False))
    y = alt.Y("precision:Q", scale=alt.Scale(type="log"), title="best precision so far")
    colour = alt.Color("run:N", scale=alt.Scale(range=[BLUE, ORANGE]), legend=alt.Legend(orient="top", title=None))
    left = alt.layer(
        alt.Chart(_frame([(t,) for t in targets], "precision")).mark_rule(color=GREY, strokeDash=[4, 3]).encode(y=y),
        alt.Chart(curves).mark_line(interpolate="step-after").encode(x=x, y=y, color=colour),
        alt.Chart(_frame([m for m in marks if np.isfinite(m[1])], "run", "evaluation", "precision"))
        .mark_point(filled=True, size=70, opacity=1)
        .encode(x=x, y=y, color=colour),
    )
    at = list(range(1, 10))
    steps = _frame(list(zip(at, ecdf(list(hits.values()), at), strict=True)), "evaluation", "fraction")
    right = (
        alt.Chart(steps)
        .mark_line(interpolate="step-after", color="black")
        .encode(x=x, y=alt.Y("fraction:Q", title="fraction of (run, target) reached", scale=alt.Scale(domain=[0, 1])))
    )
    return alt.hconcat(left.properties(width=280, height=190), right.properties(width=280, height=190))


def area_of_a_front() -> alt.LayerChart:
    """The area that a front dominates, up to the reference point (docs/scores.md 3.5)."""
    front, reference = [(0.1, 0.8), (0.3, 0.4), (0.8, 0.1)], (1.1, 1.1)
    ends = [*(x for x, _ in front[1:]), reference[0]]
    boxes = [(x, y, end, reference[1]) for (x, y), end in zip(front, ends, strict=True)]
    volume = hypervolume(front, reference)
    x, y = _axis(alt.X, "x", "first objective"), _axis(alt.Y, "y", "second objective")
    return alt.layer(
        alt.Chart(_frame(boxes, "x", "y", "x2", "y2"))
        .mark_rect(color=BLUE, opacity=0.25)
        .encode(x=x, y=y, x2="x2", y2="y2"),
        alt.Chart(_frame(front, "x", "y")).mark_point(filled=True, size=80, color=BLUE, opacity=1).encode(x=x, y=y),
        _text(0.7, 0.75, f"hypervolume: {volume:.0%} of a unit square"),
        alt.Chart(_frame([reference], "x", "y")).mark_point(shape="cross", size=90, color=ORANGE).encode(x=x, y=y),
        _text(1.08, 1.15, "reference point", align="right"),
    ).properties(width=300, height=250)


def distances_to_a_front() -> alt.LayerChart:
    """From each point of the reference set to the nearest of a front: all of it, and what is worse (3.6)."""
    reference = [(0.0, 1.0), (0.15, 0.6), (0.4, 0.3), (0.7, 0.1), (1.0, 0.0)]
    front = [(0.25, 0.75), (0.6, 0.35), (0.9, 0.2)]
    lines = []
    for r in reference:
        worse = [np.maximum(np.subtract(a, r), 0.0) for a in front]
        nearest = int(np.argmin([np.hypot(*away) for away in worse]))
        lines.append((*r, *np.add(r, worse[nearest])))
    x, y = _axis(alt.X, "x", "first objective"), _axis(alt.Y, "y", "second objective")
    return alt.layer(
        alt.Chart(_frame(lines, "x", "y", "x2", "y2")).mark_rule(color=GREY).encode(x=x, y=y, x2="x2", y2="y2"),
        alt.Chart(_frame(reference, "x", "y")).mark_point(filled=True, size=60, color=GREY, opacity=1).encode(x=x, y=y),
        alt.Chart(_frame(front, "x", "y")).mark_point(filled=True, size=80, color=BLUE, opacity=1).encode(x=x, y=y),
        _text(0.93, 0.27, "front", color=BLUE),
        _text(0.03, 0.42, "reference set", color=GREY, align="left"),
    ).properties(width=300, height=250)


def area_of_a_gap() -> alt.LayerChart:
    """The gap of a run over time; the area below it is the primal integral (4.5 and 4.6)."""
    times, values, best, end = [2.0, 6.0], [100.0, 50.0], 50.0, 10.0
    steps = [(0.0, 1.0), *((t, primal_gap(v, best)) for t, v in zip(times, values, strict=True))]
    curve = _frame([*steps, (end, steps[-1][1])], "t", "gap")
    area = primal_integral(times, values, best, end=end)
    x = alt.X("t:Q", title="seconds", scale=alt.Scale(domain=[0, end], nice=False))
    y = alt.Y("gap:Q", title="primal gap", scale=alt.Scale(domain=[0, 1.1], nice=False))
    base = alt.Chart(curve)
    return alt.layer(
        base.mark_area(interpolate="step-after", color=BLUE, opacity=0.25).encode(x=x, y=y),
        base.mark_line(interpolate="step-after", color=BLUE).encode(x=x, y=y),
        alt.Chart(_frame([(0.4, 0.25, f"integral {area:g}")], "t", "gap", "said"))
        .mark_text(align="left")
        .encode(x=x, y=y, text="said:N"),
    ).properties(width=380, height=180)


def duels() -> alt.LayerChart:
    """Every trial of one optimizer against every trial of another, on one problem (5.3)."""
    a, b = [0.9, 1.4, 1.7, 3.0], [1.2, 2.0, 2.6, 3.5]
    won = [(f"{x:g}", f"{y:g}", "A is better" if x < y else "B is better") for x in a for y in b]
    share = float(np.mean([x < y for x in a for y in b]))
    base = alt.Chart(_frame(won, "a", "b", "said")).encode(
        x=alt.X("b:N", title="trials of B (value, less is better)", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("a:N", title="trials of A"),
    )
    colour = alt.Color(
        "said:N", scale=alt.Scale(range=[BLUE, "#dddddd"]), legend=alt.Legend(title=None, orient="bottom")
    )
    return alt.layer(base.mark_rect(stroke="white", strokeWidth=2).encode(color=colour)).properties(
        width=240, height=200, title=f"A wins {share * len(won):g} of {len(won)} duels: {share:.0%}"
    )


def narrowing_intervals() -> alt.LayerChart:
    """An interval that holds at every look, round by round, where one wins about 72 % of the duels (6.3)."""
    rng = np.random.default_rng(5)
    values = (rng.random((1, 24, 8)) < 0.72).astype(float)
    found = [(n, sequence(values[:, :n], np.ones(8))) for n in range(1, 25)]
    rows = [(n, float(one.value[0]), float(one.lower[0]), float(one.upper[0])) for n, one in found]
    base = alt.Chart(_frame(rows, "round", "mean", "low", "high"))
    x = alt.X("round:Q", title="rounds (each of 8 problems)", scale=alt.Scale(domain=[1, 24], nice=False))
    y = alt.Y("low:Q", title="probability of improvement", scale=alt.Scale(domain=[0, 1]))
    return alt.layer(
        base.mark_area(color=BLUE, opacity=0.25).encode(x=x, y=y, y2="high:Q"),
        base.mark_line(color=BLUE).encode(x=x, y="mean:Q"),
        alt.Chart(_frame([(0.5,)], "low")).mark_rule(color=GREY, strokeDash=[4, 3]).encode(y=y),
    ).properties(width=380, height=190)


def _frame(rows: list[Any], *names: str) -> pl.DataFrame:
    return pl.DataFrame(rows, list(names), orient="row")


def _axis(kind: Any, name: str, title: str) -> Any:
    return kind(f"{name}:Q", title=f"{title} (less is better)", scale=alt.Scale(domain=[0, 1.2], nice=False))


def _text(x: float, y: float, said: str, *, color: str = "black", align: str = "center") -> alt.Chart:
    mark = alt.Chart(_frame([(x, y, said)], "x", "y", "said")).mark_text(color=color, align=align, fontSize=12)
    return mark.encode(x="x:Q", y="y:Q", text="said:N")


if __name__ == "__main__":
    main()
