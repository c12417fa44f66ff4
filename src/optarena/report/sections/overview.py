"""The first screen: the answer, the leaderboard with who beats whom, and the figure that says most."""

from __future__ import annotations

from dataclasses import replace

from optarena.comparison import Comparison
from optarena.comparison.words import coverage, first_lines, further_warnings, undecided
from optarena.errors import OptarenaError
from optarena.report.boards.answer import scoped
from optarena.report.figures import is_log
from optarena.report.material import ALL, Material
from optarena.report.scales import scales_of
from optarena.report.sections._section import Content, Pair, add_figure, look_of, spec_of
from optarena.report.sections.problems import points_of, shared
from optarena.report.tables import Drawing
from optarena.report.trials import trials_of
from optarena.views._options import view_named

FIRST = {"fixed-cost": "normalised", "fixed-target": "ecdf", "pareto": "hypervolume", "anytime": "curves"}
"""The figure beside the answer, by the view that answers."""


def overview_section(material: Material) -> Content:
    made = material.comparison
    if made is None:
        return _without_answer(material)
    answers = material.answers
    out = Content(scoped={scope: opening(one, scope, material.going) for scope, one in answers.items()})
    if made.overall is not None:
        board, scopes = scoped({scope: one for scope, one in answers.items() if one.overall is not None})
        note = f"Score: {made.scale}. ▲ better, ▼ worse, ≈ equivalent, ? undecided."
        comment = [made.scores.what, f"frame {made.frame.get('hash', '')}"]
        board = board.so_far() if material.running else board
        table = board.table("answer", "Who beats whom: P(row beats column)", scopes=scopes, note=note, comment=comment)
        out.blocks.append({"kind": "answer", "table": table.to_data(), "trials": trials_of(made)})
    if figure := shown_first(material):
        add_figure(material, figure, out, metric=made.scores.metric if figure == "normalised" else None)
        shown = [block.figures[0] if isinstance(block, Pair) else block for block in out.blocks[:2]]
        if figure != "normalised":  # it stands in its own section too
            shown = [replace(block, id="first") if isinstance(block, Drawing) else block for block in shown]
        out.blocks = shown
    return out


def doubts(material: Material) -> dict[str, list[str]]:
    """What stands below the answer, by scope: warnings, and what is undecided."""
    if material.comparison is None:
        return {}
    return {scope: warnings(one) for scope, one in material.answers.items()}


def answering_view(material: Material) -> str:
    """The view of the first screen, by its name in Python; nothing where nothing can be compared."""
    made = material.comparison
    return "" if made is None else view_named(made.scores.view)


PROVISIONAL = "A run continues: these numbers are provisional."


def shown_first(material: Material) -> str:
    """The figure on the first screen; nothing where no view answers."""
    made = material.comparison
    if made is None:
        return ""
    if made.scores.view == "anytime" and material.must("anytime").mode != "exact":
        return "boxes"
    return FIRST.get(made.scores.view, "")


def opening(made: Comparison, scope: str = ALL, going: str = "") -> list[str]:
    """What to use, on what, and what failed. going: what is to be said of a run that goes on."""
    found = made.answer
    part = "" if scope == ALL else f" of dimension {scope}"
    said = going or (PROVISIONAL if made.frame.get("provisional") else "")
    return [found.headline, f"{coverage(found)}{part}; {found.view}.", *filter(None, [said]), *first_lines(found)]


def warnings(made: Comparison) -> list[str]:
    """What to watch out for, what is undecided, and the answers to other kinds of problems."""
    found = made.answer
    shown, hidden = further_warnings(found)
    out = [f"Watch out: {text}" for text in shown]
    left = len(hidden)
    out += [f"{left} more {'warning is' if left == 1 else 'warnings are'} in the section Method."] if left > 0 else []
    out += [f"Undecided: {' '.join(told)}"] if (told := undecided(made)) else []
    out += [f"Race: {made.race.sentences[0]}"] if made.race is not None else []
    return out + [f"By {other.scores.view}: {other.answer.headline}" for other in made.others]


def _without_answer(material: Material) -> Content:
    """What the first screen shows where nothing can be compared: why, and one problem's curves."""
    if not material.results.studies.height:
        return Content(scoped={ALL: ["Nothing has been run here yet."]})
    why = material.why_no_comparison
    out = Content(scoped={ALL: [f"There is no comparison: {why}.", "The sections below show what there is."]})
    return _curves(material, out)


def _curves(material: Material, out: Content) -> Content:
    """One problem's curves."""
    from optarena.report.drawing.runs import MEASURES, STATISTICS, convergence

    try:
        table = shared(material, material.convergence("evaluations", points_of(material)))
    except OptarenaError:  # no study has one objective and a value; the words above say what is there
        return out
    if not table.height:  # nor has any of those whose curves the page holds
        return out
    name = table["problem"][0]
    way = scales_of(table)[name]
    log_effort = is_log("evaluations", float(table["effort"].max() or 0))  # type: ignore[arg-type]
    spec = convergence(
        "convergence evaluations",
        look_of(material),
        statistic="median",
        effort="evaluations",
        measure=MEASURES[way["measure"]],
        log=way["log"],
        floor=way["floor"],
        log_effort=log_effort,
    )
    out.datasets["convergence evaluations"] = table.drop("measure")
    out.blocks.append(
        Drawing(
            "first",
            name,
            f"The best value so far, {STATISTICS['median'][3]}.",
            f"Line chart of the best value so far on {name}, one line per optimizer; its section has the numbers.",
            spec_of(spec),
            "convergence evaluations",
            problem=name,
        )
    )
    return out
