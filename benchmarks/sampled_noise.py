"""Sampled Gaussian noise, as in DP-SGD: the interval beside the numbers of other accountants, and exact checks.

`table` goes over noise, rates, numbers of steps and deltas, for add-remove adjacency: the interval, its time, and where
a peer that is installed lies outside of it. A peer's upper bound below our lower end is wrong; above our upper end it
is only larger. `checks` compares intervals of one and two steps, in both directions, with exact divergences in Arb:

    OMP_NUM_THREADS=1 python -m benchmarks.sampled_noise table --every 3
    OMP_NUM_THREADS=1 python -m benchmarks.sampled_noise checks --number 10000
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
import signal
import statistics
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.accounting_peers import installed
from dpverify.guarantee import Interval
from dpverify.planning.steps.step import NoisyStep, Steps
from dpverify.privacy_loss.sampling.line import NoiseLine
from dpverify.privacy_loss.windows.transform import Composition
from tests.privacy_loss.sampling.exact import ExactNoise, divergence, replaced, twice

NOISES = (0.3, 0.5, 1.0, 3.0, 10.0, 100.0)
RATES = (1e-6, 1e-4, 1e-2, 0.1, 1.0)
COUNTS = (1, 100, 10_000, 1_000_000)
DELTAS = (1e-3, 1e-6, 1e-10, 1e-15, 1e-30)
FIGURES = ((1.0, 0.01, 10_000, delta) for delta in (1e-5, 1e-6, 1e-10, 1e-15, 1e-30))
LIMIT = 20
Case = tuple[float, float, int, float]
console = Console(highlight=False, width=180)


def timed(run: Callable[[], float | Interval | None]) -> tuple[float | Interval | None, float]:
    """Return a value and the CPU seconds that it took; None where it was refused, or took more than the limit."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {LIMIT} CPU seconds")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    start = time.process_time()
    try:
        value = run()
    except (ArithmeticError, AssertionError, MemoryError, OSError, RuntimeError, ValueError) as error:
        console.print(f"   refused: {type(error).__name__}: {str(error)[:90]}", style="dim")
        value = None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return value, time.process_time() - start


def ours(case: Case, width: float) -> Interval:
    """Return the interval of epsilon."""
    noise, rate, count, delta = case
    return Steps([(NoisyStep(noise, rate), count)]).curve(width, delta).epsilon(delta)


def dp_accounting(case: Case) -> float:
    """Return dp-accounting's epsilon, at its default interval of 1e-4."""
    import dp_accounting as peer
    from dp_accounting.pld import PLDAccountant

    noise, rate, count, delta = case
    step = peer.GaussianDpEvent(noise)
    event = step if rate == 1.0 else peer.PoissonSampledDpEvent(rate, step)
    return float(PLDAccountant().compose(peer.SelfComposedDpEvent(event, count)).get_epsilon(delta))


def prv_accountant(case: Case) -> float:
    """Return prv-accountant's upper bound, at an error of a hundredth of our epsilon."""
    from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant

    noise, rate, count, delta = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mechanism = PoissonSubsampledGaussianMechanism(sampling_probability=rate, noise_multiplier=noise)
        accountant = PRVAccountant(
            mechanism, max_self_compositions=count, eps_error=0.01, delta_error=max(delta * 1e-3, 1e-15)
        )
        return float(accountant.compute_epsilon(delta, [count])[2])


def pld_accounting(case: Case) -> float:
    """Return PLD_accounting's epsilon, of dp-accounting's Gaussian noise on its default interval, sampled."""
    from dp_accounting.pld import privacy_loss_distribution as peer
    from PLD_accounting import subsample_pld

    noise, rate, count, delta = case
    one = peer.from_gaussian_mechanism(noise)
    sampled = one if rate == 1.0 else subsample_pld(pld=one, sampling_probability=rate)
    return float(sampled.self_compose(count).get_epsilon_for_delta(delta))


def autodp(case: Case) -> float:
    """Return autodp's epsilon, by Renyi divergences."""
    from autodp.mechanism_zoo import SubsampleGaussianMechanism

    noise, rate, count, delta = case
    return float(SubsampleGaussianMechanism({"prob": rate, "sigma": noise, "coeff": count}).get_approxDP(delta))


PEERS = {
    "dp-accounting": dp_accounting,
    "PLD_accounting": pld_accounting,
    "prv-accountant": prv_accountant,
    "autodp": autodp,
}


def cases(every: int) -> Iterator[Case]:
    """Yield all cases, or one of so many."""
    yield from itertools.islice(itertools.product(NOISES, RATES, COUNTS, DELTAS), 0, None, every)


