"""Pairs of laws with a monotone likelihood ratio, known by the masses of bins.

At the ratio P1/P0 of a bin's first outcome every other bin lies wholly above or below, so that the divergence there is
a sum over bins: the profile is *known* at these points, and convex in e^eps in between. That bounds it from above.
Reporting only the bin is post-processing, which bounds it from below.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.rounding import UNIT
from protocols.classes.frozen import dataclass

__all__ = ["BinnedPairs"]

Floats = NDArray[np.float64]
_AT_ONCE = 32


@dataclass(frozen=True)
class BinnedPairs:
    """Pairs of laws, P1 against P0, whose likelihood ratio grows from bin to bin.

    - zero, zero_error (ndarray, shape (pairs, bins)): P0 of each bin, and a bound on its error.
    - gain, gain_error (ndarray, shape (pairs, bins)): P1 - P0 of each bin.
    - ratio, ratio_error (ndarray, shape (pairs, bins + 1)): P1/P0 - 1 at the first integer of each bin, and of what
      follows the last.
    - missing (ndarray, shape (pairs,)): Bounds on the mass outside all bins, under both laws.
    - largest_loss: The largest absolute privacy loss that any bin may hold, in nats.
    """

    zero: Floats
    zero_error: Floats
    gain: Floats
    gain_error: Floats
    ratio: Floats
    ratio_error: Floats
    missing: Floats
    largest_loss: float

    @classmethod
    def listed(cls, pairs: Sequence[Directions]) -> BinnedPairs:
        """Return pairs that are known outcome by outcome, every finite loss a bin, in the order of the losses.

        Both directions of each must list the same outcomes. A row is filled up on the right with empty bins.
        """
        bins = max(pair.up.losses.size for pair in pairs)

        def filled(rows: list[Floats], last: bool) -> Floats:
            found = np.zeros((len(rows), bins + last))
            for filling, row in zip(found, rows, strict=True):
                filling[: row.size] = row
                # After its last outcome a pair goes on as it ended.
                filling[row.size :] = row[-1] if last else 0.0
            return found

        zero, one = [pair.down.masses[::-1] for pair in pairs], [pair.up.masses for pair in pairs]
        if any((pair.down.losses[::-1] != -pair.up.losses).any() for pair in pairs):
            raise ValueError("both directions of a pair must list the same outcomes.")
        ratio = [np.expm1(pair.up.losses) for pair in pairs]
        errors = [max(pair.up.relative_error, pair.down.relative_error) for pair in pairs]
        return cls(
            zero=filled(zero, False),
            zero_error=filled([z * (e * 1.001) for z, e in zip(zero, errors, strict=True)], False),
            gain=filled([b - a for a, b in zip(zero, one, strict=True)], False),
            gain_error=filled([(a + b) * (1.001 * e + UNIT) for a, b, e in zip(zero, one, errors, strict=True)], False),
            ratio=filled(ratio, True),
            ratio_error=filled(
                [
                    (1.0 + r) * (1.001 * max(pair.up.loss_error, pair.down.loss_error) + 8.0 * UNIT)
                    for r, pair in zip(ratio, pairs, strict=True)
                ],
                True,
            ),
            missing=np.array([max(pair.up.missing_mass, pair.down.missing_mass) for pair in pairs]),
            largest_loss=max(pair.up.largest_loss + pair.up.loss_error for pair in pairs) * (1.0 + 8.0 * UNIT),
        )

    @classmethod
    def stacked(cls, parts: Iterable[BinnedPairs], size: int) -> BinnedPairs:
        """Return the pairs of all parts, which have the same bins, and of which there are `size`."""
        row, largest_loss = 0, 0.0
        stacks: dict[str, Floats] = {}
        for part in parts:
            count, largest_loss = part.missing.size, max(largest_loss, part.largest_loss)
            for each in fields(cls):
                if each.name != "largest_loss":
                    own = getattr(part, each.name)
                    stack = stacks.setdefault(each.name, np.empty((size, *own.shape[1:])))
                    stack[row : row + count] = own
            row += count
        return cls(**stacks, largest_loss=largest_loss)

    def merged(self, number: int) -> Directions:
        """Return one pair with every bin reported as one outcome: never above the truth, as that is post-processing."""
        occupied = self.zero[number] > 0.0
        zero, gain = self.zero[number][occupied], self.gain[number][occupied]
        one = zero + gain
        one_error = self.zero_error[number][occupied] + self.gain_error[number][occupied]
        relative = float(np.max(one_error / np.minimum(zero, one))) * (1.0 + 1e-6) + 4.0 * UNIT
        losses = np.log1p(gain / zero)
        errors = (self.gain_error[number][occupied] + np.abs(gain) * relative) / np.minimum(zero, one)
        common = {
            "relative_error": relative,
            "loss_error": float(np.max(errors * (1.0 + 1e-6) + 8.0 * UNIT * np.abs(losses))),
        }
        missing = float(self.missing[number])
        return Directions(
            PrivacyLossDistribution.from_atoms(losses, one, 0.0, missing, **common),
            PrivacyLossDistribution.from_atoms(-losses, zero, 0.0, missing, **common),
        )

    def excess(self, losses: Floats) -> Floats:
        """Bound the excess profile `H_eps(P1||P0) - max(1 - e^eps, 0)` from above, without missing mass.

        At the ratio of a bin's first integer every other bin lies wholly above or below, so that the divergence is a
        sum over bins; it is convex in e^eps, hence below the chords between these points. It is evaluated a little
        above the computed ratio for eps >= 0, where it falls, and below it for eps < 0, where the excess rises.

        - losses (ndarray, shape (points,)): Where, increasing, in nats.

        Returns: ndarray, shape (pairs, points).
        """
        found = np.empty((self.missing.size, losses.size))
        # Few pairs at a time: what is in between stays small.
        for row in range(0, self.missing.size, _AT_ONCE):
            rows = slice(row, row + _AT_ONCE)
            own = {each.name: getattr(self, each.name) for each in fields(self)}
            parts = {name: value if name == "largest_loss" else value[rows] for name, value in own.items()}
            found[rows] = BinnedPairs(**parts)._excess(losses)
        return found

    def _excess(self, losses: Floats) -> Floats:
        at, positive = np.expm1(losses), int(np.searchsorted(losses, 0.0))
        upper, lower = self.ratio + self.ratio_error, self.ratio - self.ratio_error
        # Only these knots have a say: on each side those beyond no loss, and the nearest before it.
        left, right = np.flatnonzero((upper <= 0.0).all(axis=0)), np.flatnonzero((lower >= 0.0).all(axis=0))
        if not left.size or not right.size:
            # Beside a user whose losses are next to nothing what is cut, or rounded, may be all there is.
            raise CapacityError("losses next to 0 are lost in what bins of them leave out.")
        begin, end = int(left[-1]), int(right[0])
        above, below = self._above(lower, begin), self._below(upper, end)
        falling = np.maximum.accumulate(upper[:, begin:], axis=1)
        rising = np.minimum.accumulate(lower[:, end::-1], axis=1)[:, ::-1]
        found = np.empty((self.missing.size, losses.size))
        for row in range(self.missing.size):
            found[row, :positive] = np.interp(at[:positive], rising[row], below[row])
            # Next to a knot a difference of numbers of the size of the value at the one before.
            before = np.searchsorted(falling[row], at[positive:], side="right") - 1
            found[row, positive:] = np.interp(at[positive:], falling[row], above[row])
            found[row, positive:] += 8.0 * UNIT * above[row][np.maximum(before, 0)]
        found *= 1.0 + 16.0 * UNIT
        return found

    def _above(self, ratio: Floats, begin: int) -> Floats:
        """Return `sum over bins b >= i of (P1 - P0)_b - ratio_i P0_b`, bounded from above, for the knots i >= begin."""
        terms = self._terms(ratio[:, begin:-1], slice(begin, None), 1.0)
        later = self._sums((self.zero[:, begin:] + self.zero_error[:, begin:])[:, ::-1])[:, ::-1]
        terms += self._grown(ratio[:, begin:], later[:, 1:])
        return self._sums(terms[:, ::-1])[:, ::-1]

    def _below(self, ratio: Floats, end: int) -> Floats:
        """Return `sum over bins b < i of ratio_i P0_b - (P1 - P0)_b`, bounded from above, for the knots i <= end."""
        terms = self._terms(ratio[:, 1 : end + 1], slice(None, end), -1.0)
        earlier = self._sums(self.zero[:, :end] + self.zero_error[:, :end])
        terms += self._grown(ratio[:, : end + 1], earlier[:, :-1])
        return self._sums(terms)

    def _terms(self, ratio: Floats, bins: slice, sign: float) -> Floats:
        """Return upper bounds on `sign ((P1 - P0)_b - ratio_b P0_b)`, or 0 if that is less."""
        gain, own = self.gain[:, bins], ratio * self.zero[:, bins]
        found = np.abs(gain)
        found += np.abs(own)
        found *= 4.0 * UNIT
        found += np.abs(ratio) * self.zero_error[:, bins]
        found += self.gain_error[:, bins]
        own -= gain
        own *= sign
        found -= own
        return np.maximum(found, 0.0, out=found)

    @staticmethod
    def _grown(ratio: Floats, masses: Floats) -> Floats:
        found = np.diff(ratio, axis=1)
        np.maximum(found, 0.0, out=found)
        found *= masses
        return found

    @staticmethod
    def _sums(terms: Floats) -> Floats:
        """Return 0 and the running sums, rounded upwards, shape (pairs, terms + 1)."""
        sums = np.zeros((terms.shape[0], terms.shape[1] + 1))
        np.cumsum(terms, axis=1, out=sums[:, 1:])
        sums *= 1.0 + (terms.shape[1] + 8.0) * UNIT
        return sums
