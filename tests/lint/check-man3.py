#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The manual pages of section 3: each public function, macro and type has one, and their roff is as linters want it.

Usage: check-man3.py SOURCE-ROOT BUILD-ROOT
"""

import os
import re
import shutil
import subprocess
import sys

import tap

HEADERS = "src/lib/include/desktrace/"
PAGES = "docs/man3"
LIBRARY = "src/lib/libdesktrace.so.0"
# Pages have no date, so that builds are reproducible.
HARMLESS = re.compile(r"missing date")


def public_names(top):
    """Found in another way than make-man3.py does: words of the headers that something defines."""
    for path in tap.tree(top):
        if not (path.startswith(HEADERS) and path.endswith(".h")):
            continue
        text = re.sub(r"/\*.*?\*/", "", tap.read(top, path), flags=re.S)
        yield from re.findall(r"^#define (DT_\w*[A-Z0-9])\b", text, re.M)
        yield from re.findall(r"^} (dt_\w+);", text, re.M)
        yield from re.findall(r"^\w[\w *]*?\b(dt_\w+)\(", text, re.M)


def exported(build):
    command = ["nm", "-D", "--defined-only", os.path.join(build, LIBRARY)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.findall(r"\b(dt_\w+)@", output)


def missing(names, pages):
    return sorted({f"{name} has no page" for name in names if f"{name}.3" not in pages})


def broken_links(build, pages):
    for page in pages:
        target = re.match(r"\.so man3/(\S+)$", tap.read(build, os.path.join(PAGES, page)).strip())
        if target and target.group(1) not in pages:
            yield f"{page} is a link to {target.group(1)}, which is not there"


def empty_pages(build, pages):
    """A page says what it is about, and how it is called."""
    for page in pages:
        text = tap.read(build, os.path.join(PAGES, page))
        if text.startswith(".so "):
            continue
        body = text.split(".SH DESCRIPTION\n", 1)[-1].split(".SH SEE ALSO", 1)[0]
        if ".SH SYNOPSIS" not in text or len(body) < 40:
            yield f"{page} says nothing"


def complaints(build, pages, command):
    environment = dict(os.environ, LC_ALL="C.UTF-8", MANROFFSEQ="")
    for page in pages:
        path = os.path.join(build, PAGES, page)
        if not tap.read(build, os.path.join(PAGES, page)).startswith(".so "):
            done = subprocess.run([*command, path], capture_output=True, text=True, env=environment)
            lint = done.stdout if command[0] == "mandoc" else ""
            for line in (done.stderr + lint).splitlines():
                if not HARMLESS.search(line):
                    yield f"{page}: {line}"


def main():
    top, build = sys.argv[1:]
    out = tap.Tap()
    pages = set(os.listdir(os.path.join(build, PAGES)))
    pages = {page for page in pages if page.endswith(".3")}
    names = set(public_names(top))
    out.note(f"{len(names)} public names, {len(pages)} pages")
    out.check("each function, macro and type of the headers has a page", missing(names, pages))
    out.check("each function that the library exports has a page", missing(exported(build), pages))
    out.check("links lead to pages", list(broken_links(build, pages)))
    out.check("each page says something", list(empty_pages(build, pages)))
    for name, command in {
        "mandoc": ["mandoc", "-T", "lint", "-W", "warning"],
        "man": ["man", "--warnings", "-E", "UTF-8", "-l"],
    }.items():
        if shutil.which(name):
            out.check(f"{name} finds nothing wrong", list(complaints(build, sorted(pages), command)))
        else:
            out.skip(f"{name} finds nothing wrong", f"{name} is not installed")
    out.done()


main()
