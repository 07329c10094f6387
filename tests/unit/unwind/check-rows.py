#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares each row of .eh_frame of real files with what readelf makes of it.

Usage: check-rows.py UNWIND-ROWS
"""

import glob
import re
import subprocess
import sys

# Of each list, the first that is there.
FILES = [
    ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6"],
    ["/lib64/ld-linux-x86-64.so.2"],
    ["/usr/lib/x86_64-linux-gnu/libgtk-4.so.1", "/usr/lib64/libgtk-4.so.1",
     "/usr/lib/x86_64-linux-gnu/libgtk-3.so.0", "/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0"],
    ["/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib64/libstdc++.so.6"],
]

FUNCTION = re.compile(r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)")
ROW = re.compile(r"^[0-9a-f]{16} ")


def functions(path):
    """Each function as (start, end, {address: (cfa, rbp, rbx, ra)})."""
    out = subprocess.Popen(
        ["readelf", "--wide", "--debug-dump=frames-interp", path],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={"LC_ALL": "C"},
    )
    current, columns, skip = None, [], True
    for line in out.stdout:
        match = FUNCTION.match(line)
        if match:
            if current:
                yield current
            current, columns = (int(match[1], 16), int(match[2], 16), {}), []
        elif " CIE " in line:
            columns = []
            if current:
                yield current
            current = None
        elif line.split()[:2] == ["LOC", "CFA"]:
            columns = line.split()
        elif current and columns and ROW.match(line):
            values = dict(zip(columns, re.sub(r" \(\w+\)", "", line).split()))
            current[2][int(values["LOC"], 16)] = (
                values["CFA"], values.get("rbp", "u"), values.get("rbx", "u"), values.get("ra", "u"),
            )
    if current:
        yield current
    out.wait()


def expected(path):
    """The row of the first and of the last byte that each is for."""
    rows = {}
    for start, end, table in functions(path):
        places = sorted(table)
        for place, after in zip(places, places[1:] + [end]):
            if place < after and start <= place < end:
                rows[place] = rows[after - 1] = table[place]
    return rows


def kept(rule):
    """What our row says of a register that readelf says this of."""
    return {"vexp": "none", "s": "u"}.get(rule, rule)


def differs(want, have):
    cfa, rbp, rbx, ra = want
    if have[0] == "signal":
        return cfa != "exp"
    if ra == "u":
        return have[0] != "outermost"
    return (cfa, kept(rbp), kept(rbx), ra) != have


def compare(tool, path):
    rows = expected(path)
    text = "".join(f"{address:x}\n" for address in rows)
    out = subprocess.run([tool, path], input=text, capture_output=True, text=True, check=True).stdout
    problems, seen = [], 0
    for line in out.splitlines():
        words = line.split()
        seen += 1
        if differs(rows[int(words[0], 16)], tuple(words[1:])):
            problems.append(f"{line}, but readelf has {' '.join(rows[int(words[0], 16)])}")
    if seen != len(rows):
        problems.append(f"{seen} rows of {len(rows)}")
    return len(rows), problems


def main():
    paths = [next((path for path in choice if glob.glob(path)), None) for choice in FILES]
    paths = [path for path in paths if path]
    print(f"1..{len(paths)}" if paths else "1..0 # SKIP no library of this machine is known")
    for number, path in enumerate(paths, 1):
        n_rows, problems = compare(sys.argv[1], path)
        # A reader that finds nothing agrees with everything.
        if n_rows < 1000:
            problems.append(f"readelf has only {n_rows} rows")
        print(f"{'not ok' if problems else 'ok'} {number} - the {n_rows} rows of {path} are as readelf reads them")
        for problem in problems[:20]:
            print(f"# {problem}")


main()
