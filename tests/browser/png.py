# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures: PNG, as browsers write it, and small ones for documents."""

import struct
import zlib

STEP = 8  # of the shades that a small picture keeps of red, green and blue; more where these are too many colours


def read_png(data):
    """Width, height, bytes a pixel, and rows."""
    at, packed, head = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        if kind == b"IHDR":
            head = struct.unpack_from(">IIBB", data, at + 8)
        elif kind == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += length + 12
    width, height, depth, color = head
    assert depth == 8 and color in (2, 6)
    n = 4 if color == 6 else 3
    raw, rows, before = zlib.decompress(packed), [], bytes(width * n)
    for y in range(height):
        start = y * (width * n + 1)
        before = unfilter(raw[start], raw[start + 1 : start + 1 + width * n], before, n)
        rows.append(before)
    return width, height, n, rows


def unfilter(kind, line, above, n):
    line = bytearray(line)
    for i, byte in enumerate(line):
        left, up, corner = (line[i - n] if i >= n else 0), above[i], (above[i - n] if i >= n else 0)
        if kind == 1:
            byte += left
        elif kind == 2:
            byte += up
        elif kind == 3:
            byte += (left + up) // 2
        elif kind == 4:
            guess = left + up - corner
            byte += min((abs(guess - one), index, one) for index, one in enumerate((left, up, corner)))[2]
        line[i] = byte & 255
    return bytes(line)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def in_steps(rows, n, width, step):
    """The same picture in fewer shades: rows of colours."""
    shades = [min((shade + step // 2) // step * step, 255) for shade in range(256)]
    return [[tuple(shades[row[x * n + i]] for i in range(3)) for x in range(width)] for row in rows]


def small_png(data, height=None):
    """The upper part of a browser's picture, with a palette."""
    width, whole, n, rows = read_png(data)
    rows, step = rows[: height or whole], STEP
    colors = in_steps(rows, n, width, step)
    while len(palette := sorted({color for row in colors for color in row})) > 256:
        step *= 2
        colors = in_steps(rows, n, width, step)
    number = {color: index for index, color in enumerate(palette)}
    raw = b"".join(b"\0" + bytes(number[color] for color in row) for row in colors)
    head = struct.pack(">IIBBBBB", width, len(rows), 8, 3, 0, 0, 0)
    chunks = [chunk(b"IHDR", head), chunk(b"PLTE", bytes(shade for color in palette for shade in color))]
    return b"\x89PNG\r\n\x1a\n" + b"".join([*chunks, chunk(b"IDAT", zlib.compress(raw, 9)), chunk(b"IEND", b"")])
