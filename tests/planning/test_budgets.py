"""What one instance may spend, by theorem and by exact law; that it is printed rounded down is the command's test."""

from fractions import Fraction

import pytest

from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.composition.inverse import per_instance_budget
from dpverify.composition.theorems import CompositionTheorem
from dpverify.planning.account import account
from dpverify.planning.budgets import split_budget
from dpverify.planning.plan import plan

ASKED = ["--epsilon", "0.1", "--delta", "1e-7", "--instances", "30"]


def test_the_theorems_are_inverted_one_by_one() -> None:
    found = split_budget(("2", "1e-6"), 768, sparsity=2)
    assert [row.composition for row in found.rows] == [theorem.value for theorem in CompositionTheorem]
    for row in found.rows:
        one = per_instance_budget(("2", "1e-6"), 768, sparsity=2, composition=row.composition)
        assert (row.epsilon0, row.delta0, row.delta_slack) == (one.epsilon0, one.delta0, one.delta_slack)


def test_what_the_exact_law_allows_is_what_such_an_instance_spends() -> None:
    found = split_budget(("1", "1e-5"), 12, sparsity=2, bitsum="Poisson", users=100)
    row = found.rows[-1]
    made = plan("poisson", ("1", "1e-5"), users=100, instances=12, sparsity=2)
    assert (row.composition, row.parameters, found.bitsum) == ("exact", made.parameters, "poisson")
    assert row.epsilon0 is not None
    assert row.delta0 is not None
    assert Fraction(row.delta0) <= Fraction(1, 10**5 * 24) < Fraction(row.delta0) * (1 + Fraction(1, 10**15))
    spent = account(made.protocol, delta=row.delta0).epsilon
    assert row.epsilon0 == spent.lower
    # Knowing the law is worth more than any theorem.
    assert all(row.epsilon0 > 2 * other.epsilon0 for other in found.rows[:-1] if other.epsilon0 is not None)


def test_at_delta_0_what_cannot_be_met_is_a_row() -> None:
    basic, advanced, optimal, exact = split_budget((2, 0), 8, bitsum="local-rr", users=10).rows
    assert basic.to_dict() == {"composition": "basic", "epsilon0": 0.25, "delta0": 0.0, "delta_slack": 0.0}
    assert str(basic.delta_slack) == "0.0"  # and no -0.0
    assert advanced.to_dict().keys() == {"composition", "error"}
    assert optimal.epsilon0 is not None
    assert exact.epsilon0 is not None
    assert 0.2499 < exact.epsilon0 <= 0.25
    (failed,) = split_budget((2, 0), 8, bitsum="3nb", users=10).rows[3:]
    assert failed.error == "delta=0 cannot be met by 3nb: its views are not pure DP."


def test_what_is_asked_is_checked() -> None:
    with pytest.raises(ValueError, match=r"bitsum='rr' and users=None must be given together"):
        split_budget((1, 0), 1, bitsum="rr")
    with pytest.raises(ValueError, match="bitsum='4nb' must be one of rr, 3nb"):
        split_budget((1, 0), 1, bitsum="4nb", users=3)
    with pytest.raises(ValueError, match="instances=0"):
        split_budget((1, 0), 0)


def test_every_protocol_has_an_exact_row() -> None:
    for name in ("3nb", "nb", "pure", "central-discrete-laplace"):
        assert name in BITSUM_CLAIMS
        row = split_budget(("1", "1e-4"), 2, bitsum=name, users=50).rows[-1]
        assert row.epsilon0 is not None, row.error
        assert 0.3 < row.epsilon0 < 1.2
