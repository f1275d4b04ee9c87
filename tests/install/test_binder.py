"""The files for Binder bring what the tutorials need, and nothing with CUDA."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
RENAMED = {"torch": "pytorch-cpu", "faiss-gpu": "faiss-cpu"}
# the former draws stills with a browser, which a Binder has not
LEFT_OUT = {
    "kaleido",
    "rankscope",
}


def names(requirements) -> set[str]:
    return {re.match(r"[\w.-]+", one)[0] for one in requirements if isinstance(one, str)}


def test_binder_brings_what_the_tutorials_need():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = names([*project["dependencies"], *extras["train"], *extras["notebooks"]]) - LEFT_OUT
    needed = {RENAMED.get(one, one) for one in wanted}
    conda = yaml.safe_load((ROOT / ".binder" / "environment.yml").read_text())["dependencies"]
    brought = names(conda) | names(next(one["pip"] for one in conda if isinstance(one, dict)))
    assert needed <= brought
    assert not brought & {"faiss-gpu", "streamlit"}


def test_its_bounds_are_those_of_the_light_installation():
    light, binder = (
        {
            one
            for one in yaml.safe_load((ROOT / path).read_text())["dependencies"]
            if isinstance(one, str)
        }
        for path in ("environment-light.yml", ".binder/environment.yml")
    )
    own = {
        one for one in binder - light if re.match(r"(jupyterlab|ipy\w+|anywidget|nbconvert)\b", one)
    }
    assert binder - light == own
