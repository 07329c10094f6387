#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What access_matrix.py asks of the service's objects, on the bus and on the native socket."""

import json
import time

from access_table import ALL, PREFIX
from access_world import (
    BUS,
    MANAGER,
    OBJECTS,
    PROPERTIES,
    ROOT,
    SESSION,
    SOURCE,
    TRIGGERED,
    WAIT_S,
    asks,
    word_of,
)

SIGNALS_INTERVAL_S = 1.1

#
# The Manager
#


@asks("Manager", "methods", "StartSession", "programs of one's own")
def start_own(world, caller, _member):
    return started(world, caller, f"'sources': <['{SOURCE}']>")


@asks("Manager", "methods", "StartSession", "programs of all users")
def start_system(world, caller, _member):
    return started(world, caller, f"'sources': <['{SOURCE}']>, 'scope': <'system'>")


@asks("Manager", "methods", "StartSession", "a data source of the system's")
def start_kernel(world, caller, _member):
    return started(world, caller, "'sources': <['linux.sys_stats']>, 'partial': <true>")


@asks("Manager", "methods", "StartSession", "probes of one's own")
def start_probe(world, caller, _member):
    config = (
        "buffers { size_kb: 64 } data_sources { config { name: 'linux.ftrace' "
        "ftrace_config { kprobe_events { probe: 'vfs_read' } } } }"
    )
    return started(world, caller, f"'config-text': <{json.dumps(config)}>, 'partial': <true>")


@asks("Manager", "methods", "StartSession", "detached, without an end")
def start_detached(world, caller, _member):
    return started(world, caller, f"'sources': <['{SOURCE}']>, 'detach': <true>")


@asks("Manager", "methods", "StartSession", "with `exclusive_prio`")
def start_exclusive(world, caller, _member):
    config = f"buffers {{ size_kb: 64 }} data_sources {{ config {{ name: '{SOURCE}' }} }} exclusive_prio: 1"
    return started(world, caller, f"'config-text': <{json.dumps(config)}>")


@asks("Manager", "methods", "StartSession", "with `lockdown_mode`")
def start_lockdown(world, caller, _member):
    config = f"buffers {{ size_kb: 64 }} data_sources {{ config {{ name: '{SOURCE}' }} }} lockdown_mode: LOCKDOWN_"
    word = started(world, caller, f"'config-text': <{json.dumps(config + 'SET')}>")
    started(world, "root", f"'config-text': <{json.dumps(config + 'CLEAR')}>")
    return word


def started(world, caller, options):
    """Programs of others are none of one's own: that there is no such source is no refusal."""
    answer = world.start(caller, options)
    if "reply" in answer:
        world.free(answer["reply"].split("'")[1])
    return word_of(answer, ("NoSuchSource", "SourceFailed"))


def shows(world, caller, answer, text):
    """Whether a list has something of the owner's."""
    return ("yes" if text in answer["reply"] else "own") if "reply" in answer else word_of(answer)


@asks("Manager", "methods", "ListSources")
def list_sources(world, caller, member):
    return shows(world, caller, world.manager(caller, member), SOURCE)


@asks("Manager", "methods", "ListCategories")
def list_categories(world, caller, member):
    options = "('p', [('track_event', {'categories': <['of-hers']>})], {})"
    world.peers["own"].connect("producer", world.addresses[world.transport], world.transport == "bus")
    world.manager("own", "RegisterProducer", "(sa(sa{sv})a{sv})", options, connection="producer")
    return shows(world, caller, world.manager(caller, member), "of-hers")


@asks("Manager", "methods", "ActivateProducers AwaitProducers ListPresets")
def plain_call(world, caller, member):
    return word_of(world.manager(caller, member))


@asks("Manager", "methods", "ListEvents")
def list_events(world, caller, member):
    return word_of(world.manager(caller, member, "(a{sv})", "({'start': <false>},)"))


@asks("Manager", "methods", "GetEventFormats")
def get_event_formats(world, caller, member):
    return word_of(world.manager(caller, member, "(as)", "(['sched/sched_switch'],)"), ["NoSuchSource"])


@asks("Manager", "methods", "ListSessions")
def list_sessions(world, caller, member):
    path = world.session()
    word = shows(world, caller, world.manager(caller, member), f"'{path}'")
    world.free(path)
    return word


@asks("Manager", "methods", "GetSession")
def get_session(world, caller, member):
    path = world.session(name="hers")
    word = word_of(world.manager(caller, member, "(s)", "('hers',)"))
    by_number = word_of(world.manager(caller, member, "(s)", f"('{path.rsplit('/', 1)[1]}',)"))
    world.free(path)
    return word if word == by_number else f"{word} by name, {by_number} by number"


