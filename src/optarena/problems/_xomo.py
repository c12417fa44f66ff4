"""XOMO: effort, months, defects and risk of a software project by its cost drivers, all to be minimised.

Sources. Effort and months: COCOMO II.2000 (Boehm et al., Software Cost Estimation with COCOMO II, 2000, tables 2.10 to
2.34). Defects: COQUALMO (Chulani & Boehm 1999; Boehm et al. 2000, chapter 5), for what removes defects with its table;
how a driver changes the introduction of defects is linear with the middle of the slopes that Menzies et al. give
("Can we build software faster and better and cheaper?", PROMISE 2009). Risk: Madachy's pairs of drivers ("Heuristic
risk assessment using cost factors", IEEE Software 1997) with the points of XOMO. Projects: the case studies of NASA's
Jet Propulsion Laboratory of the same papers, as in Krall, Menzies & Davies ("GALE", IEEE TSE 2015).

Ratings are 1 (very low), 2 (low), 3 (nominal), 4 (high), 5 (very high), 6 (extra high).
"""

from __future__ import annotations

from collections.abc import Mapping

SCALE_FACTORS = {
    "prec": (6.20, 4.96, 3.72, 2.48, 1.24),
    "flex": (5.07, 4.05, 3.04, 2.03, 1.01),
    "resl": (7.07, 5.65, 4.24, 2.83, 1.41),
    "team": (5.48, 4.38, 3.29, 2.19, 1.10),
    "pmat": (7.80, 6.24, 4.68, 3.12, 1.56),
}
"""By rating from 1; the sixth rating is 0 in COCOMO II and in no project."""
EFFORT_MULTIPLIERS: dict[str, tuple[float | None, ...]] = {
    "rely": (0.82, 0.92, 1.00, 1.10, 1.26),
    "data": (None, 0.90, 1.00, 1.14, 1.28),
    "cplx": (0.73, 0.87, 1.00, 1.17, 1.34, 1.74),
    "ruse": (None, 0.95, 1.00, 1.07, 1.15, 1.24),
    "docu": (0.81, 0.91, 1.00, 1.11, 1.23),
    "time": (None, None, 1.00, 1.11, 1.29, 1.63),
    "stor": (None, None, 1.00, 1.05, 1.17, 1.46),
    "pvol": (None, 0.87, 1.00, 1.15, 1.30),
    "acap": (1.42, 1.19, 1.00, 0.85, 0.71),
    "pcap": (1.34, 1.15, 1.00, 0.88, 0.76),
    "pcon": (1.29, 1.12, 1.00, 0.90, 0.81),
    "aexp": (1.22, 1.10, 1.00, 0.88, 0.81),
    "plex": (1.19, 1.09, 1.00, 0.91, 0.85),
    "ltex": (1.20, 1.09, 1.00, 0.91, 0.84),
    "tool": (1.17, 1.09, 1.00, 0.90, 0.78),
    "site": (1.22, 1.09, 1.00, 0.93, 0.86, 0.80),
    "sced": (1.43, 1.14, 1.00, 1.00, 1.00),
}
"""By rating from 1; None where COCOMO II has no such rating."""
A, B, C, D = 2.94, 0.91, 3.67, 0.28
"""COCOMO II.2000: effort = A size^E Π EM with E = B + 0.01 Σ SF; months = C effort^F with F = D + 0.2 (E - B)."""
SCHEDULE = (0.75, 0.85, 1.00, 1.30, 1.60)
"""The part of the nominal schedule that each rating of `sced` leaves."""

