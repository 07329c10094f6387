#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The users that access_matrix.py asks its questions as, and what they share."""

import json
import os
import subprocess
import time

from access_table import PREFIX

BUS = "org.desktrace.Tracing1"
ROOT = "/org/desktrace/Tracing1"
SESSION = PREFIX + "Session"
MANAGER = PREFIX + "Manager"
PROPERTIES = "org.freedesktop.DBus.Properties"
OBJECTS = "org.freedesktop.DBus.ObjectManager"
DBUS = "org.freedesktop.DBus"
SOURCE = "org.example.own"
TRIGGERED = "trigger_config { trigger_mode: STOP_TRACING triggers { name: 't' } trigger_timeout_ms: 600000 }"
WAIT_S = 20

# Whose errors say that the caller may not, and that there is no such thing.
REFUSED = ("NotAuthorized", "AuthorizationNeeded", "AccessDenied", "SourceNameReserved")
ABSENT = ("UnknownObject", "NoSuchSession", "UnknownMethod", "UnknownInterface", "ServiceUnknown")

questions = {}


class Disconnected(Exception):
    """A port does not serve this peer at all."""


def asks(section, kind, members, variant=""):
    """Registers the function that asks a row's question: it is called with a world, a caller and a member."""

    def register(function):
        for member in members.split():
            questions[section, kind, member, variant] = function
        return function

    return register


class Peer:
    """A process of a user: see access_peer.py."""

    def __init__(self, user):
        command = ["/usr/bin/python3", "-B", os.path.join(os.path.dirname(__file__), "access_peer.py")]
        if isinstance(user, list):
            command = [*user, *command]
        elif user != "root":
            command = ["setpriv", f"--reuid={user}", "--clear-groups", "--inh-caps=-all", "--", *command]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __getattr__(self, verb):
        def ask(*arguments):
            self.process.stdin.write(json.dumps([verb, *arguments]) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())

        return ask

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def word_of(answer, harmless=()):
    """What an answer of the bus means."""
    if "error" not in answer:
        return "yes"
    name = answer["error"].rsplit(".", 1)[-1]
    if name in REFUSED:
        return "no"
    if name in ABSENT:
        return "none"
    return "yes" if name in harmless else f"error {answer['text']}"


class World:
    """The users' connections in one state of polkit. `transport` is "bus" or "native"."""

    def __init__(self, users, addresses, ports, program):
        self.addresses, self.ports, self.program = addresses, ports, program
        self.transport = "bus"
        self.shared = None
        self.heard = {}
        self.peers = {caller: Peer(users[caller]) for caller in users}
        for caller, peer in self.peers.items():
            for transport, address in addresses.items():
                for purpose in ("", "-listens"):
                    peer.connect(transport + purpose, address, transport == "bus")
                # A call that shows sessions is what makes a connection hear of them.
                peer.call(transport + "-listens", ROOT, MANAGER, "ListSessions")
        self.producer = self.find_producer()

    def end(self):
        for peer in self.peers.values():
            peer.end()

    def call(self, caller, path, interface, member, *arguments, connection=None):
        return self.peers[caller].call(connection or self.transport, path, interface, member, *arguments)

    def manager(self, caller, member, *arguments, **options):
        return self.call(caller, ROOT, MANAGER, member, *arguments, **options)

    def start(self, caller, options, connection=None):
        return self.manager(caller, "StartSession", "(a{sv})", f"({{{options}}},)", connection=connection)

    def session(self, more="", config="", name=None):
        """A session of the owner's, whose connection stays."""
        text = f"buffers {{ size_kb: 64 }} data_sources {{ config {{ name: '{SOURCE}' }} }} {config}"
        options = f"'config-text': <{json.dumps(text)}>{more}"
        if "trigger" not in config:
            options += ", 'duration-ms': <uint32 600000>"
        answer = self.start("own", options + (f", 'name': <'{name}'>" if name else ""), connection="bus")
        assert "reply" in answer, answer
        return answer["reply"].split("'")[1]

    def free(self, path):
        self.call("root", path, SESSION, "Free", connection="bus")

    def shared_session(self):
        """One that nobody changes, for as long as this world is there."""
        self.shared = self.shared or self.session()
        return self.shared

    def find_producer(self):
        """The object of the owner's program, as root sees it."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            objects = self.call("root", ROOT, OBJECTS, "GetManagedObjects", connection="bus")["reply"]
            for part in objects.split("'/org/desktrace/Tracing1/producer/")[1:]:
                if "'Name': <'own-program'>" in part.split("'/org/")[0]:
                    return f"{ROOT}/producer/{part.split(chr(39))[0]}"
            time.sleep(0.1)
        raise TimeoutError("the owner's program has not registered")

    def port(self, caller, service, name=None):
        peer = self.peers[caller]
        answer = peer.port_connect(name or service, self.ports[service], service)
        if "error" in answer:
            raise Disconnected(answer["text"])
        return peer
