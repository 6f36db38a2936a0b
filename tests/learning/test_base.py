"""What the estimators share."""

from pathlib import Path

import numpy as np
import pytest

from dpverify.learning.classifier import PrivateDensityClassifier
from dpverify.learning.density import PrivateDensity
from dpverify.learning.files.counters import private_generator
from dpverify.learning.guarantee import PrivacyWarning
from protocols.lsq.base import public_generator
from tests.refusals import refused


def test_public_features_parts_and_noise_have_streams_of_their_own() -> None:
    streams = [public_generator(7), private_generator(7), *(private_generator(7, part) for part in range(3))]
    draws = [stream.random() for stream in streams]
    assert len(set(draws)) == len(draws)
    assert private_generator(7, 2).random() == private_generator(7, 2).random()
    assert private_generator(None).random() != private_generator(None).random()
    generator = np.random.default_rng(0)
    assert private_generator(generator, 5) is generator


def test_seeds_are_checked() -> None:
    with refused("random_state='x'", TypeError):
        private_generator("x")


@pytest.mark.long
@pytest.mark.parametrize("made", [PrivateDensityClassifier(bits=32, random_state=0), PrivateDensity(random_state=0)])
def test_warnings_point_to_who_has_called_fit(made: PrivateDensityClassifier | PrivateDensity) -> None:
    with pytest.warns(PrivacyWarning, match=r" has 1 user, and noise ") as caught:
        made.fit([[1.0, 0.0]], [0])
    assert {Path(warning.filename).name for warning in caught} == {Path(__file__).name}
