"""The classifier that is asked for a budget."""

import math
import pickle
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine, make_classification
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import dpverify
from dpverify.learning import planner
from dpverify.learning.base import FIXED_SEED
from dpverify.learning.classifier import RULES, PrivateDensityClassifier
from dpverify.learning.guarantee import PrivacyWarning
from dpverify.learning.labels import LABELS_TAKEN
from tests.learning.points import blobs
from tests.refusals import refused
from tests.samples import assert_mean

pytestmark = pytest.mark.filterwarnings("ignore::dpverify.learning.guarantee.PrivacyWarning")
FREE: dict[str, Any] = {"epsilon": math.inf, "label_epsilon": math.inf}
SMALL: dict[str, Any] = {"bits": 32, "classes": [0, 1], "random_state": 0}


@pytest.fixture(scope="module")
def learned() -> tuple[PrivateDensityClassifier, np.ndarray, np.ndarray]:
    X, y = blobs(2000, 2, 4, 0)
    return PrivateDensityClassifier(epsilon=1, bits=32, random_state=3).fit(X, y), X, y


@pytest.mark.long
@pytest.mark.parametrize("kernel", ["inner-product", "laplacian"])
def test_scikit_learn_conventions(kernel: str) -> None:
    checks = check_estimator(PrivateDensityClassifier(kernel=kernel, **FREE), on_skip=None)
    assert len(checks) > 40
    assert {check["status"] for check in checks if check["check_name"] != "check_array_api_input"} == {"passed"}


@pytest.mark.long
def test_scikit_learn_conventions_with_privacy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "_KEPT", 1)  # few plans
    checks = check_estimator(PrivateDensityClassifier(kernel="gaussian", bits=32), on_skip=None)
    assert {check["status"] for check in checks if check["check_name"] != "check_array_api_input"} == {"passed"}


def test_it_learns_within_the_budget(learned: tuple[PrivateDensityClassifier, np.ndarray, np.ndarray]) -> None:
    model, X, y = learned
    assert model.score(X, y) > 0.9
    assert ((model.decision_function(X) > 0.0) == (model.predict(X) == model.classes_[1])).all()
    guarantee = model.guarantee_
    assert guarantee.point.epsilon == 1
    assert guarantee.epsilon == 6
    assert guarantee.delta <= 1e-6
    assert guarantee.notes == (LABELS_TAKEN, FIXED_SEED)
    assert guarantee.whole.adjacency is dpverify.Adjacency.REPLACE_ONE
    assert guarantee.whole.threat_model is dpverify.ThreatModel.COMMUNICATION
    assert guarantee.whole.side is dpverify.Side.UPPER_BOUND


@pytest.mark.long
def test_the_account_of_the_fitted_estimator_agrees(
    learned: tuple[PrivateDensityClassifier, np.ndarray, np.ndarray],
) -> None:
    model, *_ = learned
    found = dpverify.account(model, delta=1e-6, relative_width=1e-3).epsilon
    assert 6.0 <= found.upper <= model.guarantee_.epsilon * 1.001
    assert found.lower > 4.99  # a reported label alone


def test_published_is_all_that_a_pickle_needs(learned: tuple[PrivateDensityClassifier, np.ndarray, np.ndarray]) -> None:
    model, X, _ = learned
    dumped = pickle.dumps(model)
    again = pickle.loads(dumped)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.guarantee_ == model.guarantee_
    assert len(dumped) < 20_000  # no user's point
    assert all(density.clipped_fraction is None for density in again.protocol_.densities_)
    assert again._fitted_with["random_state"] is None  # who takes the seed away afterwards finds it nowhere
    assert clone(model).get_params() == model.get_params()


def test_streams_parts_and_partitions_are_the_same_for_the_same_parts() -> None:
    X, y = blobs(200, 2, 4, 1)
    whole = PrivateDensityClassifier(**SMALL).fit(X, y)
    chunks = [(X[start : start + 50], y[start : start + 50]) for start in range(0, 200, 50)]
    stream = PrivateDensityClassifier(**SMALL).fit_chunks(iter(chunks))
    model = PrivateDensityClassifier(**SMALL)
    sums = [model.partial_sums(*chunk, part=part) for part, chunk in reversed(list(enumerate(chunks)))]
    merged = model.fit_sums(sums)
    assert stream.reported_counts_.sum() == whole.reported_counts_.sum() == 200
    np.testing.assert_array_equal(stream.class_densities(X), merged.class_densities(X))
    one = PrivateDensityClassifier(**SMALL).fit_chunks([(X, y)])
    np.testing.assert_array_equal(one.class_densities(X), whole.class_densities(X))


