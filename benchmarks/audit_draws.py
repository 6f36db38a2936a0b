"""How many draws a refutation takes, in multiples of what the best event would take for somebody who knew it.

Each mechanism has a larger epsilon than it claims, at the same delta. The yardstick is the Neyman-Pearson event: among
all thresholds of the exact likelihood ratio the one whose Clopper-Pearson test refutes the claim with power 0.95 in the
fewest draws (on each input), computed exactly. A tester's own number is the first of a grid in steps of sqrt(2) at
which it refutes in 95 % of the repetitions; what it spends on finding its event counts.

The peers are the ideas of published auditors, written here with scikit-learn: DP-Sniper (bichsel2021; logistic
regression, the one per cent of outputs that look most like the first input), Delta-Siege (lokna2023; the same, with the
threshold that most exceeds the claim's curve), StatDP (ding2018; half-lines and single values, the one with the least
p-value on half of the draws) and DP-Auditorium (kong2023; a histogram's hockey-stick event and McDiarmid's bound).

    python -m benchmarks.audit_draws [--repetitions 20] [--only WORD]
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.linear_model import LogisticRegression

from dpverify import audit_mechanism
from dpverify.audit.running.target import Target
from dpverify.laws import noise
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.bounds.betting import anytime_privacy_test, kelly_bets
from dpverify.statistics.bounds.claim_test import claim_p_value, lower_curve
from dpverify.statistics.family import Verdict
from dpverify.statistics.outputs.events import histogram_score, likelihood_ratio_events
from dpverify.statistics.power import event_power, trials_for

LEVEL, POWER, MOST = 0.01, 0.95, 32.0
Draws = NDArray[np.float64]
Tester = Callable[[Draws, Draws], bool]


@dataclass(frozen=True)
class Mechanism:
    """What is audited: how it is drawn on two inputs, its best events, and its claim."""

    name: str
    draw: Callable[[int, int, np.random.Generator], Draws]
    events: tuple[tuple[float, float], ...]
    claim: tuple[float, float]
    laws: tuple[DiscreteLaw, DiscreteLaw] | None = None

    def best(self) -> int:
        """Return the draws that the best event needs."""
        epsilon, delta = self.claim
        grown = math.exp(epsilon)

        def rough(event: tuple[float, float]) -> float:
            """Return the event's squared deviation per squared excess: about what its draws are proportional to."""
            p, q = event
            excess = p - grown * q - delta
            return (p * (1 - p) + grown**2 * q * (1 - q)) / excess**2 if excess > 0 else math.inf

        telling = sorted(self.events, key=rough)[:4]
        needed = [
            trials_for(lambda n, p=p, q=q: event_power(p, q, epsilon, delta, n, LEVEL), POWER, most=10**7)
            for p, q in telling
            if math.isfinite(rough((p, q)))
        ]
        return min(n for n in needed if n is not None)


def half_lines(survival: Callable[[Draws], Draws], shift: float, thresholds: Draws) -> tuple[tuple[float, float], ...]:
    return tuple(zip(survival(thresholds - shift).tolist(), survival(thresholds).tolist(), strict=True))


def mechanisms() -> Iterator[Mechanism]:
    def laplace(at: int, n: int, rng: np.random.Generator) -> Draws:
        return (1 - at) + rng.laplace(size=n)

    def tail(y: Draws) -> Draws:
        return np.where(y > 0, 0.5 * np.exp(-np.abs(y)), 1.0 - 0.5 * np.exp(-np.abs(y)))

    lines = np.linspace(-1.0, 4.0, 101)
    yield Mechanism(
        "Laplace, eps 1",
        lambda at, n, rng: np.round(laplace(at, n, rng), 6),
        half_lines(tail, 1.0, lines),
        (1 / 1.1, 0.0),
    )

    zero = DiscreteLaw.from_integer_law(noise.discrete_laplace(1.0, 1e-15))
    one = zero.image(lambda points: points + 1)
    above = np.cumsum(zero.pmf[::-1])[::-1]
    yield Mechanism(
        "geometric, eps 1",
        lambda at, n, rng: (one, zero)[at].sample(n, rng).astype(float),
        tuple(zip(above[:-1].tolist(), above[1:].tolist(), strict=True)),
        (1 / 1.1, 0.0),
        (one, zero),
    )

    kept = math.e / (math.e + 3.0)
    labels = [DiscreteLaw.of(np.arange(4), np.where(np.arange(4) == at, kept, (1 - kept) / 3)) for at in (0, 1)]
    yield Mechanism(
        "4-ary RR, eps 1",
        lambda at, n, rng: labels[at].sample(n, rng).astype(float),
        ((kept, (1 - kept) / 3), (1 - (1 - kept) / 3, 1 - kept)),
        (1 / 1.1, 0.0),
        (labels[0], labels[1]),
    )

    for delta in (1e-2, 1e-1):
        sigma = 1.0
        epsilon = gaussian_epsilon(sigma, delta)
        yield Mechanism(
            f"Gaussian, sigma 1, delta {delta:g}",
            lambda at, n, rng: np.round((1 - at) + rng.normal(size=n), 6),
            half_lines(lambda y: special.ndtr(-y), 1.0, np.linspace(-1.0, 4.0, 101)),
            (epsilon / 1.2, delta),
        )

    def leaking(at: int, n: int, rng: np.random.Generator) -> Draws:
        return np.where(rng.random(n) < 0.01, 1e6 * (1 - at), np.round(laplace(at, n, rng), 6))

    yield Mechanism("Laplace, 1 % tell all", leaking, ((0.01, 0.0),), (1.1, 0.0))
    # About a fifth of the noise has digits below 2^-53, which no float near 1 less the input has (measured: 0.208).
    yield Mechanism("Laplace in floats", laplace, ((0.2, 0.0),), (1.1, 0.0))

    def hidden(at: int, n: int, rng: np.random.Generator) -> Draws:
        mask, flipped = rng.integers(2, size=n), rng.random(n) < 0.25
        return np.stack([mask, mask ^ (flipped ^ bool(at))], axis=1).astype(float)

    yield Mechanism("RR, split into two masked bits", hidden, ((0.75, 0.25),), (math.log(3) / 1.1, 0.0))


