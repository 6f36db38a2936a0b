"""The curve of shuffled reports: the best cover above, what is attained below, and the loss of one report over all."""

from dpverify.privacy_loss.shuffling.amplification import clones
from dpverify.privacy_loss.shuffling.amplified_curve import Amplification

FEW, MORE = clones(1.0, 40), clones(1.0, 60)


def test_the_best_cover_counts_and_all_pairs_of_it() -> None:
    one = Amplification(((MORE,),), (MORE,), 1.0)
    both = Amplification(((MORE, FEW),), (MORE,), 1.0)
    either = Amplification(((FEW,), (MORE,)), (MORE,), 1.0)
    assert both.delta_upper(0.3) == Amplification(((FEW,),), (MORE,), 1.0).delta_upper(0.3) > one.delta_upper(0.3)
    assert either.delta_upper(0.3) == one.delta_upper(0.3)
    assert either.epsilon(1e-3).upper == one.epsilon(1e-3).upper < both.epsilon(1e-3).upper
    assert one.meets(0.3, one.delta_upper(0.3))
    assert not both.meets(0.3, one.delta_upper(0.3))
    assert both.meets(0.3, one.delta_upper(0.3), leading=True)


def test_nothing_exceeds_the_loss_of_one_report() -> None:
    curve = Amplification(((FEW,),), (MORE,), 0.2, 0.1)
    assert curve.delta_upper(0.2) == 0.0
    assert curve.meets(0.2, 0.0)
    assert (curve.epsilon(0.0).lower, curve.epsilon(0.0).upper) == (0.1, 0.2)
    assert curve.users == 60


def test_lower_ends_are_those_of_the_worst_attained_pair() -> None:
    curve = Amplification(((FEW,),), (MORE, FEW), 1.0)
    assert curve.delta_lower(0.2) == FEW.delta(0.2).lower > MORE.delta(0.2).lower
    assert curve.epsilon_lower(1e-3) >= MORE.epsilon_lower(1e-3)
    assert curve.delta(0.2).lower <= curve.delta(0.2).upper
