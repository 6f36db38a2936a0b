"""How far is the view of shuffled shares from one that tells the sum alone? docs/sums.md has the proof.

Each of n users splits an element of a group of q elements into k shares. Let I(y) be uniform over all k n-tuples of sum
y, shuffled or not. For every fixed input u of sum y the shuffled shares have a distance from I(y) of at most

    1/2 sqrt(E q^(C-1) - 1),

C the number of components of a random bipartite graph: n nodes of degree k on either side, joined by a uniform matching
of the half-edges. Its exact value, and a bound for many users by the same sum, are here.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import flint

from dpverify.formulas.contexts import arb_context, upper_float

__all__ = ["exact_components", "split_distance"]

_LARGEST_GRAPH = 256
"""Up to so many nodes on a side sums go over all of them."""


def exact_components(users: int, shares: int, modulus: int) -> Fraction:
    """Return E q^C exactly: `n!^2 / (kn)! [x^n] (sum_m (km)! / m!^2 x^m)^q`; for small cases.

    Each component is coloured with one of q colours: of the m_c nodes of colour c on either side, all half-edges are
    joined among themselves, in (k m_c)! ways.
    """
    k, n = shares, users
    one = [Fraction(math.factorial(k * m), math.factorial(m) ** 2) for m in range(n + 1)]
    power = [Fraction(1), *[Fraction(0)] * n]
    for _ in range(modulus):
        power = [sum((power[i] * one[j - i] for i in range(j + 1)), Fraction(0)) for j in range(n + 1)]
    return power[n] * math.factorial(n) ** 2 / math.factorial(k * n)


@functools.lru_cache(maxsize=256)
def split_distance(users: int, shares: int, modulus: int, enough: float = 0.0) -> float:
    """Return an upper bound on the distance, from the sum alone, of the view of any users' shuffled shares.

    - users, shares, modulus: n, k and q, at least 1.
    - enough: If the distance is proved to be no better than this, it is not looked for: the answer is then 1.

    Returns: In total variation, at most 1; that also where nothing is proved, as for k < 3 and many users.

    Let node 1 be in the root component. Colouring all others gives

        E q^(C-1) = sum_{j<n} c_n(j) E (q-1)^C(j),   c_n(j) = C(n-1, j) C(n, j) / C(kn, kj),

    j the size of the union of those with one of q - 1 colours. So G(n) = q (1 + sum_{j=1}^{n-1} c_n(j) G(j)), G(0) = 1,
    bounds E q^C(n). Beyond J nodes G(j) <= 2 q, by induction: as `C(kn, kj) >= C(n, j)^k`, c_n(j) is at most
    `(1 - j/n) C(n, j)^(2-k)`, which for k >= 3 falls with n for fixed j, and for fixed n - j.
    """
    n, k, q = users, shares, modulus
    if q == 1 or n == 1:
        return 0.0
    if k < 2:
        return 1.0
    with arb_context(96):
        # The first of the terms alone says when k is hopeless.
        first = _chance(n, 1, k) * (q - 1)
        if enough > 0.0 and first / 4 > flint.arb(enough) ** 2:
            return 1.0
        excess = _excess(n, k, q)
        return 1.0 if excess is None else min(1.0, upper_float(excess.sqrt() / 2))


def _choose(n: int, j: int) -> flint.arb:
    return flint.arb.bin_uiui(n, min(j, n - j))


def _chance(n: int, j: int, k: int) -> flint.arb:
    """Return c_n(j)."""
    return _choose(n - 1, j) * _choose(n, j) / _choose(k * n, k * j)


def _falling(n: int, j: int, k: int) -> flint.arb:
    """Return the bound on c_n(j) that falls with n for fixed j, and for fixed n - j."""
    return _choose(n, j) ** (2 - k) * (n - j) / n


def _excess(n: int, k: int, q: int) -> flint.arb | None:
    """Return an upper bound on E q^(C-1) - 1, or None where none is found."""
    grown = [flint.arb(1)]
    if n > _LARGEST_GRAPH and (k < 3 or 2 * q > (_LARGEST_GRAPH + 2) ** (k - 2)):
        return None  # the first of the terms alone is too large for the induction, wherever it starts
    for size in range(1, min(n, _LARGEST_GRAPH) + 1):
        excess = sum((_chance(size, j, k) * grown[j] for j in range(1, size)), flint.arb(0))
        if size == n:
            return excess
        grown.append(q * (1 + excess))
        if k > 2 and size % 4 == 0 and _twice_at_most(grown, k, q):
            few = sum((_chance(n, j, k) * grown[j] for j in range(1, size + 1)), flint.arb(0))
            many = sum((_chance(n, n - s, k) for s in range(1, min(size, n - size - 1) + 1)), flint.arb(0))
            return few + 2 * q * (many + _between(n, size, k))
    return None


def _between(n: int, size: int, k: int) -> flint.arb:
    """Return a bound on the sum of c_n(j) over those j that are above J, as n - j is; it falls with n."""
    return n * _choose(n, size + 1) ** (2 - k) if n >= 2 * size + 2 else flint.arb(0)


def _twice_at_most(grown: list[flint.arb], k: int, q: int) -> bool:
    """Return whether G(j) <= 2 q for all j above the last that is known: each sum is largest where it is taken."""
    size = len(grown) - 1
    few = sum((_falling(size + 1, j, k) * grown[j] for j in range(1, size + 1)), flint.arb(0))
    many = sum((_falling(size + 2, size + 2 - s, k) for s in range(1, size + 1)), flint.arb(0))
    return bool(few + 2 * q * (many + _between(2 * size + 2, size, k)) <= 1)
