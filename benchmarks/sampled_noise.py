"""Sampled Gaussian noise, as in DP-SGD: the interval beside the numbers of other accountants, and exact checks.

`table` goes over noise, rates, numbers of steps and deltas: the interval, its time and memory, and where a peer that is
installed lies outside of it. A peer's upper bound below our lower end is wrong; above our upper end it is only larger.
Each number comes from a process of its own, with all imports made. `checks` compares intervals of one and two steps, in
both directions, with exact divergences in Arb:

    OMP_NUM_THREADS=1 python -m benchmarks.sampled_noise table --every 3 --adjacency replace-one
    OMP_NUM_THREADS=1 python -m benchmarks.sampled_noise checks --number 10000
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import itertools
import math
import os
import pickle
import resource
import statistics
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.accounting_peers import installed
from dpverify.guarantee import Adjacency, Interval
from dpverify.planning.steps.step import NoisyStep, Steps
from dpverify.privacy_loss.sampling.line import NoiseLine
from dpverify.privacy_loss.windows.transform import Composition
from tests.privacy_loss.sampling.exact import ExactNoise, divergence, replaced, twice

NOISES = (0.3, 0.5, 1.0, 3.0, 10.0, 100.0)
RATES = (1e-6, 1e-4, 1e-2, 0.1, 1.0)
COUNTS = (1, 100, 10_000, 1_000_000)
DELTAS = (1e-3, 1e-6, 1e-10, 1e-15, 1e-30)
FIGURES = (
    *((1.0, 0.01, 10_000, delta) for delta in (1e-5, 1e-6, 1e-10, 1e-15, 1e-30)),
    (3.0, 0.1, 100, 1e-6),
    (10.0, 1e-4, 10_000, 1e-6),
)
LIMIT = 10
"""CPU seconds of a peer's number, or of ours."""
WIDTHS, LIMITS = (1e-4, 1e-6), (0.15, 1.0)
Case = tuple[float, float, int, float]
console = Console(highlight=False, width=240)


class Measured(NamedTuple):
    """What a run gave, None where it was refused or took more than the limit; CPU seconds, and MiB more at its peak."""

    value: float | Interval | None
    seconds: float
    memory: float


def measured(run: Callable[[], float | Interval]) -> Measured:
    """Run something in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + LIMIT,) * 2)
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            start = time.process_time()
            value = run()
            took = time.process_time() - start
            more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) / 1024.0
            os.write(writing, pickle.dumps(Measured(value, took, more)))
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        found = pipe.read()
    _, _, used = os.wait4(child, 0)
    return pickle.loads(found) if found else Measured(None, used.ru_utime + used.ru_stime, math.nan)


def ours(case: Case, adjacency: Adjacency, width: float) -> Interval:
    """Return the interval of epsilon."""
    noise, rate, count, delta = case
    return Steps([(NoisyStep(noise, rate), count)], adjacency).curve(width, delta).epsilon(delta)


def dp_accounting(case: Case, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> float:
    """Return dp-accounting's epsilon, at its default interval of 1e-4."""
    import dp_accounting as peer
    from dp_accounting.pld import PLDAccountant

    noise, rate, count, delta = case
    step = peer.GaussianDpEvent(noise)
    event = step if rate == 1.0 else peer.PoissonSampledDpEvent(rate, step)
    neighbours = peer.NeighboringRelation
    relation = neighbours.REPLACE_ONE if adjacency is Adjacency.REPLACE_ONE else neighbours.ADD_OR_REMOVE_ONE
    return float(PLDAccountant(relation).compose(peer.SelfComposedDpEvent(event, count)).get_epsilon(delta))


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


def opacus(case: Case) -> float:
    """Return the upper bound of Opacus's accountant "prv"."""
    for name, holds in {"opacus": None, "opacus.optimizers": object}.items():  # torch is for training alone
        if name not in sys.modules:
            module = types.ModuleType(name)
            if holds is None:
                module.__path__ = list(importlib.util.find_spec(name).submodule_search_locations)
            else:
                module.DPOptimizer = holds
            sys.modules[name] = module
    from opacus.accountants import PRVAccountant

    noise, rate, count, delta = case
    accountant = PRVAccountant()
    accountant.history = [(noise, rate, count)]
    return float(accountant.get_epsilon(delta))


PEERS = {
    "dp-accounting": dp_accounting,
    "PLD_accounting": pld_accounting,
    "prv-accountant": prv_accountant,
    "opacus": opacus,
    "autodp": autodp,
}


