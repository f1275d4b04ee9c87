"""Files that people read, with a checksum: whatever bit is flipped is found, or nothing that was written differs."""

import json

import pytest
import yaml

from lab.core import sealed

STATUS = {"state": "finished", "step": 8, "loss": 0.39916694164276123, "sentence": "é", "scores": {"r@1": None}}


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("value", [STATUS, {}, {"a": {}}])
def test_json_is_read_again_with_and_without_its_checksum(value, indent):
    text = sealed.dumps(value, indent)
    assert sealed.loads(text) == (value, True)
    assert json.loads(text).keys() == value.keys() | {"crc32"}
    assert sealed.loads(json.dumps(value).encode()) == (value, True)


@pytest.mark.parametrize("indent", [None, 1])
def test_every_flipped_bit_of_json_is_found_or_harms_nothing(indent):
    text = sealed.dumps(STATUS, indent)
    harmless = 0
    for place in range(8 * len(text)):
        flipped = bytearray(text)
        flipped[place // 8] ^= 1 << place % 8
        try:
            value, intact = sealed.loads(bytes(flipped))
        except ValueError:
            continue
        if intact:  # a bit of the name "crc32", or of the space around it
            harmless += 1
            assert {name: value.get(name) for name in STATUS} == STATUS
    assert harmless < 60


def test_every_flipped_bit_of_yaml_is_found_or_harms_nothing():
    text = sealed.sealed_yaml("loss: roadmap\ntraining:\n  lr: 0.001\n").encode()
    for place in range(8 * len(text)):
        flipped = bytearray(text)
        flipped[place // 8] ^= 1 << place % 8
        if sealed.intact_yaml(bytes(flipped)):
            try:
                value = yaml.safe_load(flipped.decode())
            except (ValueError, yaml.YAMLError):
                continue
            assert not isinstance(value, dict) or set(value) - {"loss", "training"} or value == yaml.safe_load(text)


def test_cut_files_are_found():
    text = sealed.dumps(STATUS)
    for length in range(len(text) - 1):  # without its last line break it is whole
        with pytest.raises(ValueError, match="."):
            sealed.loads(text[:length])


def test_a_damaged_file_is_kept_when_it_is_replaced_and_an_edited_one_can_be_accepted(tmp_path):
    file = tmp_path / "status.json"
    assert sealed.write(file, STATUS) is None and sealed.damage(file) == ""
    edited = file.read_text().replace('"step": 8', '"step": 9')
    file.write_text(edited)
    assert sealed.damage(file) == sealed.CHANGED
    assert sealed.write(file, STATUS).read_text() == edited
    file.write_text(edited)
    sealed.accept(file)
    assert sealed.read(file) == ({**STATUS, "step": 9}, True) and sealed.damage(file) == ""
    config = tmp_path / "config.yaml"
    config.write_text(sealed.sealed_yaml("a: 1\n").replace("1", "2", 1))
    assert sealed.damage(config) == sealed.CHANGED
    sealed.accept(config)
    assert sealed.damage(config) == "" and config.read_text().startswith("a: 2\n# crc32")


def test_a_flip_in_the_name_of_the_checksum_is_found():
    line = sealed.dumps({"kind": "stepped", "step": 1}, indent=None)
    for place in range(5):
        at = line.index(b"crc32") + place
        flipped = line[:at] + bytes([line[at] ^ 2]) + line[at + 1 :]
        assert not sealed.loads(flipped)[1], flipped
    assert sealed.loads(b'{"kind": "note", "stamp": "0badcafe"}')[1], "another word is no checksum"


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_what_is_never_written_is_not_read(constant):
    with pytest.raises(ValueError, match="which JSON has not"):
        sealed.loads(f'{{"loss": {constant}}}'.encode())
    with pytest.raises(ValueError):
        sealed.dumps({"loss": float(constant.lower().replace("infinity", "inf"))})
