"""`account` of steps: one point as an interval, what it says, and what does not stand together."""

import pytest

import dpverify
from dpverify.guarantee import Adjacency, CapacityError
from dpverify.planning.steps.account import StepsResult, steps_of
from dpverify.planning.steps.step import NoiseLaw, NoisyStep

TRAINING = NoisyStep(1.0, 0.01)


def test_a_point_and_its_inverse() -> None:
    found = dpverify.account(TRAINING, instances=1000, delta="1e-5", relative_width=1e-4)
    assert isinstance(found, StepsResult)
    back = dpverify.account([(TRAINING, 1000)], epsilon=found.epsilon.upper, relative_width=1e-4)
    assert back.delta.lower <= 1e-5 * (1.0 + 1e-9)
    assert back.delta.upper >= 0.999e-5
    assert back.delta.width < 2e-3 * back.delta.upper
    (profile,) = found.epsilons([1e-5])
    assert profile.lower <= found.epsilon.upper
    assert found.epsilon.lower <= profile.upper


def test_a_result_says_what_it_rests_on() -> None:
    found = dpverify.account(TRAINING, instances=50, delta="1e-5", adjacency="zero-out", relative_width=1e-3)
    text = str(found)
    assert text.startswith("50 noisy steps, zero-out\n50 x gaussian noise of 1, each record with probability 0.01\n")
    assert "At most: upper bound, zero-out adjacency, central threat model." in text
    assert "Note: Poisson sampling is assumed" in text
    plain = found.to_dict()
    assert plain["steps"] == [{"noise": 1.0, "rate": 0.01, "law": "gaussian", "sampling": "poisson", "instances": 50}]
    assert plain["adjacency"] == plain["guarantee"]["adjacency"] == "zero-out"
    assert found.users is None
    assert found.plot().get_title(loc="left") == "noisy steps, central threat model"


def test_a_list_longer_than_a_table_is_cut() -> None:
    found = dpverify.account([NoisyStep(100.0 + i, 0.1) for i in range(14)], delta="1e-5", relative_width=1e-2)
    assert str(found).count("1 x gaussian") == 12
    assert "\n...\n" in str(found)


def test_no_delta_at_all() -> None:
    found = dpverify.account(NoisyStep(2.0, 0.5, law="laplace"), instances=3, delta=0)  # type: ignore[arg-type]
    assert 0.84278 < found.epsilon.lower < found.epsilon.upper < 0.84279
    assert dpverify.account(TRAINING, delta=0).epsilon.lower == float("inf")


def test_steps_are_told_from_all_else() -> None:
    assert steps_of([]) is None
    assert steps_of(dpverify.RandomizedResponse(10, 0.1)) is None
    made = steps_of([TRAINING, (TRAINING, 4)], 3)
    assert made is not None
    assert made.parts == ((TRAINING, 15),)
    assert made.adjacency is Adjacency.ADD_REMOVE


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"honest": 3}, "honest=3 must be omitted for steps of a trusted curator"),
        ({"ball": True}, "ball=True must be omitted for steps"),
        ({"at_most": 2}, "at_most=2 must be omitted for steps"),
        ({"instances": 0}, "instances=0 must be an integer"),
        ({"epsilon": 1}, "exactly one of delta="),
    ],
)
def test_what_has_no_meaning_is_refused(words: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        dpverify.account(TRAINING, delta=1e-5, **words)  # type: ignore[arg-type]


def test_adjacencies_are_never_mixed() -> None:
    protocol = dpverify.RandomizedResponse(10, 0.1)
    with pytest.raises(ValueError, match=r"^adjacency=None must be 'replace-one' where steps stand beside"):
        dpverify.account([(TRAINING, 3), (protocol, 1)], delta=1e-5)
    with pytest.raises(ValueError, match=r"^adjacency='add-remove' must be 'replace-one' but for steps"):
        dpverify.account(protocol, delta=1e-5, adjacency="add-remove")
    assert dpverify.account(protocol, delta=1e-5, adjacency="replace-one").epsilon.upper > 0.0


def test_a_step_stands_with_its_number_and_nothing_else() -> None:
    for part in ((NoisyStep(1.0),), (NoisyStep(1.0), 2, 3)):
        with pytest.raises(ValueError, match=r"must be \(step, instances\)\.$"):
            steps_of([part])


@pytest.mark.parametrize("step", [NoisyStep(1e150, 1e-150), NoisyStep(1.0, 5e-324)])
def test_what_leaves_the_floats_is_refused_in_a_sentence(step: NoisyStep) -> None:
    with pytest.raises(CapacityError, match=r"^noisy steps (leaves|cannot) .*\.$"):
        dpverify.account(step, instances=2, delta="1e-5")
    assert dpverify.account(step, delta="1e-5").epsilon.upper < 1e-15  # a single one needs no grid


def test_losses_beyond_the_exponential_function_are_enclosed() -> None:
    found = dpverify.account(NoisyStep(1e-100, 1e-3, NoiseLaw.LAPLACE), delta="1e-5")
    assert found.epsilon.upper == pytest.approx(1e100, rel=1e-12)
