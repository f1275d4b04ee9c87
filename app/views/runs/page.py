"""Runs: find, annotate and compare runs."""

import hashlib
from typing import Any

import streamlit as st

from app.forms import knob_forms
from app.results import findings
from app.results.run_choice import RunLibrary, library, show_first_steps, warn
from app.shared import address, page_frame, settings
from app.views.runs import comparison, import_panel, management
from app.views.runs.management import Row, RunsScene
from lab.core.files import check_allowed
from lab.launchers.background import waiting
from lab.report import rows as tables
from lab.runs import Run
from lab.runs import management as run_management

# Most characters of a filter.
LONGEST = 200
# Most runs that are compared without a selection.
FEW = 4
# Pixels of a row of the table, of the horizontal scroll bar, and of a table with more rows.
ROW_HEIGHT = 34
BAR_HEIGHT = 14
MOST_HEIGHT = 430
ORDER_HELP = "Highest scores first. A click on the head of a column sorts, too, but only until you leave the page."


@page_frame.page("Runs", "Every run in the folder: sort, filter, annotate, compare.")
def runs() -> None:
    all_runs = library()
    selected, missing = _load_selection(all_runs)
    if not all_runs.runs:
        with st.sidebar:
            warn(all_runs)
        import_panel.panel(all_runs)
        show_first_steps(broken=len(all_runs.broken))
        _draw_trash()
        return
    with st.sidebar:
        split = page_frame.choice(
            "Scores of",
            ("test", "validation"),
            key="scores_of",
            format_func=str.capitalize,
            link="scores",
        )
        words = _choose_filter()
        rows = {run.name: management.row(run, split) for run in all_runs.runs}
        scene = RunsScene(all_runs, rows, split)
        scores = tables.columns(rows.values())
        orders = [tables.NEWEST, "run", "group", "loss", "encoder", "data", *scores]
        order = page_frame.select("Order by", orders, key="order", link="order", help=ORDER_HELP)
        warn(all_runs)

    # The table of the runs that match the filter.
    listed = tables.lettered([row for row in rows.values() if tables.matches(row, words)])
    unknown = tables.unknown_columns(rows.values(), words)
    if unknown:
        sentence = f"No run has a column {', '.join(unknown)}; compare a column of the table."
        st.warning(page_frame.as_text(sentence))
    chosen = _draw_table(tables.ordered(listed, order), len(rows))
    if any(tables.letters([row["measured on"] for row in listed])):
        st.caption(tables.UNLIKE)
    if set(chosen) != set(selected) - set(missing):  # the user has chosen other runs
        missing = []
        st.session_state["gone"] = missing
    if not address.store("runs", ",".join([*chosen, *missing]) or None):
        st.caption("Too many runs are selected for a link.")

    # Below the table: the selected runs, and what else can be done.
    if chosen:
        _draw_selected(scene, chosen)
    else:
        _draw_unselected(scene, listed)
    import_panel.panel(all_runs)
    _draw_published(scene)
    _draw_trash()


def _load_selection(all_runs: RunLibrary) -> tuple[list[str], list[str]]:
    """Read the selected runs from the URL and the session, and warn about those that do not exist.

    Returns:
        the names of all selected runs, and of those that do not exist.
    """
    state = st.session_state
    is_new = address.load("runs", lambda text: text.split(","), default=[])
    missing_before = [] if is_new else state.get("gone", [])
    selected = list(dict.fromkeys([*state.get("runs", []), *missing_before]))
    missing = [name for name in selected if name not in all_runs.names]
    if is_new or missing != missing_before:
        # a new table, because the old one would keep its selected rows
        state["tables"] = state.get("tables", 0) + 1
    state["runs"] = selected
    state["gone"] = missing
    for name in missing:
        st.warning(page_frame.as_text(all_runs.why_not(name)))
    return selected, missing


def _choose_filter() -> str:
    """Return the words that rows of the table must contain."""
    return page_frame.text(
        "Filter",
        key="filter",
        most=LONGEST,
        link="filter",
        placeholder="words, or r@1>0.5",
        live=True,
        help="Rows must contain every word, such as a tag, group or state; MAP@R>=0.3 filters by a column.",
    )


def _draw_selected(scene: RunsScene, names: list[str]) -> None:
    """Draw the selected run with its forms, or the comparison of several."""
    selected = [scene.library[name] for name in names]
    tags = management.tags_of(scene.rows.values())
    if len(selected) == 1:
        _draw_run(selected[0], tags)
    else:
        rows = [scene.rows[name] for name in names]
        comparison.compare(selected, rows, scene.split)
        management.annotate_several(selected, rows, tags)
    _draw_reports(selected, scene.split)


def _draw_unselected(scene: RunsScene, listed: list[Row]) -> None:
    """Compare all listed runs if they are few, or else offer the influence of their settings."""
    st.caption(
        "Select a row to annotate, rename or delete a run; select several to compare, tag or group them."
    )
    if len(listed) < 2:
        return
    listed_runs = [scene.library[row["run"]] for row in listed]
    if len(listed) <= FEW:
        comparison.compare(listed_runs, listed, scene.split)
    elif page_frame.toggle(f"Settings of the {len(listed)} runs listed", key="weigh", link="knobs"):
        comparison.draw_knobs(listed_runs, listed)


