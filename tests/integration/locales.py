#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What desktrace prints where the locale's charset is not UTF-8, and how it aligns what is wide.

Usage: locales.py DESKTRACE DIRECTORY    the directory has the locale de_DE.ISO-8859-1; without it, that is skipped
"""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import unicodedata

from perfetto_wire import field

DESKTRACE, LOCALES = sys.argv[1:3]
LATIN = "de_DE.ISO-8859-1"
NAMES = ["plain", "Größe", "描画フレーム", "e\u0301tat…"]
LONG_NAMES = ["フレームを描画しています、" * 5, "a_function_with_a_name_that_is_longer_than_any_terminal_is_wide" * 2]
REVERSED = "a\u202eb"  # the rest of the line would be drawn from right to left


def packet(at, event):
    return field(1, field(8, at) + field(11, event) + field(3, 1000) + field(10, 3) + field(79, 77))


def make_trace(names=(*NAMES, REVERSED)):
    """Slices of 2 µs with names of all kinds, and a chunk that was lost."""
    out = b""
    for i, name in enumerate(names):
        at = 10000 * (i + 1)
        out += packet(at, field(9, 1) + field(11, 900) + field(23, name) + field(22, "ui"))
        out += packet(at + 2000, field(9, 2) + field(11, 900))
    stats = field(35, field(1, field(12, 65536) + field(18, 7)))
    return out + field(1, stats + field(3, 0) + field(10, 1))


def run(locale, *arguments):
    environment = {**os.environ, "LC_ALL": locale, "LOCPATH": LOCALES, "NO_COLOR": "1"}
    environment.pop("LANGUAGE", None)
    if locale != LATIN:
        del environment["LOCPATH"]
    done = subprocess.run([DESKTRACE, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.stdout, done.stderr


def run_on_terminal(n_columns, *arguments):
    """The lines that a terminal of that width gets."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, n_columns, 0, 0))
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "TERM": "dumb"}
    with subprocess.Popen([DESKTRACE, *arguments], env=environment, stdout=slave, stderr=slave) as process:
        os.close(slave)
        out = b""
        while True:
            try:
                data = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            out += data
    os.close(master)
    return out.decode().replace("\r", "").splitlines()


def width(text):
    shown = [c for c in text if not unicodedata.combining(c)]
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in shown)


def slice_rows(text):
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.split()[:2] == ["SLICE", "CATEGORY"])
    return lines[at : at + 2 + len(NAMES)]


def check_aligned(text):
    """All rows of the slices are as wide as their header: its last column is a number, which ends there."""
    widths = {width(row) for row in slice_rows(text)}
    assert len(widths) == 1, slice_rows(text)


def check_c(trace):
    out = run("C", "inspect", trace)[0].decode("ascii")
    for wanted in ("7 x ", "2.00 us", "e?tat..."):
        assert wanted in out, (wanted, out)
    check_aligned(out)


def check_c_top(trace):
    assert "... and 4 more" in run("C", "inspect", "--top=1", trace)[0].decode("ascii")


def check_c_json(trace):
    out = run("C", "inspect", "--json=short", trace)[0].decode("ascii")
    assert {*NAMES} < {s["name"] for s in json.loads(out)["slices"]}, out


def check_utf8_json(trace):
    assert "描画フレーム" in run("C.UTF-8", "inspect", "--json=short", trace)[0].decode()


def check_c_help(_):
    for arguments in (["--help"], ["record", "--help"], ["inspect", "--help"], ["list", "--help"]):
        assert "[OPTION...]" in run("C", *arguments)[0].decode("ascii"), arguments


def check_c_error(_):
    said = run("C", "inspect", "/nonexistent/Größe…")[1].decode("ascii")
    assert "/nonexistent/Gr" in said and "..." in said, said


def check_wide(trace):
    out = run("C.UTF-8", "inspect", trace)[0].decode()
    assert "描画フレーム" in out and "2.00 µs" in out and "7 × " in out, out
    check_aligned(out)


def check_terminal(_):
    """Long cells are wrapped in their column, also if it is not the last; numbers stay below their titles."""
    with tempfile.NamedTemporaryFile(suffix=".pftrace") as file:
        file.write(make_trace(LONG_NAMES))
        file.flush()
        for n_columns in 72, 100:
            lines = run_on_terminal(n_columns, "inspect", file.name)
            at = next(i for i, line in enumerate(lines) if line.split()[:2] == ["SLICE", "CATEGORY"])
            rows = lines[at + 1 : lines.index("", at)]
            assert all(width(line) <= n_columns for line in rows), lines
            shown = "".join(line.split("  ")[0].strip() for line in rows)
            assert shown == "".join(sorted(LONG_NAMES, reverse=shown[0] != "a")), shown
            assert [width(line) for line in rows if "2.00 µs" in line] == [width(lines[at])] * 2, lines


def check_reversed(trace):
    out = run("C.UTF-8", "inspect", trace)[0].decode()
    assert "a???b" in out and "\u202e" not in out, out


def check_latin(trace):
    out = run(LATIN, "inspect", trace)[0]
    text = out.decode("latin-1")
    assert not any(0x80 <= byte < 0xA0 for byte in out), out  # controls there, the rest of sequences in UTF-8
    for wanted in ("Größe", "2,00 µs", "7 × ", "??????"):
        assert wanted in text, (wanted, text)
    check_aligned(text)


def check_latin_error(_):
    """The C library's own words are converted once, and not twice."""
    said = run(LATIN, "inspect", "/nonexistent/x")[1]
    assert not any(0x80 <= byte < 0xA0 for byte in said) and b"/nonexistent/x" in said, said


CHECKS = [
    ("the C locale gets ASCII, aligned", check_c, "C"),
    ("also for rows that are left out", check_c_top, "C"),
    ("its JSON is ASCII and loses nothing", check_c_json, "C"),
    ("JSON in a locale of UTF-8 is UTF-8", check_utf8_json, "C"),
    ("its help is ASCII", check_c_help, "C"),
    ("its errors are ASCII", check_c_error, "C"),
    ("wide and combining characters are aligned by their width", check_wide, "C"),
    ("long cells are wrapped where they are, and numbers stay aligned", check_terminal, "C"),
    ("no name turns the rest of the line around", check_reversed, "C"),
    ("ISO-8859-1 gets its own characters, and no UTF-8", check_latin, LATIN),
    ("also in errors", check_latin_error, LATIN),
]


def main():
    n_failed = 0
    with tempfile.NamedTemporaryFile(suffix=".pftrace") as file:
        file.write(make_trace())
        file.flush()
        for i, (promise, check, locale) in enumerate(CHECKS, 1):
            if locale == LATIN and not os.path.isdir(os.path.join(LOCALES, LATIN)):
                print(f"ok {i} - {promise} # SKIP the sources of locales are not installed")
                continue
            try:
                check(file.name)
                print(f"ok {i} - {promise}")
            except (AssertionError, UnicodeDecodeError, StopIteration, ValueError) as error:
                print(f"# {error!r}"[:2000])
                print(f"not ok {i} - {promise}")
                n_failed += 1
    print(f"1..{len(CHECKS)}")
    return n_failed > 0


sys.exit(main())
