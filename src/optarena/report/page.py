"""The report: one HTML file with all it needs inside, under a strict content-security policy.

All that comes from a store is JSON in a block of its own; the page's script puts it on the page as text.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from optarena._files import remove_abandoned_beside, write_atomically
from optarena._memory import no_collection
from optarena._text import mailable, visible
from optarena._version import __version__
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.report import words
from optarena.report.bundle import PARTS, vega_bundle
from optarena.report.drawing._style import config
from optarena.report.library import vl_convert
from optarena.report.material import Material, framed
from optarena.report.sections import SECTIONS, Pair, Section
from optarena.report.tables import Drawing, Table, dataset, plain, without_places
from optarena.views._view import View

SCRIPTS = (*PARTS, "start.js")
"""With how a file begins."""


ViewOptions: TypeAlias = Mapping[str, Mapping[str, Any] | View]
"""The options of views, or views that are scored already, by the view's name."""


def write_report(results: Dataset, path: str | Path, options: ViewOptions | None = None) -> Path:
    """Write the report of a store; returns where it is."""
    path = Path(path)
    if path.is_dir():
        raise OptarenaError(f"{path} is a directory: name a file, as {path / 'report.html'}")
    vl_convert()  # before it is worked for
    remove_abandoned_beside(path)
    write_atomically(path, page(results, options).encode())
    return path


@no_collection()
def page(results: Dataset, options: ViewOptions | None = None) -> str:
    """The complete file as text."""
    views = {name: view for name, view in (options or {}).items() if isinstance(view, View)}
    given = {name: some for name, some in (options or {}).items() if not isinstance(some, View)}
    for name, view in views.items():
        if view.results is not results or view.name.replace("-", "_") != name:
            raise OptarenaError(f"{name}: not a {name} view of the studies of this report; give its options instead")
    return page_of(Material(results, given, None, None, "", **views))


def page_of(material: Material) -> str:
    """The same of what was chosen and scored before."""
    return _html("page.html", SCRIPTS, payload(material))


def figure_page(spec: dict[str, Any]) -> str:
    """A page with one chart."""
    return _html("figure.html", ("embed.js", "figure.js"), {"spec": spec})


def payload(material: Material) -> dict[str, Any]:
    """All that the page shows, as plain data."""
    return joined(opening(material), further(material))


def joined(first: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    """What `opening` and `further` give, together."""
    sections = [{**first["sections"][0], "after": rest["after"]}, *rest["sections"]]
    return {**first, "datasets": {**first["datasets"], **rest["datasets"]}, "sections": sections}


def further(material: Material) -> dict[str, Any]:
    """What `opening` leaves out: what stands below the first section, the other sections, and their data sets."""
    return {"after": _after(material, SECTIONS[0]), **_sections(material, SECTIONS[1:])}


def _after(material: Material, section: Section) -> dict[str, list[str]]:
    hosts = material.results.hosts
    return {
        scope: [visible(mailable(text, hosts)) for text in texts] for scope, texts in section.after(material).items()
    }


def _sections(material: Material, wanted: Sequence[Section]) -> dict[str, Any]:
    names = {
        "optimizer": material.ranking,
        "problem": material.problems["problem"].to_list(),
        "function": material.functions["name"].to_list(),
    }
    hosts = material.results.hosts
    sections: list[dict[str, Any]] = []
    datasets: dict[str, Any] = {}

    def said(text: str) -> str:
        return visible(mailable(text, hosts))

    for section in wanted:
        reason = section.absent(material)
        if reason == "-":
            continue
        part: dict[str, Any] = {"id": section.id, "title": section.title, "help": section.help, "absent": said(reason)}
        if not reason:
            content = section.content(material)
            view = section.view_of(material)
            part["frame"] = framed(material.must(view)) if view and not material.why_no(view) else ""
            part["words"] = [said(text) for text in content.words]
            part["scoped"] = {scope: [said(text) for text in texts] for scope, texts in content.scoped.items()}
            part["after"] = {}
            part["blocks"] = [
                without_places(block, hosts).to_data()
                if isinstance(block, Table)
                else block.to_data()
                if isinstance(block, (Drawing, Pair))
                else block
                for block in content.blocks
            ]
            for name, table in content.datasets.items():
                datasets[name] = dataset(table, names)
        sections.append(part)
    return {"datasets": datasets, "sections": sections}


def opening(material: Material) -> dict[str, Any]:
    """What the page needs to show anything, and its first section: the answer."""
    material.comparison  # noqa: B018 (the ranking is that of the answer)
    colours = material.colours
    looks = {
        name: {"name": plain(name), "colour": colour, "dash": list(dash), "shape": shape}
        for name, colour, dash, shape in zip(
            colours.names, colours.colours, colours.dashes, colours.shapes, strict=True
        )
    }
    here = set(material.results.studies["optimizer"].unique())
    return {
        "version": __version__,
        "store": plain(material.results.path.resolve().name),
        "counts": words.describe_counts(material),
        "optimizers": [looks[name] for name in material.ranking],
        "present": [plain(name) for name in material.ranking if name in here],
        "problems": [
            {"name": plain(row["problem"]), "dimension": row["dimension"]}
            for row in material.problems.iter_rows(named=True)
        ],
        "functions": [
            {"name": plain(name), "problems": [plain(one) for one in problems]}
            for name, problems in material.functions.select("name", "problems").iter_rows()
        ],
        "dimensions": material.dimensions,
        "config": {**config(), "background": "transparent"},  # the page draws charts on its own
        **_sections(material, SECTIONS[:1]),
    }


def _html(template: str, scripts: Sequence[str], data: dict[str, Any]) -> str:
    here = files("optarena.report")
    style = (here / "static" / "page.css").read_text(encoding="utf-8")
    code = "\n".join((here / "static" / script).read_text(encoding="utf-8") for script in scripts)
    vega = vega_bundle()
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"script-src {_hash(code)} {_hash(vega)}; style-src {_hash(style)}"
    )
    # JSON in a page: no tag can begin in it, whatever the names are
    text = msgspec.json.encode(data).decode().replace("<", "\\u003c").replace("\u2028", "\\u2028")
    parts = {"POLICY": policy, "STYLE": style, "DATA": text, "VEGA": vega, "SCRIPT": code}
    pieces = (here / "templates" / template).read_text(encoding="utf-8").split("%%")
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
