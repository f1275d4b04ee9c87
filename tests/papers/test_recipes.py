"""Every recipe is built and stepped once, on its set in miniature; its head says what the other files say."""

import copy
import json
import math
import re
from types import SimpleNamespace

import pytest
import torch
import yaml
from torch.utils.flop_counter import FlopCounterMode

import lab.data
import lab.papers.recipes
import lab.papers.tables
import lab.runs
from lab.__main__ import main
from lab.evaluation.scores import evaluate
from lab.papers.cost import NETWORKS, Cost
from lab.runs.building.parts import metrics_of, parts_of
from lab.training.steps import gradients
from lab.training.validation import columns_of
from tests.data.miniatures import WRITERS

RECIPES = {name: lab.papers.recipes.get(name) for name in lab.papers.recipes.names()}

SMALL = {"resnet": "test_resnet", "vit": "test_vit", "deit": "test_vit", "swin": None}
"""timm's own miniature of each family; it has none of Swin, which is stepped as it is."""


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """Name of a data set to the knobs that find its miniature, written once."""
    written = {}

    def of(name: str) -> dict:
        if name not in written:
            written[name] = {"root": str(WRITERS[name](tmp_path_factory.mktemp(name)))}
        return written[name]

    return of


def smaller(
    recipe: lab.papers.recipes.Recipe, where: dict, backbone: str | None
) -> lab.runs.RunConfig:
    """The recipe through its ordinary knobs: four images of 32 pixels, one step, no downloads, another backbone."""
    sections = copy.deepcopy(recipe.sections)
    sections["data"] |= where
    if (
        not lab.data.get(sections["data"]["name"]).class_disjoint
        and "validation" in sections["data"]
    ):
        sections["data"]["validation"] = (
            0.4  # of three images of a class one, where the recipe's tenth is none
        )
    sections["augmentation"] |= {"size": 32} | (
        {"resize": 36} if "resize" in sections["augmentation"] else {}
    )
    sections["testing"] = {**sections.get("testing", {}), "resize": 36}
    for wrapper in sections.get("wrappers", []):
        if wrapper["name"] == "cross_batch_memory":
            wrapper["size"] = 16
    encoder = sections["encoder"]
    encoder |= {
        "freeze_batchnorm": encoder.get("pretrained", True),
        "pretrained": False,
        "image_size": 32,
    }
    encoder["backbone"] = backbone or encoder["backbone"].partition(".")[0]
    if backbone:
        encoder.pop("drop_distillation", None)
    sections["sampler"]["batch_size"] = 4 if "per_class" in sections["sampler"] else 3
    if "per_class" in sections["sampler"]:
        sections["sampler"] |= {"per_class": 2, "short_classes": "repeat"}
    training = sections["training"]
    training |= {"chunk": min(training["chunk"], 2)} if "chunk" in training else {}
    training.pop("whitening", None)  # four images differ in fewer directions than the layer has
    training |= {"steps": 1, "workers": 0, "device": "cpu", "keep_batches": 0}
    return lab.runs.RunConfig.of(sections)


def family(recipe: lab.papers.recipes.Recipe) -> str:
    return re.match("resnet|vit|deit|swin", recipe.sections["encoder"]["backbone"])[0]


def each_kind() -> list[str]:
    """Recipes that together have every data set, loss, wrapper, sampler and other choice."""
    known, chosen = set(), []
    for name, recipe in RECIPES.items():
        kinds = set()
        for section, given in recipe.sections.items():
            for one in given if isinstance(given, list) else [given]:
                kinds.add(
                    (
                        section,
                        one.get("name"),
                        *(sorted(one) if section in ("loss", "sampler", "training") else ()),
                    )
                )
        if SMALL[family(recipe)] and kinds - known:
            chosen.append(name)
            known |= kinds
    return chosen


KINDS = each_kind()


@pytest.mark.parametrize("name", KINDS)
def test_a_recipe_trains_and_is_measured_as_published(name, sets, tmp_path):
    recipe = RECIPES[name]
    config = smaller(recipe, sets(recipe.sections["data"]["name"]), SMALL[family(recipe)])
    run = lab.runs.create(config, tmp_path, "run")
    list(lab.runs.execute(run))
    assert run.state == "finished"
    (step,) = run.metrics("stepped")
    assert math.isfinite(step["loss"])
    published = {
        column for row in recipe.rows if row.data == config.data.name for column in row.values
    }
    assert published <= set((run.scores("test") or {"values": {}})["values"])


