"""The Train page: the form of every choice, the exact command, presets, imports, pre-flight and the queue."""

from __future__ import annotations

import os
import re
import shlex
import tarfile
import time

import pytest
import yaml
from PIL import Image

import lab.data
import lab.papers.recipes
import lab.runs
from app.forms import knob_forms
from app.shared import address, location, queueing, settings
from lab.__main__ import main
from lab.core.knobs import describe
from lab.runs import RunConfig, management
from lab.runs.building import overrides
from lab.runs.config import presets, read_yaml
from lab.runs.launching import detached
from lab.runs.launching.queue import Queue
from lab.runs.process import Sent, Worker

FOLDER = "photos of mine"
ONE_OF_A_KIND = {"loss": "contextual", "encoder": "timm_model", "sampler": "hierarchical", "data": "manifest"}


def shown_config(page) -> RunConfig:
    """The configuration that the page shows as YAML."""
    return RunConfig.of(yaml.safe_load(next(c.value for c in page.test.code if c.language == "yaml")))


def command(page) -> list[str]:
    return shlex.split(next(c.value for c in page.test.code if c.language == "bash"))


@pytest.fixture
def no_worker(monkeypatch):
    """Let nothing start: the queue only holds."""
    monkeypatch.setattr(Queue, "ensure_worker", lambda self: None)


def test_every_field_says_its_knobs_default():
    for name, section in lab.runs.SECTIONS.items():
        for entry in section.names() if section.package else [None]:
            for knob in knob_forms._open_knobs(section, entry):
                shown = knob_forms.widget_value(knob, None if knob.required else knob.default)
                if isinstance(shown, str) and not knob_forms._options(knob) and not knob.required:
                    assert knob_forms._parsed(knob, shown) == knob.default, (name, entry, knob.name)


def test_the_form_gives_the_defaults_of_what_is_chosen(no_runs, open_page):
    page = open_page("train")
    assert page.calm and shown_config(page) == RunConfig.of(), page.words()
    chosen = {}
    for section, name in ONE_OF_A_KIND.items():
        page.test.selectbox(key=f"form.{section}").set_value(name).run()
        assert not page.test.exception
        chosen[section] = {"name": name}
        if section != "data":
            assert shown_config(page) == RunConfig.of(chosen)
    assert "needs path" in page.words(), "a required knob has no default; the form says which"


@pytest.mark.parametrize(("kind", "name"), [("preset", "photos_laptop"), ("recipe", "rsk_simix_sop_r50_128")])
def test_a_ready_configuration_fills_the_whole_form(no_runs, open_page, kind, name):
    given = read_yaml(name)
    page = open_page("train")
    page.test.selectbox(key=kind).set_value(name).run()
    assert not page.test.exception
    needed = next((knob for knob in ("root", "path") if f"needs {knob}" in page.words()), None)
    if needed:  # the images are everybody's own; all else is there
        page.test.text_input(key=f"form.data.{given['data']['name']}.{needed}").set_value(FOLDER).run()
        given = {**given, "data": {**given["data"], needed: FOLDER}}
    assert page.calm, page.words()
    assert shown_config(page) == RunConfig.of(given)


def test_a_deep_link_starts_from_a_ready_configuration(no_runs, open_page):
    name = next(iter(presets()))
    page = open_page("train", preset=name)
    assert page.calm, page.words()
    assert shown_config(page) == RunConfig.of(read_yaml(name)) != RunConfig.of()
    assert page.test.query_params["preset"] == name
    page.test.selectbox(key="recipe").set_value(lab.papers.recipes.names()[0]).run()
    assert "preset" not in page.test.query_params and page.test.query_params["recipe"] == lab.papers.recipes.names()[0]
    page.test.session_state["preset"] = "emoji7_contrastive"  # the browser's choice, whose callback was cut short
    page.run()
    assert shown_config(page) == RunConfig.of(read_yaml("emoji7_contrastive"))
    page.test.text_input(key="form.training.steps").set_value("7").run()
    assert shown_config(page).training.knobs.steps == 7, "it is taken once"
    page = open_page("train", recipe="../etc", preset="<b>")
    assert page.calm and shown_config(page) == RunConfig.of()


