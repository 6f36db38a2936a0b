"""Claims that are curves: what one (epsilon, delta) hides is refuted, and what is right is not."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from dpverify.audit.black_boxes import own_terms
from dpverify.audit.black_boxes.black_box import audit_mechanism
from dpverify.audit.black_boxes.examined import Examination
from dpverify.audit.black_boxes.mechanism_report import MechanismReport
from dpverify.audit.black_boxes.own_terms import CurveExamination
from dpverify.audit.running.target import Target
from dpverify.statistics.bounds.claims import CurveClaim, GaussianDP, TradeOffCurve
from dpverify.statistics.bounds.intervals import lower_limit, upper_limit
from dpverify.statistics.bounds.renyi_claims import ConcentratedDP, RenyiDP
from dpverify.statistics.family import Verdict, decide

PAIR = np.zeros(1), np.ones(1)
HIDDEN = float(optimize.brentq(lambda mu: GaussianDP(mu).delta(1.0) - 1e-5, 0.1, 1.0))
"""The mu of Gaussian noise that is made for (1, 1e-5)."""


def gaussian(mu: float) -> Target:
    return Target(lambda x, rng, runs: np.round(x[0] + rng.normal(0.0, 1.0 / mu, runs), 6), batch=True)


def response(p: float) -> Target:
    """Randomized response that is right with probability p."""
    return Target(lambda x, rng, runs: np.abs(x[0] - (rng.random(runs) > p)), batch=True)


def audited(target: Target, claim: Any, **options: Any) -> MechanismReport:
    return audit_mechanism(target, claim, PAIR, **options)


@pytest.mark.long
def test_too_little_noise_that_one_point_hides_is_refuted_by_its_curve() -> None:
    wrong = gaussian(1.41 * HIDDEN)
    assert audited(wrong, (1, 1e-5), trials=20_000).verdict is Verdict.UNDECIDED
    report = audited(wrong, GaussianDP(HIDDEN), trials=20_000)
    assert report.verdict is Verdict.VIOLATES
    assert HIDDEN < report.shown_lower <= 1.41 * HIDDEN <= report.shown_upper
    assert report.statement.startswith("Violates: privacy of the output, the first input against the second: mu >= 0.3")
    assert report.claim == {"mu": HIDDEN}
    early = audited(wrong, GaussianDP(HIDDEN), anytime=True)
    assert early.verdict is Verdict.VIOLATES
    assert early.trials < 20_000
    assert "not 0.268051-GDP, the claim" in early.statement


COIN = 0.75, 0.25
EDGES = [
    ConcentratedDP(float(ConcentratedDP(0.5).shown(*COIN)[0])),
    RenyiDP(4.0, float(RenyiDP(4.0, 1.0).shown(*COIN)[0])),
    TradeOffCurve([(math.log(3), 0.0), (0.5, 0.75 - 0.25 * math.exp(0.5))]),
]


@pytest.mark.long
@pytest.mark.parametrize("claim", EDGES, ids=lambda claim: type(claim).__name__)
def test_randomized_response_at_the_edge_is_not_refuted_and_beyond_it_is(claim: CurveClaim) -> None:
    held = audited(response(0.75), claim, seed=1)
    assert held.verdict is not Verdict.VIOLATES
    assert 0.85 * claim.claimed < held.shown_lower <= claim.claimed <= held.shown_upper
    # 1.3 times the rho, the divergence or the epsilon.
    p = float(optimize.brentq(lambda p: float(claim.shown([p], [1 - p])[0]) - 1.3 * claim.claimed, 0.7, 0.9))
    broken = audited(response(p), claim, seed=1)
    assert broken.verdict is Verdict.VIOLATES
    assert claim.claimed < broken.shown_lower <= 1.3 * claim.claimed
    assert broken.unit == claim.unit


@pytest.mark.long
@pytest.mark.parametrize("claim", [ConcentratedDP(0.5), RenyiDP(4.0, 2.0), GaussianDP(1.0)], ids=str)
def test_gaussian_noise_that_keeps_a_claim_is_not_refuted(claim: CurveClaim) -> None:
    assert audited(gaussian(1.0), claim, trials=30_000, seed=2).verdict is not Verdict.VIOLATES


@pytest.mark.long
def test_a_pass_is_told_in_the_claims_unit_and_covers_no_epsilon_a_tenth_larger() -> None:
    report = audited(gaussian(1.0), GaussianDP(1.06), trials=60_000)
    assert report.verdict is Verdict.CONSISTENT
    assert 1.0 <= report.shown_upper <= GaussianDP(1.06).excluded(0.1)
    assert report.statement.startswith("Consistent: no event tried shows more than mu 1.0")
    assert "; some shows at least mu 0.9" in report.statement
    for mu, delta in ((HIDDEN, 1e-5), (1.0, 1e-3), (3.0, 1e-2)):
        claimed, excluded = (
            float(optimize.brentq(lambda e, m=m, d=delta: GaussianDP(m).delta(e) - d, 1e-3, 50.0))
            for m in (mu, GaussianDP(mu).excluded(0.1))
        )
        assert 1.04 < excluded / claimed <= 1.1


def test_correct_noise_is_refuted_no_more_often_than_stated() -> None:
    # Rounded Gaussian noise, whose exact law gives the chances of the chosen events: then the counts of 20 audits.
    rng, trials, level, points = np.random.default_rng(5), 30_000, 0.1, np.arange(-30, 31)
    examination = CurveExamination(
        GaussianDP(0.5), 4_000, at=0.0, level=level, upper=0.01, detect=0.1, seed=0, check="privacy"
    )
    examination.update(*(np.rint(rng.normal(bit, 2.0, (4_000, 1))) for bit in (1, 0)))
    chances: list[dict[str, Any]] = []
    for bit, counts in zip((1, 0), examination._counts, strict=True):
        pmf = np.diff(stats.norm.cdf(np.append(points, 31) - 0.5, bit, 2.0))
        chances.append({name: np.zeros(getattr(counts, name).size) for name in ("members", "above", "scanned")})
        for point, mass in zip(points, pmf, strict=True):
            before = {name: getattr(counts, name).copy() for name in chances[-1]}
            counts.update(np.array([[float(point)]]))
            for name, old in before.items():
                chances[-1][name] += mass * (getattr(counts, name) - old)
    examination._trials, alarms, runs = trials, 0, 20
    for _ in range(runs):
        for counts, chance in zip(examination._counts, chances, strict=True):
            for name, p in chance.items():
                setattr(counts, name, rng.binomial(trials, np.minimum(p, 1.0)))
        found = examination.result()
        (decided,) = decide([found.result], level)
        refuted = decided.verdict is Verdict.VIOLATES
        assert (found.shown[0] > 0.5) == refuted
        assert found.shown[0] <= found.shown[1]
        alarms += refuted
    assert alarms <= stats.binom.isf(1e-4, runs, level)


@pytest.mark.long
def test_cells_show_of_gaussian_noise_what_no_event_does() -> None:
    report = audited(gaussian(math.sqrt(1.3)), ConcentratedDP(0.5), trials=200_000)
    assert report.verdict is Verdict.VIOLATES
    # An event of the true law that is no rare one shows less than is claimed.
    at = stats.norm.isf(np.linspace(0.1, 0.9, 81))
    p, q = stats.norm.sf(at, math.sqrt(1.3)), stats.norm.sf(at)
    assert ConcentratedDP(0.5).shown(p, q).max() < 0.5 < report.shown_lower <= 0.65
    right = audited(gaussian(1.0), ConcentratedDP(0.5), trials=200_000)
    assert right.verdict is not Verdict.VIOLATES
    assert right.shown_lower <= 0.5


@pytest.mark.long
def test_cells_err_as_often_as_stated_and_share_the_level_with_events() -> None:
    # Every outcome of 24 draws on either input, of the coins that a claim just allows.
    claim, trials, chances = EDGES[1], 24, (0.75, 0.25)
    assert isinstance(claim, RenyiDP)
    cells = own_terms._Cells(claim, (0,), np.array([[0.25, 0.75], [0.75, 0.25]]))
    first, second = (stats.binom.pmf(np.arange(trials + 1), trials, chance) for chance in chances)
    found = [
        [cells.p_value(np.array([x]), np.array([y]), trials) for y in range(trials + 1)] for x in range(trials + 1)
    ]
    p_values, masses = np.array(found), np.outer(first, second)
    assert p_values.min() < 0.01
    for level in np.unique(p_values):
        assert masses[p_values <= level].sum() <= level + 1e-12
    # Each of the eight limits has an even share, and the p-value is the level at which the lower end is the claim.
    level = 0.05
    low, high = (limit(np.array([[2, 22], [23, 1]]), trials, level / 8) for limit in (lower_limit, upper_limit))
    both = max(claim.together(low[0], high[1]), claim.together(low[1], high[0]))
    assert cells.shown(np.array([22]), np.array([1]), trials, level)[0] == pytest.approx(both, rel=1e-9)
    at = float(p_values[24, 0])
    assert cells.shown(np.array([24]), np.array([0]), trials, at * 1.001)[0] > claim.claimed
    assert cells.shown(np.array([24]), np.array([0]), trials, at * 0.999)[0] < claim.claimed
    # Of two cells it is what an event shows.
    p, q = np.array([0.75, 0.25]), np.array([0.25, 0.75])
    assert claim.together(p, q) == pytest.approx(float(claim.shown([0.75], [0.25])[0]), rel=1e-12)
    rng = np.random.default_rng(3)
    looked = CurveExamination(claim, 6_000, at=0.0, level=0.01, upper=0.01, detect=0.1, seed=0, check="x", looks=3)
    looked.update(*((rng.random((6_000, 1)) < chance) * 1.0 for chance in (0.78, 0.22)))
    x, y = looked._counted()
    events, beside = Examination._p_value(looked, x, y, looked._trials), looked._cells
    counts = looked._above(x, y)
    together = 3.0 * beside.p_value(*counts, looked._trials) / own_terms._CELLS
    assert looked._p_value(x, y, looked._trials) == min(events, together)
    looked._share = 1.0
    alone = Examination._p_value(looked, x, y, looked._trials)
    assert events == pytest.approx(alone / (1.0 - own_terms._CELLS), rel=1e-12)
