"""Single tests carry the fault that they answer for, with a power that is true."""

import numpy as np

from dpverify.audit.results import POWER, checked, conforms, independent, with_fault
from dpverify.audit.subject import narrowed
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.instances import Sides
from dpverify.statistics.order.structure import StructureCheck

LAW = DiscreteLaw.of(np.arange(9), np.array([1.0, 8, 28, 56, 70, 56, 28, 8, 1]) / 256)


def test_conformance_states_its_power_against_a_narrower_law() -> None:
    rng = np.random.default_rng(1)
    result = conforms("a sample", LAW, LAW.sample(1_000, rng), rng, 1e-3, 0.2)
    assert result.fault == "a standard deviation 20 % smaller"
    assert result.p_value > 1e-3
    narrow = narrowed(LAW, 0.2)
    found = sum(
        conforms("a sample", LAW, narrow[0].sample(1_000, rng), rng, 1e-3, 0.2).p_value <= 1e-3 for _ in range(50)
    )
    assert abs(found / 50 - result.power) < 0.35  # five standard deviations
    cells = DiscreteLaw.of(1024.0 * LAW.points, LAW.pmf)
    two = conforms("in cells", cells, np.repeat(1024.0 * np.array([5.0, 6.0]), 50), rng, 1e-3, 0.2)
    assert "mean off by 1.06 standard deviations, spread 0.3536 times the claimed" in two.evidence  # by sqrt(2)
    constant = conforms("a constant", DiscreteLaw.of([3], [1.0]), np.full(100, 3.0), rng, 1e-3, 0.2)
    assert (constant.fault, constant.power) == ("any outcome but the law's only one", 1.0)


def test_what_is_nearly_always_the_same_is_held_against_more_of_the_others() -> None:
    rng, runs, level = np.random.default_rng(2), 2_000, 1e-3
    sure = DiscreteLaw.of([0, 1, 2], [0.98, 0.015, 0.005])
    result = conforms("a choice", sure, sure.sample(runs, rng), rng, level, 0.1)
    share = float(result.fault.split(" in ")[1].split(" %")[0]) / 100.0
    assert (result.p_value > level, result.power, 0.01 < share < 0.03) == (True, POWER, True)
    hits = 0
    for _ in range(100):  # a fault of that size, the same in every run that it hits
        sample = np.where(rng.random(runs) < share, 1.0, sure.sample(runs, rng))
        hits += conforms("a choice", sure, sample, rng, level, 0.1).p_value <= level
    assert hits >= 83  # of 95 expected: 5.5 standard deviations below
    assert conforms("a choice", sure, np.zeros(runs), rng, level, 0.1).p_value <= level


def test_a_control_that_sees_nothing_means_no_power() -> None:
    quiet, loud = StructureCheck("order", 0.5, "nothing"), StructureCheck("order", 0.0, "sorted")
    assert checked(quiet, loud, 30, 1e-3, "here", "sorted messages").power == 1.0
    weak = checked(quiet, quiet, 30, 1e-3, "here", "sorted messages")
    assert (weak.power, weak.check, weak.p_value) == (0.0, "order, here", 0.5)
    assert with_fault(weak, "another", 1.5).power == 1.0
    assert 0.5 < POWER < 1.0


def test_all_of_the_runs_are_100_percent() -> None:
    sides = Sides([LAW, LAW])
    sides.update(LAW.sample(8, np.random.default_rng(3)).reshape(4, 2))
    shares = [one.fault.split(" in ")[1] for one in independent(sides, "here", 1e-3)]
    assert shares == ["100 % of the runs more or less"] * 2