def gaussian_epsilon(sigma: float, delta: float) -> float:
    low, high = 0.0, 50.0
    for _ in range(100):
        middle = (low + high) / 2.0
        tails = [float(special.ndtr(sign / (2 * sigma) - middle * sigma)) for sign in (1, -1)]
        low, high = (middle, high) if tails[0] - math.exp(middle) * tails[1] > delta else (low, middle)
    return high


def halves(x: Draws) -> tuple[Draws, Draws]:
    return x[: len(x) // 2], x[len(x) // 2 :]


def refutes(
    first: Draws, second: Draws, event: Callable[[Draws], NDArray[np.bool_]], claim: tuple[float, float]
) -> bool:
    counts = int(event(first).sum()), int(event(second).sum())
    return bool(claim_p_value(*counts, len(first), *claim) <= LEVEL)


def posterior(first: Draws, second: Draws) -> Callable[[Draws], Draws]:
    """Return the log-odds of a logistic regression of standardised outputs."""
    rows = np.concatenate([first, second]).reshape(2 * len(first), -1)
    centre, width = rows.mean(axis=0), rows.std(axis=0) + 1e-12
    model = LogisticRegression().fit((rows - centre) / width, np.repeat([1, 0], len(first)))
    return lambda x: np.asarray(model.decision_function((x.reshape(len(x), -1) - centre) / width))


def sniper(claim: tuple[float, float], *, rarest: float = 0.01) -> Tester:
    def test(first: Draws, second: Draws) -> bool:
        (a, c), (b, d) = halves(first), halves(second)
        score = posterior(a, b)
        # Of the second input's outputs one per cent; ties count in full.
        cut = float(np.quantile(score(b), 1.0 - rarest))
        return refutes(c, d, lambda x: score(x) >= cut, claim)

    return test


def most_excessive(score_a: Draws, score_b: Draws, claim: tuple[float, float]) -> float:
    cuts = np.unique(np.quantile(np.concatenate([score_a, score_b]), np.linspace(0.0, 0.998, 250)))
    p, q = ((x[:, np.newaxis] >= cuts).mean(axis=0) for x in (score_a, score_b))
    grown = math.exp(claim[0])
    deviation = np.sqrt(p * (1 - p) + grown**2 * q * (1 - q)) + 1e-3
    return float(cuts[np.argmax((p - grown * q - claim[1]) / deviation)])


def siege(claim: tuple[float, float]) -> Tester:
    def test(first: Draws, second: Draws) -> bool:
        (a, c), (b, d) = halves(first), halves(second)
        score = posterior(a, b)
        cut = most_excessive(score(a), score(b), claim)
        return refutes(c, d, lambda x: score(x) >= cut, claim)

    return test


def statdp(claim: tuple[float, float]) -> Tester:
    def test(first: Draws, second: Draws) -> bool:
        (a, c), (b, d) = halves(first), halves(second)
        a, b, c, d = (x.reshape(len(x), -1)[:, 0] for x in (a, b, c, d))
        values, often = np.unique(np.concatenate([a, b]), return_counts=True)
        frequent = values[np.argsort(-often)][:50]
        cuts = np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0.01, 0.99, 50)))
        events = [lambda x, v=v: x == v for v in frequent] + [lambda x, t=t: x > t for t in cuts]
        p_values = [float(claim_p_value(int(e(a).sum()), int(e(b).sum()), len(a), *claim)) for e in events]
        return refutes(c, d, events[int(np.argmin(p_values))], claim)

    return test