@pytest.mark.parametrize("name", ["ce_cifar100_r18", "cam_cifar100_r18"])
def test_a_checkpoint_is_chosen_by_the_accuracy_of_the_class_weights(
    name, sets, tmp_path, monkeypatch
):
    """003, section 4.2: of the classifier, or of the nearest anchor, on the validation images. Of two validations the
    first is told to have the higher accuracy and the second more of all else."""
    sections = yaml.safe_load(smaller(RECIPES[name], sets("cifar100"), SMALL["resnet"]).as_yaml())
    sections["training"] |= {"steps": 2, "validate_every": 1}
    column, measured = sections["training"]["select_by"], []

    def rigged(*given, **how):
        found = yield from evaluate(*given, **how)
        if how.get("what") != "validation queries":
            return found
        measured.append(found.values[column])
        told = dict.fromkeys(found.values, len(measured) / 2) | {column: 1 / len(measured)}
        return SimpleNamespace(values=told, ranking=found.ranking)

    monkeypatch.setattr("lab.training.validation.evaluate", rigged)
    run = lab.runs.create(lab.runs.RunConfig.of(sections), tmp_path, "run")
    list(lab.runs.execute(run))
    monkeypatch.undo()
    first, second = run.metrics("validated")
    assert (
        column in ("classifier accuracy", "anchor accuracy")
        and first["best"]
        and not second["best"]
    )
    assert main(["evaluate", str(run.path), "--evaluation.splits", "validation"]) == 0
    again = lab.runs.open(run.path).scores("validation")
    assert again["step"] == 1 and again["values"][column] == pytest.approx(measured[0])


STEPPED = [
    (name, None)
    for name in {family(recipe): name for name, recipe in reversed(RECIPES.items())}.values()
]
OTHERS = [
    (name, small)
    for name, one in RECIPES.items()
    if (small := SMALL[family(one)]) and name not in KINDS
]


@pytest.mark.parametrize(
    "name, backbone", STEPPED + [pytest.param(*one, marks=pytest.mark.soak) for one in OTHERS]
)
def test_a_recipe_makes_a_step(name, backbone, sets):
    """One of each family as published; every recipe that is not trained above, on the miniature of its family."""
    recipe = RECIPES[name]
    config = smaller(recipe, sets(recipe.sections["data"]["name"]), backbone)
    parts = parts_of(config)
    stream = config.training.knobs.stream
    load = parts.loader.streamed if stream else parts.loader.batches
    batch = next(load([parts.items[parts.sampler.batch(0)]]))
    labels = torch.searchsorted(torch.from_numpy(parts.classes), batch.labels)
    for module in parts.loss.modules():
        if hasattr(module, "images_of_batch"):
            module.images_of_batch = torch.arange(len(labels))
    weights = [p for p in parts.encoder.parameters() if p.requires_grad][-8:]
    before = [p.detach().clone() for p in weights]
    found = gradients(parts.encoder, parts.loss, batch.images, labels, chunk=1 if stream else None)
    parts.optimiser.step()
    assert torch.isfinite(found.loss) and len(found.embeddings) == len(batch.labels)
    assert backbone or (
        found.embeddings.shape[1] == parts.encoder.dim
        and recipe.rows[0].dim in (None, parts.encoder.dim)
    )
    assert backbone or any(not torch.equal(a, b) for a, b in zip(before, weights, strict=True))


def test_heads_say_what_the_numbers_say():
    for name, recipe in RECIPES.items():
        head = " ".join(recipe.head.split())
        assert recipe.rows, f"no published row names {name}"
        assert recipe.command in head
        for row in recipe.rows:
            assert f"{row.scores} ({row.source})." in head, name
            assert row.loss == recipe.sections["loss"]["name"]
            assert row.data in (
                recipe.sections["data"]["name"],
                "revisited_oxford",
                "revisited_paris",
            )
            assert row.size in (None, recipe.sections["augmentation"]["size"])
            assert not (told := re.search(r"\d+ minutes an epoch", row.note)) or told[0] in head, (
                name
            )
        assert f"Expected on one modern GPU, estimated, not measured: {recipe.cost}." in head, name
        assert "From the paper: " in head and ("Beyond the paper" in head or "Chosen here" in head)


def test_what_the_authors_trained_is_what_their_code_computes():
    """Not Contextual's of section 5: that code swaps the roles of lambda, and which lambda it was given is unknown."""
    unknown = {"Contextual, table 2", "Contextual, table 3"}
    own = {
        "000": ("recall_at_k", "smooth_ap"),
        "001": ("roadmap", "sup_ap"),
        "004": ("contextual",),
    }
    for name, recipe in RECIPES.items():
        loss, papers = (
            recipe.sections["loss"],
            {row.paper for row in recipe.rows if row.source not in unknown},
        )
        if any(loss["name"] in own.get(paper, ()) for paper in papers):
            assert loss.get(
                "variant"
            ) == "released" and "as the paper prints it: `--loss.variant paper" in " ".join(
                recipe.head.split()
            ), name


