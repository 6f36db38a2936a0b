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

    Returns: In total variation, at most 1; that also where nothing is proved, as for k < 4 and many users.

    Let node 1 be in the root component. Colouring all others gives

        E q^(C-1) = sum_{j<n} c_n(j) E (q-1)^C(j),   c_n(j) = C(n-1, j) C(n, j) / C(kn, kj),

    j the size of the union of those with one of q - 1 colours. So T(n) = 1 + q sum_{j=1}^{n-1} c_n(j) T(j) is a bound;
    for many users that is at most `1 + q (n^2 / C(kn, k) + (10 q + 3 2^(k-2)) / (n (n-1))^(k-2))`.
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


def _excess(n: int, k: int, q: int) -> flint.arb | None:
    """Return an upper bound on E q^(C-1) - 1, or None where none is found."""
    if n > _LARGEST_GRAPH:
        if k < 4 or 2 * (n - 2) ** (k - 2) < 5 * q * 4 ** (k - 2):
            return None
        rest = flint.arb(10 * q + 3 * 2 ** (k - 2)) / flint.arb(n * (n - 1)) ** (k - 2)
        return q * (flint.arb(n * n) / _choose(k * n, k) + rest)
    grown, excess = [flint.arb(0)], flint.arb(0)
    for size in range(1, n + 1):
        excess = q * sum((_chance(size, j, k) * grown[j] for j in range(1, size)), flint.arb(0))
        grown.append(1 + excess)
    return excess  # not what is above 1 of a sum that it is lost in
