"""Errors, messages and laws of unary sums, against sums and samples."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from dpverify.audit.protocol import audit_protocol
from dpverify.claims.registry import mechanism_claims_of
from dpverify.statistics.family import Verdict
from protocols.shuffler import UserMessages
from protocols.sums import NegativeBinomialSum, PoissonSum, UnarySum

PROTOCOLS = [PoissonSum(6, 3, 12.0), NegativeBinomialSum(6, 3, 5.0, 0.6)]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_the_law_of_the_estimate_has_the_stated_error(protocol: UnarySum) -> None:
    claims = mechanism_claims_of(protocol)
    law = claims.estimate_law(protocol, 11, 6)
    assert abs(law.mean - 11) < 1e-9
    assert abs(law.variance / claims.rmse(protocol) ** 2 - 1) < 1e-9
    sent = np.mean([protocol.randomize([3] * 6, np.random.default_rng(s)).symbols.size for s in range(400)]) / 6
    assert abs(sent - claims.messages_per_user(protocol)) < 0.3


@pytest.mark.long
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_an_audit_by_the_twin_passes_what_runs_and_finds_less_noise(protocol: UnarySum) -> None:
    assert audit_protocol(protocol, trials=600, level=1e-3, seed=5).verdict is not Verdict.VIOLATES
    name = protocol.divided[0]
    less = type(protocol)(**{**vars(protocol), name: 0.5 * getattr(protocol, name)})
    assert audit_protocol(protocol, implementation=less, trials=600, level=1e-3, seed=5).verdict is Verdict.VIOLATES


class Floored(PoissonSum):
    """Rounds down what it should round at random."""

    def randomize(self, values: ArrayLike, rng: np.random.Generator) -> UserMessages:
        step = float(self.step)
        lower = np.floor((np.asarray(values) - self.smallest) / step * (1 + 1e-12))
        return super().randomize(self.smallest + lower * step, rng)


def test_an_audit_of_real_numbers_finds_what_is_not_rounded_at_random() -> None:
    asked = {"users": 30, "largest": 2.0, "mean": 20.0, "smallest": -1.5, "steps": 7}
    given: Any = {"trials": 200, "level": 1e-3, "seed": 5}
    assert audit_protocol(PoissonSum(**asked), **given).verdict is not Verdict.VIOLATES
    found = audit_protocol(PoissonSum(**asked), implementation=Floored(**asked), **given)
    assert found.verdict is Verdict.VIOLATES
    law = mechanism_claims_of(PoissonSum(**asked)).estimate_law(PoissonSum(**asked), 40, 30, midway=30)
    assert law.mean == pytest.approx(30 * -1.5 + (40 + 15) / 2)
    # Numbers halfway between steps are the worst to round.
    assert law.variance == pytest.approx(mechanism_claims_of(PoissonSum(**asked)).rmse(PoissonSum(**asked)) ** 2)
