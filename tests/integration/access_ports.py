#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What access_matrix.py asks over Perfetto's sockets."""

import time

from access_world import PROPERTIES, SESSION, SOURCE, TRIGGERED, asks
from perfetto_ipc import fields, get, message


def port_config(source=SOURCE, *more):
    return message((1, message((1, 256))), (2, message((1, message((1, source))))), *more)


def enabled(world, caller, config):
    peer = world.port(caller, "ConsumerPort")
    peer.port_send("ConsumerPort", "EnableTracing", message((1, config)).hex())
    peer.port_ask("ConsumerPort", "DisableTracing")
    error = get(bytes.fromhex(peer.port_reply("ConsumerPort")["data"]), 3, b"").decode()
    peer.port_close("ConsumerPort")
    return "yes" if not error else "no" if "org.desktrace.tracing1" in error else error


@asks("ConsumerPort", "methods", "EnableTracing", "programs of one's own")
def port_enable(world, caller, _member):
    return enabled(world, caller, port_config())


@asks("ConsumerPort", "methods", "EnableTracing", "a data source of the system's")
def port_enable_system(world, caller, _member):
    return enabled(world, caller, port_config("linux.sys_stats"))


@asks("ConsumerPort", "methods", "EnableTracing", "probes of one's own")
def port_enable_probe(world, caller, _member):
    kernel = message((1, "linux.ftrace"), (100, message((30, message((1, "vfs_read"))))))
    return enabled(world, caller, message((1, message((1, 256))), (2, message((1, kernel)))))


@asks("ConsumerPort", "methods", "EnableTracing", "with `exclusive_prio`")
def port_enable_exclusive(world, caller, _member):
    return enabled(world, caller, port_config(SOURCE, (41, 1)))


@asks("ConsumerPort", "methods", "EnableTracing", "with `lockdown_mode`")
def port_enable_lockdown(world, caller, _member):
    word = enabled(world, caller, port_config(SOURCE, (5, 2)))
    enabled(world, "root", port_config(SOURCE, (5, 1)))
    return "no" if "lockdown_mode" in word else word


@asks(
    "ConsumerPort",
    "methods",
    "DisableTracing ReadBuffers FreeBuffers Flush StartTracing ChangeTraceConfig GetTraceStats",
)
def port_own_session(world, caller, member):
    """The messages name no session: it is the connection's."""
    peer = world.port(caller, "ConsumerPort")
    config = port_config(SOURCE, (12, member == "StartTracing"))
    peer.port_send("ConsumerPort", "EnableTracing", message((1, config)).hex())
    arguments = message((1, config)) if member == "ChangeTraceConfig" else b""
    answer = peer.port_ask("ConsumerPort", member, arguments.hex())
    peer.port_close("ConsumerPort")
    return "yes" if answer.get("success") else str(answer)


@asks("ConsumerPort", "methods", "QueryCapabilities")
def port_query(world, caller, member):
    peer = world.port(caller, "ConsumerPort")
    answer = peer.port_ask("ConsumerPort", member)
    peer.port_close("ConsumerPort")
    return "yes" if answer.get("success") else str(answer)


@asks("ConsumerPort", "methods", "ObserveEvents")
def port_observe(world, caller, member):
    """It is answered when there is an event, or when the connection asks again."""
    peer = world.port(caller, "ConsumerPort")
    peer.port_send("ConsumerPort", member, message((1, 1)).hex())
    word = "yes" if peer.port_ask("ConsumerPort", "QueryCapabilities").get("success") else "error"
    peer.port_close("ConsumerPort")
    return word


def with_port_session(world, config, ask, key=None):
    """A session of the owner's by this protocol, for as long as ask() takes."""
    owner = world.port("own", "ConsumerPort", "held")
    owner.port_send("held", "EnableTracing", message((1, config)).hex())
    owner.port_ask("held", "Detach" if key else "QueryCapabilities", message((1, key)).hex() if key else "")
    word = ask()
    owner.port_close("held")
    return word


def detached(world, caller, duration_ms):
    peer = world.port(caller, "ConsumerPort")
    peer.port_send("ConsumerPort", "EnableTracing", message((1, port_config(SOURCE, (3, duration_ms)))).hex())
    answer = peer.port_ask("ConsumerPort", "Detach", message((1, "key")).hex())
    peer.port_close("ConsumerPort")
    if answer.get("success"):  # and away with it
        peer = world.port(caller, "ConsumerPort")
        peer.port_ask("ConsumerPort", "Attach", message((1, "key")).hex())
        peer.port_close("ConsumerPort")
    return "yes" if answer.get("success") else "no"


@asks("ConsumerPort", "methods", "Detach")
def port_detach(world, caller, _member):
    return detached(world, caller, 600000)


@asks("ConsumerPort", "methods", "Detach", "without an end")
def port_detach_endless(world, caller, _member):
    return detached(world, caller, 0)


@asks("ConsumerPort", "methods", "Attach")
def port_attach(world, caller, member):
    def ask():
        peer = world.port(caller, "ConsumerPort")
        word = "yes" if peer.port_ask("ConsumerPort", member, message((1, "hers")).hex()).get("success") else "none"
        peer.port_close("ConsumerPort")
        return word

    word = with_port_session(world, port_config(SOURCE, (3, 600000)), ask, "hers")
    if word != "yes":  # the key is to be free again
        owner = world.port("own", "ConsumerPort")
        owner.port_ask("ConsumerPort", "Attach", message((1, "hers")).hex())
        owner.port_close("ConsumerPort")
    return word