@pytest.mark.long
def test_a_stream_has_the_law_of_the_whole() -> None:
    """Both are unbiased for the same densities, whose error has the deviation that is said."""
    X, y = blobs(256, 2, 3, 2)
    settings: dict[str, Any] = {"kernel": "gaussian", "bits": 16, "classes": [0, 1], "label_epsilon": math.inf}
    exact = PrivateDensityClassifier(**{**settings, **FREE})
    f = exact.partial_sums(X, y, part=0).public.drawn.f(exact.fit(X, y).scale_(X)).reshape(256, -1)
    g = exact.protocol_.features_.g(np.eye(3)[:1]).ravel()
    truth = (f @ g)[y == 0].mean() / 8
    rng = np.random.default_rng(4)
    whole, stream = [], []
    for _ in range(150):
        made = PrivateDensityClassifier(**settings, random_state=rng)
        whole.append(made.fit(X, y).class_densities(np.eye(3)[:1])[0, 0])
        chunks = [(X[:50], y[:50]), (X[50:], y[50:])]
        stream.append(made.fit_chunks(chunks).class_densities(np.eye(3)[:1])[0, 0])
    for found in (whole, stream):
        assert_mean(np.array(found), truth)
    rounding = math.sqrt(float(((1 - f[y == 0] ** 2).mean(axis=0) / 128 * g**2).sum())) / 8
    expected = math.hypot(float(made.noise_[0]), rounding)
    for found in (whole, stream):
        assert np.std(found) == pytest.approx(expected, rel=0.3)  # 5.2 deviations of a standard deviation of 150


@pytest.mark.parametrize(("load", "scaled", "good"), [(load_digits, False, 0.88), (load_wine, True, 0.91)])
@pytest.mark.parametrize("kernel", ["inner-product", "gaussian"])
def test_defaults_learn(load: Any, scaled: bool, good: float, kernel: str) -> None:
    X, y = load(return_X_y=True)
    scale = (X.min(axis=0) - 1.0, X.max(axis=0) + 1.0) if scaled else "unit"  # as if these were public
    model = PrivateDensityClassifier(kernel=kernel, public_scale=scale, random_state=0, **FREE)
    assert cross_val_score(model, X, y, cv=4).mean() > good - 0.03


def test_defaults_learn_made_up_data() -> None:
    X, y = make_classification(n_samples=2000, random_state=1)
    for kernel in ("inner-product", "gaussian"):
        model = PrivateDensityClassifier(kernel=kernel, random_state=0, **FREE)
        assert cross_val_score(model, X, y, cv=4).mean() > 0.89


def test_tables_keep_their_columns() -> None:
    X, y = blobs(300, 2, 3, 5)
    table = pandas.DataFrame(X, columns=["a", "b", "c"])
    names = pandas.Series(np.array(["no", "yes"])[y])
    model = PrivateDensityClassifier(bits=32, random_state=0, **FREE).fit(table, names)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert set(model.predict(table)) == {"no", "yes"}
    with pytest.raises(ValueError, match=r"feature names"):
        model.predict(table[["b", "a", "c"]])
    stream = PrivateDensityClassifier(bits=32, classes=["no", "yes"], **FREE)
    stream.fit_chunks([(table[:100], names[:100]), (table[100:], names[100:])])
    assert stream.feature_names_in_.tolist() == ["a", "b", "c"]
    assert stream.classes_.tolist() == ["no", "yes"]


@pytest.mark.long
def test_warnings_of_what_is_not_private() -> None:
    X, y = blobs(4000, 2, 3, 6)
    for settings, message in (
        ({"epsilon": math.inf}, r"^Nothing protects the users' points: epsilon=inf is for comparison only\.$"),
        ({"label_epsilon": math.inf}, r"^Nothing protects the users' labels: label_epsilon=inf is"),
        (FREE, r"^Nothing protects the users' points and labels: epsilon=inf and label_epsilon=inf"),
    ):
        with pytest.warns(PrivacyWarning, match=message):
            PrivateDensityClassifier(**{**SMALL, **settings}).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyWarning)
        PrivateDensityClassifier(**SMALL).fit(X, y)


@pytest.mark.long
def test_a_warning_of_too_few_users_says_how_many_are_enough() -> None:
    X, y = blobs(40, 2, 3, 7)
    with pytest.warns(
        PrivacyWarning, match=r"^Class \d has \d+ users, and noise .*about [\d,]+ users are needed"
    ) as caught:
        PrivateDensityClassifier(**SMALL, epsilon=1).fit(X, y)
    (text,) = (str(one.message) for one in caught)
    needed = int(text.split("about ")[1].split(" users")[0].replace(",", ""))
    X, y = blobs(2 * needed + 60, 2, 3, 7)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyWarning)
        PrivateDensityClassifier(**SMALL, epsilon=1).fit(X, y)


