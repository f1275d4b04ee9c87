"""004 (the contextual loss): against its rivals, its steps, its regulariser on another loss, and its re-ranking."""

from typing import Any

from scripts.studies.roadmap import road
from scripts.studies.study import Arm, Gain, Study, gains

RERANKED = "r@1, re-ranked"
R1 = "r@1", "r@1"


def arm(called: str, *columns: str, **loss: Any) -> Arm:
    return Arm(called, {"loss": loss}, ("r@1", *columns))


def contextual(called: str, **knobs: Any) -> Arm:
    """The contextual part with a fifth of the contrastive one, without regulariser, as in table 5."""
    return arm(called, **{"name": "contextual", "lam": 0.8, "gamma": 0.0, **knobs})


TRIPLET: dict[str, Any] = {"name": "triplet_margin", "margin": 0.05, "miner": "distance_weighted"}
MINED: dict[str, Any] = {"name": "multi_similarity", "miner": True}

whole = contextual("contextual")
alone = contextual("contextual alone", lam=1.0)
clamped = contextual("contextual alone, gradients clamped", lam=1.0, correct_gradient=True)
minimum = contextual("contextual, minimum for the product", conjunction="min")
no_strangers = contextual("contextual, without M-", complement=False)
sigmoid = contextual("contextual, sigmoid for the step", theta="sigmoid")
through = contextual("contextual, without the stop of gradients", stop_gradient=False)
contrastive = arm("contrastive, on cosines", RERANKED, name="margin_contrastive")
triplet = arm("triplet", **TRIPLET)
mined = arm("multi-similarity", **MINED)
proxy = arm("Proxy Anchor", name="proxy_anchor")
regularised = Arm(
    "triplet, regularised",
    {
        "loss": TRIPLET,
        "wrappers": [{"name": "similarity_regulariser", "gamma": 0.1, "s_tilde": 0.3}],
    },
)


def ahead(other: str) -> tuple[Gain, ...]:
    return (
        *gains("004", ("table 2", "Contextual"), ("table 2", other), "r@1"),
        *gains("004", ("table 3", "Contextual"), ("table 3", other), "r@1"),
    )


def part(without: str) -> tuple[Gain, ...]:
    ours = ("table 5", "Contextual, whole, no regulariser, lambda 0.8")
    return gains("004", ours, ("table 5", f"Contextual, {without}"), "r@1")


ALONE = "Contextual part alone"
MIXTURE = "Lambda .8, gamma 0, as printed, for all data; the paper tunes both for each data set."

contextual_contrastive = Study(
    "The contextual loss beats the contrastive one.",
    ahead("Contrastive"),
    whole,
    contrastive,
    R1,
    MIXTURE,
)
contextual_triplet = Study(
    "The contextual loss beats the triplet loss.", ahead("Triplet"), whole, triplet, R1, MIXTURE
)
contextual_mined = Study(
    "The contextual loss beats multi-similarity with its miner.",
    ahead("MS + miner"),
    whole,
    mined,
    R1,
    MIXTURE,
)
contextual_proxy_anchor = Study(
    "The contextual loss beats Proxy Anchor.", ahead("Proxy Anchor"), whole, proxy, R1, MIXTURE
)
contextual_roadmap = Study(
    "The contextual loss beats ROADMAP.", ahead("Roadmap"), whole, road, R1, MIXTURE
)
contextual_mixture = Study(
    "Some contrastive loss adds to the contextual one.",
    part("whole, no regulariser, lambda 1"),
    whole,
    alone,
    R1,
)
contextual_clamped = Study(
    "Gradients against the labels help: clamping them costs.",
    gains("004", ("table 1", ALONE), ("table 1", f"{ALONE}, gradients corrected"), "r@1", part=""),
    alone,
    clamped,
    R1,
)
contextual_product = Study(
    "The product of the neighbourhoods beats their minimum.",
    part("minimum for the product, lambda 0.8"),
    whole,
    minimum,
    R1,
)
contextual_strangers = Study(
    "M-, the strangers in common, is needed.",
    part("without M-, lambda 0.8"),
    whole,
    no_strangers,
    R1,
)
contextual_step = Study(
    "A step with a constant slope beats a sigmoid.",
    part("sigmoid in all steps, lambda 0.8"),
    whole,
    sigmoid,
    R1,
)
contextual_stop = Study(
    "No gradient may pass through the sizes of neighbourhoods.",
    part("without the stop of gradients, lambda 0.8"),
    whole,
    through,
    R1,
)
regulariser_triplet = Study(
    "The similarity regulariser adds to the triplet loss.",
    gains(
        "004",
        ("table 6", "Triplet, regularised to 0.3"),
        ("table 6", "Triplet, no regulariser"),
        "r@1",
    ),
    regularised,
    triplet,
    R1,
)
reranking = Study(
    "Contextual re-ranking raises r@1 of the contrastive loss.",
    gains("004", ("table 10", "Contrastive, re-ranked, k 4"), ("table 10", "Contrastive"), "r@1"),
    contrastive,
    contrastive,
    (RERANKED, "r@1"),
    "Neighbourhoods of 4, as on SOP.",
)
