"""The formulas of the suite `functions`: pure functions of an (n, D) array that give a value a row.

Their boxes and optima are in `functions`. A row has the same bits in a batch as alone, and three habits keep
that so: rows are C-ordered (NumPy then adds along a row in an order that depends on D only), single columns are
copied together first (elementwise loops then meet no stride), and nothing is handed to BLAS (whose order of
summation depends on n).

Sources: M&S = Molga & Smutnicki 2005; S&B = Surjanovic & Bingham, Virtual Library of Simulation Experiments;
J&Y = Jamil & Yang 2013; BBOB = Hansen, Finck, Ros & Auger 2009. Terms are arranged so that an optimum of 0 is
not undercut by rounding.
"""

from __future__ import annotations

import numpy as np

from optarena.space import Array


def row_sums(terms: Array) -> Array:
    sums: Array = np.add.reduce(terms, axis=1)
    return sums


def columns(X: Array) -> Array:
    return np.ascontiguousarray(X.T)


def _ladder(X: Array) -> Array:
    """0 to 1 in D equal steps: (i - 1)/(D - 1)."""
    steps: Array = np.arange(X.shape[1]) / max(X.shape[1] - 1, 1)
    return steps


def _count(X: Array) -> Array:
    return np.arange(1.0, X.shape[1] + 1)


# ---- scalable --------------------------------------------------------------------------------------------


def sphere(X: Array) -> Array:
    """De Jong 1975, F1."""
    return row_sums(X**2)


def ellipsoid(X: Array) -> Array:
    """BBOB f2 without its oscillation: condition 10⁶."""
    return row_sums(10.0 ** (6.0 * _ladder(X)) * X**2)


def rosenbrock(X: Array) -> Array:
    """Rosenbrock 1960, as extended in S&B."""
    return row_sums(100.0 * (X[:, 1:] - X[:, :-1] ** 2) ** 2 + (1.0 - X[:, :-1]) ** 2)


def rastrigin(X: Array) -> Array:
    """Rastrigin 1974; M&S."""
    return row_sums(X**2 + 10.0 * (1.0 - np.cos(2 * np.pi * X)))


def ackley(X: Array) -> Array:
    """Ackley 1987; M&S with a = 20, b = 0.2, c = 2π."""
    D = X.shape[1]
    distance = np.sqrt(row_sums(X**2) / D)
    waves = row_sums(np.cos(2 * np.pi * X) - 1.0) / D
    return -20.0 * np.expm1(-0.2 * distance) - np.e * np.expm1(waves)


def griewank(X: Array) -> Array:
    """Griewank 1981; M&S."""
    return row_sums(X**2) / 4000.0 + (1.0 - np.multiply.reduce(np.cos(X / np.sqrt(_count(X))), axis=1))


