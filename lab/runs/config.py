"""A run's configuration: one choice per section, each with its declared knobs; YAML in and out.

The table of sections is the only place that says what a run consists of. The CLI's flags, the YAML file, the
dashboard's form and the comparison of two runs all read it. Nothing here imports torch until a choice is checked.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import lab.papers.recipes
from lab.core import yaml_reader
from lab.core.catalog import OUTSIDE
from lab.core.explain import near, quoted
from lab.core.files import JSON_KINDS, read_small, whole
from lab.core.knobs import Knobs, Unchecked, describe
from lab.core.words import DOWNLOADS, EVERYTHING, PROGRAM, is_address, kind_of
from lab.runs import boundary
from lab.runs.boundary import Reference, Rights

DERIVED: dict[str, Any] = {"num_classes": 1000, "dim": 1000}
"""Knobs of losses that the data set and the encoder decide, with the surrogates that checks use before these exist."""


@dataclass(frozen=True)
class Section:
    """One part of a run's configuration.

    package: the catalogued package that its names come from, or None for a section of plain knobs.
    knobs: `module:class` of the plain knobs.
    many: a list of choices instead of one.
    default: name chosen when none is given; a tuple of names where there are many.
    """

    name: str
    help: str
    package: str | None = None
    knobs: str | None = None
    many: bool = False
    default: Any = None  # str or None; a tuple of str where there are many

    def names(self) -> tuple[str, ...]:
        """Return the names that can be chosen; reads a folder and imports nothing."""
        return importlib.import_module(self.package).names() if self.package else ()

    def knobs_of(self, name: str | None = None) -> type[Knobs]:
        """Return the declared knobs of a choice; imports it.

        Raises:
            ValueError: the name is unknown; the message lists the legal ones.
        """
        if self.package:
            return importlib.import_module(self.package).get(name).Knobs
        module, _, attribute = str(self.knobs).partition(":")
        return getattr(importlib.import_module(module), attribute)


_SECTIONS = (
    Section("data", "images, labels and splits", package="lab.data", default="emoji7"),
    Section(
        "augmentation",
        "how training images are cropped, flipped and changed",
        knobs="lab.data.images.transform_knobs:AugmentationKnobs",
    ),
    Section(
        "testing",
        "how images are seen outside training",
        knobs="lab.data.images.transform_knobs:TestingKnobs",
    ),
    Section(
        "encoder",
        "network that makes an embedding of an image",
        package="lab.encoders",
        default="small_cnn",
    ),
    Section("sampler", "which images make a batch", package="lab.samplers", default="m_per_class"),
    Section("loss", "what the training minimises", package="lab.losses", default="recall_at_k"),
    Section(
        "wrappers",
        "around the loss, the first innermost",
        package="lab.wrappers",
        many=True,
        default=(),
    ),
    Section(
        "optimiser",
        "how gradients change the weights",
        package="lab.training.optimisers",
        default="adamw",
    ),
    Section(
        "schedule",
        "how the learning rate changes",
        package="lab.training.schedules",
        default="cosine",
    ),
    Section(
        "training",
        "steps, chunks, device, checkpoints",
        knobs="lab.training.settings:TrainingKnobs",
    ),
    Section(
        "metrics",
        "what is measured",
        package="lab.metrics",
        many=True,
        default=("hit_rate_at_k", "map_at_r"),
    ),
    Section(
        "evaluation", "how the trained model is used", knobs="lab.training.settings:EvaluationKnobs"
    ),
)
SECTIONS = {section.name: section for section in _SECTIONS}


def derived_knobs(section: Section, knobs: type[Knobs]) -> tuple[str, ...]:
    """Return the knobs of a loss or wrapper that follow from the data set and the encoder; nobody gives them."""
    if section.name not in ("loss", "wrappers"):
        return ()
    fields_of = knobs.model_fields
    return tuple(knob for knob in DERIVED if knob in fields_of and fields_of[knob].is_required())


@dataclass(frozen=True)
class Choice:
    """A name (None in a section of plain knobs) with its checked knobs. The `derived` knobs are set when it is built.

    missing: why the entry is not installed, in one sentence; its knobs are then as they were stored. Else empty.
    rights: what its words may name; None for words that a person typed.
    """

    section: str
    name: Any  # str or None
    knobs: Any  # an instance of the chosen class's own Knobs
    derived: tuple[str, ...] = ()
    missing: str = ""
    rights: Rights | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls, section: Section, value: Mapping[str, Any] | str | None, stored: bool = False
    ) -> Choice:
        """Check the words of a person or of a stored run, whose entry may be of a package that is not installed.

        Raises:
            ValueError: unknown name or knob, a value out of range, or no mapping; lists what is legal.
        """
        if isinstance(value, str) and section.package:
            value = {"name": value}
        if value is not None and not isinstance(value, Mapping):
            raise ValueError(
                f"{section.name} must be a name or a mapping of knobs, got {quoted(value)}."
            )
        # Which entry of the catalogue?
        # YAML has keys of other kinds
        values = {str(key): value for key, value in (value or {}).items()}
        name = None
        if section.package:
            name = values.pop("name", None if section.many else section.default)
            if name is None:
                raise ValueError(
                    f"Each of {section.name} needs a name, one of {', '.join(section.names())}."
                )
        if stored and name == OUTSIDE:
            return cls(section.name, OUTSIDE, Unchecked(**values))
        try:
            declared = section.knobs_of(name)
        except (ValueError, ImportError) as error:
            if not stored:
                raise
            return cls(section.name, str(name), Unchecked(**values), missing=str(error))
        # Check its knobs; those that follow from the data cannot be given.
        derived = derived_knobs(section, declared)
        for knob in derived:
            if knob in values:
                raise ValueError(
                    f"{section.name} {name}: {knob} follows from the data and the encoder; leave it out."
                )
        uninstalled = _uninstalled(declared, values) if stored else {}
        knobs = declared(
            **{knob: value for knob, value in values.items() if knob not in uninstalled},
            **{knob: DERIVED[knob] for knob in derived},
        )
        if uninstalled:  # their names stay as they were stored; building what they name fails with the same sentence
            knobs = knobs.model_copy(update={knob: values[knob] for knob in uninstalled})
        return cls(section.name, name, knobs, derived, " ".join(uninstalled.values()))

    @property
    def outside(self) -> bool:
        """Whether it is external: imported embeddings, or a training loop of the user's own. Its knob `what` describes
        it in words; nothing can be built of it."""
        return self.name == OUTSIDE and isinstance(self.knobs, Unchecked)

    @property
    def values(self) -> dict[str, Any]:
        """Every knob but the derived ones, as plain numbers, strings and tuples."""
        return {
            knob: value
            for knob, value in self.knobs.model_dump().items()
            if knob not in self.derived
        }

    def as_dict(self) -> dict[str, Any]:
        """Return the choice as the YAML file has it."""
        plain = {
            knob: list(value) if isinstance(value, tuple) else value
            for knob, value in self.values.items()
        }
        return {"name": self.name, **plain} if self.name else plain

    def named(
        self, instead: Mapping[str, Any] | None = None, downloads: bool = True
    ) -> Iterator[tuple[str, str, str]]:
        """Find what its words name outside the catalogues, as `boundary.named` does. instead: as `create` takes it."""
        if self.outside or isinstance(self.knobs, Unchecked):
            return
        section = SECTIONS[self.section]
        if section.package:
            entry = importlib.import_module(section.package).get(self.name)
        else:
            entry = section.knobs_of(self.name)
        yield from boundary.named(
            self.section, entry, {**self.values, **(instead or {})}, downloads
        )

    def programs(self) -> Iterator[tuple[str, str, str]]:
        """Find programs in every text of a form, also where none would be run: section.knob, the kind and the value.

        A path that exists is a file of weights or of data, whatever its suffix.
        """
        if isinstance(self.knobs, Unchecked):
            return
        for declared in describe(type(self.knobs)):
            value = self.values.get(declared.name)
            # cuda:1
            if not isinstance(value, str) or declared.choices or declared.name == "device":
                continue
            is_file = declared.path and os.path.exists(os.path.expanduser(value))
            if kind_of(value) == PROGRAM and not value.startswith("{") and not is_file:
                yield f"{self.section}.{declared.name}", PROGRAM, value

    def check(self, instead: Mapping[str, Any] | None = None) -> None:
        """Refuse words of a file that name what may not be read; `create` does so, too.

        Raises:
            ValueError: says which, and how a person allows it.
        """
        if self.rights is not None:
            downloads = DOWNLOADS not in self.rights.allow  # else nothing has to be looked for
            self.rights.check(
                self.rights.reference(*words) for words in self.named(instead, downloads)
            )

    def create(self, instead: Mapping[str, Any] | None = None, **derived: Any) -> Any:
        """Build the catalogue's entry; `derived` fills what this choice left open, and may hold more.

        Args:
            instead: knobs and arguments that replace its own, such as the network that a person gave again.

        Raises:
            ValueError: it was made elsewhere, so there is nothing to build it from; or its words name what may not be
                read; or what the entry refuses.
        """
        if self.outside:
            raise ValueError(
                f"The {self.section} of this run was made outside of Rankscope, so it cannot be built here."
            )
        self.check(instead)
        package = importlib.import_module(str(SECTIONS[self.section].package))
        given = {**self.values, **(instead or {})}
        return package.create(self.name, **given, **{knob: derived[knob] for knob in self.derived})


def _uninstalled(declared: type[Knobs], values: Mapping[str, Any]) -> dict[str, str]:
    """Return the knobs that name an entry of a catalogue that no installed package has, each with a sentence."""
    sentences = {}
    for knob in describe(declared):
        value = values.get(knob.name)
        if knob.catalog and isinstance(value, str) and value not in knob.choices:
            try:
                importlib.import_module(knob.catalog).get(value)
            except ValueError as error:
                sentences[knob.name] = str(error)
    return sentences


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides a run's result; see `SECTIONS`. Make one with `RunConfig.of` or `RunConfig.load`.

    Example:
        >>> import lab
        >>> config = lab.runs.RunConfig.of({"loss": {"name": "smooth_ap", "tau": 0.02}})
        >>> config.loss.values["tau"], config.data.name
        (0.02, 'emoji7')
        >>> config.changed("loss.tau", 0.05).loss.values["tau"]
        0.05
    """

    data: Choice
    augmentation: Choice
    testing: Choice
    encoder: Choice
    sampler: Choice
    loss: Choice
    wrappers: tuple[Choice, ...]
    optimiser: Choice
    schedule: Choice
    training: Choice
    metrics: tuple[Choice, ...]
    evaluation: Choice

    @classmethod
    def of(
        cls,
        sections: Mapping[str, Any] | None = None,
        stored: bool = False,
        rights: Rights | None = None,
    ) -> RunConfig:
        """Check a nested mapping as YAML gives it; sections and knobs that are left out take their defaults.

        Args:
            stored: whether a run has it, which can be looked at without the plug-ins that it was made with; see
                `missing`. Building what is missing raises.
            rights: what the words of a file may name, which is judged when something is built; None for words that a
                person typed, which may name everything.

        Raises:
            ValueError: unknown section, name or knob, or a value out of range; one sentence that lists what is legal.
        """
        if sections is not None and not isinstance(sections, Mapping):
            raise ValueError(
                f"A run is made of sections ({', '.join(SECTIONS)}), got {quoted(sections)}."
            )
        sections = dict(sections or {})
        for name in sections:
            if name not in SECTIONS:
                meant = near(name, SECTIONS)
                hint = _knob_elsewhere(str(name)) or (
                    f" (did you mean {meant!r}?)" if meant else ""
                )
                raise ValueError(
                    f"A run has no section {quoted(name)}{hint}. Its sections: {', '.join(SECTIONS)}."
                )
        chosen: dict[str, Any] = {}
        for name, section in SECTIONS.items():
            chosen[name] = _chosen(section, sections.get(name), stored)
        device = chosen["training"].knobs.device
        # the machine that trains checks that it exists
        if not re.fullmatch(r"auto|cpu|cuda(:\d{1,4})?", device):
            raise ValueError(
                f"training: device must be auto, cpu, cuda or cuda:N, got {quoted(device)}."
            )
        # A loss whose anchors have any length (003) decides that embeddings keep their lengths, unless the user did.
        encoder = chosen["encoder"]
        given = sections.get("encoder")
        is_given = isinstance(given, Mapping) and "normalise" in given
        if "normalise" in encoder.values and not is_given and _lengths_matter(chosen["loss"].name):
            chosen["encoder"] = Choice.of(
                SECTIONS["encoder"], {**encoder.as_dict(), "normalise": False}
            )
        return cls(**chosen).with_rights(rights)

    @classmethod
    def load(cls, path: Path | str) -> RunConfig:
        """Read a YAML file, or a preset or recipe by its name.

        Raises:
            ValueError: no such file, no YAML, it names a program, or what `of` refuses; names the file.
        """
        return cls.of(given_yaml(path))

    def with_rights(self, rights: Rights | None) -> RunConfig:
        """Return this configuration with other rights for its words; None for words that a person typed."""
        sections: dict[str, Any] = {}
        for name, chosen in self:
            if isinstance(chosen, tuple):
                sections[name] = tuple(replace(choice, rights=rights) for choice in chosen)
            else:
                sections[name] = replace(chosen, rights=rights)
        return RunConfig(**sections)

    @property
    def rights(self) -> Rights | None:
        """What its words may name; None for words that a person typed."""
        return self.encoder.rights

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Every choice of every section."""
        choices: list[Choice] = []
        for _, chosen in self:
            choices += chosen if isinstance(chosen, tuple) else (chosen,)
        return tuple(choices)

    def references(self, rights: Rights) -> tuple[Reference, ...]:
        """List what its words name outside the catalogues, and whether these rights allow it."""
        references = []
        for choice in self.choices:
            references += [rights.reference(*words) for words in choice.named()]
        return tuple(references)

    @property
    def program(self) -> str:
        """The program that makes its network, if one does; else empty."""
        for _, kind, value in self.encoder.named(downloads=False):
            if kind == PROGRAM:
                return value
        return ""

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return ((section.name, getattr(self, section.name)) for section in fields(self))

    def as_dict(self) -> dict[str, Any]:
        """Return the sections as the YAML file has them; `RunConfig.of` of them is equal to this."""
        sections: dict[str, Any] = {}
        for name, chosen in self:
            if isinstance(chosen, tuple):
                sections[name] = [choice.as_dict() for choice in chosen]
            else:
                sections[name] = chosen.as_dict()
        return sections

    @property
    def outside(self) -> bool:
        """Whether the embeddings are external, so that nothing here can be trained or embed an image."""
        return self.encoder.outside

    @property
    def imported(self) -> bool:
        """Whether nothing was trained here at all: imported embeddings, or a recorded loop of the user's own."""
        return self.loss.outside and not self.loss.values.get("what")

    @property
    def method(self) -> str:
        """The name of the method of an external run; "" if none was given, and for other runs."""
        return str(self.loss.values.get("method") or "") if self.imported else ""

    @property
    def seed(self) -> int | None:
        """The seed; None for an external run without one."""
        return self.loss.values.get("seed") if self.imported else self.training.knobs.seed

    @property
    def foreign(self) -> bool:
        """Whether data, encoder or loss are external, so that this configuration alone cannot train a run."""
        return any(choice.outside for choice in (self.data, self.encoder, self.loss))

    @property
    def missing(self) -> tuple[str, ...]:
        """A sentence for each entry that is not installed: what it is and how to get it."""
        return tuple(choice.missing for choice in self.choices if choice.missing)

    def paths(self) -> Iterator[tuple[str, Path]]:
        """Every knob that names a file or folder of this machine, as `section.knob`, with the whole path."""
        for knob, value in self._places():
            if not is_address(value):
                yield knob, whole(value)

    def addresses(self) -> Iterator[tuple[str, str]]:
        """Every knob that names files by an address, such as s3://bucket/folder, as `section.knob`."""
        return ((knob, value) for knob, value in self._places() if is_address(value))

    def _places(self) -> Iterator[tuple[str, str]]:
        for choice in self.choices:
            for declared in describe(type(choice.knobs)):
                value = choice.values.get(declared.name)
                if declared.path and value:
                    yield f"{choice.section}.{declared.name}", str(value)

    @property
    def similarity(self) -> str:
        """How embeddings are compared: by distance where their lengths mean something, else by cosine."""
        unit = self.encoder.values.get("normalise", True) and not self.evaluation.knobs.beta
        return "cosine" if unit else "euclidean"

    def as_yaml(self) -> str:
        return yaml_reader.dump(self.as_dict(), width=120)

    def changed(self, path: str, value: Any) -> RunConfig:
        """Return a copy with one knob (`loss.tau1`) or one whole section (`loss`) changed.

        Another loss decides again whether embeddings get unit length, unless the user had decided against the old loss.

        Raises:
            ValueError: what `of` refuses, or a path through a section that holds many choices.
        """
        section, _, knob = path.partition(".")
        changed = self.as_dict()
        if knob and not isinstance(changed.get(section), dict):
            raise ValueError(
                f"{path!r} names no single knob; give the whole section {section!r}, or one of its knobs."
            )
        if knob:
            value = {**changed[section], knob: value}
        elif section == "loss":
            changed = without_followed_lengths(changed)
        stored = bool(self.missing) or self.foreign
        return RunConfig.of({**changed, section: value}, stored=stored, rights=self.rights)

    def typed(self, path: str, text: str) -> Any:
        """Return a value of a knob (`loss.tau`) that a person typed, read as YAML; a knob of texts takes 010 as it is.

        Raises:
            ValueError: it is no YAML.
        """
        section, _, name = path.partition(".")
        chosen = getattr(self, section, None)
        knobs = describe(type(chosen.knobs)) if isinstance(chosen, Choice) else []
        is_text = any(knob.name == name and knob.kind is str and not knob.many for knob in knobs)
        return text if is_text and text != "null" else yaml_reader.load(text)

    def flags(self) -> list[str]:
        """Return the words that, after `lab train`, give this configuration: names and knobs that are not defaults.

        Example:
            >>> import lab
            >>> lab.runs.RunConfig.of({"loss": "smooth_ap", "metrics": [{"name": "hit_rate_at_k", "k": [1]}]}).flags()
            ['--loss', 'smooth_ap', '--metrics', 'hit_rate_at_k', '--metrics.hit_rate_at_k.k', '1']
        """
        words: list[str] = []
        for name, chosen in self:
            section = SECTIONS[name]
            choices = chosen if section.many else (chosen,)
            default = section.default if section.many else (section.default,)
            names = tuple(choice.name for choice in choices)
            if section.package and names != default:
                for entry in names or ("none",):
                    words += [f"--{name}", entry]
            for choice in choices:
                prefix = f"{name}.{choice.name}" if section.many else name
                words += self._flags_of(choice, prefix)
        return words

    def _flags_of(self, choice: Choice, prefix: str) -> Iterator[str]:
        defaults = {knob: field.default for knob, field in type(choice.knobs).model_fields.items()}
        if choice.section == "encoder" and _lengths_matter(self.loss.name):
            defaults["normalise"] = False
        # the knobs of an entry that is not installed have no defaults
        for (
            knob,
            value,
        ) in choice.values.items():
            if knob in defaults and value == defaults[knob]:
                continue
            yield f"--no-{prefix}.{knob}" if value is False else f"--{prefix}.{knob}"
            if isinstance(value, tuple):
                yield from map(word, value or (None,))  # a flag needs a word
            elif not isinstance(value, bool):
                yield word(value)


