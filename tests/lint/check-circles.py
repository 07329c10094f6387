#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""No two files of a library may need each other: calls go down, from file to file as well as from layer to layer.

What a file defines and what it needs is read from its object in the build tree (nm). This is exact, as it is what the
linker sees: a function of a header counts for the file that includes it, and an address in a table as a use. What is
called through a table is not seen, and need not be.

Usage: check-circles.py BUILD-ROOT
       check-circles.py BUILD-ROOT LIBRARY    prints what closes the circles of a library, such as libcore.a
       check-circles.py --self-test           plants circles and sees that each is found
"""

import collections
import glob
import json
import os
import subprocess
import sys

import tap

# Of nm, in upper case: defined for other objects.
DEFINED = set("TDBRVWCGSI")


def symbols(text):
    """What an object defines and what it needs, of nm's output."""
    defined, needed = set(), set()
    for line in text.splitlines():
        parts = line.split()
        if len(parts) == 2 and parts[0] == "U":
            needed.add(parts[1])
        elif len(parts) == 3 and parts[1] in DEFINED:
            defined.add(parts[2])
    return defined, needed


def arrows(objects):
    """Object → object → names; `objects` are by name what they define and need."""
    home = {name: where for where, (defined, _) in objects.items() for name in defined}
    graph = {where: collections.defaultdict(set) for where in objects}
    for where, (_, needed) in objects.items():
        for name in needed:
            if home.get(name, where) != where:
                graph[where][home[name]].add(name)
    return graph


def reached(graph, start):
    seen, left = set(), [start]
    while left:
        for other in graph[left.pop()]:
            if other not in seen:
                seen.add(other)
                left.append(other)
    return seen


def circles(graph):
    """Sets of objects that reach each other, the largest first."""
    ways = {where: reached(graph, where) for where in graph}
    found = {
        frozenset(other for other in ways[where] if where in ways[other])
        for where in graph
        if where in ways[where]
    }
    return sorted(found, key=lambda circle: (-len(circle), sorted(circle)))


def closing(graph, circle):
    """A line for each arrow inside of a circle."""
    for where in sorted(circle):
        for other in sorted(circle & set(graph[where])):
            yield f"  {where} -> {other}: {' '.join(sorted(graph[where][other]))}"


def problems(library, objects):
    graph = arrows(objects)
    for circle in circles(graph):
        yield f"{library}: {len(circle)} objects are in a circle"
        yield from closing(graph, circle)


def object_name(path):
    return os.path.basename(path).removesuffix(".o").removesuffix(".c")


def libraries(build):
    """Name → paths of its objects, of each library and program in src and bench."""
    folders = glob.glob(build + "/src/**/*.p", recursive=True) + glob.glob(build + "/bench/**/*.p", recursive=True)
    for folder in sorted(folders):
        name = os.path.basename(folder).removesuffix(".p")
        if ".so." in name:
            name = name[: name.index(".so.") + 3]
        paths = sorted(glob.glob(folder + "/*.o"))
        if paths:
            yield name, paths


def read(paths):
    """One nm for all: there are hundreds of objects."""
    output = subprocess.run(["nm", "--print-file-name", *paths], capture_output=True, text=True, check=True).stdout
    lines = collections.defaultdict(list)
    for line in output.splitlines():
        path, _, symbol = line.partition(":")
        lines[path].append(symbol)
    return {object_name(path): symbols("\n".join(lines[path])) for path in paths}


def why_not(build):
    """Sanitizers add names to objects, and with LTO they have no code yet."""
    with open(build + "/meson-info/intro-buildoptions.json", encoding="utf-8") as file:
        options = {option["name"]: option["value"] for option in json.load(file)}
    if options.get("b_lto"):
        return "built with LTO"
    if options.get("b_sanitize", "none") not in ("none", [], ""):
        return "built with sanitizers"
    if options.get("b_coverage"):
        return "built for coverage"
    return None


def self_test():
    def library(**texts):
        return {name: symbols(text) for name, text in texts.items()}

    def defines(name, *needed, kind="T"):
        return "\n".join([f"0000000000000000 {kind} {name}"] + [f"                 U {n}" for n in needed])

    straight = library(a=defines("fa", "fb", "malloc"), b=defines("fb", "fc"), c=defines("fc"))
    two = library(a=defines("fa", "fb"), b=defines("fb", "fa"), c=defines("fc", "fa"))
    three = library(a=defines("fa", "fb"), b=defines("fb", "fc"), c=defines("fc", "fa"), d=defines("fd", "fa"))
    table = library(a=defines("table", "fb", kind="D"), b=defines("fb", "table"))
    itself = library(a=defines("fa", "fa"), b=defines("fb", "fa"))
    local = library(a=defines("fa", "fb"), b=defines("fb", "helper"), c=defines("helper", "fa", kind="t"))
    pairs = library(a=defines("fa", "fb"), b=defines("fb", "fa"), c=defines("fc", "fd"), d=defines("fd", "fc"))

    def n_found(objects):
        return sum(map(len, circles(arrows(objects))))

    expected = [
        ("what only calls down", straight, 0),
        ("a circle of two, and not who calls it", two, 2),
        ("a circle of three", three, 3),
        ("a circle through a table's address", table, 2),
        ("a file that calls itself", itself, 0),
        ("names that are not for other files", local, 0),
        ("two circles", pairs, 4),
    ]
    check = tap.Tap()
    for promise, objects, n in expected:
        got = n_found(objects)
        check.check(f"{promise}: {n}", [] if got == n else [f"found {got}"])
    named = any("b -> a: fa" in line for line in problems("x", two))
    check.check("what closes a circle is named", [] if named else ["it is not"])
    check.check("a circle is a problem", [] if list(problems("x", three)) else ["not found"])
    check.check("what only calls down is no problem", problems("x", straight))
    check.done()


def main(build, wanted=None):
    check = tap.Tap()
    built = dict(libraries(build))
    if wanted:
        graph = arrows(read(built[wanted]))
        for circle in circles(graph):
            print(f"{len(circle)} objects:", *closing(graph, circle), sep="\n")
        return
    reason = why_not(build)
    for name, paths in built.items():
        promise = f"the files of {name} need each other in one direction"
        if reason:
            check.skip(promise, reason)
        else:
            check.check(promise, problems(name, read(paths)))
    check.check("libraries are built", [] if built else [f"there are none in {build}"])
    check.done()


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        self_test()
    main(*sys.argv[1:])
