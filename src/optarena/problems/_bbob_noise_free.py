"""What the functions of bbob-noisy are without their noise, which the library gives to its own observer only.

Within the box they are functions of bbob, but for the ellipsoid f116 to f118, whose condition is 1e4, and f125 to f127,
a tenth of bbob's f19. The rotation is that of the BBOB definitions (Hansen, Finck, Ros, Auger: "Real-parameter
black-box optimization benchmarking 2009", RR-6828 and RR-6829).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from optarena.space import Array

BASE = dict(zip(range(101, 131), np.repeat([1, 8, 1, 8, 7, 10, 14, 17, 19, 21], 3).tolist(), strict=True))
"""The function of bbob behind each noisy one."""


def noise_free(function: int, dimension: int, instance: int) -> Callable[[Array], float]:
    """The value of a point without noise."""
    import cocoex

    bare = cocoex.BareProblem("bbob", BASE[function], dimension, instance)
    optimum = float(bare.best_value())
    if BASE[function] == 10:
        at = np.array(bare.best_parameter())
        rotation = _rotation(10 + 10000 * instance + 1000000, dimension)
        weights = 10.0 ** (4.0 * np.arange(dimension) / (dimension - 1))
        return lambda x: float(weights @ _oscillate(rotation @ (x - at)) ** 2) + optimum
    if BASE[function] == 19:
        return lambda x: (float(bare(x)) - optimum) / 10.0 + optimum
    return lambda x: float(bare(x))


def _oscillate(z: Array) -> Array:
    """T_osz of RR-6829, section 0.2."""
    out = np.zeros_like(z)
    for sign, first, second in ((1.0, 1.0, 0.79), (-1.0, 0.55, 0.31)):
        chosen = z * sign > 0
        t = np.log(z[chosen] * sign) / 0.1
        out[chosen] = sign * np.exp(t + 0.49 * (np.sin(first * t) + np.sin(second * t))) ** 0.1
    return out


def _rotation(seed: int, dimension: int) -> Array:
    """Random orthonormal columns, by Gram and Schmidt."""
    u = _uniform(2 * dimension * dimension, seed)
    half = dimension * dimension
    gauss = np.sqrt(-2.0 * np.log(u[:half])) * np.cos(2.0 * math.pi * u[half:])
    out = gauss.reshape(dimension, dimension).T.copy()
    for i in range(dimension):
        for j in range(i):
            out[:, i] -= (out[:, i] @ out[:, j]) * out[:, j]
        out[:, i] /= math.sqrt(out[:, i] @ out[:, i])
    return out


def _uniform(n: int, seed: int) -> Array:
    """The generator of the BBOB definitions: a linear congruence, shuffled through a table of 32."""
    state = max(abs(seed), 1)
    table = [0] * 32

    def step(state: int) -> int:
        part = state // 127773
        new = 16807 * (state - part * 127773) - 2836 * part
        return new + 2147483647 if new < 0 else new

    for i in range(39, -1, -1):
        state = step(state)
        if i < 32:
            table[i] = state
    last = table[0]
    out = np.empty(n)
    for i in range(n):
        state = step(state)
        place = last // 67108865
        last, table[place] = table[place], state
        out[i] = last / 2147483647.0
    return np.where(out == 0.0, 1e-99, out)
