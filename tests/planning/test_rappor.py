"""Plans of RAPPOR keep both epsilons, and no other parameters have less error."""

import itertools
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.claims.rappor.decoder import deviation, least_holders
from dpverify.planning.account import account
from dpverify.planning.rappor import plan_rappor
from protocols.rappor.response import PermanentResponse, Rappor


@given(st.floats(1e-3, 12.0), st.floats(1e-3, 0.999))
@settings(max_examples=12)
def test_both_budgets_are_kept_and_used(limit: float, share: float) -> None:
    for row in plan_rappor(share * limit, limit, users=1000).rows:
        made = row.protocol
        kept = PermanentResponse(made.bits, made.hashes, f=made.f)
        for found, budget in ((account(made, delta=0), share * limit), (account(kept, delta=0), limit)):
            assert Fraction(found.epsilon.upper) <= Fraction(budget)
            assert found.epsilon.lower >= budget * (1 - 1e-9)
        assert row.epsilon_one == account(made, delta=0).epsilon
        assert made.report_probabilities[0] < made.report_probabilities[1]


@pytest.mark.parametrize(("one", "limit"), [(1.0, 4.0), (3.5, 4.0), (0.2, 0.25)])
def test_no_other_p_and_q_have_less_error(one: float, limit: float) -> None:
    (row,) = plan_rappor(one, limit, users=1000, hashes=(2,)).rows
    grid = np.linspace(0.001, 0.999, 60)
    for p, q in itertools.product(grid, repeat=2):
        if not p < q:
            continue
        made = Rappor(128, 2, f=row.protocol.f, p=float(p), q=float(q))
        zero, chance = made.report_probabilities
        if 2 * math.log(chance * (1 - zero) / (zero * (1 - chance))) <= one:
            assert deviation(made, 1000) >= row.deviation * (1 - 1e-6)


def test_the_published_parameters_have_more_error_at_the_same_privacy() -> None:
    published = Rappor(128, 2, f=0.5, p=0.5, q=0.75)
    one, limit = account(published, delta=0).epsilon.upper, 4.39444915467244
    plan = plan_rappor(one, limit, users=100_000, hashes=(1, 2))
    assert [round(row.deviation) for row in plan.rows] == [564, 829]
    assert round(deviation(published, 100_000)) == 894
    assert plan.best is plan.rows[0]
    assert plan.best.least_holders == least_holders(plan.best.protocol, 100_000, 1000)


def test_the_decoder_can_fit_all_candidates_together() -> None:
    for candidates, bits in ((1, 2), (1000, 128), (5000, 64)):
        made = plan_rappor(1, 2, users=10, candidates=candidates, bits=bits, hashes=(1,)).rows[0].protocol
        assert made.cohorts * made.bits >= 8 * candidates > (made.cohorts - 1) * made.bits


def test_what_reports_reveal_rises_to_the_limit() -> None:
    plan = plan_rappor("0.5", "2", users=1000, hashes=(2,))
    after = [plan.rows[0].after(reports).upper for reports in (1, 2, 10, 1000)]
    assert all(a < b for a, b in itertools.pairwise(after))
    assert after[-1] <= 2.0
    found = json.loads(json.dumps(plan.to_dict()))
    assert found["rows"][0]["parameters"]["hashes"] == 2
    assert found["rows"][0]["epsilon_one"]["upper"] <= 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon_one": 2}, "epsilon_one=2 must be in [1e-12, epsilon_limit=2)."),
        ({"epsilon_one": 0}, "epsilon_one=0 must be in [1e-12, epsilon_limit=2)."),
        ({"epsilon_one": 1e-15}, "epsilon_one=1e-15 must be in [1e-12, epsilon_limit=2)."),
        ({"epsilon_limit": 1001}, "epsilon_limit=1001 must be in (0, 1000]."),
        (
            {"epsilon_one": 3.9999999999, "epsilon_limit": 4, "hashes": (2,)},
            "epsilon_one=3.9999999999 must be smaller for epsilon_limit=4.0 and hashes=2, as no floats p and q in (0, "
            "1) are left.",
        ),
        ({"epsilon_one": 998, "epsilon_limit": 999}, "epsilon_one=998 must be at most 700 for each hash function."),
        ({"users": 0}, "users=0 must be an integer in [1, inf)."),
        ({"candidates": 0}, "candidates=0 must be an integer in [1, inf)."),
        ({"bits": 7}, "bits=7 must be at least 8, twice as many as hashes=4."),
        ({"hashes": ()}, "hashes is empty, but must hold at least one number."),
        ({"hashes": (0,)}, "hashes=0 must be an integer in [1, inf)."),
    ],
)
def test_arguments_are_checked(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        plan_rappor(**{"epsilon_one": 1, "epsilon_limit": 2, "users": 10, **change})
    assert str(caught.value) == message
