"""What every local mean promises, as a suite that its own tests inherit."""

import functools
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
            real = [self.protocol.report(value, entropy) for _ in range(1_500)]
            simulated = self.protocol.randomize(np.full(20_000, value), np.random.default_rng(22))
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

    def test_arguments_are_checked(self) -> None:
        most, rng, mean = self.protocol.most, np.random.default_rng(0), self.protocol
        for bad in (-1e-9, most * (1.0 + 1e-9), float("nan"), float("inf")):
            with pytest.raises(ValueError, match=r"^values\[1\]=.* must be .*in \[0, .*\]\.$"):
                mean.randomize([0.0, bad], rng)
            with pytest.raises((ValueError, TypeError), match=r"must be|has no exact report"):
                mean.report(bad)
        calls: list[tuple[Any, type[Exception], str]] = [
            (
                lambda: mean.randomize([[0.0]], rng),
                ValueError,
                r"^values has shape \(1, 1\), but must have shape \(users",
            ),
            (lambda: mean.randomize(["one"], rng), TypeError, r"^values has dtype <U3, but must hold numbers in \[0, "),
            (lambda: mean.randomize(self.values, 7), TypeError, r"^rng=7 must be a numpy\.random\.Generator"),  # type: ignore[arg-type]
        ]
        for reports in ([], [[1]]):
            said = r"^reports has shape .*, but must have shape \(users,\), at least"
            calls.append((functools.partial(mean.estimate, reports), ValueError, said))
        for epsilon in (0.0, -1.0, 601.0, float("nan")):
            made = functools.partial(type(mean), **{**vars(mean), "epsilon": epsilon})
            calls.append((made, ValueError, r"^epsilon=.* must be a finite number in \[1e-100, 600\]\.$"))
        for call, error, said in calls:
            with pytest.raises(error, match=said):
                call()
