"""Audits of kernel density estimators: the error over a query set against the exact one of bitsum and features."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.audit.options import AuditKeywords, AuditOptions
from dpverify.audit.outcome import AuditReport
from dpverify.audit.results import POWER
from dpverify.audit.running.runner import block_generator
from dpverify.audit.running.target import Runnable, Target, target_of
from dpverify.claims.kde.error import mse
from dpverify.claims.registry import claims_of
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols.kde import published_rmse_bound
from dpverify.guarantee import Budget
from dpverify.laws.discrete import NoLawError
from dpverify.statistics.error import ErrorBands, ErrorClaim, ErrorNull
from dpverify.statistics.family import decide
from protocols.bitsum import BitsumProtocol
from protocols.classes.frozen import dataclass
from protocols.kde import KernelDensityProtocol
from protocols.lsq import LSQFamily
from protocols.validation import check_integer, check_vectors

__all__ = ["DensityErrors", "DensityReport", "DensityRuns", "density_claim"]

_ENTRIES = 2**20
"""How many entries of the features of queries to hold at a time."""
_TESTS = 2
_NULL_STREAM = 1
"""The generator's dataset for the simulated null: the trials run on dataset 0."""


@dataclass(frozen=True)
class DensityRuns:
    """Independent runs of Algorithm 1 with new public features each, as a batch target of the runner.

    - bitsum: The bitsum; its `users` is n.
    - family: The features' family.
    - instances: I.
    - queries: The queries, hashable so that a checkpoint can name them.
    """

    bitsum: BitsumProtocol
    family: LSQFamily
    instances: int
    queries: tuple[tuple[float, ...], ...]

    def __call__(self, points: NDArray[Any], rng: np.random.Generator, trials: int) -> NDArray[np.float64]:
        """Return the estimates, shape (trials, queries)."""
        # The instances of several runs are one draw of more instances: they are independent and identically drawn.
        most = _ENTRIES // (len(self.queries) * self.instances * self.family.Q)
        runs = 1 if self.family.deterministic else max(1, min(trials, most))
        parts = [self._runs(points, rng, min(runs, trials - start)) for start in range(0, trials, runs)]
        return np.concatenate(parts)

    def _runs(self, points: NDArray[Any], rng: np.random.Generator, trials: int) -> NDArray[np.float64]:
        features = self.family.sample(trials * self.instances, rng)
        published = KernelDensityProtocol(self.bitsum, features).simulate(points, rng).published
        each = np.einsum("qij,ij->iq", features.g(np.array(self.queries)), published)
        return np.asarray(each.reshape(trials, self.instances, -1).mean(axis=1) / self.bitsum.users)


@dataclass(frozen=True)
class DensityReport(AuditReport):
    """The report of `DensityErrors`, with the errors themselves.

    - rows: Per query, in order: `bias` and `rmse` measured, `*_lower` and `*_upper` of the bands that cover all of them
      at once with probability 1 - level (if the errors have the claimed law but for location and scale), and `*_exact`,
      what is claimed.
    - published: The bound of wagner2025, Theorem 3.2, on the RMSE at any query of the family's domain.
    """

    plain_as: ClassVar[str] = f"{AuditReport.plain_as} rows worst"

    rows: tuple[Mapping[str, float], ...] = ()
    published: float = math.inf

    @property
    def worst(self) -> Mapping[str, float]:
        """The measured supRMSE over the queries and its band, next to the exact one and the published bound."""
        largest = {name: max(row[name] for row in self.rows) for name in ("rmse", "rmse_lower", "rmse_upper")}
        return {**largest, "rmse_exact": max(row["rmse_exact"] for row in self.rows), "rmse_published": self.published}


def density_claim(
    bitsum: BitsumProtocol, family: LSQFamily, points: ArrayLike, queries: ArrayLike, *, instances: int, trials: int
) -> ErrorClaim:
    """Return the exact bias and RMSE at every query, and how to draw the errors of `trials` correct runs.

    - bitsum, family, points, queries, instances, trials: See `DensityErrors`; the trials are the runs.

    Raises ValueError if the bitsum is biased, or its error depends on its input: the exact error is not known then. If
    correct estimates at a query do not vary.
    """
    x = family.accepted(points, name="points")
    y = check_vectors("queries", queries, dimension=family.dimension)
    if len(x) != bitsum.users or not len(y):
        raise ValueError(
            f"points and queries hold {len(x)} and {len(y)} rows, but must hold bitsum.users={bitsum.users} and at "
            "least 1."
        )
    check_integer("instances", instances, low=1, high=1 if family.deterministic else None)
    rmse = claims_of(bitsum).rmse(bitsum)
    _check_error(bitsum, rmse)
    truth = family.kernel(x, y).mean(axis=0)
    expected = np.array([claims_of(family).expected(family, x, query).mean() for query in y])
    errors = np.sqrt([mse(family, x, query, instances=instances, bitsum_rmse=rmse) for query in y])
    (sure,) = np.nonzero(errors <= np.abs(expected - truth))
    if sure.size:
        raise ValueError(
            f"queries[{sure[0]}]={y[sure[0]].tolist()} must be where estimates vary, but all that are correct are "
            f"{expected[sure[0]]:.6g} there."
        )
    runs = DensityRuns(bitsum, family, instances, tuple(map(tuple, y.tolist())))
    return ErrorClaim(lambda rng: runs(x, rng, trials) - truth, errors, expected - truth)


