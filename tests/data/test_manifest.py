import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lab
from tests.data.conftest import write_image

ROWS = [
    ("a/1.png", "ant", "train"),
    ("a/2.png", "ant", "train"),
    ("b/1.png", "bee", "train"),
    ("c/1.png", "cat", "test"),
    ("c/2.png", "cat", "test"),
]


@pytest.fixture
def write(tmp_path, image_file):
    """Write a manifest; images named in it are written too unless they are called absent."""

    def written(text: str, name="list.csv", images=True):
        path = tmp_path / name
        path.write_text(text)
        for line in text.splitlines()[1:] if images else ():
            key = line.split(",")[0].strip('" ')
            if key and "absent" not in key:
                image_file(tmp_path / key)
        return str(path)

    return written


def create(path, **knobs):
    return lab.data.create("manifest", path=path, **knobs)


def table(*columns, rows=ROWS):
    return "\n".join([",".join(columns), *(",".join(row[: len(columns)]) for row in rows)]) + "\n"


def test_path_and_label_suffice(write):
    found = create(write(table("path", "label")), test=0.34, validation=0)
    assert found.class_names == ["ant", "bee", "cat"] and len(found) == 5
    assert set(found.splits) == {"train", "test"} and found.super_labels is None
    assert found.load(3).mode == "RGB"


def test_the_split_column_rules(write):
    found = create(write(table("path", "label", "split")), validation=0)
    assert found.splits["train"].query.tolist() == [0, 1, 2] and found.splits[
        "test"
    ].query.tolist() == [3, 4]
    assert found.splits["test"].gallery is None and found.class_disjoint


@pytest.mark.parametrize(
    "text",
    [
        "path,label,split\na,x,train\nb,y,train\nc,z,query\nd,z,gallery\n",
        "path,label,split,query_gallery\na,x,train,\nb,y,train,\nc,z,test,query\nd,z,test,gallery\n",
    ],
)
def test_query_and_gallery(write, text, tmp_path, image_file):
    text = (
        text.replace("\na", "\na.png")
        .replace("\nb", "\nb.png")
        .replace("\nc", "\nc.png")
        .replace("\nd", "\nd.png")
    )
    found = create(write(text), validation=0)
    assert found.splits["test"].query.tolist() == [2] and found.splits["test"].gallery.tolist() == [
        3
    ]
    assert found.splits["test"].items.tolist() == [2, 3]


def test_super_classes_and_further_columns(write):
    text = "path,label,super_class,camera\na.png,ant,insect,one\nb.png,bee,insect,two\nc.png,cat,mammal,one\n"
    found = create(write(text))
    assert found.super_names == ["insect", "mammal"] and found.super_labels.tolist() == [0, 0, 1]
    assert found.attributes["camera"].tolist() == ["one", "two", "one"]


def test_parquet_is_read_alike(write, tmp_path):
    import pyarrow
    import pyarrow.parquet

    plain = create(write(table("path", "label", "split")))
    columns = dict(zip(("path", "label", "split"), map(list, zip(*ROWS, strict=True)), strict=True))
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "list.parquet")
    found = create(str(tmp_path / "list.parquet"))
    assert found.keys == plain.keys and found.labels.tolist() == plain.labels.tolist()


def test_absent_and_broken_images_are_named(write, tmp_path):
    path = write("path,label\nabsent.png,x\na.png,x\nb.png,y\n")
    (tmp_path / "b.png").write_bytes(b"no")
    found = create(path)
    assert found.keys == ["a.png"] and len(found.problems) == 3
    assert (
        "absent.png is missing" in found.problems[0]
        and "b.png is not an image" in found.problems[1]
    )
    assert found.problems[2] == "Class 'y' has no readable image and is left out."


def test_an_image_listed_twice_counts_once(write):
    found = create(write("path,label\na.png,x\na.png,x\nb.png,y\n"))
    assert len(found) == 2 and len(found.problems) == 1
    assert (
        "1 row of list.csv names an image that is listed before, and is left out"
        in found.problems[0]
    )
    assert found.problems[0].endswith("for instance row 2 repeats row 1, a.png.")


