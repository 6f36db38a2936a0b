"""Options of audits: their ranges, and that every function that audits hands them on."""

from typing import Any, get_type_hints

import numpy as np
import pytest

from dpverify.audit.black_boxes.black_box import audit_mechanism
from dpverify.audit.options import AuditKeywords, AuditOptions, batched
from dpverify.audit.protocol import audit_protocol
from dpverify.audit.running.target import Target
from dpverify.audit.subjects.density import DensityErrors
from protocols.bitsum import RandomizedResponse
from protocols.lsq import GaussianFeatures

RR = RandomizedResponse(6, 0.25)


def test_every_option_is_a_keyword_of_the_same_type() -> None:
    assert get_type_hints(AuditKeywords) == {
        name: hint for name, hint in get_type_hints(AuditOptions).items() if name in AuditOptions.__dataclass_fields__
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trials": 99}, r"trials=99 must be an integer in \[100, inf\)"),
        ({"level": 1e-5}, r"level=1e-05 must be .* \[0\.0001, 1\)"),
        ({"detect": 0.0}, r"detect=0\.0 must be"),
    ],
)
def test_options_out_of_range_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AuditOptions(**options)
    with pytest.raises(ValueError, match=message):
        audit_protocol(RR, **options)
    with pytest.raises(ValueError, match=message):
        audit_mechanism(Target(noise), (1, 0), (np.zeros(1), np.ones(1)), **options)
    with pytest.raises(ValueError, match=message):
        audit_protocol(RR, anytime=True, **options)
    errors = DensityErrors(RR, GaussianFeatures(1), np.zeros((6, 1)), np.ones((1, 1)), instances=1)
    with pytest.raises(ValueError, match=message):
        audit_protocol(errors, **options)


def noise(inputs: Any, rng: np.random.Generator) -> float:
    return float(rng.normal())


def test_draws_follow_the_seed_and_the_blocks() -> None:
    inputs = [np.zeros(1), np.ones(1)]
    first, second = AuditOptions(trials=100, seed=3, block_size=30).draw(Target(noise), inputs)
    again, _ = AuditOptions(trials=100, seed=3, block_size=30).draw(Target(noise), inputs)
    other, _ = AuditOptions(trials=100, seed=4, block_size=30).draw(Target(noise), inputs)
    assert first.shape == second.shape == (100,)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first, second)


def test_blocks_are_put_together_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverify.audit.options._ENTRIES", 12)
    blocks = [[np.arange(2.0) + 2 * at, -np.arange(2.0) - 2 * at] for at in range(4)]
    together = list(batched(blocks))
    assert [len(first) for first, _ in together] == [6, 2]
    np.testing.assert_array_equal(np.concatenate([first for first, _ in together]), np.arange(8.0))
    np.testing.assert_array_equal(np.concatenate([second for _, second in together]), -np.arange(8.0))
    assert list(batched([])) == []
