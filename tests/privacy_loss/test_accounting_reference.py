"""The reference of the benchmarks and the engine, which share nothing, agree; and what is said of peers is measured."""

import math
from pathlib import Path

import pytest

from benchmarks.accounting import INSTANCES, TRIALS, P, shifted_pair
from benchmarks.accounting_reference import bromwich
from dpverify.claims.bitsum import three_nb
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.step import choose_step
from dpverify.privacy_loss.windows.transform import Composition

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("delta", [1e-6, 1e-30])
def test_the_bromwich_integral_is_in_the_interval_of_the_engine(delta: float) -> None:
    for pair, found in zip(shifted_pair(TRIALS, P), bromwich(TRIALS, P, INSTANCES, delta), strict=True):
        step = choose_step(pair, INSTANCES, relative_width=1e-6, reference_delta=delta)
        interval = Composition([(connect_the_dots(pair, step), INSTANCES)]).epsilon(delta)
        assert found in interval
        assert math.isclose(interval.lower, interval.upper, rel_tol=2e-6)


def test_sentences_that_went_stale_are_gone() -> None:
    said = {
        "docs/comparison.md": ("nearer to the truth than ours", "was tried of OpenDP is right"),
        "benchmarks/README.md": ("closer to the truth than ours", "at every point visited"),
        str(Path(three_nb.__file__).relative_to(ROOT)): ("not proved elsewhere",),
    }
    for page, sentences in said.items():
        text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        assert [sentence for sentence in sentences if sentence in text] == []
    libraries = (ROOT / "docs/audits_of_libraries.md").read_text(encoding="utf-8")
    assert all(issue in libraries for issue in ("opendp#2707", "opendp#2930"))
