"""The findings about a run: the likeliest problem, where to see it and which parameter to change."""

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
    """Draw the findings about a run so far, or nothing if it was never examined."""
    _draw_baseline(run)
    findings = verdict(run)
    if not findings:
        if journal(run.path).checkups:
            st.caption("Verdict: nothing wrong was found.")
        return
    faults = [finding for finding in findings if not finding.note]
    for finding in faults[:1]:
        _card(run, finding)

    # The other findings are in a closed expander.
    others = faults[1:] + [finding for finding in findings if finding.note]
    if others:
        heading = "Verdict, also" if faults else "Verdict, notes"
        names = ", ".join(finding.name for finding in others)
        with page_frame.expander(f"{heading}: {names}", link="findings"):
            for finding in others:
                _card(run, finding)


def _draw_baseline(run: Run) -> None:
    """Compare a finished run with the pretrained baseline, with a link to the queries that improved."""
    if run.state != FINISHED:
        return
    baseline = adaptation.baseline_of(run, run_choice.library().runs)
    if not baseline:
        return
    with st.container(border=True):
        st.markdown(page_frame.as_text(adaptation.compare(baseline, run).sentence))
        query = {"run": baseline.name, "rival": f"run:{run.name}", "queries": "improved"}
        page_frame.link_to("browse", "Look at the queries that improved", query)


def _card(run: Run, finding: Finding) -> None:
    if finding.note:
        heading = f":material/info: **Note: {finding.name}.**"
    else:
        heading = f":material/troubleshoot: **Verdict: {finding.name}.**"
    with st.container(border=True, key=f"finding {finding.name}"):
        st.markdown(f"{heading} {page_frame.as_text(finding.sentence)}")
        st.markdown(f"**What to do:** {page_frame.as_text(finding.advice)}")
        page_frame.say(f"Setting: {finding.knob}")
        with st.container(horizontal=True, vertical_alignment="center"):
            page_frame.link_to(finding.place.page, finding.place.words, finding.place.query)
            if "." in finding.knob and not run.config.foreign:
                label = f"Change {finding.knob} and train again"
                help = "Opens the Train page with the settings of this run"
                if st.button(label, icon=":material/tune:", help=help, key=f"mend {finding.name}"):
                    knob_forms.fill(run.config)
                    st.switch_page("views/train/page.py")
