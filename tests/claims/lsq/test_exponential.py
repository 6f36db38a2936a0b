from typing import ClassVar

import numpy as np

from protocols.lsq import ExponentialTessellation, LSQFamily
from tests.claims.lsq.families import FamilyContract


class TestExponential(FamilyContract):
    families: ClassVar[tuple[LSQFamily, ...]] = (
        ExponentialTessellation(3, 0.8, 4),
        ExponentialTessellation(2, 1.5, 1, True),
        ExponentialTessellation(2, 1.5, 3, True),
    )

    def bias(self, family: LSQFamily, x: np.ndarray, y: np.ndarray) -> float:
        assert isinstance(family, ExponentialTessellation)
        return 0.0 if family.signed else float(1 - family.kernel(x, y[None]).mean()) / family.Q
