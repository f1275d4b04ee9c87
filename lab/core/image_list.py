"""What a list of images holds (images.json of a run); `lab.data.images.listing` writes it and makes data sets of it."""

from __future__ import annotations

from typing import Annotated, Any, Required

from pydantic import BeforeValidator, Field, Strict

from lab.core.stored import Count, Few, Fields, Flag, Stored, Text, Texts


def _plain(value: Any) -> Any:
    if not (value is None or isinstance(value, str | int | float)):
        raise ValueError("must be a number or text")
    return value


Items = Annotated[list[Count], Field(fail_fast=True)]
"""Numbers of images, or of classes, from 0."""
Labels = Annotated[list[Annotated[int, Strict(), Field(ge=-1, le=2**53)]], Field(fail_fast=True)]
"""Numbers of classes from 0; -1 of an image without a class."""
Attribute = Annotated[list[Annotated[Any, BeforeValidator(_plain)]], Field(fail_fast=True)]

PICTURES = "pictures"
"""The folder of a run's own pictures; a list with this root means the one in the run folder, wherever that lies."""


class ImageList(Stored, total=False):
    """A list of n images in c classes.

    data: the configuration that it was made by. root: the folder that keys are relative to. keys: n. labels: n numbers
    of classes, -1 for none. class_names: c. super_labels: n, or None. attributes: name to n values. splits: name to
    the numbers of its queries and of its gallery, or None. problems: sentences on what was left out.
    """

    data: Fields
    root: Required[Text | None]
    class_disjoint: Required[Flag]
    keys: Required[Texts]
    labels: Required[Labels]
    class_names: Required[Texts]
    super_labels: Required[Labels | None]
    super_names: Required[Texts]
    attributes: Required[Annotated[dict[Text, Attribute], Few]]
    splits: Required[
        Annotated[dict[Text, Annotated[list[Items | None], Field(min_length=2, max_length=2)]], Few]
    ]
    problems: Required[Texts]
