"""Four accounting jobs, side by side with dp-accounting, prv-accountant and PLD_accounting where they are installed.

1. Bin(30000, .2) + 1 against Bin(30000, .2), 768-fold, both directions: epsilon at 1e-6. The reference is computed here
   without any grid of losses, from the Bromwich integral `delta = 1/(2 pi i) int exp(k K(s) - s eps) / (s (s+1)) ds`
   along Re s = 11 (K is the log moment generating function of one loss under P): 1.766570863, and 1.764799644 for the
   milder direction. The 1.76658 that is sometimes quoted is connect-the-dots at a step of 1e-4: 5e-6 too large.
2. Gaussian noise, sigma = 70, 768-fold: delta where it is truly 1e-6 ... 1e-30 (closed form, 60 digits). Figures are
   ratios to the truth: a bound below 1 is wrong.
3. Randomized response with 10^9 users: pair and 768-fold composition, both directions, in a fresh process.
4. Cost against the number of instances k, 1 ... 10^6, as `accounting-cost.png`.

Times are medians of three, as ratios of ours. Run with OMP_NUM_THREADS=1:

    OMP_NUM_THREADS=1 python -m benchmarks.accounting --output out
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.accounting_peers import PACKAGES, Peer, gaussian, installed, shifted_binomial
from benchmarks.accounting_reference import bromwich, gaussian_truth
from dpverify.guarantee import Interval
from dpverify.laws import noise as laws
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import binomial_randomized_response
from dpverify.privacy_loss.windows.gaussian import GaussianPrivacyLoss
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.step import choose_step
from dpverify.privacy_loss.windows.transform import Composition

T = TypeVar("T")
TRIALS, P, INSTANCES, DELTA = 30_000, 0.2, 768, 1e-6
SIGMA, STEP = 70.0, 2e-5
GAUSSIAN_DELTAS = ("1e-6", "1e-9", "1e-11", "1e-13", "1e-15", "1e-20", "1e-30")
console = Console(highlight=False, width=120)


def timed(run: Callable[[], T], repeats: int) -> tuple[T, float]:
    """Return a function's value and the median of its times in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        value = run()
        times.append(time.perf_counter() - start)
    return value, statistics.median(times)


def ask(peer: Peer, repeats: int) -> tuple[Sequence[float] | None, str | float]:
    """Return a peer's answers and time, or None and the reason."""
    if installed(peer.package) == "not installed":
        return None, "not installed"
    try:
        with np.errstate(all="ignore"):
            return timed(peer.run, repeats)
    except Exception as error:  # whatever a peer raises is its result
        return None, str(error).split("\n")[0][:60] or type(error).__name__


def ratio(value: float) -> str:
    """Write a ratio; near 1 by its distance from it, for what matters is the side."""
    return f"1{value - 1.0:+.0e}" if abs(value - 1.0) < 0.05 else f"{value:.3g}"


def table(title: str, *columns: str) -> Table:
    made = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        made.add_column(column, justify="left" if index < 2 else "right")
    return made


# ---------------------------------------------------------------------- 1. shifted binomial


def shifted_pair(trials: int, p: float) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution]:
    """Return Bin + 1 against Bin, both directions, with closed losses."""
    law = laws.binomial(trials, p)
    y = law.support[:-1]
    log_ratio = np.log((trials - y) / (y + 1.0) * (p / (1.0 - p)))
    edges = float(law.pmf[0] + law.pmf[-1]) * 2.0 + law.tail_below + law.tail_above
    error = 2.0**-49 * (1.0 + float(np.abs(log_ratio).max()))
    return tuple(  # type: ignore[return-value]
        PrivacyLossDistribution.from_atoms(
            losses, masses, 0.0, edges, relative_error=law.relative_error, loss_error=error
        )
        for losses, masses in ((-log_ratio, law.pmf[:-1]), (log_ratio, law.pmf[1:]))
    )


