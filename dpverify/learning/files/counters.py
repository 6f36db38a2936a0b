"""What counts some of the users, wherever they are: public numbers alone, without a planner or scikit-learn.

These take seconds to import, in every worker of a cluster, in which hundreds of thousands of users are counted.
"""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpverify.learning.joint.moments import ClassMoments
from dpverify.learning.scale import PublicScale
from protocols.classes.frozen import dataclass
from protocols.local.labels import LabelRandomizedResponse
from protocols.lsq import LSQFamily, LSQFeatures
from protocols.lsq.base import public_generator
from protocols.streaming import BitCounts, count_bits, count_groups, default_chunk_size
from protocols.sums.vectors import UnaryVectorSum
from protocols.validation import check_integer

__all__ = ["BitCounter", "VectorCounter", "VectorCounts", "drawn", "plain", "private_generator", "vectors_counted"]

_NOISE, _PARTS = (2,), 1
"""Keys of the streams of an integer seed; public features take the key 0, see `protocols.lsq.base`."""
_BLOCK_ENTRIES = 2**22


def private_generator(seed: Any, part: int | None = None) -> np.random.Generator:
    """Return the private randomness of one part of the users, or of the noise when no part is named."""
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None:
        return np.random.default_rng()  # PCG64, for a simulation: a real client draws by `protocols.exact_draws`
    key = _NOISE if part is None else (_PARTS, part)
    return np.random.default_rng(np.random.SeedSequence(check_integer("random_state", seed, low=0), spawn_key=key))


@functools.lru_cache(maxsize=4)
def drawn(family: LSQFamily, pairs: int, seed: int) -> LSQFeatures:
    """Return the public features of a seed."""
    return family.sample(pairs, public_generator(seed))


@dataclass(frozen=True)
class BitCounter:
    """Counts users' bits, of all together or by the label that each reports.

    - family, pairs, seed: Of the public features.
    - scale: What each does to her point.
    - classes: How many labels there are; 0 for users without.
    - label_epsilon: Of the labels' randomized response in nats; infinite for labels in the clear.
    """

    family: LSQFamily
    pairs: int
    seed: int
    scale: PublicScale
    classes: int = 0
    label_epsilon: float = math.inf

    @property
    def dimension(self) -> int:
        """Of users' points, d."""
        return self.family.dimension

    def __call__(self, points: NDArray[Any], labels: Any, rng: np.random.Generator) -> tuple[BitCounts, ...]:
        """Return the bits of some users, one sum for each class, or a single one.

        - points: Before they are scaled, shape (some, d).
        - labels: Indices of classes, shape (some,); without classes None.
        """
        features = drawn(self.family, self.pairs, self.seed)
        size = default_chunk_size(features)
        parts = [slice(start, start + size) for start in range(0, len(points), size)]
        scaled = (
            self.scale(points[here], name=f"X[{here.start}:]" if here.start else "X", single=True) for here in parts
        )
        if not self.classes:
            return (count_bits(features, scaled, rng, chunk_size=size, name="X"),)
        if self.label_epsilon != math.inf:
            labels = LabelRandomizedResponse(self.classes, self.label_epsilon).randomize(labels, rng)
        counts = [BitCounts.none(features) for _ in range(self.classes)]
        for here, some in zip(parts, scaled, strict=True):
            for label, found in count_groups(features, some, labels[here], rng, name="X").items():
                counts[label] += found
        return tuple(counts)


@dataclass(frozen=True, eq=False)
class VectorCounts:
    """How often every coordinate and sign was sent by some users, shape (coordinates, 2).

    **Not private** before it is of all users: until then a part of the noise is missing.
    """

    users: int
    counts: NDArray[np.int64]

    def __add__(self, other: VectorCounts) -> VectorCounts:
        """Return what both groups have sent."""
        return VectorCounts(self.users + other.users, self.counts + other.counts)


@dataclass(frozen=True)
class VectorCounter:
    """Counts users' vectors, with their part of the noise.

    - protocol: Whose `users` are all that take part.
    - scale: What each does to her point.
    - made: The vector of a point and a label; None where it is the point.
    """

    protocol: UnaryVectorSum
    scale: PublicScale
    made: ClassMoments | None = None
    label_epsilon: ClassVar[float] = math.inf

    @property
    def dimension(self) -> int:
        """Of users' points, d."""
        return self.protocol.dimension if self.made is None else self.made.dimension

    def __call__(self, points: NDArray[Any], labels: Any, rng: np.random.Generator) -> tuple[VectorCounts]:
        """Return what some users send, as `BitCounter` does."""
        return (vectors_counted(self.protocol, self.made, self.scale(points), labels, rng),)


def vectors_counted(
    protocol: UnaryVectorSum, made: ClassMoments | None, points: NDArray[Any], labels: Any, rng: np.random.Generator
) -> VectorCounts:
    """Return what users send, as `VectorCounter`, of points that are scaled; in blocks, as vectors are long."""
    if made is None:
        return VectorCounts(len(points), protocol.sample_view(points, rng))
    counts = np.zeros((made.coordinates, 2), dtype=np.int64)
    size = max(1, _BLOCK_ENTRIES // made.coordinates)
    for start in range(0, len(points), size):
        here = slice(start, start + size)
        counts += protocol.sample_view(made.vectors(points[here], labels[here]), rng)
    return VectorCounts(len(points), counts)


def plain(points: Any, labels: Any = None) -> tuple[NDArray[Any], Any, tuple[str, ...] | None] | None:
    """Return points, labels and columns' names that scikit-learn's checks would leave as they are; None for others.

    - points: A table's columns must be of one kind of floats, and all named by texts.
    - labels: Whole numbers or texts; none when omitted.
    """
    names = None
    if hasattr(points, "columns"):
        kinds = set(points.dtypes)
        if len(kinds) != 1 or not all(isinstance(kind, np.dtype) for kind in kinds):
            return None
        if not all(isinstance(name, str) for name in points.columns):
            return None
        names, points = tuple(points.columns), points.to_numpy()
    if type(points) is not np.ndarray or points.dtype not in (np.float32, np.float64) or points.ndim != 2:
        return None
    if labels is None or not points.size:
        return (points, None, names) if points.size else None
    labels = labels.to_numpy() if hasattr(labels, "to_numpy") else labels
    if type(labels) is not np.ndarray or labels.shape != (len(points),):
        return None
    texts = labels.dtype == object and all(type(label) is str for label in labels)
    return (points, labels, names) if texts or labels.dtype.kind in "biuU" else None