ARTIFACTS = ("requirements", "design", "code")
INTRODUCED = (10.0, 20.0, 30.0)
"""Nominal defects per thousand lines, by artifact."""
MORE_DEFECTS = ("data", "cplx", "ruse", "time", "stor", "pvol")
"""The higher these are rated, the more defects are introduced."""
FEWER_DEFECTS = (
    *("prec", "resl", "team", "pmat", "rely", "docu", "acap", "pcap", "pcon", "aexp", "plex", "ltex", "tool", "site"),
    "sced",
)
"""The higher these are rated, the fewer; `pcap` plays no part in requirements, `flex` in nothing."""
SLOPES_UP = ((0.0166 + 0.38) / 2, (0.0066 + 0.145) / 2, (0.0066 + 0.145) / 2)
SLOPES_DOWN = ((-0.215 - 0.035) / 2, (-0.325 - 0.05) / 2, (-0.29 - 0.05) / 2)
REMOVED = {
    "aa": ((0, 0, 0.10, 0.27, 0.34, 0.40), (0, 0, 0.13, 0.28, 0.44, 0.50), (0, 0.10, 0.20, 0.30, 0.48, 0.55)),
    "pr": ((0, 0.25, 0.40, 0.50, 0.58, 0.70), (0, 0.28, 0.40, 0.54, 0.70, 0.78), (0, 0.30, 0.48, 0.60, 0.73, 0.83)),
    "etat": ((0, 0.23, 0.40, 0.50, 0.57, 0.60), (0, 0.23, 0.43, 0.54, 0.65, 0.70), (0, 0.38, 0.58, 0.69, 0.78, 0.88)),
}
"""The part of the defects of each artifact that automated analysis, peer reviews, and execution testing and tools
remove, by rating."""

RISKS: dict[tuple[int, int, int], tuple[str, ...]] = {
    (1, 6, 4): ("sced cplx", "sced time"),
    (1, 5, 2): ("sced rely", "sced pvol"),
    (1, 1, 4): ("ltex pcap", "sced acap", "sced plex", "sced pcap", "sced aexp"),
    (1, 1, 2): (
        *("sced tool", "sced ltex", "sced pmat", "pmat acap", "pmat pcap", "tool acap", "tool pcap", "tool pmat"),
        *("team aexp", "team sced", "team site"),
    ),
    (5, 1, 4): ("rely acap", "rely pmat", "rely pcap"),
    (6, 1, 4): (
        *("cplx acap", "cplx pcap", "cplx tool", "stor acap", "stor pcap", "time acap", "time pcap"),
        *("ruse aexp", "ruse ltex"),
    ),
    (5, 1, 2): ("pvol plex",),
    (6, 1, 2): ("time tool",),
}
"""Pairs of drivers by the two ratings at which they are worst, and the points there. Each step away halves the points,
below 1 there are none. (Tables of XOMO have low `pcap` worst with a mature process; here it is with an immature one,
as `acap` is.)"""
MOST_RISK = sum(points * len(pairs) for (_, _, points), pairs in RISKS.items())

PROJECTS: dict[str, dict[str, tuple[int, int]]] = {
    "flight": {
        **{"kloc": (7, 418), "pmat": (2, 3), "rely": (3, 5), "data": (2, 3), "cplx": (3, 6), "time": (3, 4)},
        **{"stor": (3, 4), "acap": (3, 5), "aexp": (2, 5), "pcap": (3, 5), "plex": (1, 4), "ltex": (1, 4)},
        **{"tool": (2, 2), "sced": (3, 3)},
    },
    "ground": {
        **{"kloc": (11, 392), "pmat": (2, 3), "rely": (1, 4), "data": (2, 3), "cplx": (1, 4), "time": (3, 4)},
        **{"stor": (3, 4), "acap": (3, 5), "aexp": (2, 5), "pcap": (3, 5), "plex": (1, 4), "ltex": (1, 4)},
        **{"tool": (2, 2), "sced": (3, 3)},
    },
    "osp": {
        **{"kloc": (75, 125), "prec": (1, 2), "flex": (2, 5), "resl": (1, 3), "team": (2, 3), "pmat": (1, 4)},
        **{"stor": (3, 5), "ruse": (2, 4), "docu": (2, 4), "acap": (2, 3), "pcon": (2, 3), "aexp": (2, 3)},
        **{"ltex": (2, 4), "tool": (2, 3), "sced": (1, 3), "cplx": (5, 6), "data": (3, 3), "pvol": (2, 2)},
        **{"rely": (5, 5), "pcap": (3, 3), "plex": (3, 3), "site": (3, 3)},
    },
    "osp2": {
        **{"kloc": (75, 125), "prec": (3, 5), "pmat": (4, 5), "docu": (3, 4), "ltex": (2, 5), "sced": (2, 4)},
        **{"flex": (3, 3), "resl": (4, 4), "team": (3, 3), "time": (3, 3), "stor": (3, 3), "data": (4, 4)},
        **{"pvol": (3, 3), "ruse": (4, 4), "rely": (5, 5), "cplx": (4, 4), "acap": (4, 4), "pcap": (3, 3)},
        **{"pcon": (3, 3), "aexp": (4, 4), "plex": (4, 4), "tool": (5, 5), "site": (6, 6)},
    },
}
"""What is known of each project; a driver that is not named may have any rating."""


