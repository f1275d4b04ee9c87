"""What every page shares: its header, its widgets and the handling of errors, so that users never see a traceback."""

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

_PAGE = "_page"
"""Session key of the title of the page on screen."""

_IS_NEW_PAGE = "_is_new_page"
"""Session key: whether this is the first run on the page."""

Options = Sequence | Mapping[Any, str]
"""The options of a widget. Of a mapping, the keys are the options and the values their labels."""

_log = logging.getLogger("rankscope.app")


def page(title: str, purpose: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Give a page its header, synchronise it with the URL, and report its errors as sentences."""

    def decorate(draw: Callable[[], None]) -> Callable[[], None]:
        @functools.wraps(draw)
        def draw_page() -> None:
            is_new_page = st.session_state.get(_PAGE) != title
            st.session_state[_IS_NEW_PAGE] = is_new_page
            st.session_state[_PAGE] = title
            address.begin(is_new_page)
            st.header(title, anchor=False, help=purpose)
            warnings = st.container()
            try:
                draw()
            except Exception:
                address.write(complete=False)  # keep the parameters that the page has not read
                raise

            # Report the parameters that no part of the page has reported.
            unreported = []
            for name, value in address.unreported().items():
                unreported.append(f"{NOUNS.get(name, name)} {value[:60]}")
            if unreported:
                sentence = (
                    "The URL names something that does not exist: "
                    f"{'; '.join(unreported)}. The default is shown."
                )
                warnings.warning(as_text(sentence))
            address.write()

        return guarded(draw_page)

    return decorate


NOUNS = {
    "item": "image",
    "pair": "image",
    "other": "image",
    "rival": "comparison with",
    "also": "further runs",
}
"""Words for URL parameters whose name is not the noun that users read."""


def need(
    name: str,
    options: Options,
    sentence: str,
    noun: str = "",
    is_back: Callable[[str], bool] | None = None,
) -> None:
    """End the page if the URL names something that does not exist, with a sentence and a list of what does.

    Args:
        name: the URL parameter. The session keeps the new choice under the same name.
        noun: word for one option, by default the name.
        is_back: whether the missing value exists again. The page is then drawn again and shows it.
    """
    missing = address.missing(name)
    if not missing:
        return
    address.forget()

    def choose() -> None:
        st.session_state[name] = st.session_state[f"{name} instead"]
        address.mark_chosen(name)

    st.warning(as_text(sentence))
    kwargs: dict[str, Any] = {
        "index": None,
        "placeholder": f"Choose a {noun or name}",
        "on_change": choose,
    }
    values = _values(options, kwargs)
    if values:
        st.selectbox("Show instead", values, key=f"{name} instead", width=420, **kwargs)
    if is_back is not None:
        changes.follow(is_back, missing, key=f"{name} is back")
    st.stop()


def current_title() -> str:
    """Return the title of the page on screen, or "" before the first page."""
    return st.session_state.get(_PAGE, "")


def guarded(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Show errors of a page or fragment as a sentence. The server's log keeps the traceback of unexpected ones."""

    @functools.wraps(draw)
    def draw_guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return draw(*args, **kwargs)
        except (ValueError, OSError) as error:  # their messages are written for users
            say_error(error)
        except Exception as error:
            _log.exception("%s failed", draw.__name__)
            st.error(
                f"This page failed with an unexpected error ({type(error).__name__}). The other pages and runs still "
                "work; the server's log has the details."
            )
        return None

    return draw_guarded


def _values(options: Options, kwargs: dict[str, Any]) -> list[Any]:
    """Return the values of the options; labels of a mapping go into the widget's arguments."""
    if isinstance(options, Mapping):
        kwargs.setdefault("format_func", lambda value: options.get(value, value))
    return list(options)


def radio(label: str, options: Options, *, key: str, link: str = "", **kwargs: Any) -> Any:
    """Choose one of a few options, listed vertically.

    Args:
        link: the URL parameter, see `keep`.
        kwargs: further arguments of the Streamlit widget.
    """
    values = _values(options, kwargs)
    keep(key, values[0], values, link=link)
    return st.radio(label, values, key=key, persist_state="session", **kwargs)


COMPACT: dict[str, Any] = {"label_visibility": "collapsed", "width": "content"}
"""Arguments of a widget without a visible label."""


def choice(
    label: str, options: Options, *, key: str, initial: Any = None, link: str = "", **kwargs: Any
) -> Any:
    """Choose one of a few options as a row of buttons. initial: by default the first. link, kwargs: as in `radio`."""
    values = _values(options, kwargs)
    default = initial if initial in values else values[0]
    keep(key, default, values, link=link)
    kwargs.setdefault("width", "stretch")
    chosen = st.segmented_control(
        label, values, key=key, required=True, persist_state="session", **kwargs
    )
    if chosen is None:  # a browser never sends this, but another client may
        return default
    return chosen


def select(
    label: str, options: Options, *, key: str, initial: Any = None, link: str = "", **kwargs: Any
) -> Any:
    """Choose one of many options from a searchable list. initial, link, kwargs: as in `choice`."""
    values = _values(options, kwargs)
    default = initial if initial in values else values[0]
    keep(key, default, values, link=link)
    return st.selectbox(label, values, key=key, persist_state="session", **kwargs)


def multiselect(
    label: str,
    options: Options,
    *,
    key: str,
    most: int | None = None,
    link: str = "",
    **kwargs: Any,
) -> list[Any]:
    """Choose up to `most` options; none at first. link, kwargs: as in `radio`."""
    values = _values(options, kwargs)
    limit = most or len(values)

    def is_legal(chosen: list[Any]) -> bool:
        return len(chosen) <= limit and set(chosen) <= set(values)

    keep(key, [], is_legal, link=link)
    return st.multiselect(
        label, values, key=key, max_selections=most, persist_state="session", **kwargs
    )


def toggle(label: str, *, key: str, link: str, **kwargs: Any) -> bool:
    """Draw a switch, off at first. link, kwargs: as in `radio`."""
    keep(key, False, link=link)
    return bool(st.toggle(label, key=key, persist_state="session", **kwargs))


def slider(
    label: str, low: Any, high: Any, *, key: str, initial: Any, link: str = "", **kwargs: Any
) -> Any:
    """Choose a number from low to high. link, kwargs: as in `radio`."""
    keep(key, initial, lambda value: low <= value <= high, link=link)
    return st.slider(label, low, high, key=key, persist_state="session", **kwargs)


def text(label: str, *, key: str, most: int | None = None, link: str = "", **kwargs: Any) -> str:
    """Ask for a line of text of at most `most` characters. link, kwargs: as in `radio`."""
    keep(key, "", lambda words: most is None or len(words) <= most, link=link)
    return st.text_input(label, key=key, max_chars=most, persist_state="session", **kwargs)


def page_slice(key: str, count: int, size: int) -> slice:
    """Return which of `count` items the current page of a list shows, `size` a page. The URL holds the page."""
    keep(key, 1, range(1, max(1, _page_count(count, size)) + 1), link="page")
    start = (st.session_state[key] - 1) * size
    return slice(start, min(start + size, count))


def page_buttons(key: str, count: int, size: int) -> None:
    """Draw the page numbers of `page_slice` if there is more than one page."""
    if count > size:
        st.pagination(_page_count(count, size), key=key)


def _page_count(count: int, size: int) -> int:
    return -(-count // size)


def keep(
    key: str, value: Any, legal: Sequence | Callable[[Any], bool] | None = None, *, link: str = ""
) -> bool:
    """Give a widget its value before it is drawn, unless it has a legal one, and keep that value on other pages.

    Streamlit carries a persisted value to another page, but the first run there would still show the widget's default.

    Args:
        legal: the legal values, or a test of them.
        link: the URL parameter. It is written while the widget differs from `value`.

    Returns:
        whether the value fits into the URL.
    """
    if link and isinstance(legal, Sequence):
        by_word = {str(option): option for option in legal}
        address.load(link, by_word.__getitem__, key=key, default=value)
    elif link:
        address.load(
            link, address.reader(value), legal, key=key, many=isinstance(value, list), default=value
        )

    # A persisted value has to be set again in the first run of a page.
    if key not in st.session_state or not address.is_legal(st.session_state[key], legal):
        st.session_state[key] = value
    elif st.session_state.get(_IS_NEW_PAGE):
        st.session_state[key] = st.session_state[key]
    return not link or address.store(link, st.session_state[key], value)


def expander(
    label: str, *, link: str, icon: str | None = None, opened: bool = False
) -> DeltaGenerator:
    """Draw a part of a page that can be opened and closed.

    Args:
        link: the URL parameter, written while the expander differs from `opened`.
        opened: whether it is open at first.
    """
    key = f"{link} open"
    keep(key, opened, link=link)
    # otherwise a label that contains a count closes it on each change
    st.session_state[key] = st.session_state[key]
    return st.expander(label, key=key, icon=icon, on_change="rerun")


def is_open(link: str) -> bool:
    """Return whether an `expander` was open when it was last drawn."""
    return bool(st.session_state.get(f"{link} open"))


def choose_row(columns: Mapping[str, Any], *, key: str, **kwargs: Any) -> int | None:
    """Draw a table and return the index of the chosen row.

    Args:
        columns: name to values; the first column is a list.
        kwargs: further arguments of `st.dataframe`.
    """
    row_key = f"{key} row"
    version_key = f"{key} times"
    count = len(next(iter(columns.values())))
    if address.load("row", int, range(count), key=row_key, default=None):
        # A new widget: the old one would keep its own row.
        st.session_state[version_key] = st.session_state.get(version_key, 0) + 1
    row = st.session_state.get(row_key)
    rows = []
    if row is not None and row < count:
        rows = [row]
    event = st.dataframe(
        columns,
        key=f"{key} {st.session_state.get(version_key, 0)}",
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": rows}},
        **kwargs,
    )
    chosen = next(iter(event["selection"]["rows"]), None)
    if chosen is not None and chosen >= count:  # the table has become shorter
        chosen = None
    st.session_state[row_key] = chosen
    address.store("row", chosen)
    return chosen


ICONS = {
    "browse": "image_search",
    "figures": "school",
    "grid": "grid_view",
    "inspect": "troubleshoot",
    "runs": "input",
    "train": "folder",
    "watch": "monitoring",
}
"""Icon of a link to a page, by the page's folder."""


def link_to(page: str, label: str, query: Any) -> None:
    """Draw a link to a page of the dashboard. query: its URL parameters, as `st.page_link` takes them."""
    st.page_link(
        f"views/{page}/page.py", label=label, icon=f":material/{ICONS[page]}:", query_params=query
    )


@contextlib.contextmanager
def refusals(show: Callable[[str], object] | None = None) -> Iterator[None]:
    """Show errors of the library or the operating system inside the block as a sentence, by default in an error box."""
    try:
        yield
    except (ValueError, OSError) as error:
        if show is None:
            say_error(error)
        else:
            show(as_text(explain(error)))


def refusing(act: Callable[..., object]) -> Callable[..., None]:
    """Show errors of a callback (`on_click`) as a short message."""

    @functools.wraps(act)
    def run_callback(*args: Any) -> None:
        with refusals(st.toast):
            act(*args)

    return run_callback


def download(
    label: str, data: Any, file: str, kind: str = "text/csv", icon: str = "download", **kwargs: Any
) -> None:
    """Draw a download button that does not run the page again.

    Args:
        data: the content, or a function that returns it when the button is clicked.
        kwargs: further arguments of the Streamlit widget.
    """
    st.download_button(
        label, data, file, kind, icon=f":material/{icon}:", on_click="ignore", **kwargs
    )


def say(words: str) -> None:
    """Draw a caption with text of a user or a file, unformatted."""
    st.caption(as_text(words))


def say_error(error: object) -> None:
    """Draw an error box with a sentence or an error's message, unformatted."""
    words = explain(error) if isinstance(error, OSError) else str(error)
    st.error(as_text(words))


def as_text(words: str) -> str:
    """Escape text of a user or a file, so that Markdown shows it unformatted."""
    return re.sub(r"([\\`*_{}\[\]<>|~$:&])", r"\\\1", visible(words))
