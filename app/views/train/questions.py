"""Three questions to somebody who knows no setting: which images, how long may it take, and what matters."""

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

FOLDER, ZIP, SET, VECTORS, RECIPE, FILLED = "folder", "zip", "set", "vectors", "recipe", "filled"
IMAGES = {
    FOLDER: "A folder of mine",
    ZIP: "A ZIP file",
    SET: "A built-in set",
    VECTORS: "Imported vectors",
    RECIPE: "A recipe",
}
LENGTHS = {"short": "A first look", "usual": "A good result", "long": "The best"}
HEAD, WHOLE = "head", "Train the whole network"
A_HEAD = "Keep the network, train a head"
AIMS = {"find": "Finding the same thing", "sort": "Sorting by kind"}
"""Each question's answers, by what stands for them in the session's state and the address."""
WHAT_COUNTS = (
    "Finding: the first results count, as in a search for one thing. Sorting: all images of a kind count, as when "
    "pictures are put in order. The answer chooses the loss."
)
ABOUT = "About, on this machine when it does nothing else."
AT_HAND, NEXT = "my folder", "next images"
"""In the session's state: the folder that is looked at; what the first question's next answer."""
BEGINNING = 20
"""Seconds that a training takes besides its steps, about."""
SHOWN = 200
"""Problems that are listed."""


@dataclass(frozen=True)
class Begun:
    """What the answers ask for. config: None while one is missing. why: what will be done, in words. name: of a run.
    baseline: of a head, what measures the network as it came."""

    config: RunConfig | None = None
    why: str = ""
    name: str = ""
    baseline: RunConfig | None = None


def ask() -> Begun:
    """Draw the questions."""
    if next_one := st.session_state.pop(NEXT, None):
        st.session_state["images"] = next_one
    filled = FILLED in (st.session_state.get("images"), st.query_params.get("images"))
    offered = IMAGES | ({FILLED: "As filled in"} if filled else {})
    images = page_frame.choice("Which images?", offered, key="images", initial=SET, link="images")
    if images == FILLED:
        return Begun(RunConfig.of(), "What was put into the form is trained. All of it stands below.")
    if images == RECIPE:
        return _recipe()
    if images == ZIP:
        _unpack()
        return Begun()
    if images == SET:
        help = "They need no download: 6,000 emoji, 497 letters in ten typefaces, handwritten digits."
        known = dict(zip(user_images.BUILT_IN, map(entry_in_words, user_images.BUILT_IN), strict=True))
        name = page_frame.select("Set", known, key="set", link="of", help=help)
        return _length_and_aim(lambda *chosen: user_images.built_in(name, user_images.this_machine(), *chosen))
    if images == VECTORS:
        return _vectors()
    folder = folder_picker.pick("Folder of the classes", key=AT_HAND, link="folder", recent=folders())
    survey = _folder(folder) if folder else None
    fit = (lambda *chosen: user_images.fitted(survey, user_images.this_machine(), *chosen)) if survey else None
    source = (str(folder), _state(folder)) if survey and folder and user_images.has_network() else None
    return _length_and_aim(fit, "" if folder is None else queueing.plain_name(folder.name)[:80], source)


def _length_and_aim(
    fit: Callable[[str, str], Fitted] | None, name: str = "", source: tuple[str, tuple] | None = None
) -> Begun:
    """The other two questions. fit: makes settings of their answers; None while the images are not known. source: what
    a head can be trained on, a folder and its state."""
    named, fitted = dict(LENGTHS), dict[tuple[str, str], Fitted]()
    with page_frame.refusals(st.info):
        fitted = {(length, aim): fit(length, aim) for length in LENGTHS for aim in AIMS} if fit else {}
        named |= _estimates({length: one.config for (length, _), one in fitted.items()})
    plans, kind = _plans(*source) if source else None, st.session_state["images"]
    if heads := kind == FOLDER and user_images.has_network():  # also while the folder is being looked at
        words = {length: f"{WHOLE}, {one[0].lower()}{one[1:]}" for length, one in named.items()}
        named = {HEAD: _with_seconds(A_HEAD, plans[1]) if plans else A_HEAD} | words
    # What is of one kind of images may be too long for another.
    key, initial = f"length of {kind}", HEAD if heads else "short" if kind == SET else "usual"
    length = page_frame.choice("How long may it take?", named, key=key, initial=initial, link="length", help=ABOUT)
    aim = page_frame.choice("What matters?", AIMS, key="aim", link="aim", help=WHAT_COUNTS)
    if length == HEAD:
        return _begun(plans[0][aim], name) if plans else Begun()
    chosen = fitted.get((length, aim))
    return Begun(chosen.config, chosen.sentence, name) if chosen else Begun()


