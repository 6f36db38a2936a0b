"""Audits of mechanisms without a law: what leaks is found wherever it hides, and what is right passes."""

import json
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.audit.black_boxes.black_box import _bet, audit_mechanism
from dpverify.audit.black_boxes.mechanism_report import MechanismReport
from dpverify.audit.black_boxes.neighbours import neighbouring_inputs
from dpverify.audit.running.target import Target, TargetError
from dpverify.guarantee import Budget
from dpverify.statistics.family import Verdict

PAIR = np.array([0]), np.array([1])
Outputs = Callable[[int, np.random.Generator, int], NDArray[Any]]


def audited(outputs: Outputs, claim: Any = (1.1, 0), *, trials: int = 20_000, **options: Any) -> MechanismReport:
    target = Target(lambda bits, rng, runs: outputs(int(bits[0]), rng, runs), batch=True)
    return audit_mechanism(target, claim, PAIR, trials=trials, **options)


def geometric(bit: int, rng: np.random.Generator, runs: int) -> NDArray[Any]:
    p = -math.expm1(-1)
    return bit + rng.geometric(p, runs) - rng.geometric(p, runs)


def laplace(bit: int, rng: np.random.Generator, runs: int) -> NDArray[Any]:
    return bit + rng.laplace(0, 1, runs)


def labels(bit: int, rng: np.random.Generator, runs: int) -> NDArray[Any]:
    """Randomized response on five labels, of epsilon 1."""
    return np.where(rng.random(runs) < np.expm1(1) / (np.e + 4), bit, rng.integers(0, 5, runs))


def second_column(bit: int, rng: np.random.Generator, runs: int) -> NDArray[Any]:
    return np.stack([laplace(bit, rng, runs), np.full(runs, bit)], axis=1)


def out_of_range(bit: int, rng: np.random.Generator, runs: int) -> NDArray[Any]:
    return np.where((rng.random(runs) < 1e-3) & (bit == 1), 50, geometric(bit, rng, runs))


def residue(bit: int, rng: np.random.Generator, runs: int) -> NDArray[Any]:
    return 10 * rng.integers(0, 10**6, runs) + 3 + bit


def label_leak(bit: int, rng: np.random.Generator, runs: int) -> NDArray[Any]:
    """Label 4 comes from one of the inputs only, one time in 200."""
    return np.where((rng.random(runs) < 0.005) & (bit == 0), 4, rng.integers(0, 4, runs))


def covert(bit: int, rng: np.random.Generator, runs: int) -> NDArray[Any]:
    return np.rint(rng.normal(0, 10, runs)) + 1e-8 * bit


def signs(bit: int, rng: np.random.Generator, runs: int) -> NDArray[Any]:
    """Each column by itself tells nothing; the signs of both show the bit."""
    x, y = np.rint(rng.normal(size=(2, runs)) * 1e6) / 1e6
    return np.stack([x, np.copysign(y, x if bit else -x)], axis=1)


def negative_zero(bit: int, rng: np.random.Generator, runs: int) -> NDArray[Any]:
    return np.where(rng.random(runs) < 0.5, 1.0, -0.0 if bit else 0.0)


LEAKS = [out_of_range, residue, label_leak, covert, signs, negative_zero]
"""Beside `tests.faults.boxes`."""


@pytest.mark.long
@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_leaks_are_found_wherever_they_hide(leak: Outputs) -> None:
    report = audited(leak, trials=200_000 if leak is out_of_range else 20_000)
    assert report.verdict is Verdict.VIOLATES
    assert report.epsilon_lower > (1.1 if leak in (out_of_range, label_leak) else 4)
    assert report.statement.startswith("Violates: privacy of the output")
    assert report.diagnosis


def strings(bit: int, rng: np.random.Generator, runs: int) -> list[str]:
    return [f"user-{int(k)}" + "!" * bit for k in rng.integers(0, 10**9, runs)]


def tuples(bit: int, rng: np.random.Generator, runs: int) -> list[Any]:
    return [("sum", float(x), {"count": bit}) for x in rng.normal(size=runs)]


def long_strings(bit: int, rng: np.random.Generator, runs: int) -> list[str]:
    """The difference is behind all characters that have a column."""
    return ["x" * 100 + str(int(k)) for k in rng.integers(bit, 4, runs)]


def in_a_mapping(x: float) -> Any:
    return {"count": x, "unit": "m"}


def in_a_tuple(x: float) -> Any:
    return "sum", x, None


def among_infinities(x: float) -> Any:
    return np.array([math.inf, x])


