"""Export to a folder that FiftyOne imports: pictures, their classes, and their vectors."""

import shutil
from pathlib import Path

import numpy as np

from lab.core.files import write_json
from lab.exporters._base import Exporter
from lab.exporters._rows import RowsKnobs, rows_of
from lab.runs.folder import Run

HOW = """FiftyOne reads this folder:

    import fiftyone as fo
    import numpy as np

    dataset = fo.Dataset.from_dir("{folder}", dataset_type=fo.types.FiftyOneImageClassificationDataset)
    rows = np.load("{folder}/vectors.npz")
    vectors = dict(zip(rows["names"].tolist(), rows["vectors"]))
    for sample in dataset.iter_samples(autosave=True):
        sample["embedding"] = vectors[sample.filename.rpartition(".")[0]]

Each label has the attributes split, part and key, which is the picture's name in {data}.
"""


class Fiftyone(RowsKnobs, Exporter):
    """Write a folder in FiftyOne's format FiftyOneImageClassificationDataset, for which FiftyOne is not needed.

    It holds `data/` with the pictures, `labels.json` with class, split, part and key of each, `vectors.npz`, and a
    `README.txt` with the lines of code that load it. Image files are copied; pictures without a file become PNG.

    Example (`run` is that of `lab.exporters`):
        >>> path = lab.exporters.create("fiftyone", splits=("test",)).export(run, root / "run-fiftyone")
        >>> sorted(one.name for one in path.iterdir())
        ['README.txt', 'data', 'labels.json', 'vectors.npz']
    """

    def write(self, run: Run, path: Path) -> None:
        rows = rows_of(run, self.knobs.splits)
        images = run.dataset()
        item_of = {key: item for item, key in enumerate(images.keys)}
        names = [f"{number:06d}" for number in range(len(rows.keys))]
        (path / "data").mkdir()
        for name, key in zip(names, rows.keys, strict=True):
            file = None if images.root is None else Path(images.root) / key
            # refuses a file that is not an image, as another's run may name any
            picture = images.load(item_of[key])
            if file is not None and file.is_file():
                shutil.copyfile(file, path / "data" / f"{name}{file.suffix.lower()}")
            else:
                picture.save(path / "data" / f"{name}.png")

        labels = {}
        columns = zip(names, rows.classes, rows.splits, rows.parts, rows.keys, strict=True)
        for name, class_name, split, part, key in columns:
            labels[name] = {
                "label": class_name,
                "attributes": {"split": split, "part": part, "key": key},
            }
        write_json(path / "labels.json", {"classes": None, "labels": labels})
        np.savez(path / "vectors.npz", names=np.array(names), vectors=rows.vectors)
        (path / "README.txt").write_text(
            HOW.format(folder="THIS_FOLDER", data=images.name), encoding="utf-8"
        )
