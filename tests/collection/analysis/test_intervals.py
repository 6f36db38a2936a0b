"""Intervals are those of the exact laws, by brute force, and hold every true sum as often as they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpverify.claims.registry import mechanism_claims_of
from dpverify.collection.analysis import intervals
from dpverify.collection.analysis.intervals import Tails, between, sum_law
from dpverify.laws.window import IntegerLaw, point_mass
from protocols.bitsum import (
    CentralGaussian,
    LocalRandomizedResponse,
    NegativeBinomial,
    Poisson,
    Pure,
    RandomizedResponse,
    ThreeNB,
)
from protocols.local.labels import LabelRandomizedResponse
from protocols.sums import PoissonSum, SplitAndMix
from tests.refusals import refused

USERS, FAR = 7, 160
PROTOCOLS = [
    RandomizedResponse(USERS, 0.3),
    LocalRandomizedResponse(USERS, 0.05),
    Poisson(USERS, 3.0),
    Poisson(USERS, 3.0, estimate="under"),
    NegativeBinomial(USERS, 2.5, 0.4),
    ThreeNB(USERS, 0.5, 2.0, 0.5, 1.5),
    Pure(USERS, 0.5, 0.2, 2.0, 0.5),
    LabelRandomizedResponse(5, 1.2),
]


def pmf(protocol: Any, inputs: int, true: int) -> NDArray[np.float64]:
    """Return P(X = x) at x = -FAR ... FAR, by convolutions of scipy's laws."""

    def at(law: Any, sign: int = 1) -> NDArray[np.float64]:
        return np.asarray(law.pmf(sign * np.arange(-FAR, FAR + 1)))

    share = inputs / USERS
    if isinstance(protocol, (RandomizedResponse, LocalRandomizedResponse)):
        p = protocol.flip_probability
        parts = [at(stats.binom(true, 1 - p)), at(stats.binom(inputs - true, p))]
    elif isinstance(protocol, LabelRandomizedResponse):
        parts = [at(stats.binom(true, protocol.keep_probability))]
        parts.append(at(stats.binom(inputs - true, protocol.other_probability)))
    elif isinstance(protocol, (ThreeNB, Pure)):
        noise = stats.nbinom(protocol.shape * share, 1 - protocol.p)
        kept = stats.binom(true, 1 - getattr(protocol, "drop_probability", 0.0))
        parts = [at(kept), at(noise), at(noise, -1)]
    else:
        law = (
            stats.poisson(protocol.mean * share)
            if isinstance(protocol, Poisson)
            else stats.nbinom(protocol.shape * share, 1 - protocol.p)
        )
        parts = [at(stats.binom(true, 1.0)), at(law, -1 if protocol.estimate == "under" else 1)]
    found = np.zeros(2 * FAR + 1)
    found[FAR] = 1.0
    for part in parts:
        found = np.convolve(found, part)[FAR : 3 * FAR + 1]
    return found


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("fine", "levels"),
    [(50, (0.025,)), *(pytest.param(fine, (0.3, 0.025, 1e-4), marks=pytest.mark.long) for fine in (50, 1))],
)
def test_intervals_are_those_of_the_exact_law(
    protocol: Any, fine: int, levels: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intervals, "_FINE", fine)
    inputs = 3 * USERS  # of three instances: noise of all
    laws = np.array([pmf(protocol, inputs, true) for true in range(inputs + 1)])
    above, below = laws[:, ::-1].cumsum(axis=1)[:, ::-1], laws.cumsum(axis=1)
    for level in levels:
        tails = Tails(sum_law(protocol, inputs), level)
        missed = np.zeros(inputs + 1)
        for place in range(FAR - 40, FAR + 60):
            low, high = tails.interval(place - FAR)
            exact = np.flatnonzero((above[:, place] > level) & (below[:, place] > level))
            found = range(low, high + 1)
            if fine == 50:
                assert list(found) == exact.tolist()
            assert set(exact) <= set(found) <= set(range(inputs + 1))
            assert len(found) <= len(exact) + 2 * (tails._step - 1)
            missed += laws[:, place] * ~np.isin(np.arange(inputs + 1), found)
        assert (missed <= 2 * level).all()
        low, high = tails.possible
        assert laws[0, : FAR + low].sum() <= level < laws[0, : FAR + low + 1].sum()
        assert laws[-1, FAR + high + 1 :].sum() <= level < laws[-1, FAR + high :].sum()


def mean(parts: Sequence[IntegerLaw]) -> float:
    return sum(part.start + float(part.pmf @ np.arange(part.pmf.size)) for part in parts)


@pytest.mark.parametrize("protocol", [*PROTOCOLS[2:7], PoissonSum(USERS, 4, 3.0)])
def test_shares_of_noise_are_rounded_to_the_side_of_their_bound(protocol: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is rounded up is here twice as much, so that it is seen where it stands."""
    kind = type(mechanism_claims_of(protocol))
    share = kind.with_users

    def apart(self: Any, one: Any, users: int, *, more_private: bool) -> Any:
        return share(self, one, 2 * users if more_private else users, more_private=more_private)

    monkeypatch.setattr(kind, "with_users", apart)
    larger, smaller = sum_law(protocol, USERS).noise
    assert mean(larger) > mean(smaller) + 0.1


def test_noise_of_either_sign_is_rounded_up_for_both_sides_and_labels_to_either() -> None:
    law = sum_law(SplitAndMix(USERS, 4, 2**5, 3, 0.5), 3 * USERS)  # more than fit into this modulus
    assert law.noise[0] == law.noise[1]
    assert between([point_mass(5)], [point_mass(3)], 0.1) == (3, 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "_ROUNDED", 0.1)
        law = sum_law(PROTOCOLS[-1], 90)
        assert law.lower is not None
        assert mean(law.moving(3)) > mean(law.lower(3)) + 0.1
        both = between(law.moving(3), law.lower(3), 0.3)
        assert Tails(law, 0.3).between(3) == both != between(law.moving(3), law.moving(3), 0.3)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_estimates_are_unbiased_and_err_as_they_say(protocol: Any) -> None:
    law, counts = sum_law(protocol, USERS), np.arange(-FAR, FAR + 1)
    for true in (0, 3, USERS):
        masses = pmf(protocol, USERS, true)
        values = np.array([law.estimate(int(count)) for count in counts])
        assert masses @ values == pytest.approx(true, abs=1e-9)
        assert masses @ (values - true) ** 2 <= law.deviation**2 * (1 + 1e-9)


def test_many_users_take_few_laws() -> None:
    tails = Tails(sum_law(RandomizedResponse(10**8, 0.25), 10**8), 0.025)
    low, high = tails.interval(26_000_000)
    assert 0 < 2_000_000 - low < 2 * tails.law.deviation
    assert 0 < high - 2_000_000 < 2 * tails.law.deviation
    assert len(tails._known) <= 6


def test_what_has_no_law_or_level_is_refused() -> None:
    with refused("protocol", TypeError):
        sum_law(CentralGaussian(9, 1.0), 9)
    with refused("level"):
        Tails(sum_law(PROTOCOLS[0], 9), 1e-16)
