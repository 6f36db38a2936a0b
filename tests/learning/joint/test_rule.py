"""The rule of exact moments is that of linear discriminant analysis; what noise adds to lengths is taken out."""

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from dpverify.learning.joint.moments import Moments
from dpverify.learning.joint.rule import linear_rule


def test_without_noise_it_is_linear_discriminant_analysis() -> None:
    rng = np.random.default_rng(0)
    y = rng.choice(3, 900, p=[0.6, 0.3, 0.1])
    X = rng.normal(size=(900, 4)) @ rng.normal(size=(4, 4)) + 2.0 * np.eye(3, 4)[y]
    ones = np.eye(3)[y]
    rule = linear_rule(Moments(ones.mean(axis=0), ones.T @ X / 900, X.T @ X / 900), 0.0, 900)
    ours = X @ rule.coef.T + rule.intercept
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).decision_function(X)
    np.testing.assert_allclose(ours - ours[:, :1], theirs - theirs[:, :1], atol=1e-8 * np.abs(theirs).max())
    assert (rule.predicted.all(), rule.warnings) == (True, [])


def test_what_noise_adds_to_the_length_of_a_mean_is_taken_out() -> None:
    rng, noise, d = np.random.default_rng(1), 0.02, 400
    means = np.eye(2, d)
    lengths = []
    for _ in range(40):
        shares = np.array([0.8, 0.2])
        found = Moments(shares, shares[:, np.newaxis] * means + rng.normal(0.0, noise, (2, d)), None)
        rule = linear_rule(found, noise, 10**6)
        scale = np.linalg.norm(rule.coef[1]) / np.linalg.norm(found.sums[1] / 0.2)  # of the inverse covariance
        lengths.append(-2.0 * (rule.intercept[1] - np.log(0.2)) / scale)
    assert abs(np.mean(lengths) - 1.0) < 0.2  # where the noisy mean's is 1 + 400 (.02 / .2)^2 = 5
