# SPDX-License-Identifier: LGPL-2.1-or-later
"""The form of a trace file, for the checks: packets, compressed or not, and the fields of a message.

Written from the format's description and not from our reader, so that a mistake there does not hide one here.
"""

import ctypes
import ctypes.util
import functools
import subprocess
import zlib

PACKET, DEFLATE, ZSTD = 1, 50, 133
COMPRESSED = (DEFLATE, ZSTD)
UNPACKED_MAX = 1 << 26


class NotATrace(Exception):
    pass


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Number, value (an int, or bytes) and end of each field. IndexError: it ends within one."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(tag & 7)
            if tag & 7 == 2:
                size, at = varint(data, at)
            if size is None:
                raise NotATrace(f"wire type {tag & 7}")
            if at + size > len(data):
                raise IndexError
            value, at = data[at : at + size], at + size
        yield tag >> 3, value, at


def frames(data):
    """Bytes and end of each packet."""
    for number, packet, end in fields(data):
        if number != PACKET or not isinstance(packet, bytes):
            raise NotATrace("no packet where one should begin")
        yield packet, end


def unpack_zstd(library, data):
    """With the library, as a process for each packet takes long. None: the frame does not say how large it is."""
    library.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    library.ZSTD_decompress.restype = ctypes.c_size_t
    size = library.ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data)))
    if size > UNPACKED_MAX:
        return None
    room = ctypes.create_string_buffer(size)
    n = library.ZSTD_decompress(room, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    return room.raw if n == size else None


@functools.cache
def zstd_library():
    name = ctypes.util.find_library("zstd")
    return name and ctypes.CDLL(name)


def unpack(number, data):
    if number == DEFLATE:
        return zlib.decompress(data)
    library = zstd_library()
    unpacked = unpack_zstd(library, data) if library else None
    if unpacked is not None:
        return unpacked
    return subprocess.run(["zstd", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout


def packets(data):
    """Each packet, those in compressed ones in their place."""
    for packet, _ in frames(data):
        inner = [(n, value) for n, value, _ in fields(packet) if n in COMPRESSED]
        if not inner:
            yield packet
        for number, value in inner:
            yield from packets(unpack(number, value))


def message(data):
    """The values of each field: {number: [value, …]}."""
    found = {}
    for number, value, _ in fields(data):
        found.setdefault(number, []).append(value)
    return found


def packed(data):
    """The values of a packed field."""
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values
