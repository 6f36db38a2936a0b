"""What the estimators share."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpverify.guarantee import Budget
from dpverify.learning import base
from dpverify.learning.base import FIXED_SEED, SummedEstimator
from dpverify.learning.classifier import PrivateDensityClassifier
from dpverify.learning.density import PrivateDensity
from dpverify.learning.files.counters import private_generator
from dpverify.learning.guarantee import PrivacyWarning
from protocols.bitsum import ExactSum
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


def test_bitsums_are_planned_for_the_budget_and_all_that_a_point_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[Any]()
    monkeypatch.setattr(base, "Planner", lambda *of: asked.append(of) or ExactSum)
    for made in (PrivateDensity(epsilon="1", bits=32), PrivateDensityClassifier(epsilon="1", bits=32, classes=[0, 1])):
        public, _ = made._public(4)
        found = made._planned(public, [7])
        assert asked.pop() == ("rr", Budget("1", 1e-6), 32, public.squared_change)
        assert found.promised is not None
        assert (found.promised.epsilon, found.promised.delta) == (1.0, 1e-6)


@pytest.mark.parametrize(
    ("own", "theirs", "epsilon", "noted"),
    [(None, False, 1.0, 0), (None, True, 1.0, 1), (3, False, 1.0, 1), (3, True, math.inf, 0)],
)
def test_a_seed_of_either_is_noted_where_there_is_noise(own: Any, theirs: bool, epsilon: float, noted: int) -> None:
    sums: Any = SimpleNamespace(seeded=theirs)
    assert PrivateDensity(epsilon=epsilon, random_state=own)._notes(sums) == (FIXED_SEED,) * noted


def test_columns_names_are_those_of_the_last_fit() -> None:
    made = PrivateDensity()
    made._know_columns(2, ("a", "b"))
    assert made.feature_names_in_.tolist() == ["a", "b"]
    made._know_columns(3, None)
    assert (made.n_features_in_, hasattr(made, "feature_names_in_")) == (3, False)


def test_what_protects_nobody_is_refused() -> None:
    """No budget for joint changes, fewer users than are here, and others than each one's noise was planned for."""
    with refused("delta=0"):
        PrivateDensity(delta=0)._budget()
    with refused("users=3"):
        SummedEstimator._check_part(3, 4)
    for there in (3, 5):
        with pytest.raises(ValueError, match=rf"^sums has {there} users, but must have the users=4 "):
            SummedEstimator._check_all(there, 4)


def test_seeds_are_checked() -> None:
    with refused("random_state='x'", TypeError):
        private_generator("x")


@pytest.mark.long
@pytest.mark.parametrize("made", [PrivateDensityClassifier(bits=32, random_state=0), PrivateDensity(random_state=0)])
def test_warnings_point_to_who_has_called_fit(made: PrivateDensityClassifier | PrivateDensity) -> None:
    with pytest.warns(PrivacyWarning, match=r" has 1 user, and noise ") as caught:
        made.fit([[1.0, 0.0]], [0])
    assert {Path(warning.filename).name for warning in caught} == {Path(__file__).name}
