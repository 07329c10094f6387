# SPDX-License-Identifier: LGPL-2.1-or-later
"""A reader of Parquet files that was written from the format's specification, for what ours may have: rows with
optional numbers and texts, plain or by a dictionary, compressed with zstd.

It insists on what readers rely on: magic numbers, offsets, counts and sizes that agree, ranges of values.
"""

import struct
import subprocess

INT64, DOUBLE, TEXT = 2, 5, 6
PLAIN, DICTIONARY = 0, 8
ZSTD = 6
DATA_PAGE, DICTIONARY_PAGE = 0, 2


class Compact:
    """Structures of Thrift's compact protocol, as dictionaries by number of field."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind in (3, 4, 5, 6):
            return self.zigzag()
        if kind == 8:
            size = self.varint()
            self.at += size
            return self.data[self.at - size:self.at]
        if kind == 9:
            head = self.byte()
            count = head >> 4 if head >> 4 != 15 else self.varint()
            return [self.value(head & 15) for _ in range(count)]
        assert kind == 12, f"type {kind}"
        return self.struct()

    def struct(self):
        fields, number = {}, 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            assert number not in fields
            fields[number] = self.value(head & 15)
        return fields


def hybrid(data, at, bits, count):
    """Runs of equal values and of packed ones; returns the values and where they end."""
    values, reader = [], Compact(data, at)
    width = (bits + 7) // 8
    while len(values) < count:
        head = reader.varint()
        if head & 1:
            size = (head >> 1) * bits
            word = int.from_bytes(data[reader.at:reader.at + size], "little")
            values += [word >> i * bits & (1 << bits) - 1 for i in range((head >> 1) * 8)]
            reader.at += size
        else:
            values += [int.from_bytes(data[reader.at:reader.at + width], "little")] * (head >> 1)
            reader.at += width
    return values[:count], reader.at


def plain(data, kind, count):
    if kind != TEXT:
        assert len(data) == 8 * count, (len(data), count)
        return list(struct.unpack(f"<{count}{'q' if kind == INT64 else 'd'}", data))
    values, at = [], 0
    for _ in range(count):
        size = int.from_bytes(data[at:at + 4], "little")
        values.append(data[at + 4:at + 4 + size].decode())
        at += 4 + size
    assert at == len(data)
    return values


class Page:
    def __init__(self, data, at):
        reader = Compact(data, at)
        head = reader.struct()
        packed = data[reader.at:reader.at + head[3]]
        self.kind, self.head, self.end = head[1], head.get(5) or head[7], reader.at + head[3]
        self.plain_size = reader.at - at + head[2]
        self.body = subprocess.run(["zstd", "-dcq"], input=packed, stdout=subprocess.PIPE, check=True).stdout
        assert len(self.body) == head[2]


def read_column(data, chunk, kind):
    meta = chunk[3]
    assert meta[1] == kind and meta[4] == ZSTD
    start = at = meta.get(11, meta[9])
    words, size = None, 0
    if 11 in meta:
        page = Page(data, at)
        assert page.kind == DICTIONARY_PAGE and page.head[2] == PLAIN and kind == TEXT
        words = plain(page.body, kind, page.head[1])
        assert len(set(words)) == len(words)
        at, size = page.end, page.plain_size
    assert at == meta[9]
    page = Page(data, at)
    assert page.kind == DATA_PAGE and page.head[1] == meta[5]
    assert page.end - start == meta[7] and size + page.plain_size == meta[6]
    levels = int.from_bytes(page.body[:4], "little")
    present, end = hybrid(page.body, 4, 1, meta[5])
    assert end <= 4 + levels
    count, rest = sum(present), page.body[4 + levels:]
    if page.head[2] == DICTIONARY:
        values = [words[i] for i in hybrid(rest, 1, rest[0], count)[0]]
    else:
        values = plain(rest, kind, count)
    statistics = meta[12]
    assert statistics[3] == meta[5] - count
    if 5 in statistics:
        assert struct.unpack("<q", statistics[5])[0] == max(values)
        assert struct.unpack("<q", statistics[6])[0] == min(values)
    values = iter(values)
    return [next(values) if there else None for there in present]


def read(path):
    """The names of the columns, and the rows as tuples."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:4] == data[-4:] == b"PAR1"
    size = int.from_bytes(data[-8:-4], "little")
    reader = Compact(data, len(data) - 8 - size)
    footer = reader.struct()
    assert reader.at == len(data) - 8
    root, *columns = footer[2]
    assert root[5] == len(columns) == len(footer[7])
    rows = []
    for group in footer[4]:
        assert [c[3][3] for c in group[1]] == [[c[4]] for c in columns]
        parts = [read_column(data, chunk, column[1]) for chunk, column in zip(group[1], columns)]
        assert {len(part) for part in parts} == {group[3]}
        rows += zip(*parts)
    assert len(rows) == footer[3]
    return [column[4].decode() for column in columns], rows
