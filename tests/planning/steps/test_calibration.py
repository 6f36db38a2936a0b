"""Calibration of steps: what is found meets the budget, and a little less noise, or one step more, is proved not to."""

import pytest

from dpverify.guarantee import Adjacency, InfeasibleBudgetError
from dpverify.planning.steps.allocation import RandomAllocation
from dpverify.planning.steps.calibration import largest_rate, least_noise, most_steps
from dpverify.planning.steps.listed import OpaqueStep
from dpverify.planning.steps.sampling import Sampling
from dpverify.planning.steps.step import NoiseLaw, NoisyStep, Steps


def spent(step: NoisyStep, count: int, adjacency: str = "add-remove") -> tuple[float, float]:
    found = Steps([(step, count)], adjacency).curve(1e-5, 1e-5).epsilon(1e-5)
    return found.lower, found.upper


@pytest.mark.parametrize(
    ("rate", "law", "adjacency", "steps"),
    [
        (0.02, NoiseLaw.GAUSSIAN, Adjacency.ADD_REMOVE, 1000),
        (1.0, NoiseLaw.GAUSSIAN, Adjacency.REPLACE_ONE, 10),
        (0.3, NoiseLaw.LAPLACE, Adjacency.ZERO_OUT, 20),
    ],
)
def test_the_least_noise(rate: float, law: NoiseLaw, adjacency: Adjacency, steps: int) -> None:
    found = least_noise((2, "1e-5"), steps=steps, rate=rate, law=law, adjacency=adjacency)
    assert found.width <= 1e-3 * found.upper
    assert spent(NoisyStep(found.upper, rate, law), steps, adjacency)[1] <= 2.0 * (1.0 + 1e-6)
    assert spent(NoisyStep(found.lower, rate, law), steps, adjacency)[0] > 2.0 * (1.0 - 1e-6)


def test_the_largest_rate() -> None:
    found = largest_rate((2, "1e-5"), noise=1.0, steps=500)
    assert found.width <= 1e-3 * found.upper
    assert spent(NoisyStep(1.0, found.lower), 500)[1] <= 2.0 * (1.0 + 1e-6)
    assert spent(NoisyStep(1.0, found.upper), 500)[0] > 2.0 * (1.0 - 1e-6)
    assert largest_rate((2, "1e-5"), noise=50.0, steps=3).lower == 1.0


def test_batches_of_a_fixed_size() -> None:
    # Twice the noise of a Poisson sample; and where a record is replaced both ends are apart.
    found = least_noise((2, "1e-5"), steps=50, rate=0.05, sampling="fixed-size", relative_width=1e-3)
    alone = least_noise((2, "1e-5"), steps=50, rate=0.05, relative_width=1e-3)
    assert abs(found.upper - 2.0 * alone.upper) <= 1e-2 * found.upper
    replaced = least_noise(
        (2, "1e-5"), steps=50, rate=0.05, sampling="fixed-size", adjacency="replace-one", relative_width=1e-2
    )
    assert 0.98 * found.lower < replaced.lower < found.upper < replaced.upper < 1.5 * found.upper
    assert largest_rate((2, "1e-5"), noise=200.0, steps=5, sampling="fixed-size").lower == 1.0 - 2.0**-53
    rate = largest_rate((2, "1e-5"), noise=2.0, steps=50, sampling="fixed-size", relative_width=1e-3)
    assert spent(NoisyStep(2.0, rate.lower, sampling=Sampling.FIXED_SIZE), 50)[1] <= 2.0 * (1.0 + 1e-6)


@pytest.mark.long
def test_the_most_steps() -> None:
    step = NoisyStep(1.0, 0.01)
    found = most_steps((1, "1e-5"), step)
    assert spent(step, found)[1] <= 1.0 + 1e-4
    assert spent(step, found + 2)[0] > 1.0 - 1e-4


def test_the_most_passes() -> None:
    # A pass has every record in it: a delta above the rate of a step excuses nothing.
    passes = RandomAllocation(2.0, 4, law="laplace")  # type: ignore[arg-type]
    found = most_steps(("0.3", "0.3"), passes, relative_width=1e-3)
    ends = [Steps([(passes, count)]).curve(1e-4, 0.3).epsilon(0.3) for count in (found, found + 1)]
    assert found > 1
    assert ends[0].upper <= 0.3 * (1.0 + 1e-3)
    assert ends[1].lower > 0.3 * (1.0 - 1e-3)
    with pytest.raises(InfeasibleBudgetError):
        most_steps(("0.01", "0.3"), RandomAllocation(0.4, 4))


def test_what_cannot_be_met_is_refused() -> None:
    with pytest.raises(
        InfeasibleBudgetError, match=r"^budget=\(0\.01, 1e-05\) is not proved to be met by one step of gaussian"
    ):
        most_steps(("0.01", "1e-5"), NoisyStep(1.0))
    with pytest.raises(InfeasibleBudgetError, match="is not proved to be met by 9 steps with noise up to 1e"):
        least_noise(("1e-12", "1e-30"), steps=9)
    with pytest.raises(InfeasibleBudgetError, match="is not proved to be met by 1 steps at rates from 1e-09 on"):
        largest_rate(("1e-3", "1e-30"), noise=0.2, steps=1)
    with pytest.raises(ValueError, match=r"^delta=0\.0 must be a finite number in \(0, 1\)\."):
        least_noise((1, 0))
    with pytest.raises(ValueError, match=r"^rate=2\.0 must be"):
        least_noise((1, "1e-5"), rate=2.0)
    with pytest.raises(ValueError, match=r"^steps=0 must be an integer"):
        largest_rate((1, "1e-5"), noise=1.0, steps=0)


def test_a_record_that_is_hardly_ever_in_a_sample_needs_no_noise() -> None:
    # With too little noise for floats, and at more than 1e-5: at (1, 1e-5) a rate of 1e-5 reveals nothing more.
    found = largest_rate((1, "1e-5"), noise=1e-3)
    assert 0.999e-5 <= found.lower <= 1e-5
    assert least_noise((1, "0.5"), rate=1e-3).lower == 0.0


def test_a_budget_is_not_rounded_up() -> None:
    # The float next to 0.1 is more than 0.1, which such a step alone would spend.
    with pytest.raises(InfeasibleBudgetError):
        most_steps(("0.1", "1e-30"), OpaqueStep(0.1))  # type: ignore[arg-type]
    assert most_steps((0.1, "1e-30"), OpaqueStep(0.1)) == 1  # type: ignore[arg-type]


def test_hostile_arguments_are_named() -> None:
    for width in (0.0, float("nan"), 1.0):
        with pytest.raises(ValueError, match=r"^relative_width="):
            least_noise((1, "1e-5"), relative_width=width)
    with pytest.raises(ValueError, match=r"^steps=1"):
        least_noise((1, "1e-5"), steps=10**400)
    with pytest.raises(TypeError, match=r"^step='x' must be a NoisyStep\.$"):
        most_steps((1, "1e-5"), "x")  # type: ignore[arg-type]
