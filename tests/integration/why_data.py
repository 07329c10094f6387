#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds answers of `desktrace why` against the rows that `desktrace query` has of the same file.

Usage: why_data.py DESKTRACE cpu|repeats|wakeups FILE [THREAD...]     each THREAD is in the data

A program that is recorded does what the machine lets it do, so nothing is known before of how long and how often it
ran. What the answer must be follows from the scheduling events in the file, which this adds up in its own way.
"""

import collections
import csv
import json
import statistics
import subprocess
import sys

MS = 1_000_000
AN_INTERRUPT = "an interrupt"
IDLE = 0  # the utid of what a CPU runs when nothing wants it

Run = collections.namedtuple("Run", "ts dur cpu utid")


class Data:
    """The rows of the file, with what it takes to compare them with the answer to `question`."""

    def __init__(self, desktrace, question, file):
        command = [desktrace, "why", question, "--json=short", "--top", "0", file]
        if question == "cpu":
            command += ["--by", "thread"]
        self.desktrace, self.file = desktrace, file
        self.answer = json.loads(self.output(command))
        # A query reads only what it needs of the file, so a thread may have another utid in the next one.
        runs = self.rows(
            "SELECT ts, dur, cpu, utid, name, tid FROM sched JOIN thread USING (utid) ORDER BY ts, sched.id"
        )
        self.runs = [Run(*map(int, run[:4])) for run in runs]
        self.names = {int(run[3]): self.name_of(*run[4:]) for run in runs}

    @staticmethod
    def name_of(name, tid):
        return f"{name} {tid or 0}".strip()

    @staticmethod
    def output(command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 6):  # 6: something was lost, and the answer is about the rest
            sys.exit(done.stderr)
        return done.stdout

    def rows(self, sql):
        text = self.output([self.desktrace, "query", "--csv", "--no-legend", self.file, sql])
        return list(csv.reader(text.splitlines()))

    def by_name(self, values):
        """Threads of one name and number are told apart by nothing that an answer prints."""
        named = collections.defaultdict(list)
        for utid, value in values.items():
            named[self.names[utid]].append(value)
        return {name: sorted(each) for name, each in named.items()}

    def answered(self, who, *columns):
        named = collections.defaultdict(list)
        for row in self.answer["rows"]:
            named[row[who]].append(tuple(row[column] for column in columns))
        return {name: sorted(each) for name, each in named.items()}


def cpu(data):
    ran = collections.Counter()
    for run in data.runs:
        if run.utid != IDLE and run.dur > 0:  # those that are not over have no length
            ran[run.utid] += run.dur
    return data.by_name({utid: (ns,) for utid, ns in ran.items()}), data.answered("who", "cpu_ns")


def starts(runs):
    """When a thread began to run after a pause of at least 20 ms."""
    found, end = [], None
    for run in runs:
        if end is None or run.ts - end >= 20 * MS:
            found.append(run.ts)
        end = run.ts + max(run.dur, 0)
    return found


def repeats(data):
    threads, rhythms = collections.defaultdict(list), {}
    for run in data.runs:
        if run.utid != IDLE:
            threads[run.utid].append(run)
    for utid, runs in threads.items():
        times = starts(runs)
        if len(times) < 5:
            continue
        gaps = [b - a for a, b in zip(times, times[1:])]
        period = statistics.median(gaps)
        near = sum(0.9 * period <= gap <= 1.1 * period for gap in gaps)
        if int(period) >= 50 * MS and near / len(gaps) >= 0.6:
            rhythms[utid] = (int(period), len(times), round(near / len(gaps), 6))
    answered = {}
    data.answer["rows"] = [row for row in data.answer["rows"] if row["what"] == "thread runs"]
    for name, rows in data.answered("name", "period_ns", "n", "regular").items():
        answered[name] = [(period, n, round(regular, 6)) for period, n, regular in rows]
    return data.by_name(rhythms), answered


def wakeups(data):
    woken, was_idle = collections.Counter(), {}
    for run in data.runs:
        if was_idle.get(run.cpu) and run.utid != IDLE:
            woken[run.utid] += 1
        was_idle[run.cpu] = run.utid == IDLE
    wakers = collections.defaultdict(collections.Counter)
    states = """SELECT woken.name, woken.tid, waker_utid, waker.name, waker.tid, irq_context
        FROM thread_state JOIN thread woken USING (utid) LEFT JOIN thread waker ON waker.utid = waker_utid
        WHERE thread_state.state LIKE 'R%' AND thread_state.state <> 'Running'"""
    for name, tid, waker, waker_name, waker_tid, is_interrupt in data.rows(states):
        # A CPU that waits for a message from another one wakes what that asks for outside of any interrupt.
        if is_interrupt == "1" or waker == str(IDLE):
            wakers[data.name_of(name, tid)][AN_INTERRUPT] += 1
        elif waker:
            wakers[data.name_of(name, tid)][data.name_of(waker_name, waker_tid)] += 1
    for row in data.answer["rows"]:
        counts = wakers[row["thread"]]
        most = [waker for waker, n in counts.items() if n == max(counts.values())]
        if row["woken_by"] not in (most or [None]):
            sys.exit(f"{row['thread']} is not woken by {row['woken_by']}, but by {most}: {counts}")
    return data.by_name({utid: (n,) for utid, n in woken.items()}), data.answered("thread", "n")


def main(desktrace, question, file, *threads):
    data = Data(desktrace, question, file)
    expected, answered = {"cpu": cpu, "repeats": repeats, "wakeups": wakeups}[question](data)
    for name in sorted(expected.keys() | answered.keys()):
        if expected.get(name) != answered.get(name):
            sys.exit(f"{name}: the answer is {answered.get(name)}, and the data say {expected.get(name)}")
    for thread in threads:
        if not any(name.rpartition(" ")[0] == thread for name in data.names.values()):
            sys.exit(f"there is no thread {thread}")
    print(f"{len(expected)} rows are as the data have them")


main(*sys.argv[1:])
