"""Every text knob of every catalogue, out of a stored configuration, with every word that a stranger may write."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lab.runs
from lab.core.knobs import describe
from lab.core.words import ADDRESS, EVERYTHING, NAME, PATH, PROGRAM, is_address, kind_of
from lab.runs import RunConfig, boundary
from lab.runs.boundary import Rights
from tests.boundary.watching import WORDS, watched

SECTIONS = lab.runs.SECTIONS


def texts() -> list[tuple[str, str | None, str]]:
    """Section, entry and name of every knob that takes a free text or a path."""
    return [
        (section.name, entry, knob.name)
        for section in SECTIONS.values()
        for entry in (section.names() if section.package else (None,))
        for knob in describe(section.knobs_of(entry))
        if knob.kind is str and not knob.many and not knob.options
    ]


@pytest.fixture
def places(tmp_path, monkeypatch) -> tuple[Path, Path]:
    """The folder of a gift, where the process stands, with programs in it; and a folder that is nobody's business."""
    gift, secret = tmp_path / "runs" / "gift", tmp_path / "secret"
    gift.mkdir(parents=True)
    (secret / "a").mkdir(parents=True)
    (secret / "a" / "1.png").write_bytes(b"nothing")
    for name in ("x.ts", "x.pt", "x.pt2", "x.onnx"):
        (gift / name).write_bytes(b"a program")
    (gift / "evil.py").write_text("raise SystemExit('evil ran')")
    monkeypatch.chdir(gift)
    return gift, secret


def stored(section: str, entry: str | None, values: dict, folder: Path) -> RunConfig:
    """A configuration of a run that another account wrote; what an entry needs besides lies in the folder."""
    needed = {
        knob.name: "inside"
        for knob in describe(SECTIONS[section].knobs_of(entry))
        if knob.required and knob.kind is str and knob.name not in values
    }
    chosen = {**needed, **values, **({"name": entry} if entry else {})}
    listed = [chosen] if SECTIONS[section].many else chosen
    return RunConfig.of({section: listed}, stored=True, rights=Rights("Run gift", folder))


@pytest.mark.parametrize("said", WORDS)
def test_no_knob_of_a_stored_configuration_runs_or_reads_what_a_stranger_names(
    said, places, monkeypatch
):
    gift, secret = places
    word = WORDS[said].format(secret=secret)
    inside = not is_address(word) and Path(word).resolve().is_relative_to(gift)  # as a path
    for section, entry, name in texts():
        knob = next(one for one in describe(SECTIONS[section].knobs_of(entry)) if one.name == name)
        try:
            config = stored(section, entry, {name: word}, gift)
        except ValueError:
            continue  # the knob takes no such text: a device, a name of a catalogue
        with watched(secret, monkeypatch) as seen:
            refused = ""
            try:
                chosen = getattr(config, section)
                one = chosen[0] if isinstance(chosen, tuple) else chosen
                one.create() if SECTIONS[section].package else one.check()
            except ValueError as error:
                refused = str(error)
            assert not seen, (section, entry, name, seen)
        judged = knob.network or (knob.path and not inside)
        if judged and SECTIONS[section].package:
            assert refused.startswith("Run gift names the "), (section, entry, name, refused)
            assert f"({section}.{name})" in refused


def test_a_network_as_json_is_looked_into(places, monkeypatch):
    gift, secret = places
    inner = '{{"name": "adapted", "base": "{}"}}'
    for word in (
        "os:abort",
        "x.ts",
        str(secret),
        "http://127.0.0.1:1/x",
        inner.format("os:abort").replace('"', '\\"'),
    ):
        for text in (inner.format(word), '{"name": "timm_model", "backbone": "' + word + '"}'):
            config = stored("encoder", "adapted", {"base": text}, gift)
            with (
                watched(secret, monkeypatch) as seen,
                pytest.raises(ValueError, match="Run gift names the|no encoder"),
            ):
                config.encoder.create()
            assert not seen
    for text in (
        "{",
        "{}",
        "[1]",
        '{"name": 3}',
        '{"name": "nothing"}',
        '{"name": ["adapted"]}',
        "{" * 5000,
    ):
        with pytest.raises(ValueError):
            stored("encoder", "adapted", {"base": text}, gift).encoder.create()
    assert (
        stored("encoder", "adapted", {"base": '{"name": "small_cnn"}'}, gift).encoder.create().width
    )


