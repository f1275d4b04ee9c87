"""A prediction is locked once, and only then is the answer computed."""

import pytest

from lab.widgets import predict


def test_locks_once_and_answers_afterwards():
    asked = []
    question = predict("how many?", lambda: asked.append(1) or 4, within=0.5, unit="items")
    assert "how many?" in repr(question) and not asked
    assert question.lock(4.2) == "✓ You said 4.2 items; it is 4 items."
    with pytest.raises(ValueError, match="4.2 is locked"):
        question.lock(4)
    assert question.right


def test_a_wrong_prediction_is_told_so():
    assert predict("?", 1.0, within=0.1).lock(2) == "✗ You said 2; it is 1."


def test_the_widget_gives_hints_and_locks():
    question = predict("?", 3, within=0, hints=("look left", "count"))
    heading, row, said = question.widget().children
    field, _, lock, hint = row.children
    hint.click()
    assert "look left" in said.value and "count" not in said.value and not hint.disabled
    hint.click()
    assert hint.disabled
    field.value = 3
    lock.click()
    assert "✓" in said.value and field.disabled and lock.disabled


def test_the_page_reads_without_a_kernel_and_text_is_not_html():
    bundle = predict("is <b>x</b> > 1?", 1, within=0)._repr_mimebundle_()
    assert "&lt;b&gt;x&lt;/b&gt;" in bundle["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in bundle


def test_a_negative_margin_is_refused():
    with pytest.raises(ValueError, match="within"):
        predict("?", 1, within=-1)
