"""Tables of every view as xarray datasets."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import optarena as oa
from optarena.views._datasets import ROW


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    place, rng = tmp_path_factory.mktemp("datasets"), np.random.default_rng(0)
    keys = [(p, o, t, k) for p in "pq" for o in ("RandomSearch", "B") for t in range(2) for k in range(1, 6)]
    frame = pl.DataFrame(keys, schema=["problem", "optimizer", "trial", "evaluation"], orient="row")
    values = [pl.Series("value", rng.random(len(keys))), pl.Series("seconds", 0.1 * frame["evaluation"])]
    one = oa.from_frame(frame.with_columns(*values), place / "one")
    pairs = {f"f.{i}": pl.Series(rng.random(len(keys))) for i in (1, 2)}
    return {"one": one, "two": oa.from_frame(frame.with_columns(**pairs), place / "two")}


@pytest.mark.parametrize(("store", "view"), [("one", "fixed_target"), ("one", "anytime"), ("two", "pareto")])
def test_a_dataset_holds_every_cell_of_its_table(stores, store, view):
    scored = getattr(stores[store], view)()
    datasets = scored.to_xarray()
    assert list(datasets) == list(scored.tables)
    for name, table in scored.tables.items():
        made = datasets[name]
        if ROW in made.dims:
            assert name == "attainment"  # its points have no names
            assert made.sizes == {ROW: table.height}
            continue
        for row in table.sample(min(20, table.height), seed=1).to_dicts():
            # a null is the first label
            labels = {dim: made[dim].values.tolist() for dim in made.dims}
            where = {dim: 0 if row[dim] is None else known.index(row[dim]) for dim, known in labels.items()}
            for column in made.data_vars:
                value, found = row[column], made[column].isel(where).item()
                if isinstance(value, str):
                    assert found == value
                else:
                    np.testing.assert_equal(float(found), np.nan if value is None else float(value))
