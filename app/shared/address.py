"""Keep a page and the browser's URL in step, so that every page can be bookmarked and shared.

A widget takes its value from the URL before it is drawn (`load`) and records its value afterwards (`store`); default
values stay out of the URL. `page_frame.page` writes everything once the page is drawn, which does not run the page
again. A list is the same URL parameter several times.

If the URL names a run, query or other thing that does not exist, the page says so (`missing`, `unreported`) and keeps
the URL until the user chooses another one.

A session's run may start with a URL that is older than the one written last, because the user clicked before the
browser received it. Such a URL does not undo the newer choices.
"""

import json
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

LONGEST = 1_500
"""Most characters of a value in the URL; longer values are left out."""

# Keys of the session's state.
_READ = "_address"
"""Parameters as last read or written."""

_NEXT = "_address next"
"""Parameters of the URL that is about to be written."""

_IS_PARTIAL = "_address held"
"""Whether part of the page is not drawn yet."""

_WAS_COMPLETE = "_address read"
"""Whether every part of the page has read its parameters."""

_WRITTEN = "_address sent"
"""URLs at which the browser may still be, the newest last."""

_REFUSED = "_address refused"
"""Parameters whose value does not exist here."""

_REPORTED = "_address said"
"""Names of refused parameters that the page reports."""

_REPLACED = "_address instead"
"""Names of refused parameters for which the user has chosen another value."""

_UNSET = object()

Legal = Container | Callable[[Any], bool] | None
"""The legal values, a test of them, or None for any value."""


@dataclass
class _Refused:
    """The words of a parameter whose value does not exist, and the value that the page shows instead once it is set."""

    words: list[str]
    substitute: Any = _UNSET

    def __str__(self) -> str:
        return ", ".join(self.words)


def begin(is_new_page: bool) -> None:
    """Start drawing a page. is_new_page: it differs from the page on screen, so every parameter is read again."""
    state = st.session_state
    state[_NEXT] = {}
    state[_IS_PARTIAL] = False
    state[_REPORTED] = set()
    if is_new_page:
        state[_READ] = {}
        state[_REFUSED] = {}
        state[_WRITTEN] = []
        state[_REPLACED] = set()
    if not _is_outdated():  # the browser has left the older URLs
        state[_WAS_COMPLETE] = [_current_url()] == state[_WRITTEN][-1:] and state[_WAS_COMPLETE]
        state[_WRITTEN] = [_current_url()]


def is_legal(value: Any, legal: Legal) -> bool:
    """Return whether a value is legal."""
    if legal is None:
        return True
    if callable(legal):
        return legal(value)
    return value in legal


def load(
    name: str,
    read: Callable[[Any], Any] = str,
    legal: Legal = None,
    *,
    key: str = "",
    many: bool = False,
    default: Any = _UNSET,
) -> bool:
    """Copy the URL parameter `name` into the session's state if it is new and legal, and return whether it was.

    An illegal value removes the current choice. It is tried again on every run until the user chooses, because another
    run may have it.

    Args:
        read: converts the text, or with `many` the list of texts, to a value.
        key: the session key, by default the name.
        default: the value when the parameter has gone from the URL, because the user went back.
    """
    key = key or name
    already_read = st.session_state.setdefault(_READ, {})
    all_refused = st.session_state.setdefault(_REFUSED, {})
    words = st.query_params.get_all(name)

    # A refused value is tried again while nothing else was chosen.
    refused = all_refused.get(name)
    try_again = refused is not None and st.session_state.get(key) in (None, refused.substitute)
    candidate = words
    if refused is not None and try_again and not words and not already_read.get(name):
        candidate = refused.words

    if _is_outdated() and (name in already_read or st.session_state[_WAS_COMPLETE]):
        return False
    if words == already_read.get(name, []) and not try_again:
        return False

    value = default
    accepted = default is not _UNSET
    if candidate:
        try:
            value = read(candidate if many else candidate[-1])
            accepted = is_legal(value, legal)
        except (ValueError, TypeError, LookupError, RecursionError):
            accepted = False
    if accepted:
        st.session_state[key] = value  # first, because a newer click may end this run here
    already_read[name] = words  # read once, so that later choices on the page win
    all_refused.pop(name, None)
    if candidate and not accepted:
        refuse(name, key, candidate)
    return accepted


def refuse_missing(name: str, available: Container, *, key: str = "") -> None:
    """Refuse the session's choice if it does not exist any more, such as a run that was moved while a page shows it.

    The page then says so, and `load` accepts the value again once it exists. Call this after `load`.

    Args:
        available: the values that exist. If the choice is a list, all of it has to exist.
    """
    choice = st.session_state.get(key or name)
    if choice is None:
        return
    values = choice if isinstance(choice, list) else [choice]
    if any(value not in available for value in values):
        refuse(name, key, [str(value) for value in values])


