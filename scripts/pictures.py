"""Pictures of pages as small files: a palette instead of three bytes for each pixel.

Chromium decodes what it has drawn; nothing here reads PNG files but those that it has written itself.
"""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MAX_COLOURS = 256
SAME_SHARE = 0.004
"""A picture of which no more has changed stays as it is: times move on, and are no news."""
PIXELS = """async (png) => {
    const picture = await createImageBitmap(await (await fetch("data:image/png;base64," + png)).blob());
    const canvas = new OffscreenCanvas(picture.width, picture.height), drawn = canvas.getContext("2d");
    drawn.drawImage(picture, 0, 0);
    const bytes = drawn.getImageData(0, 0, picture.width, picture.height).data;
    let text = "";
    for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
    return [picture.width, picture.height, btoa(text)];
}"""


def pixels_of(page: Any, png: bytes) -> np.ndarray:
    """Return rows of pixels of three bytes each; `page` is a blank page of a browser."""
    width, height, text = page.evaluate(PIXELS, base64.b64encode(png).decode())
    return np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width, 4)[:, :, :3]


def write_small(path: Path, pixels: np.ndarray) -> bool:
    """Write a picture, unless the one that is there looks the same; say whether it was written."""
    indices, palette = _reduced(pixels)
    if path.exists() and is_alike(read_small(path), palette[indices]):
        return False
    height, width = indices.shape
    rows = np.zeros((height, width + 1), np.uint8)
    rows[:, 1:] = indices
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = (
        (b"IHDR", header),
        (b"PLTE", palette.tobytes()),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    path.write_bytes(SIGNATURE + b"".join(_chunk(*part) for part in parts))
    return True


def read_small(path: Path) -> np.ndarray:
    """Return the pixels of a picture that `write_small` has written."""
    data, at, found = path.read_bytes(), len(SIGNATURE), dict[bytes, bytes]()
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        found[data[at + 4 : at + 8]] = data[at + 8 : at + 8 + length]
        at += length + 12
    width, height = struct.unpack_from(">II", found[b"IHDR"])
    rows = np.frombuffer(zlib.decompress(found[b"IDAT"]), np.uint8).reshape(height, width + 1)
    return np.frombuffer(found[b"PLTE"], np.uint8).reshape(-1, 3)[rows[:, 1:]]


def is_alike(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two pictures differ in few of their pixels."""
    if one.shape != other.shape:
        return False
    apart = np.abs(one.astype(np.int16) - other).max(axis=2) > 24
    return float(apart.mean()) <= SAME_SHARE


def _reduced(pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each pixel's place in a palette, and the palette: the commonest colours; others become their nearest."""
    height, width, _ = pixels.shape
    coded = pixels.astype(np.uint32) @ np.array([65536, 256, 1], np.uint32)
    colours, places, counts = np.unique(coded, return_inverse=True, return_counts=True)
    known = np.argsort(-counts, kind="stable")[:MAX_COLOURS]
    spread = np.stack([colours >> 16 & 255, colours >> 8 & 255, colours & 255], axis=1).astype(np.int32)
    palette = spread[known]
    nearest = np.array([np.abs(palette - colour).sum(axis=1).argmin() for colour in spread], np.uint8)
    return nearest[places].reshape(height, width), palette.astype(np.uint8)


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
