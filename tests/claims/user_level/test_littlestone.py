"""What is claimed of tournaments and thresholds, against exact laws of what is found and against simulated runs."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from dpverify.claims.user_level.littlestone import enough_batch, enough_runs, frequencies_of_law, stable_share
from protocols.user_level.littlestone import FrequentHypotheses, FrequentLearner, VersionSpaces, examples_of_run
from protocols.user_level.representations import DecisionLists, FiniteClass, Representation, Thresholds
from tests.samples import assert_law

POINTS = FiniteClass(np.eye(6, dtype=int))
CUBE = FiniteClass(list(itertools.product([0, 1], repeat=3)))
SEVEN = FiniteClass(
    [
        [int(bit) for bit in concept]
        for concept in ["001001110", "100111000", "000010110", "011111011", "010110010", "010011001", "011000011"]
    ]
)
CLASSES = [Thresholds(3), Thresholds(7), POINTS, CUBE, DecisionLists(2), SEVEN]

Space = frozenset[tuple[int, ...]]
Outcome = tuple[Space, tuple[int, ...]]


class Reference:
    """Runs on equally likely points with one example a batch, in fractions: written down from the definitions."""

    def __init__(self, concepts: np.ndarray, target: int) -> None:
        self.full: Space = frozenset(map(tuple, concepts.tolist()))
        self.target = tuple(concepts[target].tolist())
        self.points = range(len(self.target))
        self.dimensions: dict[Space, int] = {}

    def keep(self, space: Space, point: int, label: int) -> Space:
        return frozenset(concept for concept in space if concept[point] == label)

    def dimension(self, space: Space) -> int:
        if space not in self.dimensions:
            halves = [(self.keep(space, x, 0), self.keep(space, x, 1)) for x in self.points]
            split = [1 + min(map(self.dimension, pair)) for pair in halves if all(pair)]
            self.dimensions[space] = max(split, default=0) if space else -1
        return self.dimensions[space]

    def predict(self, space: Space) -> tuple[int, ...]:
        zero, one = ([self.dimension(self.keep(space, x, label)) for x in self.points] for label in (0, 1))
        return tuple(int(b > a) for a, b in zip(zero, one, strict=True))

    def entered(self, winners: dict[Outcome, Fraction]) -> dict[Outcome, Fraction]:
        found: Counter[Outcome] = Counter()
        for ((space, asked), chance), x in itertools.product(winners.items(), self.points):
            found[self.keep(space, x, self.target[x]), asked] += chance / len(self.points)
        return found

    def told(self, rounds: int, labels: tuple[int, ...]) -> dict[Outcome, Fraction]:
        """Who wins, and which labels were asked for, where `labels` are told; the empty space for nobody."""
        if rounds == 0:
            return {(self.full, ()): Fraction(1)}
        entrants = self.entered(self.told(rounds - 1, labels))
        found: Counter[Outcome] = Counter()
        for ((one, before), chance), ((two, asked), other) in itertools.product(entrants.items(), repeat=2):
            winner: Space = frozenset()
            more: tuple[int, ...] = ()
            f, g = self.predict(one), self.predict(two)
            wrong = [x for x in asked if f[x] != labels[x]]
            if one and wrong:
                winner = self.keep(one, wrong[0], labels[wrong[0]])
            elif one and two and f != g:
                x = min(x for x in self.points if f[x] != g[x])
                winner, more = self.keep(one if f[x] != labels[x] else two, x, labels[x]), (x,)
            found[winner, before + asked + more] += chance * other
        return found

    def guessed(self, rounds: int) -> dict[Outcome, Fraction]:
        """Who wins a run of its own guesses."""
        if rounds == 0:
            return {(self.full, ()): Fraction(1)}
        found: Counter[Outcome] = Counter()
        for (one, _), chance in self.entered(self.guessed(rounds - 1)).items():
            f = self.predict(one)
            for (two, asked), other in self.entered(self.told(rounds - 1, f)).items() if one else [((one, ()), 1)]:
                made = {self.keep(one, x, 1 - f[x]) for x in asked}
                g = self.predict(two)
                if one and two and f != g:
                    x = min(x for x in self.points if f[x] != g[x])
                    made |= {self.keep(one, x, g[x]), self.keep(two, x, f[x])}
                made = made - {frozenset()} or {frozenset()}
                for space in made:
                    found[space, ()] += chance * other / len(made)
        return found

    def predicted(self, winners: dict[Outcome, Fraction]) -> dict[tuple[int, ...], Fraction]:
        found: Counter[tuple[int, ...]] = Counter()
        for ((space, _), chance), x in itertools.product(winners.items(), self.points):
            last = self.keep(self.full, x, self.target[x])
            found[self.predict(space & last or last)] += chance / len(self.points)
        return found


def random_law(representation: Representation, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Some law of examples, and the errors of what may be predicted under it."""
    weights = rng.dirichlet(np.full(representation.domain, 0.4))
    target = representation.concepts[rng.integers(len(representation.concepts))]
    law = np.zeros((representation.domain, 2))
    law[np.arange(representation.domain), target] = weights
    return law, (VersionSpaces(representation.concepts).table != target) @ weights


