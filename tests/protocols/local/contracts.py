"""What every local mean promises, as a suite that its own tests inherit."""

import random
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from protocols.local.means import LocalMean
from tests.samples import assert_mean, assert_same_law, assert_variance


class LocalMeanContract:
    """Inherit it, set `protocol` and some `values`, and write down the variance of a debiased report."""

    protocol: ClassVar[LocalMean]
    values: ClassVar[tuple[Any, ...]]
    exact: ClassVar[bool] = True
    """Whether a real client can draw its report."""

    def variance(self, value: float) -> float:
        raise NotImplementedError

    def test_a_debiased_report_is_unbiased_with_its_variance(self) -> None:
        for value in self.values:
            rng = np.random.default_rng(21)
            debiased = self.protocol.debias(self.protocol.randomize(np.full(50_000, value), rng))
            assert_mean(debiased, value, self.variance(value))
            assert_variance(debiased, value, self.variance(value))

    def test_a_real_report_has_the_law_of_a_simulated_one(self) -> None:
        if not self.exact:
            with pytest.raises(TypeError, match=r"has no exact report"):
                self.protocol.report(self.values[0])
            return
        for value in self.values:
            entropy = random.Random(22)
            real = [self.protocol.report(value, entropy) for _ in range(5_000)]
            simulated = self.protocol.randomize(np.full(50_000, value), np.random.default_rng(22))
            assert_same_law(real, simulated.tolist())

    def test_a_real_report_comes_from_the_operating_system(self) -> None:
        if self.exact:
            reports = [self.protocol.report(self.values[0]) for _ in range(60)]
            assert all(isinstance(report, int) for report in reports)
            assert len(set(reports)) > 1

    def test_the_estimate_is_the_mean_of_the_debiased_reports(self) -> None:
        reports = self.protocol.randomize(self.values, np.random.default_rng(23))
        assert self.protocol.estimate(reports) == pytest.approx(np.mean(self.protocol.debias(reports)), rel=1e-15)
        assert self.protocol.run(self.values, np.random.default_rng(23)) == self.protocol.estimate(reports)

    def test_the_generator_determines_everything(self) -> None:
        first, second = (self.protocol.randomize(self.values, np.random.default_rng(24)) for _ in range(2))
        assert_array_equal(first, second)
        assert first.shape == (len(self.values),)

    def test_values_are_checked(self) -> None:
        most, rng = self.protocol.most, np.random.default_rng(0)
        for bad in (-1e-9, most * (1.0 + 1e-9), float("nan"), float("inf")):
            with pytest.raises(ValueError, match=r"^values\[1\]=.* must be .*in \[0, .*\]\.$"):
                self.protocol.randomize([0.0, bad], rng)
            with pytest.raises((ValueError, TypeError), match=r"must be|has no exact report"):
                self.protocol.report(bad)
        with pytest.raises(ValueError, match=r"^values has shape \(1, 1\), but must have shape \(users,\)\.$"):
            self.protocol.randomize([[0.0]], rng)
        with pytest.raises(TypeError, match=r"^values has dtype <U3, but must hold numbers in \[0, .*\]\.$"):
            self.protocol.randomize(["one"], rng)

    def test_the_generator_is_checked(self) -> None:
        with pytest.raises(TypeError, match=r"^rng=7 must be a numpy\.random\.Generator"):
            self.protocol.randomize(self.values, 7)  # type: ignore[arg-type]

    def test_an_estimate_needs_reports(self) -> None:
        for reports in ([], [[1]]):
            with pytest.raises(ValueError, match=r"^reports has shape .*, but must have shape \(users,\), at least"):
                self.protocol.estimate(reports)

    @pytest.mark.parametrize("epsilon", [0.0, -1.0, 601.0, float("nan")])
    def test_epsilon_is_checked(self, epsilon: float) -> None:
        with pytest.raises(ValueError, match=r"^epsilon=.* must be a finite number in \[1e-100, 600\]\.$"):
            type(self.protocol)(**{**vars(self.protocol), "epsilon": epsilon})
