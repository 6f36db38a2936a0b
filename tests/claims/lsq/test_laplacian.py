from typing import ClassVar

import numpy as np

from protocols.lsq import LaplacianBinning, LSQFamily
from tests.claims.lsq.families import FamilyContract


class TestLaplacian(FamilyContract):
    families: ClassVar[tuple[LSQFamily, ...]] = (
        LaplacianBinning(3, 0.8, 4),
        LaplacianBinning(2, 1.5, 1, True),
        LaplacianBinning(2, 1.5, 3, True),
    )

    def bias(self, family: LSQFamily, x: np.ndarray, y: np.ndarray) -> float:
        assert isinstance(family, LaplacianBinning)
        return 0.0 if family.signed else float(1 - family.kernel(x, y[None]).mean()) / family.Q
