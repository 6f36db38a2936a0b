from typing import ClassVar

from protocols.lsq import FourierPairs, LSQFamily, RandomSigns, ScaledFeatures
from tests.claims.lsq.families import FamilyContract


class TestScaled(FamilyContract):
    families: ClassVar[tuple[LSQFamily, ...]] = (
        ScaledFeatures(FourierPairs(3), 4, 1.5),
        ScaledFeatures(RandomSigns(3), 5, 3.0),
        ScaledFeatures(RandomSigns(3), 5, 30.0),
    )
