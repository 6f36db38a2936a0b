"""What is least for an error, as a table and as a figure."""

import re
from fractions import Fraction

from dpverify.planning.kernels.density import DensityRow
from dpverify.planning.kernels.least_densities import LeastDensities
from dpverify.planning.plan import plan
from dpverify.planning.sweeps.least import least_epsilon, least_messages, least_users
from dpverify.planning.sweeps.least_plans import Least
from dpverify.planning.sweeps.setting import FailedPlan
from dpverify.report.plans.least import least_density_front, least_density_table
from protocols.lsq import FourierPairs
from tests.report.printing import printed

BUDGET = ("1", "1e-6")


def test_the_answer_and_one_step_less_stand_side_by_side() -> None:
    found = least_users(BUDGET, error=0.02, instances=2, bitsums=["poisson", "nb"])
    text = str(found)
    assert text.startswith("Least n for an RMSE of at most 0.02 n: budget (1, 1e-06), I = 2 instances")
    (row,) = (line.split() for line in text.split("\n") if line.startswith("poisson"))
    assert row[1] == f"{found.found[0].least:,.0f}"
    assert float(row[2]) <= 0.02 < float(row[3])
    assert [bar.get_width() for bar in found.plot().patches] == [answer.least for answer in found.found]


def test_the_table_says_what_was_asked() -> None:
    epsilon = str(least_epsilon("1e-6", error=0.015, users=2000, instances=2, bitsums=["poisson"]))
    assert "Least epsilon for an RMSE of at most 0.015 n (30 users): delta = 1e-06, n = 2,000 users" in " ".join(
        epsilon.split()
    )
    few = str(least_messages(BUDGET, error=0.015, users=2000, instances=2, bitsums=["poisson", "local-rr"]))
    assert few.startswith("Fewest messages for an RMSE of at most 0.015 n (30 users)")
    assert "local-rr [1]" in few
    assert "[1] error=0.015 is not reached by local-rr, which errs by at least" in few


def answers(asked: str) -> LeastDensities:
    row = plan("central-gaussian", ("3", "1e-4"), users=200, instances=1)
    few = FailedPlan("central-gaussian", "exact", None, "too few.")
    rows = tuple(
        Least(least, DensityRow(FourierPairs(2), bits // 2, bits, bits / 2, row, 0.05), least / 2, few)
        for bits, least in ((32, 3000.0), (64, 200.0))
    )
    users, epsilon = (None, Fraction(3)) if asked == "users" else (77, None)
    return LeastDensities(asked, "gaussian", 2, 0.5, epsilon, Fraction("1e-4"), users, 0.05, 0.2, 0.75, rows, ("no.",))  # type: ignore[arg-type]


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
