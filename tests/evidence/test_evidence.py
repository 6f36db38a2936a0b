"""The evidence of the entries: the quick checks run, figures are quoted as they are, and what is linked exists."""

from __future__ import annotations

import ast
import importlib
import json
import math
import re
from pathlib import Path
from typing import Any

import flint
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from dpverify.changes import Full
from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.evidence import ContradictedError, require
from dpverify.evidence.flood import published_bound
from dpverify.evidence.theorems import rerun, theorems
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import three_nb
from dpverify.guarantee import CapacityError, Interval, ThreatModel
from dpverify.papers.figures import names_in, recorded
from dpverify.papers.theorem import Concern, Evidence, Method, Theorem, Verdict
from dpverify.privacy_loss.losses import pairs as laws

ROOT = Path(__file__).resolve().parent.parent.parent
THEOREMS = theorems()
QUICK = {each.check for theorem in THEOREMS for each in theorem.checked_by if each.runs and each.quick}

PENDING: frozenset[str] = frozenset({"ghazi2021-theorem-35"})
"""Entries whose evidence stands in their tests only: this may only shrink."""


def test_a_condition_that_is_false_contradicts() -> None:
    require(True, "")
    with pytest.raises(ContradictedError, match=r"^It is not so\.$"):
        require(False, "It is not so.")


@pytest.mark.parametrize("name", sorted(QUICK))
def test_quick_checks_agree_with_the_theorems(name: str) -> None:
    assert rerun(name)[1] == ""


def test_every_verdict_is_backed() -> None:
    unbacked = {theorem.name: why for theorem in THEOREMS if (why := theorem.unbacked())}
    assert unbacked.keys() == PENDING, unbacked


def test_what_is_less_private_than_printed_is_shown_in_every_test_run() -> None:
    # Its evidence would contradict if the claim were true as printed.
    wrong = {Verdict.FAILS, Verdict.HOLDS_WITH_CONDITION, Verdict.CODE_DIFFERS}
    chosen = [theorem for theorem in THEOREMS if theorem.concern is Concern.PRIVACY and theorem.verdict in wrong]
    assert len(chosen) > 5
    assert [t.name for t in chosen if not any(each.runs and each.quick for each in t.checked_by)] == []


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda theorem: theorem.name)
def test_figures_of_a_finding_are_recorded_once(theorem: Theorem) -> None:
    sources = [recorded(each.check) for each in theorem.checked_by if each.runs]
    for name in names_in("".join(theorem.templates)):
        assert sum(name in figures for figures in sources) == 1, f"{name} must be a figure of one of the checks"


def resolves(link: str) -> bool:
    """Whether a link of an entry leads somewhere: a test, a passage, or a name in a module."""
    place, _, inside = link.partition("#")
    if "::" in link:
        path, name = link.split("::")
        names = {
            node.name for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.FunctionDef)
        }
        return name in names
    if place.endswith(".ipynb"):
        cells = json.loads((ROOT / place).read_text())["cells"]
        return any(inside in "".join(cell["source"]) for cell in cells)
    if place.endswith(".md"):
        headings = re.findall(r"^#+ (.+)$", (ROOT / place).read_text(), re.MULTILINE)
        return not inside or inside in {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in headings}
    module, _, path = link.partition(":")
    target: Any = importlib.import_module(module)
    for name in path.split(".") if path else ():
        target = getattr(target, name)
    return bool(target.__doc__)


def test_what_resolves() -> None:
    # Without this, a broken reader would let every link pass.
    assert resolves("tests/evidence/test_evidence.py::test_what_resolves")
    assert not resolves("tests/evidence/test_evidence.py::test_nothing")
    assert resolves("docs/architecture.md#the-tree")
    assert not resolves("docs/architecture.md#a-tree")
    assert resolves("dpverify.evidence.theorems:find")
    with pytest.raises(AttributeError):
        resolves("dpverify.evidence.theorems:lose")


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda theorem: theorem.name)
def test_links_and_proofs_resolve(theorem: Theorem) -> None:
    proofs = [each.check for each in theorem.checked_by if each.method is Method.PROOF]
    assert [link for link in (*theorem.links, *proofs) if not resolves(link)] == []


