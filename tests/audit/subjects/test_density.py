import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from dpverify.audit.protocol import audit_protocol
from dpverify.audit.results import POWER
from dpverify.audit.running.target import Target
from dpverify.audit.subjects.density import DensityErrors, DensityReport, DensityRuns, density_claim
from dpverify.statistics.family import Verdict
from protocols.bitsum import BitsumProtocol, NegativeBinomial, Pure, RandomizedResponse
from protocols.kde import KernelDensityProtocol
from protocols.lsq import GaussianFeatures, Identity

FAMILY = GaussianFeatures(2)
POINTS = np.array([[0.0, 0.0], [0.2, 0.1], [0.5, -0.3], [-0.2, 0.4], [0.3, 0.3], [1.0, 0.0]])
QUERIES = np.array([[0.0, 0.0], [0.4, 0.2], [1.5, -1.0]])
USERS, INSTANCES = len(POINTS), 12
RR = RandomizedResponse(USERS, 0.15)
NB = NegativeBinomial(USERS, 3.0, 0.7)

Bits = Callable[[NDArray[Any], np.random.Generator], NDArray[np.int64]]


def run(implementation: Any = None, bitsum: BitsumProtocol = RR, **options: Any) -> DensityReport:
    errors = DensityErrors(bitsum, FAMILY, POINTS, QUERIES, instances=INSTANCES, implementation=implementation)
    return audit_protocol(errors, **{"trials": 400, "detect": 0.3, "level": 0.05, **options})


