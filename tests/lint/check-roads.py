#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The floors of core and bus (docs/ARCHITECTURE.md): a file uses files of its own floor and lower ones.

Each floor is a folder and a library. Three looks at them, all at the objects of the build:
  * every use of a name of another file (as in check-circles.py) goes down, or stays on its floor
  * a header declares no function of a higher floor: who reads it would take it for one that may be called from there
  * the roads of core: from each entry point every function that it may reach, how many files these are in, and which
    calls between files go up. There must be none. What is called through a table is not seen; it leads out of the core.

Usage: check-roads.py SOURCE-ROOT BUILD-ROOT
       check-roads.py --self-test       plants floors and calls, and sees that each is found
"""

import collections
import importlib
import os
import platform
import re
import subprocess
import sys

import tap

circles = importlib.import_module("check-circles")

LAYERS = ("core", "bus")

# What happens, and the entry point that it begins with. What follows is service_settle(), a road of its own.
ROADS = {
    "a chunk": "producer_doorbell",
    "a start": "session_start",
    "a flush": "session_flush",
    "the answer to a flush": "producer_flushed",
    "a stop": "session_stop",
    "a clone": "session_clone",
    "a trigger": "service_activate_triggers",
    "a read-out": "session_read",
    "a new session": "session_new",
    "settling": "service_settle",
}


def floors(page, layer):
    """Folder → number of its floor, the lowest first, of the layer's table in the page; and the floors' names."""
    text = page.partition(f"## The floors of {layer}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| `([\w/]+)` \|", text, re.MULTILINE)
    return {folder: number for number, (_, folder) in enumerate(rows)}, [name for name, _ in rows]


def library(folder):
    return "lib" + folder[len("src/daemon/") :].replace("/", "-") + ".a"


def check_table(folders, libraries):
    known = {library(folder) for folder in folders}
    for name in sorted(set(libraries) - known):
        yield f"{name} is on no floor"
    for name in sorted(known - set(libraries)):
        yield f"{name} is in the table, and is not built"


def place(folders, built):
    """File → number of its floor, and the paths of all objects."""
    table, paths = {}, []
    for folder, number in folders.items():
        for path in built.get(library(folder), ()):
            table[circles.object_name(path)] = number
            paths.append(path)
    return table, paths


def check_uses(table, graph):
    for where in sorted(graph):
        for other in sorted(graph[where]):
            if table.get(other, 0) > table.get(where, 0):
                yield f"{where} uses {other}, a floor above: {' '.join(sorted(graph[where][other]))}"


def check_headers(folders, headers, homes):
    """`headers` are texts by path, `homes` where a function is defined: name → number of the floor."""
    for path in sorted(headers):
        number = folders.get(os.path.dirname(path))
        if number is None:
            continue
        text = re.sub(r"/\*.*?\*/", "", headers[path], flags=re.S)
        declared = re.findall(r"^(?:extern )?[a-zA-Z_].*?\b(\w+)(?:\(|\[\];|;)", text, re.M)
        declared += re.findall(r"^(\w+)\(", text, re.M)
        for name in sorted(set(declared)):
            if homes.get(name, 0) > number:
                yield f"{path} declares {name}, which is defined on a floor above"


def read_headers(top, folders):
    names = (os.path.join(folder, name) for folder in folders for name in os.listdir(os.path.join(top, folder)))
    return {name: tap.read(top, name) for name in names if name.endswith(".h")}


def plain(name):
    """Without what the compiler appends to parts and copies of a function."""
    return name.split(".")[0]


def calls(text):
    """Function → names, of objdump -dr. A call has a relocation, or is to a place in the same section."""
    found = collections.defaultdict(set)
    function, pending = None, None
    for line in text.splitlines():
        label = re.match(r"[0-9a-f]+ <([^>]+)>:", line)
        relocation = re.search(r"R_\w+\s+([\w.]+)", line)
        if label:
            function, pending = plain(label.group(1)), None
        elif relocation:
            found[function].add(plain(relocation.group(1)))
            pending = None
        elif function:
            if pending:
                found[function].add(pending)
            jump = re.search(r"\s(?:call|j\w+)\s+[0-9a-f]+ <([\w.]+)(?:\+0x[0-9a-f]+)?>", line)
            pending = plain(jump.group(1)) if jump else None
    return found


def walk(code, home, start):
    """Every (file, function) that can be reached, and the calls between files as pairs of them."""
    first = (home[start], start)
    seen, left, between = {first}, [first], set()
    while left:
        file, function = left.pop()
        for name in code[file].get(function, ()):
            there = file if name in code[file] else home.get(name)
            if not there or name == "service_settle":
                continue
            if there != file:
                between.add(((file, function), (there, name)))
            if (there, name) not in seen:
                seen.add((there, name))
                left.append((there, name))
    return seen, between


def road(table, code, home, start):
    """What to say of it, and its calls upward."""
    seen, between = walk(code, home, start)
    upward = [
        f"{start}: {a[0]}.c {a[1]}() calls up to {b[0]}.c {b[1]}()"
        for a, b in sorted(between)
        if table.get(b[0], 0) > table.get(a[0], 0)
    ]
    files = {file for file, _ in seen}
    text = f"{len(seen)} functions in {len(files)} files, {len(between)} calls between files, {len(upward)} upward"
    return text, upward


def self_test():
    low, high = "src/daemon/core/low", "src/daemon/core"
    page = f"## The floors of core\n\n| floor | where |\n| **low** | `{low}` | x |\n| **high** | `{high}` | y |\n"
    page += "\n## The floors of bus\n\n| **other** | `src/daemon/bus` | z |\n"
    folders, names = floors(page, "core")
    built = {"libcore-low.a": ["x/a.c.o", "x/b.c.o"], "libcore.a": ["x/c.c.o"]}
    table, _ = place(folders, built)
    down = {"c": {"a": {"fa"}}, "a": {"b": {"fb"}}}
    up = {"a": {"c": {"fc"}}}
    text = (
        "0000000000000000 <fc>:\n   0:\te8 00 00 00 00\tcall   5 <fc+0x5>\n\t\t\t1: R_X86_64_PLT32\tfa-0x4\n"
        "   5:\teb 10\tjmp    20 <local.part.0>\n   7:\tc3\tret\n"
        "0000000000000020 <local.part.0>:\n  20:\te9 00 00 00 00\tjmp    25 <next>\n"
        "\t\t\t21: R_X86_64_PLT32\tfb-0x4\n"
    )
    code = {"c": calls(text), "a": {"fa": {"fc"}}, "b": {"fb": set()}}
    home = {"fa": "a", "fb": "b", "fc": "c"}
    got, upward = road(table, code, home, "fc")
    check = tap.Tap()

    def expect(promise, value, wanted):
        check.check(promise, [] if value == wanted else [f"found {value!r}, not {wanted!r}"])

    expect("floors are read in their order", (table, names), ({"a": 0, "b": 0, "c": 1}, ["low", "high"]))
    expect("each layer has its table", floors(page, "bus"), ({"src/daemon/bus": 0}, ["other"]))
    expect("a use of a lower floor, or of the same one, is no problem", list(check_uses(table, down)), [])
    expect("a use of a higher floor is named", list(check_uses(table, up)), ["a uses c, a floor above: fc"])
    headers = {
        f"{low}/a.h": "/* fc() is above */\nint fa(void);\nvoid\nfc(int a);\nextern const int table[];\n",
        f"{high}/c.h": "int fa(void); int fc(void);\n",
    }
    expect(
        "a header that declares what is defined above is named",
        list(check_headers(folders, headers, {"fa": 0, "fc": 1, "table": 1})),
        [f"{low}/a.h declares {name}, which is defined on a floor above" for name in ("fc", "table")],
    )
    expect(
        "a floor that is not in the table is named",
        list(check_table(folders, [*built, "libcore-new.a"])),
        ["libcore-new.a is on no floor"],
    )
    expect(
        "a floor that is not there is named",
        list(check_table(folders, ["libcore.a"])),
        ["libcore-low.a is in the table, and is not built"],
    )
    expect("calls are read", {k: sorted(v) for k, v in code["c"].items()}, {"fc": ["fa", "local"], "local": ["fb"]})
    expect("a road is followed", got, "4 functions in 3 files, 3 calls between files, 1 upward")
    expect("a call upward is named", upward, ["fc: a.c fa() calls up to c.c fc()"])
    check.done()


def check_layer(check, top, page, build, layer, reason):
    """The floors of one layer; returns where its files are, the paths of its objects, and what these say."""
    folders, names = floors(page, layer)
    built = {name: paths for name, paths in circles.libraries(build) if re.match(rf"lib{layer}[-.]", name)}
    built.pop("libcore-fixture.a", None)  # of the tests
    table, paths = place(folders, built)
    objects = circles.read(paths)
    check.check(f"the floors of {layer} are {', '.join(names)}", check_table(folders, built))
    twice = [f"{len(paths)} objects have {len(table)} names"] if len(paths) != len(table) else []
    check.check(f"no two files of {layer} have the same name", twice)
    if reason:
        check.skip(f"files of {layer} use lower floors", reason)
    else:
        check.check(f"files of {layer} use lower floors", check_uses(table, circles.arrows(objects)))
    homes = {name: table[where] for where, (defined, _) in objects.items() for name in defined}
    check.check(
        f"headers of {layer} declare nothing of higher floors",
        check_headers(folders, read_headers(top, folders), homes),
    )
    return table, paths, objects


def main(top, build):
    check = tap.Tap()
    page = tap.read(top, "docs/ARCHITECTURE.md")
    reason = circles.why_not(build)
    seen = {layer: check_layer(check, top, page, build, layer, reason) for layer in LAYERS}
    table, paths, objects = seen["core"]
    if reason or platform.machine() != "x86_64":
        check.skip("the roads of core go down", reason or f"calls on {platform.machine()} are not read")
        check.done()
    code = {}
    for path in paths:
        output = subprocess.run(["objdump", "-dr", path], capture_output=True, text=True, check=True).stdout
        code[circles.object_name(path)] = calls(output)
    home = {name: where for where, (defined, _) in objects.items() for name in defined}
    for what, start in ROADS.items():
        text, upward = road(table, code, home, start)
        check.note(f"{what}, {start}(): {text}")
        check.check(f"the road of {what} goes down", upward)
    check.done()


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        self_test()
    os.environ["LC_ALL"] = "C"
    main(*sys.argv[1:])
