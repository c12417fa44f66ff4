"""What the page shows of results: the report's own payload, for what a reader chose, made once per version of the data.

While a run goes on, verdicts come from its complete rounds by intervals that hold at every look (docs/scores.md 6).
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import msgspec

from optarena.errors import OptarenaError
from optarena.facade import Results
from optarena.report.material import Material
from optarena.report.page import further, joined, opening, page_of
from optarena.serve.choice import Choice, offered
from optarena.serve.rounds import complete_rounds, going_on, pairs_of, race_rounds, without_round
from optarena.serve.sides import sides
from optarena.store import RunFile
from optarena.views._options import view_named

ALONE = "The 95 % are for the chosen problems alone: who looks at many choices finds more than there is."
"""What is said of a choice of problems while a run goes on."""
KEPT = 16
"""Pages that are kept, of the newest version of the data."""
BEGUN = 2
"""Pages whose first part is made and whose rest is not, of which the material is kept."""


class Pages:
    """The results as they were at one look, and the pages that were made of them."""

    def __init__(self, version: int, results: Results, live: Sequence[RunFile]) -> None:
        self.version, self.results, self.live = version, results, list(live)
        self.going = going_on(results, live)
        self.seconds = 0.0
        """CPU seconds that the page of everything took."""
        self._made: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._begun: OrderedDict[str, Material] = OrderedDict()
        self._lock, self._keeping = threading.Lock(), threading.Lock()
        # one part of a page is made while another is: an answer does not wait for the rest of the page before
        self._locks = {"first": self._lock, "rest": threading.Lock()}
        self._whole: Material | None = None
        self._offered: dict[str, list[str]] | None = None

    def __del__(self) -> None:
        """When the last reader is done: what is frozen would never be collected (see `Hub`)."""
        for material in [*self._begun.values(), *([self._whole] if self._whole is not None else [])]:
            material.forget()

    @cached_property
    def sides(self) -> list[dict[str, str]]:
        """The runs, versions and stores that can be compared with each other."""
        return sides(self.results)

    def data(self, choice: Choice) -> bytes:
        """The page's data as JSON: the report's, what can be chosen, and whether it is of a run that goes on."""
        first = msgspec.json.decode(self.first(choice))
        if first["report"]:
            first["report"] = joined(first["report"], msgspec.json.decode(self.rest(choice)))
        return msgspec.json.encode({**first, "more": False})

    def first(self, choice: Choice) -> bytes:
        """The same with the first section of the report, the answer; `more`: whether others follow, see `rest`."""
        return self._once("first", choice, self._first)

    def rest(self, choice: Choice) -> bytes:
        """The sections of the report that `first` leaves out, and their data sets, as JSON."""
        return self._once("rest", choice, self._rest)

    def _once(self, part: str, choice: Choice, make: Callable[[Choice], bytes]) -> bytes:
        key = (part, choice.query)
        with self._locks[part]:
            found = self._made.get(key)
            if found is None:
                began = time.thread_time()
                found = make(choice)
                if not choice:
                    self.seconds += time.thread_time() - began
            with self._keeping:
                self._made[key] = found
                self._made.move_to_end(key)
                while len(self._made) > 2 * KEPT:
                    self._made.popitem(last=False)
        return found

    def _first(self, choice: Choice) -> bytes:
        if self._offered is None:
            self._offered = offered(self.results)
        head: dict[str, Any] = {"version": self.version, "live": bool(self.live), "offered": self._offered}
        report, why = None, "" if self.results.studies.height else "Nothing has been run here yet."
        try:
            if not why:
                material = self._material(choice)
                report = opening(material)
                self._begun[choice.query] = material
                while len(self._begun) > BEGUN:
                    self._drop(self._begun.popitem(last=False)[1])
        except OptarenaError as error:
            why = str(error)
        return msgspec.json.encode({**head, "report": report, "why": why, "more": report is not None})

    def _rest(self, choice: Choice) -> bytes:
        with self._lock:
            material = self._begun.pop(choice.query, None) or self._material(choice)
        made = msgspec.json.encode(further(material))
        self._drop(material)
        return made

    def file(self, choice: Choice) -> str:
        """The same view as one file that works offline."""
        with self._lock:
            made = page_of(material := self._material(choice))
            self._drop(material)
        return made

    def _drop(self, material: Material) -> None:
        """It was shown; the material of everything stays, since choices are measured by it."""
        if material is not self._whole:
            material.forget()

    def whole(self) -> Material:
        """What the page of everything is made of."""
        with self._lock:
            return self._material(Choice())

    def _material(self, choice: Choice) -> Material:
        if not choice:
            if self._whole is None:
                self._whole = self._of(self.results, choice, {})
            return self._whole
        part = choice.apply(self.results)
        whole = self._material(Choice())
        frame = None if whole.fixed_cost is None else whole.fixed_cost.pinned
        # one scale on every screen: random search is the baseline, whether it is chosen or not
        return self._of(part, choice, {} if frame is None else {"fixed_cost": {"frame": frame}})

    def _of(self, part: Results, choice: Choice, options: dict[str, Any]) -> Material:
        comparing: dict[str, Any] = {}
        if choice.optimizer and (made := self._material(Choice()).comparison) is not None:
            comparing["view"] = view_named(made.scores.view)  # that of all
        if not self.going:
            return Material(part, options, comparing)
        wanted = choice.planned(self.results)
        said = [self.going.said]
        try:
            if (race := self.going.race) is not None:
                # of all optimizers: the level is that of all pairs, and who is in a round follows from those before
                every = replace(choice, optimizer=()).apply(self.results)
                decided = race_rounds(every, race, wanted)
                here = set(decided.studies["optimizer"])
                comparing = (
                    {
                        "optimizers": [
                            name for name in part.studies["optimizer"].unique(maintain_order=True) if name in here
                        ]
                    }
                    if choice.optimizer
                    else {}
                )
            else:
                decided = complete_rounds(part, self.going.plain, wanted)
                comparing["tests"] = pairs_of(self.results, self.going.plain)
                said.append(without_round(decided, self.going.plain, wanted))
        except OptarenaError as error:
            return Waiting(part, options, str(error), self.going.said)
        if any((choice.problem, choice.suite, choice.dimension, choice.setting, choice.tag)):
            said.append(ALONE)
        return Material(part, options, {**comparing, "sequence": True}, decided, going=" ".join(filter(None, said)))


class Waiting(Material):
    """Of a run that has no complete round: nothing is decided."""

    def __init__(self, results: Results, options: dict[str, Any], why: str, going: str) -> None:
        super().__init__(results, options, going=going)
        self.__dict__["_compared"] = (None, why)