def test_recorded_figures_belong_to_a_check() -> None:
    known: dict[str, Evidence] = {e.check: e for theorem in THEOREMS for e in theorem.checked_by if e.runs}
    folder = ROOT / "dpverify" / "evidence"
    kept = {f"{path.stem}:{name}" for path in folder.glob("*.json") for name in json.loads(path.read_text())}
    assert kept == known.keys()


@pytest.mark.parametrize("epsilon0", [1e-3, 0.1, 1.27, 6.0, 40.0])
@pytest.mark.parametrize("delta0", [0.5, 3.6e-7, 1e-12])
def test_the_bound_on_the_published_flood_is_above_what_is_exact(epsilon0: float, delta0: float) -> None:
    rest = math.log(1.0 / delta0)
    t, u = epsilon0 / (epsilon0 + rest), epsilon0 + rest
    found = [published_bound(flint.arb(t), flint.arb(u), flint.arb(y), flint.arb(0.2)) for y in (0.5, 0.8, 0.94, 0.99)]
    bounds = [math.exp(float(bound.upper())) for bound, holds in found if holds]
    assert len(bounds) >= 2
    try:
        protocol = BITSUM_CLAIMS["3nb"].published(1, epsilon0, delta0)
        exact = BITSUM_CLAIMS["3nb"].curve(protocol, Full(1), ThreatModel.COMMUNICATION).delta(epsilon0)
    except CapacityError:
        exact = Interval(0.0, 0.0)  # of a flood that is too wide to list
    assert exact.lower / delta0 <= min(bounds)
    if (epsilon0, delta0) == (1.27, 3.6e-7):
        assert 0.05 < exact.upper / delta0 < min(bounds) < 1.0


def test_a_bound_on_the_published_flood_grows_beyond_one_with_the_rate() -> None:
    t, u = 1.27 / (1.27 + 14.84), 1.27 + 14.84  # where 0.2515 is not private: no bound may be below 1 there
    for y in (0.9, 0.94, 0.96, 0.98):
        bound, _ = published_bound(flint.arb(t), flint.arb(u), flint.arb(y), flint.arb("0.2515"))
        assert bound > 0


@settings(max_examples=60)
@given(
    epsilon=st.floats(0.05, 4.0),
    share=st.floats(0.05, 0.95),
    width=st.floats(0.2, 1.0),
    log_delta=st.floats(-30.0, -1.0),
)
def test_floods_of_the_closed_form_suffice(epsilon: float, share: float, width: float, log_delta: float) -> None:
    p, delta = math.exp(-share * epsilon), math.exp(log_delta)
    flood_p = max(math.exp(-width * min(epsilon * (1.0 - share), 2.0 * share * epsilon)), p * p)  # at width 1 rounded
    shape = float(three_nb.sufficient_flood_shape(FLOATS, epsilon, delta, epsilon + math.log(p), flood_p))
    try:
        found = [pair.delta(epsilon) for pair in laws.three_nb(p, shape, flood_p)]
    except CapacityError:
        reject()
    assert max(each.lower for each in found) <= delta


def test_a_third_of_the_published_budget_is_within_the_stated_share_of_epsilon() -> None:
    # The fewest instances and the largest delta that the entry allows are the worst, not many instances.
    stated = recorded("density:composed_parameters")["repaired_factor"]
    for instances in range(1, 5):
        epsilon = math.log(2.0)  # delta = 1/2
        each = epsilon / (3.0 * math.sqrt(instances * math.log(2.0)))
        total = instances * each * math.expm1(each) + each * math.sqrt(2 * instances * math.log(4.0))
        assert total <= stated * epsilon


def test_the_noise_of_the_public_code_of_pure_has_its_own_epsilon() -> None:
    claims, figures = BITSUM_CLAIMS["pure"], recorded("bitsum:code_of_pure")
    for name, epsilon0 in (("one", 1.0), ("least", 2.0 / 768.0)):
        protocol = claims.published(30_000, epsilon0, 1e-6)
        assert math.sqrt(2.0 * protocol.p) / (1.0 - protocol.p) == pytest.approx(figures[f"noise_{name}"], rel=1e-9)
