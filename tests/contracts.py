"""What every protocol promises, as suites that a protocol's own tests inherit."""

import functools
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from protocols.bitsum import BitsumProtocol
from protocols.shuffler import shuffle
from protocols.user_level.stable_learner import StableLearner
from tests.samples import assert_mean, assert_same_law, assert_variance, rows

WRONG_BITS = ([0, 2], [-1], [0.5], [float("nan")], [[0, 1]], 1)
WRONG_GENERATORS = (None, 7, np.random.RandomState(7))
NO_GENERATOR = r"^rng=.* must be a numpy\.random\.Generator"


class BitsumContract:
    """Inherit it, set `protocol` to an instance for 3 to 6 users, and claim the variance of its estimate.

    `unbiased_with_dropouts` is for protocols whose estimate is unbiased only if all users take part.
    """

    protocol: ClassVar[BitsumProtocol]
    unbiased_with_dropouts: ClassVar[bool] = True

    def variance(self, ones: int, participants: int) -> float:
        raise NotImplementedError

    def participation(self) -> list[int]:
        return [self.protocol.users, self.protocol.users // 2]

    def test_messages_and_aggregates_have_one_law(self) -> None:
        for participants in self.participation():
            for ones in {0, 1, participants}:
                rng = np.random.default_rng([11, participants, ones])
                bits = np.arange(participants) < ones
                sampled = rows(self.protocol.sample_view(np.full(20_000, ones), rng, participants=participants))
                sent = [self.protocol.view(shuffle(self.protocol.randomize(bits, rng), rng)) for _ in range(400)]
                assert_same_law(rows(np.array(sent)), sampled)
                # Users do not know of each other: those of many runs are as one large crowd with the same randomizer.
                sent = self.protocol.with_users(4000 * self.protocol.users).randomize(np.tile(bits, 4000), rng)
                of_run = [sent.senders[sent.symbols == symbol] // participants for symbol in self.protocol.alphabet]
                counts = np.stack([np.bincount(runs, minlength=4000) for runs in of_run], axis=1)
                assert_same_law(rows(counts), sampled)

    def test_estimate_is_unbiased_with_the_claimed_variance(self) -> None:
        for participants in self.participation() if self.unbiased_with_dropouts else [self.protocol.users]:
            for ones in {0, participants}:
                rng = np.random.default_rng([12, participants, ones])
                views = self.protocol.sample_view(np.full(100_000, ones), rng, participants=participants)
                estimates = self.protocol.analyze(views)
                variance = self.variance(ones, participants)
                assert_mean(estimates, ones, variance)
                assert_variance(estimates, ones, variance)

    def test_another_number_of_users_has_the_same_randomizer(self) -> None:
        for participants in self.participation():
            fewer = self.protocol.with_users(participants)
            assert fewer.users == participants
            rng = np.random.default_rng([14, participants])
            ones = np.full(20_000, participants // 2)
            assert_same_law(
                rows(fewer.sample_view(ones, rng)),
                rows(self.protocol.sample_view(ones, rng, participants=participants)),
            )
        assert self.protocol.with_users(self.protocol.users) == self.protocol

    def test_the_generator_determines_everything(self) -> None:
        bits = np.arange(self.protocol.users) % 2
        ones = np.arange(self.protocol.users + 1)
        first, second = (np.random.default_rng(13) for _ in range(2))
        for _ in range(5):
            sent, again = self.protocol.randomize(bits, first), self.protocol.randomize(bits, second)
            assert_array_equal(sent.symbols, again.symbols)
            assert_array_equal(sent.senders, again.senders)
            assert_array_equal(self.protocol.sample_view(ones, first), self.protocol.sample_view(ones, second))
            assert self.protocol.run(bits, first) == self.protocol.run(bits, second)

    def test_senders_are_participants(self) -> None:
        rng = np.random.default_rng(14)
        for _ in range(50):
            sent = self.protocol.randomize([1, 0], rng)
            assert set(sent.symbols.tolist()) <= set(self.protocol.alphabet)
            assert sent.per_user(2).size == 2
            assert sent.per_user(2).sum() == sent.symbols.size

    def test_shapes(self) -> None:
        rng, symbols = np.random.default_rng(15), len(self.protocol.alphabet)
        assert self.protocol.sample_view(1, rng).shape == (symbols,)
        views = self.protocol.sample_view(np.ones((2, 3), dtype=int), rng)
        assert views.shape == (2, 3, symbols)
        estimates = self.protocol.analyze(views)
        assert estimates.shape == (2, 3)
        assert estimates[1, 2] == self.protocol.analyze(views[1, 2])
        assert_array_equal(self.protocol.view([]), np.zeros(symbols))

    def test_nobody_takes_part(self) -> None:
        rng = np.random.default_rng(16)
        assert self.protocol.sample_view(0, rng, participants=0).sum() == 0
        assert self.protocol.randomize([], rng).symbols.size == 0

    def test_arguments_are_checked(self) -> None:
        p, rng, users = self.protocol, np.random.default_rng(0), self.protocol.users
        strange, counts = max(p.alphabet) + 5, [1] * len(p.alphabet)
        more, allowed = np.ones(users + 1, dtype=int), rf"must be an integer in \[0, {users}\]\.$"
        calls: list[tuple[Any, type[Exception], str]] = [
            *((lambda bits=bits: p.randomize(bits, rng), ValueError, r"^bits.* must .*\.$") for bits in WRONG_BITS),
            *((lambda seed=seed: p.randomize([1], seed), TypeError, NO_GENERATOR) for seed in WRONG_GENERATORS),
            *((lambda seed=seed: p.sample_view(1, seed), TypeError, NO_GENERATOR) for seed in WRONG_GENERATORS),
            (lambda: p.sample_view(-1, rng), ValueError, r"^ones.* \[0, \d+\]\.$"),
            *(
                (lambda ones=ones: p.sample_view(ones, rng), TypeError, r"^ones.* \[0, \d+\]\.$")
                for ones in (1.0, True)
            ),
            (
                lambda: p.sample_view([0, users + 1], rng),
                ValueError,
                rf"^ones={users + 1} must be in \[0, {users}\]\.$",
            ),
            (lambda: p.sample_view(2, rng, participants=1), ValueError, r"^ones=2 must be in \[0, 1\]\.$"),
            (lambda: p.run(more, rng), ValueError, rf"^bits holds {users + 1} users, but must hold users={users}"),
            (
                lambda: p.randomize(more, rng),
                ValueError,
                rf"^bits holds {users + 1} users, but .* at most users={users}",
            ),
            (lambda: p.sample_view(0, rng, participants=-1), ValueError, rf"^participants=-1 {allowed}"),
            (
                lambda: p.sample_view(0, rng, participants=users + 1),
                ValueError,
                rf"^participants={users + 1} {allowed}",
            ),
            (lambda: p.view([*p.alphabet, strange]), ValueError, rf"^symbols contains .*{strange}.* must only hold"),
            (lambda: p.analyze([*counts, 0]), ValueError, r"^view has shape"),
            (lambda: p.analyze([-1, *counts[1:]]), ValueError, r"^view contains -1"),
            (lambda: p.analyze(np.array(counts) / 2), TypeError, r"^view has dtype float64"),
        ]
        for wrong, error in ((0, ValueError), (-3, ValueError), (2.0, TypeError), (True, TypeError)):
            made = functools.partial(type(p), **{**vars(p), "users": wrong})
            calls.append((made, error, r"^users=.* must be an integer in \[1, inf\)\.$"))
        for call, error, said in calls:
            with pytest.raises(error, match=said):
                call()


class SelectionContract:
    """What selects a value that most users hold: inherit it, and set `make` to build it for users and candidates."""

    make: ClassVar[Any]

    def test_what_all_hold_is_selected(self) -> None:
        rng = np.random.default_rng(21)
        for value in (0, 3):
            chosen = [int(self.make(400, 5).run(np.full(400, value), rng)) for _ in range(20)]
            assert chosen == [value] * 20

    def test_every_value_may_be_selected_where_users_disagree(self) -> None:
        rng = np.random.default_rng(22)
        values = np.repeat(np.arange(3), 40)
        assert {int(self.make(120, 3).run(values, rng)) for _ in range(200)} == {0, 1, 2}

    def test_the_selection_depends_on_counts_alone(self) -> None:
        rng = np.random.default_rng(23)
        values = np.repeat(np.arange(3), (20, 25, 15))
        drawn = [[int(self.make(60, 3).run(v, rng)) for _ in range(1500)] for v in (values, values[::-1])]
        assert_same_law(*drawn)

    def test_the_generator_determines_it(self) -> None:
        values = np.repeat(np.arange(3), 20)
        first, second = ([int(self.make(60, 3).run(values, rng)) for _ in range(20)] for rng in map(seeded, (24, 24)))
        assert first == second

    @pytest.mark.parametrize(
        ("values", "error"),
        [([0, 3], ValueError), ([-1, 0], ValueError), ([0.0, 1.0], TypeError), ([[0, 1]], ValueError)],
    )
    def test_values_are_checked(self, values: object, error: type[Exception]) -> None:
        with pytest.raises(error, match=r"^values.* must .*\.$"):
            self.make(2, 3).run(values, np.random.default_rng(0))

    @pytest.mark.parametrize("candidates", [0, 1, 2.0])
    def test_candidates_are_checked(self, candidates: object) -> None:
        with pytest.raises((ValueError, TypeError), match=r"=.* must be an integer in \[2, inf\)\.$"):
            self.make(9, candidates)


def seeded(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


class StableLearnerContract:
    """A learner with public randomness: inherit it, and set `learner` to one of thresholds on 8 points."""

    learner: ClassVar[StableLearner]

    def samples(self, rng: np.random.Generator, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        points = rng.integers(0, 8, size)
        return points, (points >= 3).astype(int)

    def test_public_randomness_determines_the_learner(self) -> None:
        points, labels = self.samples(seeded(31), 50)
        for seed in range(10):
            first, second = (self.learner.drawn(seeded(seed)) for _ in range(2))
            assert_array_equal(first.table, second.table)
            assert first.learn(points, labels) == second.learn(points, labels)

    def test_large_samples_lead_to_one_hypothesis_of_small_error(self) -> None:
        rng = seeded(32)
        public = [self.learner.drawn(rng) for _ in range(20)]
        found = [[each.learn(*self.samples(rng, 60_000)) for _ in range(3)] for each in public]
        agree = [len(set(of_one)) == 1 for of_one in found]
        assert sum(agree) >= 17
        truth = (np.arange(8) >= 3).astype(int)
        assert all((each.table[of_one[0]] != truth).mean() <= 0.25 for each, of_one in zip(public, found, strict=True))

    @pytest.mark.parametrize(
        ("points", "labels"),
        [
            ([], []),
            ([8] * 9, [0] * 9),
            ([-1] * 9, [0] * 9),
            ([0] * 9, [2] * 9),
            ([0] * 9, [0] * 8),
            ([[0] * 9], [0] * 9),
        ],
    )
    def test_examples_are_checked(self, points: list[Any], labels: list[int]) -> None:
        with pytest.raises(ValueError, match=r"^(points|labels).* must .*\.$"):
            self.learner.drawn(seeded(0)).learn(np.array(points, dtype=int), labels)

    def test_points_are_integers(self) -> None:
        with pytest.raises(TypeError, match=r"^points has dtype float64, but must hold integers in \[0, 8\)\.$"):
            self.learner.drawn(seeded(0)).learn([0.5] * 9, [0] * 9)