def levy(X: Array) -> Array:
    """Levy & Montalvo 1985; S&B."""
    W = 1.0 + (X - 1.0) / 4.0
    ends = columns(W[:, [0, -1]])
    middle = (W[:, :-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(np.pi * W[:, :-1] + 1.0) ** 2)
    last = (ends[1] - 1.0) ** 2 * (1.0 + np.sin(2 * np.pi * ends[1]) ** 2)
    return np.sin(np.pi * ends[0]) ** 2 + row_sums(middle) + last


SCHWEFEL = 418.9828872724337  # the greatest x·sin √|x| on [-500, 500]


def schwefel(X: Array) -> Array:
    """Schwefel 1981, 2.26; M&S, raised so that the optimum is 0 (and not what rounding leaves below it)."""
    return row_sums(np.maximum(SCHWEFEL - X * np.sin(np.sqrt(np.abs(X))), 0.0))


def zakharov(X: Array) -> Array:
    """S&B."""
    weighted = row_sums(0.5 * _count(X) * X)
    return row_sums(X**2) + weighted**2 + weighted**4


def dixon_price(X: Array) -> Array:
    """Dixon & Price 1989; S&B."""
    first = columns(X[:, :1])[0]
    return (first - 1.0) ** 2 + row_sums(_count(X)[1:] * (2.0 * X[:, 1:] ** 2 - X[:, :-1]) ** 2)


def styblinski_tang(X: Array) -> Array:
    """Styblinski & Tang 1990; S&B."""
    return 0.5 * row_sums(X**4 - 16.0 * X**2 + 5.0 * X)


def sum_of_powers(X: Array) -> Array:
    """M&S, 2.5: Σ |x_i|^(i + 1)."""
    return row_sums(np.abs(X) ** (_count(X) + 1.0))


def step(X: Array) -> Array:
    """J&Y 139 (step 2): plateaus of width 1."""
    return row_sums(np.floor(X + 0.5) ** 2)


def alpine(X: Array) -> Array:
    """J&Y 6 (alpine 1). Zero also wherever sin x = -0.1: many points are optimal."""
    return row_sums(np.abs(X * np.sin(X) + 0.1 * X))


def salomon(X: Array) -> Array:
    """Salomon 1996; J&Y 110."""
    radius = np.sqrt(row_sums(X**2))
    return 1.0 - np.cos(2 * np.pi * radius) + 0.1 * radius


def bent_cigar(X: Array) -> Array:
    """BBOB f12 without its asymmetry and rotation."""
    return columns(X[:, :1])[0] ** 2 + 1e6 * row_sums(X[:, 1:] ** 2)


def discus(X: Array) -> Array:
    """BBOB f11 without its oscillation and rotation."""
    return 1e6 * columns(X[:, :1])[0] ** 2 + row_sums(X[:, 1:] ** 2)


def different_powers(X: Array) -> Array:
    """BBOB f14 without its rotation."""
    return np.sqrt(row_sums(np.abs(X) ** (2.0 + 4.0 * _ladder(X))))


def michalewicz(X: Array) -> Array:
    """Michalewicz 1992 with m = 10; M&S."""
    return -row_sums(np.sin(X) * np.sin(_count(X) * X**2 / np.pi) ** 20)


def rastrigin_grid(X: Array) -> Array:
    """Rastrigin on a grid of step 0.1. On whole numbers the cosine is always 1 and the function a sphere."""
    return rastrigin(X / 10.0)


def cosine_mixture(X: Array) -> Array:
    """Breiman & Cutler 1993, in its maximised form."""
    return row_sums(0.1 * np.cos(5 * np.pi * X)) - row_sums(X**2)


def displaced_sphere(X: Array) -> Array:
    """A sphere whose optimum lies 0.25 away in every coordinate."""
    return row_sums((X - 0.25) ** 2)


# ---- of fixed dimension ----------------------------------------------------------------------------------


def branin(X: Array) -> Array:
    """Branin 1972; M&S."""
    x, y = columns(X)
    parabola = y - 5.1 / (4 * np.pi**2) * x**2 + 5.0 / np.pi * x - 6.0
    return parabola**2 + 10.0 * (1.0 - 1.0 / (8 * np.pi)) * np.cos(x) + 10.0


def six_hump_camel(X: Array) -> Array:
    """Dixon & Szegö 1978; M&S."""
    x, y = columns(X)
    return (4.0 - 2.1 * x**2 + x**4 / 3.0) * x**2 + x * y + (4.0 * y**2 - 4.0) * y**2


def goldstein_price(X: Array) -> Array:
    """Goldstein & Price 1971; M&S."""
    x, y = columns(X)
    one = 1.0 + (x + y + 1.0) ** 2 * (19.0 - 14.0 * x + 3.0 * x**2 - 14.0 * y + 6.0 * x * y + 3.0 * y**2)
    two = 18.0 - 32.0 * x + 12.0 * x**2 + 48.0 * y - 36.0 * x * y + 27.0 * y**2
    return one * (30.0 + (2.0 * x - 3.0 * y) ** 2 * two)


_HARTMANN = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN3_A = np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
_HARTMANN3_P = np.array(
    [[0.3689, 0.1170, 0.2673], [0.4699, 0.4387, 0.7470], [0.1091, 0.8732, 0.5547], [0.03815, 0.5743, 0.8828]]
)
_HARTMANN6_A = np.array([
    [10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14],
    [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14],
])  # fmt: skip
_HARTMANN6_P = np.array([
    [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
    [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
    [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
    [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
])  # fmt: skip


def _hartmann(X: Array, A: Array, P: Array) -> Array:
    squares = A * (X[:, None, :] - P) ** 2
    return -row_sums(_HARTMANN * np.exp(-np.add.reduce(squares, axis=2)))


def hartmann3(X: Array) -> Array:
    """Hartman 1973 with the numbers of Dixon & Szegö 1978 (0.03815; S&B round it to 0.0381)."""
    return _hartmann(X, _HARTMANN3_A, _HARTMANN3_P)


def hartmann6(X: Array) -> Array:
    """Hartman 1973 with the numbers of Dixon & Szegö 1978."""
    return _hartmann(X, _HARTMANN6_A, _HARTMANN6_P)


_SHEKEL_C = np.array([0.1, 0.2, 0.2, 0.4, 0.4, 0.6, 0.3, 0.7, 0.5, 0.5])
_SHEKEL_A = np.array([
    [4, 4, 4, 4], [1, 1, 1, 1], [8, 8, 8, 8], [6, 6, 6, 6], [3, 7, 3, 7],
    [2, 9, 2, 9], [5, 5, 3, 3], [8, 1, 8, 1], [6, 2, 6, 2], [7, 3.6, 7, 3.6],
])  # fmt: skip


def _shekel(X: Array, m: int) -> Array:
    squares = np.add.reduce((X[:, None, :] - _SHEKEL_A[:m]) ** 2, axis=2)
    return -row_sums(1.0 / (squares + _SHEKEL_C[:m]))


def shekel5(X: Array) -> Array:
    """Shekel 1971 with the numbers of Dixon & Szegö 1978 (in S&B the seventh row is 5, 3, 5, 3)."""
    return _shekel(X, 5)


def shekel7(X: Array) -> Array:
    """As `shekel5`, of 7 terms."""
    return _shekel(X, 7)


def shekel10(X: Array) -> Array:
    """As `shekel5`, of 10 terms."""
    return _shekel(X, 10)


def beale(X: Array) -> Array:
    """Beale 1958; S&B."""
    x, y = columns(X)
    return (1.5 - x + x * y) ** 2 + (2.25 - x + x * y**2) ** 2 + (2.625 - x + x * y**3) ** 2


def booth(X: Array) -> Array:
    """S&B."""
    x, y = columns(X)
    return (x + 2.0 * y - 7.0) ** 2 + (2.0 * x + y - 5.0) ** 2


def easom(X: Array) -> Array:
    """Easom 1990; M&S."""
    x, y = columns(X)
    return -np.cos(x) * np.cos(y) * np.exp(-((x - np.pi) ** 2) - (y - np.pi) ** 2)


def matyas(X: Array) -> Array:
    """S&B, 0.26 (x² + y²) - 0.48 x y, as the sum of two squares that it is."""
    x, y = columns(X)
    return 0.25 * (x - y) ** 2 + 0.01 * (x + y) ** 2


def mccormick(X: Array) -> Array:
    """McCormick 1976; S&B."""
    x, y = columns(X)
    return np.sin(x + y) + (x - y) ** 2 - 1.5 * x + 2.5 * y + 1.0


def eggholder(X: Array) -> Array:
    """S&B."""
    x, y = columns(X)
    raised = y + 47.0
    return -raised * np.sin(np.sqrt(np.abs(raised + x / 2.0))) - x * np.sin(np.sqrt(np.abs(x - raised)))


def bukin6(X: Array) -> Array:
    """Bukin 1997; S&B."""
    x, y = columns(X)
    return 100.0 * np.sqrt(np.abs(y - 0.01 * x**2)) + 0.01 * np.abs(x + 10.0)


def cross_in_tray(X: Array) -> Array:
    """Mishra 2006; S&B."""
    x, y = columns(X)
    waves = np.abs(np.sin(x) * np.sin(y) * np.exp(np.abs(100.0 - np.sqrt(x**2 + y**2) / np.pi)))
    return -0.0001 * (waves + 1.0) ** 0.1


def holder_table(X: Array) -> Array:
    """Mishra 2006; S&B."""
    x, y = columns(X)
    return -np.abs(np.sin(x) * np.cos(y) * np.exp(np.abs(1.0 - np.sqrt(x**2 + y**2) / np.pi)))


def drop_wave(X: Array) -> Array:
    """M&S, 2.15."""
    squares = row_sums(X**2)
    return -(1.0 + np.cos(12.0 * np.sqrt(squares))) / (0.5 * squares + 2.0)


def colville(X: Array) -> Array:
    """Colville 1968; S&B."""
    a, b, c, d = columns(X)
    valleys = 100.0 * (a**2 - b) ** 2 + (a - 1.0) ** 2 + (c - 1.0) ** 2 + 90.0 * (c**2 - d) ** 2
    return valleys + 10.1 * ((b - 1.0) ** 2 + (d - 1.0) ** 2) + 19.8 * (b - 1.0) * (d - 1.0)


# ---- with constraints: the objective, then the violations, (n, k), feasible where all are <= 0 -----------


def g06(X: Array) -> Array:
    """Floudas & Pardalos 1990; CEC 2006."""
    x, y = columns(X)
    return (x - 10.0) ** 3 + (y - 20.0) ** 3


def g06_violations(X: Array) -> Array:
    x, y = columns(X)
    outside, inside = 100.0 - (x - 5.0) ** 2 - (y - 5.0) ** 2, (x - 6.0) ** 2 + (y - 5.0) ** 2 - 82.81
    return np.column_stack((outside, inside))


def g08(X: Array) -> Array:
    """Schoenauer & Xanthakis 1993; CEC 2006: -sin³(2πx) sin(2πy) / (x³ (x + y)), by continuity at x = 0."""
    x, y = columns(X)
    return -((2 * np.pi * np.sinc(2.0 * x)) ** 3) * np.sin(2 * np.pi * y) / np.maximum(x + y, 1e-12)


def g08_violations(X: Array) -> Array:
    x, y = columns(X)
    return np.column_stack((x**2 - y + 1.0, 1.0 - x + (y - 4.0) ** 2))


def disk_violations(X: Array) -> Array:
    """The disk of radius √2 round the origin; (1, 1) lies on its rim."""
    return row_sums(X**2)[:, None] - 2.0


def sum_violations(X: Array) -> Array:
    """Σ x_i >= D."""
    return X.shape[1] - row_sums(X)[:, None]


# ---- of mixed parameters, in matrix form; our own --------------------------------------------------------


def mixed_sphere(X: Array) -> Array:
    """A term a parameter, 0 at (1.25, 0.01, 7, True, 'c', 'medium')."""
    offset, rate, count, flag, kind, size = columns(X)
    numbers = (offset - 1.25) ** 2 + np.log10(rate / 0.01) ** 2 + ((count - 7.0) / 5.0) ** 2
    return numbers + (1.0 - flag) + (kind != 2.0) + (size - 1.0) ** 2


def mixed_tuning(X: Array) -> Array:
    """0 at (0.003, 0.9, 3, 6, 200, True, 'poly', 'high', 64); the rate and the rounds act together, and so do
    the kernel and the bias."""
    rate, momentum, bias, depth, rounds, shuffle, kernel, detail, batch = columns(X)
    rate_off, rounds_off = np.log10(rate / 0.003), np.log10(rounds / 200.0)
    momentum_off = np.log(momentum / (1.0 - momentum) / (0.9 / (1.0 - 0.9)))
    bias_off = np.sign(bias) * np.log1p(np.abs(bias)) - np.log1p(3.0)
    numbers = rate_off**2 + 4.0 * (rate_off + rounds_off) ** 2 + 0.25 * momentum_off**2 + ((depth - 6.0) / 4.0) ** 2
    other_kernel = kernel != 1.0
    choices = 0.5 * other_kernel + 0.1 * bias_off**2 * (1.0 + other_kernel) + 0.3 * (1.0 - shuffle)
    return numbers + choices + 0.2 * (detail - 2.0) ** 2 + 0.1 * np.log2(batch / 64.0) ** 2