def binomial_job(repeats: int) -> None:
    def ours(relative_width: float = 1e-6) -> Interval:
        sides = []
        for pair in shifted_pair(TRIALS, P):
            step = choose_step(pair, INSTANCES, relative_width=relative_width, reference_delta=DELTA)
            sides.append(Composition([(connect_the_dots(pair, step), INSTANCES)]).epsilon(DELTA))
        return Interval(max(side.lower for side in sides), max(side.upper for side in sides))

    up, down = bromwich(TRIALS, P, INSTANCES, DELTA)
    truth = max(up, down)
    interval, seconds = timed(ours, repeats)
    shown = table(
        f"1. Bin + 1 against Bin: epsilon at 1e-6; reference {up:.9f} (up), {down:.9f} (down)",
        "accountant", "setting", "epsilon", "relative error", "time / ours",
    )  # fmt: skip
    inside = "contains it" if truth in interval else "MISSES IT"
    shown.add_row(
        "dpverify", f"{seconds:.3f} s", f"[{interval.lower:.9f}, {interval.upper:.9f}]",
        f"width {interval.width / truth:.1e}, {inside}", "1",
    )  # fmt: skip
    near, near_seconds = timed(lambda: ours(1e-7), repeats)
    shown.add_row(
        "dpverify", "relative width 1e-7", f"[{near.lower:.9f}, {near.upper:.9f}]",
        f"width {near.width / truth:.1e}, {'contains it' if truth in near else 'MISSES IT'}; upper end "
        f"{near.upper / truth - 1.0:+.1e}", f"{near_seconds / seconds:.1f}",
    )  # fmt: skip
    for peer in shifted_binomial(TRIALS, P, INSTANCES, DELTA):
        answer, took = ask(peer, repeats)
        if answer is None:
            shown.add_row(peer.package, peer.setting, "-", "-", str(took))
        else:
            shown.add_row(
                peer.package, peer.setting, f"{answer[0]:.9f}", f"{answer[0] / truth - 1.0:+.1e}",
                f"{float(took) / seconds:.1f}",
            )  # fmt: skip
    console.print(shown)


# ---------------------------------------------------------------------- 2. Gaussian


def gaussian_job(repeats: int) -> None:
    truths = gaussian_truth(SIGMA, INSTANCES, GAUSSIAN_DELTAS)
    epsilons = [epsilon for epsilon, _ in truths]

    def ours() -> list[Interval]:
        composed = Composition([(GaussianPrivacyLoss(1.0 / SIGMA).on_grid(STEP), INSTANCES)])
        return [composed.delta(epsilon) for epsilon in epsilons]

    intervals, seconds = timed(ours, repeats)
    shown = table(
        "2. Gaussian, sigma = 70, 768-fold: delta / truth", "accountant", "setting", *GAUSSIAN_DELTAS, "time / ours"
    )
    for label, ends in (("lower", [i.lower for i in intervals]), ("upper", [i.upper for i in intervals])):
        ratios = [ratio(float(end / exact)) for end, (_, exact) in zip(ends, truths, strict=True)]
        shown.add_row("dpverify", label, *ratios, f"1 ({seconds:.2f} s)" if label == "lower" else "")
    for peer in gaussian(SIGMA, INSTANCES, epsilons, STEP):
        answers, took = ask(peer, repeats)
        if answers is None:
            shown.add_row(peer.package, peer.setting, *["-"] * len(truths), str(took))
        else:
            ratios = [ratio(float(answer / exact)) for answer, (_, exact) in zip(answers, truths, strict=True)]
            shown.add_row(peer.package, peer.setting, *ratios, f"{float(took) / seconds:.1f}")
    console.print(shown)


# ---------------------------------------------------------------------- 3. a billion users


def resident(field: str) -> float:
    """Return VmRSS (now) or VmHWM (peak) of this process in MB; nan where the system has no /proc.

    `ru_maxrss` would not do: a child starts with the peak of the process that forked it.
    """
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
    return next((float(line.split()[1]) / 1024.0 for line in lines if line.startswith(field)), math.nan)


