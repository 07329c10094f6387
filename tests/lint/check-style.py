#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The countable part of the house style (HACKING.md).

Usage: check-style.py SOURCE-ROOT
       check-style.py --self-test       plants violations and sees that each is found
"""

import os
import re
import sys
import tempfile

import tap

FILE_LINES_MAX = 700
FUNCTION_LINES_MAX = 80
FUNCTION_LINES_USUAL = 40  # nine in ten functions have fewer
FUNCTION_LINES_SHORT = 16  # half of them have fewer
COLUMNS_MAX = 120  # of comments and tables; clang-format holds code to 100

CODE = (".c", ".h", ".py", ".sh")
# Where the first line belongs to somebody else: an interpreter, an XML declaration, a description.
LICENSED = CODE + (".proto", ".xml", ".policy", ".service", ".socket", ".conf", ".rules", ".pbtxt")
LICENSE = re.compile("SPDX-License-" r"Identifier: LGPL-2\.1-or-later")
# What describes us in software centres is under theirs; the tool that checks it sees to that.
DESCRIPTION = ".metainfo.xml"
LICENSE_LINES = 4
# Input of tests, which may be anything.
DATA = ("tests/fixtures/", "tests/fuzz/corpus/", "tests/abi/0.1/", "tests/equality/rows/", "tests/equality/traces/")


def is_script(top, path):
    with open(os.path.join(top, path), "rb") as file:
        return file.read(2) == b"#!"


def files(top):
    for path in tap.tree(top):
        if not path.startswith(DATA):
            yield path


def code(top):
    for path in files(top):
        if path.endswith(CODE) or (path.startswith(("scripts/", ".ci/")) and is_script(top, path)):
            yield path


def check_licenses(top):
    for path in files(top):
        if path.endswith(LICENSED) and not path.endswith(DESCRIPTION) or is_script(top, path):
            head = tap.read(top, path).splitlines()[:LICENSE_LINES]
            if not any(LICENSE.search(line) for line in head):
                yield f"{path}: no SPDX line at its head"


def check_file_lengths(top):
    for path in code(top):
        n = len(tap.read(top, path).splitlines())
        if n > FILE_LINES_MAX:
            yield f"{path}: {n} lines, {FILE_LINES_MAX} are allowed"


def check_lines(top):
    for path in code(top):
        for number, line in enumerate(tap.read(top, path).splitlines(), 1):
            if "\t" in line:
                yield f"{path}:{number}: a tab"
            if len(line) > COLUMNS_MAX:
                yield f"{path}:{number}: {len(line)} columns, {COLUMNS_MAX} are allowed"
            if line != line.rstrip():
                yield f"{path}:{number}: blanks at the end"


def check_notes(top):
    pattern = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    for path in code(top):
        for number, line in enumerate(tap.read(top, path).splitlines(), 1):
            if pattern.search(line):
                yield f"{path}:{number}: an open end: {line.strip()}"


def functions(text):
    """Name, line and number of body lines of each function. Relies on clang-format: a function
    begins with a line at column 1 and ends with a '}' there."""
    head, start = "", None
    for number, line in enumerate(text.splitlines(), 1):
        if start is None and re.match(r"[A-Za-z_]", line):
            head = line
        elif start is None:
            head += line
        if start is None and head and line.rstrip().endswith("{"):
            match = re.match(r"[^={]*?(\w+)\s*\(([^={]*)\)[\w\s()]*\{$", head.rstrip())
            if match and not head.startswith(("enum", "union", "typedef", "#")):
                name = match.group(1)
                start, found = number, match.group(2) if name == "START_TEST" else name
            head = ""
        elif start is not None and line.startswith("}"):
            yield found, start, number - start - 1
            start, head = None, ""
        elif line.startswith("}") or line.rstrip().endswith(";"):
            head = ""


def all_functions(top, prefix=""):
    for path in code(top):
        if path.endswith((".c", ".h")) and path.startswith(prefix):
            for name, line, n in functions(tap.read(top, path)):
                yield path, name, line, n


# What stops a native reader; docs/CONFORMANCE.md quotes others. A "Who" without a noun begins a sentence.
HABITS = re.compile(r"\banew\b|\ball the same\b|\bfor so long\b|(?:^|[.:;] |[*#] )Who(?:ever)? [^?]*$", re.I)
# Likewise, in what users read: documents, public headers, and the texts of programs.
TOLD_HABITS = re.compile(r"(?<!there )\b(?-i:is none)\b|\bso many\b|\bexclude each other\b|\bof the own\b", re.I)
# Likewise, in code: comments, what logs say, and what tests promise. Not where these are named.
CODE_HABITS = re.compile(r"\bany more\b|\bwhoever\b|\bsays? what is wrong\b|(?<!:) so many\b(?! that\b)", re.I)
CODE_PROSE = ("src/", "tests/", "bench/", "scripts/")
NAMES_HABITS = "tests/lint/check-style.py"
TOLD = ("docs/", "data/", "examples/", "src/lib/include/", "README.md", "NEWS.md")
PROSE = (*CODE_PROSE, *TOLD, "HACKING.md")


def check_habits(top):
    for path in files(top):
        if not path.startswith(PROSE) or path.endswith((".svg", ".png", ".xz")) or path == NAMES_HABITS:
            continue
        for number, line in enumerate(tap.read(top, path).splitlines(), 1):
            found = HABITS.search(line)
            if found and not found.group().strip(".:;*# ").startswith("who"):
                yield f"{path}:{number}: \"{found.group().strip()[:20]}\" is hard to read: say it plainly"
            found = CODE_HABITS.search(line) if path.startswith(CODE_PROSE) else None
            if found:
                yield f"{path}:{number}: \"{found.group().strip()}\" is hard to read: say it plainly"
            told = line if path.startswith(TOLD) else " ".join(re.findall(r'"[^"]*"', line))
            found = TOLD_HABITS.search(told)
            if found:
                yield f"{path}:{number}: \"{found.group()}\" is hard to read: say it plainly"


# A test's name is a promise that its output prints.
PROMISE = re.compile(r"START_TEST\((test_\w+)\)|_TEST\((test_\w+)\)")


def check_promises(top):
    for path in files(top):
        if not path.startswith("tests/unit/") or not path.endswith(".c"):
            continue
        for number, line in enumerate(tap.read(top, path).splitlines(), 1):
            match = PROMISE.search(line)
            words = (match[1] or match[2]).replace("_", " ") if match else ""
            found = HABITS.search(words) or CODE_HABITS.search(words) or re.match(r"test who(ever)? (?!may)", words)
            if found:
                yield f"{path}:{number}: \"{found.group().strip()}\" is hard to read: say it plainly"


# Folders whose sources say in their first comment what they are for.
TITLED = ("src/", "bindings/", "examples/", "bench/")
HEAD = re.compile(r"/\* SPDX[^\n]*\n(\s*#pragma once\n|\s*#ifndef \w+\n#define \w+\n)?\s*(/[*/])?")


def check_titles(top):
    for path in code(top):
        if path.endswith((".c", ".h")) and path.startswith(TITLED):
            found = HEAD.match(tap.read(top, path))
            if found and not found[2]:
                yield f"{path}: its first comment does not say what it is: begin with a title"


def check_function_lengths(top):
    for path, name, line, n in all_functions(top):
        if n > FUNCTION_LINES_MAX:
            yield f"{path}:{line}: {name}() has {n} lines, {FUNCTION_LINES_MAX} are allowed"


def share(values, limit):
    return 100 * sum(1 for value in values if value < limit) / max(len(values), 1)


def check_function_shares(top, out):
    lengths = [n for _, _, _, n in all_functions(top, "src/")]
    short = share(lengths, FUNCTION_LINES_SHORT)
    usual = share(lengths, FUNCTION_LINES_USUAL)
    out.note(
        f"{len(lengths)} functions in src: {short:.0f} % under {FUNCTION_LINES_SHORT} lines, "
        f"{usual:.0f} % under {FUNCTION_LINES_USUAL}, longest {max(lengths, default=0)}"
    )
    if short < 50:
        yield f"only {short:.0f} % of the functions are under {FUNCTION_LINES_SHORT} lines"
    if usual < 90:
        yield f"only {usual:.0f} % of the functions are under {FUNCTION_LINES_USUAL} lines"


def note_files(top, out):
    sizes = sorted(len(tap.read(top, p).splitlines()) for p in code(top) if p.startswith("src/"))
    comments = lines = 0
    for path in code(top):
        if path.startswith("src/"):
            text = tap.read(top, path)
            lines += sum(1 for line in text.splitlines() if line.strip())
            for comment in re.findall(r"/\*.*?\*/|//[^\n]*", text, re.S):
                comments += comment.count("\n") + 1
    out.note(
        f"{len(sizes)} files in src: median {sizes[len(sizes) // 2] if sizes else 0} lines, "
        f"longest {max(sizes, default=0)}; {100 * comments / max(lines, 1):.0f} % comments"
    )


LONG_FUNCTION = "int long_one(int a,\n             int b) {\n" + "        a++;\n" * 81 + "}\n"
SPDX = "/* SPDX-License-Identifier: LGPL-2.1-or-later */\n"
TITLE = "/* Planted. */\n"
PLANTED = {
    "src/good.c": SPDX + TITLE + "static const int table[] = {\n" + "        1,\n" * 90 + "};\n\n"
    "int good(void) {\n        return 0;\n}\n",
    "src/long.c": SPDX + TITLE + LONG_FUNCTION,
    "src/file.c": SPDX + TITLE + "\n" * 699,
    "src/bare.c": "int bare;\n",
    "src/untitled.c": SPDX + "\n#include <errno.h>\n\n/* Too late. */\n",
    "src/untitled.h": SPDX + "#pragma once\n\nint untitled;\n",
    "src/titled.h": SPDX + "#pragma once\n\n" + TITLE + "int titled;\n",
    "src/line.c": SPDX + TITLE + "\tint tab;\nint blank; \nint long_line; /* " + "x" * 120 + " */\n",
    "src/note.c": SPDX + TITLE + "int note; /* TO" + "DO */\n",
    "src/plain.c": SPDX + "/* Who comes\n * starts anew, all the " + "same.\n * Who is it? */\n"
    'char *s = "its name is none";\n/* there is none; so many */\n',
    "src/smb/plain.h": SPDX + "/* Says what is " + "wrong; not any " + "more. */\n",
    "src/daemon/plain.h": SPDX + "/* not any " + "more */\n",
    "tests/plain.sh": "# SPDX-License-" + "Identifier: LGPL-2.1-or-later\n# whoever comes\n",
    "docs/told.md": "There is none of so many.\n",
    "tests/unit/names.c": SPDX + "START_TEST(test_it_begins_" + "anew) {\n}\nEND_TEST\n",
    "tests/test.c": SPDX + "START_TEST(test_long) {\n" + "        a++;\n" * 81 + "}\nEND_TEST\n",
}
EXPECTED = [
    'docs/told.md:1: "so many" is hard to read: say it plainly',
    "src/bare.c: no SPDX line at its head",
    "src/file.c: 701 lines, 700 are allowed",
    "src/line.c:3: a tab",
    "src/line.c:4: blanks at the end",
    "src/line.c:5: 141 columns, 120 are allowed",
    "src/long.c:4: long_one() has 81 lines, 80 are allowed",
    "src/note.c:3: an open end: int note; /* TO" + "DO */",
    'src/daemon/plain.h:2: "any more" is hard to read: say it plainly',
    'src/plain.c:2: "* Who comes" is hard to read: say it plainly',
    'src/plain.c:3: "anew" is hard to read: say it plainly',
    'src/plain.c:5: "is none" is hard to read: say it plainly',
    'src/plain.c:6: "so many" is hard to read: say it plainly',
    'src/smb/plain.h:2: "Says what is wrong" is hard to read: say it plainly',
    "src/untitled.c: its first comment does not say what it is: begin with a title",
    "src/untitled.h: its first comment does not say what it is: begin with a title",
    'tests/unit/names.c:2: "anew" is hard to read: say it plainly',
    'tests/plain.sh:2: "whoever" is hard to read: say it plainly',
    "tests/test.c:2: test_long() has 81 lines, 80 are allowed",
]
CHECKS = [
    ("every file names its license", check_licenses),
    (f"no file is longer than {FILE_LINES_MAX} lines", check_file_lengths),
    (f"no tabs, no trailing blanks, at most {COLUMNS_MAX} columns", check_lines),
    ("nothing is left to do", check_notes),
    ("every source begins with its title", check_titles),
    ("no sentence has the habits that stop a reader", check_habits),
    ("no test's name has them", check_promises),
    (f"no function is longer than {FUNCTION_LINES_MAX} lines", check_function_lengths),
]


def self_test(out):
    with tempfile.TemporaryDirectory() as top:
        for path, text in PLANTED.items():
            os.makedirs(os.path.join(top, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(top, path), "w", encoding="utf-8") as file:
                file.write(text)
        found = sorted(problem for _, check in CHECKS for problem in check(top))
        out.check(
            "every planted violation is found, and nothing else",
            [f"not found: {line}" for line in EXPECTED if line not in found]
            + [f"not planted: {line}" for line in found if line not in EXPECTED],
        )
        counted = {name: n for _, name, _, n in all_functions(top)}
        expected = {"good": 1, "long_one": 81, "test_long": 81, "test_it_begins_" + "anew": 0}
        out.check("lengths are counted", [] if counted == expected else [str(counted)])


def main():
    out = tap.Tap()
    if sys.argv[1:] == ["--self-test"]:
        self_test(out)
    else:
        top = sys.argv[1]
        for promise, check in CHECKS:
            out.check(promise, check(top))
        out.check("most functions are short", check_function_shares(top, out))
        note_files(top, out)
    out.done()


main()
