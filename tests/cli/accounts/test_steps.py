"""`account steps`: it says what the library does, of any law and adjacency."""

import re

import pytest

import dpverify
from dpverify import cli
from dpverify.planning.steps.sampling import Sampling
from dpverify.planning.steps.step import NoiseLaw, NoisyStep
from tests.cli.words import Run


@pytest.mark.long
def test_it_is_what_the_library_says(run: Run) -> None:
    found = run("account", "steps", "--noise", "1", "--rate", ".01", "--steps", "200", "--delta", "1e-6", "--json")
    assert found == dpverify.account(NoisyStep(1.0, 0.01), instances=200, delta="1e-6").to_dict()
    words = "account steps --noise 2 --law laplace --adjacency replace-one --epsilon 1 --json"
    laplace = run(*words.split())
    made = dpverify.account(NoisyStep(2.0, law=NoiseLaw.LAPLACE), epsilon="1", adjacency="replace-one")
    assert laplace == made.to_dict()
    words = "account steps --noise 2 --rate .1 --sampling fixed-size --delta 1e-3 --adjacency replace-one --json"
    batches = NoisyStep(2.0, 0.1, sampling=Sampling.FIXED_SIZE)
    assert run(*words.split()) == dpverify.account(batches, delta="1e-3", adjacency="replace-one").to_dict()


def test_a_table_names_the_sampling(run: Run) -> None:
    shown = " ".join(run("account", "steps", "--noise", "1", "--rate", ".5", "--delta", "1e-3").split())
    assert shown.startswith("1 noisy step, add-remove 1 x gaussian noise of 1, each record with probability 0.5")
    assert "Note: Poisson sampling is assumed" in shown


def test_no_noise_is_not_called_too_little_where_it_is_enough(run: Run) -> None:
    shown = run("least", "noise", "--epsilon", "1", "--delta", ".5", "--rate", ".001")
    assert shown.startswith("A noise multiplier of ")
    assert "is not" not in shown


def test_the_least_noise_of_passes(capsys: pytest.CaptureFixture[str]) -> None:
    budget = ["least", "noise", "--epsilon", "1", "--delta", "1e-5", "--passes", "2"]
    words = [*budget, "--steps", "2", "--sampling", "random-allocation"]
    assert cli.main(words) == 0
    said = capsys.readouterr().out.strip()
    told = re.fullmatch(r"A noise multiplier of (\S+) is enough, one of (\S+) is not\.", said)
    assert told
    spent = [
        dpverify.account(dpverify.RandomAllocation(float(noise), 2), instances=2, delta="1e-5").epsilon
        for noise in told.groups()
    ]
    assert spent[0].upper <= 1.0 < spent[1].lower < 1.01
    assert cli.main([*words, "--chosen", "2"]) == 0  # each of both, twice: four steps
    four = dpverify.least_noise(("1", "1e-5"), steps=4)
    assert f"{four.upper:.3f}" in capsys.readouterr().out
