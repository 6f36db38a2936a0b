"""A learned classifier as a file: an npz without pickles, of public settings and published values only.

No point is in it, no seed of private randomness, and nothing that is not published; the features are drawn again from
their public seed. So whom it is handed to learns nothing that was not published. But of a model that was fitted with a
`random_state`, which its notes say, whoever knows or guesses that seed can take the noise away.

What a file says of itself is not believed, where it can be proved: its guarantee is that of its settings, which the
parameters of every class must meet. That the protocol was run at all, with labels randomized as is said, is the word of
whoever wrote it.
"""

from __future__ import annotations

import io
import json
import math
import struct
import zipfile
import zlib
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpverify.claims.records import protocol_of, record_of
from dpverify.claims.registry import claims_of
from dpverify.files import replaced
from dpverify.learning.base import FIXED_SEED, PlannedBitsums
from dpverify.learning.classifier import PrivateDensityClassifier
from dpverify.learning.files.data import check_path
from dpverify.learning.files.discriminants import DISCRIMINANT, discriminant_of, discriminant_parts
from dpverify.learning.guarantee import guarantee_of, promised_by
from dpverify.learning.joint.discriminant import PrivateDiscriminant
from dpverify.learning.labels import LABELS_TAKEN
from dpverify.learning.planner import Planner
from dpverify.learning.scale import PublicScale
from protocols.bitsum import ExactSum
from protocols.classifier import HighestDensityClassifier
from protocols.kde import KernelDensity

__all__ = ["NOT_PROVED", "Model", "load_model", "save_model"]

