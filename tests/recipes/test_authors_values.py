"""Recipes of 000, 001 and 004 against what their authors' code sets, read from it once and written down here."""

import pytest

import lab.papers.recipes

# src/main.py of RecallatK_surrogate: optimiser, learning rate, epochs, those after which it drops, images at once.
RSK = {
    ("inaturalist2018", "r50"): ("adam", 1e-4, 90, (40, 70), 200),
    ("inaturalist2018", "vitb32"): ("adamw", 5e-5, 90, (10, 40, 70), 200),
    ("inaturalist2018", "vitb16"): ("adamw", 5e-5, 90, (10, 40, 70), 100),
    ("sop", "r50"): ("adam", 2e-4, 55, (25, 50), 200),
    ("sop", "vitb32"): ("adamw", 5e-5, 55, (25, 50), 200),
    ("sop", "vitb16"): ("adamw", 5e-5, 55, (25, 50), 100),
    ("vehicle_id", "r50"): ("adam", 1e-4, 90, (40, 70), 200),
    ("vehicle_id", "vitb32"): ("adamw", 1e-4, 90, (40, 70), 200),
    ("vehicle_id", "vitb16"): ("adamw", 5e-5, 90, (40, 70), 100),
    ("cars196", "r50"): ("adam", 1e-4, 170, (80, 140), 98),
    ("cars196", "vitb32"): ("adamw", 3e-5, 50, (20, 30, 40), 98),
    ("cars196", "vitb16"): ("adamw", 1e-5, 50, (20, 30, 40), 98),
}
# src/main.py of Smooth_AP, whose rows 000 quotes: as above, with five times the rate for the last layer.
SMOOTH_AP = {
    "inaturalist2018": ("adam", 1e-5, 90, (40, 70)),
    "vehicle_id": ("adam", 1e-5, 400, (120, 200, 220, 250, 280, 300)),
}
# Steps of an epoch on Cars196 by batch: the sampler stops when a class has too few images left; the smallest of the
# training classes has 59.
CARS196 = {392: 14, 384: 16, 588: 9}

# roadmap/config/optimizer, model, transform and the README's commands of ROADMAP: optimiser, rate of the backbone, of
# the last layer, weight decay, epochs, drops.
ROADMAP = {
    ("cub200", "r50"): ("adam", 1e-6, None, 4e-4, 200, ()),
    ("sop", "r50"): ("adam", 1e-5, 2e-5, 1e-4, 100, (30, 70)),
    ("inaturalist2018", "r50"): ("adam", 1e-5, 2e-5, 4e-4, 90, (30, 70)),
    ("cub200", "deits"): ("adamw", 1e-6, None, 5e-4, 150, ()),
    ("sop", "deits"): ("adamw", 1e-5, None, 5e-4, 75, (25, 50)),
    ("inaturalist2018", "deits"): ("adamw", 1e-5, None, 5e-4, 90, (30, 70)),
}
LOSSES = {
    "roadmap": {"tau": 0.01, "rho": 100.0, "alpha": 0.9, "beta": 0.6, "lam": 0.5},
    "sup_ap": {"tau": 0.01, "rho": 100.0},
    "smooth_ap": {"tau": 0.01},
    "fast_ap": {"bins": 10},
    "softbin_ap": {"bins": 20, "low": -1.0},
    "blackbox_ap": {"lam": 4.0, "margin": 0.02},
    "memory_contrastive": {"margin": 0.5},
}
SETS = ("inaturalist2018", "vehicle_id", "cars196", "cub200", "sop")


def recipes(paper: str) -> list[str]:
    return [n for n in lab.papers.recipes.names() if {row.paper for row in lab.papers.recipes.get(n).rows} == {paper}]


def place(name: str) -> tuple[str, str]:
    """Data set and backbone that a name tells."""
    data = next(one for one in SETS if one in name)
    return data, next(arch for arch in ("r50", "vitb32", "vitb16", "deits") if f"_{arch}" in name)


