"""Audits of estimators of a mean: right ones pass, and wrong noise or a wrong centre does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.audit.protocol import audit_protocol
from dpverify.audit.running.target import Target
from dpverify.audit.subjects.means import mean_subject
from dpverify.statistics.family import Verdict
from protocols.bitsum import RandomizedResponse
from protocols.local.baselines import CentralLaplaceMean
from protocols.local.labels import LabelRandomizedResponse
from protocols.local.laplace import DiscreteLaplaceMean, LaplaceMean
from protocols.local.one_bit import OneBitMean
from protocols.local.randomized_response import RandomizedResponseMean
from protocols.shuffled_mean import ShuffledMean

ESTIMATORS = [
    RandomizedResponseMean(1.0, 3),
    OneBitMean(1.0, 3.0),
    DiscreteLaplaceMean(1.0, 2.0, 2),
    CentralLaplaceMean(9, 0.7, 2.0),
    ShuffledMean(12, 0.4),
]
OPTIONS: dict[str, Any] = {"trials": 4000, "level": 1e-3, "seed": 5}


@pytest.mark.parametrize("reference", ESTIMATORS, ids=lambda reference: type(reference).__name__)
def test_right_estimators_are_not_refuted(reference: Any) -> None:
    assert audit_protocol(mean_subject(reference), **OPTIONS).verdict is not Verdict.VIOLATES


@pytest.mark.parametrize("reference", [*ESTIMATORS[:3], LaplaceMean(1.0, 3.0)], ids=lambda r: type(r).__name__)
def test_right_reports_keep_their_promise(reference: Any) -> None:
    report = audit_protocol(reference, (1.0, 0), **OPTIONS)
    assert report.verdict is not Verdict.VIOLATES
    assert audit_protocol(reference, (0.99, 0), trials=200).verdict is Verdict.VIOLATES


def test_equation_9_5_as_it_stands_is_found_biased() -> None:
    mean = ShuffledMean(12, 0.4)

    def published(values: NDArray[Any], rng: np.random.Generator) -> float:
        p = mean.coin_probability
        return float((mean.randomize(values, rng).symbols.sum() - p / 2) / (mean.users * (1 - p)))

    report = audit_protocol(mean, implementation=published, **OPTIONS)
    assert report.verdict is Verdict.VIOLATES


def test_flips_that_are_10_percent_off_are_found() -> None:
    mean = OneBitMean(1.0)

    def timid(values: NDArray[Any], rng: np.random.Generator) -> int:
        flipped = rng.random() < 1.1 * mean.flip_probability
        return int((rng.random() < values[0]) ^ flipped)

    report = audit_protocol(mean, implementation=timid, trials=20_000, level=1e-3, seed=1)
    assert report.verdict is Verdict.VIOLATES


def test_a_factor_that_is_forgotten_is_found() -> None:
    def raw(values: NDArray[Any], rng: np.random.Generator) -> float:
        return float(RandomizedResponseMean(1.0, 3).randomize(values, rng).mean())

    subject = mean_subject(RandomizedResponseMean(1.0, 3), implementation=raw)
    report = audit_protocol(subject, (0.99, 0), **OPTIONS)
    assert {result.check.split()[0] for result in report.violations} >= {"privacy", "conformance"}
    assert "privacy of the parameters" in [result.check for result in report.violations]


@pytest.mark.parametrize("share", [0.8, 1.25])
def test_noise_of_another_scale_is_found(share: float) -> None:
    reference = LaplaceMean(1.0, 3.0)

    def noisy(values: NDArray[Any], rng: np.random.Generator) -> float:
        return float(values[0] + rng.laplace(0.0, share * reference.scale))

    report = audit_protocol(reference, implementation=noisy, trials=4000, level=1e-3, seed=2)
    assert report.verdict is Verdict.VIOLATES


def test_a_curator_who_forgets_n_is_found() -> None:
    curator = CentralLaplaceMean(9, 0.7, 2.0)

    def precise(values: NDArray[Any], rng: np.random.Generator) -> float:
        return float(values.mean() + rng.laplace(0.0, curator.scale / 2.0))

    assert audit_protocol(curator, (0.7, 0), implementation=precise, **OPTIONS).verdict is Verdict.VIOLATES


def test_datasets_differ_in_one_user() -> None:
    subject = mean_subject(OneBitMean(1.0, 3.0))
    assert [dataset.inputs.tolist() for dataset in subject.datasets[:2]] == [[0.0] * 6, [3.0] + [0.0] * 5]
    assert [len(dataset.inputs) for dataset in mean_subject(ShuffledMean(12, 0.4)).datasets] == [12] * 3


def test_what_estimates_no_mean_is_refused() -> None:
    for reference in (LabelRandomizedResponse(3, 1.0), RandomizedResponse(9, 0.1)):
        with pytest.raises(TypeError, match=r"^reference=.* must estimate a mean, with an exact law"):
            mean_subject(reference)
    with pytest.raises(TypeError, match=r"has no listed reports: laplace-mean has a law with a density\.$"):
        mean_subject(LaplaceMean(1.0))


def test_an_exact_answer_at_times_is_found() -> None:
    """One run in two hundred has no noise: its number is one that a continuous law has never twice."""
    curator = CentralLaplaceMean(9, 0.7, 2.0)

    def at_times(values: NDArray[Any], rng: np.random.Generator, trials: int) -> NDArray[Any]:
        return np.asarray(values.mean() + rng.laplace(0.0, curator.scale, trials) * (rng.random(trials) >= 0.005))

    report = audit_protocol(curator, implementation=Target(at_times, True, (), "target"), trials=20_000, level=1e-3)
    assert any("conformance" in result.check for result in report.violations)