@pytest.mark.parametrize("name", [None, *list(presets())[:2], lab.papers.recipes.names()[0]])
def test_any_configuration_is_a_few_words_from_any_other(name):
    config, full = overrides.base(name), RunConfig.of(FULL)
    there, back = overrides.words(forms_of(full), config), overrides.words(forms_of(config), full)
    assert overrides.applied(there, config) == full and overrides.applied(back, full) == config
    assert sum(map(len, [*there, *back])) < 2 * address.LONGEST
    assert overrides.words(forms_of(config), config) == []


def forms_of(config: RunConfig) -> dict:
    """What the form would ask for."""
    return {
        name: [one.as_dict() for one in chosen] if isinstance(chosen, tuple) else {"name": chosen.name, **chosen.values}
        for name, chosen in config
    }


def test_an_edited_form_is_in_the_address(no_runs, open_page):
    page = open_page("train")
    assert page.test.query_params == {}
    name = next(iter(presets()))
    page.test.selectbox(key="preset").set_value(name).run()
    page.test.selectbox(key="form.loss").set_value("cross_entropy").run()
    page.test.text_input(key="form.training.steps").set_value("77")
    page.test.multiselect(key="form.metrics").set_value(["nmi", "hit_rate_at_k"])
    page.test.session_state["tab"] = "Loss"
    page.test.text_input(key="name").set_value("mine").run()
    page.test.selectbox(key="grid knob").set_value("training.seed").run()
    page.test.text_input(key="grid values").set_value("1, 2").run()
    other = page.again()
    assert other.calm and other.test.query_params == page.test.query_params
    assert other.test.query_params["preset"] == name and "training.steps=77" in other.test.query_params["set"]
    assert set(other.test.query_params) == {"preset", "tab", "set", "name", "sweep", "grid", "values"}
    assert shown_config(other) == shown_config(page)
    assert shown_config(other).training.knobs.steps == 77


def test_what_is_illegal_in_an_address_is_ignored(no_runs, open_page, monkeypatch):
    bad = ["", "=", "loss", "loss=", "loss=x", "loss.k=[0]", "loss.nothing=1", "x.y=1", "training.steps=-4", "<b>=<b>"]
    bad += ["training=7", "metrics=[nmi, nmi]", "data.root=&a [*a]", "loss=" + "[" * 3_000, "a=1\nloss: smooth_ap"]
    bad += ["data={name: manifest, root: 1}", "loss.num_classes=3", "training.steps=.inf"]
    page = open_page("train", set=[*bad, "training.steps=12"], preset="x", name="n" * 200, grid="x", device="<b>")
    assert page.calm, page.words()
    assert shown_config(page) == RunConfig.of().changed("training.steps", 12)
    assert page.test.query_params == {"set": "training.steps=12"}
    page = open_page("train", set=["data=class_folders", "data.root=/etc"])
    assert "may read" in page.words() and not any(b.label == "Pre-flight" for b in page.test.button)
    monkeypatch.setattr(address, "LONGEST", 10)
    assert "export the YAML" in open_page("train", set="training.steps=12").words()


FULL = {
    "data": {"name": "emoji7", "split_seed": 3},
    "encoder": {"name": "small_cnn", "freeze_batchnorm": False, "dim": 64},
    "loss": {"name": "recall_at_k", "k": [1, 3], "tau2": 0.02, "include_self": True, "variant": "released"},
    "wrappers": ["similarity_regulariser"],
    "optimiser": {"name": "adamw", "lr": 3e-5, "anchors_lr": 0.1, "betas": [0.8, 0.9]},
    "training": {"clip": 1.5, "chunk": 16, "steps": 77},
    "metrics": ["nmi", {"name": "hit_rate_at_k", "k": [1, 5]}],
}


def test_a_bad_import_is_a_sentence_and_changes_nothing(no_runs, open_page):
    page = open_page("train")
    for content in (b"\xff\xfe\x00", b"{{{", b"a: &a [1]\nb: *a", b"- a\n- list", b"training: {steps: -4}"):
        page.test.file_uploader(key="imported").set_value(("x.yaml", content, "text/yaml")).run()
        assert not page.test.exception and page.test.error, content
        assert shown_config(page) == RunConfig.of()


