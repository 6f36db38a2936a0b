import itertools
import math
import random

import numpy as np
import pytest

from protocols.local.labels import LabelRandomizedResponse
from tests.refusals import refused
from tests.samples import assert_law, assert_same_law


@pytest.mark.parametrize(("classes", "epsilon"), [(2, 0.5), (4, math.log(3)), (14, 7.0)])
def test_transition_is_the_definition_and_epsilon_is_attained(classes: int, epsilon: float) -> None:
    mechanism = LabelRandomizedResponse(classes, epsilon)
    matrix = mechanism.transition
    keep = math.exp(epsilon) / (math.exp(epsilon) - 1 + classes)
    np.testing.assert_allclose(np.diag(matrix), keep, rtol=1e-14)
    np.testing.assert_allclose(matrix[~np.eye(classes, dtype=bool)], (1 - keep) / (classes - 1), rtol=1e-12)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, rtol=1e-14)
    assert (matrix.max(axis=0) / matrix.min(axis=0)).max() == pytest.approx(math.exp(epsilon), rel=1e-14)


def test_large_epsilon_keeps_its_ratio() -> None:
    mechanism = LabelRandomizedResponse(10, 700.0)
    assert mechanism.other_probability > 0
    assert math.log(mechanism.keep_probability) - math.log(mechanism.other_probability) == pytest.approx(700, rel=1e-14)


@pytest.mark.parametrize(("classes", "epsilon"), [(2, 0.5), (4, 1.0), (5, 40.0)])
def test_reports_have_the_stated_law(classes: int, epsilon: float) -> None:
    mechanism = LabelRandomizedResponse(classes, epsilon)
    for label in range(classes):
        reports = mechanism.randomize(np.full(20_000, label), np.random.default_rng([41, classes, label]))
        assert_law(reports.tolist(), dict(enumerate(mechanism.transition[label])))


def test_debiased_counts_by_enumeration() -> None:
    mechanism = LabelRandomizedResponse(3, 0.8)
    labels, true = (0, 2, 2), np.array([1.0, 0.0, 2.0])
    outcomes = list(itertools.product(range(3), repeat=3))
    mass = np.array([math.prod(mechanism.transition[c, r] for c, r in zip(labels, o, strict=True)) for o in outcomes])
    estimates = np.array([mechanism.debias(np.bincount(o, minlength=3)) for o in outcomes])
    np.testing.assert_allclose(mass @ estimates, true, atol=1e-12)
    centred = estimates - true
    covariance = mechanism.covariance(true)
    np.testing.assert_allclose((mass[:, None] * centred).T @ centred, covariance, rtol=1e-12)
    # Linear in the counts, so at the debiased counts it is an unbiased estimate.
    plugged_in = np.array([mechanism.covariance(estimate) for estimate in estimates])
    np.testing.assert_allclose(np.tensordot(mass, plugged_in, 1), covariance, rtol=1e-12)


def test_small_epsilon_is_debiased_without_cancellation() -> None:
    mechanism = LabelRandomizedResponse(3, 1e-9)
    np.testing.assert_allclose(mechanism.debias([2, 1, 0]), np.array([1, 0, -1]) * 3e9 + 1, rtol=1e-7)


def test_one_class_and_determinism() -> None:
    assert LabelRandomizedResponse(1, 2.0).randomize([0, 0], np.random.default_rng(1)).tolist() == [0, 0]
    mechanism = LabelRandomizedResponse(3, 0.1)
    first, second = (mechanism.randomize(np.arange(99) % 3, np.random.default_rng(2)).tolist() for _ in range(2))
    assert first == second


def test_inputs_are_checked() -> None:
    mechanism, rng = LabelRandomizedResponse(3, 1.0), np.random.default_rng(1)
    with pytest.raises(ValueError, match=r"^labels\[1\]=3 must be in \[0, 3\)\.$"):
        mechanism.randomize([0, 3], rng)
    with pytest.raises(TypeError, match=r"^labels has dtype float64"):
        mechanism.randomize([0.0], rng)
    with pytest.raises(ValueError, match=r"^labels has shape \(1, 1\)"):
        mechanism.randomize([[0]], rng)
    with pytest.raises(TypeError, match=r"^rng=1 must be"):
        mechanism.randomize([0], 1)
    with pytest.raises(ValueError, match=r"^reported has shape \(2,\), but must have shape \(3,\)\.$"):
        mechanism.debias([1, 2])
    with pytest.raises(ValueError, match=r"^counts\[1\]=nan must be a finite number\.$"):
        mechanism.covariance([1, math.nan, 2])
    with refused("classes=0"):
        LabelRandomizedResponse(0, 1.0)


def test_a_real_report_has_the_law_of_a_simulated_one() -> None:
    labels, entropy = LabelRandomizedResponse(4, 0.9), random.Random(5)
    real = [labels.report(2, entropy) for _ in range(5_000)]
    assert_same_law(real, labels.randomize(np.full(50_000, 2), np.random.default_rng(5)).tolist())
    assert LabelRandomizedResponse(1, 1.0).report(0) == 0
    with refused("label=4"):
        labels.report(4)
