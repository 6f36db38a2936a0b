"""What a table prints is true of what it prints."""

import io
import re
from dataclasses import replace
from fractions import Fraction

import pytest
from rich.console import Console

from dpverify.changes import Full
from dpverify.claims.bitsum import BITSUM_CLAIMS, claims_of
from dpverify.guarantee import Adjacency, Budget, Guarantee, Side, ThreatModel
from dpverify.planning.account import account
from dpverify.planning.plan import PlanRow, plan
from dpverify.planning.sweeps.comparison import Comparison, plan_bitsums
from dpverify.report.plans.comparisons import plan_table
from dpverify.report.tables import account_table, epsilon_of
from protocols.bitsum import CentralDiscreteGaussian, CentralGaussian
from protocols.bitsum.base import BitsumProtocol
from tests.report.printing import printed

BUDGETS = (Budget("1.2345678912", "1.23456789e-6"), Budget(1, 0))


@pytest.fixture(scope="module", params=BUDGETS, ids=str)
def comparison(request: pytest.FixtureRequest) -> Comparison:
    return plan_bitsums(request.param, users=200, instances=3)


def reread(row: PlanRow, text: str) -> BitsumProtocol:
    """The protocol with the parameters as they stand in the table."""
    (shown,) = re.findall(rf"^{row.bitsum}, {row.method}: (.*) \(", text, flags=re.MULTILINE)
    values = dict(item.split("=") for item in shown.split(", "))
    assert list(values) == list(row.parameters)
    numbers = {name: float(value) for name, value in values.items() if name != "estimate"}
    return replace(row.protocol, **numbers)


def test_printed_parameters_are_as_private_as_is_printed(comparison: Comparison) -> None:
    text = printed(plan_table(comparison))
    budget = comparison.budget
    assert len(comparison.plans) >= 6
    lines = iter(text.splitlines())  # in the order of the plans: long names share their first line
    for row in comparison.plans:
        name = row.bitsum if len(row.bitsum) <= 17 else row.bitsum[: row.bitsum.rindex("-") + 1]
        line = next(words for words in map(str.split, lines) if words[:2] == [name, row.method])
        proved = line[-1] != "(unproved)"
        epsilon = Fraction(line[-1] if proved else line[-2])
        assert proved == (row.guarantee.side is Side.UPPER_BOUND)
        assert row.guarantee.epsilon <= epsilon <= budget.exact_epsilon
        if proved:
            found = account(reread(row, text), instances=3, delta=budget.delta, threat_model=row.guarantee.threat_model)
            assert found.epsilon.upper <= epsilon, (row.bitsum, row.method)


def test_printed_shares_are_no_larger_than_the_shares(comparison: Comparison) -> None:
    text = printed(plan_table(comparison))
    shares = re.findall(r"epsilon0=([^,]+), delta0=([^)]+)\)", text)
    rows = [row for row in comparison.plans if row.epsilon0 is not None]
    assert len(shares) == len(rows) > 0
    for (epsilon0, delta0), row in zip(shares, rows, strict=True):
        assert 0.999 * row.epsilon0 < float(epsilon0) <= row.epsilon0
        assert 0.99 * row.delta0 <= float(delta0) <= row.delta0


def test_the_budget_is_printed_as_it_was_given(comparison: Comparison) -> None:
    text = printed(plan_table(comparison))
    epsilon, delta = re.findall(r"^Budget \((.*?), (.*?)\)", text, flags=re.MULTILINE)[0]
    assert (Fraction(epsilon), Fraction(delta)) == (comparison.budget.exact_epsilon, comparison.budget.exact_delta)


@pytest.mark.parametrize("sigma", [105.866056, 1.0000000001])
def test_what_was_accounted_is_printed_in_full(sigma: float) -> None:
    result = account(CentralGaussian(1, sigma), instances=768, delta=1e-6)
    text = printed(account_table(result))
    assert f"(sigma={sigma!r})" in text
    at_least, at_most = re.findall(r"epsilon +(\S+) +(\S+)", text)[0]
    assert float(at_least) <= result.epsilon.lower <= result.epsilon.upper <= float(at_most)


@pytest.mark.parametrize("asked", ["1e-3", "0.1", "1e-300", "0.123456789012"])
def test_an_account_shows_the_point_that_was_asked(asked: str) -> None:
    """Most decimals lie between two floats, which the result holds: the table shows the decimal."""
    protocol = CentralGaussian(1, 20.0)
    for text, name in (
        (printed(account_table(account(protocol, delta=asked))), "delta"),
        (printed(account_table(account(protocol, epsilon=asked))), "epsilon"),
    ):
        ((at_least, at_most),) = re.findall(rf"^ *{name} +(\S+) +(\S+)", text, flags=re.MULTILINE)
        assert Fraction(at_least) == Fraction(at_most) == Fraction(asked)


def test_ends_of_an_account_are_rounded_outwards() -> None:
    result = account(CentralGaussian(1, 20.0), delta=1e-6)
    ends = replace(result, epsilon=type(result.epsilon)(1.00000000001, 1.00000000019))
    assert re.findall(r"epsilon +(\S+) +(\S+)", printed(account_table(ends))) == [("1", "1.000000001")]