def ratings(driver: str) -> tuple[int, int]:
    """The least and the greatest rating of a driver."""
    if driver in REMOVED:
        return 1, 6
    table = SCALE_FACTORS.get(driver) or EFFORT_MULTIPLIERS[driver]
    there = [i + 1 for i, value in enumerate(table) if value is not None]
    return there[0], there[-1]


DRIVERS = (*SCALE_FACTORS, *EFFORT_MULTIPLIERS, *REMOVED)


def nominal() -> dict[str, int]:
    """Every driver at its nominal rating, and nothing done to remove defects."""
    return dict.fromkeys(DRIVERS, 3) | dict.fromkeys(REMOVED, 1)


def effort(kloc: float, x: Mapping[str, int]) -> float:
    """Person-months of 152 hours."""
    return effort_at_leisure(kloc, x) * _multiplier("sced", x)


def effort_at_leisure(kloc: float, x: Mapping[str, int]) -> float:
    """Person-months with the nominal schedule."""
    out = A * float(kloc) ** exponent(x)
    for driver in EFFORT_MULTIPLIERS:
        if driver != "sced":
            out *= _multiplier(driver, x)
    return out


def exponent(x: Mapping[str, int]) -> float:
    return B + 0.01 * sum(table[x[driver] - 1] for driver, table in SCALE_FACTORS.items())


def months(kloc: float, x: Mapping[str, int]) -> float:
    """Calendar months from start to end."""
    power = D + 0.2 * (exponent(x) - B)
    return C * effort_at_leisure(kloc, x) ** power * SCHEDULE[x["sced"] - 1]


def defects(kloc: float, x: Mapping[str, int]) -> float:
    """Defects that are delivered."""
    total = 0.0
    for i, artifact in enumerate(ARTIFACTS):
        here = INTRODUCED[i] * float(kloc)
        for driver in MORE_DEFECTS:
            here *= 1.0 + SLOPES_UP[i] * (x[driver] - 3)
        for driver in FEWER_DEFECTS:
            if driver != "pcap" or artifact != "requirements":
                here *= 1.0 + SLOPES_DOWN[i] * (x[driver] - 3)
        for removal, tables in REMOVED.items():
            here *= 1.0 - tables[i][x[removal] - 1]
        total += here
    return total


def risk(x: Mapping[str, int]) -> float:
    """The points of all pairs of drivers, as a percentage of what they would be with each pair at its worst."""
    total = 0
    for (worst, other_worst, points), pairs in RISKS.items():
        for pair in pairs:
            one, two = pair.split()
            total += points >> (abs(x[one] - worst) + abs(x[two] - other_worst))
    return 100.0 * total / MOST_RISK


def _multiplier(driver: str, x: Mapping[str, int]) -> float:
    value = EFFORT_MULTIPLIERS[driver][x[driver] - 1]
    assert value is not None
    return value
