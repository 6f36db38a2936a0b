"""The learners that `dpverify audit` is of: small ones, fitted to points of their own, as their laws are listed."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Any

from dpverify.cli.options import choice, integer, number

if TYPE_CHECKING:
    from protocols.kde import KernelDensityProtocol

__all__ = ["classifier", "decoding", "user_level"]

Users = Annotated[int, integer(within="[2, inf)", help="n, in {}: few, as laws are listed for each number of them.")]
_MODELS = ("central", "local")


def classifier(
    users: Users,
    flip_probability: Annotated[float, number(within="(0, 1/2)", help="p of randomized response, in {}.")],
    label_epsilon: Annotated[float, number(within="(0, 700]", help="epsilon of a published label, in {}, in nats.")],
    classes: Annotated[int, integer(within="[2, inf)", help="m, in {}; public.")] = 2,
    dimension: Annotated[int, integer(within="[1, inf)", help="d, of the points.")] = 1,
    features: Annotated[int, integer("--bits", within="[1, inf)", help="How many features, in {}.")] = 4,
    public_seed: Annotated[int, integer(within="[0, inf)", help="Of the public features.")] = 0,
) -> object:
    """Highest-density classifier with private labels, of Gaussian features and randomized response.

    A target is called as f(users, rng) with a row for each user, her point and her class. It returns how many reported
    each class, and then what is published of each. The public features are those of
    GaussianFeatures(dimension).sample(bits, public_generator(public_seed)), of protocols.lsq and protocols.lsq.base.
    """
    import numpy as np

    from protocols.bitsum import RandomizedResponse
    from protocols.classifier import HighestDensityClassifier
    from protocols.lsq import GaussianFeatures

    model = HighestDensityClassifier(
        GaussianFeatures(dimension),
        instances=features,
        bitsum=functools.partial(RandomizedResponse, flip_probability=flip_probability),
        label_epsilon=label_epsilon,
        classes=range(classes),
        random_state=0,
        public_random_state=public_seed,
    )
    return model.fit(np.zeros((users, dimension)), np.arange(users) % classes)


def decoding(
    density: KernelDensityProtocol,
    words: Annotated[int, integer("--top", within="[1, 7]", help="How many words, in {}.")] = 1,
) -> object:
    """Words that a density ranks highest, of eight at the places where users stand.

    A target is called as f(points, rng), and returns the positions of the words, from 0. The options are those of kde.
    """
    from dpverify.audit.subjects.classifier import decoding_subject

    return functools.partial(decoding_subject, density, k=words)


def user_level(
    users: Users,
    epsilon: Annotated[float, number(within="(0, 100]", help="epsilon of the selection, in {}, in nats.")],
    size: Annotated[int, integer(within="[1, inf)", help="The points of a line, of which thresholds are learned.")] = 3,
    sharpness: Annotated[float, number(within="(0, inf)", help="gamma of the learner's weights, in {}.")] = 100.0,
    model: Annotated[
        str, choice(known=lambda: _MODELS, help="central: the exponential mechanism; local: a Hadamard response.")
    ] = "central",
    public_seed: Annotated[int, integer(within="[0, inf)", help="Of the public randomness.")] = 0,
) -> object:
    """Learner of thresholds that protects users with many examples each, with its public randomness fixed.

    A target is called as f(examples, rng) with examples of shape (users, examples of each, 2), the label last, and
    returns the selected threshold. The public learner is WeighingLearner(Thresholds(size), sharpness).drawn(
    numpy.random.default_rng(public_seed)), of protocols.user_level.
    """
    import numpy as np

    from protocols.user_level.classifier import UserLevelClassifier
    from protocols.user_level.representations import Thresholds
    from protocols.user_level.stable_learner import WeighingLearner

    learner = UserLevelClassifier(
        WeighingLearner(Thresholds(size), sharpness),
        functools.partial(_selection, model, epsilon),
        random_state=0,
        public_random_state=public_seed,
    )
    points = np.tile(np.arange(size), users)
    return learner.fit(points[:, np.newaxis], points >= size // 2, groups=np.repeat(np.arange(users), size))


def _selection(model: str, epsilon: float, users: int, candidates: int) -> Any:
    from protocols.user_level.central_selection import ExponentialSelection
    from protocols.user_level.local_selection import HadamardSelection

    if model == "local":
        return HadamardSelection(candidates, epsilon)
    return ExponentialSelection(users, candidates, epsilon)
