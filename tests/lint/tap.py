# SPDX-License-Identifier: LGPL-2.1-or-later
"""What all checks share: the files of the tree, and TAP on stdout."""

import os
import sys

SKIPPED_DIRECTORIES = {".git", "__pycache__"}


def tree(top):
    """All files of the source tree, relative to it, without build directories."""
    for directory, names, files in os.walk(top):
        relative = os.path.relpath(directory, top)
        names[:] = sorted(
            name
            for name in names
            if name not in SKIPPED_DIRECTORIES
            and not os.path.exists(os.path.join(directory, name, "meson-private"))
        )
        for name in sorted(files):
            yield os.path.normpath(os.path.join(relative, name))


def read(top, path):
    with open(os.path.join(top, path), encoding="utf-8") as file:
        return file.read()


class Tap:
    """One line for each promise; what broke it is printed in front."""

    def __init__(self):
        self.n = 0
        self.n_failed = 0

    def check(self, promise, problems):
        problems = list(problems)
        self.n += 1
        for problem in problems:
            print(f"# {problem}")
        if problems:
            self.n_failed += 1
        print(f"{'not ok' if problems else 'ok'} {self.n} - {promise}", flush=True)

    def skip(self, promise, reason):
        self.n += 1
        print(f"ok {self.n} - {promise} # SKIP {reason}", flush=True)

    def note(self, text):
        print(f"# {text}")

    def done(self):
        print(f"1..{self.n}")
        sys.exit(1 if self.n_failed else 0)
