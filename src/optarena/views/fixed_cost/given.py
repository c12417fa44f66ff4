"""Whether a baseline that was given fits the studies that are to be scored by it."""

from __future__ import annotations

from optarena._bayesmark_names import bayesmark_name
from optarena.errors import OptarenaError
from optarena.store.signatures import TOLERANCE, relative_gap
from optarena.views.fixed_cost.baseline import BAYESMARK, Frame
from optarena.views.fixed_cost.curves import Curves


def check(given: Frame, every: Curves, bootstrap: int) -> list[str]:
    """Refuse a frame that contradicts the studies, or what is asked; what could not be checked, in words."""
    if bootstrap:
        raise OptarenaError("with a given frame there is no random search to resample: leave --bootstrap out")
    mode = given.facts.get("mode", every.mode)
    if mode != every.mode:
        raise OptarenaError(f"the frame was made in mode {mode}, but scores were requested in mode {every.mode}")
    up = {name for name, sign in zip(every.problems, every.sign, strict=True) if sign < 0}
    theirs = {name for base in given.metrics.values() for name in base.problems}
    wrong = sorted((up ^ set(given.facts.get("maximised", []))) & theirs & set(every.problems))
    if wrong:
        raise OptarenaError(f"{wrong[0]} is maximised in the frame and minimised in the store, or the other way round")
    if given.facts.get("source") == BAYESMARK and every.mode == "exact" and len(every.results.metrics):
        every.notes.append(
            "Bayesmark's baselines of hidden metrics are those of an oracle: random search scores over 1"
        )
    if given.axis != every.axis:
        raise OptarenaError(f"the frame is by {given.axis}, but scores were requested by {every.axis}")
    return [*_check_batch(given, every), *_check_signatures(given, every, theirs)]


def _check_batch(given: Frame, every: Curves) -> list[str]:
    size = int(every.size.max())
    if given.axis != "batches" or given.batch == size:
        return []
    if given.batch is None:
        return [f"the baseline does not state its batch size: not checked (the studies have batches of {size})"]
    raise OptarenaError(f"the frame is for batches of {given.batch}, the studies have batches of {size}")


def _check_signatures(given: Frame, every: Curves, theirs: set[str]) -> list[str]:
    """The same points must give the same values on the problems that the frame and the studies share."""
    recorded = given.facts.get("signatures") or {}
    ours = {
        name: signature
        for name, signature in every.signatures().items()
        if name in theirs or bayesmark_name(name) in theirs
    }
    silent = []
    for name, signature in ours.items():
        other = recorded.get(name) or recorded.get(bayesmark_name(name))
        if not other:
            silent.append(name)
        elif relative_gap(other, signature) > TOLERANCE:
            raise OptarenaError(
                f"the signature of {name} differs between the baseline and the studies: the same points give different"
                " values, so these are two problems; use a baseline that was made with the same version of it"
            )
    if not silent:
        return []
    where = silent[0] if len(silent) == 1 else f"{len(silent)} problems ({', '.join(silent[:3])}, …)"
    return [f"the baseline has no signature of {where}, so whether it is for the same problems was not checked"]
