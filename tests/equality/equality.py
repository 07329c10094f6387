#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds answers of `desktrace query` against those of Perfetto's trace processor.

Usage: equality.py DESKTRACE [TRACE...]
       equality.py --learn TRACE-PROCESSOR TRACE...

Without --learn, each recording in traces/ is asked all of queries.sql, and the rows are compared with those that a
real trace processor answered, which are kept in rows/ with its version. A TRACE is the name of one of these
recordings; if it is a path of another file, the trace processor that DESKTRACE_TEST_TRACE_PROCESSOR names is asked
now. What differs on purpose is listed in `differences` with the reason, and has to differ: a difference that is gone
fails. With --learn, the rows of recordings in traces/ are made again.

The recordings are short ones of all presets and of examples, made by `desktrace record --standalone` in a process
namespace of its own, so that they name no program of somebody's machine. `lossy` had a buffer that was too small,
`cut` is the first 20,000 bytes of `default`, `compressed` and `full-events` were deflated, and the latter has no
compact scheduling. `snapshot` is of a flight recorder, while it recorded; the service was killed and ended during
`restart`. `states` is of the pool of threads among the examples, `bus` and `sysprof` are of the bridges,
`default-stacks` of the preset with `--stacks`, and `boot` was made after systemd had booted. No machine has made
`power`: virtual ones know no idle states. `chromium` is of a stock Chromium 156, through Perfetto's port, and so is
`sdk`, of a program with the C++ SDK v58.2.
"""

import collections
import fnmatch
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
TAKES = 300  # seconds that one question may take, on any machine
SHOWN = 5  # rows of a difference


class Query:
    def __init__(self, name, columns, includes, sql):
        self.name, self.includes = name, includes
        names = [column.strip() for column in columns.split(",")]
        self.sql = f"WITH rows_({', '.join(names)}) AS ({sql}) SELECT json_array({', '.join(names)}) AS row FROM rows_"


def read_queries():
    with open(os.path.join(HERE, "queries.sql")) as file:
        text = file.read()
    form = re.compile(r"^-- (\w+): (.+)\n((?:-- include \S+\n)*)((?:(?!--).*\n)+)", re.M)
    return [
        Query(name, columns, re.findall(r"include (\S+)", includes), sql.strip().rstrip(";"))
        for name, columns, includes, sql in form.findall(text)
    ]


def read_differences():
    """(query, who has the rows, what they look like, reason)"""
    found = []
    with open(os.path.join(HERE, "differences")) as file:
        for line in file:
            match = re.fullmatch(r"(\w+) (theirs|ours) /(.*)/ (.+)\n", line)
            if match:
                found.append((match[1], match[2], re.compile(match[3]), match[4]))
            elif not line.startswith("#") and line.strip():
                sys.exit(f"differences: {line.strip()}: not QUERY theirs|ours /PATTERN/ REASON")
    return found


def included(queries):
    return "".join(f"INCLUDE PERFETTO MODULE {module};" for query in queries for module in query.includes)


def answers_of(output):
    """One JSON document after the other, as far as they are whole."""
    decoder, at, answers = json.JSONDecoder(), 0, []
    while at < len(output):
        try:
            rows, at = decoder.raw_decode(output, at)
        except ValueError:
            break
        answers.append(collections.Counter(row["row"] for row in rows))
        at += len(output[at:]) - len(output[at:].lstrip())
    return answers


def ask_desktrace(program, queries, path):
    """{query: its rows, or the error}. One process answers all, and the next one those behind an error."""
    answers = []
    while len(answers) < len(queries):
        left = queries[len(answers) :]
        sql = "".join(f"{included([query])}{query.sql};" for query in left)
        answer = subprocess.run(
            [program, "query", "--json", path, sql], capture_output=True, text=True, timeout=TAKES, check=False
        )
        answers += answers_of(answer.stdout)
        if len(answers) < len(queries):
            answers.append(RuntimeError(f"{answer.returncode}: {answer.stderr.strip()}"))
        elif answer.returncode not in (0, 6):
            raise RuntimeError(f"{path}: {answer.returncode}: {answer.stderr.strip()}")
    return {query.name: rows for query, rows in zip(queries, answers)}


def ask_trace_processor(program, queries, path):
    """{query: its rows}. It prints the rows of one statement alone, so all questions are one."""
    every = " UNION ALL ".join(f"SELECT '{query.name} ' || row FROM ({query.sql})" for query in queries)
    answer = subprocess.run(
        [program, "-Q", included(queries) + every, path],
        capture_output=True, text=True, errors="replace", timeout=TAKES, check=False,
    )  # fmt: skip
    if answer.returncode:
        raise RuntimeError(answer.stderr.strip())
    rows = {query.name: collections.Counter() for query in queries}
    for name, row in re.findall(r'^"(\w+) (\[.*)"$', answer.stdout, flags=re.M):
        rows[name][row] += 1
    return rows


def version_of(program):
    answer = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=TAKES, check=False)
    return answer.stdout.split("\n")[0].split(" (")[0]


def kept_rows(name):
    """The answers of a trace processor: {query: rows}, and its version."""
    kept, version, rows = collections.defaultdict(collections.Counter), None, None
    with lzma.open(os.path.join(HERE, "rows", name + ".xz"), "rt") as file:
        for line in file:
            line = line.rstrip("\n")
            if line.startswith("@"):
                rows = kept[line[1:]] = collections.Counter()
            elif line.startswith("#"):
                version = line[1:].strip()
            elif rows is not None:
                rows[line] += 1
    return kept, version


def unpacked(name, directory):
    path = os.path.join(directory, name)
    with lzma.open(os.path.join(HERE, "traces", name + ".xz")) as packed, open(path, "wb") as file:
        file.write(packed.read())
    return path


def learn(program, names):
    os.makedirs(os.path.join(HERE, "rows"), exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        for name in names:
            path = unpacked(name, directory)
            with lzma.open(os.path.join(HERE, "rows", name + ".xz"), "wt", preset=9) as file:
                print("#", version_of(program), file=file)
                for query, rows in ask_trace_processor(program, read_queries(), path).items():
                    print("@" + query, file=file)
                    for row in sorted(rows.elements()):
                        print(row, file=file)
            print("learned", name)


class Comparison:
    def __init__(self, program):
        self.program, self.failed, self.n = program, 0, 0
        self.differences = read_differences()
        self.seen = set()

    def report(self, is_ok, what, lines=()):
        self.n += 1
        self.failed += not is_ok
        for line in lines:
            print("#", line[:400])
        print(f"{'ok' if is_ok else 'not ok'} {self.n} - {what}", flush=True)

    def is_known(self, query, side, row):
        for i, (name, who, pattern, _) in enumerate(self.differences):
            if name == query.name and who == side and pattern.search(row):
                self.seen.add(i)
                return True
        return False

    def compare(self, name, query, theirs, ours):
        if isinstance(ours, RuntimeError):
            return self.report(False, f"{name}: {query.name}", [str(ours)])
        more, less = (
            sorted(row for row in (a - b).elements() if not self.is_known(query, side, row))
            for a, b, side in ((ours, theirs, "ours"), (theirs, ours, "theirs"))
        )
        lines = [f"ours:   {row}" for row in more[:SHOWN]] + [f"theirs: {row}" for row in less[:SHOWN]]
        if more or less:
            lines.append(f"{len(more)} rows are ours alone, {len(less)} theirs, of {sum(theirs.values())}")
        return self.report(not more and not less, f"{name}: {query.name}", lines)

    def compare_kept(self, name, directory):
        kept, version = kept_rows(name)
        path = unpacked(name, directory)
        print(f"# {name}, against {version}")
        self.compare_all(name, kept, path)

    def compare_now(self, processor, path):
        self.compare_all(os.path.basename(path), ask_trace_processor(processor, read_queries(), path), path)

    def compare_all(self, name, theirs, path):
        queries = read_queries()
        ours = ask_desktrace(self.program, queries, path)
        for query in queries:
            self.compare(name, query, theirs[query.name], ours[query.name])

    def finish(self, is_whole):
        for i, (name, side, pattern, reason) in enumerate(self.differences):
            if is_whole:
                self.report(i in self.seen, f"still different: {name}, {side} /{pattern.pattern}/: {reason}")
        print(f"1..{self.n}")
        return 1 if self.failed else 0


def main(arguments):
    if arguments[0] == "--learn":
        return learn(arguments[1], [os.path.basename(name).removesuffix(".xz") for name in arguments[2:]])
    comparison = Comparison(arguments[0])
    kept = sorted(name.removesuffix(".xz") for name in os.listdir(os.path.join(HERE, "traces")))
    names = arguments[1:] or kept
    processor = os.environ.get("DESKTRACE_TEST_TRACE_PROCESSOR")
    with tempfile.TemporaryDirectory() as directory:
        for name in names:
            if os.sep in name:
                comparison.compare_now(processor, name)
            else:
                comparison.compare_kept(name, directory)
    return comparison.finish(names == kept)


sys.exit(main(sys.argv[1:]))
