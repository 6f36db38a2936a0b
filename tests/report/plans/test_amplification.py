from dpverify.planning.amplify import amplify
from dpverify.report.plans.amplification import amplified_curve, amplified_table, inverse_table
from dpverify.report.tables import as_text


def test_the_table_rounds_outwards() -> None:
    found = amplify(epsilon0=4, users=100_000, delta="1e-6")
    text = " ".join(as_text(amplified_table(found)).split())
    assert "this mechanism or class 0.117024 0.118154 " in text
    assert "numerically 0.16977 " in text
    assert "every mechanism of the class, and every dataset; the lower end is attained by a mechanism" in text


def test_a_reason_stands_below_the_table() -> None:
    text = " ".join(as_text(amplified_table(amplify(epsilon0=12, users=100, delta=1e-6))).split())
    assert "epsilon0=12 is outside of its hypothesis" in text


def test_the_figure_has_the_band_and_delta() -> None:
    axes = amplified_curve(amplify("adaptive", epsilon0=1.0, users=100, delta=1e-3))
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["between the proved bounds", "upper bound", "delta"]
    assert axes.get_yscale() == "log"


def test_the_inverse_rounds_outwards() -> None:
    result = {
        "randomizer": "any",
        "users": 10,
        "delta": 0.1,
        "epsilon": 0.5,
        "epsilon0": {"lower": 1 / 3, "upper": 2 / 3},
    }
    text = as_text(inverse_table(result))
    assert "0.333333" in text
    assert "0.666667" in text
