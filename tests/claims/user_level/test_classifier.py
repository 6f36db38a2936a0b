"""The fitted learner is as private as its selection, and numbers of users are enough for the theorems."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dpverify.claims.shared.buckets import least_shape, under_estimating
from dpverify.claims.user_level import classifier
from dpverify.claims.user_level.classifier import UserLevelClaims, least_users, plurality_failure
from dpverify.guarantee import InfeasibleBudgetError, ThreatModel
from dpverify.papers.entries import stated
from dpverify.papers.figures import recorded
from dpverify.planning.account import account
from protocols.selection import Selection
from protocols.user_level.central_selection import ExponentialSelection
from protocols.user_level.classifier import UserLevelClassifier
from protocols.user_level.local_selection import HadamardSelection
from protocols.user_level.representations import Thresholds
from protocols.user_level.stable_learner import WeighingLearner
from tests.refusals import refused

CENTRAL_LEARNER = stated("ghazi2021/user_level", "central_learner")
LOCAL_LEARNER = stated("ghazi2021/user_level", "local_learner")
SHUFFLE_LEARNER = stated("ghazi2021/user_level", "shuffle_learner")

P = math.exp(-0.2)
SHAPE = least_shape((0.99, 1e-6), P, tolerance=1e-3)


def fitted(selection: object) -> UserLevelClassifier:
    X = np.random.default_rng(1).integers(0, 8, (900, 1))
    model = UserLevelClassifier(WeighingLearner(Thresholds(8), 20.0), selection, random_state=1)
    return model.fit(X, (X[:, 0] >= 3).astype(int), groups=np.arange(900) % 30)


@pytest.mark.parametrize(
    ("make", "adversary"),
    [
        (lambda n, k: HadamardSelection(k, 1.0), ThreatModel.LOCAL),
        (lambda n, k: ExponentialSelection(n, k, 1.0), ThreatModel.CENTRAL),
        (lambda n, k: Selection(under_estimating(n, SHAPE, P), k), ThreatModel.COMMUNICATION),
    ],
)
def test_the_learner_has_the_privacy_of_its_selection(make: object, adversary: ThreatModel) -> None:
    model = fitted(make)
    found, own = account(model, delta=1e-6), account(make(30, 9), delta=1e-6)
    assert found.epsilon == own.epsilon
    assert found.guarantee.threat_model is adversary
    assert found.epsilon.upper <= 1.0
    assert account(model, instances=3, delta=1e-6).epsilon == account(make(30, 9), instances=3, delta=1e-6).epsilon
    fewer = account(model, delta=1e-6, honest=20).epsilon
    if adversary is ThreatModel.COMMUNICATION:  # whose noise is divided among all
        assert fewer == account(make(30, 9), delta=1e-6, honest=20).epsilon
        assert fewer.lower > found.epsilon.upper
    else:
        assert fewer == found.epsilon
    claims = UserLevelClaims()
    assert claims.users(model) == 30
    assert claims.note(model, adversary).startswith("all examples of one user are replaced; ")
    assert claims.parameters(model)["selection"]["name"] in {"hadamard-selection", "exponential-selection", "selection"}


def test_without_a_selection_nothing_is_private() -> None:
    with refused("selection=None"):
        account(fitted(None), delta=1e-6)


def test_a_number_of_users_is_enough_and_one_less_is_not() -> None:
    for make in (lambda n: HadamardSelection(16, 0.5), lambda n: ExponentialSelection(n, 16, 0.5)):
        users = least_users(make, 0.9, 0.03)
        assert plurality_failure(make(users), users, 0.9) <= 0.03 < plurality_failure(make(users - 1), users - 1, 0.9)


@pytest.mark.parametrize("bits", [1, 4, 8, 14])
@pytest.mark.parametrize("epsilon", [0.1, 0.99])
@pytest.mark.parametrize("beta", [0.001, 0.099])
def test_the_constants_of_theorems_29_and_30(bits: int, epsilon: float, beta: float) -> None:
    for theorem in (LOCAL_LEARNER[0], CENTRAL_LEARNER[0]):
        assert theorem.failed_hypotheses(alpha=0.05, beta=beta, epsilon=epsilon) == ()
    scale = bits + math.log(1 / beta)
    local = math.floor(24 * scale / epsilon**2)
    assert plurality_failure(HadamardSelection(2**bits, epsilon), local, 0.9) <= beta / 3
    central = math.floor(3.2 * scale / epsilon)
    assert plurality_failure(ExponentialSelection(central, 2**bits, epsilon), central, 0.9) <= beta / 3


def test_in_the_shuffle_model_the_size_of_the_class_does_not_matter() -> None:
    few, many, most = (
        least_users(lambda n, k=k: Selection(under_estimating(n, SHAPE, P), k), 0.9, 0.03) for k in (9, 1050, 10**12)
    )
    assert (few, many, most) == (74, 93, 106)
    assert least_users(lambda n: Selection(under_estimating(n, SHAPE, P), 10**15), 0.9, 0.03) == most
    assert SHUFFLE_LEARNER[0].name == "ghazi2021-theorem-35"


def test_shuffled_selections_fail_no_more_often() -> None:
    rng, users, runs = np.random.default_rng(3), 120, 3000
    selection = Selection(under_estimating(users, SHAPE, P), 4)
    bound = plurality_failure(selection, users, 0.7)
    held = rng.binomial(users, 0.7, runs)
    counts = np.stack([held, users - held, 0 * held, 0 * held], axis=1)
    failures = int((selection.analyze(selection.sample_view(counts, rng)) != 0).sum())
    assert stats.binomtest(failures, runs, bound, alternative="greater").pvalue > 1e-6
    assert bound < 0.9


def test_arguments_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    with refused("share=0.5"):
        least_users(lambda n: HadamardSelection(2, 1.0), 0.5, 0.1)
    monkeypatch.setattr(classifier, "_MOST_USERS", 64)
    with refused("failure=0.01", InfeasibleBudgetError):
        least_users(lambda n: HadamardSelection(2, 0.01), 0.9, 0.01)
    with refused("users=30"):
        plurality_failure(Selection(under_estimating(120, SHAPE, P), 4), 30, 0.9)


def test_the_example_of_the_document_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).resolve().parents[3] / "docs/user_level.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    exec(compile(code, "user_level.md", "exec"), {})
    score, epsilon = capsys.readouterr().out.splitlines()
    assert score == "1.0"
    assert epsilon == "[0.499999, 0.5]"


def test_the_document_says_what_the_entry_says() -> None:
    text = " ".join((Path(__file__).resolve().parents[3] / "docs/user_level.md").read_text(encoding="utf-8").split())
    users, bits = recorded("user_level:shuffle_users"), recorded("user_level:representation_step")["left_bits"]
    assert re.findall(r"(\d+) users for 9 hypotheses, (\d+) for 1,050 and (\d+) for \$10", text) == [
        tuple(str(users[name]) for name in ("few", "many", "most"))
    ]
    assert f"{bits:.1f} bits are left as eps n vanishes" in text
