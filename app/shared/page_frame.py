"""What every page shares: its head, its choices, and that no traceback ever reaches the person."""

import contextlib
import functools
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.shared import address, changes
from lab.core.explain import explain
from lab.core.formats import visible

_PAGE, _ARRIVED = "_page", "_arrived"
"""In the session's state: the page on screen, and whether this is the first run on it."""

Options = Sequence | Mapping[Any, str]
"""Of a mapping its keys can be chosen; each value is what the person reads."""

_log = logging.getLogger("rankscope.app")


def page(title: str, purpose: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Head a page and guard it."""

    def decorate(draw: Callable[[], None]) -> Callable[[], None]:
        @functools.wraps(draw)
        def drawn() -> None:
            st.session_state[_ARRIVED] = st.session_state.get(_PAGE) != title
            st.session_state[_PAGE] = title
            address.begin(anew=st.session_state[_ARRIVED])
            st.header(title, anchor=False, help=purpose)
            said = st.container()
            try:
                draw()
            except Exception:
                address.write(whole=False)  # what the page did not come to stays as it is
                raise
            if unsaid := [f"{NOUNS.get(name, name)} {value[:60]}" for name, value in address.unsaid().items()]:
                words = f"The address asks for what is not here: {'; '.join(unsaid)}. The usual is shown instead."
                said.warning(as_text(words))
            address.write()

        return guarded(drawn)

    return decorate


NOUNS = {"item": "image", "pair": "image", "other": "image", "rival": "comparison with", "also": "further runs"}
"""What people call some names of the address."""


def need(
    name: str, options: Options, sentence: str, noun: str = "", is_back: Callable[[str], bool] | None = None
) -> None:
    """End the page where the address names something that is not here: with the sentence, and a choice of `options`,
    which the session keeps under the same name.

    Args:
        noun: what one of the options is, by default the name.
        is_back: whether what the address names has come back; it is then shown again.
    """
    asked = address.missing(name)
    if not asked:
        return
    address.forget()

    def choose() -> None:
        st.session_state[name] = st.session_state[f"{name} instead"]
        address.chosen(name)

    st.warning(as_text(sentence))
    look: dict[str, Any] = {"index": None, "placeholder": f"Choose a {noun or name}", "on_change": choose, "width": 420}
    if known := _options(options, look):
        st.selectbox("Show instead", known, key=f"{name} instead", **look)
    if is_back is not None:
        changes.follow(is_back, asked, key=f"{name} is back")
    st.stop()


def shown() -> str:
    """The title of the page on screen, or nothing before the first."""
    return st.session_state.get(_PAGE, "")


def guarded(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Turn whatever a page or fragment raises into a sentence; the server's log keeps the traceback."""

    @functools.wraps(draw)
    def calm(*args: Any, **kwargs: Any) -> Any:
        try:
            return draw(*args, **kwargs)
        except (ValueError, OSError) as error:  # the library's own sentences, and the system's
            say_error(error)
        except Exception as error:
            _log.exception("%s failed", draw.__name__)
            st.error(
                f"This page met an error it did not expect ({type(error).__name__}). The other pages and runs still "
                "work; the server's log has the details."
            )
        return None

    return calm


def _options(options: Options, look: dict[str, Any]) -> list[Any]:
    if isinstance(options, Mapping):
        look.setdefault("format_func", lambda one: options.get(one, one))
    return list(options)


def few(label: str, options: Options, *, key: str, link: str = "", **look: Any) -> Any:
    """One of a few, one below the other. link: see `keep`. look: what the widget of Streamlit takes besides."""
    known = _options(options, look)
    keep(key, known[0], known, link=link)
    return st.radio(label, known, key=key, persist_state="session", **look)


BARE: dict[str, Any] = {"label_visibility": "collapsed", "width": "content"}
"""The look of a choice whose label is not shown."""


def choice(label: str, options: Options, *, key: str, initial: Any = None, link: str = "", **look: Any) -> Any:
    """One of a few, as a row of buttons; always one is chosen, and it stays chosen on other pages. initial: the first
    one if it is not given. link, look: as in `few`."""
    known = _options(options, look)
    first = initial if initial in known else known[0]
    keep(key, first, known, link=link)
    look = {"width": "stretch", **look}
    chosen = st.segmented_control(label, known, key=key, required=True, persist_state="session", **look)
    return first if chosen is None else chosen  # what no browser sends may have left none chosen


def select(label: str, options: Options, *, key: str, initial: Any = None, link: str = "", **look: Any) -> Any:
    """One of many, as a list to search. initial, link, look: as in `choice`."""
    known = _options(options, look)
    keep(key, initial if initial in known else known[0], known, link=link)
    return st.selectbox(label, known, key=key, persist_state="session", **look)


def several(
    label: str, options: Options, *, key: str, most: int | None = None, link: str = "", **look: Any
) -> list[Any]:
    """Any number of many, at most `most`; at first none. link, look: as in `few`."""
    known = _options(options, look)
    legal = lambda chosen: len(chosen) <= (most or len(known)) and set(chosen) <= set(known)  # noqa: E731
    keep(key, [], legal, link=link)
    return st.multiselect(label, known, key=key, max_selections=most, persist_state="session", **look)


def toggle(label: str, *, key: str, link: str, **look: Any) -> bool:
    """A switch, off at first. link, look: as in `few`."""
    keep(key, False, link=link)
    return bool(st.toggle(label, key=key, persist_state="session", **look))


def slide(label: str, low: Any, high: Any, *, key: str, initial: Any, link: str = "", **look: Any) -> Any:
    """A number from low to high. link, look: as in `few`."""
    keep(key, initial, lambda value: low <= value <= high, link=link)
    return st.slider(label, low, high, key=key, persist_state="session", **look)


def text(label: str, *, key: str, most: int | None = None, link: str = "", **look: Any) -> str:
    """A line of at most so many characters. link, look: as in `few`."""
    keep(key, "", lambda words: most is None or len(words) <= most, link=link)
    return st.text_input(label, key=key, max_chars=most, persist_state="session", **look)


def part(key: str, count: int, size: int) -> slice:
    """What stands on this page of a list of `count`, `size` on each; the address has the page."""
    keep(key, 1, range(1, max(1, -(-count // size)) + 1), link="page")
    start = (st.session_state[key] - 1) * size
    return slice(start, min(start + size, count))


def turn(key: str, count: int, size: int) -> None:
    """The numbers of the pages of `part`, where there are several."""
    if count > size:
        st.pagination(-(-count // size), key=key)


def keep(key: str, value: Any, legal: Sequence | Callable[[Any], bool] | None = None, *, link: str = "") -> bool:
    """Start a widget that is about to be drawn at a value, unless it has a legal one; and let it keep that on other
    pages.

    Streamlit carries a persisted value to another page, but the first run there would still show the widget's default.

    Args:
        legal: a list of what it may be, or a test.
        link: its name in the address, which holds it while it is not at `value`.

    Returns:
        whether the address can hold it.
    """
    if link and isinstance(legal, Sequence):
        address.adopt(link, {str(one): one for one in legal}.__getitem__, key=key, default=value)
    elif link:
        address.adopt(link, address.reader(value), legal, key=key, many=isinstance(value, list), default=value)
    allows = legal if callable(legal) else lambda one: legal is None or one in legal
    if key not in st.session_state or not allows(st.session_state[key]):
        st.session_state[key] = value
    elif st.session_state.get(_ARRIVED):
        st.session_state[key] = st.session_state[key]
    return not link or address.tell(link, st.session_state[key], value)


def fold(label: str, *, link: str, icon: str | None = None, opened: bool = False) -> DeltaGenerator:
    """A part of a page that can be opened and closed. opened: how it is at first. link: its name in the address, which
    says when it is otherwise."""
    key = f"{link} open"
    keep(key, opened, link=link)
    st.session_state[key] = st.session_state[key]  # or a label that counts would close it whenever it changes
    return st.expander(label, key=key, icon=icon, on_change="rerun")


def is_open(link: str) -> bool:
    """Whether a `fold` was open when it was last drawn."""
    return bool(st.session_state.get(f"{link} open"))


def choose_row(columns: Mapping[str, Any], *, key: str, **how: Any) -> int | None:
    """A table in which one row can be chosen; the place of that row. columns: name to values, the first as a list. how:
    what `st.dataframe` takes besides."""
    row, times, count = f"{key} row", f"{key} times", len(next(iter(columns.values())))
    if address.adopt("row", int, range(count), key=row, default=None):
        st.session_state[times] = st.session_state.get(times, 0) + 1  # a new table, or the old one's row stays
    before = st.session_state.get(row)
    rows = [] if before is None or before >= count else [before]
    how |= {"selection_default": {"selection": {"rows": rows}}, "key": f"{key} {st.session_state.get(times, 0)}"}
    event = st.dataframe(columns, hide_index=True, on_select="rerun", selection_mode="single-row", **how)
    chosen = [at for at in event["selection"]["rows"] if at < count]
    st.session_state[row] = chosen[0] if chosen else None
    address.tell("row", st.session_state[row])
    return st.session_state[row]


ICONS = {
    "browse": "image_search", "figures": "school", "grid": "grid_view", "inspect": "troubleshoot", "runs": "input",
    "train": "folder", "watch": "monitoring",
}  # fmt: skip
"""What a link to a page shows."""


def link_to(page: str, label: str, query: Any) -> None:
    """A link to a page of the dashboard. query: what its address says, as `st.page_link` takes it."""
    st.page_link(f"views/{page}/page.py", label=label, icon=f":material/{ICONS[page]}:", query_params=query)


@contextlib.contextmanager
def refusals(show: Callable[[str], object] | None = None) -> Iterator[None]:
    """What the library or the system refuses inside is shown as a sentence, in an error box by default."""
    try:
        yield
    except (ValueError, OSError) as error:
        say_error(error) if show is None else show(as_text(explain(error)))


def refusing(act: Callable[..., object]) -> Callable[..., None]:
    """Have what a click calls (`on_click`) say in a short message what the library or the system refuses."""

    @functools.wraps(act)
    def clicked(*given: Any) -> None:
        with refusals(st.toast):
            act(*given)

    return clicked


def offer(label: str, data: Any, file: str, kind: str = "text/csv", icon: str = "download", **look: Any) -> None:
    """A download that draws nothing anew. data: or what makes it when somebody clicks. look: as in `few`."""
    st.download_button(label, data, file, kind, icon=f":material/{icon}:", on_click="ignore", **look)


def say(words: str) -> None:
    """A small line with words of a user or a file as they are."""
    st.caption(as_text(words))


def say_error(sentence: object) -> None:
    """An error box that shows a sentence, or what an error says in one, as it is."""
    st.error(as_text(explain(sentence) if isinstance(sentence, OSError) else str(sentence)))


def as_text(words: str) -> str:
    """Words of a user or a file, escaped so that Markdown shows them as they are."""
    return re.sub(r"([\\`*_{}\[\]<>|~$:&])", r"\\\1", visible(words))