@pytest.mark.long
@pytest.mark.parametrize("representation", CLASSES, ids=str)
@pytest.mark.parametrize("batch", [1, 3, 10])
def test_some_hypothesis_is_frequent_and_no_frequent_one_is_bad(representation: Representation, batch: int) -> None:
    spaces, rng = VersionSpaces(representation.concepts), np.random.default_rng(batch)
    for _ in range(5):
        law, errors = random_law(representation, rng)
        found = frequencies_of_law(spaces, law, batch)
        assert found.max() >= (spaces.dimension + 1) * stable_share(spaces.dimension)
        assert found.mean(axis=0).max() >= stable_share(spaces.dimension)
        assert np.allclose(found.sum(axis=1), 1.0, rtol=1e-12)
        assert (found.mean(axis=0) <= (1.0 - errors) ** batch + 1e-12).all()


@pytest.mark.parametrize(("representation", "target"), [(POINTS, 2), (Thresholds(3), 1), (SEVEN, 3), (CUBE, 6)])
def test_each_step_of_the_proof_holds_in_fractions(representation: Representation, target: int) -> None:
    concepts = representation.concepts
    reference, spaces = Reference(concepts, target), VersionSpaces(concepts)
    law = np.zeros((representation.domain, 2))
    law[np.arange(representation.domain), concepts[target]] = 1.0 / representation.domain
    exact, d = frequencies_of_law(spaces, law, 1), spaces.dimension
    rows = {tuple(row): index for index, row in enumerate(spaces.table.tolist())}
    guesses, nobody, most, largest = 1, Fraction(0), [], Fraction(0)
    for rounds in range(d + 1):
        told, found = reference.told(rounds, reference.target), reference.guessed(rounds)
        assert all(len(asked) <= 2**rounds - 1 for _, asked in told)
        winners: Counter[Space] = Counter()
        for (space, _), chance in told.items():
            winners[space] += chance
        for space, chance in winners.items():
            if space:
                assert reference.target in space
                assert reference.dimension(space) <= d - rounds
                assert found[space, ()] >= chance / guesses
        missing = winners.pop(frozenset(), Fraction(0))
        assert missing <= (2 * nobody + most[-1] if most else 0)
        nobody = missing
        most.append(max(reference.predicted({(space, ()): p for space, p in winners.items()}).values(), default=0))
        predicted = reference.predicted(found)
        assert exact[rounds, [rows[hypothesis] for hypothesis in predicted]] == pytest.approx(
            [float(chance) for chance in predicted.values()], rel=1e-12
        )
        largest = max(largest, *predicted.values())
        guesses *= 2**rounds + 1
    assert most[-1] == 1 - nobody
    assert largest >= Fraction(d + 1, round(1.0 / stable_share(d)))


