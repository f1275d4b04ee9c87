"""Rebuild lab/data/emoji7_images/emoji7.npz from the vendors' own packages.

    pip install resvg-py && apt-get install unicode-data npm
    python scripts/build_emoji7.py            # fetch, draw, compare with the shipped file
    python scripts/build_emoji7.py --write    # the same, and replace the shipped file

Takes half a minute. The vector art of six vendors is drawn by resvg at 64 x 64 on white; the seventh ships pictures,
which are reduced. Vendors are joined by Unicode sequence: where a package has no table of sequences, by the Unicode
name, and by `emoji7_icons.json` where a vendor calls an emoji otherwise (null: that name means another thing). An emoji
becomes a class when at least four vendors drew it. Last run in November 2026: every pixel equal to the shipped file.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import resvg_py
from PIL import Image

HERE = Path(__file__).resolve().parent
SHIPPED = HERE.parent / "lab" / "data" / "emoji7_images" / "emoji7.npz"
SIDE = 64
FEWEST_VENDORS = 4
GROUPS = (
    "Smileys & Emotion",
    "Animals & Nature",
    "Food & Drink",
    "Travel & Places",
    "Activities",
    "Objects",
)
PACKAGES = {
    "noto": "@iconify-json/noto@1.2.9",
    "noto-v1": "@iconify-json/noto-v1@1.2.5",
    "twemoji": "@iconify-json/twemoji@1.2.5",
    "fluent-emoji-flat": "@iconify-json/fluent-emoji-flat@1.2.6",
    "fluent-3d": "@lobehub/fluent-emoji-3d@1.1.0",
    "emojione": "@iconify-json/emojione@1.2.3",
    "fxemoji": "@iconify-json/fxemoji@1.2.2",
}

Draw = Callable[[str, str], np.ndarray | None]
"""(code points, Unicode name) to uint8 [64 64 3], or None when the vendor has not drawn it."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="replace the shipped file")
    parser.add_argument(
        "--emoji-test", type=Path, default=Path("/usr/share/unicode/emoji/emoji-test.txt")
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        vendors = [
            open_vendor(name, fetch(package, Path(folder))) for name, package in PACKAGES.items()
        ]
        built = build(list(emoji(options.emoji_test.read_text())), vendors)
    print(
        f"{len(built['names'])} classes, {len(built['x'])} images, sha256 of all arrays {checksum(built)}"
    )
    if SHIPPED.exists():
        print(
            "the shipped file is",
            "the same" if checksum(shipped()) == checksum(built) else "DIFFERENT",
        )
    if options.write:
        write(built)


def emoji(test_file: str) -> Iterator[tuple[str, str, str, str]]:
    """(code points with hyphens, name, group, subgroup) of every emoji of the six groups.

    In Unicode's order; those with skin tones are left out.
    """
    group = subgroup = ""
    for line in test_file.splitlines():
        if line.startswith("# group: "):
            group = line.removeprefix("# group: ")
        elif line.startswith("# subgroup: "):
            subgroup = line.removeprefix("# subgroup: ")
        found = re.match(r"([0-9A-F ]+?) *; fully-qualified +# \S+ E[\d.]+ (.+)", line)
        if found and group in GROUPS and "skin tone" not in found[2]:
            yield "-".join(found[1].lower().split()), found[2], group, subgroup


def fetch(package: str, folder: Path) -> Path:
    """Download one npm package; returns its unpacked folder."""
    packed = subprocess.run(
        ["npm", "pack", "--silent", package], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.split()[-1]
    into = folder / packed.removesuffix(".tgz")
    with tarfile.open(folder / packed) as archive:
        archive.extractall(into, filter="data")
    return into / "package"


def open_vendor(vendor: str, package: Path) -> Draw:
    """How one vendor draws an emoji."""
    if (package / "assets").is_dir():
        return lambda code, name: reduce(package / "assets", code)
    icons = json.loads((package / "icons.json").read_text())
    by_code = json.loads((package / "chars.json").read_text())
    by_code |= json.loads((HERE / "emoji7_icons.json").read_text()).get(vendor, {})

    def draw(code: str, name: str) -> np.ndarray | None:
        icon = next((by_code[c] for c in (code, bare(code)) if c in by_code), slug(name))
        icon = icons.get("aliases", {}).get(icon, {}).get("parent", icon)
        return render(icons["icons"][icon], icons) if icon in icons["icons"] else None

    return draw


def bare(code: str) -> str:
    """Code points without the selector of the coloured form, which packages write or leave out as they please."""
    return code.replace("-fe0f", "")


def slug(name: str) -> str:
    """`twelve o'clock` to `twelve-oclock`, as icon sets name files."""
    return re.sub(r"[^a-z0-9]+", "-", re.sub("[’']", "", name.lower())).strip("-")


def render(icon: dict, defaults: dict) -> np.ndarray:
    """Draw one icon of an Iconify set: uint8 [64 64 3]."""
    left, top = icon.get("left", 0), icon.get("top", 0)
    width, height = (icon.get(side, defaults.get(side, 16)) for side in ("width", "height"))
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="{left} {top} {width} {height}" width="{SIDE}" height="{SIDE}">{icon["body"]}</svg>'
    )
    png = resvg_py.svg_to_bytes(svg_string=svg, width=SIDE, height=SIDE, skip_system_fonts=True)
    return on_white(Image.open(io.BytesIO(bytes(png))))


def reduce(assets: Path, code: str) -> np.ndarray | None:
    """A vendor's picture, its file named by code points, reduced: uint8 [64 64 3]."""
    for path in (
        assets / f"{bare(code)}.webp",
        assets / f"{code}.webp",
        assets / f"{bare(code)}-fe0f.webp",
    ):
        if path.exists():
            return on_white(
                Image.open(path).convert("RGBA").resize((SIDE, SIDE), Image.Resampling.LANCZOS)
            )
    return None


def on_white(image: Image.Image) -> np.ndarray:
    layer = image.convert("RGBA")
    return np.asarray(
        Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")
    )


def build(listed: list[tuple[str, str, str, str]], vendors: list[Draw]) -> dict[str, np.ndarray]:
    """Every class that enough vendors drew, class by class, vendor by vendor."""
    pixels, classes, drawn_by, kept = [], [], [], []
    for code, name, group, subgroup in listed:
        drawings = [(number, draw(code, name)) for number, draw in enumerate(vendors)]
        drawings = [(number, drawing) for number, drawing in drawings if drawing is not None]
        if len(drawings) < FEWEST_VENDORS:
            continue
        for number, drawing in drawings:
            pixels.append(drawing)
            classes.append(len(kept))
            drawn_by.append(number)
        kept.append((bare(code), name, group, subgroup))
    codes, names, groups, subgroups = zip(*kept, strict=True)
    return {
        "x": np.stack(pixels),
        "classes": np.array(classes),
        "vendor": np.array(drawn_by),
        "vendors": np.array(list(PACKAGES)),
        "names": np.array(names),
        "cp": np.array(codes),
        "grp": np.array(groups),
        "sub": np.array(subgroups),
    }


def checksum(arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 over pixels and labels, in the order of the arrays' names."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        value = arrays[name]
        digest.update("\n".join(value).encode() if value.dtype.kind == "U" else value.tobytes())
    return digest.hexdigest()


def shipped() -> dict[str, np.ndarray]:
    """The shipped file, decoded."""
    with np.load(SHIPPED) as archive:
        stored = dict(archive)
    webp, offsets = stored.pop("webp"), stored.pop("offsets")
    images = (
        Image.open(io.BytesIO(webp[a:b].tobytes()))
        for a, b in zip(offsets, offsets[1:], strict=False)
    )
    return stored | {"x": np.stack([np.asarray(image.convert("RGB")) for image in images])}


def write(built: dict[str, np.ndarray]) -> None:
    """Lossless WebP, one after the other, and where each begins."""
    encoded = []
    for pixels in built["x"]:
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "webp", lossless=True, quality=75, method=4)
        encoded.append(np.frombuffer(file.getvalue(), dtype=np.uint8))
    offsets = np.cumsum([0, *map(len, encoded)])
    arrays = {name: value for name, value in built.items() if name != "x"}
    np.savez_compressed(SHIPPED, webp=np.concatenate(encoded), offsets=offsets, **arrays)


if __name__ == "__main__":
    main()
