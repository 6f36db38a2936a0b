"""Sums and joint laws of the parts of a view, against enumeration."""

import itertools
from collections import Counter

import numpy as np
import pytest

from dpverify.guarantee import CapacityError
from dpverify.laws import views
from dpverify.laws.noise import binomial, poisson
from dpverify.laws.window import IntegerLaw, point_mass
from tests.refusals import refused


def masses(law: IntegerLaw) -> list[tuple[int, float]]:
    return list(zip(law.support.tolist(), law.pmf.tolist(), strict=True))


PARTS = (binomial(3, 0.3), views.kept_ones(2, 0.1), point_mass(4))


def test_a_total_is_the_law_of_the_sum() -> None:
    exact: Counter[int] = Counter()
    for outcome in itertools.product(*map(masses, PARTS)):
        exact[sum(x for x, _ in outcome)] += float(np.prod([mass for _, mass in outcome]))
    assert dict(masses(views.total(*PARTS))) == pytest.approx(dict(exact), rel=1e-14)


def test_two_counts_share_their_last_part() -> None:
    exact: Counter[tuple[int, int]] = Counter()
    for (u, a), (v, b), (z, c) in itertools.product(*map(masses, (PARTS[0], PARTS[1], binomial(2, 0.5)))):
        exact[u + z, v + z] += a * b * c
    law = views.two_counts(PARTS[0], PARTS[1], binomial(2, 0.5))
    assert dict(zip(map(tuple, law.points.tolist()), law.pmf.tolist(), strict=True)) == pytest.approx(dict(exact))


def test_what_is_cut_off_is_charged() -> None:
    short = IntegerLaw(0, np.array([0.5, 0.3]), 0.0, 0.0, 0.2)
    assert views.total(short, short).tail_above == pytest.approx(0.4)
    assert views.one_count(short).outside == 0.2
    assert views.two_counts(short, short, point_mass(0)).outside == pytest.approx(0.4)


def test_a_sum_that_would_take_hours_is_refused() -> None:
    wide = poisson(1e9)
    with pytest.raises(CapacityError, match=r"^the law of a sum of parts with \d+ and \d+ atoms is needed"):
        views.total(wide, wide.mirrored())


def test_differences_are_read_from_the_counts() -> None:
    for alphabet in ((1, -1), (-1, 1)):
        counts = views.by_sign(np.arange(-3, 4), alphabet)
        assert (counts @ alphabet).tolist() == list(range(-3, 4))
        assert (counts >= 0).all()
    with refused("alphabet=(5"):
        views.by_sign(np.arange(3), (5, -2))


def test_no_noise_is_a_constant() -> None:
    for law in (views.negative_binomial(0.0, 0.5), views.negative_binomial(2.0, 0.0), views.discrete_laplace(0.0)):
        assert masses(law) == [(0, 1.0)]