def test_a_parameter_without_a_proved_direction_is_printed_in_full() -> None:
    protocol = CentralDiscreteGaussian(10, 7.123456789012345)
    assert claims_of(protocol).more_private_towards == {}
    comparison = plan_bitsums(Budget(1, "1e-6"), users=10, instances=1, bitsums=["central-discrete-gaussian"])
    rows = tuple(replace(row, protocol=protocol, parameters={"sigma": protocol.sigma}) for row in comparison.plans)
    assert "sigma=7.123456789012345 (" in printed(plan_table(replace(comparison, rows=rows)))


@pytest.mark.parametrize("name", [name for name, claims in BITSUM_CLAIMS.items() if claims.more_private_towards])
def test_every_parameter_gets_more_private_towards_its_limit(name: str) -> None:
    claims = BITSUM_CLAIMS[name]
    (row,) = plan_bitsums(Budget(1, "1e-4"), users=30, instances=1, bitsums=[name], methods=["exact"]).plans
    names = {parameter for parameter, value in row.parameters.items() if not isinstance(value, str)}
    assert names <= set(claims.more_private_towards)

    def least_delta(protocol: BitsumProtocol) -> list[float]:
        curve = claims.curve(protocol, Full(1), row.guarantee.threat_model)
        return [curve.delta(epsilon).lower for epsilon in (0.0, 0.5, 1.0)]

    def most_delta(protocol: BitsumProtocol) -> list[float]:
        curve = claims.curve(protocol, Full(1), row.guarantee.threat_model)
        return [curve.delta(epsilon).upper for epsilon in (0.0, 0.5, 1.0)]

    before = most_delta(row.protocol)
    for parameter in names - {"shape"} if name == "3nb" else names:
        value, limit = row.parameters[parameter], claims.more_private_towards[parameter]
        moved = value * 1.5 if limit == float("inf") else value + 0.3 * (limit - value)
        after = replace(row.protocol, **{parameter: moved})
        assert all(b <= a for a, b in zip(before, least_delta(after), strict=True))
        assert most_delta(after) != before


def test_guarantees_are_rounded_to_their_side() -> None:
    plan = plan_bitsums(
        Budget(1, "1e-6"), users=10, instances=1, bitsums=["central-gaussian"], methods=["exact"]
    ).plans[0]
    upper = replace(plan.guarantee, epsilon=1.0000001, delta=1.0001e-6)
    assert str(upper).startswith("(1.00001, 1.01e-06)-DP, upper bound")
    assert str(replace(upper, side=Side.LOWER_BOUND)).startswith("(1, 1e-06)-DP, lower bound")


def test_of_many_plans_those_are_checked_that_no_other_beats(comparison: Comparison) -> None:
    checks = [(row, f"dpverify account {row.bitsum} {row.method} " + "long " * 30) for row in comparison.plans]
    alike = [row for row in comparison.plans if row.guarantee.threat_model is ThreatModel.COMMUNICATION]
    text = printed(plan_table(comparison, checks=checks))
    shown = re.findall(r"^dpverify account (\S+) (\S+) long", text, flags=re.MULTILINE)
    best = [row for row in alike if (row.bitsum, row.method) in shown]
    assert 0 < len(best) == len(shown) < len(alike)
    for row in alike:
        others = [other for other in best if other is not row and other.messages_per_user <= row.messages_per_user]
        assert (row in best) != any(other.bitsum_rmse <= row.bitsum_rmse for other in others)
    few = printed(plan_table(comparison, checks=checks[:4]))
    assert few.count("dpverify account") == 4


def test_no_line_for_the_shell_is_broken(comparison: Comparison) -> None:
    check = "dpverify account rr" + " --long 1" * 30
    screen = Console(width=40, file=io.StringIO())
    screen.print(plan_table(comparison, checks=[(comparison.plans[0], check)]), markup=False, crop=False)
    assert check in screen.file.getvalue()  # type: ignore[attr-defined]


def test_an_error_above_half_of_the_users_is_in_vain() -> None:
    assert "answering n/2, without any message, errs less." in str(plan("rr", ("0.01", 0), users=9))
    assert "n/2" not in str(plan("rr", (3, 0), users=9))


def test_what_is_not_proved_says_so() -> None:
    shown = Guarantee(1.00001, 0.0, Adjacency.REPLACE_ONE, ThreatModel.LOCAL, Side.UPPER_BOUND, "", "")
    assert epsilon_of(shown) == "1.0001"
    assert epsilon_of(replace(shown, side=Side.ESTIMATE)) == "1.0001 (unproved)"


@pytest.mark.parametrize("honest", [90, "0.9", 150, 5_000])
def test_a_number_of_honest_users_that_may_be_meant_as_a_percentage_is_said_to_be_none(honest: int | str) -> None:
    found = plan("rr", (1, "1e-6"), users=20_000, honest=honest)
    known = account(found.protocol, delta="1e-6", honest=honest)
    said = [" (a number, not 90 %, which is 0.9)" in printed(account_table(known), 200), "not 90 %" in str(found)]
    assert said == [honest == 90] * 2
