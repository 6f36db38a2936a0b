"""What a search finds is proved again, whatever it looked for."""

import math

import pytest

from dpverify.changes import Change, Full, L2Ball, L2Bounded
from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.claims.shared.bitsum_pairs import loss_of_bits
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols.randomized_response import flip_probability_at_rmse
from dpverify.guarantee import Budget, InfeasibleBudgetError, ThreatModel
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from dpverify.planning.proved import Search, TargetEpsilon
from dpverify.privacy_loss.joint.joint_change import JointChange
from protocols.bitsum import RandomizedResponse

TARGET = TargetEpsilon(Full(4), Budget("1", "1e-5"), ThreatModel.COMMUNICATION)


@pytest.mark.parametrize("margin", [None, 0.2])
def test_what_is_found_is_within_the_budget(margin: float | None) -> None:
    protocol, epsilon = Search(BITSUM_CLAIMS["nb"], 200, error_margin=margin).proved(TARGET)
    assert epsilon <= 1.0
    assert account(protocol, instances=4, delta="1e-5").epsilon.lower <= epsilon


def test_a_search_that_misses_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = BITSUM_CLAIMS["poisson"]
    asked: list[float] = []

    def careless(users: int, composed: TargetEpsilon, aim: float, most: float | None = None) -> object:
        asked.append(aim)
        return claims.protocol(users, 1.0)

    monkeypatch.setattr(type(claims), "least_error", lambda self, *words: careless(*words))
    with pytest.raises(InfeasibleBudgetError, match="cannot be proved for any parameters of poisson"):
        Search(claims, 200).proved(TARGET)
    assert asked == sorted(asked, reverse=True)
    assert len({*asked}) == 8


