import math
import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from protocols.bitsum import ExactSum, RandomizedResponse
from protocols.classifier import HighestDensityClassifier
from protocols.lsq import GaussianFeatures, Identity
from protocols.lsq.base import public_generator


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def blobs(users: int, classes: int, dimension: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(users) % classes
    return unit(np.eye(classes, dimension)[y] + 0.2 * rng.normal(size=(users, dimension))), y


@pytest.mark.parametrize(
    ("estimator", "expected_failures"),
    [
        (HighestDensityClassifier(label_epsilon=None), {}),
        (
            HighestDensityClassifier("inner-product", unit_norm="normalize", instances=512, label_epsilon=None),
            {"check_estimators_dtypes": "Its integer data hold a zero vector, which has no direction to normalize."},
        ),
    ],
    ids=["default", "inner-product"],
)
def test_scikit_learn_conventions(estimator: HighestDensityClassifier, expected_failures: dict[str, str]) -> None:
    results = check_estimator(estimator, expected_failed_checks=expected_failures, on_skip=None)
    assert len(results) > 40
    assert {result["check_name"] for result in results if result["status"] == "xfail"} == set(expected_failures)


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    X, test = unit(X), np.arange(len(y)) % 5 == 0
    return X[~test], y[~test], X[test], y[test]


def test_digits_come_close_to_the_exact_density_classifier(
    digits: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    X, y, queries, truth = digits
    kernel = GaussianFeatures(X.shape[1], 0.5).kernel(X, queries)
    exact = np.stack([kernel[y == label].mean(axis=0) for label in range(10)], axis=1)
    instances = 4096
    model = HighestDensityClassifier(bandwidth=0.5, instances=instances, random_state=1, label_epsilon=None).fit(
        X.astype(np.float32), y
    )
    # One instance's estimate is in [-2, 2]: Hoeffding's inequality over all queries and classes, at 1e-6.
    tolerance = math.sqrt(8 * math.log(2 * exact.size / 1e-6) / instances)
    assert np.abs(model.decision_function(queries) - exact).max() < tolerance
    exact_score = float(np.mean(exact.argmax(axis=1) == truth))
    assert exact_score > 0.9
    assert abs(model.score(queries, truth) - exact_score) < 0.03
    assert np.mean(model.predict(queries) == exact.argmax(axis=1)) > 0.93


def test_digits_with_noise(digits: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]) -> None:
    X, y, queries, truth = digits
    asked: list[int] = []

    def bitsum(users: int) -> RandomizedResponse:
        asked.append(users)
        return RandomizedResponse(users, 0.1)

    model = HighestDensityClassifier(
        "inner-product", instances=512, bitsum=bitsum, label_epsilon=4.0, random_state=2, chunk_size=50
    ).fit(X, y)
    assert asked == model.reported_counts_.tolist() == [density.users for density in model.densities_]
    assert sum(asked) == len(y)
    assert asked != np.bincount(y).tolist()
    assert 0.6 < model.score(queries, truth) < 0.9


def test_identity_is_the_nearest_class_mean() -> None:
    X, y = blobs(300, 3, 5, 3)
    model = HighestDensityClassifier(Identity(5, limit=1.0), random_state=4, label_epsilon=None).fit(X, y)
    assert model.features_.instances == 1
    means = np.stack([X[y == label].mean(axis=0) for label in range(3)])
    # Rounding a coordinate to +-1 costs at most 1 of variance: Hoeffding's inequality, at 1e-6 over 15 coordinates.
    published = np.stack([density.weights for density in model.densities_])
    assert np.abs(published - means).max() < math.sqrt(2 * math.log(2 * 15 / 1e-6) / 100)
    assert model.score(X, y) == 1.0


def test_sharing_the_features_reduces_the_noise_of_comparisons() -> None:
    y = np.arange(2000) % 2
    X = unit(1.0 + 0.5 * np.random.default_rng(5).normal(size=(2000, 4)) + 0.3 * y[:, None])  # two classes that overlap
    model = HighestDensityClassifier(instances=5000, random_state=6, label_epsilon=None).fit(X, y)
    assert all(density.features is model.features_ for density in model.densities_)
    g = model.features_.g(X[:1])[0, :, 0]
    first, second = (density.published[:, 0] * g / density.users for density in model.densities_)
    assert np.var(first - second) < 0.1 * (np.var(first) + np.var(second))


def test_classes_without_users() -> None:
    X, y = blobs(40, 2, 3, 7)
    names = np.array(["cat", "dog"])[y]
    public = ["ant", "cat", "dog"]
    with pytest.raises(ValueError, match=r'^Class ant was reported by nobody.*\(or set empty_class="never"\)\.$'):
        HighestDensityClassifier(classes=public, empty_class="error", label_epsilon=None).fit(X, names)
    model = HighestDensityClassifier(classes=public, instances=200, label_epsilon=None).fit(X, names)
    assert model.classes_.tolist() == ["cat", "dog"]
    assert model.empty_classes_.tolist() == ["ant"]
    assert model.class_densities(X).shape == (40, 2)
    assert model.decision_function(X).shape == (40,)
    assert set(model.predict(X)) <= {"cat", "dog"}


def test_randomized_labels_reach_public_classes_that_nobody_has() -> None:
    X, y = blobs(400, 2, 3, 8)
    model = HighestDensityClassifier(classes=[0, 1, 2], label_epsilon=1.0, random_state=9).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.reported_counts_[2] > 0


def test_public_and_private_randomness_are_apart() -> None:
    X, y = blobs(60, 2, 3, 10)
    seeds = {"random_state": 1, "public_random_state": 1}
    base = HighestDensityClassifier(instances=5, **seeds, label_epsilon=None).fit(X, y)
    same, private, public = (
        HighestDensityClassifier(instances=5, **{**seeds, **change}, label_epsilon=None).fit(X, y)
        for change in ({}, {"random_state": 2}, {"public_random_state": 2})
    )
    np.testing.assert_array_equal(base.class_densities(X), same.class_densities(X))
    np.testing.assert_array_equal(base.features_.f(X), private.features_.f(X))
    assert np.any(base.class_densities(X) != private.class_densities(X))
    assert np.any(base.features_.f(X) != public.features_.f(X))
    # One seed for both must not make the private noise a function of the public features.
    assert public_generator(1).random() != np.random.default_rng(1).random()
    generator = np.random.default_rng(3)
    first, second = (
        HighestDensityClassifier(random_state=generator, label_epsilon=None).fit(X, y).class_densities(X)
        for _ in range(2)
    )
    assert np.any(first != second)


def test_it_works_inside_scikit_learn() -> None:
    X, y = blobs(120, 3, 4, 11)
    model = HighestDensityClassifier(GaussianFeatures(4, 0.7), instances=300, random_state=1, label_epsilon=None)
    assert clone(model).get_params()["features"] == GaussianFeatures(4, 0.7)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9
    fitted = model.fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))


