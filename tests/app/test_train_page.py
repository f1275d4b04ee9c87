"""The Train page: the form of every choice, the exact command, presets, pre-flight and the queue."""

from __future__ import annotations

import os
import shlex
import tarfile
import time

import pytest
import yaml
from PIL import Image

import lab.data
import lab.papers.recipes
import lab.runs
from app.shared import address, queueing, settings
from app.views.train import all_settings
from lab.__main__ import main
from lab.core.knobs import describe
from lab.launchers.background.queue import Queue
from lab.runs import RunConfig, management
from lab.runs.building import overrides
from lab.runs.config import presets, read_yaml

ONE_OF_A_KIND = {
    "loss": "contextual",
    "encoder": "timm_model",
    "sampler": "hierarchical",
    "data": "manifest",
}


ALL = {"images": "filled", "settings": "yes"}
"""The address of the form of all settings, which begins at their defaults."""


def field(page, kind: str, key: str):
    """A field of the form, on its tab."""
    look_at(
        page, next(tab for tab, names in all_settings.TABS.items() if key.split(".")[1] in names)
    )
    return getattr(page.test, kind)(key=key)


def press_start(page) -> None:
    next(b for b in page.test.button if b.label == "Start").click().run()


def can_start(page) -> bool:
    return any(
        button.label in ("Start", "Check first") and not button.disabled
        for button in page.test.button
    )


def look_at(page, tab: str):
    """Open a tab of the form."""
    page.test.session_state["tab"] = tab
    return page.run()


def shown_config(page) -> RunConfig:
    """The configuration that the page shows as YAML."""
    return RunConfig.of(
        yaml.safe_load(next(c.value for c in page.test.code if c.language == "yaml"))
    )


def command(page) -> list[str]:
    return shlex.split(next(c.value for c in page.test.code if c.language == "bash"))


def test_the_form_gives_the_defaults_of_what_is_chosen(no_runs, open_page):
    page = open_page("train", **ALL)
    assert page.calm and shown_config(page) == RunConfig.of(), page.words()
    chosen = {}
    for section, name in ONE_OF_A_KIND.items():
        look_at(page, next(tab for tab, names in all_settings.TABS.items() if section in names))
        page.test.selectbox(key=f"form.{section}").set_value(name).run()
        assert not page.test.exception
        chosen[section] = {"name": name}
        if section != "data":
            assert shown_config(page) == RunConfig.of(chosen)
    assert "needs path" in page.words(), "a required knob has no default; the form says which"


@pytest.mark.parametrize("name", ["photos_laptop", "rsk_simix_sop_r50_128", "emoji7_contrastive"])
def test_a_recipe_fills_the_whole_form(no_runs, open_page, monkeypatch, name):
    monkeypatch.setenv("LAB_DATA", str(no_runs))
    given, page = read_yaml(name), open_page("train", images="recipe", recipe=name)
    assert page.test.query_params["recipe"] == name
    if "root" in {
        knob.name for knob in describe(lab.runs.SECTIONS["data"].knobs_of(given["data"]["name"]))
    }:
        # the images are everybody's own
        given = {
            **given,
            "data": {**given["data"], "root": str(no_runs)},
        }
    assert page.calm and shown_config(page) == RunConfig.of(given) != RunConfig.of(), page.words()
    page.test.session_state["settings open"] = True
    look_at(page, "Training").test.text_input(key="form.training.steps").set_value("7").run()
    assert shown_config(page) == RunConfig.of(given).changed("training.steps", 7)
    page.test.session_state["settings open"] = False
    assert shown_config(page.run()).training.knobs.steps == 7, (
        "a form that is closed keeps what was typed"
    )
    page.test.session_state["settings open"] = True
    assert page.run().test.text_input(key="form.training.steps").value == "7"


def test_an_answer_decides_anew_and_leaves_other_changes(no_runs, open_page):
    page = open_page("train", settings="yes", tab="Training")
    before = shown_config(page)
    assert (before.loss.name, before.training.knobs.steps) == ("recall_at_k", 150)
    page.test.text_input(key="form.training.steps").set_value("77")
    page.test.text_input(key="form.training.seed").set_value("5").run()
    assert "All settings (2 changed)" in [one.label for one in page.test.expander]
    page.test.session_state["length of set"], page.test.session_state["aim"] = "usual", "sort"
    config = shown_config(page.run())
    assert (config.loss.name, config.training.knobs.steps, config.training.knobs.seed) == (
        "roadmap",
        1000,
        5,
    )
    assert "average precision" in page.words() and "1,000 steps" in page.words()
    again = page.again()
    assert shown_config(again) == config and again.test.query_params == page.test.query_params
    asked = [*page.test.get("button_group"), *page.test.selectbox, *page.test.text_input]
    assert 4 <= sum(not one.key.startswith(("form.", "grid", "search")) for one in asked) <= 6, (
        "few questions"
    )


