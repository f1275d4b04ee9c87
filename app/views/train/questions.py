"""Three questions that set up a training: which images, how long may it take, and what matters."""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import streamlit as st

import lab.papers.recipes
from app import uploads
from app.components.gallery import Card, CardSection, gallery
from app.forms import folder_picker
from app.results.pictures import thumbnail
from app.results.run_choice import folders, library
from app.shared import address, background, page_frame, queueing, settings
from lab import adaptation
from lab.adaptation import Plan
from lab.core import files
from lab.core.formats import counted
from lab.core.knobs.labels import entry_in_words
from lab.data.images import zipped
from lab.data.images.folders import list_images
from lab.data.images.reading import ImageError, open_rgb
from lab.runs import RunConfig
from lab.runs.building import overrides, user_images
from lab.runs.building.user_images import Fitted, Survey
from lab.runs.config import presets

FOLDER = "folder"
ZIP = "zip"
SET = "set"
VECTORS = "vectors"
RECIPE = "recipe"
FILLED = "filled"
IMAGES = {
    FOLDER: "A folder of mine",
    ZIP: "A ZIP file",
    SET: "A built-in set",
    VECTORS: "Imported vectors",
    RECIPE: "A recipe",
}
"""Answers to the first question, by their value in the URL."""

LENGTHS = {"short": "A first look", "usual": "A good result", "long": "The best"}
"""Answers to the second question."""

HEAD = "head"
"""Answer to the second question that trains only a head."""

HEAD_LABEL = "Keep the network, train a head"
WHOLE_LABEL = "Train the whole network"

AIMS = {"find": "Finding the same thing", "sort": "Sorting by kind"}
"""Answers to the third question."""

AIM_HELP = (
    "Finding: the first results count, as in a search for one thing. Sorting: all images of a kind count, as when "
    "pictures are put in order. The answer chooses the loss."
)
LENGTH_HELP = "Approximate, on this machine when it does nothing else."

CURRENT_FOLDER = "my folder"
"""Session key of the chosen folder."""

NEXT = "next images"
"""Session key of the next answer to the first question."""

START_SECONDS = 20
"""Approximate seconds of a training besides its steps."""

SHOWN = 200
"""Most problems to list."""


@dataclass(frozen=True)
class Answers:
    """The configuration that follows from the answers.

    config: None while an answer is missing. explanation: what will be trained. name: proposed name of the run.
    baseline: for a head, the configuration that measures the pretrained network.
    """

    config: RunConfig | None = None
    explanation: str = ""
    name: str = ""
    baseline: RunConfig | None = None


def ask() -> Answers:
    """Draw the questions and return the answers."""
    next_images = st.session_state.pop(NEXT, None)
    if next_images:
        st.session_state["images"] = next_images
    options = dict(IMAGES)
    if FILLED in (st.session_state.get("images"), st.query_params.get("images")):
        options[FILLED] = "As filled in"
    images = page_frame.choice("Which images?", options, key="images", initial=SET, link="images")
    if images == FILLED:
        return Answers(
            RunConfig.of(), "The training uses the settings that were put into the form below."
        )
    if images == RECIPE:
        return _ask_recipe()
    if images == ZIP:
        _unpack()
        return Answers()
    if images == SET:
        return _ask_built_in()
    if images == VECTORS:
        return _ask_vectors()
    return _ask_folder()


def _ask_built_in() -> Answers:
    """Ask for a built-in data set, and how to train on it."""
    labels = {name: entry_in_words(name) for name in user_images.BUILT_IN}
    help = "They need no download: 6,000 emoji, 497 letters in ten typefaces, handwritten digits."
    name = page_frame.select("Set", labels, key="set", link="of", help=help)

    def fit(length: str, aim: str) -> Fitted:
        return user_images.built_in(name, user_images.this_machine(), length, aim)

    return _length_and_aim(fit)


