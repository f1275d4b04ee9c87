"""Tables of names: what separates cells, what a cell says, and what is refused."""

import csv
import datetime
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.core import tables
from lab.core.formats import plain_cell

ODD = [
    "01",
    "1",
    "001",
    "1.0",
    "1e5",
    "100000",
    "0x10",
    "16",
    "NA",
    "nan",
    "null",
    "None",
    "TRUE",
    "True",
    "2020-01-02",
]
ODD += [
    "12345678901234567890",
    "12345678901234567891",
    "1_0",
    "-1",
    "=1",
    "'=1",
    "a;b",
    "a,b",
    "a\tb",
    'a"b',
    "ä",
    "",
]


def written(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def labels_of(path, name="label"):
    return tables.names(tables.read(path)[name], name)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_every_odd_name_is_read_as_it_stands(tmp_path, delimiter, ends, mark):
    out = io.StringIO()
    out.write(mark)
    rows = csv.writer(out, delimiter=delimiter, lineterminator=ends, quoting=csv.QUOTE_MINIMAL)
    rows.writerow(["label", "at"])
    rows.writerows([name, at] for at, name in enumerate(ODD))
    assert labels_of(written(tmp_path / "t.csv", out.getvalue())) == ODD


def test_what_separates_the_cells_is_found(tmp_path):
    for text, columns in (
        ("label\na\nb\n", ["label"]),
        ("label\na;b\nb;c\n", ["label"]),
        ("id;label\n1;x,y\n2;z\n", ["id", "label"]),
        ('"last, first";label\n"Smith, J";a\n', ["last, first", "label"]),
        ("last, first;label\nSmith, J;a\nDoe, J;b\n", ["last, first", "label"]),
        ("sep=;\na;b\n1;2\n", ["a", "b"]),
        ("a\tb\n1\t2\n", ["a", "b"]),
        ("label,tags\na,x;y\nb,z\n", ["label", "tags"]),
        ("label,,\na,,\n", ["label"]),
        (",label\n0,a\n", ["column 1", "label"]),
    ):
        assert list(tables.read(written(tmp_path / "t.csv", text))) == columns, text


def test_an_empty_cell_alone_says_nothing(tmp_path):
    assert labels_of(written(tmp_path / "t.csv", "label\na\n\n   \nb\n\n\n")) == ["a", "", "", "b"]
    assert labels_of(written(tmp_path / "t.csv", 'label,x\n,1\n"",2\n  ,3\n\n\nNA,4\n')) == [
        "",
        "",
        "",
        "NA",
    ]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty; its first line names its columns"),
        (b"\n\n", "is empty"),
        (
            b"a,b\n1,2\n1,2,3\n",
            r"line 3: 3 values for 2 columns\. A cell that holds ',' needs quotes",
        ),
        (b'a,b\n"1\n1",2\n1\n', "line 4: 1 values for 2 columns"),
        (b"a;b\n1;2\n1\n", "line 3: 1 values for 2 columns"),
        (b"a,a\n1,2\n", "two columns of one name, 'a'"),
        (b'a,b\n"1,2\n', "not well-formed CSV"),
        (
            "a,b\nx,caf\u00e9\n".encode("latin-1"),
            r"not UTF-8 text \(line 2, byte 0xe9\).*iconv -f WINDOWS-1252 -t UTF-8",
        ),
        ("a,b\n1,2\n".encode("utf-16"), "is text in UTF-16.*iconv -f UTF-16"),
        ("a,b\n1,2\n".encode("utf-16-le"), "zero byte"),
        (b"a,b\n1,\0\n", "line 2 holds a zero byte"),
    ],
)
def test_what_is_no_table_gets_a_sentence(tmp_path, content, sentence):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        tables.read(path)


def test_columns_that_have_types(tmp_path):
    day = datetime.date(2020, 1, 2)
    for values, names in (
        (pd.Series([1, 2, 1]), ["1", "2", "1"]),
        (pd.Series([1, None, 2]), ["1", "", "2"]),
        (pd.Series([1.0, 2.0]), ["1.0", "2.0"]),
        (pd.Series([1.5, 2.0, None]), ["1.5", "2.0", ""]),
        (pd.Series([1, None], dtype="Int64"), ["1", ""]),
        (pd.Series(["01", "1", None]), ["01", "1", ""]),
        (pd.Series([1, "01", None, 2.5, "nan"], dtype=object), ["1", "01", "", "2.5", "nan"]),
        (pd.Series(["b", "a", None], dtype="category"), ["b", "a", ""]),
        (pd.Series([day, None]), ["2020-01-02", ""]),
        (pd.to_datetime(pd.Series(["2020-01-02", None])), ["2020-01-02", ""]),
        (pd.Series([True, False]), ["True", "False"]),
        (
            np.array([2**63 + 1, 2**63 + 2], np.uint64),
            ["9223372036854775809", "9223372036854775810"],
        ),
        (np.array(["01", "1"]), ["01", "1"]),
        (np.array([b"\xff", b"\xfe"]), ["\\xff", "\\xfe"]),
        (np.array([0.1], np.float32), ["0.1"]),
    ):
        assert tables.names(values, "labels") == names, values
        if isinstance(values, pd.Series) and values.dtype != object:
            frame = pa.Table.from_pandas(pd.DataFrame({"label": values}))
            pyarrow.parquet.write_table(frame, tmp_path / "t.parquet")
            pyarrow.feather.write_feather(frame, tmp_path / "t.feather")
            assert labels_of(tmp_path / "t.parquet") == labels_of(tmp_path / "t.feather") == names


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_ids_that_were_rounded_to_numbers_are_refused(kind):
    ids = np.array([2**53, 1] if kind is np.float64 else [2**24, 1], kind)
    with pytest.raises(
        ValueError, match="several names may have become one; read that column as text"
    ):
        tables.names(ids, "labels")
    assert tables.names(ids, "price", exact=False)
    assert tables.names(np.array([2**24 - 1, 0.5], kind), "labels")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(ODD),
            st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S"))),
        )
    )
)
def test_a_table_that_we_write_is_read_back(tmp_path_factory, names):
    path = tmp_path_factory.getbasetemp() / "back.csv"
    names = [name.strip() for name in names if "\t" not in name]
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerows(
            [["label", "at"], *([plain_cell(name), at] for at, name in enumerate(names))]
        )
    assert tables.read(path)["label"] == names


