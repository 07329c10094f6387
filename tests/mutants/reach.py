# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which tests reach which lines, by gcov: a mutant can be noticed only by a test that executes its line.

The build is made with coverage. A test writes its counters below a folder of its own (GCOV_PREFIX), so that tests which
share libraries do not mix. What gcov does not know as a line of its own belongs to the statement above it; a table
belongs to its whole file.
"""

import gzip
import json
import os
import shutil
import subprocess
import tempfile

N_PERHAPS = 6


def find(folder, suffix):
    """All such files below a folder, also ".._src_lib_pool.c.gcda", which glob() would take for a hidden file."""
    return [os.path.join(top, name) for top, _, names in os.walk(folder) for name in names if name.endswith(suffix)]


class Reach:
    """What the tests of a build execute of some sources: `lines` by test and path, and what gcov knows by path."""

    def __init__(self, top, build, folder):
        self.top, self.build, self.folder = top, build, folder
        self.known, self.lines = {}, {}
        shutil.rmtree(folder, ignore_errors=True)

    def environment(self, test):
        return {"GCOV_PREFIX": os.path.join(self.folder, test), "GCOV_PREFIX_STRIP": "0"}

    def collect(self, test, paths):
        """Reads what `test` has left behind, as far as it is about `paths`, and removes it."""
        folder = os.path.join(self.folder, test)
        sources = tuple({os.path.basename(path) + ".gcda" for path in paths})
        counters = [path for path in find(folder, ".gcda") if path.endswith(sources) and self.link_notes(folder, path)]
        self.lines[test] = {}
        if counters:
            self.read(test, counters, paths)
        shutil.rmtree(folder, ignore_errors=True)

    def link_notes(self, folder, counters):
        """gcov looks for the compiler's notes beside the counters."""
        notes = "/" + os.path.relpath(counters, folder)[: -len("gcda")] + "gcno"
        if not os.path.exists(notes):
            return False
        os.symlink(notes, counters[: -len("gcda")] + "gcno")
        return True

    def read(self, test, counters, paths):
        output = os.path.join(self.folder, test + ".gcov")
        os.makedirs(output, exist_ok=True)
        command = ["nice", "gcov", "--json-format", "--hash-filenames", *counters]
        subprocess.run(command, cwd=output, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        for name in find(output, ".gcov.json.gz"):
            with gzip.open(name) as file:
                report = json.load(file)
            for part in report["files"]:
                self.add(test, part, paths)
        shutil.rmtree(output)

    def add(self, test, part, paths):
        path = os.path.relpath(os.path.normpath(os.path.join(self.build, part["file"])), self.top)
        if path not in paths:
            return
        counts = [(line["line_number"], line["count"]) for line in part["lines"]]
        self.known.setdefault(path, set()).update(number for number, _ in counts)
        reached = {number for number, count in counts if count > 0}
        if reached:
            self.lines[test].setdefault(path, set()).update(reached)

    def tests(self, path, number, is_table):
        """The tests that may notice a change of a line, those that execute most of its file first."""
        known = self.known.get(path, set())
        above = max((n for n in known if n <= number), default=None)
        if is_table or above is None:
            found = [test for test in self.lines if self.lines[test].get(path)] or list(self.lines)
        else:
            found = [test for test in self.lines if above in self.lines[test].get(path, ())]
        return sorted(found, key=lambda test: -len(self.lines[test].get(path, ())))

    def perhaps(self, path):
        """Tests that may execute any line of the file in a process that leaves no counters behind."""
        found = [test for test in self.lines if self.lines[test].get(path)]
        return sorted(found, key=lambda test: -len(self.lines[test][path]))[:N_PERHAPS]


def self_test(out):
    """Asked without a build; `out` takes the results."""
    reach = Reach("/top", "/top/build", "/nonexistent")
    a, b = "a.c", "b.c"
    reach.known = {a: {3, 4, 9, 12}, b: {1}}
    reach.lines = {"wide": {a: {3, 4, 9}}, "narrow": {a: {3}}, "other": {b: {1}}}
    cases = [
        ((a, 3, False), ["wide", "narrow"]),
        ((a, 5, False), ["wide"]),
        ((a, 12, False), []),
        ((a, 20, True), ["wide", "narrow"]),
        ((a, 1, False), ["wide", "narrow"]),
        (("c.c", 7, True), ["wide", "narrow", "other"]),
    ]
    wrong = [f"{question}: {reach.tests(*question)}" for question, answer in cases if reach.tests(*question) != answer]
    out.check("the tests that reach a line are asked, and no others", wrong)
    wrong = [] if reach.perhaps(a) == ["wide", "narrow"] and reach.perhaps("c.c") == [] else [reach.perhaps(a)]
    out.check("where none seems to, those that execute most of the file are asked", wrong)
    names = {"a.c.gcda", ".._.._src_lib_pool.c.gcda"}
    with tempfile.TemporaryDirectory() as folder:
        for name in {*names, "a.c.gcno"}:
            with open(os.path.join(folder, name), "wb"):
                pass
        found = {os.path.basename(path) for path in find(folder, ".gcda")}
    out.check("counters of sources in other folders are found", found ^ names)