def _ask_folder() -> Answers:
    """Ask for a folder of images, and how to train on it."""
    folder = folder_picker.pick(
        "Folder of the classes", key=CURRENT_FOLDER, link="folder", recent=folders()
    )
    if folder is None:
        return _length_and_aim(None)
    name = queueing.plain_name(folder.name)[:80]
    survey = _survey(folder)
    if survey is None:
        return _length_and_aim(None, name)

    def fit(length: str, aim: str) -> Fitted:
        return user_images.fitted(survey, user_images.this_machine(), length, aim)

    source = None
    if user_images.has_network():
        source = (str(folder), _state(folder))
    return _length_and_aim(fit, name, source)


def _length_and_aim(
    fit: Callable[[str, str], Fitted] | None,
    name: str = "",
    source: tuple[str, tuple] | None = None,
) -> Answers:
    """Ask the other two questions.

    Args:
        fit: returns the settings for a length and an aim, or None while the images are not known.
        source: the folder on which a head can be trained, and its state.
    """
    labels = dict(LENGTHS)
    fitted: dict[tuple[str, str], Fitted] = {}
    if fit:
        with page_frame.refusals(st.info):
            for length in LENGTHS:
                for aim in AIMS:
                    fitted[length, aim] = fit(length, aim)
            labels |= _estimates({length: chosen.config for (length, _), chosen in fitted.items()})
    plans = _plans(*source) if source else None

    # A folder offers a head first, also while its images are read.
    kind = st.session_state["images"]
    initial = "usual"
    if kind == SET:
        initial = "short"
    elif kind == FOLDER and user_images.has_network():
        initial = HEAD
        head = {HEAD: _with_seconds(HEAD_LABEL, plans[1]) if plans else HEAD_LABEL}
        whole = {
            length: f"{WHOLE_LABEL}, {label[0].lower()}{label[1:]}"
            for length, label in labels.items()
        }
        labels = {**head, **whole}
    key = f"length of {kind}"  # kept for each kind of images, because their lengths differ much
    length = page_frame.choice(
        "How long may it take?", labels, key=key, initial=initial, link="length", help=LENGTH_HELP
    )
    aim = page_frame.choice("What matters?", AIMS, key="aim", link="aim", help=AIM_HELP)
    if length == HEAD:
        return _head_answers(plans[0][aim], name) if plans else Answers()
    if (length, aim) not in fitted:
        return Answers()
    chosen = fitted[length, aim]
    return Answers(chosen.config, chosen.sentence, name)


def _ask_vectors() -> Answers:
    """Ask for external embeddings on which a head is trained."""
    runs = [run.name for run in library().runs if run.config.outside and run.splits]
    address.refuse_missing("of", runs, key="vectors of")
    if not runs:
        st.info(
            "No vectors yet. Import them on the page Runs, or with `lab import`; then a head can be trained on them."
        )
        return Answers()
    name = page_frame.select("Vectors of", runs, key="vectors of", link="of")
    plans = _plans(str(settings.runs_root() / name), ())
    aim = page_frame.choice("What matters?", AIMS, key="aim", link="aim", help=AIM_HELP)
    if not plans:
        return Answers()
    by_aim, seconds = plans
    return _head_answers(by_aim[aim], f"{name}-head", seconds)


def _head_answers(plan: Plan, name: str, seconds: float = 0.0) -> Answers:
    """Return the answers that train a head. seconds: estimated duration, if known."""
    network = "behind the imported vectors"
    if plan.head.encoder.knobs.base:
        network = f"({plan.head.encoder.knobs.base})"
    count = len(plan.images.splits["train"].by_class(plan.images.labels)[0])
    classes = counted(count, "training class", "training classes")
    if seconds:
        classes += f" ({_with_seconds('about', seconds)} on this machine)"
    explanation = (
        f"The network {network} is frozen, every image is embedded once, and a linear head is trained on the "
        f"features of {classes}. A second run measures the pretrained network as a baseline; Browse and Runs compare "
        "the two."
    )
    return Answers(plan.head, explanation, name, plan.baseline)


def _with_seconds(words: str, seconds: float) -> str:
    if seconds < 90:
        return f"{words}: {seconds:.0f} s"
    return f"{words}: {seconds / 60:.0f} min"