def _draw_reports(chosen: list[Run], split: str) -> None:
    """Draw the buttons that make a report of some runs, and the download of the last one."""
    from lab.report import explore, page, report

    names = [run.name for run in chosen]
    with st.container(horizontal=True):
        icon = ":material/mail:"
        help = "One file with table, curves and example queries; it opens without a server"
        make_report = st.button("Make an HTML report", icon=icon, help=help)
        help = "One file in which every query can be clicked; it opens without a server"
        make_explorer = st.button("Make a page to explore", icon=icon, help=help)
    with page_frame.refusals():
        if make_report or make_explorer:
            check_allowed()
            table = report(chosen, split=split)
            renderer: Any = page if make_report else explore
            html = renderer.render(
                chosen, table, images=lambda run: settings.confine_images(run.dataset())
            )
            file = "report.html" if make_report else "explore.html"
            st.session_state["page to mail"] = (names, split, html, file)
    made = st.session_state.get("page to mail")
    if made and made[:2] == (names, split):
        html, file = made[2:]
        page_frame.download(f"Download {file}", html, file, "text/html")


def _draw_table(listed: list[Row], count: int) -> list[str]:
    """Draw the table and return the names of the selected runs. count: number of runs without a filter."""
    import pandas as pd

    if not listed:
        st.info(f"None of the {count} runs matches the filter; clear it to see them all.")
        return []
    scores = tables.columns(listed)
    columns = ["run", *tables.shown(scores)]
    names = [row["run"] for row in listed]
    selected = st.session_state.get("runs", [])
    version = repr((names, columns, st.session_state.get("tables")))
    # "run" is not pinned: pinned cells are grey, with a contrast of 4.08 : 1 where 4.5 is required.
    config: dict[str, Any] = {
        "progress": st.column_config.ProgressColumn(
            "progress", width="small", format="percent", min_value=0, max_value=1
        ),
        "tags": st.column_config.ListColumn("tags"),
        "started": st.column_config.DatetimeColumn("started", format="YYYY-MM-DD HH:mm"),
    }
    for name in scores:
        config[name] = st.column_config.NumberColumn(name, format="%.3f")
    event = st.dataframe(
        pd.DataFrame(listed, columns=columns),
        key=f"table of {hashlib.sha1(version.encode()).hexdigest()}",
        hide_index=True,
        height=min(ROW_HEIGHT * (len(listed) + 1) + BAR_HEIGHT, MOST_HEIGHT),
        placeholder="",
        on_select="rerun",
        selection_mode="multi-row",
        selection_default={
            "selection": {"rows": [row for row, name in enumerate(names) if name in selected]}
        },
        column_config=config,
        alt="Table of runs with their scores",
    )

    # Rows of an earlier, longer table are ignored.
    chosen = [names[row] for row in event["selection"]["rows"] if row < len(names)]
    st.session_state["runs"] = chosen
    return chosen


def _draw_run(run: Run, tags: list[str]) -> None:
    """Draw a run's state, findings, forms and configuration."""
    status = run.status
    st.subheader(run.name, anchor=False)
    sentence = status.get("sentence")
    if sentence and status["state"] in ("failed", "damaged"):
        page_frame.say_error(sentence)
    elif sentence:
        page_frame.say(sentence)
    for warning in run.score_warnings():
        page_frame.say(warning)
    with st.container(horizontal=True, vertical_alignment="center"):
        page_frame.link_to("browse", "Browse", {"run": run.name})
        page_frame.link_to("watch", "Watch", {"watched": run.name})
        for missing in run.config.missing:
            page_frame.say(missing)
        if run.config.foreign:
            st.caption(
                "This run uses external data, models or losses, so it cannot be trained again from here."
            )
        elif not run.config.missing:
            help = "Opens the Train page with this configuration"
            if st.button("Edit as new run", icon=":material/edit_note:", help=help):
                knob_forms.fill(run.config)
                st.switch_page("views/train/page.py")
    findings.draw(run)
    left, right = st.columns([2, 3], gap="large")
    with left:
        management.annotate_one(run, tags)
        _draw_name(run)
    with right:
        caption = "Configuration"
        if not run.config.foreign:
            caption += ", as `lab train --config` reads it"
        st.caption(caption)
        st.code(run.config.as_yaml(), language="yaml", height=360)


def _draw_name(run: Run) -> None:
    """Draw the form that renames a run or moves it to the trash."""
    with st.form(f"name of {run.name}", border=False):
        name = st.text_input("Name", run.name, max_chars=100)
        left, right = st.columns(2)
        rename = left.form_submit_button("Rename", width="stretch")
        trash = right.form_submit_button("Move to trash", icon=":material/delete:", width="stretch")
    with page_frame.refusals():
        if rename and name != run.name:
            waiting.rename(run, name)
            st.session_state["runs"] = [name]
            st.rerun()
        if trash:
            waiting.trash(run)
            st.session_state["runs"] = []
            st.rerun()


def _draw_published(scene: RunsScene) -> None:
    """Draw the results that the papers report on the data sets of the runs."""
    lines = tables.published({row["data"] for row in scene.rows.values()})
    if lines:
        label = f"Published by the papers on these data sets: {len(lines)} results, none of them measured here"
        with page_frame.expander(label, link="published"):
            st.dataframe(
                lines, hide_index=True, placeholder="", alt="Published results, not your own runs"
            )


def _draw_trash() -> None:
    """Draw the runs in the trash, each with a button that restores it."""
    trashed = run_management.trashed(settings.runs_root())
    if not trashed:
        return
    with page_frame.expander(f"Trash ({len(trashed)})", link="trash"):
        for folder in trashed:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.text(folder.name)
                with page_frame.refusals():
                    if st.button("Restore", key=f"give back {folder.name}"):
                        run_management.restore(folder)
                        st.rerun()


runs()