def fair(probability: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
    return (rng.random(probability.shape) < probability).astype(np.int64)


def by_threshold(probability: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
    return (probability > 0.5).astype(np.int64)


@dataclass(frozen=True)
class Outsider:
    """Algorithm 2 in a few lines that share no code with `protocols`, with places for faults."""

    round: Bits = fair
    debias: bool = True
    scale: float = math.sqrt(2.0)
    users: int = USERS

    def __call__(self, points: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
        w, b = rng.normal(0.0, 1.0, (2, INSTANCES)), rng.uniform(0.0, 2.0 * np.pi, INSTANCES)

        def features(x: NDArray[Any]) -> NDArray[np.float64]:
            return self.scale * np.cos(math.sqrt(2.0) * x @ w + b)

        bits = self.round(0.5 + features(points) / (2.0 * self.scale), rng)
        reported = (bits ^ (rng.random(bits.shape) < 0.15)).sum(axis=0)
        ones = (reported - len(points) * 0.15) / 0.7 if self.debias else reported
        published = (2.0 * ones - self.users) * self.scale
        return np.asarray(features(QUERIES) @ published / (INSTANCES * self.users))


def of_bitsum(bitsum: BitsumProtocol) -> Target:
    queries = tuple(map(tuple, QUERIES.tolist()))
    return Target(DensityRuns(bitsum, FAMILY, INSTANCES, queries), True, (len(QUERIES),))


class NotDebiased(RandomizedResponse):
    def _analyze(self, view: NDArray[np.int64]) -> NDArray[np.float64]:
        return view[..., 1].astype(np.float64)


class Noisier(NegativeBinomial):
    """Noise 1.2 times as large, around the same mean."""

    def _analyze(self, view: NDArray[np.int64]) -> NDArray[np.float64]:
        return view[..., 0] - 1.44 * self.noise_mean

    def _noise(self, share: float, rng: np.random.Generator, size: Any) -> NDArray[np.int64]:
        return super()._noise(1.44 * share, rng, size)


def test_batched_runs_are_runs_of_the_protocol() -> None:
    # One instance per run: the batch's features are those of `sample(1, ...)` drawn once per run, in law. Checked where
    # the draws coincide: a single run.
    runs = DensityRuns(RR, FAMILY, INSTANCES, tuple(map(tuple, QUERIES.tolist())))
    rng = np.random.default_rng(5)
    density = KernelDensityProtocol(RR, FAMILY.sample(INSTANCES, rng)).simulate(POINTS, rng)
    assert_allclose(runs(POINTS, np.random.default_rng(5), 1)[0], density(QUERIES), rtol=1e-12)


@pytest.mark.parametrize("bitsum", [RR, NB])
def test_drawn_errors_have_the_exact_bias_and_rmse(bitsum: BitsumProtocol) -> None:
    claim = density_claim(bitsum, FAMILY, POINTS, QUERIES, instances=INSTANCES, trials=40_000)
    errors = claim.simulate(np.random.default_rng(6))
    # 6 standard errors: false alarms below 1e-7; the kernel is exact here.
    assert_allclose(claim.bias, 0.0, atol=1e-12)
    assert (np.abs(errors.mean(axis=0)) < 6.0 * errors.std(axis=0) / 200.0).all()
    squares = errors**2
    assert (np.abs(squares.mean(axis=0) - claim.rmse**2) < 6.0 * squares.std(axis=0) / 200.0).all()


def test_a_deterministic_family_has_its_exact_error_too() -> None:
    family, points = Identity(2), POINTS / 2.0
    claim = density_claim(RR, family, points, QUERIES[1:], instances=1, trials=2000)
    squares = claim.simulate(np.random.default_rng(7)) ** 2
    assert (np.abs(squares.mean(axis=0) - claim.rmse**2) < 6.0 * squares.std(axis=0) / math.sqrt(2000)).all()


@pytest.mark.parametrize("implementation", [None, Outsider()])
def test_a_correct_implementation_is_consistent(implementation: Any) -> None:
    # Level 0.05, exact: five alarms in five audits have probability 3e-7.
    for seed in range(5):
        report = run(implementation, seed=seed)
        if not report.violations:
            break
    assert report.verdict is Verdict.CONSISTENT, report.statement
    assert all(result.power is not None and result.power >= POWER for result in report.results)
    assert len(report.rows) == len(QUERIES)
    # Bands that hold the exact values; they agree with the tests but for the split of the level.
    assert all(row["rmse_lower"] < row["rmse_exact"] < row["rmse_upper"] for row in report.rows)
    assert all(row["bias_lower"] < row["bias_exact"] < row["bias_upper"] for row in report.rows)
    worst = report.worst
    assert (
        worst["rmse_upper"]
        < worst["rmse_published"]
        == pytest.approx(4.0 * 2.0 * math.sqrt((1.0 + 6 * 0.15 * 0.85 / 0.49 / 36) / INSTANCES))
    )
    assert report.to_dict()["worst"] == worst


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "bitsum", "found_by"),
    [
        pytest.param(Outsider(debias=False), RR, "bias", id="debiasing missing"),
        pytest.param(of_bitsum(NotDebiased(USERS, 0.15)), RR, "bias", id="debiasing missing, our own"),
        pytest.param(of_bitsum(Noisier(USERS, 3.0, 0.7)), NB, "supRMSE", id="noise scale 1.2"),
        pytest.param(Outsider(scale=1.0), RR, "bias", id="cosine without sqrt 2"),
        pytest.param(Outsider(round=by_threshold), RR, "bias", id="bits by threshold"),
        pytest.param(Outsider(users=USERS - 1), RR, "bias", id="n - 1 instead of n"),
    ],
)
def test_faults_are_found(fault: Any, bitsum: BitsumProtocol, found_by: str) -> None:
    report = run(fault, bitsum)
    assert report.verdict is Verdict.VIOLATES
    assert found_by in {result.check for result in report.violations}


def test_a_pass_with_too_few_trials_is_undecided() -> None:
    report = next(
        report for report in (run(trials=100, detect=0.05, seed=k) for k in range(5)) if not report.violations
    )
    assert report.verdict is Verdict.UNDECIDED


def test_the_number_of_workers_changes_nothing() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as executor:
        assert run(trials=100, executor=executor).to_dict() == run(trials=100).to_dict()


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"^points and queries hold 5 and 3 rows, but must hold bitsum.users=6 and"):
        audit_protocol(DensityErrors(RR, FAMILY, POINTS[:5], QUERIES, instances=2))
    with pytest.raises(ValueError, match=r"^claim=.* must be omitted"):
        audit_protocol(DensityErrors(RR, FAMILY, POINTS, QUERIES, instances=2), (1, 0))
    with pytest.raises(ValueError, match=r"^bitsum=Pure.* ones, but must be unbiased with"):
        run(bitsum=Pure(USERS, 0.5, 0.2))
    with pytest.raises(ValueError, match=r"^bitsum=NegativeBinomial.*has bias 7 "):
        run(bitsum=replace(NB, estimate="over"))
    with pytest.raises(ValueError, match=r"^queries\[0\]=\[0\.0, 0\.0\] must be where estimates vary, but all"):
        density_claim(RR, Identity(2), POINTS / 2.0, QUERIES, instances=1, trials=100)
    with pytest.raises(ValueError, match=r"^target=.* returned the shape"):
        run(lambda points, rng: 1.0)
    with pytest.raises(ValueError, match=r"^trials=50"):
        run(trials=50)