def _plans(source: str, state: tuple) -> tuple[dict[str, Plan], float] | None:
    """Return a plan of a head for each aim, and its seconds, or None until they are measured or if there is none."""
    with page_frame.refusals(st.info):
        return background.if_ready(_plan_heads(source, state))
    return None


@background.job("Measuring how fast this machine trains a head", keep=8)
def _plan_heads(source: str, state: tuple) -> tuple[dict[str, Plan], float]:
    files.check_allowed()
    root = settings.runs_root()
    plans = {
        aim: adaptation.plan_head(source, loss=user_images.AIMS[aim][0], runs=root) for aim in AIMS
    }
    return plans, max(adaptation.seconds(plan) for plan in plans.values())


def _estimates(configs: dict[str, RunConfig]) -> dict[str, str]:
    """Return the label of each length with its time on this machine, or nothing until that is measured."""
    if not configs:
        return {}
    first = next(iter(configs.values()))
    kind = (
        f"{first.encoder.as_dict()} {first.augmentation.knobs.size} {first.training.knobs.device}"
    )
    seconds_per_image = background.if_ready(_pace(kind, first))
    if not seconds_per_image:
        return {}
    labels = {}
    for length, config in configs.items():
        images = config.training.knobs.steps * config.sampler.knobs.batch_size
        minutes = (images * seconds_per_image + START_SECONDS) / 60
        time = f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.0f} h"
        labels[length] = f"{LENGTHS[length]}: {time}"
    return labels


@background.job("Measuring how fast this machine trains", keep=16)
def _pace(kind: str, _config: RunConfig) -> float:
    """Return the seconds per image, or 0 if they cannot be measured, as on a GPU without free memory."""
    files.check_allowed()
    try:
        return user_images.pace(_config)
    except (RuntimeError, ImportError):
        return 0.0


def _survey(folder: Path) -> Survey | None:
    """Draw and return the classes of a folder, or return None while they are read or if there are none."""
    if folder == Path.home():
        st.info(
            "Open a folder that contains one folder of images for each class, such as `cats` and `dogs`."
        )
        return None
    try:
        ready = background.if_ready(_read_images(str(folder), _state(folder)))
    except (ValueError, OSError) as error:
        st.info(page_frame.as_text(str(error)))
        _offer_without_classes(folder)
        return None
    if ready is None:
        return None
    survey, pictures = ready

    # Show one picture of each class, or of some classes.
    cards = [Card(index, picture, name, name) for index, (name, picture) in enumerate(pictures)]
    note = "one image of some classes"
    if len(cards) == len(survey.images):
        note = "one image of each class"
    title = f"{counted(len(survey.images), 'class', 'classes')}, {counted(sum(survey.images.values()), 'image')}"
    gallery(
        [CardSection("sample", title, cards, note, size="small")],
        key="my sample",
        on_pick=lambda *_: None,
    )
    st.caption(page_frame.as_text(survey.classes))
    _draw_counts(survey)

    # List the files that were left out.
    if survey.problems:
        with page_frame.expander(
            "What was left out, and why", link="left-out", icon=":material/warning:"
        ):
            st.text("\n".join(Counter(survey.problems[:SHOWN])))
            if len(survey.problems) > SHOWN:
                st.caption(f"The first {SHOWN} are listed.")
    return survey


def _state(folder: Path) -> tuple[tuple[str, int], ...]:
    """Return a value that changes when images are added to the folder or one of its classes, or removed."""
    with os.scandir(folder) as entries:
        inside = sorted(
            (entry.name, entry.stat().st_mtime_ns) for entry in entries if entry.is_dir()
        )
    return (("", settings.written(folder)), *inside)


@background.job("Reading the images", keep=8)
def _read_images(
    folder: str, state: tuple[tuple[str, int], ...]
) -> tuple[Survey, list[tuple[str, str]]]:
    """Read the classes of a folder, and the name and picture of some of them."""
    survey = user_images.survey(folder)
    pictures = []
    for name, path in survey.sample.items():
        try:
            settings.confine_folder(Path(path).resolve().parent)  # the file may be a link
            pictures.append((name, thumbnail(open_rgb(Path(path)))))
        except (ImageError, ValueError):
            continue
    return survey, pictures