@asks("Manager", "methods", "ActivateTriggers")
def activate_triggers(world, caller, member):
    path = world.session(config=TRIGGERED)
    answer = world.manager(caller, member, "(asa{sv})", "(['t'], {})")
    world.free(path)
    return {"(1,)": "yes", "(0,)": "own"}.get(answer.get("reply"), str(answer))


def registered(world, caller, source):
    """On a connection of its own, which is the last one that has been made for this."""
    peer = world.peers[caller]
    peer.connect("producer", world.addresses[world.transport], world.transport == "bus")
    return world.manager(
        caller, "RegisterProducer", "(sa(sa{sv})a{sv})", f"('p', [('{source}', {{}})], {{}})", connection="producer"
    )


@asks("Manager", "methods", "RegisterProducer", "names of one's own")
def register_producer(world, caller, _member):
    return word_of(registered(world, caller, "org.example.more"))


@asks("Manager", "methods", "RegisterProducer", "names of the system's")
def register_system_producer(world, caller, _member):
    return word_of(registered(world, caller, "linux.example"))


@asks("Manager", "methods", "RegisterDataSource UnregisterDataSource AddNotes")
def as_producer(world, caller, member):
    arguments = {
        "RegisterDataSource": ("(sa{sv})", "('org.example.other', {})"),
        "UnregisterDataSource": ("(s)", "('org.example.more',)"),
        "AddNotes": ("(tas)", "(4711, ['a note'])"),
    }
    word = word_of(registered(world, caller, "org.example.more"))
    if word != "yes":
        return word
    return word_of(world.manager(caller, member, *arguments[member], connection="producer"))


@asks("Manager", "properties", "Version")
def version(world, caller, member):
    return word_of(world.call(caller, ROOT, PROPERTIES, "Get", "(ss)", f"('{MANAGER}', '{member}')"))


@asks("Manager", "properties", "NumSessions NumProducers")
def counted(world, caller, member):
    """Neither of the others has a session, and their programs are gone."""
    world.peers[caller].disconnect("producer")
    path = world.session()
    answer = world.call(caller, ROOT, PROPERTIES, "Get", "(ss)", f"('{MANAGER}', '{member}')")
    world.free(path)
    return word_of(answer) if "error" in answer else "own" if answer["reply"] == "(<uint32 0>,)" else "yes"


#
# Sessions, buffers, producers, sources
#


def of_session(world, caller, member, *arguments, config="", harmless=()):
    path = world.session(config=config)
    answer = world.call(caller, path, SESSION, member, *arguments)
    world.free(path)
    return word_of(answer, harmless)


@asks("Session", "methods", "Stop GetBufferStats GetWriterStats Free Attach")
def session_call(world, caller, member):
    return of_session(world, caller, member)


@asks("Session", "methods", "Start")
def session_start(world, caller, member):
    return of_session(world, caller, member, config="deferred_start: true")


@asks("Session", "methods", "Flush Read")
def session_flush(world, caller, member):
    return of_session(world, caller, member, "(u)", "(100,)")


@asks("Session", "methods", "ReadInto")
def session_read_into(world, caller, member):
    return of_session(world, caller, member, "(h)", "(handle 0,)", True)


@asks("Session", "methods", "ChangeConfig")
def session_change(world, caller, member):
    return of_session(world, caller, member, "(a{sv})", "({'config-text': <'buffers { }'>},)", harmless=("BadConfig",))


def cloned(world, caller, options):
    path = world.session()
    answer = world.call(caller, path, SESSION, "Clone", "(a{sv})", f"({options},)")
    world.free(path)
    if "reply" in answer:
        world.free(answer["reply"].split("'")[1])
    return word_of(answer)


@asks("Session", "methods", "Clone")
def session_clone(world, caller, _member):
    return cloned(world, caller, "{}")


@asks("Session", "methods", "Clone", "without its trace filter")
def session_clone_unfiltered(world, caller, _member):
    return cloned(world, caller, "{'skip-filter': <true>}")


@asks("Session", "methods", "Detach")
def session_detach(world, caller, member):
    return of_session(world, caller, member)


@asks("Session", "methods", "Detach", "without an end")
def session_detach_endless(world, caller, member):
    """By any caller: root may leave it behind, but it was its owner who started it."""
    answer = world.start("own", f"'sources': <['{SOURCE}']>")
    path = answer["reply"].split("'")[1]
    word = word_of(world.call(caller, path, SESSION, member))
    world.free(path)
    return word


def of_object(world, caller, path, interface, member):
    return word_of(world.call(caller, path, PROPERTIES, "Get", "(ss)", f"('{PREFIX}{interface}', '{member}')"))


def session_property(world, caller, member):
    return of_object(world, caller, world.shared_session(), "Session", member)


def buffer_property(world, caller, member):
    return of_object(world, caller, f"{world.shared_session()}/buffer/0", "Buffer", member)


