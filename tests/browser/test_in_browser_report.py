"""The page to mail in a real browser: read from the file, it asks nobody for anything and fits small screens."""

import pytest

import lab.runs
from lab.report import page


@pytest.fixture(scope="module")
def file(tmp_path_factory, dashboard):
    return page.save(
        [lab.runs.open("recall", dashboard.runs)], tmp_path_factory.mktemp("mailed") / "report.html"
    )


@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_it_is_whole_without_a_server(file, chromium, scheme, width):
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    asked, said = [], []
    opened = context.new_page()
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("console", lambda message: said.append(message.text))
    opened.goto(file.as_uri())
    assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()] and not said
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.evaluate("[...document.images].every(image => image.naturalWidth > 0)")
    ground = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 26)")
    context.close()
