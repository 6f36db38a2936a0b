"""A learned classifier as a file: an npz without pickles, of public settings and published values only.

No point is in it, no seed of private randomness, and nothing that is not published; the features are drawn again from
their public seed. So it may be handed to anybody at no cost in privacy.
"""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpverify.claims.records import protocol_of, record_of
from dpverify.digits import json_plain
from dpverify.guarantee import Guarantee
from dpverify.learning.base import PlannedBitsums
from dpverify.learning.classifier import PrivateDensityClassifier
from dpverify.learning.data import check_path
from dpverify.learning.guarantee import LearnedGuarantee
from dpverify.learning.scale import PublicScale
from protocols.bitsum import ExactSum
from protocols.classifier import HighestDensityClassifier
from protocols.kde import KernelDensity

__all__ = ["load_model", "save_model"]

_FORMAT = "dpverify-classifier-1"
_SETTINGS = ("delta", "kernel", "bandwidth", "protocol", "bits", "rule", "public_random_state")


def save_model(classifier: PrivateDensityClassifier, path: str | Path) -> None:
    """Write a fitted classifier.

    Parameters
    ----------
    classifier : PrivateDensityClassifier
        Fitted.
    path : str or Path
        An npz file.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    if not isinstance(classifier, PrivateDensityClassifier):
        raise TypeError(f"classifier={classifier!r} must be a PrivateDensityClassifier.")
    check_is_fitted(classifier)
    check_path("path", path)
    made = classifier.protocol_
    header = {
        "format": _FORMAT,
        "settings": {name: _plain(getattr(classifier, name)) for name in _SETTINGS},
        "epsilon": _plain(classifier.epsilon),
        "label_epsilon": _plain(classifier.label_epsilon),
        "scale": classifier.scale_.to_dict(),
        "dimension": classifier.n_features_in_,
        "names": list(map(str, getattr(classifier, "feature_names_in_", []))),
        "guarantee": _written(classifier.guarantee_),
        "bitsums": [
            None if isinstance(one.bitsum, ExactSum) else record_of(one.bitsum) for one in made.class_protocols()
        ],
    }
    arrays: dict[str, Any] = {
        "header": np.array(json.dumps(header)),
        "classes": classifier.classes_,
        "empty_classes": classifier.empty_classes_,
        "reported_counts": classifier.reported_counts_,
        "published": np.stack([density.published for density in made.densities_]),
    }
    if arrays["classes"].dtype.hasobject:
        arrays |= {name: arrays[name].astype(str) for name in ("classes", "empty_classes")}
    with Path(path).open("wb") as file:  # not by its name, to which numpy would add the suffix .npz
        np.savez_compressed(file, **arrays)


def load_model(path: str | Path) -> PrivateDensityClassifier:
    """Return the classifier of a file, fitted; nothing in the file is executed.

    Parameters
    ----------
    path : str or Path
        As `save_model` wrote it.

    Raises
    ------
    ValueError
        If it is no such file.
    OSError
        If it cannot be read.
    """
    check_path("path", path)
    try:
        with Path(path).open("rb") as stream:
            if not zipfile.is_zipfile(stream):
                raise ValueError("it is no npz file")
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        if "header" not in arrays:
            raise ValueError("it has no header")
        header = json.loads(str(arrays["header"]))
        if header["format"] != _FORMAT:
            raise ValueError(f"its format is {header['format']!r}")
        return _restored(header, arrays)
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} must be a model that dpverify has written ({error}).") from None


def _restored(header: dict[str, Any], arrays: dict[str, Any]) -> PrivateDensityClassifier:
    scale = PublicScale.from_dict(header["scale"])
    classes, counts = arrays["classes"], arrays["reported_counts"]
    public_scale: Any = {"unit": "unit", "ball": scale.radius, "box": (scale.low, scale.high)}[scale.kind]
    classifier = PrivateDensityClassifier(
        epsilon=_number(header["epsilon"]),
        label_epsilon=_number(header["label_epsilon"]),
        public_scale=public_scale,
        classes=np.sort(np.concatenate([classes, arrays["empty_classes"]])).tolist(),
        **header["settings"],
    )
    public, _ = classifier._public(header["dimension"])
    features = public.drawn
    shape = (len(classes), features.instances, features.family.Q)
    published = np.asarray(arrays["published"], dtype=np.float64)
    if published.shape != shape or counts.shape != shape[:1] or not np.isfinite(published).all():
        raise ValueError(f"its values have shape {published.shape}, and must have {shape}")
    bitsums = {
        int(count): ExactSum(int(count)) if record is None else protocol_of(record)
        for count, record in zip(counts, header["bitsums"], strict=True)
    }
    made = HighestDensityClassifier(
        public.family,
        instances=public.pairs,
        bitsum=PlannedBitsums(bitsums),
        label_epsilon=None if classifier.label_epsilon == math.inf else classifier.label_epsilon,
        classes=classifier.classes,
        empty_class="never",
        public_random_state=classifier.public_random_state,
    )
    densities = [KernelDensity(values, int(count), features) for values, count in zip(published, counts, strict=True)]
    made.adopt(features, classes, arrays["empty_classes"], counts, densities)
    classifier.adopt(made, tuple(header["names"]) or None, scale, _guarantee(header["guarantee"]))
    return classifier


def _plain(value: Any) -> Any:
    """Return a setting as JSON has it: exact numbers as texts, infinity as the word."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return "inf" if value == math.inf else value
    return str(value)


def _number(value: Any) -> Any:
    return math.inf if value == "inf" else value


def _written(found: LearnedGuarantee) -> dict[str, Any]:
    """Return the fields as plain JSON values, to the last digit, where `to_dict` rounds up."""
    values = found.to_dict()
    for name, one in (("point", found.point), ("point_and_label", found.point_and_label)):
        if one is not None:
            values[name]["epsilon"] = json_plain(one.epsilon)
    return values


def _guarantee(values: dict[str, Any]) -> LearnedGuarantee:
    def one(fields: dict[str, Any]) -> Guarantee:
        return Guarantee(**{**fields, "epsilon": float(fields["epsilon"])})

    both = values["point_and_label"]
    return LearnedGuarantee(one(values["point"]), None if both is None else one(both), tuple(values["notes"]))
