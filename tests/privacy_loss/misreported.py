"""Pairs listed as wrongly as their stated errors allow: what no charge may be missing for.

At the errors of real laws, 1e-13, a forgotten charge is hidden by whatever else a bound rounds outwards. Here each
error is a per cent: an interval must still hold the exact divergence of the pair that was misreported.
"""

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from tests.privacy_loss.exact import RationalPair

ROUNDING = 1e-14
"""What listing a pair in floats costs besides."""


@dataclass(frozen=True)
class Errors:
    """How wrong a listing says that it may be, and is.

    Parameters
    ----------
    relative : float
        Of every mass.
    shift : float
        Of every loss, in nats.
    missing : int or None
        The outcome that is not listed.
    """

    relative: float = 0.0
    shift: float = 0.0
    missing: int | None = None


ONE_ERROR = st.one_of(
    st.builds(Errors, relative=st.just(0.01)),
    st.builds(Errors, shift=st.just(0.02)),
    st.builds(Errors, missing=st.integers(0, 4)),
)
"""One kind at a time: the bounds are of first order in each, and products of two errors are no part of them."""


def listed(pair: RationalPair, errors: Errors, *, low: bool) -> PrivacyLossDistribution:
    """Return the distribution of (P, Q) with masses and losses too small (`low`), or too large, by the stated errors.

    A listing that is too large lists the missing outcome all the same.
    """
    scale = 1.0 / (1.0 + errors.relative) if low else 1.0 + errors.relative
    shift = -errors.shift if low else errors.shift
    losses, masses, infinite, missing = [], [], 0.0, 0.0
    for outcome, (p, q) in enumerate(zip(*pair, strict=True)):
        if outcome == errors.missing:
            missing = float(p)
            if low:
                continue
        if p > 0 and q > 0:
            losses.append(math.log(p / q) + shift)
            masses.append(float(p) * scale)
        elif p > 0:
            infinite += float(p) * scale
    return PrivacyLossDistribution.from_atoms(
        np.array(losses),
        np.array(masses),
        infinite,
        missing * (1.0 + ROUNDING),
        relative_error=errors.relative + ROUNDING,
        loss_error=errors.shift + ROUNDING,
    )
