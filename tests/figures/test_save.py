"""Static pictures, and what is said where none can be made."""

import os
import re
import shutil

import pytest

import lab.figures
from lab.figures import saving

BROWSER = os.environ.get("BROWSER_PATH") or next(
    filter(None, map(shutil.which, saving.BROWSERS)), None
)


def test_html_needs_no_browser_to_be_made_and_no_network_to_be_read(tmp_path):
    page = lab.figures.save("precision_counter", tmp_path / "figure.html", missing=2).read_text(
        encoding="utf-8"
    )
    assert page.count("plotly") > 1
    tags = re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", page)
    assert tags and not [tag for tag in tags if "src=" in tag or "href=" in tag]


def test_unknown_suffix_is_named(tmp_path):
    with pytest.raises(ValueError, match="png, svg, pdf, webp, jpeg or html.*'gif'"):
        lab.figures.save("h_minus", tmp_path / "h.gif")


def test_a_missing_browser_is_explained(tmp_path, monkeypatch):
    import kaleido

    def refuse(*args, **kwargs):
        raise RuntimeError("no chrome")

    monkeypatch.setattr(kaleido, "calc_fig_sync", refuse)
    with pytest.raises(
        ValueError, match="needs kaleido .* and a Chrome or Chromium browser.*BROWSER_PATH"
    ):
        lab.figures.save("h_minus", tmp_path / "h.png")


@pytest.mark.browser
@pytest.mark.skipif(not BROWSER, reason="no Chrome or Chromium on this machine to draw a PNG with")
def test_png_has_the_size_asked_for(tmp_path):
    from PIL import Image

    written = lab.figures.save("h_minus", tmp_path / "h.png", width=700)
    with Image.open(written) as picture:
        assert picture.width == 1400, "twice the asked width, for sharp screens"
        assert len(picture.convert("L").getcolors()) > 20
