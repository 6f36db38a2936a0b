"""The table of plans for a kernel."""

import re
from dataclasses import replace

from dpverify.guarantee import Budget
from dpverify.planning.kernels.density import DensityPlan, DensityRow
from dpverify.planning.plan import plan
from dpverify.planning.sums.vectors import plan_vectors
from dpverify.report.plans.densities import density_table
from protocols.lsq import FourierPairs
from tests.report.printing import printed


def test_the_table_shows_every_row_and_the_front() -> None:
    row = plan("central-gaussian", ("3", "1e-4"), users=200, instances=1)
    rows = [DensityRow(FourierPairs(2), k, 2 * k, k + 1e-9, row, 0.1 / k) for k in (16, 32)]
    why = ("max_messages_per_user=70 is too few.",)
    found = DensityPlan("gaussian", 2, 200, 1.0, Budget("3", "1e-4"), tuple(rows), why)
    text = printed(density_table(found))
    assert "Budget (3, 0.0001), n = 200 users, gaussian kernel, d = 2, bandwidth 1" in text
    lines = re.findall(r"^fourier-pairs +central-gaussian .*", text, flags=re.MULTILINE)
    assert len(lines) == len(found.rows) == 2
    for line, row in zip(lines, found.rows, strict=True):
        assert line.split()[2] == f"{row.bits:,}"
        assert float(line.split()[4]) >= row.squared_change * (1 - 1e-9)
        assert line.rstrip().endswith("*")
    assert "no plan: max_messages_per_user=70 is too few." in text
    assert "Every row is (3, 0.0001)-DP" in text


def test_bitsums_side_by_side_leave_out_what_they_have_in_common() -> None:
    rows = []
    for name in ("central-gaussian", "local-rr"):
        row = plan(name, ("3", "1e-4"), users=200, instances=1)
        rows.append(DensityRow(FourierPairs(2), 16, 32, 16.0, row, 0.01))
    text = printed(density_table(DensityPlan("gaussian", 2, 200, 1.0, Budget("3", "1e-4"), tuple(rows))))
    assert "Of every row: features fourier-pairs, bits 32, range R 1, T^2 16." in text
    assert re.search(r"^central-gaussian +32 ", text, flags=re.MULTILINE)
    assert re.search(r"^local-rr \[1\] +32 .* >\*$", text, flags=re.MULTILINE)
    assert "central threat model unless noted" in " ".join(text.split())
    assert re.search(r"^\[1\] local threat model$", text, flags=re.MULTILINE)


def test_sums_of_vectors_are_named_where_they_err_less() -> None:
    row = plan("central-gaussian", ("3", "1e-4"), users=200, instances=1)
    rows = (DensityRow(FourierPairs(2), 16, 32, 16.0, row, 0.5),)
    found = DensityPlan("inner-product", 9, 200, None, Budget("3", "1e-4"), rows)
    vectors = plan_vectors(("3", "1e-4"), users=200, dimension=9)
    assert found.curator_rmse is not None
    assert vectors.rmse / (3.0 * 200) <= 1.15 * found.curator_rmse
    text = " ".join(printed(density_table(found)).split())
    assert "planned for 1.15 times a curator's error, an RMSE of 0.0141" in text
    worse = (replace(rows[0], rmse=0.01),)
    assert "1.15 times" not in " ".join(printed(density_table(replace(found, rows=worse))).split())
    assert replace(found, kernel="gaussian").curator_rmse is None
