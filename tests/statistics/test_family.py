import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dpverify.statistics.family import AuditResult, Verdict, decide, holm, overall
from tests.refusals import refused


def result(p_value: float, power: float | None) -> AuditResult:
    return AuditResult("check", p_value, 10, "method", "evidence", fault="fault", power=power)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6))
def test_holm_is_the_closure_of_bonferroni(p_values: list[float]) -> None:
    # An independent definition: reject i at a iff Bonferroni rejects every subset that holds i at a.
    everyone = range(len(p_values))
    subsets = [s for size in range(1, len(p_values) + 1) for s in combinations(everyone, size)]
    closed = [max(min(1.0, len(s) * min(p_values[j] for j in s)) for s in subsets if i in s) for i in everyone]
    assert_allclose(holm(p_values), closed, rtol=1e-12)


def test_verdicts() -> None:
    decided = decide([result(0.001, 0.5), result(0.006, 0.99), result(0.5, 0.5), result(0.7, None)], 0.01)
    assert [r.verdict.value for r in decided] == ["violates", "consistent", "undecided", "undecided"]
    assert decided[1].details["adjusted_p_value"] == pytest.approx(0.018)
    assert overall(decided) is Verdict.VIOLATES
    assert overall(decided[1:]) is Verdict.UNDECIDED
    assert overall(decided[1:2]) is Verdict.CONSISTENT
    assert overall([]) is Verdict.UNDECIDED


def test_a_result_is_plain_json() -> None:
    (decided,) = decide([result(0.2, 0.97)], 0.05)
    assert json.loads(json.dumps(decided.to_dict())) == decided.to_dict()
    assert decided.to_dict()["verdict"] == "consistent"


def test_bad_input() -> None:
    with refused("p_value=1.5"):
        result(1.5, None)
    with refused("p_values"):
        holm([0.5, -0.1])


def test_weights_are_shares_of_the_level() -> None:
    # A test with 8 of 10 parts needs no more than 10 / 8 of its p-value; once it is out, the others share all.
    assert_allclose(holm([0.008, 0.004, 0.5], [8.0, 1.0, 1.0]), [0.01, 0.01, 0.5], rtol=1e-12)
    assert_allclose(holm([0.3, 0.01], [3.0, 1.0]), [0.3, 0.04], rtol=1e-12)
    assert_allclose(holm([0.2, 0.1, 0.4], [5.0, 5.0, 5.0]), holm([0.2, 0.1, 0.4]), rtol=1e-12)
    with refused("weights"):
        holm([0.5, 0.1], [1.0, 0.0])


def test_a_test_with_a_level_of_its_own_is_decided_at_it() -> None:
    # Bonferroni for these, Holm at the rest for the others: 0.05 = 0.02 + 0.01 + 0.02.
    own = [replace(result(p, None), level=level) for p, level in ((0.02, 0.02), (0.0101, 0.01))]
    others = [result(0.0099, None), result(0.0199, None), result(0.021, None)]
    decided = decide([own[0], *others, own[1]], 0.05)
    assert [r.verdict is Verdict.VIOLATES for r in decided] == [True, False, False, False, False]
    assert_allclose([r.details["adjusted_p_value"] for r in decided], [0.05, 0.07425, 0.0995, 0.0995, 0.0505])
    two = decide([own[0], *others[:2], own[1]], 0.05)
    assert [r.verdict is Verdict.VIOLATES for r in two] == [True, True, True, False]
    assert [r.verdict.value for r in decide(own, 0.03)] == ["violates", "undecided"]
    for level, results in ((0.03, [*own, others[0]]), (0.02, own)):
        with pytest.raises(ValueError, match=r"must be above the sum of the results' own levels"):
            decide(results, level)


@pytest.mark.long
def test_the_level_holds_exactly_over_fixed_and_shared_parts() -> None:
    # All true: P(some verdict is "violates") of independent uniform p-values on a grid, by enumeration, is at most
    # the level, and close to it.
    grid, level = (np.arange(40) + 1) / 40, 0.3
    alarms = 0
    for first in grid:
        for second in grid:
            for third in grid[::4]:
                two = [replace(result(float(first), None), level=0.1), result(float(second), None)]
                decided = decide([*two, result(float(third), None)], level)
                alarms += any(r.verdict is Verdict.VIOLATES for r in decided)
    assert 0.8 * level < alarms / (40 * 40 * 10) <= level