def test_the_command_shown_means_the_configuration_that_was_imported(no_runs, open_page, capsys):
    page = open_page("train")
    page.test.file_uploader(key="imported").set_value(("x.yaml", RunConfig.of(FULL).as_yaml().encode(), "")).run()
    assert page.calm and shown_config(page) == RunConfig.of(FULL), page.words()
    words = command(page)
    assert words[:2] == ["lab", "train"]
    capsys.readouterr()
    assert main([*words[1:], "--print-config"]) == 0
    assert RunConfig.of(yaml.safe_load(capsys.readouterr().out)) == RunConfig.of(FULL)


def test_what_is_illegal_is_said_at_once(no_runs, open_page):
    page = open_page("train")
    for key, values in (
        ("form.loss.recall_at_k.tau2", ("-1", "a tenth", "nan")),
        ("form.training.steps", ("0", "2.5")),
        ("form.loss.recall_at_k.k", ("1, two", "1; 2")),
    ):
        before = page.test.text_input(key=key).value
        for value in values:
            page.test.text_input(key=key).set_value(value).run()
            assert not page.test.exception and "Not yet complete" in [s.value for s in page.test.subheader]
            assert key.rpartition(".")[2] in page.words().replace("\\", "")
            assert not any(b.label == "Add to queue" for b in page.test.button)
        page.test.text_input(key=key).set_value(before)


def test_an_emptied_field_stands_for_its_default_and_one_set_by_hand_is_not_moved(no_runs, open_page):
    page = open_page("train")
    page.test.text_input(key="form.loss.recall_at_k.tau2").set_value("").run()
    assert shown_config(page) == RunConfig.of()
    assert "default 0.01" in page.test.text_input(key="form.loss.recall_at_k.tau2").placeholder
    empty = {name: page.test.text_input(key=f"form.training.{name}").placeholder for name in ("workers", "clip")}
    assert empty == {"workers": "automatic", "clip": "none"}, "no number of processes is not no process"
    page.test.selectbox(key="form.loss").set_value("cross_entropy").run()
    page.test.selectbox(key="form.loss").set_value("smooth_ap").run()
    assert shown_config(page).encoder.knobs.normalise is True
    page.test.toggle(key="form.encoder.small_cnn.normalise").set_value(False).run()
    page.test.selectbox(key="form.loss").set_value("contrastive").run()
    assert shown_config(page).encoder.knobs.normalise is False


def test_what_is_typed_is_what_is_meant_to_the_last_digit(no_runs, open_page):
    page = open_page("train")
    field = page.test.text_input(key="form.augmentation.ratio_high")
    assert field.value == "1.3333…" and shown_config(page).augmentation.knobs.ratio_high == 4 / 3
    field.set_value("1.3333")
    page.test.text_input(key="form.optimiser.adamw.lr").set_value("3.1415926535e-5").run()
    assert shown_config(page).augmentation.knobs.ratio_high == 1.3333, "what is typed is taken as it stands"
    assert shown_config(page).optimiser.knobs.lr == 3.1415926535e-5
    assert page.test.text_input(key="form.optimiser.adamw.lr").proto.live_debounce_ms == 400


def test_every_knob_that_names_a_path_is_confined():
    """A free text that declares no path has to be named here, so that a new one is not forgotten."""
    plain = {("encoder", "backbone"), ("training", "device"), ("training", "select_by")}
    plain |= {("data", "image"), ("data", "label")}  # columns of Parquet files
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
        with pytest.raises(ValueError, match="is an address, and this dashboard reads only files of this machine"):
            settings.confine(config)
    (tmp_path / "mine").mkdir()
    with tarfile.open(tmp_path / "others.tar", "w") as archive:
        for name in ("a", "b"):
            Image.new("RGB", (8, 8)).save(tmp_path / "one.png")
            archive.add(tmp_path / "one.png", f"{name}/1.png")
    (tmp_path / "mine" / "link.tar").symlink_to(tmp_path / "others.tar")
    with pytest.raises(ValueError, match="link.tar or what it links to lies outside"):
        settings.confine_images(lab.data.create("tar_shards", root=str(tmp_path / "mine")))