def billion_users() -> dict[str, float]:
    """Return seconds and the growth of the resident memory in MB; run in a process of its own."""
    before, start = resident("VmRSS"), time.perf_counter()
    upper = 0.0
    for pair in binomial_randomized_response(10**9, 0.1):
        step = choose_step(pair, INSTANCES, relative_width=1e-5, reference_delta=DELTA)
        upper = max(upper, Composition([(connect_the_dots(pair, step), INSTANCES)]).epsilon(DELTA).upper)
    return {"seconds": time.perf_counter() - start, "megabytes": resident("VmHWM") - before, "epsilon": upper}


def billion_job(repeats: int) -> None:
    runs = []
    for _ in range(repeats):
        command = [sys.executable, "-m", "benchmarks.accounting", "--child"]
        runs.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    shown = table(
        "3. Randomized response, 10^9 users, p = 0.1, 768-fold, both directions", "", "", "seconds", "MB", "epsilon"
    )
    medians = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    shown.add_row(
        "dpverify", "increment over imports",
        f"{medians['seconds']:.2f}", f"{medians['megabytes']:.0f}", f"{medians['epsilon']:.6g}",
    )  # fmt: skip
    console.print(shown)


# ---------------------------------------------------------------------- 4. cost against k


def cost_job(counts: Sequence[int], repeats: int, figure: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    pair = binomial_randomized_response(TRIALS, 0.1).up

    def compose(count: int) -> tuple[Composition, Interval]:
        step = choose_step(pair, count, relative_width=1e-5, reference_delta=DELTA)
        composed = Composition([(connect_the_dots(pair, step), count)])
        return composed, composed.epsilon(DELTA)

    shown = table(
        "4. Cost against k: randomized response, 30,000 users, p = 0.1, relative width 1e-5",
        "k", "epsilon", "width", "step", "grid cells", "seconds", "MB",
    )  # fmt: skip
    rows = []
    for count in counts:
        (composed, interval), seconds = timed(lambda count=count: compose(count), repeats)  # type: ignore[misc]
        tracemalloc.start()
        compose(count)
        megabytes = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        cells = max(law.scaled.size for law in composed._tilted)
        rows.append((count, cells, seconds, megabytes))
        shown.add_row(
            str(count), f"{interval.upper:.6g}", f"{interval.width / interval.upper:.1e}", f"{composed.step:.1e}",
            str(cells), f"{seconds:.3f}", f"{megabytes:.1f}",
        )  # fmt: skip
    console.print(shown)
    k, cells, seconds, megabytes = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    drawn, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained")
    titles = ("grid length, cells", "time, s", "peak memory, MB")
    for axis, title, values in zip(axes, titles, (cells, seconds, megabytes), strict=True):
        axis.loglog(k, values, "o-", color="C0", label="measured")
        axis.set(title=title, xlabel="instances k")
        axis.grid(alpha=0.3)
    # The guide passes through the cell count of the first k > 1, so that it can be judged by its slope.
    guide = np.sqrt(k) * np.log(np.maximum(k, 2.0))
    axes[0].loglog(k, guide * cells[1] / guide[1], "--", color="0.4", label=r"$\propto \sqrt{k}\,\log k$")
    axes[0].legend(frameon=False)
    drawn.savefig(figure, dpi=150)
    console.print(f"Figure: {figure}", markup=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(), help="folder for the figure")
    parser.add_argument("--quick", action="store_true", help="each time once, and k up to 1000")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(billion_users()))
        return
    arguments.output.mkdir(parents=True, exist_ok=True)
    repeats = 1 if arguments.quick else 3
    console.print("; ".join(f"{package} {installed(package)}" for package in PACKAGES))
    binomial_job(repeats)
    gaussian_job(repeats)
    billion_job(repeats)
    counts = [10**power for power in range(4 if arguments.quick else 7)]
    cost_job(counts, repeats, arguments.output / "accounting-cost.png")


if __name__ == "__main__":
    main()
