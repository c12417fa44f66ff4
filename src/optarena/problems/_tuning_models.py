"""The nine models that Bayesmark tunes: their search spaces, and how each is fitted today.

What scikit-learn has removed since Bayesmark keeps its meaning here: `normalize` (columns are centred and divided by
their length), `multi_class="ovr"` (a model a class, their sigmoids made to sum to 1), and AdaBoost's SAMME.R.
A model draws all its randomness from the stream that it is given, in the order in which it is fitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from optarena.problems._tuning_boosting import Fitted, boost_classes, boost_values
from optarena.space import Array

Settings = Mapping[str, Any]
Fit = Callable[[Settings, Array, Array, np.random.RandomState, bool], Fitted]


class Model(NamedTuple):
    """A model on classes or on values. `fit(settings, X, y, random, probabilities)` gives the function that predicts.

    `noisy`: its values depend on the stream; `noisy_labels`: even where only the classes that it predicts count.
    """

    space: dict[str, dict[str, Any]]
    fit: Fit
    noisy: bool = True
    noisy_labels: bool = True


def _real(warp: str, low: float, high: float) -> dict[str, Any]:
    return {"type": "real", "space": warp, "range": [low, high]}


def _int(low: int, high: int, warp: str = "linear") -> dict[str, Any]:
    return {"type": "int", "space": warp, "range": [low, high]}


_BOOL = {"type": "bool"}
_NEIGHBOURS = {"n_neighbors": _int(1, 25), "p": _int(1, 4)}
_MACHINE = {"C": _real("log", 1.0, 1e3), "gamma": _real("log", 1e-4, 1e-3), "tol": _real("log", 1e-5, 1e-1)}
_TREE = {
    "max_depth": _int(1, 15),
    "min_samples_split": _real("logit", 0.01, 0.99),
    "min_samples_leaf": _real("logit", 0.01, 0.49),
    "min_weight_fraction_leaf": _real("logit", 0.01, 0.49),
    "max_features": _real("logit", 0.01, 0.99),
    "min_impurity_decrease": _real("linear", 0.0, 0.5),
}
_FOREST = {
    name: _TREE[name]
    for name in (
        "max_depth",
        "max_features",
        "min_samples_split",
        "min_samples_leaf",
        "min_weight_fraction_leaf",
        "min_impurity_decrease",
    )
}
_NETWORK = {
    "hidden_layer_sizes": _int(50, 200),
    "alpha": _real("log", 1e-5, 1e1),
    "batch_size": _int(10, 250),
    "learning_rate_init": _real("log", 1e-5, 1e-1),
}
_ADAM = {
    **_NETWORK,
    "tol": _real("log", 1e-5, 1e-1),
    "validation_fraction": _real("logit", 0.1, 0.9),
    "beta_1": _real("logit", 0.5, 0.99),
    "beta_2": _real("logit", 0.9, 1.0 - 1e-6),
    "epsilon": _real("log", 1e-9, 1e-6),
}
_SGD = {
    **_NETWORK,
    "power_t": _real("logit", 0.1, 0.9),
    "tol": _real("log", 1e-5, 1e-1),
    "momentum": _real("logit", 0.001, 0.999),
    "validation_fraction": _real("logit", 0.1, 0.9),
}
_ADA = {"n_estimators": _int(10, 100), "learning_rate": _real("log", 1e-4, 1e1)}
_LOGISTIC = {"C": _real("log", 1e-2, 1e2), "intercept_scaling": _real("log", 1e-2, 1e2)}
_RIDGE = {
    "alpha": _real("log", 1e-2, 1e2),
    "fit_intercept": _BOOL,
    "normalize": _BOOL,
    "max_iter": _int(10, 5000, "log"),
    "tol": _real("log", 1e-4, 1e-1),
}
_LASSO = {**_RIDGE, "tol": _real("log", 1e-5, 1e-1), "positive": _BOOL}


# ---- fitting --------------------------------------------------------------------------------------------------------


def _estimator(module: str, name: str, *, seeded: bool = True, **fixed: Any) -> Fit:
    """A scikit-learn estimator as it is."""

    def fit(settings: Settings, X: Array, y: Array, random: np.random.RandomState, probabilities: bool) -> Fitted:
        import importlib

        seed = {"random_state": random} if seeded else {}
        model = getattr(importlib.import_module(f"sklearn.{module}"), name)(**settings, **fixed, **seed)
        model.fit(X, y)
        predict: Fitted = model.predict_proba if probabilities else model.predict
        return predict

    return fit


def _tree(name: str) -> Fit:
    """A scikit-learn tree, given rows in the form that it computes with: checking them costs more than growing it."""

    def fit(settings: Settings, X: Array, y: Array, random: np.random.RandomState, probabilities: bool) -> Fitted:
        from sklearn import tree

        model = getattr(tree, name)(**settings, random_state=random)
        model.fit(np.ascontiguousarray(X, dtype=np.float32), y, check_input=False)
        predict = model.predict_proba if probabilities else model.predict
        return lambda T: predict(np.ascontiguousarray(T, dtype=np.float32), check_input=False)

    return fit


def _fit_machine(settings: Settings, X: Array, y: Array, random: np.random.RandomState, probabilities: bool) -> Fitted:
    """A support vector machine; its probabilities cost five more fits and do not change the classes it predicts."""
    from sklearn.svm import SVC

    extra = {"probability": True} if probabilities else {}
    model = SVC(**settings, **extra, random_state=random).fit(X, y)
    predict: Fitted = model.predict_proba if probabilities else model.predict
    return predict


def _logistic(penalty: str) -> Fit:
    """liblinear's logistic regression, for more than two classes a model each against the rest.

    scikit-learn no longer hands several classes to liblinear, and fits made one by one end elsewhere (by some percent
    where data are badly scaled), so its own entry to liblinear is called, which is the same since 0.22.
    """

    def fit(settings: Settings, X: Array, y: Array, random: np.random.RandomState, probabilities: bool) -> Fitted:
        from scipy.special import expit
        from sklearn.svm._base import _fit_liblinear

        coefficients, intercepts, _ = _fit_liblinear(
            X,
            y,
            settings["C"],
            True,  # with an intercept
            settings["intercept_scaling"],
            None,  # no weights of classes
            penalty,
            False,  # not the dual problem
            0,  # silent
            100,  # iterations
            1e-4,  # tolerance
            random,
        )
        classes = np.unique(y)

        def predict(T: Array) -> Array:
            scores = T @ coefficients.T + intercepts
            if not probabilities:
                return classes[(scores[:, 0] > 0).astype(int) if len(classes) == 2 else scores.argmax(axis=1)]
            out: Array = expit(scores)
            if len(classes) == 2:
                return np.column_stack([1.0 - out, out])
            return out / out.sum(axis=1, keepdims=True)

        return predict

    return fit


def _linear(settings: Settings, X: Array, y: Array, solve: Callable[[Array, Array], Array]) -> Fitted:
    """A linear model with the `normalize` that scikit-learn had: columns of length 1, if there is an intercept."""
    centre, level, length = np.zeros(X.shape[1]), 0.0, np.ones(X.shape[1])
    if settings["fit_intercept"]:
        centre, level = X.mean(axis=0), float(y.mean())
        if settings["normalize"]:
            length = np.sqrt(((X - centre) ** 2).sum(axis=0))
            length[length == 0] = 1.0
    w = solve((X - centre) / length, y - level) / length
    return lambda T: (T - centre) @ w + level


def _fit_ridge(
    settings: Settings,
    X: Array,
    y: Array,
    random: np.random.RandomState,  # noqa: ARG001
    probabilities: bool,  # noqa: ARG001
) -> Fitted:
    from sklearn.linear_model import ridge_regression

    rest = {name: settings[name] for name in ("alpha", "max_iter", "tol")}
    return _linear(settings, X, y, lambda A, b: ridge_regression(A, b, **rest))


def _fit_lasso(
    settings: Settings,
    X: Array,
    y: Array,
    random: np.random.RandomState,  # noqa: ARG001
    probabilities: bool,  # noqa: ARG001
) -> Fitted:
    rest = {name: settings[name] for name in ("alpha", "max_iter", "tol", "positive")}
    return _linear(settings, X, y, lambda A, b: lasso(A, b, **rest))


def lasso(X: Array, y: Array, *, alpha: float, max_iter: int, tol: float, positive: bool) -> Array:
    """Coordinate descent, |y - Xw|² / 2n + alpha |w|₁, that ends by scikit-learn's rule before 1.8.

    Since then it ends before its first step where zero is good enough for the tolerance, and these may be large.
    A sweep counts as the last when no coordinate moves much, and the duality gap is below the tolerance.
    """
    n, dimension = X.shape
    penalty, goal = alpha * n, tol * float(y @ y)
    gram, slope = X.T @ X, X.T @ y  # slope: Xᵀ(y - Xw), kept up to date
    squares = gram.diagonal().tolist()
    w = [0.0] * dimension
    for sweep in range(max_iter):
        largest = farthest = 0.0
        for j in range(dimension):
            if squares[j] == 0.0:
                continue
            old = w[j]
            pull = float(slope[j]) + squares[j] * old
            if positive and pull < 0.0:
                new = 0.0
            else:
                new = math.copysign(max(abs(pull) - penalty, 0.0), pull) / squares[j]
            if new != old:
                slope -= gram[j] * (new - old)
                w[j] = new
                farthest = max(farthest, abs(new - old))
            largest = max(largest, abs(new))
        if largest == 0.0 or farthest / largest < tol or sweep == max_iter - 1:
            residual = y - X @ w
            slope = X.T @ residual  # computed again: rounding errors do not accumulate
            steepest = float(slope.max() if positive else np.abs(slope).max())
            rest = float(residual @ residual)
            shrink = penalty / steepest if steepest > penalty else 1.0
            gap = 0.5 * rest * (1.0 + shrink**2) if steepest > penalty else rest
            if gap + penalty * sum(map(abs, w)) - shrink * float(residual @ y) < goal:
                break
    return np.array(w)


def _fit_ada_classes(
    settings: Settings, X: Array, y: Array, random: np.random.RandomState, probabilities: bool
) -> Fitted:
    found = boost_classes(X, y, random, **settings)
    return found if probabilities else lambda T: found(T).argmax(axis=1)


def _fit_ada_values(
    settings: Settings,
    X: Array,
    y: Array,
    random: np.random.RandomState,
    probabilities: bool,  # noqa: ARG001
) -> Fitted:
    return boost_values(X, y, random, **settings)


_ADAM_FIXED: dict[str, Any] = {"solver": "adam", "early_stopping": True}
_SGD_FIXED: dict[str, Any] = {"solver": "sgd", "early_stopping": True, "learning_rate": "invscaling"}

CLASSIFIERS: dict[str, Model] = {
    "DT": Model(_TREE, _tree("DecisionTreeClassifier")),
    "MLP-adam": Model(_ADAM, _estimator("neural_network", "MLPClassifier", **_ADAM_FIXED)),
    "MLP-sgd": Model(_SGD, _estimator("neural_network", "MLPClassifier", **_SGD_FIXED)),
    "RF": Model(_FOREST, _estimator("ensemble", "RandomForestClassifier", n_estimators=10)),
    "SVM": Model(_MACHINE, _fit_machine, noisy_labels=False),
    "ada": Model(_ADA, _fit_ada_classes),
    "kNN": Model(_NEIGHBOURS, _estimator("neighbors", "KNeighborsClassifier", seeded=False), noisy=False),
    "lasso": Model(_LOGISTIC, _logistic("l1")),
    "linear": Model(_LOGISTIC, _logistic("l2"), noisy=False),
}
REGRESSORS: dict[str, Model] = {
    "DT": Model(_TREE, _tree("DecisionTreeRegressor")),
    "MLP-adam": Model(_ADAM, _estimator("neural_network", "MLPRegressor", **_ADAM_FIXED)),
    "MLP-sgd": Model(_SGD, _estimator("neural_network", "MLPRegressor", **_SGD_FIXED, activation="tanh")),
    "RF": Model(_FOREST, _estimator("ensemble", "RandomForestRegressor", n_estimators=10)),
    "SVM": Model(_MACHINE, _estimator("svm", "SVR", seeded=False), noisy=False),
    "ada": Model(_ADA, _fit_ada_values),
    "kNN": Model(_NEIGHBOURS, _estimator("neighbors", "KNeighborsRegressor", seeded=False), noisy=False),
    "lasso": Model(_LASSO, _fit_lasso, noisy=False),
    "linear": Model(_RIDGE, _fit_ridge, noisy=False),
}