def table(every: int, width: float, figures: bool) -> None:
    """Print the intervals, and how far peers lie outside of them."""
    peers = {name: run for name, run in PEERS.items() if installed(name) != "not installed"}
    shown = Table("noise", "rate", "steps", "delta", "epsilon", "width", "s", *(f"{name}, s" for name in peers))
    times, widths = [], []
    outside: dict[str, dict[str, int]] = {
        name: dict.fromkeys(("below", "inside", "above", "none"), 0) for name in peers
    }
    slower: dict[str, list[float]] = {name: [] for name in peers}
    for case in FIGURES if figures else cases(every):
        found, took = timed(functools.partial(ours, case, width))
        row = [f"{value:g}" for value in case]
        if not isinstance(found, Interval):
            shown.add_row(*row, "refused")
            continue
        relative = found.width / found.upper if 0.0 < found.upper < math.inf else 0.0
        times.append(took)
        widths.append(relative)
        row += [f"[{found.lower:.8g}, {found.upper:.8g}]", f"{relative:.1e}", f"{took:.3f}"]
        for name, run in peers.items():
            theirs, their_time = timed(functools.partial(run, case))
            slower[name].append(their_time / max(took, 1e-4))
            if not isinstance(theirs, float) or not math.isfinite(theirs):
                kind, text = "none", str(theirs)
            elif theirs < found.lower:
                kind, text = "below", f"{theirs:.8g} below by {found.lower - theirs:.2g}"
            elif theirs > found.upper:
                kind, text = "above", f"{theirs:.8g} above by {theirs - found.upper:.2g}"
            else:
                kind, text = "inside", f"{theirs:.8g}"
            outside[name][kind] += 1
            row.append(f"{text}, {their_time:.2f}")
        shown.add_row(*row)
    console.print(shown)
    times.sort()
    widths.sort()
    console.print(
        f"{len(times)} intervals: width at most {width:g} in {sum(w <= width for w in widths)}, the widest "
        f"{widths[-1]:.2g}; "
        f"CPU seconds {statistics.median(times):.3f} in the median, {times[len(times) * 9 // 10]:.3f} in nine of ten, "
        f"{times[-1]:.2f} at most."
    )
    for name, kinds in outside.items():
        console.print(f"{name} {installed(name)}: {kinds}, time / ours {statistics.median(slower[name]):.1f}.")


def checks(number: int, seed: int) -> int:
    """Compare intervals with exact divergences, and return how many fail."""
    rng = np.random.default_rng(seed)
    failed = done = 0
    while done < number:
        law = str(rng.choice(["gaussian", "laplace", "opposite"]))
        noise = float(np.exp(rng.uniform(math.log(0.01 if law == "laplace" else 0.06), math.log(300.0))))
        rate = float(min(np.exp(rng.uniform(math.log(1e-9), 0.2)), 1.0))
        if rng.random() < 0.1:
            rate = 1.0 - 2.0 ** -float(rng.integers(1, 50))
        if law == "laplace":
            line = NoiseLine.laplace(noise)
        else:
            line = NoiseLine.gaussian(noise, 10.0 ** -rng.uniform(3, 60), opposite=law == "opposite")
        largest = float(np.abs(line.moments(rate).losses).max())
        grids = line.sampled(rate, min(largest / float(np.exp(rng.uniform(0.5, 8.0))), 16.0))
        two = law == "gaussian" and 0.2 < noise < 30.0 and rng.random() < 0.1
        for epsilon in largest * rng.uniform(-1.0, 1.0, 1 if two else 6) ** 3:
            for adding, grid in enumerate(grids):
                found = Composition([(grid, 1 + two)]).delta(float(epsilon))
                if two:
                    exact = twice(noise, rate, float(epsilon), adding=bool(adding))
                elif law == "opposite":
                    exact = replaced(noise, rate, float(epsilon))
                else:
                    exact = divergence(ExactNoise(law, noise), rate, float(epsilon), adding=bool(adding))
                done += 1
                if exact.upper() < found.lower or exact.lower() > found.upper:
                    failed += 1
                    console.print(f"VIOLATION {law} {noise!r} {rate!r} {epsilon!r} {adding=} {two=} {exact} {found!r}")
    console.print(f"{done} checks, {failed} violations.")
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["table", "figures", "checks"])
    parser.add_argument("--every", type=int, default=1, help="one of so many cases")
    parser.add_argument("--width", type=float, default=1e-4, help="relative, of epsilon")
    parser.add_argument("--number", type=int, default=10_000, help="of checks")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.what == "checks":
        raise SystemExit(min(checks(asked.number, asked.seed), 1))
    table(asked.every, asked.width, asked.what == "figures")