def test_data_outside_the_allowed_folders_is_refused(no_runs, open_page, no_worker, monkeypatch, tmp_path):
    inside = tmp_path / "photos"
    inside.mkdir()
    (inside / "sideways").symlink_to("/etc")
    monkeypatch.setenv("LAB_DATA", str(inside))
    page = open_page("train")
    page.test.selectbox(key="form.data").set_value("class_folders").run()
    for outside in ("/etc", str(inside / ".."), str(inside / "sideways"), str(tmp_path / "photos2")):
        page.test.text_input(key="form.data.class_folders.root").set_value(outside).run()
        assert "may read" in page.words() and not page.test.exception
        assert not any(b.label in ("Add to queue", "Pre-flight") for b in page.test.button)
        config = RunConfig.of({"data": {"name": "class_folders", "root": outside}})
        for act in (lambda c=config: queueing.enqueue({"": c}, "sly", ()), lambda c=config: settings.confine(c)):
            with pytest.raises(ValueError, match="may read"):
                act()
    page.test.text_input(key="form.data.class_folders.root").set_value(str(inside / "cats")).run()
    assert page.calm, page.words()


def test_preflight_runs_beside_the_page_and_reports(no_runs, open_page, count_calls):
    page = open_page("train")
    page.test.text_input(key="form.augmentation.size").set_value("32").run()
    page.test.text_input(key="form.sampler.m_per_class.batch_size").set_value("32").run()
    steps = count_calls("lab.runs.launching.preflight.preflight", "lab.training.steps.gradients")
    next(b for b in page.test.button if b.label == "Pre-flight").click().run()
    preflight = page.test.session_state["preflight"]
    deadline = time.monotonic() + 300
    while not preflight.done and time.monotonic() < deadline:
        time.sleep(0.2)
    page.run()
    assert page.calm, page.words()
    assert steps == [] and preflight.process.pid != os.getpid(), "the work is another process's"
    for name in ("data", "memory", "gradients", "pace"):
        assert f"**{name}**" in page.words()
    page.test.text_input(key="form.training.steps").set_value("5").run()
    assert "The form has changed" in page.words()


def test_into_the_queue_and_about_in_it(no_runs, open_page, no_worker):
    page = open_page("train")
    for name in ("first", "second"):
        page.test.text_input(key="name").set_value(name).run()
        next(b for b in page.test.button if b.label == "Add to queue").click().run()
        assert page.calm, page.words()
    assert Queue(no_runs).names == ("first", "second")
    assert RunConfig.load(no_runs / "first" / "config.yaml") == RunConfig.of()
    page.test.button(key="up second").click().run()
    assert Queue(no_runs).names == ("second", "first")
    page.test.button(key="remove second").click().run()
    assert Queue(no_runs).names == ("first",)
    page.test.button(key="pause queue").click().run()
    assert Queue(no_runs).paused


def test_a_grid_makes_one_run_a_value(no_runs, open_page, no_worker):
    page = open_page("train")
    page.test.selectbox(key="grid knob").set_value("loss.tau2").run()
    page.test.text_input(key="grid values").set_value("0.01, 0.05").run()
    page.test.text_input(key="name").set_value("sweep").run()
    next(b for b in page.test.button if b.label == "Add to queue").click().run()
    assert page.calm, page.words()
    assert Queue(no_runs).names == ("sweep-0.01", "sweep-0.05")
    assert {management.notes(run)["group"] for run in lab.runs.list(no_runs)} == {"sweep"}
    assert RunConfig.load(no_runs / "sweep-0.05" / "config.yaml") == RunConfig.of().changed("loss.tau2", 0.05)


def test_runs_are_sent_to_the_cluster_that_the_dashboard_was_given(no_runs, open_page, monkeypatch):
    given = []
    monkeypatch.setattr("lab.launchers.send", lambda runs, to: given.append(([run.name for run in runs], to)))
    monkeypatch.setattr(location, "_installed", lambda library: library == "ray")
    monkeypatch.setattr(location, "_cluster", lambda address: f"Cluster {address}: 3 of 8 processors free.")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert "Where it runs" not in [one.label for one in open_page("train", where="ray").test.selectbox]

    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    page = open_page("train", where="ray", name="far", grid="loss.tau2", values="0.01, 0.05")
    place = page.test.selectbox(key="where")
    assert place.value == "ray" and place.options == ["This machine", "Ray cluster head:6379"]
    assert not page.test.multiselect or "Devices" not in [one.label for one in page.test.multiselect]
    page.test.button(key="add to queue").click().run()
    assert page.calm, page.words()
    assert given == [(["far-0.01", "far-0.05"], Sent("ray", "head:6379"))] and Queue(no_runs).names == ()
    detached.hand_over(lab.runs.open("far-0.01", no_runs), given[0][1], Worker.this(), False)
    assert "Waits for the Ray cluster at head" in page.run().words()
    page.test.button(key="stop far-0.01")
    assert [button.label for button in page.test.button if button.key == "add to queue"] == ["Send to the cluster"]


