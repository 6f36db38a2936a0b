"""Formulas for RAPPOR."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.formulas.protocols import rappor
from tests.formulas.agreement import assert_one_number

F, P, Q = 0.4, 0.3, 0.8


@pytest.mark.parametrize(
    ("formula", "arguments"),
    [
        (lambda ctx, **at: rappor.report_probabilities(ctx, **at)[0], {"f": F, "p": P, "q": Q}),
        (lambda ctx, **at: rappor.report_probabilities(ctx, **at)[1], {"f": F, "p": P, "q": Q}),
        (rappor.bit_loss, {"f": F, "ratio": 0.25}),
        (rappor.permanent_epsilon, {"f": F, "bits": 6}),
        (rappor.epsilon, {"f": F, "p": P, "q": Q, "reports": 7, "lost": 2, "gained": 3}),
        (rappor.published_epsilon_one, {"f": F, "p": P, "q": Q, "hashes": 2}),
        (rappor.flip_parameter, {"epsilon_bit": 1.25}),
        (rappor.variance_factor, {"zero": P, "one": Q}),
    ],
)
def test_every_context_gives_the_same_number(formula: Callable[..., Any], arguments: dict[str, Any]) -> None:
    assert_one_number(formula, arguments)


def enumerated(f: float, p: float, q: float, reports: int, sign: int) -> float:
    """The largest loss of a 1 against a 0, or the reverse, over all reports, one after the other."""
    largest = -math.inf
    for sent in itertools.product((0, 1), repeat=reports):
        given_kept = [math.prod(one if bit else 1 - one for bit in sent) for one in (p, q)]
        laws = [(1 - f / 2) * given_kept[bit] + f / 2 * given_kept[1 - bit] for bit in (0, 1)]
        largest = max(largest, sign * math.log(laws[1] / laws[0]))
    return largest


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.5), st.floats(0.51, 0.99), st.integers(1, 6))
def test_the_largest_losses_are_those_of_the_enumerated_reports(f: float, p: float, q: float, reports: int) -> None:
    lost, gained = (rappor.epsilon(mpmath.fp, f, p, q, reports, *split) for split in ((1, 0), (0, 1)))
    assert lost == pytest.approx(enumerated(f, p, q, reports, 1), rel=1e-9, abs=1e-12)
    assert gained == pytest.approx(enumerated(f, p, q, reports, -1), rel=1e-9, abs=1e-12)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.5), st.floats(0.51, 0.99), st.integers(1, 8))
def test_the_published_formula_is_that_of_one_report(f: float, p: float, q: float, hashes: int) -> None:
    published = rappor.published_epsilon_one(mpmath.fp, f, p, q, hashes)
    assert published == pytest.approx(rappor.epsilon(mpmath.fp, f, p, q, 1, hashes, hashes), rel=1e-9, abs=1e-12)


def test_many_reports_tend_to_the_permanent_response() -> None:
    limit = rappor.permanent_epsilon(mpmath.fp, F, 4)
    after = [rappor.epsilon(mpmath.fp, F, P, Q, reports, 2, 2) for reports in (1, 2, 4, 8, 16, 64)]
    assert all(a < b for a, b in itertools.pairwise(after))
    assert after[-2] < limit == pytest.approx(after[-1], rel=1e-15)
    assert rappor.flip_parameter(mpmath.fp, limit / 4) == pytest.approx(F)
