"""Laws on the integers as finite windows of float probabilities, with proved accuracy.

Differences of `lgamma` lose seven digits at n = 10^9. Here one atom in `_BLOCK` is an *anchor*, evaluated in Arb, and
the atoms up to the next anchor follow from the ratios f(k+1)/f(k): a product of few factors, each with few roundings,
so that the relative error is bounded by counting them. The window is found by bisection on Arb bounds of the tails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from dpverify.formulas.contexts import upper_float
from dpverify.guarantee import CapacityError
from dpverify.rounding import UNIT
from dpverify.search import galloped, least_integer
from protocols.validation import check_integer, check_probability, check_real

__all__ = [
    "DEFAULT_MAX_ATOMS",
    "DEFAULT_TAIL",
    "SMALLEST_TAIL",
    "IntegerLaw",
    "binomial",
    "discrete_gaussian",
    "discrete_laplace",
    "negative_binomial",
    "poisson",
]

DEFAULT_TAIL = 1e-60
"""The default of the largest mass that may be cut off at each side."""
DEFAULT_MAX_ATOMS = 2**24
"""The default of the most atoms a window may have (128 MiB of float64)."""
SMALLEST_TAIL = 1e-290
"""The smallest tail that can be asked for: the atoms next to a smaller one would be out of the range of floats."""

_BITS = 128
_BLOCK = 128
_EXACT = 2**53
_SMALLEST_ATOM = 1e-300


@dataclass(frozen=True)
class IntegerLaw:
    """A probability law on the integers: its atoms in a window, and bounds for what lies outside.

    Parameters
    ----------
    start : int
        The first integer of the window.
    pmf : ndarray of float64, shape (atoms,)
        P(X = start), P(X = start + 1), ...; each at least 1e-300, read-only.
    relative_error : float
        Proved: `|pmf / true pmf - 1| <= relative_error` for every entry.
    tail_below, tail_above : float
        Proved upper bounds on P(X < start) and on P(X >= stop); exactly 0 where the support ends there.
    """

    start: int
    pmf: NDArray[np.float64]
    relative_error: float
    tail_below: float
    tail_above: float

    def __post_init__(self) -> None:
        self.pmf.flags.writeable = False

    @property
    def stop(self) -> int:
        """The first integer above the window."""
        return self.start + self.pmf.size

    def mirrored(self, around: int = 0) -> IntegerLaw:
        """Return the law of `around - X`, exactly.

        Bin(n, 1-p) is Bin(n, p) mirrored around n: 1 - p rounded to a float would be another law, its small probability
        off by a unit of 1 and not of p.
        """
        return IntegerLaw(
            around - self.stop + 1, self.pmf[::-1].copy(), self.relative_error, self.tail_above, self.tail_below
        )

    @property
    def support(self) -> NDArray[np.int64]:
        """The integers of the window, shape (atoms,); all below 2^53 in absolute value, so exact as floats too."""
        return np.arange(self.start, self.stop, dtype=np.int64)


@dataclass(frozen=True)
class _UnimodalPmf:
    """A pmf f on {0, ..., highest} that rises up to about `mode` and falls from there.

    Parameters
    ----------
    log_pmf, ratio : callable
        ln f(k) and f(k+1)/f(k) in Arb, for an exact integer k.
    blocks_of_ratios : callable
        (first, offsets) -> f(k+1)/f(k) in floats at k = first[:, None] + offsets, shape (blocks, offsets).
    roundings : int
        How many relative errors of 2^-53 such a float ratio has suffered at most.
    largest_ratio_above : callable
        A bound in Arb on f(j+1)/f(j) over all j >= k; below the mode the pmf must be log-concave.
    """

    log_pmf: Callable[[arb], arb]
    ratio: Callable[[arb], arb]
    blocks_of_ratios: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
    roundings: int
    largest_ratio_above: Callable[[arb], arb]
    mode: int
    highest: int | None = None

    def mass_from(self, k: int) -> arb:
        """Bound P(X >= k) by the geometric series f(k) (1 + q + q^2 + ...)."""
        if self.highest is not None and k > self.highest:
            return arb(0)
        return _geometric(self.log_pmf(arb(k)), self.largest_ratio_above(arb(k)))

    def mass_below(self, k: int) -> arb:
        """Bound P(X < k), the same way."""
        if k <= 0:
            return arb(0)
        backwards = arb(0) if k == 1 else 1 / self.ratio(arb(k - 2))
        return _geometric(self.log_pmf(arb(k - 1)), backwards)


def _geometric(log_first: arb, ratio: arb) -> arb:
    return log_first.exp() / (1 - ratio) if ratio < 1 else arb(math.inf)


def _smallest(holds: Callable[[int], bool]) -> int:
    """Return the smallest d >= 0 with `holds(d)`, which must be monotone and true in the end."""
    bracket = galloped(holds, -1, 0, grow=lambda d: 2 * d + 1)
    assert bracket is not None
    return least_integer(holds, *bracket)


def _check_window(name: str, atoms: int, stop: int, max_atoms: int, tail: float) -> None:
    if atoms > max_atoms:
        raise CapacityError(
            f"{name} needs {atoms} atoms at tail={tail!r}, but at most {max_atoms} are computed; "
            f"pass max_atoms >= {atoms} or a larger tail."
        )
    if stop > _EXACT:
        raise CapacityError(f"{name} reaches the integer {stop}, but only integers in [0, 2^53] are exact as floats.")


def _anchored(f: _UnimodalPmf, start: int, stop: int) -> tuple[NDArray[np.float64], float]:
    """Return f on [start, stop) and a bound on its relative error."""
    atoms = stop - start
    block = min(_BLOCK, atoms)
    first = np.arange(start, stop, block, dtype=np.float64)
    table = np.empty((first.size, block))
    anchor_error = arb(0)
    for row, k in enumerate(range(start, stop, block)):
        exact = f.log_pmf(arb(k)).exp()
        table[row, 0] = nearest = float(exact)
        anchor_error = anchor_error.max(abs(arb(nearest) / exact - 1).upper())
    # Column j holds f(k)/f(k-1) at k = first + j before the running product, f(k) after it. Only padding behind `stop`
    # can underflow: in the window every partial product is a pmf value of at least 1e-300.
    table[:, 1:] = f.blocks_of_ratios(first, np.arange(block - 1, dtype=np.float64))
    np.multiply.accumulate(table, axis=1, out=table)
    errors = (f.roundings + 1) * (block - 1) * arb(UNIT)
    relative_error = (1 + anchor_error) * (1 + errors / (1 - errors)) - 1
    return table.reshape(-1)[:atoms].copy(), upper_float(relative_error)


def _window(name: str, f: _UnimodalPmf, tail: float, max_atoms: int, *, mirrored: bool = False) -> IntegerLaw:
    """Return the smallest window of f, or of its even extension, whose tails are proved to be at most `tail`."""
    check_real("tail", tail, low=SMALLEST_TAIL, high=0.5)
    check_integer("max_atoms", max_atoms, low=1)
    stop = f.mode + 1 + _smallest(lambda d: bool(f.mass_from(f.mode + 1 + d) <= tail))
    start = 0 if mirrored else max(0, f.mode - _smallest(lambda d: bool(f.mass_below(f.mode - d) <= tail)))
    _check_window(name, 2 * stop - 1 if mirrored else stop - start, stop, max_atoms, tail)
    pmf, relative_error = _anchored(f, start, stop)
    if min(pmf[0], pmf[-1]) < _SMALLEST_ATOM:
        raise CapacityError(f"tail={tail!r} reaches atoms below {_SMALLEST_ATOM:g} in {name}; pass a larger tail.")
    above = upper_float(f.mass_from(stop))
    if mirrored:
        return IntegerLaw(1 - stop, np.concatenate((pmf[:0:-1], pmf)), relative_error, above, above)
    return IntegerLaw(start, pmf, relative_error, upper_float(f.mass_below(start)), above)


def _point_mass(at: int) -> IntegerLaw:
    return IntegerLaw(at, np.ones(1), 0.0, 0.0, 0.0)


def binomial(trials: int, p: float, tail: float = DEFAULT_TAIL, *, max_atoms: int = DEFAULT_MAX_ATOMS) -> IntegerLaw:
    """Return Bin(trials, p), pmf `C(n, k) p^k (1-p)^(n-k)`.

    Parameters
    ----------
    trials : int
        n in [0, 2^53).
    p : float
        In [0, 1]; the law is that of the float's binary value.
    tail : float
        The most mass that each cut-off tail may have, in [1e-290, 0.5].
    max_atoms : int
        The largest window to build.

    Raises
    ------
    ValueError
        If an argument is out of range or the window would need more than `max_atoms` atoms.
    """
    n = check_integer("trials", trials, low=0, high=_EXACT - 1)
    p = check_probability("p", p)
    if p in (0.0, 1.0) or n == 0:
        return _point_mass(n if p == 1.0 else 0)

    def ratio(k: Any, odds: Any) -> Any:
        return (n - k) / (k + 1) * odds

    with ctx.workprec(_BITS):
        log_p, log_q, log_factorial = arb(p).log(), (1 - arb(p)).log(), arb(n + 1).lgamma()
        odds = arb(p) / (1 - arb(p))
        f = _UnimodalPmf(
            log_pmf=lambda k: log_factorial - (k + 1).lgamma() - (n + 1 - k).lgamma() + k * log_p + (n - k) * log_q,
            ratio=lambda k: ratio(k, odds),
            blocks_of_ratios=lambda first, offsets: ratio(first[:, None] + offsets, float(odds)),
            roundings=4,  # the quotient, the product, and two for the odds
            largest_ratio_above=lambda k: ratio(k, odds),
            mode=min(n, int((n + 1) * p)),
            highest=n,
        )
        return _window(f"binomial(trials={n}, p={p!r})", f, tail, max_atoms)


def negative_binomial(
    shape: float, p: float, tail: float = DEFAULT_TAIL, *, max_atoms: int = DEFAULT_MAX_ATOMS
) -> IntegerLaw:
    """Return NB(shape, p), pmf `C(z+r-1, z) (1-p)^r p^z` on z >= 0 (the convention of ghazi2021 and wagner2025).

    Parameters
    ----------
    shape : float
        r in (0, 2^53]; 1 gives the geometric law.
    p : float
        In [0, 1); scipy and numpy call 1-p what is called p here.
    tail : float
        The most mass that the cut-off tails may have each, in [1e-290, 0.5].
    max_atoms : int
        The largest window to build.

    Raises
    ------
    ValueError
        If an argument is out of range or the window would need more than `max_atoms` atoms.
    """
    r = check_real("shape", shape, low=0.0, high=_EXACT, low_open=True)
    p = check_probability("p", p, high_open=True)
    if p == 0.0:
        return _point_mass(0)

    def ratio(z: Any) -> Any:
        return (z + r) / (z + 1) * p

    with ctx.workprec(_BITS):
        log_p, log_zero = arb(p).log(), r * (1 - arb(p)).log() - arb(r).lgamma()
        f = _UnimodalPmf(
            log_pmf=lambda z: log_zero + (z + r).lgamma() - (z + 1).lgamma() + z * log_p,
            ratio=ratio,
            blocks_of_ratios=lambda first, offsets: ratio(first[:, None] + offsets),
            roundings=3,  # the sum z + r, the quotient, the product
            # The ratio falls to p for r > 1 and rises to p for r < 1.
            largest_ratio_above=lambda z: ratio(z) if r >= 1.0 else arb(p),
            mode=int(max(r - 1.0, 0.0) * (p / (1.0 - p))),
        )
        return _window(f"negative_binomial(shape={r!r}, p={p!r})", f, tail, max_atoms)


def poisson(mean: float, tail: float = DEFAULT_TAIL, *, max_atoms: int = DEFAULT_MAX_ATOMS) -> IntegerLaw:
    """Return Poisson(mean), pmf `e^-mean mean^k / k!`.

    Parameters
    ----------
    mean : float
        In [0, 2^52].
    tail : float
        The most mass that the cut-off tails may have each, in [1e-290, 0.5].
    max_atoms : int
        The largest window to build.

    Raises
    ------
    ValueError
        If an argument is out of range or the window would need more than `max_atoms` atoms.
    """
    mean = check_real("mean", mean, low=0.0, high=_EXACT / 2)
    if mean == 0.0:
        return _point_mass(0)
    with ctx.workprec(_BITS):
        log_mean = arb(mean).log()
        f = _UnimodalPmf(
            log_pmf=lambda k: k * log_mean - mean - (k + 1).lgamma(),
            ratio=lambda k: mean / (k + 1),
            blocks_of_ratios=lambda first, offsets: mean / (first[:, None] + offsets + 1),
            roundings=1,
            largest_ratio_above=lambda k: mean / (k + 1),
            mode=int(mean),
        )
        return _window(f"poisson(mean={mean!r})", f, tail, max_atoms)


def discrete_laplace(epsilon: float, tail: float = DEFAULT_TAIL, *, max_atoms: int = DEFAULT_MAX_ATOMS) -> IntegerLaw:
    """Return the discrete Laplace law, pmf `tanh(epsilon/2) e^(-epsilon |z|)` on all integers.

    Parameters
    ----------
    epsilon : float
        In [2^-53, 2^53]: the privacy loss that it gives to a sum of sensitivity 1.
    tail : float
        The most mass that the cut-off tails may have each, in [1e-290, 0.5].
    max_atoms : int
        The largest window to build.

    Raises
    ------
    ValueError
        If an argument is out of range or the window would need more than `max_atoms` atoms.
    """
    epsilon = check_real("epsilon", epsilon, low=1 / _EXACT, high=_EXACT)
    with ctx.workprec(_BITS):
        decay, log_zero = (-arb(epsilon)).exp(), (arb(epsilon) / 2).tanh().log()
        f = _UnimodalPmf(
            log_pmf=lambda z: log_zero - epsilon * z,
            ratio=lambda z: decay,
            blocks_of_ratios=lambda first, offsets: np.full((first.size, offsets.size), float(decay)),
            roundings=2,
            largest_ratio_above=lambda z: decay,
            mode=0,
        )
        return _window(f"discrete_laplace(epsilon={epsilon!r})", f, tail, max_atoms, mirrored=True)


def _theta(t: arb) -> arb:
    """Return `sum over all integers z of e^(-pi t z^2)` = t^(-1/2) theta(1/t), by the side that converges fast."""
    if t < 1:
        return (1 / t).sqrt() * _theta(1 / t)
    terms = math.isqrt(ctx.prec) + 1
    q = (-arb.pi() * t).exp()
    series = sum((q ** (z * z) for z in range(1, terms + 1)), arb(0))
    rest = q ** ((terms + 1) ** 2) / (1 - q)
    return 1 + 2 * series + (2 * rest).union(arb(0))


def discrete_gaussian(sigma: float, tail: float = DEFAULT_TAIL, *, max_atoms: int = DEFAULT_MAX_ATOMS) -> IntegerLaw:
    """Return the discrete Gaussian law, pmf proportional to `e^(-z^2 / (2 sigma^2))` on all integers.

    Parameters
    ----------
    sigma : float
        In [2^-26, 2^26]; the standard deviation unless sigma is small.
    tail : float
        The most mass that the cut-off tails may have each, in [1e-290, 0.5].
    max_atoms : int
        The largest window to build.

    Raises
    ------
    ValueError
        If an argument is out of range or the window would need more than `max_atoms` atoms.
    """
    sigma = check_real("sigma", sigma, low=2.0**-26, high=2.0**26)
    with ctx.workprec(_BITS):
        half_rate = 1 / (2 * arb(sigma) ** 2)
        log_zero = -_theta(half_rate / arb.pi()).log()

        def ratio(z: arb) -> arb:
            return (-(2 * z + 1) * half_rate).exp()

        def blocks_of_ratios(first: NDArray[np.float64], offsets: NDArray[np.float64]) -> NDArray[np.float64]:
            at_first = np.array([float(ratio(arb(z))) for z in first])
            decay = np.array([float((-2 * arb(j) * half_rate).exp()) for j in offsets])
            return np.asarray(np.outer(at_first, decay))

        f = _UnimodalPmf(
            log_pmf=lambda z: log_zero - z * z * half_rate,
            ratio=ratio,
            blocks_of_ratios=blocks_of_ratios,
            roundings=5,  # two for each exponential, one for their product
            largest_ratio_above=ratio,
            mode=0,
        )
        return _window(f"discrete_gaussian(sigma={sigma!r})", f, tail, max_atoms, mirrored=True)