def test_classes_that_nobody_reported() -> None:
    X, y = blobs(60, 2, 3, 8)
    model = PrivateDensityClassifier(classes=[0, 1, 7], bits=32, **FREE)
    with pytest.warns(PrivacyWarning, match=r"^Nobody reported 7: never predicted\.$"):
        model.fit(X, y)
    assert model.classes_.tolist() == [0, 1]
    assert model.empty_classes_.tolist() == [7]
    with pytest.raises(ValueError, match=r"^Class 7 was reported by nobody"):
        clone(model).set_params(empty_class="error").fit(X, y)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"epsilon": 0}, ValueError, r"^epsilon=0 must be in \(0, inf\)\.$"),
        ({"epsilon": math.nan}, ValueError, r"^epsilon=nan must be a finite number\.$"),
        ({"delta": 0}, ValueError, r"^delta=0 must be in \(0, 1\)"),
        ({"delta": 1}, ValueError, r"^delta=1 must be in \[0, 1\)\.$"),
        ({"label_epsilon": 0.0}, ValueError, r"^label_epsilon=0\.0 must be"),
        ({"label_epsilon": None}, TypeError, r"^label_epsilon=None must be"),
        ({"kernel": "linear"}, ValueError, r"^kernel='linear' must be one of"),
        ({"bandwidth": 1.0}, ValueError, r"^bandwidth=1\.0 must be None for the kernel inner-product"),
        ({"bitsum": "local-rr"}, ValueError, r"^bitsum='local-rr' must be one of"),
        ({"bits": 0}, ValueError, r"^bits=0 must be"),
        ({"rule": "mean"}, ValueError, r"^rule='mean' must be one of"),
        ({"rule": "nearest-mean", "kernel": "gaussian"}, ValueError, r"^rule='nearest-mean' must be"),
        ({"empty_class": "skip"}, ValueError, r"^empty_class='skip' must be one of"),
        ({"classes": [0]}, ValueError, r"^y\[1\]=.*1.* must be one of classes=\[0\]\.$"),
        ({"public_scale": -1.0}, ValueError, r"^public_scale=-1\.0 must be"),
        ({"random_state": -1}, ValueError, r"^random_state=-1 must be"),
        ({"public_random_state": None}, TypeError, r"^public_random_state=None must be"),
    ],
)
def test_parameters_are_checked(settings: dict[str, Any], error: type[Exception], message: str) -> None:
    X, y = blobs(20, 2, 3, 10)
    with pytest.raises(error, match=message):
        PrivateDensityClassifier(**{"bits": 32, **settings}).fit(X, y)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_points_must_be_finite(value: float) -> None:
    X, y = blobs(20, 2, 3, 10)
    X[6, 2] = value
    with pytest.raises(ValueError, match=rf"^X\[6, 2\]={value} must be a finite number, not NaN or infinity\.$"):
        PrivateDensityClassifier(bits=32).fit(X, y)


def test_parts_are_checked() -> None:
    X, y = blobs(20, 2, 3, 10)
    with refused("classes=None"):
        PrivateDensityClassifier().partial_sums(X, y, part=0)
    with refused("part=-1"):
        PrivateDensityClassifier(**SMALL).partial_sums(X, y, part=-1)
    with pytest.raises(ValueError, match=r"^sums has no users, but must have at least 1\.$"):
        PrivateDensityClassifier(**SMALL).fit_sums([])
    sums = PrivateDensityClassifier(**SMALL).partial_sums(X, y, part=0)
    for other in ({"bits": 64}, {"label_epsilon": 9.0}, {"classes": [0, 2]}):
        with refused("sums"):
            PrivateDensityClassifier(**{**SMALL, **other}).fit_sums(sums)


def test_only_the_rule_of_densities_takes_no_norms_off() -> None:
    X, y = blobs(40, 2, 3, 12)
    found = [PrivateDensityClassifier(bits=4, rule=rule, **FREE).fit(X, y).squared_norms_ for rule in RULES]
    assert [bool(norms.any()) for norms in found] == [rule != "density" for rule in RULES]


def test_labels_are_randomized_before_they_are_counted() -> None:
    X = blobs(4_000, 2, 3, 11)[0]
    for epsilon, share in ((1.0, 1.0 / (1.0 + math.e)), (math.inf, 0.0)):
        model = PrivateDensityClassifier(**{**SMALL, "label_epsilon": epsilon})
        counts = [each.users for each in model.partial_sums(X, np.zeros(4_000, dtype=int), part=0).counts]
        assert counts == pytest.approx([4_000 * (1.0 - share), 4_000 * share], abs=130)
        assert sum(counts) == 4_000


def test_a_seed_of_the_operating_system_is_not_called_cryptographic() -> None:
    """Wherever randomness is said to come from there: numpy's generator, or draws of integers from it."""
    root = Path(dpverify.__file__).parents[1]
    for file in (*root.glob("protocols/**/*.py"), *root.glob("dpverify/**/*.py")):
        words = " ".join(file.read_text(encoding="utf-8").split())
        if re.search(r"None takes it(s seed)? from the operating system", words):
            assert "numpy's PCG64, which is" in words.replace("**", ""), file
            assert "not cryptographic" in words, file
            assert "None takes it from" not in words, file