def follows_epochs(sections, epochs, drops):
    """Steps are whole epochs, and the rate drops after the epochs named: a share is met by the first step past it."""
    steps, schedule = sections["training"]["steps"], sections["schedule"]
    assert steps % epochs == 0
    if not drops:
        assert schedule == {"name": "constant"}
        return
    assert (schedule["name"], schedule["gamma"]) == ("step", 0.3)
    assert [round(share * epochs, 2) for share in schedule["milestones"]] == pytest.approx(drops, abs=0.01)


@pytest.mark.parametrize("name", [n for n in recipes("000") if "landmarks" not in n])
def test_recipes_of_000(name):
    sections, (data, arch) = lab.papers.recipes.get(name).sections, place(name)
    quoted = SMOOTH_AP.get(data) if "plain" in name else None
    optimiser, lr, epochs, drops = (quoted or RSK[data, arch])[:4]
    given = sections["optimiser"]
    assert (given["name"], given["lr"], given["weight_decay"]) == (optimiser, lr, 4e-4)
    assert given.get("head_lr") == (pytest.approx(5 * lr) if quoted else None)
    follows_epochs(sections, epochs, drops)
    sampler = sections["sampler"]
    if data == "cars196":
        assert sections["training"]["steps"] == epochs * CARS196[sampler["batch_size"]]
    if sections["loss"]["name"] == "recall_at_k":
        assert sections["training"]["chunk"] == RSK[data, arch][4]
    assert sections["augmentation"] == {"size": 224, "scale_low": 0.08} and sections["testing"] == {"resize": 256}
    encoder = sections["encoder"]
    if "plain" in name:
        assert encoder["pooling"] == "avg" and "layer_norm" not in encoder
    else:
        assert encoder["layer_norm"] and encoder["layer_norm_affine"]
    assert encoder.get("normalised_as", "weights") == ("weights" if arch == "r50" else "imagenet")
    if data == "vehicle_id":
        assert sections["data"]["random_gallery"] is False


@pytest.mark.parametrize("name", [n for n in recipes("000") if "landmarks" in n])
def test_recipes_of_000_for_landmarks(name):
    """cirtorch/examples/train.py of cnnimageretrieval-pytorch, and sections 4.2 and 4.3 of the paper."""
    sections = lab.papers.recipes.get(name).sections
    assert sections["optimiser"] == {"name": "adam", "lr": 5e-7, "pooling_lr": 5e-6, "weight_decay": 1e-6}
    assert sections["schedule"] == {
        "name": "exponential",
        "gamma": 0.99005,
        "every": 1_060_709 // 4096,
        "at_once": True,
    }
    assert sections["augmentation"] == {"size": 1024, "crop": "whole", "flip": 0.0}
    training = sections["training"]
    assert (training["steps"], training["chunk"], training["stream"]) == (500, 1, True) and training["whitening"]
    assert sections["encoder"]["unit_features"] and "layer_norm" not in sections["encoder"]


@pytest.mark.parametrize("name", recipes("001"))
def test_recipes_of_001(name):
    sections, (data, arch) = lab.papers.recipes.get(name).sections, place(name)
    optimiser, lr, head_lr, decay, epochs, drops = ROADMAP[data, arch]
    given = sections["optimiser"]
    assert (given["name"], given["lr"], given.get("head_lr"), given["weight_decay"]) == (optimiser, lr, head_lr, decay)
    follows_epochs(sections, epochs, drops)
    loss = dict(sections["loss"])
    assert LOSSES[loss.pop("name")] == loss
    augmentation, testing = sections["augmentation"], sections["testing"]
    assert (augmentation["scale_low"], augmentation["ratio_high"]) == (0.16, 1.33)
    assert testing["resize"] == augmentation["size"] + 32
    sampler = sections["sampler"]
    if data == "sop":
        # Every pair of 12 categories, ten batches each; images resized before the crop, and squashed for testing.
        assert sections["training"]["steps"] == epochs * 66 * 10
        assert (sampler["name"], sampler["share"], sampler["short_classes"]) == (
            "hierarchical",
            "pairs",
            "with_replacement",
        )
        assert augmentation["resize"] == testing["resize"] and testing["squash"]
    else:
        assert sampler["name"] == "m_per_class" and "resize" not in augmentation and "squash" not in testing
    assert sampler["per_class"] == 4 and sampler["batch_size"] == (64 if name.endswith("_b64") else big(data))
    encoder = sections["encoder"]
    assert encoder.get("drop_distillation", False) == (arch == "deits")
    assert "layer_norm_affine" not in encoder