def _vectors() -> Begun:
    """A head on vectors that were made elsewhere."""
    runs = [run.name for run in library().runs if run.config.outside and run.splits]
    address.refuse_missing("of", runs, key="vectors of")
    if not runs:
        st.info(
            "No vectors yet. Bring them on the page Runs, or with `lab import`; then a head can be trained on them."
        )
        return Begun()
    name = page_frame.select("Vectors of", runs, key="vectors of", link="of")
    plans = _plans(str(settings.runs_root() / name), ())
    aim = page_frame.choice("What matters?", AIMS, key="aim", link="aim", help=WHAT_COUNTS)
    return _begun(plans[0][aim], f"{name}-head", plans[1]) if plans else Begun()


def _begun(plan: Plan, name: str, seconds: float = 0.0) -> Begun:
    network = plan.head.encoder.knobs.base or "what made the vectors"
    classes = counted(
        len(plan.images.splits["train"].by_class(plan.images.labels)[0]), "training class", "training classes"
    )
    time = f" ({_with_seconds('about', seconds)} on this machine)" if seconds else ""
    why = (
        f"The network ({network}) stays as it is, every image is embedded once, and a linear head is trained on the "
        f"features of {classes}{time}. A second run measures the network as it came; Browse and Runs compare the two."
    )
    return Begun(plan.head, why, name, plan.baseline)


def _with_seconds(words: str, seconds: float) -> str:
    return f"{words}: {seconds:.0f} s" if seconds < 90 else f"{words}: {seconds / 60:.0f} min"


def _plans(source: str, state: tuple) -> tuple[dict[str, Plan], float] | None:
    """A head for each aim, and the seconds that it takes; None while that is measured, or where none can be trained."""
    with page_frame.refusals(st.info):
        return background.if_ready(_plans_here(source, state))
    return None


@background.job("Measuring how fast this machine trains a head", keep=8)
def _plans_here(source: str, state: tuple) -> tuple[dict[str, Plan], float]:
    files.check_allowed()
    root = settings.runs_root()
    plans = {aim: adaptation.plan_head(source, loss=user_images.AIMS[aim][0], runs=root) for aim in AIMS}
    return plans, max(adaptation.seconds(plan) for plan in plans.values())


def _estimates(configs: dict[str, RunConfig]) -> dict[str, str]:
    """Each length with the time that it takes on this machine, as soon as that is measured."""
    if not configs:
        return {}
    one = next(iter(configs.values()))
    kind = f"{one.encoder.as_dict()} {one.augmentation.knobs.size} {one.training.knobs.device}"
    pace = background.if_ready(_pace(kind, one))
    if not pace:
        return {}
    images = {name: one.training.knobs.steps * one.sampler.knobs.batch_size for name, one in configs.items()}
    minutes = {name: (count * pace + BEGINNING) / 60 for name, count in images.items()}
    return {
        name: f"{LENGTHS[name]}: {f'{time:.0f} min' if time < 90 else f'{time / 60:.0f} h'}"
        for name, time in minutes.items()
    }


@background.job("Measuring how fast this machine trains", keep=16)
def _pace(kind: str, _config: RunConfig) -> float:
    """Of this kind of network and images; 0 where it cannot be measured, as on a GPU that others have filled."""
    files.check_allowed()
    try:
        return user_images.pace(_config)
    except (RuntimeError, ImportError):
        return 0.0


def _folder(folder: Path) -> Survey | None:
    """What lies in a folder, told and shown; None while it is being looked at, and where nothing can be trained on."""
    if folder == Path.home():
        st.info("Open the folder that holds one folder of images for each class, such as `cats` and `dogs`.")
        return None
    try:
        ready = background.if_ready(_looked_at(str(folder), _state(folder)))
    except (ValueError, OSError) as error:
        st.info(page_frame.as_text(str(error)))
        _offer_without_classes(folder)
        return None
    if ready is None:
        return None
    survey, pictures = ready
    cards = [Card(at, picture, name, name) for at, (name, picture) in enumerate(pictures)]
    note = f"one image of {'each class' if len(cards) == len(survey.images) else 'some classes'}"
    words = f"{counted(len(survey.images), 'class', 'classes')}, {counted(sum(survey.images.values()), 'image')}"
    gallery([CardSection("sample", words, cards, note, size="small")], key="my sample", on_pick=lambda *_: None)
    st.caption(page_frame.as_text(survey.classes))
    _tell_counts(survey)
    if survey.problems:
        with page_frame.expander("What was left out, and why", link="left-out", icon=":material/warning:"):
            st.text("\n".join(Counter(survey.problems[:SHOWN])))
            if len(survey.problems) > SHOWN:
                st.caption(f"The first {SHOWN} are listed.")
    return survey


