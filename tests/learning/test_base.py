"""What the estimators share."""

from __future__ import annotations

import numpy as np
import pytest

from dpverify.learning.base import private_generator
from protocols.classifier import public_generator


def test_public_features_parts_and_noise_have_streams_of_their_own() -> None:
    streams = [public_generator(7), private_generator(7), *(private_generator(7, part) for part in range(3))]
    draws = [stream.random() for stream in streams]
    assert len(set(draws)) == len(draws)
    assert private_generator(7, 2).random() == private_generator(7, 2).random()
    assert private_generator(None).random() != private_generator(None).random()
    generator = np.random.default_rng(0)
    assert private_generator(generator, 5) is generator


def test_seeds_are_checked() -> None:
    with pytest.raises(TypeError, match=r"^random_state='x' must be an integer"):
        private_generator("x")