def test_a_search_finds_a_setting_by_its_label_name_and_help(no_runs, open_page):
    page = open_page("train", **ALL)
    for words, key in (
        ("warm-up", "schedule.cosine.warmup"),
        ("lr", "optimiser.adamw.lr"),
        ("mirrored", "evaluation.flip"),
    ):
        page.test.text_input(key="search").set_value(words).run()
        fields = [
            one for one in (*page.test.text_input, *page.test.toggle) if one.key.startswith("form.")
        ]
        assert f"form.{key}" in [one.key for one in fields] and len(fields) < 15, words
        assert shown_config(page) == RunConfig.of(), "what is not found keeps its value"
    assert f"`{key}`" in next(one for one in fields if one.key == f"form.{key}").help


@pytest.mark.parametrize("name", [None, *list(presets())[:2], lab.papers.recipes.names()[0]])
def test_any_configuration_is_a_few_words_from_any_other(name):
    config, full = overrides.base(name), RunConfig.of(FULL)
    there, back = (
        overrides.words(overrides.sections(full), config),
        overrides.words(overrides.sections(config), full),
    )
    assert overrides.applied(there, config) == full and overrides.applied(back, full) == config
    assert sum(map(len, [*there, *back])) < 2 * address.LONGEST
    assert overrides.words(overrides.sections(config), config) == []


def test_an_edited_form_is_in_the_address(no_runs, open_page):
    page = open_page(
        "train", images="recipe", recipe="emoji7_contrastive", settings="yes", tab="Loss"
    )
    field(page, "selectbox", "form.loss").set_value("cross_entropy").run()
    field(page, "multiselect", "form.metrics").set_value(["nmi", "hit_rate_at_k"]).run()
    field(page, "text_input", "form.training.steps").set_value("77")
    page.test.text_input(key="name").set_value("mine").run()
    page.test.selectbox(key="grid knob").set_value("training.seed").run()
    page.test.text_input(key="grid values").set_value("1, 2").run()
    other = page.again()
    assert other.calm and other.test.query_params == page.test.query_params
    assert "training.steps=77" in other.test.query_params["set"]
    assert set(other.test.query_params) == {
        *("images", "recipe", "settings", "tab", "set", "name", "grid", "values")
    }
    assert shown_config(other) == shown_config(page)
    assert (
        shown_config(other).training.knobs.steps == 77
        and shown_config(other).loss.name == "cross_entropy"
    )


def test_what_is_illegal_in_an_address_is_ignored(no_runs, open_page, monkeypatch):
    bad = [
        "",
        "=",
        "loss",
        "loss=",
        "loss=x",
        "loss.k=[0]",
        "loss.nothing=1",
        "x.y=1",
        "training.steps=-4",
        "<b>=<b>",
    ]
    bad += [
        "training=7",
        "metrics=[nmi, nmi]",
        "data.root=&a [*a]",
        "loss=" + "[" * 3_000,
        "a=1\nloss: smooth_ap",
    ]
    bad += ["data={name: manifest, root: 1}", "loss.num_classes=3", "training.steps=.inf"]
    page = open_page(
        "train",
        images="filled",
        set=[*bad, "training.steps=12"],
        name="n" * 200,
        grid="x",
        device="<b>",
    )
    assert page.calm, page.words()
    assert shown_config(page) == RunConfig.of().changed("training.steps", 12)
    assert (
        page.test.query_params["set"] == "training.steps=12"
        and page.test.query_params["images"] == "filled"
    )
    page = open_page("train", images="filled", set=["data=class_folders", "data.root=/etc"])
    assert "may read" in page.words() and not can_start(page)
    monkeypatch.setattr(address, "LONGEST", 10)
    assert "export the YAML" in open_page("train", set="training.steps=12").words()


FULL = {
    "data": {"name": "emoji7", "split_seed": 3},
    "encoder": {"name": "small_cnn", "freeze_batchnorm": False, "dim": 64},
    "loss": {
        "name": "recall_at_k",
        "k": [1, 3],
        "tau2": 0.02,
        "include_self": True,
        "variant": "released",
    },
    "wrappers": ["similarity_regulariser"],
    "optimiser": {"name": "adamw", "lr": 3e-5, "anchors_lr": 0.1, "betas": [0.8, 0.9]},
    "training": {"clip": 1.5, "chunk": 16, "steps": 77},
    "metrics": ["nmi", {"name": "hit_rate_at_k", "k": [1, 5]}],
}