def auditorium(claim: tuple[float, float]) -> Tester:
    def test(first: Draws, second: Draws) -> bool:
        (a, c), (b, d) = halves(first), halves(second)
        a, b, c, d = (x.reshape(len(x), -1)[:, 0] for x in (a, b, c, d))
        score = histogram_score(a, b, bins=20)
        grown, n = math.exp(claim[0]), len(c)
        bound = math.sqrt(math.log(1 / LEVEL) * (1 + grown**2) / (2 * n))
        return bool((score(c) > claim[0]).mean() - grown * (score(d) > claim[0]).mean() - claim[1] - bound > 0)

    return test


def black_box(claim: tuple[float, float]) -> Tester:
    def test(first: Draws, second: Draws) -> bool:
        draws = {0: first, 1: second}
        target = Target(lambda at, rng, n: next(stock[int(at)])[:n], batch=True, shape=first.shape[1:])
        n = len(first)
        stock = {at: iter([x, x]) for at, x in draws.items()}
        report = audit_mechanism(target, claim, (np.array(0), np.array(1)), trials=n, level=LEVEL, block_size=n)
        return report.verdict is Verdict.VIOLATES

    return test


def known_law(laws: tuple[DiscreteLaw, DiscreteLaw]) -> Callable[[tuple[float, float]], Tester]:
    def build(claim: tuple[float, float]) -> Tester:
        def test(first: Draws, second: Draws) -> bool:
            events = likelihood_ratio_events(*laws, claim[0], len(first))
            return lower_curve(events.counts(first, second), LEVEL).epsilon(claim[1]) > claim[0]

        return test

    return build


PEERS: dict[str, Callable[[tuple[float, float]], Tester]] = {
    "black box (ours)": black_box,
    "DP-Sniper's event": sniper,
    "Delta-Siege's event": siege,
    "StatDP's event": statdp,
    "DP-Auditorium's histogram": auditorium,
}


def multiple(mechanism: Mechanism, tester: Tester, best: int, repetitions: int) -> tuple[float, float]:
    """Return the first multiple of the best event's draws at which the tester refutes, and its median seconds."""
    factor = 1.0
    while factor <= MOST:
        refuted, seconds = 0, []
        allowed = math.floor((1.0 - POWER) * repetitions)
        for repetition in range(repetitions):
            rng = np.random.default_rng([best, round(100 * factor), repetition])
            n = math.ceil(factor * best)
            samples = mechanism.draw(0, n, rng), mechanism.draw(1, n, rng)
            start = time.perf_counter()
            refuted += tester(*samples)
            seconds.append(time.perf_counter() - start)
            if repetition + 1 - refuted > allowed:
                break
        if repetitions - refuted <= allowed:
            return factor, float(np.median(seconds))
        factor *= math.sqrt(2.0)
    return math.inf, math.nan


def median_stop(mechanism: Mechanism, best: int, repetitions: int) -> float:
    """Return the median stop of the betting test of the known law, in multiples of the best event's draws."""
    assert mechanism.laws is not None
    most, (epsilon, delta) = 4 * best, mechanism.claim
    bets = kelly_bets(likelihood_ratio_events(*mechanism.laws, epsilon, most), epsilon, delta, 1.1 * epsilon)
    stops = []
    for repetition in range(repetitions):
        rng = np.random.default_rng([3, repetition])
        found = anytime_privacy_test(mechanism.draw(0, most, rng), mechanism.draw(1, most, rng), bets, level=LEVEL)
        stops.append(found.details["decided_after"] or math.inf)
    return float(np.median(stops)) / best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--only", default="", help="a word of the mechanism's name")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    names = [*PEERS, "known law (ours)", "known law, anytime (ours), median"]
    print(f"| mechanism, claim | best event's draws | {' | '.join(names)} | seconds, black box |")
    print("|" + "---|" * (len(names) + 3))
    for mechanism in mechanisms():
        if options.only.lower() not in mechanism.name.lower():
            continue
        best = mechanism.best()
        cells = [multiple(mechanism, build(mechanism.claim), best, options.repetitions) for build in PEERS.values()]
        shown = [f"{factor:.3g}" if math.isfinite(factor) else f"> {MOST:g}" for factor, _ in cells]
        if mechanism.laws is None:
            shown += ["", ""]
        else:
            tester = known_law(mechanism.laws)(mechanism.claim)
            shown.append(f"{multiple(mechanism, tester, best, options.repetitions)[0]:.3g}")
            shown.append(f"{median_stop(mechanism, best, options.repetitions):.2g}")
        claim = f"({mechanism.claim[0]:.3g}, {mechanism.claim[1]:g})"
        print(f"| {mechanism.name}, {claim} | {best:,} | {' | '.join(shown)} | {cells[0][1]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
