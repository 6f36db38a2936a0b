"""Recorded draws: every generator is seen, a key fixes all of them, and one draw can be moved or drawn anew."""

import os
import random
import secrets
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpverify.audit.inside.recording import FRESH, GIVEN, GLOBAL, SYSTEM, Tape, given, patched

DRAWS: list[tuple[str, str, Any]] = [
    (GIVEN, "laplace", lambda rng: rng.laplace(0.0, 2.0)),
    (GIVEN, "standard_normal", lambda rng: stats.norm.rvs(random_state=rng)),
    (GIVEN, "multivariate_normal", lambda rng: rng.multivariate_normal([0, 0], np.eye(2)).tolist()),
    ("a generator that it seeds", "random", lambda rng: rng.spawn(1)[0].random()),
    ("a generator that it seeds", "random", lambda rng: np.random.default_rng(3).random()),
    ("a generator that it seeds", "rand", lambda rng: np.random.RandomState(3).rand()),
    ("a generator that it seeds", "random", lambda rng: np.random.Generator(np.random.PCG64()).random()),
    ("a generator that it seeds", "gauss", lambda rng: random.Random(3).gauss(0, 1)),
    (FRESH, "random", lambda rng: np.random.default_rng().random()),
    (GLOBAL[0], "normal", lambda rng: np.random.normal()),  # noqa: NPY002
    (GLOBAL[1], "gauss", lambda rng: random.gauss(0, 1)),
    (SYSTEM, "urandom", lambda rng: os.urandom(8)),
    (SYSTEM, "urandom", lambda rng: secrets.randbits(64)),
    (SYSTEM, "urandom", lambda rng: random.SystemRandom().random()),
]


def generator() -> np.random.Generator:
    return given(np.random.default_rng(1))


@pytest.mark.parametrize(("source", "name", "drawn"), DRAWS, ids=lambda part: part if isinstance(part, str) else None)
def test_every_generator_is_recorded_and_replayed(source: str, name: str, drawn: Any) -> None:
    with patched() as run:
        tape, one, two, other = Tape(), Tape(1), Tape(1), Tape(2)
        run(tape, drawn, generator())
        assert [(draw.source, draw.name) for draw in tape.draws] == [(source, name)]
        place = tape.draws[0].place
        assert place.rpartition(":")[0].endswith("test_recording.py")
        value = run(one, drawn, generator())
        assert run(two, drawn, generator()) == value != run(other, drawn, generator())
        assert run(Tape(1, fresh=place), drawn, generator()) != value


def test_a_draw_is_moved_alone() -> None:
    def both(rng: np.random.Generator) -> tuple[float, float]:
        return rng.normal(), rng.normal(scale=3.0)

    with patched() as run:
        tape = Tape(1)
        first, second = run(tape, both, generator())
        moved = Tape(1, moved={(tape.draws[1].place, 1): 0.5})
        assert run(moved, both, generator()) == (first, second + 0.5)
        assert [draw.scale for draw in tape.draws] == [(1.0,), (3.0,)]


def test_a_recorded_generator_draws_as_the_given_one() -> None:
    with patched() as run:
        wanted = np.random.Generator(np.random.PCG64(5)).laplace(size=3)
        found = run(Tape(), lambda rng: rng.laplace(size=3), given(np.random.Generator(np.random.PCG64(5))))
    np.testing.assert_array_equal(found, wanted)
