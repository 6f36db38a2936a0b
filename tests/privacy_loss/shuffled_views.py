"""Shuffled reports by brute force, in rationals: what the engine's answers are compared with."""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

Law = Sequence[Fraction]


def view(laws: Sequence[Law]) -> dict[tuple[int, ...], Fraction]:
    """Return the law of how often each report occurs, for independent users with these laws of their reports."""
    found = {(0,) * len(laws[0]): Fraction(1)}
    for law in laws:
        grown: Counter[tuple[int, ...]] = Counter()
        for counts, mass in found.items():
            for report, chance in enumerate(law):
                if chance:
                    grown[(*counts[:report], counts[report] + 1, *counts[report + 1 :])] += mass * chance  # type: ignore[assignment]
        found = dict(grown)  # type: ignore[arg-type]
    return found


def divergence(first: Sequence[Law], second: Sequence[Law], epsilon: float) -> Fraction:
    """Return the exact divergence of the views, with e^epsilon as the float's binary value."""
    one, other, power = view(first), view(second), Fraction(math.exp(epsilon))
    return sum(
        (max(mass - power * other.get(counts, Fraction(0)), Fraction(0)) for counts, mass in one.items()), Fraction(0)
    )


def rationals(row: Sequence[float]) -> list[Fraction]:
    """Return floats as a law: what they lack to 1 goes to the first."""
    law = [Fraction(float(entry)) for entry in row]
    law[0] += 1 - sum(law)
    return law
