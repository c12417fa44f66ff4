"""Models of software projects: published values of COCOMO II and COQUALMO, and properties of XOMO and POM3."""

from __future__ import annotations

import numpy as np
import pytest

import optarena as oa
from optarena.problem import build, get_suite, select
from optarena.problems import _pom3, _xomo
from optarena.testing import assert_problem

NOMINAL = _xomo.nominal()
POM3 = list(_pom3.RANGES)
XOMO = [f"xomo-{name}" for name in _xomo.PROJECTS]


def draws(name, n=200):
    problem = build(f"se/{name}")
    points = problem.space.to_dicts(problem.space.sample(n, np.random.default_rng(1)))
    return points, np.array([problem.evaluate(x) for x in points])


# ---- XOMO -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kloc", [2, 10, 100, 1000])
def test_nominal_effort_and_months_are_cocomos(kloc):
    assert _xomo.exponent(NOMINAL) == pytest.approx(1.0997)
    effort = 2.94 * kloc**1.0997
    assert _xomo.effort(kloc, NOMINAL) == pytest.approx(effort)
    assert _xomo.months(kloc, NOMINAL) == pytest.approx(3.67 * effort ** (0.28 + 0.2 * (1.0997 - 0.91)))


def test_the_nominal_project_of_100_thousand_lines():
    assert _xomo.effort(100, NOMINAL) == pytest.approx(465.3, abs=0.05)  # person-months
    assert _xomo.months(100, NOMINAL) == pytest.approx(25.9, abs=0.05)


@pytest.mark.parametrize(("rating", "density"), [(1, 60.0), (2, 28.5), (3, 14.3), (4, 7.5), (6, 1.6)])
def test_defects_left_per_thousand_lines_are_coqualmos(rating, density):
    drivers = NOMINAL | dict.fromkeys(_xomo.REMOVED, rating)
    assert _xomo.defects(1, drivers) == pytest.approx(density, abs=0.15)
    assert _xomo.defects(50, drivers) == pytest.approx(50 * _xomo.defects(1, drivers))


def test_low_removal_leaves_58_percent_of_the_requirements_defects():
    left = np.prod([1 - _xomo.REMOVED[removal][0][1] for removal in _xomo.REMOVED])
    assert left == pytest.approx(0.5775)


def test_effort_months_and_defects_grow_with_size():
    sizes = [2, 5, 20, 100, 418]
    for measure in (_xomo.effort, _xomo.months, _xomo.defects):
        values = [measure(kloc, NOMINAL) for kloc in sizes]
        assert values == sorted(values)
        assert len(set(values)) == len(values)
    assert _xomo.effort(200, NOMINAL) > 2 * _xomo.effort(100, NOMINAL)  # a diseconomy of scale


@pytest.mark.parametrize("driver", [*_xomo.SCALE_FACTORS, *_xomo.EFFORT_MULTIPLIERS])
def test_effort_is_monotone_in_every_driver(driver):
    low, high = _xomo.ratings(driver)
    values = [_xomo.effort(100, NOMINAL | {driver: rating}) for rating in range(low, high + 1)]
    rises = driver in (*_xomo.MORE_DEFECTS, "rely", "docu")
    assert values == sorted(values, reverse=not rises)
    assert values[0] != values[-1]


@pytest.mark.parametrize("driver", _xomo.DRIVERS)
def test_defects_are_monotone_in_every_driver(driver):
    low, high = _xomo.ratings(driver)
    values = [_xomo.defects(100, NOMINAL | {driver: rating}) for rating in range(low, high + 1)]
    assert values == sorted(values, reverse=driver not in _xomo.MORE_DEFECTS)
    assert (values[0] != values[-1]) == (driver != "flex")
    assert min(values) > 0


def test_a_compressed_schedule_costs_effort_and_saves_months():
    tight, long = NOMINAL | {"sced": 1}, NOMINAL | {"sced": 5}
    assert _xomo.effort(100, tight) == pytest.approx(1.43 * _xomo.effort(100, NOMINAL))
    assert _xomo.months(100, tight) == pytest.approx(0.75 * _xomo.months(100, NOMINAL))
    assert _xomo.effort(100, long) == _xomo.effort(100, NOMINAL)
    assert _xomo.months(100, long) == pytest.approx(1.6 * _xomo.months(100, NOMINAL))


def test_risk_comes_from_pairs_of_drivers():
    assert _xomo.risk(NOMINAL | {"sced": 5}) == 0
    one = 100 / _xomo.MOST_RISK
    assert _xomo.risk(NOMINAL | {"sced": 1}) == pytest.approx(4 * one)  # with acap, plex, pcap and aexp nominal: 1 each
    base = NOMINAL | {"sced": 5, "acap": 5, "pcap": 5, "tool": 5}
    risks = [_xomo.risk(base | {"cplx": 6, "tool": rating}) for rating in range(1, 6)]
    assert risks == pytest.approx([4 * one, 2 * one, one, 0, 0])
    assert 0 < _xomo.risk({driver: _xomo.ratings(driver)[0] for driver in _xomo.DRIVERS}) <= 100


