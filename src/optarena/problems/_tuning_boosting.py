"""The two AdaBoosts that Bayesmark tunes, as scikit-learn 1.1 defined them.

scikit-learn has dropped SAMME.R, the real-valued boosting of classes, and clips weights since; the meaning of a tuning
problem must not depend on that. Trees are scikit-learn's. A stream of random numbers is used in the same order: a seed
for each tree, and for regression a draw of rows after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from optarena.space import Array

Fitted = Callable[[Array], Array]
SEEDS = np.iinfo(np.int32).max
EPSILON = float(np.finfo(float).eps)


def boost_classes(
    X: Array, y: Array, random: np.random.RandomState, *, n_estimators: int, learning_rate: float
) -> Fitted:
    """SAMME.R (Zhu, Zou, Rosset, Hastie 2009) on stumps; y are the numbers 0 … K - 1. Gives class probabilities."""
    from sklearn.tree import DecisionTreeClassifier

    rows = np.ascontiguousarray(X, dtype=np.float32)  # the form that trees compute with
    weights = np.full(len(y), 1.0 / len(y))
    n_classes = int(y.max()) + 1
    truth = y[:, None] == np.arange(n_classes)
    coding = np.where(truth, 1.0, -1.0 / (n_classes - 1))
    step = -learning_rate * ((n_classes - 1.0) / n_classes)
    trees = []
    for i in range(n_estimators):
        tree = DecisionTreeClassifier(max_depth=1, random_state=random.randint(SEEDS))
        tree.fit(rows, y, sample_weight=weights, check_input=False)
        trees.append(tree)
        found = tree.predict_proba(rows, check_input=False)
        wrong = found.argmax(axis=1) != y
        if weights[wrong].sum() <= 0 or i == n_estimators - 1:
            break
        change = step * (coding * np.log(np.maximum(found, EPSILON))).sum(axis=1)
        weights = weights * np.exp(change * ((weights > 0) | (change < 0)))
        total = weights.sum()
        if not np.isfinite(total) or total <= 0:
            break
        weights /= total

    def probabilities(T: Array) -> Array:
        from scipy.special import softmax

        tests = np.ascontiguousarray(T, dtype=np.float32)
        logs = sum(np.log(np.maximum(tree.predict_proba(tests, check_input=False), EPSILON)) for tree in trees)
        # each tree says (K - 1)(log p - mean log p), the ensemble is their mean, and p = softmax(f / (K - 1));
        # of two classes, f is the difference, and half of it stands against the other half
        centred = (logs - logs.mean(axis=1, keepdims=True)) / len(trees)
        out: Array = softmax(centred, axis=1)
        return out

    return probabilities


def boost_values(
    X: Array, y: Array, random: np.random.RandomState, *, n_estimators: int, learning_rate: float
) -> Fitted:
    """AdaBoost.R2 (Drucker 1997), linear loss, on trees of depth 3 grown on resampled rows."""
    from sklearn.tree import DecisionTreeRegressor

    rows = np.ascontiguousarray(X, dtype=np.float32)
    n = len(y)
    weights = np.full(n, 1.0 / n)
    trees: list[Any] = []
    powers: list[float] = []
    for i in range(n_estimators):
        tree = DecisionTreeRegressor(max_depth=3, random_state=random.randint(SEEDS))
        chosen = random.choice(n, size=n, replace=True, p=weights)
        tree.fit(rows[chosen], y[chosen], check_input=False)
        loss = np.abs(tree.predict(rows, check_input=False) - y)
        loss[weights == 0] = 0.0
        worst = loss.max()
        if worst != 0:
            loss /= worst
        error = float((weights * loss).sum())
        if error >= 0.5 and trees:
            break  # no better than a guess: left out, unless it is the only one
        trees.append(tree)
        if error <= 0 or error >= 0.5:
            powers.append(1.0 if error <= 0 else 0.0)
            break
        beta = error / (1.0 - error)
        powers.append(learning_rate * float(np.log(1.0 / beta)))
        if i == n_estimators - 1:
            break
        weights = weights * np.power(beta, (1.0 - loss) * learning_rate)
        total = weights.sum()
        if not np.isfinite(total) or total <= 0:
            break
        weights /= total

    def values(T: Array) -> Array:
        """The weighted median of the trees."""
        tests = np.ascontiguousarray(T, dtype=np.float32)
        said = np.array([tree.predict(tests, check_input=False) for tree in trees]).T
        order = np.argsort(said, axis=1)
        reached = np.cumsum(np.array(powers)[order], axis=1)
        median = (reached >= 0.5 * reached[:, -1:]).argmax(axis=1)
        at = np.arange(len(said))
        out: Array = said[at, order[at, median]]
        return out

    return values
