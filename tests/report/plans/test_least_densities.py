"""The table of least users and epsilons for a kernel."""

from __future__ import annotations

import re

from dpverify.planning.kernels.density import DensityRow
from dpverify.planning.kernels.least_densities import LeastDensities, LeastDensity
from dpverify.planning.plan import plan
from dpverify.report.plans.least_densities import least_density_front, least_density_table
from protocols.lsq import FourierPairs
from tests.report.printing import printed


def answers(asked: str) -> LeastDensities:
    row = plan("central-gaussian", ("3", "1e-4"), users=200, instances=1)
    rows = tuple(
        LeastDensity(least, DensityRow(FourierPairs(2), bits // 2, bits, bits / 2, row, 0.05), least / 2, "too few.")
        for bits, least in ((32, 3000.0), (64, 200.0))
    )
    users, epsilon = (None, "3") if asked == "users" else (77, None)
    return LeastDensities(asked, "gaussian", 2, 0.5, epsilon, "1e-4", users, 0.05, 0.2, 0.75, rows, ("no.",))  # type: ignore[arg-type]


def test_the_table_shows_what_is_needed_and_what_to_take() -> None:
    text = printed(least_density_table(answers("users")))
    assert "Least n for an RMSE of at most 0.05 of a density: budget (3, 0.0001), gaussian kernel, d = 2" in text
    assert re.search(r"^fourier-pairs +central-gaussian +32 .* 3,000 +0\.05 +no plan +\*$", text, flags=re.MULTILINE)
    assert re.search(r"^fourier-pairs +central-gaussian +64 .* 200 +0\.05 +no plan +>\*$", text, flags=re.MULTILINE)
    assert "differ by 0.2 in the right order with probability 0.75 at least" in " ".join(text.split())
    assert "Not here: no." in text
    assert "Least epsilon for an RMSE of at most 0.05 of a density: delta = 0.0001, n = 77 users" in printed(
        least_density_table(answers("epsilon"))
    )


def test_the_figure_shows_need_against_messages() -> None:
    axes = least_density_front(answers("users"))
    assert axes.get_ylabel() == "least n"
    assert "recommended" in {text.get_text() for text in axes.get_legend().get_texts()}