def test_every_published_recipe_is_there_and_every_recipe_published():
    assert {row.recipe for row in lab.papers.tables.rows() if row.recipe} == set(RECIPES)
    assert {row.paper for row in lab.papers.tables.rows() if row.recipe} == {
        "000",
        "001",
        "003",
        "004",
    }


def test_every_recipe_is_legal_and_chooses_its_checkpoint_by_a_column_that_is_measured():
    for name, recipe in RECIPES.items():
        given = {**recipe.sections, "data": {**recipe.sections["data"], "root": "somewhere"}}
        config = lab.runs.RunConfig.of(given)
        if "validation" in recipe.sections["data"]:
            assert config.training.knobs.select_by in columns_of(metrics_of(config)), name


def test_the_papers_settings_stand_in_the_recipes():
    """A sample, read from the papers once more by hand."""
    rsk = RECIPES["rsk_simix_sop_r50_512"].sections
    assert rsk["sampler"] == {
        "name": "m_per_class",
        "batch_size": 4000,
        "per_class": 4,
        "short_classes": "leave_out",
    }
    assert rsk["loss"]["k"] == [1, 2, 4, 8, 12, 16, 20, 24, 28, 32] and rsk["loss"]["tau2"] == 0.01
    assert RECIPES["rsk_cars196_vitb16_512"].sections["sampler"]["batch_size"] == 392
    assert RECIPES["rsk_landmarks_r101_2048"].sections["loss"]["k"] == [1, 2, 4]
    assert RECIPES["rsk_landmarks_r101_2048"].sections["training"]["steps"] == 500
    assert RECIPES["roadmap_cub200_r50_512"].sections["encoder"]["pooling"] == "max"
    xbm = RECIPES["xbm_sop_r50_512_b64"].sections["wrappers"][0]
    assert xbm == {
        "name": "cross_batch_memory",
        "size": 59_551,
        "unique": True,
        "batch_weight": 1.0,
    }
    assert RECIPES["cam_food101_r101"].sections["sampler"]["batch_size"] == 128
    contextual = RECIPES["contextual_sop_r50_512_256"].sections
    assert contextual["loss"]["lam"] == 0.4 and contextual["training"]["steps"] == 80 * 655
    assert RECIPES["contextual_cars196_r50_512_224"].sections["sampler"]["batch_size"] == 64


def test_cost_is_work_over_rate():
    given = {
        "training": {"steps": 100, "chunk": 8},
        "sampler": {"batch_size": 1000},
        "augmentation": {"size": 448},
        "encoder": {"backbone": "resnet50.any"},
    }
    cost = Cost.of(given)
    assert cost.hours == pytest.approx(100 * 1000 * 4 * (4 * 8.2) * 1e9 / 20e12 / 3600)
    assert str(cost) == "0.18 h = 100 steps x 1,000 images x 4 passes x 32.8 GFLOP / 20 TFLOP/s"
    assert Cost.of(
        {**given, "training": {"steps": 100, "precision": "bfloat16"}}
    ).hours == pytest.approx(cost.hours * 3 / 4 * 20 / 50)


@pytest.mark.parametrize(
    "name", ["resnet18", "resnet50", "vit_base_patch32_224", "swin_tiny_patch4_window7_224"]
)
def test_the_work_of_an_image_is_what_torch_counts(name):
    import timm

    with torch.device("meta"):
        model, image = timm.create_model(name, num_classes=0).eval(), torch.zeros(1, 3, 224, 224)
    with FlopCounterMode(display=False) as counted:
        model(image)
    assert counted.get_total_flops() / 1e9 == pytest.approx(NETWORKS[name][0], rel=0.02)
    assert sum(p.numel() for p in model.parameters()) / 1e6 == pytest.approx(
        NETWORKS[name][1], abs=0.06
    )


def test_the_command_lists_prints_and_tells(capsys):
    assert main(["list", "recipes", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["recipe"] for one in listed] == list(RECIPES)
    assert all(one["hours (estimated)"] > 0 for one in listed)
    assert main(["list", "recipes", "rsk_sop_r50_512"]) == 0
    assert capsys.readouterr().out == lab.papers.recipes.path("rsk_sop_r50_512").read_text()
    assert main(["list", "recipes", "rsk_sop_r50_512", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (
        told["published"][0]["values"]["r@1"] == 0.828
        and told["config"]["sampler"]["batch_size"] == 4000
    )