def _check_error(bitsum: BitsumProtocol, rmse: float) -> None:
    """Refuse a bitsum whose error is not of mean 0 and the same for no ones and all ones."""
    for ones in (0, bitsum.users):
        try:
            law = claims_of(bitsum).estimate_law(bitsum, ones)
        except NoLawError:
            return  # continuous noise, which is added whatever the input is
        bias, tolerance = law.mean - ones, 1e-6 * (1.0 + rmse)
        if abs(bias) > tolerance or abs(math.sqrt(law.variance) - rmse) > tolerance:
            raise ValueError(
                f"bitsum={bitsum!r} has bias {bias:.4g} and standard deviation {math.sqrt(law.variance):.4g} at {ones} "
                f"ones, but must be unbiased with {rmse:.4g} at every input for the density's error to be known."
            )


@dataclass(frozen=True, eq=False)
class DensityErrors:
    """Algorithm 1 of wagner2025 as a subject: the bias and the RMSE of its estimates, at all queries.

    The null law of both tests is simulated by correct runs, some `6 / level` times `trials` of them, so their level is
    exact. It is at one dataset: choose points and queries where the kernel is neither 0 nor 1, and few users, with whom
    a wrong n shows.

    - bitsum: The bitsum that is claimed to run; its `users` is n. Unbiased, with the same error for every input.
    - family: The claimed features.
    - points (array_like, shape (n, d)): The users' points.
    - queries (array_like, shape (queries, d)): Where the densities are compared; exact errors cost O(n^2 d) each.
    - instances: I, at least 1; 1 for a deterministic family.
    - implementation: `function(points, rng)` returns the estimates at the queries, shape (queries,), with **new public
      features in every call**. Our own, if omitted.

    Twice the density that it should be:

    >>> import numpy as np
    >>> from dpverify.audit.protocol import audit_protocol
    >>> from protocols.bitsum import RandomizedResponse
    >>> from protocols.lsq import GaussianFeatures
    >>> points, queries = np.zeros((6, 1)), np.array([[0.5]])
    >>> def twice(points, rng):
    ...     return 2 * np.exp(-queries[:, 0] ** 2) + rng.normal(size=1)
    >>> errors = DensityErrors(
    ...     RandomizedResponse(6, 0.25), GaussianFeatures(1), points, queries, instances=2, implementation=twice
    ... )
    >>> audit_protocol(errors, trials=100).verdict.value
    'violates'
    """

    bitsum: BitsumProtocol
    family: LSQFamily
    points: ArrayLike
    queries: ArrayLike
    _: KW_ONLY
    instances: int
    implementation: Runnable | None = None

    def audited(self, claim: Budget | None = None, **options: Unpack[AuditKeywords]) -> DensityReport:
        """Audit the errors: two tests, and the error at every query.

        - claim: Errors tell nothing of a privacy claim.
        - **options: The fields of `dpverify.audit.options.AuditOptions`, with 2000 trials by default. `level` is the
          family-wise error rate of the two tests, by Holm, and that of the bands; `detect` the size of the faults that
          a pass must exclude: relative, of the RMSE at every query, and a bias of so many standard deviations at every
          query.

        Raises ValueError: See `density_claim`.
        """
        if claim is not None:
            raise ValueError(f"claim={claim} must be omitted: errors tell nothing of a privacy claim.")
        options.setdefault("trials", 2000)
        how = AuditOptions(**options)
        trials, level, bitsum, family = how.trials, how.level, self.bitsum, self.family
        exact = density_claim(bitsum, family, self.points, self.queries, instances=self.instances, trials=trials)
        x, y = np.asarray(self.points, dtype=np.float64), np.asarray(self.queries, dtype=np.float64)
        own = DensityRuns(bitsum, family, self.instances, tuple(map(tuple, y.tolist())))
        target = target_of(self.implementation or Target(own, True, (len(y),), repr(own)), (len(y),))
        (estimates,) = how.draw(target, [x])
        errors = estimates - family.kernel(x, y).mean(axis=0)
        each = level / _TESTS
        null = ErrorNull(exact, block_generator(how.seed, _NULL_STREAM, 0), simulations=math.ceil(3.0 / each))
        tests = [test(errors, level=each, fault=how.detect) for test in (null.test_rmse, null.test_bias)]
        published = published_rmse_bound(
            FLOATS, family.beta, family.R, family.S, self.instances, claims_of(bitsum).rmse(bitsum), bitsum.users
        )
        return DensityReport(
            f"{target.function!r}" if target.name is None else target.name,
            None,
            decide(tests, level, power=POWER),
            level,
            trials,
            how.seed,
            rows=tuple(_rows(errors, exact, null.bands(errors, level))),
            published=float(published),
        )


def _rows(errors: NDArray[np.float64], claim: ErrorClaim, bands: ErrorBands) -> list[dict[str, float]]:
    columns = {
        "bias": errors.mean(axis=0),
        "bias_lower": bands.bias_lower,
        "bias_upper": bands.bias_upper,
        "bias_exact": claim.bias,
        "rmse": np.sqrt((errors**2).mean(axis=0)),
        "rmse_lower": bands.rmse_lower,
        "rmse_upper": bands.rmse_upper,
        "rmse_exact": claim.rmse,
    }
    return [dict(zip(columns, row, strict=True)) for row in np.stack(list(columns.values()), axis=1).tolist()]