def cases(every: int) -> Iterator[Case]:
    """Yield all cases, or one of so many."""
    yield from itertools.islice(itertools.product(NOISES, RATES, COUNTS, DELTAS), 0, None, every)


def table(chosen: Iterable[Case], adjacency: Adjacency) -> None:
    """Print the intervals, and how far peers lie outside of them."""
    peers = {name: run for name, run in PEERS.items() if installed(name) != "not installed"}
    if adjacency is not Adjacency.ADD_REMOVE:  # no other has this
        peers = {name: run for name, run in peers.items() if name == "dp-accounting"}
        peers = {name: functools.partial(run, adjacency=adjacency) for name, run in peers.items()}
    for run in (functools.partial(ours, adjacency=adjacency, width=1e-2), *peers.values()):
        with contextlib.suppress(Exception):
            run((3.0, 0.5, 2, 1e-5))  # imports
    shown = Table(
        "noise", "rate", "steps", "delta", "epsilon", "s, MiB", "to 1e-6", *(f"{name}, s, MiB" for name in peers)
    )
    found: dict[float, list[tuple[float, Measured]]] = {width: [] for width in WIDTHS}
    theirs: dict[str, list[tuple[str, float, Measured]]] = {name: [] for name in peers}
    for case in chosen:
        row = [f"{value:g}" for value in case]
        for width in WIDTHS:
            own = measured(functools.partial(ours, case, adjacency, width))
            relative = math.inf
            if isinstance(own.value, Interval):
                epsilon = own.value
                relative = epsilon.width / epsilon.upper if 0.0 < epsilon.upper < math.inf else 0.0
                row += [f"[{epsilon.lower:.8g}, {epsilon.upper:.8g}]"] if width == WIDTHS[0] else []
                row.append(f"{relative:.1e}, {own.seconds:.3f}, {own.memory:.0f}")
            found[width].append((relative, own))
        for name, run in peers.items():
            other = measured(functools.partial(run, case))
            away = 0.0
            if not isinstance(other.value, float) or not math.isfinite(other.value):
                kind = "none"
            elif other.value < epsilon.lower:
                kind, away = "below", epsilon.lower - other.value
            elif other.value > epsilon.upper:
                kind, away = "above", other.value - epsilon.upper
            else:
                kind = "inside"
            theirs[name].append((kind, away, other))
            value = "none" if kind == "none" else f"{other.value:.8g} {kind} {away:.1e}"
            row.append(f"{value}, {other.seconds:.2f}, {other.memory:.0f}")
        shown.add_row(*row)
    console.print(shown)
    for (width, runs), limit in zip(found.items(), LIMITS, strict=True):
        narrow = sum(relative <= width for relative, _ in runs)
        in_time = sum(relative <= width and run.seconds <= limit for relative, run in runs)
        seconds, memory = (sorted(getattr(run, name) for _, run in runs) for name in ("seconds", "memory"))
        console.print(
            f"{len(runs)} intervals, {adjacency.value}: width at most {width:g} in {narrow}, in {limit:g} s as well in "
            f"{in_time}; CPU seconds {statistics.median(seconds):.3f} in the median, {seconds[-1]:.2f} at most; MiB "
            f"{statistics.median(memory):.0f} and {memory[-1]:.0f}."
        )
    for name, runs in theirs.items():
        kinds = {kind: [away for its, away, _ in runs if its == kind] for kind in ("below", "inside", "above", "none")}
        said = ", ".join(
            f"{len(away)} {kind}"
            + (f" (by {statistics.median(away):.1e}, at most {max(away):.1e})" if any(away) else "")
            for kind, away in kinds.items()
        )
        seconds, memory = (
            sorted(value for *_, run in runs if not math.isnan(value := getattr(run, name))) or [math.nan]
            for name in ("seconds", "memory")
        )
        console.print(
            f"{name} {installed(name)}: {said}; s {statistics.median(seconds):.2f}, {seconds[-1]:.1f}; MiB "
            f"{statistics.median(memory):.0f}, {memory[-1]:.0f}."
        )


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
    parser.add_argument("--adjacency", choices=["add-remove", "replace-one"], default="add-remove")
    parser.add_argument("--number", type=int, default=10_000, help="of checks")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.what == "checks":
        raise SystemExit(min(checks(asked.number, asked.seed), 1))
    table(FIGURES if asked.what == "figures" else cases(asked.every), Adjacency(asked.adjacency))
