"""What figures and forms call knobs and entries: the same in a notebook, on the dashboard and in a saved page."""

from __future__ import annotations

from lab.core.knobs import Knob

SYMBOLS = {
    "alpha": "α", "beta": "β", "delta": "δ", "delta_neg": "δ₋", "delta_pos": "δ₊", "eps": "ε", "epsilon": "ε",
    "gamma": "γ", "lam": "λ", "nu": "ν", "rank_minus": "rank⁻", "rank_plus": "rank⁺", "rho": "ρ", "tau": "τ",
    "tau1": "τ₁", "tau2": "τ₂", "theta": "θ",
}  # fmt: skip
"""Knob to how formulas and axes write it."""

WORDS = {
    "alone": "M₊ alone", "both": "M₊ and M₋", "dim": "embedding size", "last": "last rank shown",
    "init_scale": "initial scale", "less": "compared with", "log_loss": "logarithmic loss", "lr": "learning rate",
    "min_norm": "minimum norm", "most": "items compared", "top": "ranks shown",
    "per_class": "items per class", "shown": "pairs shown", "simix": "SiMix", "upto": "up to",
}  # fmt: skip
"""Knob to a few words, where its name alone does not say what it is."""


NAMES = {
    "adamw": "AdamW", "ami": "AMI", "arc_face": "ArcFace", "blackbox_ap": "Blackbox AP", "cars196": "Cars-196",
    "cifar100": "CIFAR-100", "clusters_f1": "Clusters' F1", "cos_face": "CosFace", "cross_entropy": "Cross-entropy",
    "cub200": "CUB-200", "efficientnet_lite0": "EfficientNet-Lite0", "emoji7": "Emoji-7", "fast_ap": "FastAP",
    "food101": "Food-101", "google_landmarks_v1": "Google Landmarks v1", "hierarchical_ap": "Hierarchical AP",
    "hit_rate_at_k": "Hit rate@k", "in_shop": "In-Shop", "inaturalist2018": "iNaturalist 2018", "map_at_r": "MAP@R",
    "mean_average_precision": "mAP", "mini_inaturalist2021": "Mini-iNaturalist 2021",
    "multi_similarity": "Multi-similarity", "nmi": "NMI", "nt_xent": "NT-Xent", "precision_at_k": "Precision@k",
    "proxy_anchor": "Proxy-Anchor", "proxy_nca": "ProxyNCA", "r_precision": "R-precision", "recall_at_k": "Recall@k",
    "revisited_map": "Revisited mAP", "revisited_oxford": "Revisited Oxford", "revisited_paris": "Revisited Paris",
    "rmsprop": "RMSprop", "roadmap": "ROADMAP", "sfm120k_validation": "SfM-120k validation", "sgd": "SGD",
    "simix": "SiMix", "small_cnn": "Small CNN", "smooth_ap": "Smooth-AP", "soft_triple": "SoftTriple",
    "softbin_ap": "SoftBin-AP", "sop": "Stanford Online Products", "sup_ap": "SupAP", "svhn": "SVHN",
    "timm_model": "A model of timm", "tiny_imagenet": "Tiny ImageNet", "vehicle_id": "VehicleID",
}  # fmt: skip
"""Entry of a catalogue to what people call it, where that is not its name in words."""


def entry_in_words(entry: str) -> str:
    """What people call an entry of a catalogue.

    Example:
        >>> entry_in_words("nt_xent"), entry_in_words("triplet_margin"), entry_in_words("")
        ('NT-Xent', 'Triplet margin', '')
    """
    words = entry.replace("_", " ")
    return NAMES.get(entry, words[:1].upper() + words[1:])


def name_in_words(knob: Knob) -> str:
    """The symbol of the formulas, or the name in words.

    Example:
        >>> from lab.core.knobs import Knobs, describe, knob
        >>> class Some(Knobs):
        ...     tau1: float = knob("Temperature.", default=1.0, unit="ranks")
        ...     per_class: int = knob("Images per class.", default=4)
        ...     lift_ties: bool = knob("Count a tie as 1.", default=False)
        >>> [name_in_words(one) for one in describe(Some)]
        ['τ₁', 'Items per class', 'Lift ties']
    """
    if knob.name in SYMBOLS:
        return SYMBOLS[knob.name]
    words = WORDS.get(knob.name, knob.name.replace("_", " "))
    return words if len(words) == 1 else words[:1].upper() + words[1:]


def label(knob: Knob) -> str:
    """The name in words with its unit, where the words do not say it."""
    words = name_in_words(knob)
    return f"{words} ({knob.unit})" if knob.unit and knob.unit not in words.lower() else words
