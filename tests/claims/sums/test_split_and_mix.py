"""The curve of split and mix encloses that of the whole view, enumerated; charges that are left out would not."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from dpverify import account
from dpverify.audit.protocol import audit_protocol
from dpverify.changes import Full
from dpverify.claims.sums.split_and_mix import SplitAndMixClaims
from dpverify.guarantee import ThreatModel
from dpverify.statistics.family import Verdict
from protocols.shuffler import UserMessages
from protocols.sums import SplitAndMix

CLAIMS = SplitAndMixClaims()


def whole_view(protocol: SplitAndMix, values: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The law of how many shares have each value, noise and all."""
    noise = CLAIMS.noise_law(protocol, 1.0 / protocol.users, 1e-30)
    q, k = protocol.modulus, protocol.shares
    found: dict[tuple[int, ...], float] = {(0,) * q: 1.0}
    for value in values:
        hidden = np.bincount((noise.support + value) % q, weights=noise.pmf, minlength=q)
        grown: Counter[tuple[int, ...]] = Counter()
        rows = Counter[tuple[int, ...]]()
        for sent in itertools.product(range(q), repeat=k):
            rows[tuple(np.bincount(sent, minlength=q).tolist())] += hidden[sum(sent) % q] / q ** (k - 1)
        for (view, mass), (row, chance) in itertools.product(found.items(), rows.items()):
            grown[tuple(a + b for a, b in zip(view, row, strict=True))] += mass * chance
        found = dict(grown)
    return found


@pytest.mark.parametrize("protocol", [
    SplitAndMix(2, 1, 7, 2, 0.3), SplitAndMix(2, 1, 3, 4, 0.9, 2.0), SplitAndMix(3, 1, 4, 3, 0.7),
    SplitAndMix(2, 2, 5, 4, 0.6),
], ids=repr)  # fmt: skip
def test_the_curve_encloses_that_of_the_whole_view(protocol: SplitAndMix) -> None:
    curve = CLAIMS.curve(protocol, Full(1), ThreatModel.COMMUNICATION)
    datasets = list(itertools.combinations_with_replacement(range(protocol.largest + 1), protocol.users))
    views = {values: whole_view(protocol, values) for values in datasets}
    neighbours = [
        (a, b) for a, b in itertools.permutations(datasets, 2) if sum((Counter(a) - Counter(b)).values()) == 1
    ]
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        worst = max(
            sum(max(p - math.exp(epsilon) * views[b].get(y, 0.0), 0.0) for y, p in views[a].items())
            for a, b in neighbours
        )
        found = curve.delta(epsilon)
        assert found.lower - 1e-12 <= worst <= found.upper
        # Without what is charged the bound would be wrong where the sum shows little of what the shares do.
        if protocol.shares == 2 and epsilon == 1.0:
            assert worst > CLAIMS.composed(protocol, Full(1), 1e-6, 1e-6).delta(epsilon).upper


def test_epsilon_and_delta_are_charged_alike() -> None:
    protocol = SplitAndMix(1000, 4, 2**13, 5, math.exp(-0.25))
    distance, found = CLAIMS.distance(protocol), account(protocol, delta=2e-3)
    assert 1e-5 < distance < 1e-3
    assert account(protocol, epsilon=1.0).delta.upper == pytest.approx((1.0 + math.e) * distance, rel=1e-6)
    assert account(protocol, epsilon=1.0, instances=1).delta.lower < 1e-12
    back = account(protocol, epsilon=found.epsilon.upper).delta
    assert back.lower <= back.upper <= 2e-3
    # Three sums: three times the distance.
    thrice = CLAIMS.curve(protocol, Full(3), ThreatModel.COMMUNICATION).delta(3.0).upper
    assert thrice == pytest.approx(3.0 * (1.0 + math.exp(3.0)) * distance, rel=1e-4)
    assert account(protocol, delta=0).epsilon.to_dict() == {"lower": 0.0, "upper": "inf"}
    assert account(SplitAndMix(1000, 4, 2**13, 5, 0.0), delta=1e-3).epsilon.lower == math.inf


def test_what_wraps_round_is_counted() -> None:
    # Noise far beyond the modulus: nothing is known to be attained, and the error is as large as can be.
    tight = SplitAndMix(4, 1, 5, 30, 0.99)
    found = account(tight, epsilon=0.001)
    assert found.delta.lower == 0.0
    assert CLAIMS.rmse(tight) >= 5.0
    law = CLAIMS.estimate_law(tight, 2, 4)
    assert law.points.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    roomy = SplitAndMix(4, 1, 2**12, 30, 0.7, 2.0)
    assert CLAIMS.rmse(roomy) ** 2 == pytest.approx(2 * 2 * 0.7 / 0.09)
    assert CLAIMS.estimate_law(roomy, 2, 4).variance == pytest.approx(CLAIMS.rmse(roomy) ** 2)


class SmallShares(SplitAndMix):
    """Draws all shares but the last from a few values, which show the rest."""

    def _randomize(self, values: np.ndarray, rng: np.random.Generator) -> UserMessages:
        sent = super()._randomize(values, rng)
        shares = sent.symbols.reshape(values.size, self.shares)
        small = shares[:, :-1] % 5
        shares[:, -1] = (shares[:, -1] + (shares[:, :-1] - small).sum(axis=1)) % self.modulus
        shares[:, :-1] = small
        return UserMessages(shares.ravel(), sent.senders)


@pytest.mark.long
def test_an_audit_by_the_twin_passes_what_runs_and_finds_shares_and_noise_that_are_not_right() -> None:
    options = {"trials": 600, "level": 1e-3, "seed": 6}
    reference = SplitAndMix(6, 3, 64, 4, 0.7)
    assert audit_protocol(reference, **options).verdict is not Verdict.VIOLATES
    for wrong in (SmallShares(6, 3, 64, 4, 0.7), SplitAndMix(6, 3, 64, 4, 0.5), SplitAndMix(6, 3, 64, 3, 0.7)):
        assert audit_protocol(reference, implementation=wrong, **options).verdict is Verdict.VIOLATES


def test_noise_that_wraps_is_counted_on_both_sides() -> None:
    protocol = SplitAndMix(20, 2, 101, 3, 0.8, 1.5)
    noise = CLAIMS.noise_law(protocol, 1.0, 1e-30)
    for margin in (0, 3, 20):
        exact = math.fsum(noise.pmf[np.abs(noise.support) > margin].tolist())
        assert exact <= CLAIMS.wrapped(protocol, margin) <= exact * (1.0 + 1e-9) + 1e-15
    assert CLAIMS.wrapped(protocol) == CLAIMS.wrapped(protocol, protocol.margin)
