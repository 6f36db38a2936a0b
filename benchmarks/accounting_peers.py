"""The other accountants, each as a function that composes from scratch and answers; all imports are lazy.

`dp-accounting`, `prv-accountant` and `PLD_accounting` are on PyPI; none of them is needed to run anything else here.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

PACKAGES = ("dp-accounting", "prv-accountant", "PLD_accounting")
PLD_ACCOUNTING_TAIL = 1e-20


class Peer(NamedTuple):
    """One way to ask one package: `run` composes afresh and returns its answers."""

    package: str
    setting: str
    run: Callable[[], Sequence[float]]


def installed(package: str) -> str:
    """Return the version of a package, or "not installed"."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def shifted_binomial(trials: int, p: float, count: int, delta: float) -> list[Peer]:
    """Return the peers' ways to the two-sided epsilon of Bin + 1 against Bin."""

    def log_masses() -> dict[int, float]:
        return {y: float(x) for y, x in enumerate(binom.logpmf(np.arange(trials + 1), trials, p))}

    def dp_accounting(step: float) -> list[float]:
        from dp_accounting.pld import privacy_loss_distribution as pld

        plain = log_masses()
        shifted = {y + 1: x for y, x in plain.items()}
        made = pld.from_two_probability_mass_functions(
            plain, shifted, value_discretization_interval=step, symmetric=False
        )
        return [made.self_compose(count).get_epsilon_for_delta(delta)]

    def dp_accounting_dots(step: float) -> list[float]:
        # Its function for the dots wants the profile at the grid points: here from the definition.
        from dp_accounting.pld import privacy_loss_distribution as pld
        from dp_accounting.pld.pld_pmf import create_pmf_pessimistic_connect_dots_fixed_gap as dots

        y = np.arange(trials + 2)
        plain, shifted = binom.pmf(y, trials, p), binom.pmf(y - 1, trials, p)
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = binom.logpmf(y - 1, trials, p) - binom.logpmf(y, trials, p)
        # Losses beyond these have mass below 1e-17: one infinite mass, as its own truncation would make it.
        kept = (shifted > 1e-20) & (plain > 1e-20)
        low, high = (round(end / step) for end in (losses[kept].min() - step, losses[kept].max() + step))
        grid = np.arange(low, high + 1) * step
        pmfs = []
        for first, second, sign in ((shifted, plain, 1), (plain, shifted, -1)):
            here = grid if sign > 0 else -grid[::-1]
            deltas = np.array([float(np.maximum(first - math.exp(e) * second, 0.0).sum()) for e in here])
            pmfs.append(
                dots(step, round(here[0] / step), round(here[-1] / step), np.maximum.accumulate(deltas[::-1])[::-1])
            )
        return [pld.PrivacyLossDistribution(*pmfs).self_compose(count).get_epsilon_for_delta(delta)]

    def pld_accounting(step: float) -> list[float]:
        from PLD_accounting import BoundType, DenseDiscreteDist, GridSpec, compose_full_pld, discrete_distribution
        from PLD_accounting.fft_convolution import fft_self_convolve

        masses = binom.pmf(np.arange(trials + 1), trials, p)
        noise = DenseDiscreteDist(grid=GridSpec(step=1.0, n=trials + 1), prob_arr=masses / masses.sum())
        sides = discrete_distribution(noise_dist=noise, loss_discretization=step, tail_truncation=PLD_ACCOUNTING_TAIL)
        remove, add = (
            fft_self_convolve(
                dist=side,
                num_convolutions=count,
                tail_truncation=PLD_ACCOUNTING_TAIL,
                bound_type=BoundType.DOMINATES,
                use_direct=True,
            )
            for side in sides
        )
        whole = compose_full_pld(remove_dist=remove, add_dist=add, bound_type=BoundType.DOMINATES)
        return [whole.get_epsilon_for_delta(delta)]

    return [
        Peer("dp-accounting", "default, 1e-4", lambda: dp_accounting(1e-4)),
        Peer("dp-accounting", "dots, 1e-4", lambda: dp_accounting_dots(1e-4)),
        Peer("PLD_accounting", "dots, 1e-4", lambda: pld_accounting(1e-4)),
        Peer("PLD_accounting", "dots, 1e-5", lambda: pld_accounting(1e-5)),
        Peer("prv-accountant", "no integer-valued noise in its API", _no_api),
    ]


def gaussian(sigma: float, count: int, epsilons: Sequence[float], step: float) -> list[Peer]:
    """Return the peers' ways to delta at several epsilons of the composed Gaussian mechanism."""

    def dp_accounting(interval: float) -> list[float]:
        from dp_accounting.pld import privacy_loss_distribution as pld

        made = pld.from_gaussian_mechanism(sigma, value_discretization_interval=interval).self_compose(count)
        return [float(made.get_delta_for_epsilon(e)) for e in epsilons]

    def prv(which: int) -> list[float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from prv_accountant import GaussianMechanism, PRVAccountant

            accountant = PRVAccountant(
                GaussianMechanism(sigma), max_self_compositions=count, eps_error=1e-2, delta_error=1e-15
            )
            return [float(accountant.compute_delta(e, [count])[which]) for e in epsilons]

    def pld_accounting() -> list[float]:
        from PLD_accounting import BoundType, compose_full_pld, gaussian_distribution
        from PLD_accounting.fft_convolution import fft_self_convolve

        one: Any = gaussian_distribution(scale=sigma, value_discretization=step, tail_truncation=PLD_ACCOUNTING_TAIL)
        composed = fft_self_convolve(
            dist=one,
            num_convolutions=count,
            tail_truncation=PLD_ACCOUNTING_TAIL,
            bound_type=BoundType.DOMINATES,
            use_direct=True,
        )
        whole = compose_full_pld(remove_dist=composed, add_dist=None, bound_type=BoundType.DOMINATES)
        return [float(whole.get_delta_for_epsilon(e)) for e in epsilons]

    return [
        Peer("dp-accounting", "default, 1e-4", lambda: dp_accounting(1e-4)),
        Peer("dp-accounting", f"step {step:g}", lambda: dp_accounting(step)),
        Peer("prv-accountant", "upper, eps_error .01", lambda: prv(2)),
        Peer("prv-accountant", "estimate", lambda: prv(1)),
        Peer("PLD_accounting", f"dots, {step:g}", pld_accounting),
    ]


def _no_api() -> list[float]:
    raise NotImplementedError("no API")
