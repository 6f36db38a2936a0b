"""What a link may say, and what is answered to the rest."""

import random
from fractions import Fraction

import pytest

from dpverify.serve.state import CONTROLS, BadState, State, controls


def errors(**query: str) -> dict[str, str]:
    with pytest.raises(BadState) as refused:
        State.read(query.items())
    return refused.value.errors


def test_a_link_without_anything_is_the_first_state_and_comes_back() -> None:
    first = State.read([])
    assert (first.epsilon, first.users, first.squared_change) == ("1", 10_000, None)
    assert State.read(first.texts().items()) == first


def test_what_is_typed_is_kept_exactly() -> None:
    found = State.read([("epsilon", "0.10"), ("users", "1e4"), ("squared_change", "1/3"), ("honest", "2/3")])
    assert (found.epsilon, found.users, found.squared_change, found.everybody) == ("0.10", 10_000, "1/3", False)
    assert State.read(found.texts().items()) == found


@pytest.mark.parametrize("name", CONTROLS)
@pytest.mark.parametrize(
    "text",
    ["nan", "inf", "-1", "0", "1e999999999", "9" * 5000, "<script>alert(1)</script>", "1,5", "0x10", "1_0", "٣", "1/0"],
)
def test_anything_else_is_one_sentence_beside_its_field(name: str, text: str) -> None:
    found = errors(**{name: text})
    assert set(found) == {name}
    assert found[name].startswith(f"{name}='{text[:40]}")
    assert found[name].endswith(".")
    assert "\n" not in found[name]
    assert len(found[name]) < 120


@pytest.mark.parametrize("name", [name for name, control in CONTROLS.items() if control.whole])
def test_what_is_counted_is_whole(name: str) -> None:
    assert "an integer from" in errors(**{name: "2.5"})[name]


def test_every_stop_and_both_ends_are_taken() -> None:
    for name, control in CONTROLS.items():
        for text in (*control.stops, control.low, control.high):
            query = {"users": "1e7", "instances": "1e4", name: text}
            assert Fraction(str(getattr(State.read(query.items()), name))) == Fraction(text)


def test_what_does_not_fit_together_is_told_where_it_can_be_mended() -> None:
    assert "at most instances=16" in errors(squared_change="17")["squared_change"]
    assert "at least 1/20" in errors(users="20", honest="0.04")["honest"]


def test_unknown_names_and_repetitions_are_refused() -> None:
    assert errors(color="red")["link"].startswith("'color' must be one of bitsum, epsilon")
    with pytest.raises(BadState, match="epsilon must be given once"):
        State.read([("epsilon", "1"), ("epsilon", "2")])
    assert errors(bitsum="x" * 1000)["bitsum"].startswith("bitsum='xxx")
    assert len(errors(bitsum="x" * 1000)["bitsum"]) < 300


def test_whatever_is_sent_is_a_state_or_sentences() -> None:
    rng, letters = random.Random(1), "0123456789.eE+-/_ ,naif<>&%\"'\0\n\u0663\u00bd\U0001f600\ud800"
    for _ in range(300):
        names = rng.sample([*CONTROLS, "bitsum", "?"], rng.randrange(4))
        try:
            found = State.read((name, "".join(rng.choices(letters, k=rng.randrange(1, 9) ** 2))) for name in names)
        except BadState as refused:
            sentences = refused.errors.values()
            assert sentences
            assert all(text.endswith(".") for text in sentences)
        else:
            assert found.texts().keys() == {*CONTROLS, "bitsum"}


def test_the_nearest_stop_is_nearest_as_a_ratio() -> None:
    control = CONTROLS["users"]
    assert control.stops[control.nearest("6900")] == "5000"
    assert control.stops[control.nearest("7200")] == "10000"


def test_the_page_is_told_all_that_its_controls_need() -> None:
    found = controls()
    assert list(found["controls"]) == list(CONTROLS)
    assert found["bitsums"][0] == "rr"
    assert all(entry["first"] in (*entry["stops"], "") for entry in found["controls"].values())
