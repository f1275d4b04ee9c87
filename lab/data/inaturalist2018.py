"""iNaturalist 2018 in the retrieval split of Brown et al. (2020): 461,939 photographs of 8,142 species."""

from __future__ import annotations

from collections.abc import Iterator

from lab.data._lists import rows
from lab.data._published import PublishedSet


class INaturalist2018(PublishedSet):
    """Images of the 2018 challenge, in the class-disjoint lists of Smooth-AP; the super-class is Aves, Plantae, ..."""

    folder = "Inaturalist"
    needs = (
        "Inat_dataset_splits/Inaturalist_train_set1.txt",
        "Inat_dataset_splits/Inaturalist_test_set1.txt",
    )
    get = (
        "Get train_val2018.tar.gz from the iNaturalist 2018 challenge (inat_comp) and the split lists from the "
        "Smooth-AP repository; unpack both, so that train_val2018/ and Inat_dataset_splits/ lie in the folder you name."
    )
    counts = {"train": ((5_690, 325_846),), "test": ((2_452, 136_093),)}

    columns = "key label split super_class"

    def _images(self) -> Iterator[tuple[str, ...]]:
        for split in ("train", "test"):
            path = self.root / "Inat_dataset_splits" / f"Inaturalist_{split}_set1.txt"
            for (key,) in rows(path, 1):
                parts = key.strip().split("/")
                if len(parts) < 3:
                    raise ValueError(f"{path}: {key!r} does not end in SUPER-CLASS/SPECIES/image.")
                yield key.strip(), "/".join(parts[-3:-1]), split, parts[-3]
