"""Samples of records: what is assumed of them, what is refused, and what batches of a fixed size cost."""

import itertools
import math
from fractions import Fraction

import pytest

from dpverify.guarantee import Adjacency
from dpverify.planning.steps.integers import DiscreteLaplaceStep
from dpverify.planning.steps.listed import OpaqueStep
from dpverify.planning.steps.sampling import Sampling, assumed
from dpverify.planning.steps.step import NoisyStep, Steps

FIXED = Sampling.FIXED_SIZE


def test_what_is_assumed_is_said() -> None:
    (note,) = Steps([(NoisyStep(1.0, 0.02), 3), (NoisyStep(1.0, 0.01), 3), (NoisyStep(1.0), 1)]).notes
    assert note.startswith(
        "Poisson sampling is assumed: in every step each record takes part with probability 0.01, 0.02"
    )
    assert assumed([(Sampling.POISSON, 1.0)]) == ("every record takes part in every step",)
    notes = assumed([(FIXED, 0.1), (Sampling.POISSON, 0.2), (FIXED, 0.05)])
    assert [note.split(" assumed")[0] for note in notes] == ["Poisson sampling is", "batches of a fixed size are"]
    assert "0.05, 0.1 of the records of the larger dataset" in notes[1]


def test_batches_of_a_fixed_size_move_twice_as_far_as_a_sample() -> None:
    for adjacency in ("add-remove", "replace-one"):
        step = NoisyStep(2.0, 0.1, sampling=FIXED)
        found = Steps([(step, 30)], adjacency).curve(1e-4, 1e-5).epsilon(1e-5)
        same = Steps([(NoisyStep(1.0, 0.1), 30)]).curve(1e-4, 1e-5).epsilon(1e-5)
        assert abs(found.lower - same.lower) <= 2e-4 * same.lower
        if adjacency == "replace-one":
            assert same.upper < found.upper < 1.3 * same.upper
    assert "batches of 0.1 of the records" in str(step)


def law(place: int, size: int = 30) -> list[Fraction]:
    return [Fraction(1, 2 ** abs(z - place)) for z in range(-size, size + 1)]


def test_the_largest_losses_are_those_of_the_mixtures() -> None:
    """Of scale 2 on a sample of 1/8, whose sum moves once or twice; and where e^loss is no float."""
    low, once, twice = (1 + (math.exp(loss) - 1) / 8 for loss in (-0.5, 0.5, 1.0))
    part, whole = NoisyStep(2.0, 0.125, "laplace"), NoisyStep(2.0, law="laplace")
    for step, adjacency, loss in (
        (part, Adjacency.ADD_REMOVE, math.log(once)),
        (part, Adjacency.REPLACE_ONE, math.log(once / low)),
        (NoisyStep(2.0, 0.125, "laplace", "fixed-size"), Adjacency.ADD_REMOVE, math.log(twice)),
        (whole, Adjacency.ADD_REMOVE, 0.5),
        (whole, Adjacency.REPLACE_ONE, 1.0),
    ):
        found = step.largest_loss(adjacency)
        assert found.lower * (1 - 1e-14) <= loss <= found.upper * (1 + 1e-14)
        assert found.width <= 1e-14
    far = NoisyStep(1e-7, 0.125, "laplace").largest_loss(Adjacency.ADD_REMOVE)
    assert far.lower <= 1e7 - math.log(8) < 1e7 <= far.upper < 1.0000001e7


@pytest.mark.long
def test_every_small_dataset_is_covered() -> None:
    # Records of 0, 1, -1, batches of 2 of 4 or 3, noise of probabilities 2^-|z|: all in rationals, up to its norm.
    norm = Fraction(3)

    def released(records: tuple[int, ...]) -> list[Fraction]:
        batches = list(itertools.combinations(records, 2))
        laws = [law(sum(batch)) for batch in batches]
        return [sum(masses) / len(batches) / norm for masses in zip(*laws, strict=True)]

    step = DiscreteLaplaceStep(math.log(2.0), 1, 0.5, FIXED)
    for adjacency in ("add-remove", "replace-one"):
        curve = Steps([(step, 1)], adjacency).curve(1e-6, 1e-3)
        for epsilon in (0.0, 0.3, 0.7, 1.0):
            a, worst = Fraction(math.exp(epsilon)), Fraction(0)
            for others in itertools.combinations_with_replacement((-1, 0, 1), 3):
                for record in (-1, 0, 1):
                    rests = [others] if adjacency == "add-remove" else [(*others, other) for other in (-1, 0, 1)]
                    for rest in rests:
                        p, q = released((*others, record)), released(rest)
                        for x, y in ((p, q), (q, p)):
                            worst = max(worst, sum(max(u - a * v, Fraction(0)) for u, v in zip(x, y, strict=True)))
            found = curve.delta(epsilon)
            assert found.lower - 1e-8 <= worst <= found.upper + 1e-8
            assert found.width < 1e-6


def test_what_is_not_covered_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"^rate=1\.0 must be below 1 for sampling='fixed-size'"):
        NoisyStep(1.0, sampling=FIXED)
    with pytest.raises(ValueError, match=r"^sampling='shuffled' must be one of poisson, fixed-size"):
        OpaqueStep(1.0, sampling="shuffled")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^adjacency='zero-out' is not covered for batches of a fixed size"):
        Steps([(NoisyStep(1.0, 0.5, sampling=FIXED), 1)], Adjacency.ZERO_OUT)
