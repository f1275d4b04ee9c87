"""The browser's address as a deep link: every page can be bookmarked, and a new address wins over what was shown.

A control takes its value from the address before it is drawn (`adopt`) and says what it stands at (`tell`); a value at
its default stays out. `page_frame.page` writes all of that once the page is drawn, which runs nothing again. A list is
the same name several times.

What the address names and is not there is never replaced silently: it stays in the address until somebody chooses
something else, and meanwhile the page says so (`missing`, `unsaid`).
"""

import json
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

LONGEST = 1_500
"""Characters that one choice may take; a longer one stays out of the address."""

_KNOWN, _NEXT, _HELD, _READ = "_address", "_address next", "_address held", "_address read"
_SENT, _REFUSED, _SAID = "_address sent", "_address refused", "_address said"
_INSTEAD = "_address instead"
"""In the session's state: the address as last read or written, what goes into the next one, whether part of the page is
still to come, and whether all of it has read its part; the addresses at which the browser may still stand, the newest
last; what of the address is not here, what of that the page has said, and what somebody has chosen instead."""
_STAYS = object()


@dataclass
class _Refused:
    """What the address names and is not here, and what the page shows instead, once it has said so."""

    words: list[str]
    instead: Any = _STAYS

    def __str__(self) -> str:
        return ", ".join(self.words)


def begin(anew: bool) -> None:
    """A page is about to be drawn; anew: not the one on screen, so that all of its address is news."""
    st.session_state[_NEXT], st.session_state[_HELD], st.session_state[_SAID] = {}, False, set()
    if anew:
        st.session_state[_KNOWN], st.session_state[_REFUSED], st.session_state[_SENT] = {}, {}, []
        st.session_state[_INSTEAD] = set()
    if not _outdated():  # the older ones are over
        st.session_state[_READ] = [_standing()] == st.session_state[_SENT][-1:] and st.session_state[_READ]
        st.session_state[_SENT] = [_standing()]


def adopt(
    name: str,
    read: Callable[[Any], Any] = str,
    legal: Container | Callable[[Any], bool] | None = None,
    *,
    key: str = "",
    many: bool = False,
    default: Any = _STAYS,
) -> bool:
    """Take `?name=...` into the session state when it is new and legal, and say whether it was. An illegal value
    takes away what was chosen, and is tried again until somebody chooses: it may be of another run.

    Args:
        read: makes a value of the text; of the list of texts where there may be `many`.
        key: where the value goes in the session's state; by default the name.
        default: what it is when the name has gone from the address, because somebody went back.
    """
    known, key = st.session_state.setdefault(_KNOWN, {}), key or name
    words, refused = st.query_params.get_all(name), st.session_state.setdefault(_REFUSED, {})
    again = name in refused and st.session_state.get(key) in (None, refused[name].instead)
    tried = words or (refused[name].words if again and not known.get(name) else [])
    late = _outdated() and (name in known or st.session_state[_READ])
    if late or (words == known.get(name, []) and not again):
        return False
    try:
        if tried:
            value = read(tried if many else tried[-1])
            taken = legal is None or (legal(value) if callable(legal) else value in legal)
        else:
            value, taken = default, default is not _STAYS
    except (ValueError, TypeError, LookupError, RecursionError):
        taken = False
    if taken:
        st.session_state[key] = value  # here a newer click may end this run, which then has taken nothing yet
    known[name] = words  # taken once, so that a choice on the page wins from now on
    refused.pop(name, None)
    if tried and not taken:
        refuse(name, key, tried)
    return taken


def leave(name: str, there: Container, *, key: str = "") -> None:
    """Refuse the choice of the session that is not there any more, such as a run that was moved away while a page shows
    it. The page then says so, and `adopt` takes it again once it is back. Call it after `adopt`.

    Args:
        there: what can be chosen. The choice may be a list: all of it has to be there.
    """
    value = st.session_state.get(key or name)
    words = value if isinstance(value, list) else [] if value is None else [value]
    if not all(one in there for one in words):
        refuse(name, key, [str(one) for one in words])


def refuse(name: str, key: str = "", words: list[str] | None = None) -> None:
    """What the address names is not here: nothing is chosen, and the address keeps it until somebody chooses. words:
    what it names, by default as it stands there."""
    st.session_state.pop(key or name, None)
    refused = st.session_state.setdefault(_REFUSED, {})
    refused[name] = _Refused(st.query_params.get_all(name) if words is None else words)


