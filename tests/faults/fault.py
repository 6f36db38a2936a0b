"""What is recorded about a fault."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.subject import Subject

__all__ = ["Array", "Fault", "Run"]

Array = NDArray[Any]
Run = Callable[[Array, np.random.Generator, int], Array]
"""(inputs, rng, trials) -> outputs, shape (trials, columns)."""


@dataclass(frozen=True)
class Fault:
    """One faulty implementation.

    Parameters
    ----------
    name, protocol : str
        The fault, and the protocol it is a fault of.
    wrong : str
        What is wrong.
    reason : str
        Where it was seen, or why it is likely.
    caught_by : str
        The check of the audit that should see it, the first word of its name.
    build : callable
        Returns the faulty implementation as a subject for `dpverify.audit.engine.audit`.
    detectable : bool, optional
        Whether 200,000 draws can show it; by default what `tests.faults.oracle.detectable` measures, which looks at the
        laws of single outputs only.
    """

    name: str
    protocol: str
    wrong: str
    reason: str
    caught_by: str
    build: Callable[[], Subject]
    detectable: bool | None = None
