"""Vectors from elsewhere: every format, what stands beside them, and what is refused."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import torch
from PIL import Image

import lab
from lab.__main__ import main
from lab.runs.check import check

LABELS = [f"class {i // 4}" for i in range(32)]
KEYS = [f"image {i}" for i in range(32)]


@pytest.fixture
def vectors():
    """float32 [32 6], unit rows around eight directions."""
    random = np.random.default_rng(0)
    rows = np.repeat(random.normal(size=(8, 6)), 4, axis=0) + 0.3 * random.normal(size=(32, 6))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def imported(tmp_path, *given, **more):
    return lab.runs.from_embeddings(*given, runs=tmp_path / "runs", **more)


def nothing_left(tmp_path):
    return not (tmp_path / "runs").exists() or not any((tmp_path / "runs").iterdir())


def write_npy(path, vectors):
    np.save(path / "it.npy", vectors)
    pa.parquet.write_table(pa.table({"key": KEYS, "label": LABELS}), path / "about.parquet")
    return path / "it.npy", path / "about.parquet"


def write_npz(path, vectors):
    np.savez(path / "it.npz", embeddings=vectors, labels=LABELS, keys=KEYS)
    return path / "it.npz", None


def write_safetensors(path, vectors):
    from safetensors.numpy import save_file

    numbers = {"embeddings": vectors, "labels": np.arange(32) // 4}
    save_file(numbers, path / "it.safetensors", {"keys": json.dumps(KEYS)})
    return path / "it.safetensors", None


def arrow(vectors):
    return pa.table(
        {"key": KEYS, "embedding": list(vectors), "class": LABELS, "colour": ["red", "green"] * 16}
    )


def write_parquet(path, vectors):
    pa.parquet.write_table(arrow(vectors), path / "it.parquet", row_group_size=10)
    return path / "it.parquet", None


def write_feather(path, vectors):
    pa.feather.write_feather(arrow(vectors), path / "it.feather", compression="uncompressed")
    return path / "it.feather", None


def write_csv(path, vectors):
    lines = ["id,label," + ",".join(f"v{i}" for i in range(6))]
    lines += [
        f"{k},{c}," + ",".join(map(str, v)) for k, c, v in zip(KEYS, LABELS, vectors, strict=True)
    ]
    (path / "it.csv").write_text("\n".join(lines))
    return path / "it.csv", None


def write_csv_of_lists(path, vectors):
    arrow = pa.table(
        {"key": KEYS, "vector": [json.dumps(v.tolist()) for v in vectors], "label": LABELS}
    )
    pyarrow.csv.write_csv(arrow, path / "it.csv")
    return path / "it.csv", None


def write_faiss(path, vectors):
    import faiss

    index = faiss.index_factory(6, "IVF4,Flat", faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add(vectors)
    faiss.write_index(index, str(path / "it.faiss"))
    (path / "about.csv").write_text(
        "\n".join(["key,label", *(f"{k},{c}" for k, c in zip(KEYS, LABELS, strict=True))])
    )
    return path / "it.faiss", path / "about.csv"


WRITERS = [write for name, write in dict(globals()).items() if name.startswith("write_")]


@pytest.mark.parametrize("write", WRITERS, ids=lambda one: one.__name__.removeprefix("write_"))
def test_a_file_becomes_a_run_like_any_other(tmp_path, vectors, write):
    file, about = write(tmp_path, vectors)
    run = imported(tmp_path, file, metadata=about)
    embedded, images = run.embeddings(), run.dataset()
    np.testing.assert_allclose(embedded.vectors, vectors, atol=1e-6)
    assert [images.keys[i] for i in embedded.items] == KEYS
    assert len(set(embedded.labels.tolist())) == 8 and (embedded.labels == np.arange(32) // 4).all()
    assert run.state == "finished" and run.scores()["values"]["r@1"] > 0.5 and not check(run)
    assert lab.runs.open("it", tmp_path / "runs").origin().words == "made elsewhere"


def test_the_table_of_an_index_with_ids_is_joined_by_them_and_other_keys_are_refused(
    tmp_path, vectors
):
    import faiss

    index = faiss.index_factory(6, "IDMap,Flat", faiss.METRIC_INNER_PRODUCT)
    ids = np.arange(100, 132)[::-1].copy()
    index.add_with_ids(vectors, ids)
    faiss.write_index(index, str(tmp_path / "it.index"))
    of_id = {str(number): LABELS[row] for row, number in enumerate(ids)}
    table = {"key": sorted(of_id), "label": [of_id[key] for key in sorted(of_id)]}
    run = imported(tmp_path, tmp_path / "it.index", metadata=table)
    images = run.dataset()
    assert [images.class_name(label) for label in run.embeddings().labels] == LABELS
    with pytest.raises(ValueError, match="'131' is not among those of the table"):
        imported(
            tmp_path, tmp_path / "it.index", metadata={"key": KEYS, "label": LABELS}, name="other"
        )


@pytest.mark.parametrize("kind", ["frame", "arrow", "tensor", "bfloat16", "lists"])
def test_what_is_in_memory(tmp_path, vectors, kind):
    if kind in ("frame", "arrow"):
        table = arrow(vectors)
        run = imported(tmp_path, table.to_pandas() if kind == "frame" else table)
        assert run.dataset().attributes["colour"][:2].tolist() == ["red", "green"]
    else:
        made = {
            "tensor": torch.tensor(vectors),
            "bfloat16": torch.tensor(vectors).bfloat16(),
            "lists": vectors.tolist(),
        }
        run = imported(tmp_path, made[kind], LABELS, normalise=True)
    np.testing.assert_allclose(
        run.embeddings().vectors, vectors, atol=1e-2 if kind == "bfloat16" else 1e-6
    )
    assert run.scores()["queries"] == 32


def test_roles_splits_and_super_classes(tmp_path, vectors):
    roles, split = ["query", "gallery"] * 16, ["test"] * 16 + ["val"] * 16
    supers = ["big", "small"] * 16
    run = imported(
        tmp_path, vectors, LABELS, keys=KEYS, roles=roles, split=split, super_classes=supers
    )
    assert run.splits == ("test", "validation")
    assert run.embeddings("test").items.tolist() == list(range(0, 16, 2))
    assert run.embeddings("validation", "gallery").items.tolist() == list(range(17, 32, 2))
    assert run.dataset().super_names == ["big", "small"]


def test_what_has_no_class_is_no_true_match(tmp_path, vectors):
    labels = [None, "", float("nan"), *LABELS[3:]]
    run = imported(tmp_path, vectors, labels)
    assert run.scores()["excluded"] == 4  # and image 3, which is alone now
    assert "3 rows without a class" in run.status["sentence"] and not check(run)
    alone = imported(tmp_path, vectors[3:], LABELS[3:], name="alone")
    assert run.scores()["values"] == alone.scores()["values"] and run.scores()["left_out"] == 3
    images = run.dataset()
    assert (
        images.labelled.tolist() == [False] * 3 + [True] * 29
        and images.class_name(images.labels[0]) == ""
    )
    assert (
        run.embeddings().labelled.tolist() == images.labelled.tolist()
        and "" not in images.class_names
    )
    numbers = imported(tmp_path, vectors, [-1, -1, *range(2, 32)], name="numbers")
    assert (
        len(numbers.dataset().class_names) == 30 and numbers.scores() is None and not check(numbers)
    )
    assert numbers.embeddings().labelled.sum() == 30


def test_an_export_says_no_class_and_comes_back_with_none(tmp_path, vectors):
    run = imported(tmp_path, vectors, [None, *LABELS[1:]])
    for name, file in (("csv", "it.csv"), ("parquet", "it.parquet")):
        path = lab.exporters.create(name).export(run, tmp_path / file)
        back = lab.runs.from_embeddings(path, name=name, runs=tmp_path / "runs")
        assert back.embeddings().labelled.tolist() == [False] + [True] * 31
        assert back.scores()["values"] == pytest.approx(run.scores()["values"])


def test_distractors_are_a_setting_of_the_evaluation(tmp_path, vectors):
    labels = [None if row % 3 == 0 else label for row, label in enumerate(LABELS)]
    run = imported(tmp_path, vectors, labels)
    left_out = run.scores()["values"]
    words = ["evaluate", str(run.path), "--evaluation.distractors", "--metrics", "map_at_r"]
    assert main(words) == 0
    kept = lab.evaluate(vectors, labels, "map_at_r", distractors=True).values
    assert run.scores()["values"] == pytest.approx(kept) and run.scores()["left_out"] == 0
    assert kept["MAP@R"] < left_out["MAP@R"]


def test_the_command_says_what_is_left_out(tmp_path, vectors, capsys):
    np.save(tmp_path / "v.npy", vectors)
    lines = [f"{label if row % 2 else ''},{row}" for row, label in enumerate(LABELS)]
    (tmp_path / "t.csv").write_text("\n".join(["label,row", *lines]))
    words = [
        "import",
        str(tmp_path / "v.npy"),
        "--table",
        str(tmp_path / "t.csv"),
        "--runs",
        str(tmp_path),
    ]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "16 of 32 gallery images have no class; they are left out of every score." in told


def test_lengths_are_kept_or_brought_to_one(tmp_path, vectors):
    run = imported(tmp_path, 3 * vectors, LABELS, normalise=False, name="kept")
    assert run.config.similarity == "euclidean" and run.config_of().similarity == "euclidean"
    np.testing.assert_allclose(run.embeddings().vectors, 3 * vectors)
    run = imported(tmp_path, 3 * vectors, LABELS, normalise=True, name="unit")
    np.testing.assert_allclose(run.embeddings().vectors, vectors, atol=1e-6)


def test_an_export_comes_back_and_is_compared_with_its_run(tmp_path, train_tiny, capsys):
    root = tmp_path / "runs"
    trained = train_tiny(root, "trained")
    file = lab.exporters.create("parquet", splits=("test",)).export(
        trained, tmp_path / "out.parquet"
    )
    words = [
        "import",
        str(file),
        "--like",
        "trained",
        "--name",
        "back",
        "--runs",
        str(root),
        "--json",
    ]
    assert main(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["scores"]["test"] == pytest.approx(trained.scores()["values"])
    back = lab.runs.open("back", root)
    assert back.config.data == trained.config.data and np.array_equal(
        back.embeddings().items, trained.embeddings().items
    )
    rows = trained.embeddings().vectors
    for name in ("csv", "faiss"):
        place = lab.exporters.create(name).export(trained, tmp_path / f"it.{name}")
        run = lab.runs.from_embeddings(place, like=trained, name=name, runs=root)
        np.testing.assert_array_equal(run.embeddings().vectors, rows)
    in_order = lab.runs.from_embeddings(rows, like=trained, name="in-order", runs=root)
    assert in_order.scores()["values"] == pytest.approx(trained.scores()["values"])
    assert main(["runs", "report", *(str(root / n) for n in ("trained", "back"))]) == 0
    assert main(["runs", "check", "back", "--runs", str(root)]) == 0
    assert (
        main(["evaluate", "back", "--metrics", "mean_average_precision", "--runs", str(root)]) == 0
    )
    assert "mAP" in back.scores()["values"]
    for words, why in (
        (["--evaluation.beta", "0.5"], "evaluation.beta cannot be changed; leave it out"),
        (["--evaluation.search", "two_stage"], "needs class anchors, which this run has not"),
    ):
        assert main(["evaluate", "back", *words, "--runs", str(root)]) == 2
        assert why in capsys.readouterr().err
    with pytest.raises(ValueError, match="made elsewhere|no checkpoint"):
        lab.exporters.create("torch").export(back, tmp_path / "no.pt2")


def test_pictures_are_found_below_the_root(tmp_path, pictures, vectors):
    paths = sorted(pictures.glob("class0[0-7]/*.png"))
    run = imported(tmp_path, vectors, LABELS, paths, name="absolute")
    assert run.dataset().load(5).size == (20, 20)
    keys = [p.relative_to(pictures).as_posix() for p in paths]
    run = imported(tmp_path, vectors, LABELS, keys=keys, root=pictures, name="relative")
    assert run.dataset().keys == keys and run.dataset().load(5).size == (20, 20)
    assert run.dataset().root == pictures


BAD = {
    "labels": (lambda v, p: ((v, LABELS[:5]), {}), "32 vectors, but 5 values of labels"),
    "pictures": (lambda v, p: ((v, LABELS, ["no.png"] * 31), {}), "32 vectors, but 31 pictures"),
    "metadata": (lambda v, p: ((v,), {"metadata": {"colour": ["red"]}}), "1 values of colour"),
    "missing": (lambda v, p: ((v, LABELS, [f"{i}.png" for i in range(32)]), {"root": p}), "32 of 32 pic.* missing"),
    "nan": (lambda v, p: ((np.where(np.arange(32)[:, None] == 7, np.nan, v),), {}), "Row 7 of the vectors holds NaN"),
    "zero": (lambda v, p: ((np.where(np.arange(32)[:, None] == 7, 0, v),), {"normalise": True}), "Row 7 .* is zero"),
    "type": (lambda v, p: ((np.arange(64).reshape(32, 2),), {}), "of type int64"),
    "ragged": (lambda v, p: (([[1.0], [1.0, 2.0]],), {}), "several lengths"),
    "empty": (lambda v, p: ((v[:0],), {}), "no vectors"),
    "keys": (lambda v, p: ((v,), {"keys": ["same"] * 32}), "Rows 0 and 1 have the same key"),
    "role column": (lambda v, p: ((v,), {"metadata": {"query_gallery": ["both"] * 32}}), "32 images that are neither"),
    "lengths": (lambda v, p: ((2 * v,), {}), "length 2 instead of 1; say whether"),
    "split": (lambda v, p: ((v,), {"split": "tset"}), "'tset', not one of"),
    "no query": (lambda v, p: ((v,), {"roles": ["gallery"] * 32}), "0 queries, 32 gallery images"),
    "column": (lambda v, p: ((arrow(v), "species"), {}), "no column 'species'"),
    "name": (lambda v, p: ((v,), {"name": "../up"}), "name is up to 100"),
    "no file": (lambda v, p: ((p / "no.npy",), {}), "There is no file"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_used_is_one_sentence_and_leaves_nothing(tmp_path, vectors, case):
    make, sentence = BAD[case]
    given, more = make(vectors, tmp_path)
    with pytest.raises(ValueError, match=sentence):
        imported(tmp_path, *given, **more)
    assert nothing_left(tmp_path)


def damaged(path):
    np.save(path / "pickled.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.savez(path / "pickled.npz", vectors=np.array([{}], dtype=object))
    np.savez(path / "two.npz", a=np.ones((2, 2)), b=np.ones((2, 2)))
    for suffix in (".npy", ".npz", ".safetensors", ".parquet", ".feather", ".csv", ".faiss"):
        (path / f"noise{suffix}").write_bytes(bytes(range(256)) * 4)
        (path / f"nothing{suffix}").write_bytes(b"")
    (path / "odd.xyz").write_bytes(b"x")
    (path / "columns.csv").write_text("a,b\n1,2\n")
    (path / "folder").mkdir()
    return sorted(path.iterdir())


def test_files_that_cannot_be_read_are_one_sentence(tmp_path, capsys):
    (tmp_path / "bad").mkdir()
    for file in damaged(tmp_path / "bad"):
        with pytest.raises(ValueError, match=r"\.$"):
            imported(tmp_path, file)
        assert main(["import", str(file), "--runs", str(tmp_path / "runs")]) != 0
        told = capsys.readouterr().err
        assert (
            told.startswith("lab: ") and "Traceback" not in told and len(told.splitlines()) == 1
        ), told
    assert nothing_left(tmp_path)
    with pytest.raises(ValueError, match="pickled Python objects"):
        imported(tmp_path, tmp_path / "bad" / "pickled.npy")


def test_the_command_counts_both_parts_and_says_why_nothing_is_measured(tmp_path, vectors, capsys):
    np.save(tmp_path / "v.npy", vectors)
    (tmp_path / "t.csv").write_text(
        "label,query_gallery\n" + "".join(f"{c},gallery\n{c},query\n" for c in range(16))
    )
    words = ["import", str(tmp_path / "v.npy"), "--runs", str(tmp_path / "runs")]
    assert main([*words, "--table", str(tmp_path / "t.csv")]) == 0
    assert "16 queries and a gallery of 16 in the test split" in capsys.readouterr().out
    assert main(words) == 0 and "measured: the rows have no labels" in capsys.readouterr().out
    assert main([*words, "--table", str(tmp_path / "t.csv"), "--no-measure"]) == 0
    assert "Nothing was measured; `lab evaluate" in capsys.readouterr().out


def test_tensors_pairs_and_tables_without_names(tmp_path, vectors, capsys):
    torch.save({"vectors": torch.from_numpy(vectors), "labels": LABELS}, tmp_path / "held.pt")
    torch.save(torch.from_numpy(vectors), tmp_path / "bare.pt")
    np.save(tmp_path / "X.npy", vectors)
    np.save(tmp_path / "y.npy", np.unique(LABELS, return_inverse=True)[1])
    np.savetxt(tmp_path / "rows.tsv", vectors, delimiter="\t")
    expected = imported(tmp_path, vectors, LABELS, name="expected").scores()["values"]["MAP@R"]
    assert imported(tmp_path, tmp_path / "held.pt").scores()["values"]["MAP@R"] == expected
    for file in ("bare.pt", "X.npy", "rows.tsv"):
        run = imported(tmp_path, tmp_path / file, metadata=tmp_path / "y.npy")
        assert run.scores()["values"]["MAP@R"] == pytest.approx(expected, abs=1e-6), file
    words = [
        "import",
        str(tmp_path / "X.npy"),
        "--table",
        str(tmp_path / "y.npy"),
        "--runs",
        str(tmp_path / "runs"),
    ]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "label: 8 classes from column `label`" in told and "MAP@R" in told
    torch.save(torch.nn.Linear(2, 2), tmp_path / "module.pt")
    with pytest.raises(ValueError, match="holds more than tensors"):
        imported(tmp_path, tmp_path / "module.pt")


@pytest.mark.parametrize(
    "path",
    [
        "./a/0.png",
        "a/../a/0.png",
        "{root}/a/0.png",
        "a\\0.png",
        "a/link.png",
        "b/0.png",
        " a/0.png ",
    ],
)
def test_one_picture_under_two_spellings_is_refused(tmp_path, path):
    (tmp_path / "a").mkdir()
    for number in range(3):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / "a" / f"{number}.png")
    (tmp_path / "a" / "link.png").symlink_to("0.png")
    (tmp_path / "b").symlink_to("a")
    images = ["a/0.png", path.format(root=tmp_path), "a/1.png"]
    options = {"root": tmp_path, "runs": tmp_path / "runs"}
    with pytest.raises(
        ValueError, match=r"Rows 0 and 1 have the same picture .*a.*; each row needs its own"
    ):
        lab.runs.from_embeddings(np.eye(3, dtype=np.float32), ["x"] * 3, images, **options)
    assert not list((tmp_path / "runs").glob("*"))


def test_what_is_asked_for_in_vain_is_refused(tmp_path):
    vectors, options = np.eye(4, dtype=np.float32), {"runs": tmp_path}
    for given, sentence in (
        ({"measure": True}, "measure is asked for, but no two rows are known to be of one class"),
        (
            {"columns": {"vector": "emb"}},
            "vectors is one array without a name, so 'emb' names nothing in it",
        ),
        ({"keys": list("abcd"), "images": list("abcd")}, "keys and images both name the rows"),
        ({"keys": ["a", "b", None, "c"]}, "Row 2 has no key"),
    ):
        with pytest.raises(ValueError, match=sentence):
            lab.runs.from_embeddings(vectors, **given, **options)
    assert not lab.runs.list(tmp_path)


def test_a_split_for_all_rows_wins_over_a_column(tmp_path):
    table = {"Label": ["a", "a", "b", "b"], "split": ["test"] * 4}
    run = lab.runs.from_embeddings(
        np.eye(4, dtype=np.float32), metadata=table, name="column", runs=tmp_path
    )
    assert run.splits == ("test",) and run.dataset().class_names == ["a", "b"], (
        "Label is a label in capitals, too"
    )
    run = lab.runs.from_embeddings(
        np.eye(4), metadata=table, split="train", name="said", runs=tmp_path
    )
    assert run.splits == ("train",) and "metadata: split" in run.status["sentence"]


def test_what_limits_the_scores_is_told_wherever_they_are(tmp_path, capsys):
    run = lab.runs.from_embeddings(
        np.eye(4, dtype=np.float32), ["a"] * 4, name="one", runs=tmp_path
    )
    sentence = "All items are of one class, so these scores say nothing about the model."
    assert sentence in run.score_warnings() and sentence in run.score_warnings("test")
    capsys.readouterr()
    for command in (
        ["runs", "one"],
        ["runs", "report", "one"],
        ["evaluate", "one", "--json"],
        ["evaluate", "one"],
    ):
        assert main([*command, "--runs", str(tmp_path)]) == 0
        captured = capsys.readouterr()
        assert sentence in captured.out + captured.err, command


def test_a_table_of_another_order_is_put_beside_the_vectors_by_key(tmp_path):
    vectors, keys = np.eye(4, dtype=np.float32), ["d", "a", "c", "b"]
    np.savez(tmp_path / "v.npz", vectors=vectors, key=np.array(keys))
    (tmp_path / "t.csv").write_text("id,label,price\na,A,1\nb,B,2\nc,C,3\nd,D,4\ne,E,5\n")
    options = {"metadata": str(tmp_path / "t.csv"), "runs": tmp_path}
    images = lab.runs.from_embeddings(str(tmp_path / "v.npz"), name="it", **options).dataset()
    assert images.keys == keys and [images.class_name(label) for label in images.labels] == [
        "D",
        "A",
        "C",
        "B",
    ]
    assert images.attributes["price"].tolist() == ["4", "1", "3", "2"]
    (tmp_path / "t.csv").write_text("id,label\na,A\nb,B\nc,C\nx,D\n")
    with pytest.raises(ValueError, match="'d' is not among those of the table"):
        lab.runs.from_embeddings(str(tmp_path / "v.npz"), **options)
    (tmp_path / "t.csv").write_text("id,label\na,A\nb,B\nc,C\nd,D\nd,E\n")
    with pytest.raises(ValueError, match="The table has the key 'd' in rows 3 and 4"):
        lab.runs.from_embeddings(str(tmp_path / "v.npz"), **options)