SPELLINGS = [
    "{}",
    "./{}",
    ".//{}",
    "sub/../{}",
    "./././{}",
    "{root}/{}",
    "{root}/./{}",
    "{root}/sub/../{}",
    "../{name}/{}",
]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([*SPELLINGS, "to-{}", "linked/{}"])),
        min_size=1,
        max_size=12,
    )
)
def test_a_file_is_one_image_under_every_spelling(tmp_path_factory, rows):
    root = tmp_path_factory.mktemp("spelt")
    (root / "sub").mkdir()
    (root / "linked").symlink_to(".")
    for at in range(4):
        write_image(root / f"{at}.png", (at, 0, 0))
        (root / f"to-{at}.png").symlink_to(f"{at}.png")
    lines = [
        f"{form.format(f'{at}.png', root=root, name=root.name)},class {at}" for at, form in rows
    ]
    (root / "list.csv").write_text("\n".join(["path,label", *lines]))
    found = create(str(root / "list.csv"), test=0, validation=0)
    images = list(dict.fromkeys(at for at, _ in rows))
    assert (
        len(found) == len(images)
        and [found.load(i).getpixel((0, 0))[0] for i in range(len(found))] == images
    )
    repeats = len(rows) - len(images)
    assert (f"{repeats} row" in " ".join(found.problems)) == (repeats > 0)
    for key, (at, form) in zip(
        found.keys, [rows[[at for at, _ in rows].index(one)] for one in images], strict=True
    ):
        assert key == f"{at}.png" if form in SPELLINGS else key.endswith(f"{at}.png")


def test_rows_without_a_label_have_no_class(write, tmp_path):
    import pyarrow
    import pyarrow.parquet

    rows = [*ROWS, ("d/1.png", "", "train"), ("d/2.png", " ", "test")]
    found = create(write(table("path", "label", "split", rows=rows)), validation=0)
    assert found.class_names == ["ant", "bee", "cat"]
    assert found.labelled.tolist() == [True] * 5 + [False] * 2 and found.class_disjoint
    assert found.splits["train"].items.tolist() == [0, 1, 2] and found.splits[
        "test"
    ].items.tolist() == [3, 4, 6]
    assert found.unlabelled_sentence == "2 of 7 images have no class, so they train nothing."
    assert not found.problems
    shared = create(write(table("path", "label", rows=rows), "shared.csv"), test=0.34, validation=0)
    assert not {5, 6} & set(np.concatenate([one.items for one in shared.splits.values()]).tolist())
    numbers = {"path": [row[0] for row in rows], "label": [1, 1, 2, 3, 3, -1, None]}
    pyarrow.parquet.write_table(pyarrow.table(numbers), tmp_path / "list.parquet")
    typed = create(str(tmp_path / "list.parquet"))
    assert (
        typed.class_names == ["1", "2", "3"] and typed.labelled.tolist() == found.labelled.tolist()
    )


def test_a_negative_number_as_text_is_a_class_and_is_told(write):
    found = create(write("path,label\na.png,x\nb.png,-1\n"), test=0, validation=0)
    assert (
        found.class_names == ["x", "-1"]
        and "leave the cell empty for no class" in found.classes_sentence
    )


def test_an_image_with_and_without_a_label_is_refused(write):
    with pytest.raises(ValueError, match="row 2: a.png has no label, but the label 'x' in row 1"):
        create(write("path,label\na.png,x\na.png,\n"))


def test_two_labels_under_two_spellings_are_both_said(tmp_path, image_file):
    image_file(tmp_path / "a.png")
    (tmp_path / "list.csv").write_text(f"path,label\na.png,x\n{tmp_path}/a.png,y\n")
    with pytest.raises(
        ValueError, match="row 2: a.png has the label 'y', but the label 'x' in row 1"
    ):
        create(str(tmp_path / "list.csv"))


def test_a_backslash_separates_folders_unless_a_file_is_called_so(tmp_path, image_file):
    for name in ("a/1.png", "b\\1.png"):
        image_file(tmp_path / name)
    (tmp_path / "list.csv").write_text("path,label\na\\1.png,x\nb\\1.png,y\n")
    assert create(str(tmp_path / "list.csv"), test=0, validation=0).keys == ["a/1.png", "b\\1.png"]


