"""Stands in for `bayesmark.constants`: the names that its files, its datasets and its command line use."""

from __future__ import annotations

from optarena._bayesmark_names import VISIBLE
from optarena.problems.sklearn import DATA, METRICS, MODELS

RANDOM_SEARCH = "RandomSearch"
OPTIMIZERS_FILE = "config.json"
ARG_DELIM = "_"
PY_INTERPRETER = "python"

EVAL = EVAL_RESULTS = EVAL_PHASE = "eval"
TIME = TIME_RESULTS = "time"
SUGGEST_LOG = "suggest_log"
EXP_VARS = (EVAL, TIME, SUGGEST_LOG)
BASELINE = "baseline"
PERF_RESULTS = "perf"
MEAN_SCORE = "summary"

ITER = "iter"
TEST_CASE = "function"
METHOD = "optimizer"
TRIAL = "study_id"
SUGGEST = "suggestion"
OBJECTIVE = "objective"
VISIBLE_TO_OPT = VISIBLE

SUGGEST_PHASE = "suggest"
OBS_PHASE = "observe"
EVAL_PHASE_SUM = "eval_sum"
EVAL_PHASE_MAX = "eval_max"

PERF_MED, LB_MED, UB_MED, NORMED_MED = "median", "median LB", "median UB", "median normed"
PERF_MEAN, LB_MEAN, UB_MEAN, NORMED_MEAN = "mean", "mean LB", "mean UB", "mean normed"
LB_NORMED_MEAN, UB_NORMED_MEAN = "mean normed LB", "mean normed UB"
PERF_BEST = "best"
PERF_CLIP = "clip"

MODEL_NAMES = tuple(MODELS)
DATA_LOADER_NAMES = tuple(DATA)
SCORERS_CLF = tuple(METRICS[True])
SCORERS_REG = tuple(METRICS[False])
METRICS = tuple(sorted(SCORERS_CLF + SCORERS_REG))  # type: ignore[assignment]
