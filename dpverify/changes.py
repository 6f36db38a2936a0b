"""What replacing one user's input may change, over all her bits."""

from __future__ import annotations

from dataclasses import dataclass

from protocols.validation import check_integer, check_real

__all__ = ["L2Bounded"]


@dataclass(frozen=True)
class L2Bounded:
    """The probabilities that her bits are 1 move by t_j each, with `sum_j t_j^2 <= squared_change`.

    That is what replacing one point of bounded norm does to the randomly rounded features of it; see
    `docs/joint_changes.md`.

    Parameters
    ----------
    squared_change : float
        T^2, in (0, coordinates]: no t_j exceeds 1.
    coordinates : int
        m, the number of bits, at least 1.

    Raises
    ------
    ValueError
        If `squared_change` or `coordinates` is out of range.
    """

    squared_change: float
    coordinates: int

    def __post_init__(self) -> None:
        check_integer("coordinates", self.coordinates, low=1)
        check_real("squared_change", self.squared_change, low=0.0, high=float(self.coordinates), low_open=True)
