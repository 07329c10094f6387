#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs every cell of the tables in docs/ACCESS.md, and holds what comes out against them. Prints TAP.

Usage: access_matrix.py [--show] TABLE.md
       As root, from access-matrix.sh, which sets the world up. With --show it prints what it has found as lines of a
       table, too.

What is asked is always about things of the user "own": a session, a program and its data source. Each question is asked
by the users "own", "other" and "root", and by a program of "own" in a sandbox, on the bus and on the native socket,
without polkit and with one that denies or grants everything. The answer is one of the words that the page explains.
"""

import json
import os
import subprocess
import sys
import time

import access_objects
import access_ports  # noqa: F401 (registers its questions)
import access_table
from access_table import ALL, CALLERS, SANDBOX
from access_world import DBUS, WAIT_S, Disconnected, World, questions

STATES = ("absent", "denied", "granted")
ACTIONS = ("trace-system", "trace-dynamic", "trace-from-sandbox", "manage-sessions", "detach")
PORTS = ("ConsumerPort", "ProducerPort")


class Polkit:
    """The bus's polkit, in one of STATES."""

    def __init__(self, state, directory):
        self.process = None
        if state == "absent":
            return
        answers = os.path.join(directory, "answers")
        with open(answers, "w", encoding="ascii") as file:
            for action in ACTIONS:
                file.write(f"org.desktrace.tracing1.{action} {'yes' if state == 'granted' else 'no'}\n")
        self.process = subprocess.Popen([os.environ["FAKE_POLKIT"], answers, os.path.join(directory, "questions")])

    def end(self):
        if self.process:
            self.process.terminate()
            self.process.wait()


def await_polkit(world, is_there):
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        answer = world.peers["root"].call(
            "bus", "/org/freedesktop/DBus", DBUS, "NameHasOwner", "(s)", "('org.freedesktop.PolicyKit1',)", False, DBUS
        )
        if answer.get("reply") == f"({str(is_there).lower()},)":
            return
        time.sleep(0.05)
    raise TimeoutError("polkit")


def program_name(world, pid):
    """The unique name of the owner's program on the bus."""
    root = world.peers["root"]
    names = root.call("bus", "/org/freedesktop/DBus", DBUS, "ListNames", None, None, False, DBUS)["reply"]
    for name in names.split("'")[1::2]:
        arguments = ("GetConnectionUnixProcessID", "(s)", f"('{name}',)", False, DBUS)
        if root.call("bus", "/org/freedesktop/DBus", DBUS, *arguments).get("reply") == f"({pid},)":
            return name
    raise LookupError(f"no connection of process {pid}")


def keys_of(rows):
    """Of all rows, and the function that asks each."""
    for row in rows:
        for key in row.keys:
            function = questions.get(key)
            if not function and row.kind == "properties" and not row.variant:
                function = access_objects.OF_PROPERTIES.get(row.section)
            yield row, key, function


def ask(function, world, caller, member):
    try:
        return function(world, caller, member) if function else "no test asks this"
    except Disconnected:
        return "no"


def run(rows, environment, directory):
    """For each key, transport and caller the words in the order of STATES."""
    found = {}
    for state in STATES:
        polkit = Polkit(state, directory)
        users = {**environment["users"], SANDBOX: environment["box"]}
        world = World(users, environment["addresses"], environment["ports"], None)
        await_polkit(world, state != "absent")
        world.program = program_name(world, environment["pid"])
        for _row, key, function in keys_of(rows):
            for transport in transports_of(key):
                world.transport = transport
                for caller in ALL:
                    word = ask(function, world, caller, key[2])
                    found.setdefault((key, transport, caller), []).append(word)
        world.end()
        polkit.end()
    return found


def cell_of(words):
    """As the page writes it: one word, or what is without polkit, or denied, and what if it grants."""
    absent, denied, granted = words
    if absent == denied == granted:
        return absent
    return f"{absent} → {granted}" if absent == denied else " / ".join(words)


def transports_of(key):
    return ("bus",) if key[0] in PORTS else ("bus", "native")


def wrong_in_sandbox(found, key, rules):
    """What a program in a sandbox gets that the page does not say."""
    rule = next((rule for rule in rules if rule.fits(key)), None)
    for transport in transports_of(key):
        expected = rule and rule.answers(transport, found[key, transport, "own"])
        if found[key, transport, SANDBOX] != expected:
            yield f"from a sandbox, {transport}: {found[key, transport, SANDBOX]}, the page says {expected}"


def cells_of(found, key):
    cells = [cell_of(found[key, "bus", caller]) for caller in CALLERS]
    if key[0] in PORTS:
        return cells
    native = [cell_of(found[key, "native", caller]) for caller in CALLERS]
    return [*cells, "the same" if native == cells else ", ".join(native)]


def main():
    show = "--show" in sys.argv
    table = [argument for argument in sys.argv[1:] if argument != "--show"][0]
    rows = access_table.read(table)
    rules = access_table.read_sandbox(table)
    environment = json.loads(os.environ["ACCESS_WORLD"])
    found = run(rows, environment, environment["directory"])
    n_failed = 0
    checks = list(keys_of(rows))
    asked = {key for _row, key, _function in checks}
    for number, (row, key, _function) in enumerate(checks, 1):
        cells = cells_of(found, key)
        wrong = list(wrong_in_sandbox(found, key, rules))
        good = cells == row.words and not wrong
        n_failed += not good
        for line in wrong:
            print(f"# {line}")
        if cells != row.words:
            print(f"# the page says {' | '.join(row.words)}")
            print(f"# it is         {' | '.join(cells)}")
        variant = f": {key[3]}" if key[3] else ""
        print(f"{'' if good else 'not '}ok {number} - {key[0]}.{key[2]}{variant} {cells}".replace("#", ""))
        if show:
            print(f"# | `{key[2]}`{variant} | {' | '.join(cells)} |")
    missing = sorted(set(questions) - asked)
    print(*(f"# without a row: {key}" for key in missing), sep="\n")
    print(f"{'not ' if missing else ''}ok {len(checks) + 1} - each question has a row")
    print(f"1..{len(checks) + 1}")
    return n_failed > 0 or bool(missing)


if __name__ == "__main__":
    sys.exit(main())