def _state(folder: Path) -> tuple[tuple[str, int], ...]:
    """What changes when images come into the folder or one of its classes, or go."""
    with os.scandir(folder) as entries:
        inside = sorted((one.name, one.stat().st_mtime_ns) for one in entries if one.is_dir())
    return (("", settings.written(folder)), *inside)


@background.job("Looking at the images", keep=8)
def _looked_at(folder: str, state: tuple[tuple[str, int], ...]) -> tuple[Survey, list[tuple[str, str]]]:
    """What lies in the folder, and the name and picture of some classes."""
    survey = user_images.survey(folder)
    pictures = []
    for name, path in survey.sample.items():
        try:
            settings.confine_folder(Path(path).resolve().parent)  # a file may be a link, too
            pictures.append((name, thumbnail(open_rgb(Path(path)))))
        except (ImageError, ValueError):
            continue
    return survey, pictures


def _offer_without_classes(folder: Path) -> None:
    """The way for a folder whose pictures lie in it without a class: they can be looked at, but not trained on."""
    count = len(list_images(folder, deep=False).keys) if folder.is_dir() else 0
    if not count:
        return
    st.markdown(
        f"{count:,} picture{'s lie' if count > 1 else ' lies'} in this folder without a class. To train on them, sort "
        "them into one folder for each class. Without training they can be searched and seen on a map:"
    )
    page_frame.link_to("runs", "Embed these pictures", {"bring": "yes", "folder": str(folder)})


def _tell_counts(survey: Survey) -> None:
    ordered = sorted(survey.images.items(), key=lambda one: one[1])
    (few, least), (many, most) = ordered[0], ordered[-1]
    words = f"From {counted(least, 'image')} ({few}) to {most:,} ({many}) in a class"
    words = f"{counted(most, 'image')} in each class" if least == most else words
    with page_frame.expander(page_frame.as_text(words), link="counts"):
        table = {"class": [name for name, _ in ordered], "images": [count for _, count in ordered]}
        st.dataframe(table, hide_index=True, height=240, alt="Number of images in each class, fewest first")


def _unpack() -> None:
    """Take a ZIP from the browser; what was in it is then a folder like any other."""
    if files.guest():
        st.caption(f":material/visibility: {folder_picker.OWNER_ONLY}")
        return
    help = "One folder of images for each class. The images are unpacked beside the runs."
    upload = st.file_uploader("ZIP of the images", ["zip"], key="zip", max_upload_size=uploads.LARGEST, help=help)
    larger = f'unpack a larger file yourself, and open its folder with "{IMAGES[FOLDER]}"'
    st.caption(f"A ZIP has at most {uploads.LARGEST:,} MB; {larger}.")
    if upload is None:
        return
    with page_frame.refusals(), st.spinner("Unpacking"), uploads.opened(upload) as file:
        place, stem = settings.runs_root() / settings.UNPACKED, queueing.plain_name(Path(upload.name).stem)[:80]
        free = (place / f"{stem or 'images'}{at}" for at in ("", *(f"-{at}" for at in range(2, 10_000))))
        folder, left_out = zipped.unpack(file, next(one for one in free if not one.exists()))
        st.session_state[AT_HAND], st.session_state[NEXT] = str(folder), FOLDER
        if left_out:
            st.toast(left_out)
        st.rerun()


def _recipe() -> Begun:
    """A ready configuration: for small machines, and one for each row that the papers print."""
    look = {"format_func": _title, "help": "From the papers, with what each costs, and for small machines."}
    name = page_frame.select("Recipe", list(_heads()), key="recipe", link="recipe", **look)
    base = overrides.base(name)
    if base.data.values.get("root") == "":
        folder = folder_picker.pick("Folder of the images", key="recipe folder", link="images-at", recent=folders())
        base = base.changed("data.root", str(folder)) if folder else base
    return Begun(base, _heads()[name])


@cache
def _heads() -> dict[str, str]:
    """Name to what a preset or recipe says of itself: what it trains, what was published, what it costs."""
    ours = {name: path.read_text("utf-8").splitlines()[0].lstrip("# ") for name, path in presets().items()}
    return ours | {name: " ".join(lab.papers.recipes.get(name).head.split()) for name in lab.papers.recipes.names()}


def _title(name: str) -> str:
    """How a list names it: a recipe by the first sentence of its head, which several may share, and its name."""
    if name in presets():
        return name.replace("_", " ")
    return f"{_heads()[name].partition('. ')[0].rstrip('.')} ({name})"