def without_followed_lengths(sections: Mapping[str, Any]) -> dict[str, Any]:
    """Return sections without an `encoder.normalise` that only followed from their loss, which is to be replaced."""
    remaining = dict(sections)
    encoder: Any = sections.get("encoder")
    loss = sections.get("loss")
    name = loss.get("name") if isinstance(loss, Mapping) else loss
    if (
        isinstance(encoder, Mapping)
        and name
        and encoder.get("normalise") == (not _lengths_matter(name))
    ):
        remaining["encoder"] = {
            knob: value for knob, value in encoder.items() if knob != "normalise"
        }
    return remaining


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sections of both; the knobs of a changed section stay, unless another entry is named."""
    result: dict[str, Any] = dict(base)
    for name, change in changes.items():
        before: Any = result.get(name)
        joins = isinstance(before, dict) and isinstance(change, dict)
        same = joins and change.get("name", before.get("name")) == before.get("name")
        result[name] = {**before, **change} if same else change
    return result


def difference(one: RunConfig, other: RunConfig) -> dict[str, tuple[Any, Any]]:
    """Return dotted path to the two values, for every knob or name in which two configurations differ (None: absent).

    Example:
        >>> import lab
        >>> config = lab.runs.RunConfig.of({"loss": {"name": "smooth_ap", "tau": 0.02}})
        >>> lab.runs.difference(config, config.changed("loss.tau", 0.05))
        {'loss.tau': (0.02, 0.05)}
    """
    left = flat(one.as_dict())
    right = flat(other.as_dict())
    differing = {}
    for path in dict.fromkeys([*left, *right]):
        if left.get(path) != right.get(path):
            differing[path] = (left.get(path), right.get(path))
    return differing


def presets() -> dict[str, Path]:
    """Return the name and YAML file of the presets of the package; the first lines of a file say what it is for.

    Example:
        >>> import lab
        >>> lab.runs.RunConfig.load(lab.runs.presets()["emoji7_roadmap"]).loss.name
        'roadmap'
    """
    return {path.stem: path for path in sorted((Path(__file__).parent / "presets").glob("*.yaml"))}


def read_yaml(path: Path | str) -> dict[str, Any]:
    """Return the mapping in a YAML file, or in the preset or recipe of that name.

    Raises:
        ValueError: no such file, not readable as YAML, or no mapping.
    """
    if not os.path.dirname(path):  # a bare name
        path = presets().get(str(path), path)
        if str(path) in lab.papers.recipes.names():
            path = lab.papers.recipes.path(str(path))
    try:
        return parse_yaml(read_small(Path(path)).decode(), str(path))
    except OSError as error:
        raise ValueError(
            f"The configuration {path} cannot be read: {error.strerror}. Presets: {', '.join(presets())}; "
            "`lab list recipes` lists the recipes."
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no valid YAML: it is no UTF-8 text.") from None


def given_yaml(path: Path | str, typed: Collection[str] = ()) -> dict[str, Any]:
    """Read the sections of a YAML file that a person named, as `read_yaml` does: they may name all but programs.

    Args:
        typed: knobs, as section.knob, that a person typed, which replace those of the file.

    Raises:
        ValueError: what `read_yaml` refuses, or a knob names a program.
    """
    sections = read_yaml(path)
    refuse_programs(sections, str(path), typed)
    return sections


def refuse_programs(sections: Mapping[str, Any], what: str, typed: Collection[str] = ()) -> None:
    """Refuse sections of a file that name a program.

    Args:
        what: the file, as a sentence begins with it. typed: as `given_yaml` takes them.

    Raises:
        ValueError: names the knob and its value.
    """
    rights = Rights(
        what, allow=EVERYTHING, again="type it as a flag: --encoder.base MODULE:FUNCTION"
    )
    for name, section in SECTIONS.items():
        chosen = sections.get(name)
        for choice in chosen if isinstance(chosen, list | tuple) else (chosen,):
            values = dict(choice) if isinstance(choice, Mapping) else {"name": choice}
            entry = values.get("name")
            if not entry and not section.many:
                entry = section.default
            if section.package and entry in section.names():
                kind = importlib.import_module(section.package).get(entry)
                for words in boundary.named(name, kind, values, downloads=False):
                    if words[0] not in typed:
                        rights.check([rights.reference(*words)])


def parse_yaml(text: str, name: str) -> dict[str, Any]:
    """Return the mapping in a YAML text.

    Args:
        name: the name of the text in messages.

    Raises:
        ValueError: no YAML, or no mapping.
    """
    try:
        read = yaml_reader.load(text)
    except ValueError as error:
        raise ValueError(f"{name} is no valid YAML: {error}.") from None
    if read is not None and not isinstance(read, dict):
        raise ValueError(
            f"{name} must hold sections ({', '.join(SECTIONS)}), got {JSON_KINDS[type(read)]}."
        )
    return read or {}


def _knob_elsewhere(name: str) -> str:
    """Return a hint at the knob whose name is nearest, if a word is no section; empty if no knob has such a name."""
    sections = [section for section in SECTIONS.values() if not section.many]
    owners: dict[str, str] = {}
    for section in reversed(sections):
        owners |= dict.fromkeys(section.knobs_of(section.default).model_fields, section.name)
    meant = near(name, owners, cutoff=0.8)
    if not meant:
        return ""
    owner = owners[meant]
    return f" (did you mean the knob {meant} of {owner}, {owner}={{'{meant}': ...}}?)"


def _chosen(section: Section, value: Any, stored: bool) -> Choice | tuple[Choice, ...]:
    if not section.many:
        return Choice.of(section, value, stored)
    if value is None:
        value = section.default
    if not isinstance(value, list | tuple):
        raise ValueError(
            f"{section.name} must be a list, each a name or a mapping with a name; got {quoted(value)}."
        )
    chosen = tuple(Choice.of(section, entry, stored) for entry in value)
    names = set()
    for choice in chosen:
        if choice.name in names:
            raise ValueError(f"{section.name} names {choice.name} twice.")
        names.add(choice.name)
    return chosen


def _lengths_matter(loss: str) -> bool:
    losses = importlib.import_module("lab.losses")
    return (
        loss in losses.names() and loss not in losses.broken() and losses.get(loss).lengths_matter
    )


def word(value: Any) -> str:
    """Return a value of a knob as YAML and the command line write it."""
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Return dotted path to value of a whole configuration; an entry of a list goes by its name, and is `on`."""
    if (
        isinstance(value, list)
        and value
        and all(isinstance(entry, dict) and "name" in entry for entry in value)
    ):
        by_name = {}
        for entry in value:
            knobs = dict(entry)
            name = knobs.pop("name")
            by_name[name] = {"on": True, **knobs}
        value = by_name
    if not isinstance(value, dict):
        return {prefix: value}
    values: dict[str, Any] = {}
    for key, inner in value.items():
        values |= flat(inner, f"{prefix}.{key}" if prefix else key)
    return values


def without_fetching(choice: Choice) -> dict[str, Any]:
    """Return the knobs that keep an encoder from loading pretrained weights, for a checkpoint that has its own."""
    knobs = {"pretrained": False, "weights": None}
    return {knob: value for knob, value in knobs.items() if knob in choice.values}