def test_unit_norm_policy() -> None:
    X, y = blobs(20, 2, 3, 12)
    stretched = X * np.linspace(1, 3, 20)[:, None]
    with pytest.raises(ValueError, match=r"^X\[4:\]\[0\] has Euclidean norm 1\.42\d+, but must have norm 1"):
        HighestDensityClassifier("inner-product", chunk_size=4, label_epsilon=None).fit(
            np.vstack([X[:4], stretched[4:]]), y
        )
    settings = {"instances": 9, "random_state": 1, "unit_norm": "normalize"}
    model = HighestDensityClassifier("inner-product", **settings, label_epsilon=None).fit(stretched, y)
    reference = HighestDensityClassifier("inner-product", **settings, label_epsilon=None).fit(X, y)
    np.testing.assert_allclose(model.class_densities(stretched), reference.class_densities(X), rtol=1e-9)
    stretched[5] = 0.0
    with pytest.raises(ValueError, match=r"^X\[5\] is the zero vector"):
        HighestDensityClassifier("inner-product", **settings, label_epsilon=None).fit(stretched, y)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"features": "linear"}, TypeError, r"^features='linear' must be"),
        ({"features": GaussianFeatures(7)}, ValueError, r"^features\.dimension=7 must be the dimension of X, 3\.$"),
        ({"features": "inner-product", "bandwidth": 2.0}, ValueError, r"^bandwidth=2\.0 must be 1 unless"),
        ({"bandwidth": -1.0}, ValueError, r"^bandwidth=-1\.0 must be"),
        ({"instances": 0}, ValueError, r"^instances=0 must be an integer in \[1, inf\)\.$"),
        ({"label_epsilon": math.inf}, ValueError, r"^label_epsilon=inf must be a finite number in \(0, 700\]\.$"),
        ({"classes": [0, 5]}, ValueError, r"^y\[1\]=1 must be one of classes=\[0, 5\]\.$"),
        ({"empty_class": "skip"}, ValueError, r"^empty_class='skip' must be one of"),
        ({"unit_norm": "clip"}, ValueError, r"^unit_norm='clip' must be one of"),
        ({"chunk_size": 0}, ValueError, r"^chunk_size=0 must be an integer"),
        (
            {"bitsum": lambda users: ExactSum(users + 1)},
            ValueError,
            r"^bitsum\(10\) returned ExactSum\(users=11\), but",
        ),
        ({"bitsum": lambda users: users}, ValueError, r"^bitsum\(10\) returned 10, but"),
    ],
)
def test_parameters_are_checked(settings: dict[str, object], error: type[Exception], message: str) -> None:
    X, y = blobs(20, 2, 3, 13)
    with pytest.raises(error, match=message):
        HighestDensityClassifier(**{"label_epsilon": None, **settings}).fit(X, y)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_points_must_be_finite(value: float) -> None:
    X, y = blobs(20, 2, 3, 14)
    bad = X.copy()
    bad[6, 2] = value
    with pytest.raises(ValueError, match=rf"^X\[4:\]\[2, 2\]={value} must be a finite number, not NaN or infinity\.$"):
        HighestDensityClassifier(chunk_size=4, label_epsilon=None).fit(bad, y)
    with pytest.raises(ValueError, match=rf"^queries\[6, 2\]={value} must be a finite number"):
        HighestDensityClassifier(label_epsilon=None).fit(X, y).predict(bad)


