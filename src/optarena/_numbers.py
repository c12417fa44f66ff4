"""Numbers as people read them: in a terminal, a sentence, a page, a paper. Every way to write one is here.

>>> number(0.0153), number(12.346), interval(-0.02, 1.5)
('0.015', '12.35', '[−0.02, 1.50]')
>>> fixed(0.21637, 2), significant(1234567.0), short(0.000012345), seconds(0.0123)
('0.22', '1.235e+06', '1.234e-5', '12.3 ms')
"""

from __future__ import annotations

import math
from collections.abc import Iterable

ABSENT = "–"
"""Stands where there is no number."""


# ---- in sentences ----------------------------------------------------------------------------------------------------


def number(value: float | None) -> str:
    """Two decimals; two significant digits where it is small; no decimals from 100 on."""
    if value is None or math.isnan(value):
        return ABSENT
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    text = f"{value:.2f}" if abs(value) >= 0.095 or value == 0 else f"{value:.2g}"
    return text.replace("-", "−") if "e" not in text else text


def interval(lower: float | None, upper: float | None) -> str:
    return f"[{number(lower)}, {number(upper)}]"


def probability(value: float | None) -> str:
    """Two decimals, and more where a number next to 0.5, 0 or 1 would be taken for it."""
    if value is None or math.isnan(value):
        return ABSENT
    even = (0.0, 0.5, 1.0)
    texts = [f"{value:.{digits}f}" for digits in range(2, 7)]
    return texts[0] if value in even else next((text for text in texts if float(text) not in even), texts[0])


def p_value(p: float) -> str:
    """Two significant digits; none of those below 0.0001."""
    return f"{p:.2f}" if p >= 0.095 else f"{p:.2g}" if p >= 1e-4 else "< 0.0001"


def p_said(p: float) -> str:
    """In a sentence: p = 0.03, p < 0.0001."""
    return f"p {p_value(p)}" if p < 1e-4 else f"p = {p_value(p)}"


def rough(n: int) -> str:
    """A number of which only two digits mean anything."""
    return f"{int(float(f'{n:.2g}')):,}"


def counted(n: int, noun: str) -> str:
    """1 study, 2,400 studies."""
    plural = {"study": "studies"}.get(noun, noun + "s")
    return f"{n:,} {noun if n == 1 else plural}"


def duration(seconds: float) -> str:
    """How long something took: 3.2 s, 45 s, 12 min 05 s, 3 h 20 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


# ---- in tables -------------------------------------------------------------------------------------------------------


def fixed(value: float | None, digits: int) -> str:
    """So many digits after the point."""
    return ABSENT if value is None else f"{value:.{digits}f}"


def significant(value: float | None, digits: int = 4) -> str:
    """So many digits that are not leading zeros."""
    return ABSENT if value is None else f"{value:.{digits}g}"


def digits_apart(values: Iterable[float | None], least: int = 4, most: int = 6) -> int:
    """So many significant digits that values that differ look different, but at most so many: not 1 and 1."""
    found = {value for value in values if value is not None}
    return next((n for n in range(least, most) if len({significant(one, n) for one in found}) == len(found)), most)


def short(value: float | None) -> str:
    """For a page: as many digits as a screen shows, with an exponent where it is very large or small."""
    if value is None or math.isnan(value):
        return ABSENT
    if math.isinf(value):
        return str(value)
    if isinstance(value, int):
        return f"{value}"
    if value != 0 and not 1e-4 <= abs(value) < 1e6:
        mantissa, _, exponent = f"{value:.3e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    return f"{float(f'{value:.5g}'):.10f}".rstrip("0").rstrip(".")


def compact(value: float, most: float = 1e4) -> str:
    """Two significant digits, all of those before the point; an exponent from `most` on and below 0.01."""
    if math.isinf(value):
        return "∞"
    if value == 1:
        return "1"
    if 0.01 <= abs(value) < most:
        return f"{value:.{0 if abs(value) >= 9.95 else 1 if abs(value) >= 0.995 else 2}f}"
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return "0" if value == 0 else f"{mantissa}e{int(exponent)}"


def grouped(value: float | None, digits: int) -> str:
    """So many digits after the point, thousands set apart."""
    if value is None or math.isnan(value):
        return ABSENT
    return f"{value:,.{digits}f}" if math.isfinite(value) else str(value)


def seconds(value: float | None) -> str:
    """What an evaluation costs: 1.23 s, 4.5 ms, 12 µs."""
    if value is None or not math.isfinite(value):
        return short(value)
    unit, size = next(((unit, size) for unit, size in UNITS if value >= size), UNITS[-1])
    return f"{short(float(f'{value / size:.3g}'))} {unit}"


UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def typeset(text: str) -> str:
    """A number with the signs of print, −0.5 and ∞; nothing is below zero where only zeros are shown."""
    if text.startswith("-") and not any("1" <= sign <= "9" or sign == "i" for sign in text):
        text = text[1:]
    return text.replace("inf", "∞").replace("-", "−")


# ---- in papers -------------------------------------------------------------------------------------------------------


def in_math(value: float | None) -> str:
    """For TeX's math mode: three significant digits, four of large numbers; powers of ten written out."""
    if value is None or math.isnan(value):
        return r"\mbox{--}"
    if math.isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    if isinstance(value, int):
        return str(value)
    text = f"{value:.3g}" if abs(value) < 1000 else f"{value:.4g}"
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
    return text


RAISED = str.maketrans("0123456789-.", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻·")


def power_of_ten(value: float) -> str:
    """A number on COCO's grid as a power: `10⁻³·⁸`; others in three digits.

    >>> power_of_ten(1e-8), power_of_ten(10**-3.8), power_of_ten(10.0), power_of_ten(0.3)
    ('10⁻⁸', '10⁻³·⁸', '10', '0.3')
    """
    if value <= 0 or value in (1, 10):
        return f"{value:.3g}"
    power = round(math.log10(value), 6)
    return f"10{f'{power:g}'.translate(RAISED)}" if abs(power * 5 - round(power * 5)) < 1e-5 else f"{value:.3g}"