def test_the_command_shown_means_the_configuration_that_is_shown(no_runs, open_page, capsys):
    page = open_page(
        "train",
        images="filled",
        set=overrides.words(overrides.sections(RunConfig.of(FULL)), RunConfig.of()),
    )
    assert page.calm and shown_config(page) == RunConfig.of(FULL), page.words()
    words = command(page)
    assert words[:2] == ["lab", "train"]
    capsys.readouterr()
    assert main([*words[1:], "--print-config"]) == 0
    assert RunConfig.of(yaml.safe_load(capsys.readouterr().out)) == RunConfig.of(FULL)


def test_what_is_illegal_is_said_at_once(no_runs, open_page):
    page = open_page("train", **ALL)
    for key, values in (
        ("form.loss.recall_at_k.tau2", ("-1", "a tenth", "nan")),
        ("form.training.steps", ("-1", "2.5")),
        ("form.loss.recall_at_k.k", ("1, two", "1; 2")),
    ):
        before = field(page, "text_input", key).value
        for value in values:
            field(page, "text_input", key).set_value(value).run()
            assert not page.test.exception and "Not yet complete" in [
                s.value for s in page.test.subheader
            ]
            assert key.rpartition(".")[2] in page.words().replace("\\", "")
            assert not can_start(page)
        field(page, "text_input", key).set_value(before)


def test_every_knob_that_names_a_path_is_confined():
    """A free text that declares no path has to be named here, so that a new one is not forgotten."""
    plain = {("encoder", "backbone"), ("training", "device"), ("training", "select_by")}
    plain |= {("data", "image"), ("data", "label")}  # columns of Parquet files
    plain |= {("encoder", "base")}  # a name or a file: `settings.confine` looks at it by itself
    free = {
        (section.name, knob.name)
        for section in lab.runs.SECTIONS.values()
        for entry in (section.names() if section.package else [None])
        for knob in describe(section.knobs_of(entry))
        if knob.kind is str and not knob.choices and not knob.path
    }
    assert free == plain


def test_addresses_and_links_out_of_the_allowed_folders_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "mine"))
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "caches"))
    for place in ("s3://bucket/set", "file:///etc"):
        config = lab.runs.RunConfig.of({"data": {"name": "tar_shards", "root": place}})
        assert dict(config.addresses()) == {"data.root": place} and not dict(config.paths())
        with pytest.raises(
            ValueError, match="is an address, and this dashboard reads only files of this machine"
        ):
            settings.confine(config)
    (tmp_path / "mine").mkdir()
    with tarfile.open(tmp_path / "others.tar", "w") as archive:
        for name in ("a", "b"):
            Image.new("RGB", (8, 8)).save(tmp_path / "one.png")
            archive.add(tmp_path / "one.png", f"{name}/1.png")
    (tmp_path / "mine" / "link.tar").symlink_to(tmp_path / "others.tar")
    with pytest.raises(ValueError, match="link.tar or what it links to lies outside"):
        settings.confine_images(lab.data.create("tar_shards", root=str(tmp_path / "mine")))


def test_data_outside_the_allowed_folders_is_refused(
    no_runs, open_page, no_worker, monkeypatch, tmp_path
):
    inside = tmp_path / "photos"
    inside.mkdir()
    (inside / "sideways").symlink_to("/etc")
    monkeypatch.setenv("LAB_DATA", str(inside))
    page = open_page("train", **ALL)
    field(page, "selectbox", "form.data").set_value("class_folders").run()
    for outside in (
        "/etc",
        str(inside / ".."),
        str(inside / "sideways"),
        str(tmp_path / "photos2"),
    ):
        field(page, "text_input", "form.data.class_folders.root").set_value(outside).run()
        assert "may read" in page.words() and not page.test.exception
        assert not can_start(page)
        config = RunConfig.of({"data": {"name": "class_folders", "root": outside}})
        for act in (
            lambda c=config: queueing.enqueue({"": c}, "sly", ()),
            lambda c=config: settings.confine(c),
        ):
            with pytest.raises(ValueError, match="may read"):
                act()
    field(page, "text_input", "form.data.class_folders.root").set_value(str(inside / "cats")).run()
    assert page.calm, page.words()


def test_preflight_runs_beside_the_page_and_reports(no_runs, open_page, count_calls):
    page = open_page("train", **ALL)
    field(page, "text_input", "form.augmentation.size").set_value("32").run()
    field(page, "text_input", "form.sampler.m_per_class.batch_size").set_value("32").run()
    steps = count_calls(
        "lab.launchers.background.preflight.preflight", "lab.training.steps.gradients"
    )
    next(b for b in page.test.button if b.label == "Check first").click().run()
    assert page.calm, page.words()
    preflight = page.test.session_state["preflight"]
    deadline = time.monotonic() + 300
    while not preflight.done and time.monotonic() < deadline:
        time.sleep(0.2)
    page.run()
    assert page.calm, page.words()
    assert steps == [] and preflight.process.pid != os.getpid(), "the work is another process's"
    for name in ("data", "memory", "pace"):
        assert f"**{name}**" in page.words()
    field(page, "text_input", "form.training.steps").set_value("5").run()
    assert "The settings have changed" in page.words()