@pytest.mark.long
@pytest.mark.parametrize(("representation", "rounds"), [(SEVEN, 0), (SEVEN, 1), (SEVEN, 2), (CUBE, 3)])
def test_runs_have_the_exact_law(representation: Representation, rounds: int) -> None:
    learner = FrequentLearner(representation, share=0.3, batch=1, runs=1)
    domain, labels, rng = representation.domain, representation.concepts[3], np.random.default_rng(rounds)
    chances = np.arange(1.0, domain + 1.0) / (domain * (domain + 1) / 2)
    law = np.zeros((domain, 2))
    law[np.arange(domain), labels] = chances
    exact = frequencies_of_law(learner.spaces, law, 1)[rounds]
    found = []
    for seed in range(4_000):
        points = rng.choice(domain, examples_of_run(learner.spaces.dimension, 1), p=chances)
        public = FrequentHypotheses(learner.spaces, 1, 0.3, np.array([rounds]), np.array([seed]))
        found.append(int(public.frequencies(points, labels[points]).argmax()))
    assert_law(found, dict(enumerate(exact / exact.sum())))


@pytest.mark.parametrize("representation", [Thresholds(7), POINTS], ids=str)
def test_runs_find_what_is_promised(representation: Representation) -> None:
    batch, rng = 3, np.random.default_rng(2)
    spaces = VersionSpaces(representation.concepts)
    law, _ = random_law(representation, rng)
    flat = law.ravel()
    each = examples_of_run(spaces.dimension, batch)
    runs = 300
    learner = FrequentLearner(representation, share=0.3, batch=batch, runs=runs)
    drawn = rng.choice(flat.size, runs * each, p=flat)
    found = learner.drawn(np.random.default_rng(7)).frequencies(drawn // 2, drawn % 2)
    assert found.max() >= stable_share(spaces.dimension)


def test_a_random_threshold_is_seldom_near_a_frequency() -> None:
    # The bound 8 s / (eta^2 (1 - 2 s / eta)) against the exact measure of thresholds that are within s of one.
    rng = np.random.default_rng(4)
    for share in (0.125, 0.3):
        for unstable in (0.1, 0.5):
            near = 7.0 / 128.0 * unstable * share**2
            for _ in range(50):
                frequencies = rng.dirichlet(np.full(rng.integers(2, 60), 0.3))
                frequencies = np.append(frequencies[:3] * 0.5, np.full(int(1 / share), 0.6 * share * rng.random()))
                cuts = np.clip(np.sort(np.concatenate([frequencies - near, frequencies + near])), share / 2, share)
                middles, widths = 0.5 * (cuts[1:] + cuts[:-1]), np.diff(cuts)
                bad = (np.abs(middles[:, np.newaxis] - frequencies).min(axis=1) <= near) @ widths
                assert bad / (share / 2) <= 0.5 * unstable + 1e-12


def test_what_is_enough_are_closed_forms() -> None:
    assert [1.0 / stable_share(d) for d in range(5)] == pytest.approx([1, 2 * 3, 3 * 10, 4 * 44, 5 * 328], rel=1e-12)
    for d in range(1, 30):
        assert -math.log2(stable_share(d)) <= d * (d - 1) / 2 + math.log2(d + 1) + 2.5
    for share, alpha in ((0.125, 0.1), (0.5, 0.01)):
        batch = enough_batch(share, alpha)
        assert (1.0 - alpha) ** batch <= share / 2.0 < (1.0 - alpha) ** (batch - 1)
    assert [examples_of_run(d, 3) for d in range(3)] == [3, 9, 21]
    near = 7.0 / 128.0 * 0.1 * 0.125**2
    runs = enough_runs(0.125, 0.1)
    assert 2.0 * math.exp(-runs * near**2 / 2.0) <= 0.05 < 2.0 * math.exp(-(runs - 1) * near**2 / 2.0)
    for call in (
        lambda: stable_share(-1),
        lambda: enough_batch(0.0, 0.1),
        lambda: enough_batch(0.1, 1.0),
        lambda: examples_of_run(-1, 3),
        lambda: enough_runs(0.5, 0.0),
    ):
        with pytest.raises(ValueError, match=r"must be"):
            call()