def producer_property(world, caller, member):
    return of_object(world, caller, world.producer, "ProducerInfo", member)


def source_property(world, caller, member):
    path = f"{ROOT}/source/{SOURCE.replace('.', '_2e')}"
    return of_object(world, caller, path, "SourceInfo", member)


OF_PROPERTIES = {
    "Session": session_property,
    "Buffer": buffer_property,
    "ProducerInfo": producer_property,
    "SourceInfo": source_property,
}


@asks("ObjectManager", "methods", "GetManagedObjects", "sessions")
def managed_objects(world, caller, member):
    path = world.session()
    word = shows(world, caller, world.call(caller, ROOT, OBJECTS, member), f"'{path}'")
    world.free(path)
    return word


@asks("ObjectManager", "methods", "GetManagedObjects", "producers and data sources")
def managed_producers(world, caller, member):
    return shows(world, caller, world.call(caller, ROOT, OBJECTS, member), f"'{world.producer}'")


#
# Signals
#

SNAPSHOTS = (
    "trigger_config { trigger_mode: CLONE_SNAPSHOT triggers { name: 's' stop_delay_ms: 1 } "
    "trigger_timeout_ms: 600000 }"
)


def provoke(world, more=""):
    """Has a session of the owner's send everything that sessions send, and returns what each user heard of it."""
    listens = world.transport + "-listens"
    for caller in ALL:
        world.peers[caller].heard(listens)
    path = world.session(more, config=SNAPSHOTS)
    world.manager("own", "ActivateTriggers", "(asa{sv})", "(['s'], {})")
    heard = {caller: [] for caller in ALL}
    deadline = time.monotonic() + WAIT_S
    stopped = False
    while time.monotonic() < deadline:
        for caller in ALL:
            heard[caller] += world.peers[caller].heard(listens)
        members = {member for at, _, member, _ in heard["own"] if at == path}
        if "SnapshotTaken" in members and not stopped:
            world.call("own", path, SESSION, "Stop")
            stopped = True
        if {"Stopped", "AllSourcesStarted"} <= members:
            break
        time.sleep(0.05)
    world.free(path)
    time.sleep(0.7)  # what is told at most twice a second
    for caller in ALL:
        heard[caller] += world.peers[caller].heard(listens)
    for _, _, member, text in heard["own"]:
        if member == "SnapshotTaken":
            world.free(text.split("'")[1])
    return path, heard


def of_signals(world):
    """Provoked once for each transport, with the option "broadcast" and without."""
    if world.transport not in world.heard:
        time.sleep(SIGNALS_INTERVAL_S)  # the questions before may have used up SIGNALS_PER_USER_MAX
        world.heard[world.transport] = provoke(world), provoke(world, ", 'broadcast': <true>")
    return world.heard[world.transport]


def has_heard(found, caller, path, member):
    return any(at == path and name == member for at, _, name, _ in found[caller])


@asks("Session", "signals", "AllSourcesStarted SourceStateChanged Triggered SnapshotTaken Stopped PropertiesChanged")
def session_signal(world, caller, member):
    path, found = of_signals(world)[0]
    return "yes" if has_heard(found, caller, path, member) else "none"


@asks("Session", "signals", "Stopped", "of a session with `broadcast`")
def session_broadcast(world, caller, member):
    path, found = of_signals(world)[1]
    return "yes" if has_heard(found, caller, path, member) else "none"


@asks("Manager", "signals", "PropertiesChanged", "numbers")
def number_signal(world, caller, member):
    _, found = of_signals(world)[0]
    return "yes" if has_heard(found, caller, ROOT, member) else "none"


@asks("ObjectManager", "signals", "InterfacesAdded InterfacesRemoved", "sessions")
def object_signal(world, caller, member):
    path, found = of_signals(world)[0]
    heard = any(at == ROOT and name == member and f"'{path}'" in text for at, _, name, text in found[caller])
    return "yes" if heard else "none"


#
# What programs serve
#


@asks("Producer", "methods", "SetupTracing SetupDataSource StartDataSource StopDataSource Flush ClearIncrementalState")
def producer_call(world, caller, member):
    """On the native socket there is only the service."""
    arguments = {
        "SetupTracing": ("(hha{sv})", "(handle 0, handle 0, {})", True),
        "SetupDataSource": ("(tsaya{sv})", "(4711, 'x', [], {})"),
        "Flush": ("(att)", "([4711], 0)"),
        "ClearIncrementalState": ("(at)", "([4711],)"),
    }
    to = BUS if world.transport == "native" else world.program
    kind, text, *fd = arguments.get(member, ("(t)", "(4711,)"))
    return word_of(
        world.peers[caller].call(
            world.transport, f"{ROOT}/Producer", f"{PREFIX}Producer", member, kind, text, bool(fd), to
        )
    )