def test_into_the_queue_and_about_in_it(no_runs, open_page, no_worker):
    with lab.runs.Writer(lab.runs.create(RunConfig.of(), no_runs, "over")) as ending:
        ending.status("finished", phase="finished")
        # the first one is watched, also while the process of a finished one ends
        for name in (
            "first",
            "second",
        ):
            page = open_page("train", **ALL)
            page.test.text_input(key="name").set_value(name).run()
            assert "over" not in page.words()
            press_start(page)
            assert page.calm and ("watched" in page.test.query_params) == (name == "first"), (
                page.words()
            )
    assert Queue(no_runs).names == ("first", "second")
    assert RunConfig.load(no_runs / "first" / "config.yaml") == RunConfig.of()
    page.test.button(key="up second").click().run()
    assert Queue(no_runs).names == ("second", "first")
    page.test.button(key="remove second").click().run()
    assert Queue(no_runs).names == ("first",)
    page.test.button(key="pause queue").click().run()
    assert Queue(no_runs).paused


def test_a_grid_makes_one_run_a_value(no_runs, open_page, no_worker):
    page = open_page("train", **ALL)
    page.test.selectbox(key="grid knob").set_value("loss.tau2").run()
    page.test.text_input(key="grid values").set_value("0.01, 0.05").run()
    page.test.text_input(key="name").set_value("sweep").run()
    press_start(page)
    assert page.calm, page.words()
    assert Queue(no_runs).names == ("sweep-0.01", "sweep-0.05")
    assert {management.notes(run)["group"] for run in lab.runs.list(no_runs)} == {"sweep"}
    assert RunConfig.load(no_runs / "sweep-0.05" / "config.yaml") == RunConfig.of().changed(
        "loss.tau2", 0.05
    )


def test_a_waiting_run_fills_the_form_for_another_with_one_change(no_runs, open_page, no_worker):
    queueing.enqueue({"": RunConfig.of({"training": {"seed": 7}})}, "first", ())
    page = open_page("train", settings="yes")
    page.test.button(key="copy first").click().run()
    assert (
        shown_config(page).training.knobs.seed == 7
        and page.test.query_params["set"] == "training.seed=7"
    )
    page.test.selectbox(key="grid knob").set_value("loss.tau2").run()
    page.test.text_input(key="grid values").set_value("0.02, 0.03").run()
    page.test.text_input(key="name").set_value("more").run()
    press_start(page)
    assert Queue(no_runs).names == ("first", "more-0.02", "more-0.03")
    first, other = (lab.runs.open(no_runs / name).config for name in ("first", "more-0.03"))
    assert lab.runs.difference(first, other) == {"loss.tau2": (0.01, 0.03)}
    page.test.text_input(key="grid values").set_value("-1").run()
    press_start(page)
    assert "tau2" in page.test.error[0].value and len(Queue(no_runs).names) == 3


def test_a_bad_or_taken_name_is_said_at_once_and_the_queue_stays(no_runs, open_page, no_worker):
    page = open_page("train", **ALL)
    page.test.text_input(key="name").set_value("my run ą").run()
    assert "letters, digits" in page.test.error[0].value.replace("\\", "")
    assert page.test.button(key="add to queue").disabled
    assert "--name" not in command(page)
    assert "The queue is empty." in page.words()
    press_start(open_page("train", **ALL, name="twice"))
    page = open_page("train", **ALL, name="twice")
    assert not page.test.exception and "already" in page.test.error[0].value
    assert page.test.button(key="add to queue").disabled
    assert Queue(no_runs).names == ("twice",)


def test_the_form_speaks_to_a_person(no_runs, open_page):
    page = open_page("train", **ALL, tab="Optimiser")
    assert field(page, "text_input", "form.optimiser.adamw.lr").label == "Learning rate", (
        "its own name is in the help"
    )
    keys = [field.key for field in look_at(page, "Data").test.text_input]
    assert keys.index("form.data.emoji7.test") < keys.index("form.data.emoji7.split_seed"), (
        "what matters stands first"
    )
    for tab in all_settings.TABS:
        named = (*look_at(page, tab).test.text_input, *page.test.selectbox, *page.test.toggle)
        assert page.calm and not any(":gray" in one.label or "_" in one.label for one in named)