NUMBERS = [
    *(
        "0.5",
        "-0",
        "+1",
        " 2 ",
        "1e-3",
        "1E5",
        ".5",
        "5.",
        "1e-400",
        "1e400",
        "3.4028236e38",
        "16777217",
    ),
    *("0.1000000014901161193847656", "123456789012345678901234567890", "2.2250738585072011e-308"),
    *(
        "nan",
        "NaN",
        "-inf",
        "Infinity",
        "nan(1)",
        "0x10",
        "1_0",
        "1,5",
        "1 000",
        "\u0661",
        "\u00a07",
        "",
        " ",
    ),
    *("true", "1f", "--1", '"0.25"', '" 0.25"', '"1""0"', '0"1'),
]
LABELS = [
    "007",
    "7",
    "NA",
    "null",
    "",
    " x ",
    '"a,b"',
    '"a""b"',
    '"a\nb"',
    'a"b',
    '"a"b',
    "\ufeffz",
    "=1",
    "nan",
]


def read_or_refused(path, choose):
    try:
        found = tables.read_text(path, choose)
    except ValueError as error:
        return str(error)
    numbers = (
        None
        if found.numbers is None
        else (found.numbers.dtype, found.numbers.shape, found.numbers.tobytes())
    )
    return found.columns, numbers


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    data=st.data(),
    plain=st.booleans(),
    delimiter=st.sampled_from([",", ";", "\t"]),
    ends=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_blocks_of_numbers_are_read_as_single_rows_are(
    tmp_path_factory, data, plain, delimiter, ends
):
    """Odd cells, short and blank lines: pyarrow's reader and Python's give the same to the last bit, or refuse both."""
    path = tmp_path_factory.getbasetemp() / "blocks.csv"
    number = st.floats(width=64, allow_nan=False, allow_infinity=False).map(repr)
    if not plain:
        number = st.one_of(number, number, st.sampled_from(NUMBERS))
    label = (
        st.sampled_from(LABELS)
        if not plain
        else st.sampled_from(["007", "7", "NA", "", " x ", '"a""b"', "=1"])
    )
    row = st.tuples(label, number, number).map(delimiter.join)
    if not plain:
        row = st.one_of(row, row, row, st.sampled_from(["", "  ", "a", delimiter * 3]))
    rows = data.draw(st.lists(row, max_size=8))
    header = data.draw(st.sampled_from([["label", "v0", "v1"], ["", "v0", "v1"]]))
    path.write_bytes(ends.join([delimiter.join(header), *rows, ""]).encode())

    def choose(first):
        return None, ["v0", "v1"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lab.core.number_blocks.BLOCK", data.draw(st.sampled_from([1, 20, 1 << 22])))
        in_blocks = read_or_refused(path, choose)
        patch.setattr(tables, "read_block", lambda *_: None)
        patch.setattr("lab.core.number_blocks.BLOCK", 1 << 22)
        singly = read_or_refused(path, choose)
    assert in_blocks == singly


def test_plain_numbers_are_read_in_blocks(monkeypatch, tmp_path):
    """The rows of a usual file, and of one that quotes its labels, never pass through the slow reader."""

    def refuse(*_):
        raise AssertionError("read one by one")

    monkeypatch.setattr(tables, "_numbers", refuse)
    for quote in ("", '"'):
        lines = [f"{quote}label{quote},v0,v1"] + [
            f"{quote}00{row % 3}{quote},{row / 7},{-row}" for row in range(50)
        ]
        path = written(tmp_path / "t.csv", "\n".join(lines) + "\n")
        found = tables.read_text(path, lambda first: (None, ["v0", "v1"]))
        expected = np.array([[row / 7, -row] for row in range(50)]).astype(np.float32)
        assert found.columns == {"label": [f"00{row % 3}" for row in range(50)]}
        assert found.numbers.tobytes() == expected.tobytes()


def test_classes_that_look_alike_are_named():
    for one, other in (
        ("Bags", "bags"),
        ("\u00e9", "e\u0301"),
        ("a b", "a\u00a0 b"),
        ("a", "\u200ba"),
        ("1", "\uff11"),
    ):
        sentence = tables.alike_sentence([one, "lamps", other])
        assert sentence.endswith(
            "are two classes that differ in capitals, blanks or the form of letters alone"
        )
        assert "lamps" not in sentence
    assert tables.alike_sentence(["01", "1", "001", "a", "b"]) == ""


def test_vertical_bars_separate_cells(tmp_path):
    (tmp_path / "t.csv").write_text("label|id\n01|a\n1|b\n")
    assert tables.read(tmp_path / "t.csv") == {"label": ["01", "1"], "id": ["a", "b"]}
    (tmp_path / "one.csv").write_text("label\na|b\nc|d\n")
    assert tables.read(tmp_path / "one.csv") == {"label": ["a|b", "c|d"]}