def test_what_is_no_setting_is_one_sentence() -> None:
    X, y = np.zeros((6, 3)), np.arange(6) % 2
    for settings, labels, said in (
        ({"bitsum": 5}, y, "bitsum=5 must be None, or a function from the users of a class to a protocol."),
        ({"random_state": "a"}, y, "random_state='a' must be an integer in [0, inf)."),
        ({"random_state": -1}, y, "random_state=-1 must be an integer in [0, inf)."),
        ({"public_random_state": "a"}, y, "public_random_state='a' must be an integer in [0, inf)."),
        ({"label_epsilon": 0}, y, "label_epsilon=0 must be a finite number in (0, 700]."),
        ({}, np.array(["a", 1] * 3, dtype=object), "y must hold texts alone, or numbers alone"),
    ):
        with pytest.raises((TypeError, ValueError), match=rf"^{re.escape(said)}"):
            HighestDensityClassifier(**{"label_epsilon": None, "instances": 8, **settings}).fit(X, labels)
    model, rng = HighestDensityClassifier(label_epsilon=None), np.random.default_rng(0)
    for counts, said in ((None, "counts=None must be a list or another iterable"), ([None], "counts=None must be Bit")):
        with pytest.raises(TypeError, match=rf"^{re.escape(said)}"):
            model.publish(None, [0], counts, rng)
