"""What is wrong with a run: the likeliest cause, where to see it, and the knob to move; the rest behind a fold."""

import streamlit as st

from app.forms import knob_forms
from app.results import run_choice
from app.shared import page_frame
from lab import adaptation
from lab.report.curves import journal, verdict
from lab.runs import Run
from lab.runs.folder import FINISHED
from lab.verdict import Finding


def draw(run: Run) -> None:
    """The findings of a run so far; nothing for one that was never examined."""
    _beside(run)
    found = verdict(run)
    if not found:
        if journal(run.path).checkups:
            st.caption("Verdict: nothing wrong was found.")
        return
    faults = [one for one in found if not one.note]
    for one in faults[:1]:
        _card(run, one)
    if rest := [*faults[1:], *(one for one in found if one.note)]:
        also = "Verdict, also" if faults else "Verdict, notes"
        with page_frame.fold(f"{also}: {', '.join(one.name for one in rest)}", link="findings"):
            for one in rest:
                _card(run, one)


def _beside(run: Run) -> None:
    """What a head did to the network as it came, and the way to the queries that it gained and lost."""
    if run.state == FINISHED and (baseline := adaptation.baseline_of(run, run_choice.library().runs)):
        with st.container(border=True):
            st.markdown(page_frame.as_text(adaptation.compare(baseline, run).sentence))
            query = {"run": baseline.name, "rival": f"run:{run.name}", "queries": "improved"}
            page_frame.link_to("browse", "Look at the queries that gained", query)


def _card(run: Run, one: Finding) -> None:
    icon, kind = (":material/info:", "Note") if one.note else (":material/troubleshoot:", "Verdict")
    with st.container(border=True, key=f"finding {one.name}"):
        st.markdown(f"{icon} **{kind}: {one.name}.** {page_frame.as_text(one.sentence)}")
        st.markdown(f"**What to do:** {page_frame.as_text(one.advice)}")
        page_frame.say(f"Setting: {one.knob}")
        with st.container(horizontal=True, vertical_alignment="center"):
            page_frame.link_to(one.place.page, one.place.words, one.place.query)
            if "." in one.knob and not run.config.foreign:
                help = "Opens the Train page with the settings of this run"
                words = f"Change {one.knob} and train again"
                if st.button(words, icon=":material/tune:", help=help, key=f"mend {one.name}"):
                    knob_forms.fill(run.config)
                    st.switch_page("views/train/page.py")