Model = PrivateDensityClassifier | PrivateDiscriminant
_FORMAT = "dpverify-classifier-2"
_OF_0_2_0 = "dpverify-classifier-1"
"""It called the sum of bits a protocol, and had the whole guarantee where there are only its notes now."""
_SETTINGS = ("delta", "kernel", "bandwidth", "bitsum", "bits", "rule", "public_random_state")
NOT_PROVED = "what the file says of its parameters was not proved again"
_NOTES = (LABELS_TAKEN, FIXED_SEED, NOT_PROVED)
_HOSTILE = (
    ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, MemoryError, OSError, RuntimeError,
    SyntaxError, TypeError, ValueError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What reading a file that somebody else made up may end in."""


def save_model(classifier: Model, path: str | Path) -> None:
    """Write a fitted classifier.

    - classifier: Fitted.
    - path: An npz file.

    Raises OSError if it cannot be written.
    """
    if not isinstance(classifier, (PrivateDensityClassifier, PrivateDiscriminant)):
        raise TypeError(f"classifier={classifier!r} must be a PrivateDensityClassifier or a PrivateDiscriminant.")
    check_is_fitted(classifier)
    check_path("path", path)
    joint = isinstance(classifier, PrivateDiscriminant)
    own, arrays = discriminant_parts(classifier) if joint else _parts(classifier)
    header = {
        "format": DISCRIMINANT if joint else _FORMAT,
        **own,
        "settings": {name: _plain(value) for name, value in own["settings"].items()},
        "scale": classifier.scale_.to_dict(),
        "dimension": classifier.n_features_in_,
        "names": list(map(str, getattr(classifier, "feature_names_in_", []))),
        "notes": list(classifier.guarantee_.notes),
    }
    arrays |= {name: array.astype(str) for name, array in arrays.items() if array.dtype.hasobject}
    arrays = {"header": np.array(json.dumps(header)), **arrays}
    with replaced(Path(path)) as part, open(part, "wb") as file:  # not by its name, to which numpy may add a suffix
        np.savez_compressed(file, **arrays)


def _parts(classifier: PrivateDensityClassifier) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the header of a density classifier has of its own, and its arrays."""
    made, settings = classifier.protocol_, classifier._fitted_with
    header = {
        "settings": {name: settings[name] for name in _SETTINGS},
        "epsilon": _plain(settings["epsilon"]),
        "label_epsilon": _plain(settings["label_epsilon"]),
        "bitsums": [
            None if isinstance(one.bitsum, ExactSum) else record_of(one.bitsum) for one in made.class_protocols()
        ],
    }
    arrays: dict[str, Any] = {
        "classes": classifier.classes_,
        "empty_classes": classifier.empty_classes_,
        "reported_counts": classifier.reported_counts_,
        "published": np.stack([density.published for density in made.densities_]),
    }
    if arrays["classes"].dtype.hasobject:  # also where no class is empty
        arrays["empty_classes"] = arrays["empty_classes"].astype(str)
    return header, arrays


def load_model(path: str | Path, *, proved: bool = True) -> Model:
    """Return the classifier of a file, fitted; nothing in the file is executed.

    - path: As `save_model` wrote it, that of dpverify 0.2.0 as well.
    - proved: Whether to prove, in about a second for each size of a class, or once for a discriminant, that its
      parameters keep what it guarantees; else a note says that this is the file's word.

    Raises ValueError if it is no such file, or its parameters do not keep the budget that it states. Raises OSError if
    it cannot be read.
    """
    check_path("path", path)
    content = io.BytesIO(Path(path).read_bytes())
    try:
        if not zipfile.is_zipfile(content):
            raise ValueError("it is no npz file")
        with np.load(content, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        if "header" not in arrays:
            raise ValueError("it has no header")
        header = json.loads(str(arrays["header"]))
        if not isinstance(header, dict) or not isinstance(header["format"], str):
            raise ValueError("its header must be an object with a format")
        if header["format"] == _OF_0_2_0:
            header |= {"format": _FORMAT, "notes": header["guarantee"]["notes"]}
            header["settings"]["bitsum"] = header["settings"].pop("protocol")
        if header["format"] not in (_FORMAT, DISCRIMINANT):
            raise ValueError(f"its format is {header['format']!r}")
        return _restored(header, arrays, proved)
    except _HOSTILE as error:
        reason = str(error).removesuffix(".") or type(error).__name__
        raise ValueError(f"{path} must be a model that dpverify has written ({reason}).") from None


def _restored(header: dict[str, Any], arrays: dict[str, Any], proved: bool) -> Model:
    for name, kind in (("names", list), ("notes", list), ("scale", dict), ("settings", dict)):
        held = header.get(name)
        if not isinstance(held, kind) or (kind is list and not all(isinstance(each, str) for each in held)):
            raise ValueError(f"its {name} must be {'a list of texts' if kind is list else 'an object'}")
    try:
        scale = PublicScale.from_dict(header["scale"])
    except (LookupError, TypeError):
        raise ValueError("its scale must be 'unit', a 'ball' with its radius, or a 'box' with low and high") from None
    public_scale: Any = {"unit": "unit", "ball": scale.radius, "box": (scale.low, scale.high)}[scale.kind]
    if not set(header["notes"]) <= set(_NOTES):
        raise ValueError("its notes must be those of a classifier")
    notes = tuple(note for note in header["notes"] if note != NOT_PROVED)
    if header["format"] == DISCRIMINANT:
        return discriminant_of(header, arrays, public_scale, scale, notes if proved else (*notes, NOT_PROVED), proved)
    classes, counts = arrays["classes"], arrays["reported_counts"]
    classifier = PrivateDensityClassifier(
        epsilon=_number(header["epsilon"]),
        label_epsilon=_number(header["label_epsilon"]),
        public_scale=public_scale,
        classes=np.sort(np.concatenate([classes, arrays["empty_classes"]])).tolist(),
        **header["settings"],
    )
    classifier._check()
    public, _ = classifier._public(header["dimension"])
    if classes.ndim != 1 or counts.dtype.kind not in "iu" or not (counts > 0).all():
        raise ValueError("its reported counts must be positive integers, one for each class")
    if len(header["names"]) not in (0, public.dimension):
        raise ValueError("its names must be those of a classifier")
    features = public.drawn
    shape = (len(classes), features.instances, features.family.Q)
    published = np.asarray(arrays["published"], dtype=np.float64)
    if published.shape != shape or counts.shape != shape[:1]:
        raise ValueError(f"its values have shape {published.shape}, and must have {shape}")
    if not np.isfinite(published).all():
        raise ValueError("its values must be finite")
    budget = classifier._budget()
    bitsums = PlannedBitsums(
        {
            int(count): ExactSum(int(count)) if record is None else protocol_of(record)
            for count, record in zip(counts, header["bitsums"], strict=True)
        },
        None if budget is None else promised_by(budget),
    )
    if budget is None:
        if any(record is not None for record in header["bitsums"]):
            raise ValueError("its classes must have exact sums, as its epsilon is infinite")
    elif proved:
        _prove(Planner(classifier.bitsum, budget, features.coordinates, public.squared_change), bitsums)
    made = HighestDensityClassifier(
        public.family,
        instances=public.pairs,
        bitsum=bitsums,
        label_epsilon=None if classifier.label_epsilon == math.inf else classifier.label_epsilon,
        classes=classifier.classes,
        empty_class="never",
        public_random_state=classifier.public_random_state,
    )
    densities = [KernelDensity(values, int(count), features) for values, count in zip(published, counts, strict=True)]
    made.adopt(features, classes, arrays["empty_classes"], counts, densities)
    if budget is not None and not proved:
        notes = (*notes, NOT_PROVED)
    promised = guarantee_of(bitsums.promised, classifier.label_epsilon, notes)
    classifier.adopt(made, tuple(header["names"]) or None, scale, promised)
    return classifier


def _prove(planner: Planner, bitsums: PlannedBitsums) -> None:
    """Refuse parameters of a class that do not keep the budget.

    Raises ValueError if some do not.
    """
    for users, bitsum in bitsums.by_users.items():
        if claims_of(bitsum).name != planner.bitsum or bitsum.users != users:
            raise ValueError(f"its class of {users} users must have run {planner.bitsum}, for as many users")
        if not planner.keeps(bitsum):
            raise ValueError(
                f"its parameters for {users} users do not keep the epsilon={planner.budget.epsilon!r} and delta="
                f"{planner.budget.delta!r} that it states"
            )


def _plain(value: Any) -> Any:
    """Return a setting as JSON has it: exact numbers as texts, infinity as the word."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Integral):  # numpy's, too
        return int(value)
    if isinstance(value, float):
        return "inf" if value == math.inf else float(value)
    return str(value)


def _number(value: Any) -> Any:
    return math.inf if value == "inf" else value
