"""What people read names papers by short title and helps in whole sentences, the same way everywhere."""

import re

import pytest

import lab.data
import lab.encoders
import lab.figures
import lab.losses
import lab.metrics
import lab.papers.tables
import lab.protocols
import lab.reranking
import lab.samplers
import lab.search
import lab.wrappers
from lab.core.knobs import describe
from lab.runs.config import SECTIONS
from scripts.studies.catalogue import studies

CATALOGUES = (
    lab.data, lab.encoders, lab.figures, lab.losses, lab.metrics, lab.protocols, lab.reranking, lab.samplers,
    lab.search, lab.wrappers,
)  # fmt: skip
NUMBER = re.compile(r"(?<![\d.,])0\d\d\b(?!,\d)")


def knobs():
    """Where a knob is declared, and the knob: of every entry of every catalogue, and of every section of a run."""
    for package in CATALOGUES:
        for name in package.names():
            yield from (
                (f"{package.__name__}.{name}", one) for one in describe(package.get(name).Knobs)
            )
    for section in SECTIONS.values():
        for name in section.names() if section.package else (section.name,):
            yield from ((f"{section.name} {name}", one) for one in describe(section.knobs_of(name)))


def sources():
    yield from ((f"{place}.{one.name}", one.source) for place, one in knobs())
    for package in (lab.figures, lab.protocols):
        yield from ((name, package.get(name).source) for name in package.names())
    for name, study in studies().items():
        yield from ((name, gain.source) for gain in study.published)
    yield from ((row.method, row.source) for row in lab.papers.tables.rows())


def test_no_source_is_a_bare_number():
    numbered = [(place, source) for place, source in sources() if NUMBER.search(source)]
    assert not numbered


def test_a_knob_is_explained_in_whole_sentences():
    odd = [
        (place, one.name, one.help)
        for place, one in knobs()
        if not re.fullmatch(r"[A-Z0-9].*\.", one.help)
    ]
    assert not odd


@pytest.mark.parametrize("package", CATALOGUES, ids=lambda package: package.__name__)
def test_no_description_names_a_paper_by_number(package):
    assert not [name for name in package.names() if NUMBER.search(package.get(name).__doc__ or "")]