def test_a_clone_differs_in_one_knob(no_runs, open_page, no_worker):
    queueing.enqueue({"": RunConfig.of({"training": {"seed": 7}})}, "first", ())
    page = open_page("train")
    page.test.selectbox(key="clone knob queue first").set_value("loss.tau2").run()
    assert page.test.text_input(key="clone values queue first").placeholder.startswith("now 0.01;")
    page.test.text_input(key="clone values queue first").set_value("0.02, 0.03").run()
    page.test.button(key="clone queue first").click().run()
    assert page.calm, page.words()
    assert Queue(no_runs).names == ("first", "first-tau2-0.02", "first-tau2-0.03")
    first, clone = (lab.runs.open(no_runs / name).config for name in ("first", "first-tau2-0.03"))
    assert lab.runs.difference(first, clone) == {"loss.tau2": (0.01, 0.03)}
    page.test.text_input(key="clone values queue first").set_value("-1").run()
    page.test.button(key="clone queue first").click().run()
    assert "tau2" in page.test.error[0].value and len(Queue(no_runs).names) == 3


def test_a_queue_without_its_worker_says_so(no_runs, open_page, monkeypatch):
    called = []
    monkeypatch.setattr(Queue, "ensure_worker", lambda self: called.append(self.root))
    Queue(no_runs).add(lab.runs.create(RunConfig.of(), no_runs, "left"))
    page = open_page("train")
    assert "The process that runs the queue has stopped" in page.words()
    page.test.button(key="work it off").click().run()
    assert called == [no_runs]


def test_runs_go_round_the_devices_and_a_bad_grid_is_refused(no_runs, no_worker):
    for values in (" , ", "x", "0.1, -4", "[1", ",".join("1" * 65)):
        with pytest.raises(ValueError):
            queueing.grid(RunConfig.of(), "loss.tau2", values)
    configs = queueing.grid(RunConfig.of(), "training.seed", "1, 2, 3")
    made = queueing.enqueue(configs, "", ["cpu", "auto"])
    devices = [RunConfig.load(no_runs / name / "config.yaml").training.knobs.device for name in made]
    assert devices == ["cpu", "auto", "cpu"]


def test_a_bad_or_taken_name_is_said_at_once_and_the_queue_stays(no_runs, open_page, no_worker):
    page = open_page("train")
    page.test.text_input(key="name").set_value("my run ą").run()
    assert "letters, digits" in page.test.error[0].value.replace("\\", "")
    assert page.test.button(key="add to queue").disabled
    assert "--name" not in command(page)
    assert "The queue is empty." in page.words()
    page.test.text_input(key="name").set_value("twice").run()
    for _ in range(2):
        next(b for b in page.test.button if b.label == "Add to queue").click().run()
    assert not page.test.exception and "already" in page.test.error[0].value
    assert Queue(no_runs).names == ("twice",)


def test_the_form_speaks_to_a_person(no_runs, open_page):
    page = open_page("train")
    labels = {field.key: field.label for field in page.test.text_input}
    assert labels["form.sampler.m_per_class.batch_size"] == "Batch size (images)"
    assert labels["form.optimiser.adamw.lr"] == "Learning rate :gray[lr]"
    keys = [field.key for field in page.test.text_input]
    assert keys.index("form.data.emoji7.test") < keys.index("form.data.emoji7.split_seed"), "what matters stands first"
    more = [one for one in page.test.expander if one.label.startswith("More settings")]
    assert "form.data.emoji7.split_seed" in [field.key for field in more[0].text_input]
    page.test.text_input(key="form.data.emoji7.split_seed").set_value("3").run()
    assert any(re.fullmatch(r"More settings \(\d+, 1 changed\)", one.label) for one in page.test.expander)
