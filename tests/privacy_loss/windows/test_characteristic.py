import mpmath
import numpy as np
import pytest

from dpverify.privacy_loss.windows import characteristic
from dpverify.privacy_loss.windows.characteristic import Line, LossAtoms, Nodes, all_faded, log_moduli_of


def exact(losses: list[float], masses: list[float], nodes: Nodes) -> list[mpmath.mpc]:
    with mpmath.workdps(50):
        return [
            sum(
                mpmath.mpf(mass) * mpmath.exp(mpmath.mpc(nodes.tilt, k * mpmath.mpf(nodes.spacing)) * mpmath.mpf(loss))
                for loss, mass in zip(losses, masses, strict=True)
            )
            for k in range(nodes.number)
        ]


@pytest.mark.parametrize("nodes", [Nodes(3.0, 0.7, 20), Nodes(40.0, 1e6, 17), Nodes(0.01, 1e-3, 1)])
def test_values_lie_within_their_error(nodes: Nodes) -> None:
    rng = np.random.default_rng(5)
    losses, masses = np.sort(rng.normal(size=12)), rng.dirichlet(np.ones(12))
    line = LossAtoms.of(losses, masses).along(nodes)
    truth = exact(losses.tolist(), masses.tolist(), nodes)
    for value, error, bound, true in zip(line.deviations, line.errors, line.log_moduli, truth, strict=True):
        with mpmath.workdps(50):
            assert abs(true / truth[0] - 1 - mpmath.mpc(value)) <= error
            assert abs(mpmath.log(truth[0]) - mpmath.mpf(line.log_scale)) <= line.scale_error
            assert mpmath.log(abs(true)) <= mpmath.mpf(float(bound))


def test_errors_grow_with_the_angles_and_stay_small() -> None:
    # What 1e6 turns lose is seen: the error that was found is above all charges but theirs.
    rng = np.random.default_rng(6)
    losses, masses = np.sort(rng.normal(size=12)), rng.dirichlet(np.ones(12))
    nodes = Nodes(1.0, 1e6, 16)
    line = LossAtoms.of(losses, masses).along(nodes)
    truth = exact(losses.tolist(), masses.tolist(), nodes)
    with mpmath.workdps(50):
        found = [abs(true / truth[0] - 1 - mpmath.mpc(x)) for x, true in zip(line.deviations, truth, strict=True)]
    still = LossAtoms.of(losses, masses).along(Nodes(1.0, 1.0, 16)).errors
    assert still.max() < 2e-13
    assert still.max() < max(found)
    assert all(error <= bound for error, bound in zip(found, line.errors, strict=True))


@pytest.mark.parametrize("number", [1, 2, 5, 64, 100])
def test_turns_from_powers_of_two_are_as_near_as_is_charged(number: int) -> None:
    angles = np.array([3e-12, -0.004, 0.7, 2.9])
    found = characteristic._turns(angles, number)
    with mpmath.workdps(50):
        for k, row in enumerate(found):
            for angle, value in zip(angles.tolist(), row, strict=True):
                off = abs(mpmath.expm1(1j * k * mpmath.mpf(angle)) - mpmath.mpc(value))
                assert off <= 15 * k * abs(angle) * 2.0**-53
    assert found.shape == (number, 4)


def test_deviations_of_small_losses_keep_their_digits() -> None:
    losses, masses = np.array([-1e-9, 1e-9]), np.array([0.25, 0.75])
    nodes = Nodes(1e5, 3.0, 9)
    line = LossAtoms.of(losses, masses).along(nodes)
    truth = exact(losses.tolist(), masses.tolist(), nodes)
    with mpmath.workdps(50):
        for value, error, true in zip(line.deviations[1:], line.errors[1:], truth[1:], strict=True):
            off = abs(true / truth[0] - 1 - mpmath.mpc(value))
            assert off <= error <= 1e-13 * abs(value)


def test_empty_atoms_leave_a_negligible_one() -> None:
    atoms = LossAtoms.of(np.zeros(0), np.zeros(0))
    assert atoms.along(Nodes(1.0, 1.0, 3)).log_moduli.max() < -700.0
    atoms = LossAtoms.of(np.array([0.0, 2.0]), np.array([1.0, 0.0]))
    assert atoms.losses.tolist() == [0.0, 2.0]


