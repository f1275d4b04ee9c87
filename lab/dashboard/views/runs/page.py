"""Runs: find them, keep order among them, and compare them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from lab.dashboard.forms import knob_forms
from lab.dashboard.results.metrics_reader import Journal, journal
from lab.dashboard.results.run_choice import Library, chosen_name, data_of, described, library, say_what_next, warn
from lab.dashboard.shared import address, charts, cloning, page_frame, settings
from lab.dashboard.views.runs import import_panel, tables
from lab.runs import Run, difference, shelf

MAX_COMPARED = 12
VIEWS = ("Curves", "Configuration", "Seeds")
LONGEST = 200
"""Characters of a filter."""
HOW_ORDERED = "Scores from the highest down. A click on a column's head sorts, too, but only until the page is left."


@page_frame.page("Runs", "Every run in the folder: sort, filter, annotate, compare.")
def runs() -> None:
    all_runs = library()
    if address.adopt("runs", lambda text: [name for name in text.split(",") if name in all_runs.names], default=[]):
        st.session_state["tables"] = st.session_state.get("tables", 0) + 1  # a new one, or the old one's rows stay
    if not all_runs.runs:
        with st.sidebar:
            warn(all_runs)
        import_panel.panel(all_runs)
        say_what_next(broken=len(all_runs.broken))
        _trash()
        return
    with st.sidebar:
        split = page_frame.choice(
            "Scores of", ("test", "validation"), key="scores_of", format=str.capitalize, link="scores"
        )
        page_frame.keep("filter", "", lambda words: len(words) <= LONGEST, link="filter")
        words = st.text_input(
            "Filter",
            key="filter",
            placeholder="words, or r@1>0.5",
            live=True,
            max_chars=LONGEST,
            persist_state="session",
            help="Rows must contain every word; a comparison such as MAP@R>=0.3 filters by one column.",
        )
        known = _states(all_runs)
        page_frame.keep("states", [], lambda chosen: set(chosen) <= set(known), link="state")
        states = st.pills("State", known, key="states", selection_mode="multi")
        rows = {run.name: _row(run, split) for run in all_runs.runs}
        orders = [tables.NEWEST, "run", "loss", "encoder", "data", *tables.columns(rows.values())]
        order = page_frame.select("Order by", orders, key="order", link="order", help=HOW_ORDERED)
        warn(all_runs)
    listed = [one for one in rows.values() if tables.matches(one, words) and (not states or one["state"] in states)]
    if lacking := tables.unknown_columns(rows.values(), words):
        st.warning(page_frame.as_text(f"No run has a column {', '.join(lacking)}; compare one of those in the table."))
    chosen = _table(tables.ordered(listed, order), len(rows))
    if not address.tell("runs", ",".join(chosen) or None):
        st.caption("Too many runs are selected for a link.")
    if len(chosen) == 1:
        _one(all_runs[chosen[0]])
    elif chosen:
        few = chosen[:MAX_COMPARED]
        _compare([all_runs[name] for name in few], [rows[name] for name in few])
    else:
        st.caption("Select a row to annotate, rename or delete a run; select several to compare them.")
    if chosen:
        _mailed([all_runs[name] for name in chosen], split)
    import_panel.panel(all_runs)
    _published(rows)
    _trash()


def _mailed(chosen: list[Run], split: str) -> None:
    """One page with all that is to be said of these runs, made when it is asked for."""
    import lab.report.page

    names = [run.name for run in chosen]
    if st.button(
        "Make a page to mail", icon=":material/mail:", help="Table, curves, map, queries with pictures; no server"
    ):
        try:
            found = lab.report.report(chosen, split=split)
            made = lab.report.page.of(chosen, found, images=lambda run: settings.confine_images(run.dataset()))
            st.session_state["page to mail"] = names, split, made
        except (ValueError, OSError) as error:
            page_frame.say_error(error)
    if (kept := st.session_state.get("page to mail")) and kept[:2] == (names, split):
        st.download_button("Download the page", kept[2], "report.html", "text/html", icon=":material/download:")


def _row(run: Run, split: str) -> dict[str, Any]:
    config = described(run)
    return tables.row(run, config, {s: chosen_name(config, s) for s in ("loss", "encoder", "data")}, split)


def _states(known: Library) -> list[str]:
    return sorted({run.state for run in known.runs})


def _table(listed: list[dict[str, Any]], of: int) -> list[str]:
    """Draw the table; returns the names of the selected rows."""
    import pandas as pd

    if not listed:
        st.info(f"None of the {of} runs matches the filter; clear it to see them all.")
        return []
    scores = tables.columns(listed)
    order = [
        "run",
        "state",
        "progress",
        "loss",
        *scores,
        "scores of",
        "encoder",
        "data",
        "seed",
        "tags",
        "note",
        "started",
    ]
    names = [one["run"] for one in listed]
    before = [at for at, name in enumerate(names) if name in st.session_state.get("runs", [])]
    event = st.dataframe(
        pd.DataFrame(listed, columns=order),
        key=f"table of {hashlib.sha1(repr((names, scores, st.session_state.get('tables'))).encode()).hexdigest()}",
        hide_index=True,
        height="content" if len(listed) <= 11 else 430,
        placeholder="",
        on_select="rerun",
        selection_mode="multi-row",
        selection_default={"selection": {"rows": before}},
        column_config={
            "run": st.column_config.TextColumn("run", pinned=True),
            "progress": st.column_config.ProgressColumn(
                "progress", width="small", format="percent", min_value=0, max_value=1
            ),
            "tags": st.column_config.ListColumn("tags"),
            "started": st.column_config.DatetimeColumn("started", format="YYYY-MM-DD HH:mm"),
            **{name: st.column_config.NumberColumn(name, format="%.3f") for name in scores},
        },
        alt="Table of runs with their scores",
    )
    chosen = [names[at] for at in event["selection"]["rows"] if at < len(names)]
    st.session_state["runs"] = chosen
    return chosen


def _one(run: Run) -> None:
    status = run.status
    st.subheader(run.name, anchor=False)
    if status.get("sentence"):
        (st.error if status["state"] in ("failed", "damaged") else st.caption)(page_frame.as_text(status["sentence"]))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link(
            "views/browse/page.py", label="Browse", icon=":material/image_search:", query_params={"run": run.name}
        )
        st.page_link(
            "views/watch/page.py", label="Watch", icon=":material/monitoring:", query_params={"watched": run.name}
        )
        lacks = run.config.missing
        for sentence in lacks:
            st.caption(page_frame.as_text(sentence))
        if run.config.foreign:
            st.caption("Made with data, a model or a loss from elsewhere, so it cannot be trained again from here.")
        elif not lacks:
            _again(run)
    about, config = st.columns([2, 3], gap="large")
    with about:
        _remarks(run)
        _name_and_trash(run)
    with config:
        st.caption("Configuration" + ("" if run.config.foreign else ", as `lab train --config` reads it"))
        st.code(run.config.as_yaml(), language="yaml", height=360)


def _again(run: Run) -> None:
    if st.button("Edit as new run", icon=":material/edit_note:", help="Opens the Train page with this configuration"):
        knob_forms.fill(run.config)
        st.switch_page("views/train/page.py")
    with st.popover("Clone", icon=":material/content_copy:", help="Train a copy with one change"):
        cloning.form(run, "runs")


def _remarks(run: Run) -> None:
    written = shelf.notes(run)
    with st.form(f"remarks of {run.name}", border=False):
        note = st.text_area("Note", written["note"], height=96, max_chars=shelf.MAX_NOTE)
        tags = st.multiselect("Tags", written["tags"], written["tags"], accept_new_options=True)
        if st.form_submit_button("Save note and tags"):
            shelf.annotate(run, note, tags)
            st.rerun()


def _name_and_trash(run: Run) -> None:
    with st.form(f"name of {run.name}", border=False):
        name = st.text_input("Name", run.name, max_chars=100)
        left, right = st.columns(2)
        renamed = left.form_submit_button("Rename", width="stretch")
        thrown = right.form_submit_button("Move to trash", icon=":material/delete:", width="stretch")
    if renamed and name != run.name:
        _and_again(lambda: shelf.rename(run, name), lambda: {"runs": [name]})
    if thrown:
        _and_again(lambda: shelf.trash(run), lambda: {"runs": []})


def _and_again(act: Callable[[], object], state: Callable[[], dict[str, Any]]) -> None:
    """Act on a run folder, then draw the page anew; a refusal is a sentence."""
    try:
        act()
    except ValueError as error:
        page_frame.say_error(error)
        return
    st.session_state.update(state())
    st.rerun()


def _compare(chosen: list[Run], rows: list[dict[str, Any]]) -> None:
    """Draw the runs against each other."""
    st.subheader(f"{len(chosen)} runs compared", anchor=False)
    _link_both(chosen)
    view = page_frame.choice("What to compare", VIEWS, key="compared", labelled=False, link="compared")
    {"Curves": _curves, "Configuration": _differences, "Seeds": _seeds}[view](chosen, rows)


def _link_both(chosen: list[Run]) -> None:
    """Two runs on the same images can be browsed side by side."""
    if len(chosen) == 2 and data_of(chosen[0]) == data_of(chosen[1]) and set(chosen[0].splits) & set(chosen[1].splits):
        st.page_link(
            "views/browse/page.py", label="Browse both", icon=":material/image_search:",
            query_params={"run": chosen[0].name, "rival": f"run:{chosen[1].name}"},
        )  # fmt: skip


def _curves(chosen: list[Run], rows: list[dict[str, Any]]) -> None:
    journals = {run.name: journal(run.path) for run in chosen}
    names = list(dict.fromkeys(name for one in journals.values() for name in one.names))
    if not names:
        st.info("None of these runs has made a step yet; look again once one has.")
        return
    groups = tables.seed_groups(chosen)
    page_frame.keep("mean", False, link="mean")
    first = [name for name in ("MAP@R", "loss") if name in names]
    page_frame.keep("curves", first, lambda picked: set(picked) <= set(names), link="curves")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        picked = st.multiselect("Curves", names, key="curves")
        together = len(groups) < len(chosen) and st.toggle(
            "Mean over seeds", key="mean", persist_state="session",
            help="Draws runs that differ only in their seed as one line with a band of one sample deviation (n - 1)",
        )  # fmt: skip
    columns = st.columns(2)
    for at, name in enumerate(picked):
        if together:
            figure = charts.bands(_by_group(groups, journals, name), name, noisy=name != "lr")
            words = "mean and deviation over seeds"
        else:
            named = {run: one.curve(name) for run, one in journals.items() if name in one.names}
            figure, words = charts.curves(named, name, noisy=name != "lr"), "one line a run"
        columns[at % 2].plotly_chart(figure, key=f"curve of {name}", alt=f"{name} over training steps, {words}")


def _by_group(groups: list[list[Run]], journals: dict[str, Journal], name: str) -> dict[str, list[charts.Curve]]:
    """The curves of one name, by what a group of runs that differ only in their seed is called."""
    curves_of: dict[str, list[charts.Curve]] = {}
    for group in groups:
        mine = [journals[run.name] for run in group]
        curves: list[charts.Curve] = [one.curve(name) for one in mine if name in one.names]
        if curves:
            curves_of[f"{group[0].name}, mean of {len(curves)}" if len(curves) > 1 else group[0].name] = curves
    return curves_of


def _differences(chosen: list[Run], rows: list[dict[str, Any]]) -> None:
    import pandas as pd

    first = chosen[0]
    differences = {run.name: difference(first.config, run.config) for run in chosen[1:]}
    paths = list(dict.fromkeys(path for one in differences.values() for path in one))
    if not paths:
        st.info("These runs have the same configuration.")
        return
    lines = []
    for path in paths:
        base = next(one[path][0] for one in differences.values() if path in one)
        others = {name: _word(one[path][1]) if path in one else _word(base) for name, one in differences.items()}
        lines.append({"knob": path, first.name: _word(base), **others})
    st.caption("Only settings in which at least one run differs from the first")
    st.dataframe(pd.DataFrame(lines), hide_index=True, alt="Settings in which the runs differ")


def _seeds(chosen: list[Run], rows: list[dict[str, Any]]) -> None:
    import pandas as pd

    st.caption("Runs that differ only in their seed share a row: mean and sample standard deviation (n - 1)")
    lines = tables.over_seeds(chosen, rows)
    scores = [name for name in tables.columns(lines) if name not in ("runs", "seeds")]
    numbers = {name: st.column_config.NumberColumn(name, format="%.3f") for name in scores}
    st.dataframe(pd.DataFrame(lines), hide_index=True, column_config=numbers, placeholder="", alt="Means over seeds")


def _published(rows: dict[str, dict[str, Any]]) -> None:
    import pandas as pd

    lines = tables.published({one["data"] for one in rows.values()})
    if lines:
        with st.expander(
            f"Published by the papers on these data sets: {len(lines)} results, none of them measured here"
        ):
            st.dataframe(pd.DataFrame(lines), hide_index=True, placeholder="", alt="Published results, not own runs")


def _trash() -> None:
    thrown = shelf.trashed(settings.runs_root())
    if not thrown:
        return
    with st.expander(f"Trash ({len(thrown)})"):
        for folder in thrown:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.text(folder.name)
                if st.button("Restore", key=f"give back {folder.name}"):
                    _and_again(partial(shelf.restore, folder), dict)


def _word(value: Any) -> str:
    return "not there" if value is None else str(value)


runs()
