import numpy as np
import pytest

from protocols.shuffler import shuffle
from protocols.vector_sum import VectorSum
from tests.refusals import refused
from tests.samples import assert_law, assert_mean, assert_same_law

VECTORS = np.array([[0.0, 0.3, 1.0], [0.9, 0.5, 0.2]])
HOLDERS = np.array([2, 1])

KINDS = {
    "one": VectorSum(3, 3, 2, 0.3),
    "one-of-each-block": VectorSum(3, 3, 1, 0.3, sampled=2, stratified=True, centre=0.5),
    "subset": VectorSum(3, 3, 2, 0.2, sampled=2, centre=0.25),
    "all": VectorSum(3, 3, 1, 0.4, sampled=3),
}


@pytest.fixture(params=KINDS, name="protocol")
def _protocol(request: pytest.FixtureRequest) -> VectorSum:
    return KINDS[request.param]


@pytest.mark.long
def test_messages_and_aggregates_have_one_law(protocol: VectorSum) -> None:
    rng = np.random.default_rng(1)
    everyone = np.repeat(VECTORS, HOLDERS, axis=0)
    sent = [protocol.view(shuffle(protocol.randomize(everyone, rng), rng)) for _ in range(2000)]
    sampled = [protocol.sample_view(VECTORS, rng, holders=HOLDERS) for _ in range(4000)]
    assert_same_law([view.tobytes() for view in sent], [view.tobytes() for view in sampled])


@pytest.mark.long
def test_dropouts_are_known_to_the_analyzer() -> None:
    rng, protocol = np.random.default_rng(3), KINDS["subset"]
    views = np.stack([protocol.sample_view(VECTORS, rng) for _ in range(6000)])
    assert_mean(protocol.analyze(views, participants=2), VECTORS.sum(axis=0))


def test_each_user_reports_distinct_coordinates_one_from_each_block(protocol: VectorSum) -> None:
    sent = protocol.with_users(50).randomize(np.full((50, 3), 0.5), np.random.default_rng(4))
    assert (sent.per_user(50) == protocol.sampled).all()
    coordinates = sent.symbols[:, 0].reshape(50, protocol.sampled)
    assert all(np.unique(row).size == protocol.sampled for row in coordinates)
    if protocol.stratified:
        assert all(np.isin(column, block).all() for column, block in zip(coordinates.T, protocol.blocks, strict=True))


def test_report_law_of_one_coordinate() -> None:
    # Every step by hand: x = 0.3 is 0.6 levels up, so 0 w.p. 0.4 and 1 w.p. 0.6; then one of three values w.p. 0.3.
    protocol = VectorSum(100_000, 1, 2, 0.3)
    expected = {0: 0.7 * 0.4 + 0.1, 1: 0.7 * 0.6 + 0.1, 2: 0.1}
    assert protocol.report_law([[0.3]])[0, 0] == pytest.approx(list(expected.values()), rel=1e-14)
    sent = protocol.randomize(np.full((100_000, 1), 0.3), np.random.default_rng(5))
    assert_law(sent.symbols[:, 1].tolist(), expected)


def test_no_more_take_part_than_there_are_users() -> None:
    protocol, rng, four = KINDS["subset"], np.random.default_rng(7), np.full((4, 3), 0.5)
    with pytest.raises(ValueError, match=r"^vectors holds 4 users, but must hold users=3\.$"):
        protocol.run(four, rng)
    with pytest.raises(ValueError, match="holds 2 users, but must hold users=3;"):
        protocol.run(four[:2], rng)
    assert protocol.run(four[:2], rng, participants=2).shape == (3,)
    for call in (protocol.randomize, protocol.sample_view):
        with pytest.raises(ValueError, match=r"^vectors holds 4 users, but must hold at most users=3: .*\.$"):
            call(four, rng)
    with pytest.raises(ValueError, match=r"^holders holds 4 users, but must hold at most users=3: .*\.$"):
        protocol.sample_view(VECTORS, rng, holders=[3, 1])
    with refused("participants=4"):
        protocol.analyze(protocol.sample_view(VECTORS, rng), participants=4)


def test_run_of_exact_reports_is_the_sum() -> None:
    protocol = VectorSum(4, 2, 4, 0.0, sampled=2)
    inputs = np.array([[0.0, 0.25], [1.0, 0.5], [0.75, 0.75], [0.5, 1.0]])
    assert protocol.run(inputs, np.random.default_rng(6)) == pytest.approx(inputs.sum(axis=0), abs=1e-12)


def test_whether_it_is_stratified_is_true_or_false() -> None:
    for value in ("yes", 1, None):
        with refused("stratified", TypeError):
            VectorSum(10, 4, 2, 0.4, 2, value)  # type: ignore[arg-type]
    assert VectorSum(10, 4, 2, 0.4, 2, np.bool_(True)).stratified  # type: ignore[arg-type]


@pytest.mark.parametrize("vectors", [[[0.0, 1.1, 0.0]], [[0.0, float("nan"), 0.0]], [[0.0, -1e-9, 0.0]], [[0.0, 0.5]]])
def test_vectors_are_checked(vectors: list[list[float]]) -> None:
    for call in (KINDS["one"].randomize, KINDS["one"].sample_view):
        with pytest.raises(ValueError, match=r"^vectors.* must .*\.$"):
            call(vectors, np.random.default_rng(0))


def test_messages_and_views_are_checked() -> None:
    protocol, rng = KINDS["one"], np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"^symbols contains \[0, 3\]"):
        protocol.view([[0, 3]])
    with pytest.raises(ValueError, match=r"^view has shape \(2, 3\)"):
        protocol.analyze(np.zeros((2, 3), dtype=int))
    with pytest.raises(ValueError, match=r"^holders="):
        protocol.sample_view(VECTORS, rng, holders=[1, -1])
    with refused("rng=7", TypeError):
        protocol.sample_view(VECTORS, 7)