def test_a_right_allows_its_own_kind_and_none_allows_a_program(places):
    gift, secret = places
    config = stored("data", "tar_shards", {"root": "s3://b/x"}, gift)
    for allow in EVERYTHING:
        allowed = [
            one.allowed for one in config.references(Rights("Run gift", gift, frozenset([allow])))
        ]
        assert allowed == [allow == "addresses"]
    program = stored("encoder", "adapted", {"base": "os:abort"}, gift)
    assert [one.allowed for one in program.references(Rights("Run gift", gift, EVERYTHING))] == [
        False
    ]
    with pytest.raises(ValueError, match="allow takes addresses, downloads, paths; got programs"):
        boundary.chosen(["programs"])


def test_weights_that_are_not_here_are_fetched_only_by_a_right(places, monkeypatch):
    gift, _ = places
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_: None)
    for entry, knob in (("timm_model", "backbone"), ("adapted", "base")):
        config = stored("encoder", entry, {knob: "resnet18"}, gift)
        with pytest.raises(
            ValueError, match=r"names the download 'resnet18' \(encoder.pre.*--allow downloads"
        ):
            config.encoder.check()
        config.encoder.check({"pretrained": False})
        with monkeypatch.context() as patch:
            patch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_: "/kept")
            config.encoder.check()
        config.with_rights(Rights("Run gift", gift, frozenset(["downloads"]))).encoder.check()


def test_a_link_in_the_folder_leads_nowhere(places, monkeypatch):
    gift, secret = places
    (gift / "photos").symlink_to(secret)
    (gift / "own" / "a").mkdir(parents=True)
    (gift / "own" / "b").symlink_to(secret / "a")
    with pytest.raises(ValueError, match="lies outside its folder"):
        stored("data", "class_folders", {"root": "photos"}, gift).data.create()
    images = lab.data.Unlabelled([])
    images.root, images.keys = gift / "own", ["b/1.png"]
    with pytest.raises(ValueError, match="lies outside its folder"):
        boundary.check_images(images, Rights("Run gift", gift))


def test_a_file_that_a_person_names_may_name_all_but_a_program(tmp_path, capsys):
    from lab.__main__ import main

    file = tmp_path / "mine.yaml"
    file.write_text("encoder: {name: adapted, base: 'os:abort'}\n")
    sentence = f"{file} names the program 'os:abort' (encoder.base), and no program is run because a file names it"
    with pytest.raises(ValueError) as refused:
        RunConfig.load(file)
    assert str(refused.value).startswith(sentence)
    assert main(["train", "--config", str(file), "--print-config"]) == 2
    assert sentence in capsys.readouterr().err
    typed = ["--encoder.base", "mine:net"]
    assert main(["train", "--config", str(file), "--print-config", *typed]) == 0
    assert "base: mine:net" in capsys.readouterr().out
    plan = tmp_path / "sweep.yaml"
    plan.write_text(
        "name: s\nconfig: {encoder: {name: adapted}}\nvary: {encoder.base: ['resnet18', 'os:abort']}\n"
    )
    assert (
        main(["sweep", str(plan), "--dry-run"]) == 2
        and "names the program 'os:abort'" in capsys.readouterr().err
    )
    file.write_text(f"data: {{name: class_folders, root: {tmp_path}}}\n")
    assert RunConfig.load(file).rights is None


@settings(max_examples=100, derandomize=True)
@given(st.text(max_size=30))
def test_a_word_is_of_one_kind_and_a_name_holds_nothing_that_leads_elsewhere(word):
    kind = kind_of(word)
    assert kind in (NAME, PROGRAM, ADDRESS, PATH)
    if kind == NAME:
        assert not {":", "/"} & set(word) and not word.startswith(("~", "."))
