"""The two randomized responses follow Figure 9.3, one user at a time and many together."""

import itertools
from typing import Any

import numpy as np
import pytest

from protocols.rappor.response import PermanentResponse, Rappor
from tests.refusals import refused
from tests.samples import assert_law, rows

SMALL = Rappor(3, 2, cohorts=2, f=0.5, p=0.25, q=0.875, reports=2)


def law(protocol: Rappor, filled: Any) -> dict[tuple[int, ...], float]:
    """The law of the reports on a pattern, by enumeration of Figure 9.3."""
    found = {}
    for sent in itertools.product((0, 1), repeat=protocol.reports * protocol.bits):
        mass = 1.0
        for bit, held in enumerate(filled):
            of_bit = 0.0
            for kept in (0, 1):
                chance = (1.0 - protocol.f / 2) if kept == held else protocol.f / 2
                one = protocol.q if kept else protocol.p
                for report in range(protocol.reports):
                    chance *= one if sent[report * protocol.bits + bit] else 1.0 - one
                of_bit += chance
            mass *= of_bit
        found[sent] = mass
    return found


@pytest.mark.parametrize("cohort", [0, 1])
def test_reports_have_the_law_of_the_figure(cohort: int) -> None:
    users = 40_000
    cohorts, bits = SMALL.randomize(["x"] * users, np.random.default_rng(cohort), cohorts=np.full(users, cohort))
    assert (cohorts == cohort).all()
    assert bits.shape == (users, 2, 3)
    filled = SMALL.filter.patterns(["x"])[0, cohort]
    assert_law(rows(bits.reshape(users, -1)), law(SMALL, filled))


def test_the_permanent_response_has_its_law() -> None:
    response = PermanentResponse(3, 1, f=0.25)
    _, bits = response.randomize(["x"] * 20_000, np.random.default_rng(3))
    filled = response.filter.patterns(["x"])[0, 0]
    chances = {
        sent: float(np.prod([0.875 if bit == held else 0.125 for bit, held in zip(sent, filled, strict=True)]))
        for sent in itertools.product((0, 1), repeat=3)
    }
    assert_law(rows(bits), chances)


def test_the_probabilities_of_one_report() -> None:
    zero, one = SMALL.report_probabilities
    assert (zero, one) == (0.25 * 0.875 + 0.75 * 0.25, 0.75 * 0.875 + 0.25 * 0.25)


def test_users_are_spread_over_the_cohorts_and_hold_their_own_values() -> None:
    values = ["a", "b", "a\u0301", "\u00e1"] * 5000
    protocol = Rappor(64, 2, cohorts=3, f=1e-9, p=1e-9, q=1 - 1e-9)
    cohorts, bits = protocol.randomize(values, np.random.default_rng(4))
    assert_law(cohorts.tolist(), dict.fromkeys(range(3), 1 / 3))
    np.testing.assert_array_equal(bits[:, 0], protocol.filter.patterns(values[:4])[np.arange(20_000) % 4, cohorts])


def test_the_generator_determines_everything() -> None:
    drawn = [SMALL.randomize(["a", "b", "c"], np.random.default_rng(5)) for _ in range(2)]
    for first, second in zip(*drawn, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("values", "cohorts", "message"),
    [
        (["a", 2], None, "values[1]=2 must be a string."),
        (["a"], [0, 1], "cohorts has shape (2,), but must have shape (1,)."),
        (["a"], [0.0], "cohorts has dtype float64, but must hold integers in [0, 2)."),
        (["a"], [2], "cohorts[0]=2 must be in [0, 2)."),
    ],
)
def test_inputs_are_checked(values: Any, cohorts: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        SMALL.randomize(values, np.random.default_rng(0), cohorts=cohorts)
    assert str(caught.value) == message


def test_a_seed_is_no_generator() -> None:
    with refused("rng=7", TypeError):
        SMALL.randomize(["a"], 7)  # type: ignore[arg-type]