def refuse(name: str, key: str = "", words: list[str] | None = None) -> None:
    """Record that the value of a parameter does not exist: nothing is chosen, and the URL keeps it until the user
    chooses. words: the value, by default that of the URL."""
    st.session_state.pop(key or name, None)
    if words is None:
        words = st.query_params.get_all(name)
    st.session_state.setdefault(_REFUSED, {})[name] = _Refused(words)


def forget() -> None:
    """Read the remaining parameters again in the next run, because the page ends before it has used them."""
    settled = set(st.session_state[_REFUSED]) | st.session_state.get(_REPLACED, set())
    already_read = st.session_state.get(_READ, {})
    st.session_state[_READ] = {
        name: words for name, words in already_read.items() if name in settled
    }


def mark_chosen(name: str) -> None:
    """Record that the user has chosen a value in place of a refused one."""
    st.session_state[_REFUSED].pop(name, None)
    st.session_state.setdefault(_REPLACED, set()).add(name)


def missing(name: str) -> str:
    """Return the refused value of a parameter, or "". The caller reports it on the page."""
    st.session_state[_REPORTED].add(name)
    return str(st.session_state.get(_REFUSED, {}).get(name, ""))


def unreported() -> dict[str, str]:
    """Return the refused parameters that no part of the page reports, name to value."""
    reported = st.session_state[_REPORTED]
    refused = st.session_state.get(_REFUSED, {})
    return {name: str(value) for name, value in refused.items() if name not in reported}


def store(name: str, value: Any, default: Any = None) -> bool:
    """Put a value into the next URL, unless it is None or the default, and return whether it fits.

    A refused parameter keeps its words while the page shows the substitute.
    """
    parameters = st.session_state.setdefault(_NEXT, {})
    parameters.pop(name, None)
    refused = st.session_state.get(_REFUSED, {}).get(name)
    if refused is not None:
        if refused.substitute in (_UNSET, value):
            refused.substitute = value
            parameters[name] = refused.words
            return True
        mark_chosen(name)
    if value is None or value == default:
        return True

    words = [_word(value)]
    if isinstance(value, list | tuple):
        words = [_word(item) for item in value] or [""]
    fits = sum(map(len, words)) <= LONGEST
    if fits:
        parameters[name] = words
    return fits


def load_and_store(
    name: str,
    read: Callable[[str], Any],
    legal: Legal,
    *,
    key: str = "",
    default: Any = None,
) -> Any:
    """Return the session's value of a parameter without a widget, or the default if it is not legal."""
    load(name, read, legal, key=key, default=default)
    value = st.session_state.get(key or name)
    if value is None or not is_legal(value, legal):
        value = default
    store(name, value, default)
    return value


def read_object(text: str) -> dict[str, Any]:
    """Read named values from JSON, as `store_object` writes them.

    Raises:
        ValueError: the text is not a JSON object.
    """
    values = json.loads(text)
    if not isinstance(values, dict):
        raise ValueError("this must be an object")
    return values


def store_object(name: str, values: Mapping[str, Any]) -> bool:
    """Put named values into the next URL as JSON, unless there are none, and return whether they fit."""
    text = None
    if values:
        text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return store(name, text)


def keep_rest() -> None:
    """Keep the parameters that this run does not store, because part of the page is not drawn yet."""
    st.session_state[_IS_PARTIAL] = True


def write(complete: bool = True) -> None:
    """Write the stored parameters into the browser's URL.

    Args:
        complete: the page was drawn to its end, so parameters that it did not store are removed, unless `keep_rest` was
            called.
    """
    state = st.session_state
    complete = complete and not state.get(_IS_PARTIAL)
    before = _current_url()
    after = dict(state.get(_NEXT, {}))
    if not complete:
        kept = state[_WRITTEN][-1] if _is_outdated() else before
        after = kept | after

    written = state[_WRITTEN]
    if before not in written:
        written = [before]
    if after != written[-1]:
        written = [*written, after]
    state[_WRITTEN] = written
    if complete:
        state[_READ] = dict(after)
    else:
        state[_READ] = state.get(_READ, {}) | state.get(_NEXT, {})
    state[_WAS_COMPLETE] = complete or state[_WAS_COMPLETE]
    if after != before:  # last, because a newer click may end this run anywhere
        st.query_params.from_dict(after)


def reader(value: Any) -> Callable[[Any], Any]:
    """Return a function that converts the text of a parameter to the type of `value`."""
    if isinstance(value, bool):
        return {"yes": True, "no": False}.__getitem__
    if isinstance(value, list):
        return lambda words: [word for word in words if word]
    return type(value)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _current_url() -> dict[str, list[str]]:
    """Return the parameters of the URL with which the browser asked for this run."""
    return {name: st.query_params.get_all(name) for name in st.query_params}


def _is_outdated() -> bool:
    """Return whether the browser asked for this run before it received the URL written last."""
    context = get_script_run_ctx()
    # the user went back
    if context is not None and getattr(context, "is_history_navigation", False):
        return False
    written = st.session_state[_WRITTEN]
    url = _current_url()
    return url in written and url != written[-1]
