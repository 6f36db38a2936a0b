"""Audits against a law of the caller's own: discrete, in rows, with a density."""

from typing import Any

import numpy as np
import pytest

from dpverify.audit.protocol import audit_protocol
from dpverify.audit.running.target import Target
from dpverify.audit.subjects.own_law import common_cells, law_subject
from dpverify.laws.continuous import ContinuousLaw, Gaussian, Laplace
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.family import Verdict

LAPLACE = {"none": (0.0, Laplace(0.0, 1.0)), "one": (1.0, Laplace(1.0, 1.0))}
HOW = {"trials": 4_000, "level": 1e-3, "seed": 3}


def noisy(scale: float) -> Target:
    return Target(lambda value, rng, trials: value + rng.laplace(scale=scale, size=trials), batch=True)


def test_noise_with_a_density_is_consistent_with_its_own_law_and_promise() -> None:
    report = audit_protocol(law_subject(noisy(1.0), LAPLACE), ("1.05", 0), trials=20_000, level=1e-3)
    assert report.verdict is Verdict.CONSISTENT
    assert any("digits of the outputs finer than 0.1" in words for words in report.limits.not_tested)


def test_too_little_noise_and_too_small_a_promise_are_found() -> None:
    narrow = audit_protocol(law_subject(noisy(0.8), LAPLACE), **HOW)
    assert {result.check for result in narrow.violations} >= {
        "conformance of output, none",
        "conformance of output, one",
    }
    claimed = audit_protocol(law_subject(noisy(1.0), LAPLACE), ("0.8", 0), **HOW)
    assert claimed.violations[0].check == "privacy of output, none against one"


def test_every_two_inputs_are_compared() -> None:
    """The third input leaks, and only against the first is that more than the claim."""
    cases = {str(at): (float(at), Gaussian(at, 1.0)) for at in range(3)}
    subject = law_subject(lambda value, rng: value + rng.normal(), cases)
    assert [(pair.first, pair.second) for pair in subject.neighbours] == [(0, 1), (0, 2), (1, 2)]
    report = audit_protocol(law_subject(lambda value, rng: value + rng.normal(), cases), ("1.2", "0.3"), **HOW)
    assert [result.check for result in report.violations] == ["privacy of output, 0 against 2"]


def test_rows_are_tested_together() -> None:
    """Two fair coins each time, but equal on one input, and unequal on the other: no column shows it."""
    equal, unequal = (DiscreteLaw.of(rows, [0.5, 0.5]) for rows in ([[0, 0], [1, 1]], [[0, 1], [1, 0]]))

    def coins(value: Any, rng: np.random.Generator) -> list[int]:
        coin = int(rng.integers(2))
        return [coin, coin ^ int(value)]

    report = audit_protocol(law_subject(coins, {"equal": (0, equal), "unequal": (1, unequal)}), (1, 0), **HOW)
    assert report.violations[0].check == "privacy of the view, equal against unequal"


@pytest.mark.parametrize(
    "law", [Laplace(0.0, 1.0), Laplace(1e3, 1e-6), Gaussian(-1e3, 1e-3), Gaussian(-7.0, 1e5)], ids=repr
)
def test_cells_reach_as_far_as_the_law_and_no_further(law: ContinuousLaw) -> None:
    cells = common_cells([law])
    masses = cells.law(law)
    half = (cells.reach - 1) * cells.width
    assert float(law.cdf(cells.centre - half)) <= 1.0001e-6 >= float(law.survival(cells.centre + half))
    assert (
        float(law.cdf(cells.centre - half + cells.width))
        > 1e-6
        < float(law.survival(cells.centre + half - cells.width))
    )
    assert masses.atoms == 2 * cells.reach


def test_mixed_laws_other_rows_and_no_case_are_refused() -> None:
    point, row = DiscreteLaw.of([0], [1.0]), DiscreteLaw.of([[0, 1]], [1.0])
    with pytest.raises(TypeError, match=r"^cases mixes discrete laws and laws with a density, but all must be of one"):
        law_subject(abs, {"a": (0, point), "b": (1, Laplace(0.0, 1.0))})
    with pytest.raises(ValueError, match=r"^cases has laws on outputs of the shapes \[\(\), \(2,\)\], but they must"):
        law_subject(abs, {"a": (0, point), "b": (1, row)})
    with pytest.raises(ValueError, match=r"^the number of cases=0 must be"):
        law_subject(abs, {})