def big(data: str) -> int:
    return 384 if data == "inaturalist2018" else 128


# 224x224/train.py and README of metric-learning-using-contextual-similarity: learning rate, whether with a projector,
# weight of the regulariser, images a class (0: drawn evenly); and of each set the epochs, every how many of them the
# rate drops, and by what.
BASELINES = {
    ("contrastive", "cub200"): (2e-5, True, 0.0, 4),
    ("roadmap", "cub200"): (2e-5, True, 0.1, 4),
    ("triplet", "cub200"): (8e-5, False, 0.1, 4),
    ("ms_miner", "cub200"): (16e-5, True, 0.0, 4),
    ("pa", "cub200"): (16e-5, True, 0.0, 0),
    ("pnca", "cub200"): (16e-5, True, 0.0, 0),
    ("contrastive", "cars196"): (8e-5, True, 0.1, 4),
    ("roadmap", "cars196"): (2e-5, True, 0.0, 4),
    ("triplet", "cars196"): (8e-5, False, 0.1, 4),
    ("ms_miner", "cars196"): (8e-5, True, 0.0, 4),
    ("pa", "cars196"): (8e-5, True, 0.0, 0),
    ("pnca", "cars196"): (16e-5, True, 0.0, 0),
    ("contrastive", "sop"): (4e-5, False, 0.0, 4),
    ("roadmap", "sop"): (4e-5, False, 0.1, 4),
    ("triplet", "sop"): (4e-5, False, 0.1, 4),
    ("ms_miner", "sop"): (8e-5, False, 0.0, 4),
    ("pa", "sop"): (16e-5, False, 0.0, 0),
    ("pnca", "sop"): (16e-5, False, 0.0, 0),
}
DROPS = {"cub200": (60, 10, 0.3), "cars196": (160, 20, 0.5), "sop": (80, 15, 0.3)}
PROXIES_ON_SOP = (115, 21, 0.3)
OF_BASELINES = {
    "contrastive": {"name": "margin_contrastive", "delta_pos": 0.9, "delta_neg": 0.6},
    "roadmap": {"name": "roadmap", "variant": "released"},
    "triplet": {"name": "triplet_margin", "margin": 0.05, "miner": "distance_weighted"},
    "ms": {"name": "multi_similarity", "miner": False},
    "ms_miner": {"name": "multi_similarity", "miner": True},
    "pa": {"name": "proxy_anchor", "alpha": 32.0, "margin": 0.1},
    "pnca": {"name": "proxy_nca", "temperature": pytest.approx(1 / 9, abs=1e-4)},
    "ntxent": {"name": "nt_xent", "temperature": 0.07},
    "fastap": {"name": "fast_ap", "bins": 10},
    "smoothap": {"name": "smooth_ap", "variant": "released", "tau": 0.01},
}


@pytest.mark.parametrize(("short", "data"), BASELINES)
def test_baselines_of_004_for_224_pixels(short, data):
    sections = lab.papers.recipes.get(f"{short}_{data}_r50_512_224").sections
    lr, projector, gamma, per_class = BASELINES[short, data]
    epochs, every, factor = PROXIES_ON_SOP if data == "sop" and not per_class else DROPS[data]
    assert sections["loss"] == OF_BASELINES[short]
    given = {"name": "adamw", "lr": pytest.approx(lr), "weight_decay": 1e-4}
    given |= {} if per_class else {"anchors_lr": pytest.approx(100 * lr)}
    given |= {"projector_lr": pytest.approx(2 * lr)} if projector else {}
    assert sections["optimiser"] == given
    assert sections["encoder"].get("projector_width", 0) == (2048 if projector else 0)
    assert sections["encoder"].get("projector", False) == projector
    # Theirs is L + gamma R, and half of ours for ROADMAP; ours (1 - g) L + g R: only the ratio counts under Adam.
    (regulariser,) = sections.get("wrappers", [{"gamma": 0}])
    ratio = gamma * (2 if short == "roadmap" else 1)
    assert regulariser["gamma"] / (1 - regulariser["gamma"]) == pytest.approx(ratio, abs=2e-4)
    assert sections["sampler"].get("per_class", 0) == per_class
    schedule = sections["schedule"]
    assert schedule["gamma"] == factor and sections["training"]["steps"] % epochs == 0
    drops = [round(share * epochs, 1) for share in schedule["milestones"]]
    assert drops == pytest.approx(list(range(every, epochs, every)), abs=0.1)


