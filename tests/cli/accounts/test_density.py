"""The density estimator that `account kde` is of."""

import json

import pytest

from dpverify import cli

KDE = ["account", "kde", "--users", "300", "--flip-probability", "0.3", "--delta", "1e-4"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "features"),
    [
        (["inner-product", "--range", "0.5"], {"name": "linear-map", "limit": 0.5, "rows": 12, "radius": 1.0}),
        (["inner-product", "--bits", "20"], {"name": "linear-map", "rows": 20}),
        (["gaussian", "--bits", "8", "--bandwidth", "2"], {"name": "fourier-pairs", "bandwidth": 2.0}),
        (["laplacian", "--bits", "8"], {"name": "laplacian-binning", "buckets": 1, "signed": True}),
        (["exponential", "--bits", "8"], {"name": "exponential-tessellation", "buckets": 1}),
    ],
    ids=lambda entry: " ".join(entry) if isinstance(entry, list) else "",
)
def test_a_density_is_accounted(
    words: list[str], features: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*KDE, "--dimension", "12", "--kernel", *words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["protocol"] == "kde"
    assert told["parameters"]["features"].items() >= features.items()
    assert 0.0 < told["epsilon"]["lower"] <= told["epsilon"]["upper"] < 10.0