def test_what_is_proved_decides_and_the_better_of_two_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found spends a little more than the target, and then what it may; at delta = 0 it errs more, or less."""
    claims = BITSUM_CLAIMS["rr"]
    over = math.nextafter(1.0, 2.0)
    for pure, wanted in ((0.1, ("pure", 1.0)), (0.3, ("again", 0.9))):
        found, spent = iter(["pure", "first", "again"]), iter([over, over, 0.9])
        monkeypatch.setattr(type(claims), "least_error", lambda *of, found=found: next(found))
        monkeypatch.setattr(type(claims), "guaranteed_epsilon", lambda *of, spent=spent: next(spent))
        monkeypatch.setattr(type(claims), "rmse", lambda self, one, pure=pure: {"pure": pure}.get(one, 0.2))
        assert Search(claims, 200).proved(TARGET) == wanted


@pytest.mark.long
@pytest.mark.parametrize("square", [6.0, 40.5])
def test_a_search_over_joint_changes_begins_next_to_its_answer(square: float, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    measured = JointChange.epsilon_upper

    def counted(self: JointChange, delta: float, **options: float) -> float:
        asked.append(measured(self, delta, **options))
        return asked[-1]

    monkeypatch.setattr(JointChange, "epsilon_upper", counted)
    target = TargetEpsilon(L2Bounded(square, 90), Budget("1", "1e-6"), ThreatModel.COMMUNICATION)
    protocol, epsilon = Search(BITSUM_CLAIMS["rr"], 2000).proved(target)
    assert isinstance(protocol, RandomizedResponse)
    assert len(asked) <= 3
    # Nobody could plan for noticeably less noise.
    assert 1.0 - 5e-4 < epsilon <= 1.0
    less = RandomizedResponse(2000, protocol.flip_probability * (1.0 - 1e-3))
    assert BITSUM_CLAIMS["rr"].guaranteed_epsilon(less, target) > 1.0


@pytest.mark.long
@pytest.mark.parametrize(
    ("bitsum", "epsilon", "delta", "change", "rmse", "most"),
    [
        # A search by sharp bounds alone took 26 of them and 46, for this error.
        ("rr", "1", "1e-10", L2Bounded(0.13, 16), 5.9219, 6),
        ("3nb", "1", "1e-6", L2Bounded(0.13, 16), 1.8357, 18),
        # Few changes in a ball: 13 sharp bounds and 12 until then.
        ("rr", "0.3", "1e-8", L2Ball(0.33, 16), 11.0086, 4),
        ("nb", "0.3", "1e-8", L2Ball(0.13, 16), 7.50144, 7),
        # Epsilon jumps there, where 16 were asked.
        ("rr", "3", "1e-5", L2Ball(1.0, 16), 4.2513, 6),
    ],
)
def test_small_joint_changes_are_searched_with_guesses_and_proved(
    bitsum: str, epsilon: str, delta: str, change: Change, rmse: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sharp, asked = list[float](), JointChange.epsilon_upper

    def counted(self: JointChange, delta: float, **options: float) -> float:
        found = asked(self, delta, **options)
        if not self._grid.guess:
            sharp.append(found)
        return found

    monkeypatch.setattr(JointChange, "epsilon_upper", counted)
    target = TargetEpsilon(change, Budget(epsilon, delta), ThreatModel.COMMUNICATION)
    margin = None if bitsum == "rr" else 0.01
    protocol, proved = Search(BITSUM_CLAIMS[bitsum], 85_742, error_margin=margin).proved(target)
    # The last one is the proof, but in a ball some follow.
    assert proved in (sharp if isinstance(change, L2Ball) else sharp[-1:])
    assert proved <= target.target.epsilon
    assert len(sharp) <= most
    assert BITSUM_CLAIMS[bitsum].rmse(protocol) <= rmse


def test_where_pure_privacy_errs_next_to_nothing_no_joint_change_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: JointChange, delta: float, **options: float) -> float:
        raise AssertionError

    # The points of a small ball are rounded to bits that are private enough: 25 guesses and 17 sharp bounds until then.
    monkeypatch.setattr(JointChange, "epsilon_upper", refused)
    target = TargetEpsilon(L2Ball(0.13, 16), Budget("3", "1e-5"), ThreatModel.COMMUNICATION)
    protocol, proved = Search(BITSUM_CLAIMS["rr"], 85_742).proved(target)
    assert proved == 3.0
    assert BITSUM_CLAIMS["rr"].rmse(protocol) < 1e-6


@pytest.mark.parametrize(
    ("change", "nearly"), [(Full(7), Full(7)), (L2Bounded(0.9, 7), L2Bounded(0.9, 7)), (L2Bounded(3.9, 7), Full(3))]
)
def test_what_is_searched_with_roughly_is_no_more(change: Change, nearly: Change) -> None:
    target = TargetEpsilon(change, Budget("1", "1e-5"), ThreatModel.COMMUNICATION)
    assert target.nearly.change == nearly


@pytest.mark.long
@pytest.mark.parametrize(("users", "instances", "epsilon"), [(2000, 16, "1"), (300, 1, "0.5"), (3000, 1, "3")])
def test_a_coarse_search_is_proved_and_errs_little_more(
    users: int, instances: int, epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = BITSUM_CLAIMS["rr"]
    target = TargetEpsilon(Full(instances), Budget(epsilon, "1e-6"), ThreatModel.COMMUNICATION, coarse=True)
    asked: list[bool] = []
    families = type(claims).families

    def noted(self: object, *words: object, loose: bool = False) -> object:
        asked.append(loose)
        return families(self, *words, loose=loose)

    monkeypatch.setattr(type(claims), "families", noted)
    protocol, proved = Search(claims, users).proved(target)
    # Few cells, and once or twice: that is why it is quick.
    assert asked
    assert all(asked)
    assert len(asked) <= 2
    monkeypatch.undo()
    assert proved <= float(epsilon)
    # The sharp account agrees, and nearly that much noise is needed.
    assert account(protocol, instances=instances, delta="1e-6").epsilon.upper <= proved
    p = flip_probability_at_rmse(FLOATS, users, claims.rmse(protocol) / 1.02)
    assert account(RandomizedResponse(users, float(p)), instances=instances, delta="1e-6").epsilon.lower > float(
        epsilon
    )


def test_what_spends_next_to_nothing_is_proved_without_an_integral(monkeypatch: pytest.MonkeyPatch) -> None:
    # A budget that no noise that floats hold can spend took integrals of four seconds each.
    monkeypatch.setattr(JointChange, "_integrate", None)
    target = TargetEpsilon(L2Bounded(6.0, 90), Budget("1e6", "1e-6"), ThreatModel.COMMUNICATION)
    _, epsilon = Search(BITSUM_CLAIMS["rr"], 2000).proved(target)
    assert 0.0 < epsilon <= 1e6


@pytest.mark.parametrize(("name", "most"), [("poisson", 1e-6), ("nb", 1.02e-6)])
def test_where_the_ball_alone_keeps_the_budget_next_to_no_noise_is_taken(name: str, most: float) -> None:
    found = plan(name, (3, "1e-6"), users=100, instances=4, squared_change=0.5, ball=True)
    assert found.bitsum_rmse <= most
    known = account(found.protocol, instances=4, squared_change=0.5, ball=True, delta="1e-6").epsilon
    assert known.lower < found.guarantee.epsilon < known.upper + 1e-5 < 3.0
    # A little less, and some is taken.
    assert found.guarantee.epsilon == loss_of_bits(L2Ball(0.5, 4))
    aimed = TargetEpsilon(L2Ball(0.5, 4), Budget("2.95", "1e-6"), ThreatModel.COMMUNICATION)
    assert aimed(BITSUM_CLAIMS[name].pairs(found.protocol).every) > 2.95
