#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds exports against what "desktrace query" says of the same recording.

Usage: export_check.py parquet FILE JSON-LINES         the same rows, in the same order
       export_check.py otlp FILE DESKTRACE TRACE
       export_check.py firefox FILE DESKTRACE TRACE
       export_check.py off-cpu FILE DESKTRACE TRACE
"""

import collections
import json
import subprocess
import sys

import parquet_file


def ask(desktrace, trace, sql):
    """Rows as dictionaries."""
    run = subprocess.run([desktrace, "query", "--json=short", trace, sql], stdout=subprocess.PIPE, check=False)
    assert run.returncode in (0, 6), run.returncode
    return json.loads(run.stdout)


def check_parquet(path, lines):
    with open(lines, encoding="utf-8") as file:
        wanted = [json.loads(line) for line in file]
    names, rows = parquet_file.read(path)
    assert [dict(zip(names, row)) for row in rows] == wanted, "other rows"


def spans_of(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            for resource in json.loads(line)["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    for span in scope["spans"]:
                        yield resource["resource"], scope["scope"]["name"], span


def attributes(owner):
    return {a["key"]: next(iter(a["value"].values())) for a in owner["attributes"]}


def check_otlp(path, desktrace, trace):
    spans = list(spans_of(path))
    rows = ask(desktrace, trace, "SELECT s.id, s.name, s.dur, to_realtime(s.ts) AS ts, s.parent_id, s.category, t.tid, "
               "p.pid FROM slice s JOIN any_track k ON k.id = s.track_id LEFT JOIN thread t ON t.id = k.utid "
               "LEFT JOIN process p ON p.id = coalesce(t.upid, k.upid)")
    uuid, = ask(desktrace, trace, "SELECT replace(str_value, '-', '') AS u FROM metadata WHERE name = 'trace_uuid'")
    by_id = {f"{row['id'] + 1:016x}": row for row in rows}
    assert {span["traceId"] for _, _, span in spans} == {uuid["u"]}
    assert len({span["spanId"] for _, _, span in spans}) == len(spans)
    for resource, scope, span in spans:
        row = by_id[span["spanId"]]
        told = attributes(span)
        assert (span["name"], scope) == (row["name"] or "", row["category"] or ""), (span, row)
        assert int(span["startTimeUnixNano"]) == row["ts"]
        assert int(span["endTimeUnixNano"]) == row["ts"] + row["dur"]
        assert row["tid"] is None or int(told["thread.id"]) == row["tid"], (span, row)
        assert row["pid"] is None or int(attributes(resource)["process.pid"]) == row["pid"]
        if span.get("parentSpanId"):
            parent = by_id[span["parentSpanId"]]
            assert parent["ts"] <= row["ts"] and parent["ts"] + parent["dur"] >= row["ts"] + row["dur"]
    assert {span["spanId"] for _, _, span in spans} >= {i for i, row in by_id.items() if row["dur"] > 0}
    events = sum(len(span.get("events", ())) + span.get("droppedEventsCount", 0) for _, _, span in spans)
    lone = sum(span["startTimeUnixNano"] == span["endTimeUnixNano"] for _, _, span in spans)
    assert events + lone == sum(row["dur"] == 0 for row in rows), "instants"
    links = sum(len(span.get("links", ())) + span.get("droppedLinksCount", 0) for _, _, span in spans)
    flows = ask(desktrace, trace, "SELECT count(*) AS n FROM flow f JOIN slice a ON a.id = f.slice_out JOIN slice b ON "
                "b.id = f.slice_in WHERE a.dur >= 0 AND b.dur >= 0")[0]["n"]
    assert links >= flows, (links, flows)
    args = ask(desktrace, trace, "SELECT s.id, a.key, a.display_value AS value FROM slice s "
               "JOIN args a USING (arg_set_id) WHERE s.dur > 0 AND a.value_type IN ('int', 'string') LIMIT 500")
    told = {span["spanId"]: attributes(span) for _, _, span in spans}
    for arg in args:
        assert told[f"{arg['id'] + 1:016x}"][arg["key"]] == arg["value"], arg


def check_firefox(path, desktrace, trace):
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    shared, meta = profile["shared"], profile["meta"]
    texts = shared["stringArray"]
    for name, table in shared.items():
        if name != "stringArray":
            assert all(len(column) == table["length"] for key, column in table.items() if key != "length"), name
    stacks, frames, functions = shared["stackTable"], shared["frameTable"], shared["funcTable"]
    assert all(p is None or p < i for i, p in enumerate(stacks["prefix"]))
    assert all(f < frames["length"] for f in stacks["frame"])
    assert all(f < functions["length"] for f in frames["func"])
    assert all(n < len(texts) for n in functions["name"])
    assert any(c["color"] == "grey" for c in meta["categories"])
    told, samples = collections.Counter(), 0
    for thread in profile["threads"]:
        markers = thread["markers"]
        assert all(len(column) == markers["length"] for key, column in markers.items() if key != "length")
        assert all(c < len(meta["categories"]) for c in markers["category"])
        for i in range(markers["length"]):
            if markers["phase"][i] == 1:
                us = round((markers["endTime"][i] - markers["startTime"][i]) * 1e3)
                told[thread["tid"], texts[markers["name"][i]], us] += 1
        assert len(thread["samples"]["stack"]) == len(thread["samples"]["time"]) == thread["samples"]["length"]
        assert thread["samples"]["time"] == sorted(thread["samples"]["time"])
        assert all(s is None or s < stacks["length"] for s in thread["samples"]["stack"])
        samples += thread["samples"]["length"]
    rows = ask(desktrace, trace, "SELECT tid, name, dur FROM thread_slice WHERE dur > 0")
    wanted = collections.Counter((row["tid"], row["name"] or "", round(row["dur"] / 1e3)) for row in rows)
    near = sum(abs(a[2] - b[2]) > 1 for a, b in zip(sorted(told.elements()), sorted(wanted.elements())))
    assert told.total() == wanted.total() and near == 0, (told.total(), wanted.total(), near)
    assert samples == ask(desktrace, trace, "SELECT count(*) AS n FROM perf_sample")[0]["n"]


def check_off_cpu(path, desktrace, trace):
    with open(path, encoding="utf-8") as file:
        told = sum(int(line.rpartition(" ")[2]) for line in file)
    row = ask(desktrace, trace, "SELECT sum(dur) / 1000 AS us, count(DISTINCT utid || state) AS n FROM thread_state "
              "WHERE state <> 'Running' AND dur > 0")[0]
    assert row["us"] * 0.99 - 1000 <= told <= row["us"], (told, row)


if __name__ == "__main__":
    checks = {"parquet": check_parquet, "otlp": check_otlp, "firefox": check_firefox, "off-cpu": check_off_cpu}
    checks[sys.argv[1]](*sys.argv[2:])