@pytest.mark.long
@pytest.mark.parametrize("made", [in_a_mapping, in_a_tuple, among_infinities], ids=lambda made: made.__name__)
def test_numbers_are_rounded_wherever_they_are_in_an_output(made: Any) -> None:
    # Noise of epsilon 1: right but for its lowest bits, which the hash of the whole output would show.
    def noisy(bit: int, rng: np.random.Generator, runs: int) -> list[Any]:
        return [made(float(x)) for x in laplace(bit, rng, runs)]

    def leaky(bit: int, rng: np.random.Generator, runs: int) -> list[Any]:
        return [made(float(x)) for x in np.rint(laplace(bit, rng, runs)) + 1e-3 * bit]

    assert audited(noisy, trials=4_000, resolution=1e-6).verdict is not Verdict.VIOLATES
    assert audited(noisy, trials=4_000).verdict is Verdict.VIOLATES
    assert audited(leaky, trials=4_000, resolution=1e-6).verdict is Verdict.VIOLATES


def not_finite(bit: int, rng: np.random.Generator, runs: int) -> NDArray[Any]:
    return np.where(rng.random(runs) < 0.02, np.nan if bit else np.inf, np.rint(rng.normal(size=runs)))


@pytest.mark.long
@pytest.mark.parametrize("leak", [strings, tuples, long_strings, not_finite], ids=lambda leak: leak.__name__)
def test_outputs_may_be_anything(leak: Any) -> None:
    assert audited(leak, trials=10_000).verdict is Verdict.VIOLATES


def test_a_stale_cache_is_found() -> None:
    last: list[float] = []

    def cached(bits: NDArray[Any], rng: np.random.Generator) -> float:
        if not last or rng.random() > 0.02:
            last[:] = [float(rng.normal())]
        return last[0]

    report = audit_mechanism(cached, (1, 0), PAIR, trials=20_000, resolution=1e-9)
    assert report.verdict is Verdict.VIOLATES
    assert report.violations[0].check.startswith("repeated runs")


def test_noise_that_two_calls_share_is_found() -> None:
    def antithetic(bits: NDArray[Any], rng: np.random.Generator, runs: int) -> NDArray[Any]:
        noise = np.repeat(rng.geometric(0.3, runs) - rng.geometric(0.3, runs), 2)[:runs]
        return np.asarray(bits[0] + noise * np.where(np.arange(runs) % 2, -1, 1))

    report = audit_mechanism(Target(antithetic, True), (1, 0), PAIR, trials=20_000)
    assert report.verdict is Verdict.VIOLATES
    assert any(result.check.startswith("dependence of calls") for result in report.violations)


