"""Which notebook walks through which entries: by heading, in the order in which one reads."""

from __future__ import annotations

__all__ = ["WALKTHROUGHS", "walkthroughs_of"]

WALKTHROUGHS: dict[str, tuple[str, ...]] = {
    "02_composition.ipynb#Theorem 3.2: what each binary sum may spend": (
        "wagner2025-theorem-3.2-composition",
        "wagner2025-section-4-delta-split",
        "wagner2025-a1.7-pure-composition",
    ),
    '02_composition.ipynb#Is "optimal" optimal? Try to break it': (
        "scott2022-theorem-4.2",
        "scott2022-corollary-4.3",
        "wang_lecture9-9.1.1-hundred-rounds",
    ),
    "03_bitsums.ipynb#Lemma 4.8 of cheu2019, and how much it leaves on the table": (
        "cheu2019-lemma-4.8",
        "wagner2025-appendix-c-flips",
    ),
    "03_bitsums.ipynb#Randomized response: the count, with your bit 0 or 1": (
        "wagner2025-b1-rr-analyzer",
        "wagner2025-b1-rr-code",
    ),
    "03_bitsums.ipynb#3NB: three noises, and what each is for": (
        "wagner2025-a2-three-nb-error",
        "wagner2025-a2-per-user-shape",
        "wagner2025-section-4-flood-cancels",
        "ghazi2021-algorithm-7-divisible",
    ),
    "03_bitsums.ipynb#What does c do?": ("wagner2025-a2-three-nb",),
    "03_bitsums.ipynb#Side by side at one budget": (
        "ghazi2021-theorem-39",
        "wagner2025-b1-single-noise-analyzer",
        "wagner2025-pure-sum-view",
        "wagner2025-pure-message-view",
        "wagner2025-pure-estimate",
        "wagner2025-section-4.2-3nb",
        "wagner2025-section-4.2-pure",
        "wagner2025-section-4.2-rr",
        "wagner2025-section-4.2-few-times",
    ),
    "04_densities.ipynb#Step 1: a kernel is an average of products": (
        "wagner2025-definition-2.1",
        "wagner2025-gaussian-lsq",
        "wagner2025-laplacian-exponential-lsq",
        "wagner2025-a3",
        "wagner2025-algorithm-2-frequencies",
    ),
    "04_densities.ipynb#Step 2: a feature is a biased coin": ("wagner2025-claim-a.2", "wagner2025-claim-a.4"),
    "04_densities.ipynb#Step 3: a private count instead of a count": (
        "wagner2025-claim-a.3",
        "wagner2025-algorithm-2-query",
    ),
    "04_densities.ipynb#Theorem 3.2's error, against the truth": (
        "wagner2025-theorem-3.2-error",
        "wagner2025-definition-3.1",
        "wagner2025-a1.4-first-summand",
        "wagner2025-a1.6-sum",
    ),
    "04_densities.ipynb#Theorem 3.2's privacy, against the truth": ("wagner2025-theorem-3.2-privacy",),
    "04_densities.ipynb#Theorem 3.3: what it promises for Gaussian densities": (
        "wagner2025-theorem-3.3-parameters",
        "wagner2025-theorem-3.3-error",
    ),
    "05_classifier.ipynb#Why it is private": (
        "wagner2025-corollary-3.4-communication",
        "wagner2025-section-2.1-post-processing",
    ),
    "05_classifier.ipynb#What the labels cost": ("wagner2025-section-3.3-labels", "wagner2025-section-3.3-labels-code"),
    "05_classifier.ipynb#Try to break it: what the counts say": (
        "wagner2025-corollary-3.4-model",
        "wagner2025-section-3.3-counts",
    ),
    "05_classifier.ipynb#Decoding": ("wagner2025-section-3.3-decoding",),
    "06_histograms.ipynb#Why it is private: your message hides in a negative binomial": (
        "ghazi2021-algorithm-8",
        "ghazi2021-footnote-8",
        "ghazi2021-lemma-38",
        "ghazi2021-lemma-38-constant",
    ),
    "06_histograms.ipynb#One pair, exactly": ("ghazi2021-lemma-37", "ghazi2021-lemma-37-empty"),
    "06_histograms.ipynb#The published parameters, and the least that are private": (
        "ghazi2021-corollary-40-parameters",
        "ghazi2021-corollary-40-order",
        "ghazi2021-corollary-40-chernoff",
    ),
    "06_histograms.ipynb#Selection does not pay for the number of values": (
        "ghazi2021-lemma-36",
        "ghazi2021-lemma-36-two-buckets",
    ),
    "06_histograms.ipynb#Try to break it: the printed identity": ("ghazi2021-corollary-40-identity",),
    "07_vector_sums.ipynb#Why it is private: a blanket of random reports": (
        "scott2022-algorithm-1",
        "balle2019-lemma-5.3",
        "scott2022-lemma-4.5-domain",
        "scott2022-lemma-4.5-likelihood",
    ),
    "07_vector_sums.ipynb#How much blanket is needed?": (
        "scott2022-theorem-4.1",
        "scott2022-section-4.5-gamma",
        "scott2022-section-4.3-range",
    ),
    "07_vector_sums.ipynb#The error: levels against blanket": (
        "scott2022-algorithm-2-rounding",
        "scott2022-algorithm-3-debias",
        "scott2022-theorem-4.6-levels",
        "scott2022-theorem-4.6-variance",
        "scott2022-theorem-4.6-normalization",
        "scott2022-figures-2-3-exponents",
    ),
    "07_vector_sums.ipynb#Try to break the claims": (
        "scott2022-lemma-4.4-product",
        "scott2022-theorem-4.1-composition",
        "scott2022-lemma-4.5-sample-size",
    ),
    "08_local_and_shuffled.ipynb#One bit for a real number (equation 9.2, Theorem 9.3)": (
        "wang_lecture9-theorem-9.3",
        "wang_lecture9-randomized-response",
        "wang_lecture9-randomized-response-error",
        "wang_lecture9-laplace-mean",
        "wang_lecture9-central-laplace",
        "wang_lecture9-equation-9.1",
    ),
    "08_local_and_shuffled.ipynb#How much better can any local mechanism be? (Theorem 9.2)": (
        "wang_lecture9-theorem-9.2",
        "wang_lecture9-theorem-9.2-bayes",
        "wang_lecture9-sample-sizes",
    ),
    "08_local_and_shuffled.ipynb#RAPPOR: why memory matters": (
        "erlingsson2014-theorem-1",
        "erlingsson2014-theorem-2",
        "wang_lecture9-9.1.1-limit",
        "wang_lecture9-9.1.1-memoization",
        "wang_lecture9-9.1.1-single",
        "wang_lecture9-figure-9.3-steps",
    ),
    "08_local_and_shuffled.ipynb#Amplification by shuffling (Theorem 9.4)": (
        "wang_lecture9-theorem-9.4",
        "feldman2023-clones",
        "wang2024-two-counts",
        "wang_lecture9-section-9.2.1-order",
    ),
    "08_local_and_shuffled.ipynb#What a shuffler buys for a mean": (
        "wang_lecture9-section-9.2.1-average",
        "wang_lecture9-theorem-9.6",
    ),
    "09_user_level.ipynb#Correlated sampling: the same dice for nearly the same law": ("ghazi2021-theorem-8",),
    "09_user_level.ipynb#A stable learner (Algorithm 3)": (
        "ghazi2021-theorem-26",
        "ghazi2021-lemma-28",
        "ghazi2021-corollary-27",
    ),
    "09_user_level.ipynb#How many users? Local against central": (
        "ghazi2021-theorem-29",
        "ghazi2021-theorem-30",
        "ghazi2021-lemma-4",
    ),
    "09_user_level.ipynb#Try to break it: Algorithm 5's rounding": ("ghazi2021-algorithm-5",),
    "11_joint_changes.ipynb#The picture: a ball in a box": ("wagner2025-section-4-mean-kernel",),
    "12_errata.ipynb#1. A parameter without its constant (wang_lecture9, Theorem 9.6)": (
        "wang_lecture9-theorem-9.6-parameter",
    ),
    "12_errata.ipynb#2. A constant hidden in Θ(1) (wagner2025, A.2: 3NB)": ("wagner2025-a2-three-nb",),
    "12_errata.ipynb#3. Neighbours that are forgotten (wagner2025, Corollary 3.4)": ("wagner2025-corollary-3.4-model",),
    "12_errata.ipynb#4. Views that are not a product (scott2022, Lemma 4.4)": ("scott2022-lemma-4.4-product",),
    "12_errata.ipynb#5. A bound for the wrong view: a factor d for nothing (scott2022, section 4.5)": (
        "scott2022-section-4.5-gamma",
    ),
    "12_errata.ipynb#6. A table that cannot be (wagner2025, Table 4)": ("wagner2025-table-4",),
    "12_errata.ipynb#7. An estimator with the wrong centre (wang_lecture9, equation 9.5)": (
        "wang_lecture9-equation-9.5",
    ),
}
"""Names of entries, by notebook and heading."""


def walkthroughs_of(name: str) -> tuple[str, ...]:
    """Return the passages of notebooks that walk through an entry, such as `notebooks/03_bitsums.ipynb#Learnt`."""
    return tuple(f"notebooks/{place}" for place, names in WALKTHROUGHS.items() if name in names)