def test_corrections_know_an_image_under_every_spelling(write, tmp_path):
    path = write(table("path", "label"))
    (tmp_path / "own.csv").write_text(f"image,label\n./a/1.png,\n{tmp_path}/a/2.png,bee\n")
    found = create(path, test=0, validation=0, corrections=str(tmp_path / "own.csv"))
    assert found.splits["train"].items.tolist() == [1, 2, 3, 4] and found.labels[1] == 1
    (tmp_path / "own.csv").write_text("image,label\na/1.png,bee\n./a/1.png,cat\n")
    with pytest.raises(
        ValueError, match="a/1.png under two spellings, with two labels: 'bee' and 'cat'"
    ):
        create(path, test=0, validation=0, corrections=str(tmp_path / "own.csv"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty; its first line names its columns"),
        ("path\na.png\n", "no column 'label'; its columns: path"),
        ("path,label\n", "has no rows"),
        ("path,label\na.png\n", "line 2: 1 values for 2 columns"),
        ("path,label,label\na.png,x,y\n", "two columns of one name"),
        (
            "path,label\na.png,\n",
            "every cell of the column label is empty, so no image has a class",
        ),
        ("path,label,split\na.png,x,exam\n", "row 1: split is 'exam', not one of train"),
        (
            "path,label,split,query_gallery\na.png,x,test,both\n",
            "query_gallery is 'both', not one of query, gallery",
        ),
        ("path,label,query_gallery\na.png,x,query\n", "but no column split"),
        ("path,label,split,query_gallery\na.png,x,query,query\n", "use one"),
        ("path,label,split\na.png,x,query\nb.png,x,query\n", "2 queries, 0 gallery images"),
        (
            "path,label,split\na.png,x,query\nb.png,x,gallery\nc.png,x,test\n",
            "1 images that are neither",
        ),
        (
            "path,label\na.png,x\na.png,y\n",
            "row 2: a.png has the label 'y', but the label 'x' in row 1",
        ),
        ("path,label\nabsent.png,x\n", "None of the 1 images"),
        ("path,label,super_class\na.png,x,\n", "super_class is empty"),
        ('path,label\n"a.png,x\n', "not well-formed CSV"),
    ],
)
def test_bad_manifests_get_a_sentence(write, text, sentence):
    with pytest.raises(ValueError, match=sentence):
        create(write(text))


@pytest.mark.parametrize(
    ("columns", "first", "second", "sentence"),
    [
        (
            "path,label,split",
            "a/1.png,ant,train",
            "./a/1.png,ant,test",
            "the split 'test', but the split 'train' in row 1",
        ),
        (
            "path,label,super_class",
            "a/1.png,ant,x",
            "./a/1.png,ant,y",
            "the super-class 'y', but the super-class 'x'",
        ),
        ("path,label", "a/1.png,ant", "a/1.png,", "no label, but the label 'ant' in row 1"),
    ],
)
def test_an_image_of_which_two_rows_say_two_things_is_refused(
    write, columns, first, second, sentence
):
    rest = {"split": "b/1.png,bee,train", "super_class": "b/1.png,bee,x"}.get(
        columns.split(",")[-1], "b/1.png,bee"
    )
    with pytest.raises(ValueError, match=f"row 2: a/1.png has {sentence}"):
        create(write("\n".join([columns, first, second, rest]) + "\n"))


def test_classes_that_look_alike_are_named(write):
    found = create(write("path,label\na/1.png,Ant\na/2.png,ant\n"))
    assert "'Ant' and 'ant' are two classes" in found.classes_sentence


def test_columns_may_be_in_capitals(write):
    small = create(write(table("path", "label", "split")), validation=0)
    large = create(write(table("Path", "LABEL", "Split"), name="capitals.csv"), validation=0)
    assert large.keys == small.keys and not large.attributes
    assert large.splits["test"].query.tolist() == small.splits["test"].query.tolist() == [3, 4]
    with pytest.raises(ValueError, match="two columns 'split' that differ in capitals alone"):
        create(write("path,label,Split,SPLIT\na/1.png,ant,train,test\n", name="both.csv"))
