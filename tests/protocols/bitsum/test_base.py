"""What a bitsum has without saying so: checks of what goes in and out, counts of symbols, and the message-level run.

Every protocol's own test inherits the suite in `tests/contracts.py`; here is what that suite would not notice.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from protocols.bitsum.base import BitsumProtocol, messages_by_symbol
from protocols.bitsum.baselines import CentralDiscreteLaplace, CentralGaussian
from protocols.bitsum.poisson import Poisson
from protocols.bitsum.randomized_response import RandomizedResponse
from protocols.bitsum.three_nb import ThreeNB
from protocols.shuffler import UserMessages
from tests.refusals import refused


@dataclass(frozen=True)
class Doubled(BitsumProtocol):
    """Sends 7 twice for a one and -3 for a zero, and sees what it was given."""

    alphabet: ClassVar[tuple[int, ...]] = (7, -3)
    weight: float = 0.5

    def _randomize(self, bits: NDArray[np.int64], rng: np.random.Generator) -> UserMessages:
        return messages_by_symbol({7: 2 * bits, -3: 1 - bits})

    def _sample_view(self, ones: NDArray[np.int64], participants: int, rng: np.random.Generator) -> NDArray[Any]:
        return np.stack([2 * ones, participants - ones], axis=-1)

    def _analyze(self, view: NDArray[Any]) -> NDArray[np.float64]:
        assert view.dtype == np.int64
        return self.weight * view[..., 0]


RNG = np.random.default_rng(1)


def test_messages_carry_their_senders() -> None:
    sent = Doubled(3).randomize([1, 0, True], RNG)
    assert sorted(zip(sent.senders.tolist(), sent.symbols.tolist(), strict=True)) == [
        (0, 7),
        (0, 7),
        (1, -3),
        (2, 7),
        (2, 7),
    ]


def test_both_ways_to_the_view_and_the_estimate() -> None:
    protocol = Doubled(5)
    view = protocol.view([7, -3, 7, -3, -3, 7, 7])
    assert view.tolist() == [4, 3]
    assert protocol.sample_view(2, RNG).tolist() == view.tolist()
    assert protocol.sample_view([[2], [0]], RNG, participants=2).tolist() == [[[4, 0]], [[0, 2]]]
    assert protocol.analyze(view) == protocol.run([0, 1, 0, 1, 0], RNG) == 2.0
    assert protocol.analyze(np.array([[4, 3], [0, 1]], dtype=np.uint8)).tolist() == [2.0, 0.0]


def test_parameters_are_plain_numbers() -> None:
    made = Doubled(np.int64(5), np.float32(0.5))  # type: ignore[arg-type]
    assert (type(made.users), type(made.weight)) == (int, float)
    assert repr(made) == "Doubled(users=5, weight=0.5)"
    for bad in (0, -1):
        with pytest.raises(ValueError, match=rf"^users={bad} must be an integer in \[1, inf\)\.$"):
            Doubled(bad)


def test_what_is_divided_must_be_said() -> None:
    # A default would make a protocol with shares of noise look as private among few as among all.
    with pytest.raises(ValueError, match=r"^Doubled\.divided must name the parameters"):
        Doubled(5).with_users(3)
    exact: list[Fraction] = []
    made = Poisson(3, 0.1).with_users(2, rounded=lambda share: float(exact.append(share) or 7))  # type: ignore[func-returns-value]
    assert exact == [Fraction(0.1) * 2 / 3]
    assert made == Poisson(2, 7.0)
    with refused("users=0"):
        made.with_users(0)


def test_a_view_has_an_axis_of_symbols() -> None:
    with refused("view"):
        Doubled(5).analyze(3)


@pytest.mark.parametrize("protocol", [RandomizedResponse(10, 0.0), CentralGaussian(10, 0.0), Poisson(10, 0.0)], ids=str)
def test_a_run_takes_the_bits_of_all_users_or_of_as_many_as_is_said(protocol: BitsumProtocol) -> None:
    for bits in ([0, 1], [1] * 11):
        with pytest.raises(ValueError, match=rf"^bits holds {len(bits)} users, but must hold .*users=10"):
            protocol.run(bits, RNG)
    with pytest.raises(ValueError, match=r"^bits holds 3 users, but must hold participants=2\.$"):
        protocol.run([1, 0, 1], RNG, participants=2)
    with refused("participants=11"):
        protocol.run([1] * 11, RNG, participants=11)
    assert protocol.run([1, 0, 1], RNG, participants=3) == pytest.approx(2.0)


@pytest.mark.parametrize(
    "protocol",
    [
        RandomizedResponse(3, 0.0),
        Poisson(3, 0.0),
        ThreeNB(3, p=0.0, flood_shape=1.0, flood_p=0.0),
        CentralGaussian(3, 0.0),
        CentralDiscreteLaplace(3, 0.0),
    ],
    ids=str,
)
def test_no_noise_is_the_exact_sum(protocol: BitsumProtocol) -> None:
    assert protocol.run([1, 1, 0], RNG) == 2.0
