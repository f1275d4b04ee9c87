"""Runs: find them, keep order among them, and compare them."""

import hashlib
from typing import Any

import streamlit as st

from app.forms import knob_forms
from app.results import findings
from app.results.run_choice import library, show_first_steps, warn
from app.shared import address, page_frame, settings
from app.views.runs import comparison, import_panel, management
from app.views.runs.management import Row, Scene
from lab.core.files import check_allowed
from lab.launchers.background import waiting
from lab.report import rows as tables
from lab.runs import Run
from lab.runs import management as run_management

LONGEST = 200
"""Characters of a filter."""
FEW = 4
"""Runs that are compared without being selected, where there are no more."""
ROW, BAR = 34, 14
"""Pixels of a row of the table, and of the bar that scrolls it sideways."""
HOW_ORDERED = "Highest scores first. A click on the head of a column sorts, too, but only until you leave the page."


@page_frame.page("Runs", "Every run in the folder: sort, filter, annotate, compare.")
def runs() -> None:
    all_runs = library()
    state = st.session_state
    anew = address.load("runs", lambda text: text.split(","), default=[])
    before = [] if anew else state.get("gone", [])
    asked = list(dict.fromkeys([*state.get("runs", []), *before]))
    gone = [name for name in asked if name not in all_runs.names]
    if anew or gone != before:  # a new address, or some runs were moved away, or are back
        state["tables"] = state.get("tables", 0) + 1  # a new one, or the old one's rows stay
    state["runs"], state["gone"] = asked, gone
    for name in gone:
        st.warning(page_frame.as_text(all_runs.why_not(name)))
    if not all_runs.runs:
        with st.sidebar:
            warn(all_runs)
        import_panel.panel(all_runs)
        show_first_steps(broken=len(all_runs.broken))
        _trash()
        return
    with st.sidebar:
        split, words = _split_and_filter()
        rows = {run.name: management.row(run, split) for run in all_runs.runs}
        scene = Scene(all_runs, rows, split)
        scores = tables.columns(rows.values())
        orders = [tables.NEWEST, "run", "group", "loss", "encoder", "data", *scores]
        order = page_frame.select("Order by", orders, key="order", link="order", help=HOW_ORDERED)
        warn(all_runs)
    listed = [one for one in rows.values() if tables.matches(one, words)]
    if lacking := tables.unknown_columns(rows.values(), words):
        st.warning(page_frame.as_text(f"No run has a column {', '.join(lacking)}; compare one of those in the table."))
    listed = tables.lettered(listed)
    chosen = _table(tables.ordered(listed, order), len(rows))
    if any(tables.letters([one["measured on"] for one in listed])):
        st.caption(tables.UNLIKE)
    if {*chosen} != {*asked} - {*gone}:
        gone = st.session_state["gone"] = []  # somebody has chosen
    if not address.store("runs", ",".join([*chosen, *gone]) or None):
        st.caption("Too many runs are selected for a link.")
    if chosen:
        _selected(scene, chosen, split)
    else:
        st.caption("Select a row to annotate, rename or delete a run; select several to compare, tag or group them.")
        if 1 < len(listed) <= FEW:
            comparison.compare([all_runs[one["run"]] for one in listed], listed, split)
        else:
            _knobs(scene, listed)
    import_panel.panel(all_runs)
    _published(scene)
    _trash()


def _selected(scene: Scene, chosen: list[str], split: str) -> None:
    """What can be seen of the selected runs, and done with them."""
    selected = [scene.known[name] for name in chosen]
    tags = management.tags_of(scene.rows.values())
    if len(chosen) == 1:
        _one(selected[0], tags)
    else:
        mine = [scene.rows[name] for name in chosen]
        comparison.compare(selected, mine, split)
        management.remarks_of_several(selected, mine, tags)
    _mailed(selected, split)


def _split_and_filter() -> tuple[str, str]:
    """Whose scores the table shows, and the words that its rows must contain."""
    splits = "test", "validation"
    split = page_frame.choice("Scores of", splits, key="scores_of", format_func=str.capitalize, link="scores")
    look: dict[str, Any] = {"placeholder": "words, or r@1>0.5", "live": True}
    look["help"] = "Rows must contain every word, such as a tag, group or state; MAP@R>=0.3 filters by a column."
    return split, page_frame.text("Filter", key="filter", most=LONGEST, link="filter", **look)


def _knobs(scene: Scene, listed: list[Row]) -> None:
    """What the settings of all listed runs have to do with their scores, without selecting hundreds of rows."""
    words = f"Settings of the {len(listed)} runs listed"
    if len(listed) > 1 and page_frame.toggle(words, key="weigh", link="knobs"):
        comparison.draw_knobs([scene.known[one["run"]] for one in listed], listed)