def port_cloned(world, caller, member, arguments):
    peer = world.port(caller, "ConsumerPort")
    answer = peer.port_ask("ConsumerPort", member, arguments.hex())
    data = bytes.fromhex(answer.get("data", ""))
    peer.port_close("ConsumerPort")
    return "yes" if get(data, 1) else "none"


@asks("ConsumerPort", "methods", "CloneSession", "by its name")
def port_clone(world, caller, member):
    return with_port_session(
        world,
        port_config(SOURCE, (22, "hers")),
        lambda: port_cloned(world, caller, member, message((4, "hers"))),
    )


@asks("ConsumerPort", "methods", "CloneSession", "by its number")
def port_clone_number(world, caller, member):
    path = world.session()
    word = port_cloned(world, caller, member, message((1, int(path.rsplit("/", 1)[1]))))
    world.free(path)
    return word


@asks("ConsumerPort", "methods", "CloneSession", "for a bug report")
def port_clone_bugreport(world, caller, member):
    return with_port_session(
        world,
        port_config(SOURCE, (30, 5)),
        lambda: port_cloned(world, caller, member, message((1, (1 << 64) - 1))),
    )


@asks("ConsumerPort", "methods", "SaveTraceForBugreport")
def port_bugreport(world, caller, member):
    def ask():
        peer = world.port(caller, "ConsumerPort")
        data = bytes.fromhex(peer.port_ask("ConsumerPort", member)["data"])
        peer.port_close("ConsumerPort")
        return "yes" if get(data, 1) else "no"

    return with_port_session(world, port_config(SOURCE, (30, 5)), ask)


@asks("ConsumerPort", "methods", "QueryServiceState")
def port_state(world, caller, member):
    def ask():
        peer = world.port(caller, "ConsumerPort")
        data = bytes.fromhex(peer.port_ask("ConsumerPort", member)["data"])
        peer.port_close("ConsumerPort")
        state = get(data, 1, b"")
        names = [get(value, 4, b"") for number, value in fields(state) if number == 6]
        programs = [get(value, 2, b"") for number, value in fields(state) if number == 1]
        found = (b"hers" in names, b"own-program" in programs)
        return {(True, True): "yes", (False, False): "own"}.get(found, str(found))

    return with_port_session(world, port_config(SOURCE, (22, "hers")), ask)


SOURCE_ID = 5  # only what has one can be updated


def port_producer(world, caller, source=None):
    peer = world.port(caller, "ProducerPort")
    peer.port_ask("ProducerPort", "InitializeConnection", message((3, f"{caller}-port"), (4, 1)).hex())
    if source:
        peer.port_ask("ProducerPort", "RegisterDataSource", message((1, message((1, source), (7, SOURCE_ID)))).hex())
    return peer


@asks(
    "ProducerPort",
    "methods",
    "InitializeConnection UnregisterDataSource UpdateDataSource CommitData RegisterTraceWriter UnregisterTraceWriter "
    "NotifyDataSourceStarted NotifyDataSourceStopped Sync",
)
def port_own_program(world, caller, member):
    """The messages speak of the connection's own program, memory and instances; of what is not there nothing comes."""
    if member == "InitializeConnection":
        peer = world.port(caller, "ProducerPort")
        answer = peer.port_ask("ProducerPort", member, message((3, "p"), (4, 1)).hex())
    else:
        peer = port_producer(world, caller, "org.example.port")
        arguments = {
            "UnregisterDataSource": message((1, "org.example.port")),
            "UpdateDataSource": message((1, message((1, "org.example.port"), (7, SOURCE_ID)))),
        }
        answer = peer.port_ask("ProducerPort", member, arguments.get(member, b"").hex())
    peer.port_close("ProducerPort")
    return "yes" if answer.get("success") else str(answer)


@asks("ProducerPort", "methods", "GetAsyncCommand")
def port_commands(world, caller, member):
    peer = port_producer(world, caller)
    peer.port_send("ProducerPort", member)
    word = "yes" if peer.port_ask("ProducerPort", "Sync").get("success") else "error"
    peer.port_close("ProducerPort")
    return word


def port_registered(world, caller, source):
    peer = port_producer(world, caller, source)
    peer.port_ask("ProducerPort", "Sync")
    listed = world.manager("root", "ListSources", connection="bus")["reply"]
    peer.port_close("ProducerPort")
    return "yes" if f"('{source}'" in listed else "no"


@asks("ProducerPort", "methods", "RegisterDataSource", "names of one's own")
def port_register(world, caller, _member):
    return port_registered(world, caller, "org.example.port")


@asks("ProducerPort", "methods", "RegisterDataSource", "names of the system's")
def port_register_system(world, caller, _member):
    return port_registered(world, caller, "linux.port")


@asks("ProducerPort", "methods", "ActivateTriggers")
def port_trigger(world, caller, member):
    path = world.session(config=TRIGGERED)
    peer = port_producer(world, caller)
    peer.port_ask("ProducerPort", member, message((1, "t")).hex())
    peer.port_ask("ProducerPort", "Sync")
    # The session stops when its time comes, which on a busy machine is after the answer.
    for _ in range(10):
        state = world.call("root", path, PROPERTIES, "Get", "(ss)", f"('{SESSION}', 'StopReason')", connection="bus")
        if has_stopped := "trigger" in state["reply"]:
            break
        time.sleep(0.05)
    peer.port_close("ProducerPort")
    world.free(path)
    return "yes" if has_stopped else "own"
