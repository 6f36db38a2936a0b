"""Black boxes: their chances, what can be found of them by whom, and what audits find with few draws."""

import pytest

from dpverify.audit.black_boxes.black_box import audit_mechanism
from dpverify.statistics.family import Verdict
from tests.faults import BOXES, CORRECT_BOXES, BlackBox
from tests.faults.boxes.black_box import box

DRAWS, POWER = 200_000, 0.95
BY_NAME = {fault.name: fault for fault in BOXES}
EXACT = [fault for fault in BOXES if fault.chances is not None]
LEARNED = [fault for fault in BOXES if fault.chances is None]
CANNOT = {
    "box-classical-sigma",
    "box-epsilon-of-1.002",
    "box-flips-too-rarely-by-little",
    "box-plain-in-400000",
    "box-too-rare-symbol",
}
"""Black boxes that 200,000 draws do not show even to who knows what to look for."""


@pytest.mark.parametrize("fault", EXACT, ids=lambda fault: fault.name)
def test_chances_are_those_of_the_mechanism(fault: BlackBox) -> None:
    draws = 4_000
    for seen, chance in zip(fault.hits(draws, seed=3), fault.chances, strict=True):
        # Bernstein's inequality: of 38 comparisons one is off in 300,000 runs.
        assert abs(seen - draws * chance) <= (40.0 * draws * chance * (1.0 - chance)) ** 0.5 + 13.0


@pytest.mark.parametrize("fault", EXACT, ids=lambda fault: fault.name)
def test_what_has_exact_chances_can_be_found_or_is_listed(fault: BlackBox) -> None:
    assert (fault.power(DRAWS, runs=400) >= POWER) is (fault.name not in CANNOT)


@pytest.mark.parametrize("fault", LEARNED, ids=lambda fault: fault.name)
def test_who_knows_the_sign_finds_it_or_it_is_listed(fault: BlackBox) -> None:
    """By a run of its own: 20,000 draws, and what these do not show by all."""
    found = fault.detectable(20_000) or fault.detectable(DRAWS)
    assert found is (fault.name not in CANNOT)


@pytest.mark.parametrize("name", ["box-two-servers", "box-noise-of-a-byte", "box-bursts"])
def test_power_follows_from_the_number_of_draws(name: str) -> None:
    assert BY_NAME[name].power(DRAWS, runs=400) >= POWER
    assert BY_NAME[name].power(2_000, runs=400) < 0.5


def test_what_keeps_its_claim_is_not_called_detectable() -> None:
    for right in CORRECT_BOXES[:4]:
        fault = box("", "right", "", "", right.run, lambda y: y > 1, pair=right.pair, claim=(right.epsilon, 0.0))
        assert not fault.detectable(50_000)


FOUND = {
    5_000: """half-precision integer-sigma sorted-by-truth opposite-draws counter-of-a-byte antithetic-calls
              last-noise-shown polar-laplace alternating-signs every-64th-plain leaf-again largest-of-five""",
    20_000: "mixed-units weekends checksum one-coin-for-two asymmetric",
    40_000: "parity-of-eight bit-17 spelling",
}
"""The draws that find these."""


@pytest.mark.long
@pytest.mark.parametrize(("name", "draws"), [(name, draws) for draws, names in FOUND.items() for name in names.split()])
def test_black_boxes_are_found_with_few_draws(name: str, draws: int) -> None:
    fault = BY_NAME[f"box-{name}"]
    report = audit_mechanism(fault.target, fault.claim, fault.pair, trials=draws, level=0.01)
    assert report.verdict is Verdict.VIOLATES