def _mailed(chosen: list[Run], split: str) -> None:
    """One page with all that is to be said of these runs, made when it is asked for."""
    from lab.report import explore, page, report

    names = [run.name for run in chosen]
    kinds: dict[str, tuple[Any, str, str]] = {
        "Make an HTML report": (page, "report.html", "One file with table, curves and example queries"),
        "Make a page to explore": (explore, "explore.html", "One file in which every query can be clicked"),
    }
    with st.container(horizontal=True):
        pressed = [
            st.button(label, icon=":material/mail:", help=f"{help}; it opens without a server")
            for label, (_, _, help) in kinds.items()
        ]
    with page_frame.refusals():
        if any(pressed):
            check_allowed()
            kind, file, _ = list(kinds.values())[pressed.index(True)]
            table = report(chosen, split=split)
            made = kind.render(chosen, table, images=lambda run: settings.confine_images(run.dataset()))
            st.session_state["page to mail"] = names, split, made, file
    if (kept := st.session_state.get("page to mail")) and kept[:2] == (names, split):
        page_frame.download(f"Download {kept[3]}", kept[2], kept[3], "text/html")


def _table(listed: list[Row], of: int) -> list[str]:
    """Draw the table; returns the names of the selected rows."""
    import pandas as pd

    if not listed:
        st.info(f"None of the {of} runs matches the filter; clear it to see them all.")
        return []
    scores = tables.columns(listed)
    order = ["run", *tables.shown(scores)]
    names = [one["run"] for one in listed]
    before = [at for at, name in enumerate(names) if name in st.session_state.get("runs", [])]
    event = st.dataframe(
        pd.DataFrame(listed, columns=order),
        key=f"table of {hashlib.sha1(repr((names, order, st.session_state.get('tables'))).encode()).hexdigest()}",
        hide_index=True,
        height=ROW * (len(listed) + 1) + BAR if len(listed) <= 11 else 430,
        placeholder="",
        on_select="rerun",
        selection_mode="multi-row",
        selection_default={"selection": {"rows": before}},
        column_config={  # "run" is not pinned: pinned cells are grey, at a contrast of 4.08 : 1 where 4.5 is needed
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


def _one(run: Run, tags: list[str]) -> None:
    status = run.status
    st.subheader(run.name, anchor=False)
    if status.get("sentence"):
        (st.error if status["state"] in ("failed", "damaged") else st.caption)(page_frame.as_text(status["sentence"]))
    for words in run.score_warnings():
        page_frame.say(words)
    with st.container(horizontal=True, vertical_alignment="center"):
        page_frame.link_to("browse", "Browse", {"run": run.name})
        page_frame.link_to("watch", "Watch", {"watched": run.name})
        lacks = run.config.missing
        for sentence in lacks:
            page_frame.say(sentence)
        if run.config.foreign:
            st.caption("Made with data, a model or a loss from elsewhere, so it cannot be trained again from here.")
        elif not lacks:
            help = "Opens the Train page with this configuration"
            if st.button("Edit as new run", icon=":material/edit_note:", help=help):
                knob_forms.fill(run.config)
                st.switch_page("views/train/page.py")
    findings.draw(run)
    about, config = st.columns([2, 3], gap="large")
    with about:
        management.remarks_of_one(run, tags)
        _name_and_trash(run)
    with config:
        st.caption("Configuration" + ("" if run.config.foreign else ", as `lab train --config` reads it"))
        st.code(run.config.as_yaml(), language="yaml", height=360)


def _name_and_trash(run: Run) -> None:
    with st.form(f"name of {run.name}", border=False):
        name = st.text_input("Name", run.name, max_chars=100)
        left, right = st.columns(2)
        renamed = left.form_submit_button("Rename", width="stretch")
        thrown = right.form_submit_button("Move to trash", icon=":material/delete:", width="stretch")
    with page_frame.refusals():
        if renamed and name != run.name:
            waiting.rename(run, name)
            st.session_state["runs"] = [name]
            st.rerun()
        if thrown:
            waiting.trash(run)
            st.session_state["runs"] = []
            st.rerun()


def _published(scene: Scene) -> None:
    lines = tables.published({one["data"] for one in scene.rows.values()})
    if lines:
        words = f"Published by the papers on these data sets: {len(lines)} results, none of them measured here"
        with page_frame.expander(words, link="published"):
            st.dataframe(lines, hide_index=True, placeholder="", alt="Published results, not your own runs")


def _trash() -> None:
    thrown = run_management.trashed(settings.runs_root())
    if not thrown:
        return
    with page_frame.expander(f"Trash ({len(thrown)})", link="trash"):
        for folder in thrown:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.text(folder.name)
                with page_frame.refusals():
                    if st.button("Restore", key=f"give back {folder.name}"):
                        run_management.restore(folder)
                        st.rerun()


runs()