def test_calls_that_depend_on_each_other_are_found() -> None:
    def cancelling(bit: int, rng: np.random.Generator, runs: int) -> NDArray[Any]:
        noise = np.rint(rng.laplace(0, 5, runs // 2))
        return bit + np.stack([noise, -noise], axis=1).ravel()

    report = audited(cancelling, trials=4_000)
    assert report.violations[0].check.startswith("dependence of runs")


def test_reports_say_what_was_not_tested() -> None:
    report = audited(geometric, trials=5_000, resolution=0.5)
    missing = " ".join(report.limits.not_tested)
    assert "events that were not tried" in missing
    assert "inputs other than these" in missing
    assert "multiples of 0.5" in missing
    assert {look.aspect for look in report.limits.tested} == {"inputs", "outputs", "tails", "calls"}
    plain = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert plain["epsilon_lower"] == report.epsilon_lower
    assert plain["tradeoff"]


@pytest.mark.long
def test_neighbours_are_searched() -> None:
    def forgets_ones(bits: NDArray[Any], rng: np.random.Generator) -> float:
        """Randomized response that never flips ones: total for the user in the middle alone."""
        noise = 0 if bits[bits.size // 2] and not bits[0] else int(rng.geometric(0.2) - rng.geometric(0.2))
        return float(bits.sum() + noise)

    pairs = neighbouring_inputs(6)
    report = audit_mechanism(forgets_ones, (1, 0), pairs, trials=3_000)
    assert report.verdict is Verdict.VIOLATES
    assert len([result for result in report.results if result.check.startswith("privacy of the output, ")]) == len(
        pairs
    )


def letter(rng: np.random.Generator) -> str:
    return "ab"[rng.integers(2)]


def test_two_samplers() -> None:
    report = audit_mechanism((lambda rng: rng.integers(4), lambda rng: rng.integers(3)), Budget(1, 0), trials=3_000)
    assert report.verdict is Verdict.VIOLATES
    same = audit_mechanism((letter, letter), (1, 0), trials=20_000)
    assert same.verdict is Verdict.CONSISTENT


@pytest.mark.long
def test_exceptions_and_lengths_are_outputs_that_tell_inputs_apart() -> None:
    def overflowing(bits: NDArray[Any], rng: np.random.Generator) -> float:
        noisy = rng.laplace(0, 4)
        if bits[0] and noisy > 8:
            raise OverflowError(f"of {noisy}")
        return float(noisy)

    def listed(bits: NDArray[Any], rng: np.random.Generator) -> Any:  # five numbers of one law, however they are cut
        cut = int(rng.integers(1, 5 - bits[0]))
        return rng.normal(size=cut).tolist(), rng.normal(size=5 - cut).tolist()

    with pytest.raises(TargetError, match=r"raised OverflowError in .*; exceptions=True makes"):
        audit_mechanism(overflowing, (1, 0), PAIR, trials=2_000)
    for leak, exceptions in ((overflowing, True), (listed, False)):
        report = audit_mechanism(leak, (1, 0), PAIR, trials=2_000, exceptions=exceptions)
        assert report.verdict is Verdict.VIOLATES, report.statement
    with pytest.raises(ValueError, match="exceptions=True must be False for a target with batch=True"):
        audited(laplace, exceptions=True)


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(TargetError, match=r"an output is of type object in trials .* must be made of numbers, strings"):
        audit_mechanism(lambda x, rng: object(), (1, 0), PAIR, trials=100)
    with pytest.raises(ValueError, match=r"resolution=0"):
        audited(geometric, trials=100, resolution=0)
    with pytest.raises(ValueError, match="inputs=1"):
        audit_mechanism(lambda x, rng: 0, (1, 0), PAIR[:1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="mixture"):
        audit_mechanism(lambda x, rng: 0, (1, 0), (neighbouring_inputs(2)[0], PAIR[0]))  # type: ignore[arg-type]


@pytest.mark.long
def test_a_gross_fault_is_refuted_at_once(tmp_path: Any) -> None:
    kept = {"trials": 50_000, "anytime": True, "resolution": 1e-6}
    early = audited(second_column, **kept)
    assert early.verdict is Verdict.VIOLATES
    assert early.trials <= 2_000
    assert early.epsilon_lower == 1.1
    assert "refuted after" in early.statement
    assert early.diagnosis
    # A file of its draws, and where they run, change nothing.
    target, file = (
        Target("tests.audit.black_boxes.test_black_box:total", batch=True, name="total"),
        tmp_path / "draws.npz",
    )
    first = audit_mechanism(target, (1, 0), PAIR, trials=20_000, anytime=True, checkpoint=file, block_size=300)
    again = audit_mechanism(target, (1, 0), PAIR, trials=20_000, anytime=True, checkpoint=file, block_size=300)
    spread = audit_mechanism(target, (1, 0), PAIR, trials=20_000, anytime=True, workers=2, block_size=300)
    assert first.to_dict() == again.to_dict() == spread.to_dict()
    assert first.trials < 2_000


def total(bits: NDArray[Any], rng: np.random.Generator, runs: int) -> NDArray[Any]:
    return np.asarray(bits.sum() + rng.integers(0, 2, runs))


@pytest.mark.long
@pytest.mark.parametrize(
    ("leak", "draws"),
    [
        # A fifth of the outputs tell all, by their lowest bits, or a hundredth: whoever knows that takes 176 or 3,744.
        (lambda x, rng, n: x[0] + rng.laplace(size=n), 250),
        (lambda x, rng, n: np.where(rng.random(n) < 0.01, 1e6 * x[0], np.round(x[0] + rng.laplace(size=n), 6)), 7_488),
    ],
    ids=["low bits", "a leak of one per cent"],
)
def test_a_leak_is_refuted_within_twice_the_draws_of_who_knows_it(leak: Any, draws: int) -> None:
    pair = np.ones(1), np.zeros(1)
    found = [
        audit_mechanism(Target(leak, batch=True), (1.1, 0), pair, trials=draws, seed=seed).verdict for seed in range(6)
    ]
    assert found.count(Verdict.VIOLATES) >= 5


def test_a_claim_that_bets_refute_is_told_in_full() -> None:
    bets: Any = SimpleNamespace(log_wealth=9.0)
    found = _bet(bets, 700, Budget("1.99996", 0), 0.0)
    assert found.evidence.startswith("epsilon > 1.99996 at delta 0, the claim; refuted after 700 outputs")
    assert found.p_value == 2.0 * math.exp(-9.0)