@pytest.mark.parametrize("name", [n for n in recipes("004") if "_r50_512_256" in n or "mini_inat" in n])
def test_recipes_of_004_for_256_pixels(name):
    """main.py and networks.py: half of the rate for the backbone, the same schedule for every loss."""
    sections, short = lab.papers.recipes.get(name).sections, name.partition("_")[0]
    data = next(one for one in (*SETS, "in_shop", "mini_inaturalist2021") if one in name)
    rate = {"cub200": 8e-5, "cars196": 16e-5, "mini_inaturalist2021": 8e-5}.get(data, 4e-5)
    assert sections["optimiser"] == {
        "name": "adam",
        "lr": pytest.approx(rate / 2),
        "head_lr": pytest.approx(rate),
        "weight_decay": 1e-4,
    }
    assert sections["schedule"] == {"name": "step", "milestones": [0.1875, 0.375, 0.5625], "gamma": 0.3}
    if short != "contextual":
        assert sections["loss"] == OF_BASELINES[short]
    maximum = data in ("cub200", "cars196")
    assert sections["encoder"]["pooling"] == ("max" if maximum else "avg")
    assert sections["encoder"].get("layer_norm", False) == maximum
    per_epoch = {"cub200": 15, "cars196": 30, "sop": 655, "mini_inaturalist2021": 576, "in_shop": 600}[data]
    assert sections["training"]["steps"] == 80 * per_epoch


CHOSEN_BY = {
    "class_anchor_margin": "anchor accuracy",
    "cross_entropy": "classifier accuracy",
    "contrastive": "r@1",
}


@pytest.mark.parametrize("name", recipes("003"))
def test_recipes_of_003(name):
    """No code of the authors is public, so this is what their section 4.2 says."""
    sections, swin = lab.papers.recipes.get(name).sections, "swint" in name
    loss, seen, training = sections["loss"], sections["augmentation"], sections["training"]
    assert sections["optimiser"] == {"name": "adam", "lr": 1e-4 if swin else 1e-3}
    decay = {"name": "constant"} if swin else {"name": "plateau", "gamma": 0.5, "patience": 6}
    assert sections["schedule"] == decay
    assert sections["sampler"]["batch_size"] == (64 if swin else 128 if "r101" in name else 512)
    assert training["steps"] == (30 if swin else 100) * training["validate_every"], "patience counts epochs"
    assert training["select_by"] == CHOSEN_BY[loss["name"]]
    encoder = sections["encoder"]
    assert (encoder["pretrained"], encoder["normalised_as"]) == ((True, "imagenet") if swin else (False, "none"))
    assert (seen["crop"], seen["pad"], seen.get("trivial_augment", False)) == ("padded", 4, swin)
    assert seen.get("flip", 0.5) == (0 if "svhn" in name else 0.5)
    assert min(seen[one] for one in ("jitter", "rotate", "translate")) > 0
    two_stage = loss["name"] == "class_anchor_margin"
    assert sections["evaluation"].get("search", "exact") == ("two_stage" if two_stage else "exact")
    assert not two_stage or {k: loss[k] for k in ("m", "p", "init")} == {"m": 2.0, "p": 1.0, "init": "base"}
    assert sections["evaluation"]["checkpoint"] == "best"