def forget() -> None:
    """The page ends before it has read all of its address: what it has not refused is news when it is drawn again."""
    known = st.session_state.get(_KNOWN, {})
    settled = {*st.session_state[_REFUSED], *st.session_state.get(_INSTEAD, ())}
    st.session_state[_KNOWN] = {name: words for name, words in known.items() if name in settled}


def chosen(name: str) -> None:
    """Somebody has chosen instead of what the address names and is not here."""
    st.session_state[_REFUSED].pop(name, None)
    st.session_state.setdefault(_INSTEAD, set()).add(name)


def missing(name: str) -> str:
    """What the address names that is not here, and nobody has chosen otherwise since; or nothing. Whoever asks says
    it on the page."""
    refused = st.session_state.get(_REFUSED, {})
    st.session_state[_SAID].add(name)
    return str(refused.get(name, ""))


def unsaid() -> dict[str, str]:
    """Name to value of whatever else of the address is not here."""
    refused = st.session_state.get(_REFUSED, {})
    return {name: str(one) for name, one in refused.items() if name not in st.session_state[_SAID]}


def tell(name: str, value: Any, default: Any = None) -> bool:
    """Have a value in the address, unless it is None or the default; whether the address can hold it. What the address
    names and is not here stays, as long as the value is the one that stands in for it."""
    words_of, refused = st.session_state.setdefault(_NEXT, {}), st.session_state.get(_REFUSED, {})
    words_of.pop(name, None)
    if name in refused:
        if refused[name].instead in (_STAYS, value):
            words_of[name], refused[name].instead = refused[name].words, value
            return True
        chosen(name)
    if value is None or value == default:
        return True
    words = [_word(one) for one in value] or [""] if isinstance(value, list | tuple) else [_word(value)]
    fits = sum(map(len, words)) <= LONGEST
    if fits:
        words_of[name] = words
    return fits


def follow(
    name: str,
    read: Callable[[str], Any],
    legal: Container | Callable[[Any], bool],
    *,
    key: str = "",
    default: Any = None,
) -> Any:
    """What clicks and the address alone choose: the legal value that the session holds, else `default`."""
    adopt(name, read, legal, key=key, default=default)
    value = st.session_state.get(key or name)
    known = value is not None and (legal(value) if callable(legal) else value in legal)
    tell(name, value if known else default, default)
    return value if known else default


def read_object(text: str) -> dict[str, Any]:
    """What `tell_object` wrote.

    Raises:
        ValueError: it is no object.
    """
    values = json.loads(text)
    if not isinstance(values, dict):
        raise ValueError("this must be an object")
    return values


def tell_object(name: str, values: Mapping[str, Any]) -> bool:
    """`tell` a few named values, as JSON; none of them leaves the name out."""
    return tell(name, json.dumps(values, ensure_ascii=False, separators=(",", ":")) if values else None)


def hold() -> None:
    """Part of the page is still to come: what it would tell stays in the address as it is."""
    st.session_state[_HELD] = True


def write(whole: bool = True) -> None:
    """Write into the browser what controls stand at. whole: the page came to its end, so the rest goes, unless it is
    still to come."""
    whole = whole and not st.session_state.get(_HELD)
    before, new = _standing(), dict(st.session_state.get(_NEXT, {}))
    after = new if whole else (st.session_state[_SENT][-1] if _outdated() else before) | new
    sent = st.session_state[_SENT] if before in st.session_state[_SENT] else [before]
    st.session_state[_SENT] = sent if after == sent[-1] else [*sent, after]
    st.session_state[_KNOWN] = dict(after) if whole else st.session_state.get(_KNOWN, {}) | new
    st.session_state[_READ] = whole or st.session_state[_READ]
    if after != before:  # last, because a newer click may end this run anywhere
        st.query_params.from_dict(after)


def reader(value: Any) -> Callable[[Any], Any]:
    """What makes values like this one of the words of an address."""
    if isinstance(value, bool):
        return {"yes": True, "no": False}.__getitem__
    if isinstance(value, list):
        return lambda words: [word for word in words if word]
    return type(value)


def _word(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _standing() -> dict[str, list[str]]:
    """The address that the browser stood at when it asked for this."""
    return {name: st.query_params.get_all(name) for name in st.query_params}


def _outdated() -> bool:
    """Whether the browser asked for this before it heard of what was written last: a click may outrun an answer."""
    sent, context = st.session_state[_SENT], get_script_run_ctx()
    went_back = context is not None and getattr(context, "is_history_navigation", False)
    return not went_back and _standing() in sent and _standing() != sent[-1]
