"""Is the error what was claimed, over a whole query set at once? The null law is simulated from the exact error law."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.statistics.family import AuditResult
from protocols.classes.frozen import dataclass
from protocols.validation import check_generator, check_integer, check_real

__all__ = ["ErrorBands", "ErrorClaim", "ErrorNull"]

_DEFAULT_FAULT = 0.1


@dataclass(frozen=True)
class ErrorClaim:
    """What is claimed about the errors (estimate minus truth) of a set of queries.

    - simulate: Maps a Generator to the errors of one whole audit of a correct implementation, shape (trials, queries),
      drawn from the exact law, with the dependence between queries that the implementation has.
    - rmse (ndarray of float64, shape (queries,)): The root mean squared errors, positive.
    - bias (ndarray of float64, shape (queries,)): The mean errors.
    """

    simulate: Callable[[np.random.Generator], NDArray[np.float64]]
    rmse: NDArray[np.float64]
    bias: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.rmse.ndim != 1 or self.rmse.shape != self.bias.shape:
            raise ValueError(
                f"rmse and bias have shapes {self.rmse.shape} and {self.bias.shape}, but must both be (queries,)."
            )
        if not (np.isfinite(self.rmse) & (self.rmse > np.abs(self.bias))).all():
            raise ValueError("rmse must be finite and exceed |bias| in every query.")

    @property
    def deviation(self) -> NDArray[np.float64]:
        """The standard deviations of the errors, shape (queries,)."""
        return np.sqrt(self.rmse**2 - self.bias**2)


@dataclass(frozen=True)
class ErrorBands:
    """Bands that cover the true bias and RMSE of every query at once, shape (queries,) each.

    Exact if the errors have the claimed law but for location and scale (bias) or scale (RMSE); the union of both kinds
    of bands misses with probability at most `level`.
    """

    bias_lower: NDArray[np.float64]
    bias_upper: NDArray[np.float64]
    rmse_lower: NDArray[np.float64]
    rmse_upper: NDArray[np.float64]
    level: float


@dataclass(frozen=True)
class ErrorNull:
    """The simulated law of an audit's error statistics if the implementation is correct.

    - claim: What is claimed.
    - rng: For the simulations.
    - simulations: How many audits to simulate; p-values are at least 1 / (1 + simulations).
    """

    claim: ErrorClaim
    rng: np.random.Generator
    simulations: int = 999

    def __post_init__(self) -> None:
        check_generator("rng", self.rng)
        check_integer("simulations", self.simulations, low=1)

    @cached_property
    def _moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], int]:
        """Return means, mean squares and deviations, (simulations, queries), of every audit, and its trials."""
        means, squares, deviations, trials = [], [], [], 0
        for _ in range(self.simulations):
            errors = self._check("simulate's result", self.claim.simulate(self.rng))
            means.append(errors.mean(axis=0))
            squares.append((errors**2).mean(axis=0))
            deviations.append(errors.std(axis=0))
            trials = len(errors)
        return np.array(means), np.array(squares), np.array(deviations), trials

    def _check(self, name: str, errors: ArrayLike, trials: int | None = None) -> NDArray[np.float64]:
        array = np.asarray(errors, dtype=np.float64)
        queries = self.claim.rmse.size
        if array.ndim != 2 or array.shape[1] != queries or len(array) != (trials or len(array)) or len(array) < 2:
            wanted = "trials >= 2" if trials is None else str(trials)
            raise ValueError(f"{name} has shape {array.shape}, but must have shape ({wanted}, {queries}).")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must hold finite numbers.")
        return array

    def _rmse_statistic(self, squares: NDArray[np.float64], scale: float = 1.0) -> NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            return np.asarray(np.abs(0.5 * np.log(squares) + math.log(scale) - np.log(self.claim.rmse)).max(axis=-1))

    def _bias_statistic(self, means: NDArray[np.float64], shift: float = 0.0) -> NDArray[np.float64]:
        return np.asarray(np.abs((means - self.claim.bias) / self.claim.deviation + shift).max(axis=-1))

    def _p_value(self, observed: float, null: NDArray[np.float64]) -> float:
        return float(1 + np.count_nonzero(null >= observed - 1e-12 * abs(observed))) / (1 + null.size)

    def _critical(self, null: NDArray[np.float64], level: float) -> float:
        """Return the value that a further null statistic exceeds with probability <= level; inf if too few."""
        rank = math.ceil((1.0 - level) * (null.size + 1))
        return float(np.sort(null)[rank - 1]) if rank <= null.size else math.inf

    def test_rmse(self, errors: ArrayLike, *, level: float, fault: float = _DEFAULT_FAULT) -> AuditResult:
        """Test supRMSE: the largest `|ln(RMSE / claimed)|` over the queries, so that too little noise is seen as well.

        - errors (array_like, shape (trials, queries)): As many trials as `simulate` draws.
        - level: At which the power is stated (an estimate, from the same simulations).
        - fault: The relative error of scale that the power refers to.
        """
        _, squares, _, trials = self._moments
        observed = self._check("errors", errors, trials)
        null = self._rmse_statistic(squares)
        measured = np.sqrt((observed**2).mean(axis=0))
        worst = int(np.argmax(measured))
        p_value = self._p_value(float(self._rmse_statistic(measured**2)), null)
        power = np.mean(self._rmse_statistic(squares, 1.0 + fault) > self._critical(null, level))
        return AuditResult(
            "supRMSE",
            p_value,
            trials,
            f"Monte-Carlo test of the largest deviation over {measured.size} queries, {null.size} simulations",
            f"supRMSE {measured[worst]:.5g} at query {worst}, claimed {self.claim.rmse.max():.5g}",
            fault=f"scale {fault:+.3g}",
            power=float(power),
            details={"sup_rmse": float(measured[worst]), "sup_rmse_claimed": float(self.claim.rmse.max())},
        )

    def test_bias(self, errors: ArrayLike, *, level: float, fault: float = _DEFAULT_FAULT) -> AuditResult:
        """Test the bias: its largest deviation over the queries, in claimed standard deviations.

        The parameters are those of `test_rmse`; here `fault` is a shift in standard deviations.
        """
        means, _, _, trials = self._moments
        observed = self._check("errors", errors, trials).mean(axis=0)
        null = self._bias_statistic(means)
        worst = int(np.argmax(np.abs(observed - self.claim.bias) / self.claim.deviation))
        power = np.mean(self._bias_statistic(means, fault) > self._critical(null, level))
        return AuditResult(
            "bias",
            self._p_value(float(self._bias_statistic(observed)), null),
            trials,
            f"Monte-Carlo test of the largest deviation over {observed.size} queries, {null.size} simulations",
            f"mean error {observed[worst]:.5g} at query {worst}, claimed {self.claim.bias[worst]:.5g}",
            fault=f"bias of {fault:.3g} standard deviations",
            power=float(power),
            details={"query": worst, "mean_error": float(observed[worst])},
        )

    def bands(self, errors: ArrayLike, level: float) -> ErrorBands:
        """Return simultaneous bands, half the level for the biases and half for the RMSEs.

        Raises ValueError if there are too few simulations for the level: at least `2 / level` are needed. If so many of
        them have errors without any spread that no band is finite.
        """
        check_real("level", level, low=0.0, high=1.0, low_open=True, high_open=True)
        means, squares, deviations, trials = self._moments
        observed = self._check("errors", errors, trials)
        mean, square, spread = observed.mean(axis=0), (observed**2).mean(axis=0), observed.std(axis=0)
        # Errors without any spread say nothing about their bias in units of it.
        pivots = np.full(means.shape, math.inf)
        np.divide(np.abs(means - self.claim.bias), deviations, out=pivots, where=deviations > 0.0)
        null = pivots.max(axis=1)
        width, ratio = (self._critical(each, level / 2.0) for each in (null, self._rmse_statistic(squares)))
        if math.ceil((1.0 - level / 2.0) * (null.size + 1)) > null.size:
            raise ValueError(f"simulations={self.simulations} must be at least {math.ceil(2 / level)} for this level.")
        if math.isinf(width) or math.isinf(ratio):
            raise ValueError(f"trials={trials} must be more: all errors at a query are equal in too many simulations.")
        rmse, factor = np.sqrt(square), math.exp(ratio)
        return ErrorBands(mean - width * spread, mean + width * spread, rmse / factor, rmse * factor, level)
