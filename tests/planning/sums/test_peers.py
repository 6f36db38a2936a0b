"""Peers of sums of vectors: what PrivUnit is, by sampling it, and what shuffling gives, by enumerating views."""

import itertools
import math

import numpy as np
import pytest

from dpverify.planning.sums import peers
from dpverify.planning.sums.peers import cap_of, central_rmse, vector_peers
from tests.samples import sphere


def test_a_cap_is_what_its_integrals_say() -> None:
    for cosine in (0.0, 0.3, 0.9):  # in three dimensions the cosine is uniform
        assert cap_of(cosine, 3) == pytest.approx(((1 - cosine) / 2, (1 - cosine**2) / 4), rel=1e-12)
    cosines = sphere(200_000, 6, 1)[:, 0]
    inside = cosines >= 0.4
    share, moment = cap_of(0.4, 6)
    assert inside.mean() == pytest.approx(share, rel=0.02)
    assert (cosines * inside).mean() == pytest.approx(moment, rel=0.02)


@pytest.mark.long
def test_a_vector_of_privunit_errs_by_what_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[tuple[float, float]] = []
    shuffled = peers._shuffled

    def seen(epsilon0: float, share: float, users: int) -> object:
        chosen.append((epsilon0, share))
        return shuffled(epsilon0, share, users)

    monkeypatch.setattr(peers, "_shuffled", seen)
    stated = peers._privunit(peers.Budget(1.0, 1e-6), 1000, 5) / 1000
    epsilon0, share = chosen[-1]
    assert shuffled(epsilon0, share, 1000).meets(1.0, 1e-6)
    assert not shuffled(1.01 * epsilon0, share, 1000).meets(1.0, 1e-6)
    # Weighted by its density, a uniform direction is a report.
    cosines = sphere(400_000, 5, 2)[:, 0]
    edge = np.quantile(cosines, 1.0 - share)
    weights = np.where(cosines >= edge, math.exp(epsilon0), 1.0)
    mean = (weights * cosines).sum() / weights.sum()
    assert 1.0 / mean**2 - 1.0 == pytest.approx(stated, rel=0.03)


@pytest.mark.parametrize(("epsilon0", "share", "users"), [(1.5, 0.2, 3), (2.5, 0.05, 4), (0.7, 0.5, 3)])
def test_no_view_of_shuffled_reports_shows_more_than_the_bound(epsilon0: float, share: float, users: int) -> None:
    """Caps around her two vectors do not meet; the others' reports are laws of the same kind around vectors of any."""
    ratio = math.exp(epsilon0)
    low = share / (share * ratio + 1.0 - share)
    rest = 1.0 - (ratio + 1.0) * low
    first, second = (ratio * low, low, rest), (low, ratio * low, rest)
    elsewhere = (low, low, 1.0 - 2.0 * low) if 3.0 * share <= 1.0 else first
    bound = peers._shuffled(epsilon0, share, users)
    worst = 0.0
    for others in itertools.combinations_with_replacement((first, second, elsewhere), users - 1):
        views: list[dict[tuple[int, ...], float]] = []
        for own in (first, second):
            law: dict[tuple[int, ...], float] = {}
            for outcome in itertools.product(range(3), repeat=users):
                view = tuple(sorted(outcome))
                chance = math.prod(laws[at] for laws, at in zip((own, *others), outcome, strict=True))
                law[view] = law.get(view, 0.0) + chance
            views.append(law)
        for epsilon in (0.1, 0.3, 0.6):
            delta = sum(max(views[0][v] - math.exp(epsilon) * views[1][v], 0.0) for v in views[0])
            assert delta <= bound.delta_upper(epsilon) * (1.0 + 1e-9)
            worst = max(worst, delta / bound.delta_upper(epsilon))
    assert worst > 0.9  # of a smaller distance, or ratio, it would not hold


@pytest.mark.long
def test_peers_beside_a_curator() -> None:
    one_bit, privunit, preamble, half = vector_peers(("1", "1e-5"), users=500, dimension=8)
    central = central_rmse(("1", "1e-5"), 8)
    assert one_bit.rmse**2 > central**2 + 500 * (1.5**2 - 1)  # rounding adds to noise that is no less
    assert (one_bit.messages, one_bit.bytes) == (8, 4)
    assert privunit.ratio > 1.0
    assert (privunit.messages, privunit.bytes) == (1, 32)
    assert (preamble.ratio, preamble.estimated) == (1.0, False)
    assert half.estimated
    assert half.rmse**2 == pytest.approx(central**2 + 500)
    # A half of the blocks, each twice: that alone errs so much, whatever the noise.
    rng = np.random.default_rng(3)
    vector = sphere(1, 8, 4)[0]
    sent = np.array([vector * 2.0 * (rng.permutation(8) < 4) for _ in range(4000)])
    assert ((sent - vector) ** 2).sum(axis=1).mean() == pytest.approx(1.0, rel=0.05)
    with pytest.raises(ValueError, match=r"^dimension=1 must be an integer in \[2, inf\)\.$"):
        vector_peers(("1", "1e-5"), users=500, dimension=1)


def test_a_curators_noise_is_no_lower_bound_where_blocks_are_chosen_in_secret() -> None:
    """Of a vector in one block, sent twice as large or not at all, less noise shows no more: an estimate it is."""
    sigma = 0.995 * central_rmse(("1", "1e-6"), 2) / math.sqrt(2.0)
    outputs, step = np.linspace(-120.0, 120.0, 240_001, retstep=True)
    near, far = (np.exp(-0.5 * ((outputs - mean) / sigma) ** 2) / sigma for mean in (0.0, 2.0))
    law = 0.5 * (near + far) / math.sqrt(2.0 * math.pi)
    assert np.maximum(law - math.e * law[::-1], 0.0).sum() * step < 1e-6