def _offer_without_classes(folder: Path) -> None:
    """Offer to embed the pictures of a folder without classes, which cannot be trained on."""
    count = len(list_images(folder, deep=False).keys) if folder.is_dir() else 0
    if not count:
        return
    st.markdown(
        f"This folder has {counted(count, 'picture')} without a class. To train on them, sort them into one folder for "
        "each class. Without training they can be searched and seen on a map:"
    )
    page_frame.link_to("runs", "Embed these pictures", {"bring": "yes", "folder": str(folder)})


def _draw_counts(survey: Survey) -> None:
    """Draw the number of images of each class."""
    names = sorted(survey.images, key=survey.images.__getitem__)
    counts = [survey.images[name] for name in names]
    label = f"From {counted(counts[0], 'image')} ({names[0]}) to {counts[-1]:,} ({names[-1]}) in a class"
    if counts[0] == counts[-1]:
        label = f"{counted(counts[0], 'image')} in each class"
    with page_frame.expander(page_frame.as_text(label), link="counts"):
        table = {"class": names, "images": counts}
        st.dataframe(
            table, hide_index=True, height=240, alt="Number of images in each class, fewest first"
        )


def _unpack() -> None:
    """Unpack an uploaded ZIP, and open its folder."""
    if files.guest():
        st.caption(f":material/visibility: {folder_picker.OWNER_ONLY}")
        return
    help = "One folder of images for each class. The images are unpacked beside the runs."
    upload = st.file_uploader(
        "ZIP of the images", ["zip"], key="zip", max_upload_size=uploads.LARGEST, help=help
    )
    larger = f'unpack a larger file yourself, and open its folder with "{IMAGES[FOLDER]}"'
    st.caption(f"A ZIP has at most {uploads.LARGEST:,} MB; {larger}.")
    if upload is None:
        return
    with page_frame.refusals(), st.spinner("Unpacking"), uploads.opened(upload) as file:
        # Choose a folder that does not exist yet.
        name = queueing.plain_name(Path(upload.name).stem)[:80] or "images"
        target = settings.runs_root() / settings.UNPACKED / name
        number = 2
        while target.exists():
            target = target.with_name(f"{name}-{number}")
            number += 1
        folder, left_out = zipped.unpack(file, target)
        st.session_state[CURRENT_FOLDER] = str(folder)
        st.session_state[NEXT] = FOLDER
        if left_out:
            st.toast(left_out)
        st.rerun()


def _ask_recipe() -> Answers:
    """Ask for a preset for small machines, or a recipe of a paper."""
    help = "Recipes of the papers, with their cost, and presets for small machines."
    names = list(_descriptions())
    name = page_frame.select(
        "Recipe", names, key="recipe", link="recipe", format_func=_title, help=help
    )
    config = overrides.base(name)
    if config.data.values.get("root") == "":
        folder = folder_picker.pick(
            "Folder of the images", key="recipe folder", link="images-at", recent=folders()
        )
        if folder:
            config = config.changed("data.root", str(folder))
    return Answers(config, _descriptions()[name])


@cache
def _descriptions() -> dict[str, str]:
    """Return the description of each preset and recipe: what it trains, published results, and cost."""
    descriptions = {}
    for name, path in presets().items():
        descriptions[name] = path.read_text("utf-8").splitlines()[0].lstrip("# ")
    for name in lab.papers.recipes.names():
        descriptions[name] = " ".join(lab.papers.recipes.get(name).head.split())
    return descriptions


def _title(name: str) -> str:
    """Return the label of a preset or recipe. Recipes may share their first sentence, so the label has the name."""
    if name in presets():
        return name.replace("_", " ")
    sentence, _, _ = _descriptions()[name].partition(". ")
    return f"{sentence.rstrip('.')} ({name})"