def test_log_moments_are_above_the_truth_and_near() -> None:
    rng = np.random.default_rng(7)
    losses, masses = np.sort(rng.normal(size=30)), rng.dirichlet(np.ones(30))
    tilts = np.array([0.01, 3.0, 700.0])
    found = LossAtoms.of(losses, masses).log_moments(tilts)
    for tilt, bound in zip(tilts, found, strict=True):
        with mpmath.workdps(50):
            truth = mpmath.log(exact(losses.tolist(), masses.tolist(), Nodes(float(tilt), 1.0, 1))[0].real)
            assert 0 <= mpmath.mpf(float(bound)) - truth <= 1e-10


@pytest.mark.parametrize("allowed", [1e-9, 1e-4, 0.02, 0.3])
def test_no_more_fades_than_is_allowed_and_the_largest_losses_first(allowed: float) -> None:
    losses = np.linspace(-2.0, 3.0, 400)
    masses = np.exp(-1.5 * np.abs(losses))
    masses /= masses.sum()
    rng = np.random.default_rng(8)
    order = rng.permutation(400)
    whole = LossAtoms.of(losses[order], masses[order])
    faded = whole.faded(allowed)
    kept = np.zeros(400)
    kept[np.searchsorted(losses, faded.losses)] = np.exp(faded.log_masses)
    shares = kept / masses
    assert (np.diff(shares) <= 1e-12).all()
    assert (shares <= 1.0 + 1e-12).all()
    lost = float(np.sum(masses - kept))
    assert lost <= allowed * (1.0 + 1e-12)
    if allowed > masses[-1]:
        assert lost > 0.2 * allowed
        assert faded.log_moments(np.array([8.0]))[0] < whole.log_moments(np.array([8.0]))[0]


def test_what_may_not_fade_stays() -> None:
    whole = LossAtoms.of(np.array([-1.0, 0.5]), np.array([0.5, 0.5]))
    assert np.exp(whole.faded(1e-3).log_masses).tolist() == pytest.approx([0.5, 0.5], rel=3e-3)
    assert float(np.exp(whole.faded(1e-3).log_masses).sum()) >= 1.0 - 1e-3
    far = LossAtoms.of(np.append(np.linspace(-1.0, 1.0, 50), 100.0), np.append(np.full(50, 0.02), 1e-9))
    assert far.faded(1e-6).losses.max() < 2.0
    alone = LossAtoms.of(np.array([0.7]), np.array([1.0]))
    assert alone.faded(0.5) is alone


def test_many_fade_as_each_does_alone() -> None:
    # Of several lengths, in any order, and some that may not fade: the sure one, and where next to nothing may.
    rng = np.random.default_rng(12)
    every = [
        LossAtoms.of(losses, np.exp(-losses - 0.3 * losses**2))
        for losses in (np.sort(rng.normal(0.0, 2.0, size)) for size in (1, 5, 80, 300))
    ]
    shuffled = rng.permutation(80)
    every += [LossAtoms(every[2].losses[shuffled], every[2].log_masses[shuffled]), every[3]]
    allowed = np.array([0.5, 1e-3, 1e-3, 1e-6, 1e-3, 1e-300])
    found = all_faded(every, allowed)
    for atoms, room, together in zip(every, allowed, found, strict=True):
        alone = atoms.faded(float(room))
        assert together.losses.tolist() == alone.losses.tolist()
        assert together.log_masses == pytest.approx(alone.log_masses, abs=1e-12)
    assert found[4].losses.tolist() == found[2].losses.tolist()
    assert found[2].log_masses[-1] < every[2].log_masses[-1] - 1.0


@pytest.mark.parametrize("error", [1e-9, 1e-2])
@pytest.mark.parametrize("radius", [1e-3, 0.3, 0.9, 1.0 - 1e-6])
def test_a_modulus_is_no_larger_wherever_the_value_is(error: float, radius: float) -> None:
    deviations = radius * np.exp(2j * np.pi * np.arange(16) / 16.0)
    ratios = Line(deviations, np.full(16, error), 0.0, 0.0).log_ratios
    with mpmath.workdps(50):
        for deviation, ratio in zip(deviations.tolist(), ratios.tolist(), strict=True):
            assert mpmath.log(abs(1 + mpmath.mpc(deviation)) + mpmath.mpf(error)) <= mpmath.mpf(ratio)