def test_projects_have_their_published_ranges_and_fixed_drivers_are_no_decisions():
    flight, osp2 = build("se/xomo-flight"), build("se/xomo-osp2")
    assert flight.space.config["kloc"]["range"] == [7, 418]
    assert flight.space.config["cplx"]["range"] == [3, 6]
    assert flight.space.config["team"]["range"] == [1, 5]  # not told: any
    assert flight.fixed == {"tool": 2, "sced": 3}
    assert osp2.fixed["rely"] == 5
    assert list(osp2.space.names) == ["kloc", "prec", "pmat", "docu", "ltex", "sced", "aa", "pr", "etat"]


def test_the_first_space_plane_is_riskier_than_all_others():
    medians = {name: np.median(draws(name, 400)[1], axis=0) for name in XOMO}
    risks = {name: median[3] for name, median in medians.items()}
    assert max(risks, key=risks.get) == "xomo-osp"
    assert medians["xomo-flight"][0] > medians["xomo-ground"][0]  # more reliable and complex: more effort
    assert medians["xomo-osp2"][0] < medians["xomo-osp"][0]


# ---- POM3 -----------------------------------------------------------------------------------------------------------


def decided(**changed):
    usual = {
        "culture": 0.5,
        "criticality": 1.0,
        "criticality_modifier": 4.0,
        "initial_known": 0.6,
        "inter_dependency": 50,
        "dynamism": 20.0,
        "size": 30,
        "team_size": 10,
        "plan": "cost ascending",
    }
    return _pom3.Decisions(**(usual | changed))


@pytest.mark.parametrize("name", POM3)
def test_objectives_lie_in_their_ranges_and_have_their_directions(name):
    problem = build(f"se/{name}")
    assert [(each.name, each.sense) for each in problem.objectives] == [
        ("cost", "min"),
        ("completion", "max"),
        ("idle", "min"),
    ]
    _, values = draws(name, 60)
    cost, completion, idle = values.T
    assert (cost > 1).all()
    assert ((completion >= 0) & (completion <= 1)).all()
    assert ((idle >= 0) & (idle <= 1)).all()
    assert len(np.unique(values, axis=0)) > 50


def test_decisions_have_their_published_ranges():
    a, b, c = (build(f"se/{name}").space.config for name in POM3[:3])
    assert a["size"]["values"] == [3, 10, 30, 100, 300]
    assert b["size"]["values"] == [3, 10, 30]
    assert c["size"]["values"] == [30, 100, 300]
    assert (a["team_size"]["range"], c["team_size"]["range"]) == ([1, 44], [20, 44])
    assert b["criticality_modifier"]["range"] == [80, 95]
    assert c["dynamism"]["range"] == [40, 50]
    assert a["plan"]["values"] == list(_pom3.PLANS)


def test_the_same_decisions_give_the_same_and_another_instance_something_else():
    x = build("se/pom3a").space.to_dicts(build("se/pom3a").space.sample(1, np.random.default_rng(3)))[0]
    _pom3.project.cache_clear()
    first = build("se/pom3a").evaluate(x)
    _pom3.project.cache_clear()
    assert build("se/pom3a").evaluate(x) == build("se/pom3a/i1").evaluate(x) == first
    assert build("se/pom3a/i2").evaluate(x) != first


def test_cost_grows_with_criticality_and_with_larger_teams():
    costs = [_pom3.simulate(decided(criticality=c)).cost for c in (0.82, 1.0, 1.26)]
    assert costs == sorted(costs)
    assert costs[2] / costs[0] == pytest.approx(4.0 ** (1.26 - 0.82))  # budgets grow alike
    costs = [_pom3.simulate(decided(criticality_modifier=c)).cost for c in (2.0, 10.0, 95.0)]
    assert costs == sorted(costs)
    one, two = (_pom3.simulate(decided(team_size=size, inter_dependency=0), 2).cost for size in (1, 44))
    assert two > one


def test_a_project_is_trees_of_requirements_whose_children_come_first():
    for size in _pom3.SIZES:
        project = _pom3.project(1, size)
        n = len(project.cost)
        parents = [parent for parent, members in enumerate(project.children) for _ in members]
        assert n == int(2.5 * size) + len(parents)
        assert all(child > parent for parent, members in enumerate(project.children) for child in members)
        assert ((project.cost >= 1) & (project.cost <= 100)).all()
        assert 2 <= project.sprints <= 6


def test_dependencies_keep_requirements_from_being_built():
    def built(share):
        return np.mean([_pom3.simulate(decided(size=300, inter_dependency=share), i).completion for i in range(1, 9)])

    assert built(100) < built(50) < built(0)


def test_the_plan_matters_where_the_budget_is_short():
    outcomes = {plan: _pom3.simulate(decided(plan=plan, size=100)) for plan in _pom3.PLANS}
    assert len(set(outcomes.values())) > 1


# ---- the suite ------------------------------------------------------------------------------------------------------


def test_the_suite_lists_and_builds_its_problems():
    assert select("se") == [f"se/{name}" for name in [*POM3, *XOMO]]
    assert get_suite("se").contains("se/pom3c/i17")
    for id in ("se/pom3e", "se/xomo-flight/i2", "se/xomo-pom3a", "se/pom3a/i0", "se/flight"):
        with pytest.raises(oa.OptarenaError, match="no problem"):
            build(id)
    for name in ("pom3b", "xomo-osp2"):
        assert_problem(build(f"se/{name}"))
    assert build("se/pom3a/i3").instance == 3