def test_atoms_that_are_spared_are_charged() -> None:
    losses = np.linspace(-3.0, 9.0, 400)
    atoms = LossAtoms(losses, -0.5 * losses**2 / 0.3)
    nodes = Nodes(2.0, 0.7, 30)
    whole, spared = atoms.along(nodes), atoms.along(nodes, spared=1e-4)
    moved = np.abs(whole.deviations - spared.deviations)
    # They are left out, and no value moves by more than is told.
    assert moved.max() > 1e-8
    assert np.all(moved <= spared.errors + whole.errors)
    assert np.all(spared.log_moduli >= whole.log_moduli - 2.0 * whole.errors / whole.moduli)


@pytest.mark.parametrize("spared", [2.0**-53, 1e-4])
@pytest.mark.parametrize("spacing", [0.05, 0.4, 3.0])
def test_gaps_and_places_of_many_losses_are_bounded_together(spacing: float, spared: float) -> None:
    rng = np.random.default_rng(9)
    lattice = np.arange(-3.0, 4.0)  # whose modulus is 1 again where all turn in full
    every = [
        LossAtoms.of(losses, rng.dirichlet(np.ones(losses.size)))
        for losses in (np.sort(rng.normal(size=5)), lattice, 1e-3 * lattice, np.array([2.0]))
    ]
    nodes = Nodes(0.7, spacing, 30, (0, 1, 2, 4, 8, 12, 28, 29))
    found = log_moduli_of(every, nodes, spared=spared)
    assert found.shape == (4, nodes.values) == (4, 12)
    ends = [(nodes.places[gap], nodes.places[gap + 1]) for gap in nodes.gaps]
    for atoms, row in zip(every, found.tolist(), strict=True):
        truth = exact(atoms.losses.tolist(), np.exp(atoms.log_masses).tolist(), nodes)
        with mpmath.workdps(50):
            logs = [mpmath.log(abs(true)) for true in truth]
        for place, bound in zip(nodes.places, row, strict=False):
            assert logs[place] - 1e-15 <= bound <= logs[place] + (1e-11 if spared < 1e-9 else 5e-2)
        for (first, last), bound in zip(ends, row[8:], strict=True):
            assert max(logs[first : last + 1]) - 1e-15 <= bound
            # No more than the chord and its curvature ask for: a gap a quarter as wide would do for a tenth of it.
            assert bound <= max(logs[first], logs[last]) + 7.0 * (spacing * (last - first)) ** 2 + 2e-2


@pytest.mark.parametrize("half", [0.05, 0.3])
@pytest.mark.parametrize(("first", "last", "highest", "room"), [(58, 62, 60, 1e-4), (52, 60, 59, 0.03)])
def test_a_gap_is_as_high_as_two_losses_between_places_can_be(
    half: float, first: int, last: int, highest: int, room: float
) -> None:
    # |cos|, 1 again at node 60: between equal ends all of the bound on the second derivative is needed.
    atoms = LossAtoms.of(np.array([-half, half]), np.array([0.5, 0.5]))
    nodes = Nodes(1e-12, np.pi / half / 60.0, last + 1, (*range(first + 1), last))
    truth = np.log(abs(np.cos(np.pi * highest / 60.0)))
    assert truth - 1e-15 <= log_moduli_of([atoms], nodes)[0, -1] <= truth + room


def test_what_many_losses_spare_is_charged() -> None:
    losses = np.linspace(-3.0, 9.0, 400)
    atoms = LossAtoms(losses, -0.5 * losses**2 / 0.3)
    nodes = Nodes(2.0, 0.7, 30, (0, 1, 2, 4, *range(5, 30)))
    whole, spared = (log_moduli_of([atoms], nodes, spared=share)[0] for share in (1e-16, 1e-4))
    full = atoms.along(Nodes(2.0, 0.7, 30)).log_moduli
    assert np.all(spared >= whole)
    assert np.all(spared[1:-1] >= full[list(nodes.places)][1:] + 1e-7)


@pytest.mark.parametrize("places", [(0, 1, 2, 4, 8, 24, 25), (*range(100),), (0, 1024, 1025, 2049)])
def test_turns_by_steps_are_as_near_as_is_charged(places: tuple[int, ...]) -> None:
    angles = np.array([[3e-12, -0.004], [0.7, 2.9]])
    with mpmath.workdps(50):
        for place, found in zip(places, characteristic._turned(angles, places), strict=True):
            for angle, value in zip(angles.ravel().tolist(), found.ravel().tolist(), strict=True):
                off = abs(mpmath.expm1(1j * place * mpmath.mpf(angle)) - mpmath.mpc(value))
                assert off <= (15 + 4 * max(places).bit_length() + len(places)) * place * abs(angle) * 2.0**-53
