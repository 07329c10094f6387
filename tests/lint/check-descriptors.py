#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Proves that the service does nothing with a peer's descriptor that its holder can make wait.

A read or a write, but also a close or a question about the file, may run the file system of the one who passed the
descriptor, and O_NONBLOCK belongs to the open file, which both have. So each call in src/daemon that does any of
these is in the table below, with the reason why it may. What is not there fails the test, and so does a row that
nobody needs, and a call whose arguments are not what its reason says.

Usage: check-descriptors.py SOURCE-ROOT
       check-descriptors.py --self-test      plants calls and sees that each is found
"""

import os
import re
import sys
import tempfile

import tap

# What may wait for the holder of the descriptor, too.
CALLS = (
    "read|readv|pread|preadv|write|writev|pwrite|pwritev|close|fstat|fstatfs|statx|fcntl|poll|ppoll|select|ioctl|lseek|"
    "recv|recvfrom|recvmsg|recvmmsg|send|sendto|sendmsg|sendmmsg|sendfile|splice|copy_file_range|fsync|fdatasync|"
    "ftruncate|fallocate|mmap|fgetxattr|readlinkat|fdopen|dup|dup2|dup3|"
    "fd_close|fd_closep|fd_read_all|fd_write_all|fd_check_sealed_memfd|pid_proof_take"
)

# These say it for each call.
DONTWAIT_CALLS = ("recv", "recvfrom", "recvmsg", "recvmmsg", "send", "sendto", "sendmsg", "sendmmsg")

OWN = "made by the service itself, of a kind that has no file system of others behind it"
LISTENED = "listening sockets, which are the service's own or systemd's"
DONTWAIT = "with MSG_DONTWAIT"
SINK = "on the sink's thread, of which each user has few"
KERNEL = "answered by the kernel without the file system"
AT_ONCE = "without waiting, of what the kernel itself knows: a socket or a pidfd"
EMPTY = "sockets that nothing is left in, so that no descriptor of a peer goes with them"
SEALED = "once the kernel has said that it is a sealed memfd"
KEPT = "what systemd kept for the service, and that is memfds"
FILE = "a file of the service's own or of /proc"

# What a call must be passed for its reason to be true. Commands that lock, lease or notify ask the file's owner.
PROOFS = {
    (KERNEL, "fcntl"): r"\bF_(GETFL|SETFL|DUPFD_CLOEXEC)\b",
    (KERNEL, "ioctl"): r"\bSIOC(IN|OUT)Q\b",
    (KERNEL, "statx"): r"\bAT_STATX_DONT_SYNC\b",
    (LISTENED, "fcntl"): r"\bF_SETFL\b",
    (SEALED, "fcntl"): r"\bF_DUPFD_CLOEXEC\b",
    (AT_ONCE, "poll"): r", 0\)$",
}

ALLOWED = {
    "accept/acceptor.c": {
        "poll": "on the thread: listening sockets and its own eventfds; without waiting what it accepted",
        "ioctl": KERNEL,
        "read": OWN,
        "write": OWN,
        "fd_close": "its own eventfds; " + EMPTY,
    },
    "buffer/buffer-index.c": {"fd_close": OWN, "fd_check_sealed_memfd": "asks for seals first, which only memory has"},
    "buffer/mapping.c": {"mmap": "memory without a file, or a memfd of the service's own"},
    "buffer/trace-buffer-keep.c": {"fd_close": OWN},
    "buffer/segment-file.c": {"fd_close": OWN, "fd_closep": OWN},
    "bus/link/bell.c": {"send": DONTWAIT, "fd_closep": OWN},
    "bus/producer/bus-return.c": {
        "fd_closep": "a pidfd",
        "fd_check_sealed_memfd": KEPT,
        "fstat": KEPT,
        "mmap": KEPT,
    },
    "bus/permission/bus-ask.c": {"poll": AT_ONCE},
    "bus/link/bus-line.c": {"fd_closep": "the connection to the message bus, and the gate's pair"},
    "bus/producer/bus-producer.c": {"mmap": OWN, "fd_close": OWN, "fd_closep": OWN},
    "bus/producer/bus-register.c": {"pid_proof_take": "asks the kernel, and takes nothing out of the socket"},
    "bus/bus-socket.c": {"fd_closep": "the gate's pair"},
    "bus/link/doorbells.c": {"fd_close": OWN},
    "bus/link/guard.c": {"fd_closep": "a socket of its own, to the probes"},
    "bus/link/hub.c": {"fd_close": OWN},
    "bus/link/producer-home.c": {"fd_closep": FILE},
    "closer/closer.c": {
        "ioctl": KERNEL,
        "fd_close": EMPTY,
    },
    "gate/gate-admit.c": {"fd_close": "stand-ins, and what the service sends"},
    "gate/gate-flow.c": {"recv": DONTWAIT},
    "gate/gate-read.c": {
        "recv": "MSG_PEEK and " + DONTWAIT,
        "recvmsg": DONTWAIT,
        "fd_close": "stand-ins, and what the service sends",
    },
    "gate/gate-thread.c": {
        "recv": "on the thread, without lingering",
        "poll": OWN,
        "fd_close": OWN,
        "fd_closep": "the connection to the message bus, and the gate's pair",
    },
    "gate/gate.c": {"ioctl": KERNEL, "fd_close": OWN, "fd_closep": OWN},
    "gate/gate-write.c": {"sendmsg": DONTWAIT, "fd_close": "stand-ins, and what the service sends"},
    "gate/stand-in.c": {"fstat": "a pipe of the gate's, in place of what was passed", "fd_close": OWN},
    "keep/kept-state.c": {
        call: "a memfd of the service's own" for call in ("fd_close", "fd_closep", "fd_check_sealed_memfd")
    },
    "keep/outbox.c": {
        call: "a memfd of the service's own" for call in ("fd_close", "fd_closep", "fd_check_sealed_memfd")
    },
    "keeper.c": {
        "fd_close": "what systemd keeps: memfds, and outputs of which sink-kept.c says that nobody waits",
        "fcntl": KERNEL,
        "fstat": "of an output of which sink-kept.c says so",
    },
    "kept-found.c": {
        "fd_close": "what systemd keeps: memfds, and outputs of which sink-kept.c says that nobody waits",
    },
    "kept-producers.c": {"fd_close": KEPT},
    "kept-events.c": {"fd_closep": FILE, "fd_write_all": FILE},
    "listen-address.c": {"fd_closep": "sockets of its own: one to listen on, one to see whether somebody does"},
    "listeners.c": {"fcntl": LISTENED, "fd_close": LISTENED, "fd_closep": LISTENED},
    "login-users.c": {"fd_closep": FILE},
    "output/session-stream.c": {"fd_close": OWN},
    "sink-descriptor.c": {
        "fcntl": KERNEL,
        "statx": KERNEL,
        "fstatfs": SINK,
    },
    "sink-file.c": {
        call: SINK
        for call in ("write", "poll", "close", "fstat", "ftruncate", "fcntl", "lseek", "pread", "fdatasync", "fd_close")
    },
    "sink-kept.c": {"fstatfs": SINK},
    "sink.c": {"fd_close": SINK, "write": OWN, "read": OWN, "fcntl": KERNEL},
    "owner/permission.c": {"fd_close": "a pidfd of the kernel's own"},
    "socket/link/port-dispatch.c": {"recvmsg": DONTWAIT},
    "socket/link/port-queue.c": {"sendmsg": DONTWAIT, "fd_close": OWN, "fd_closep": OWN},
    "socket/link/port-reply.c": {"fd_close": OWN},
    "socket/ports.c": {"fd_close": OWN},
    "socket/producer/producer-port-command.c": {"fd_close": OWN},
    "socket/producer/producer-port-memory.c": {
        "fd_check_sealed_memfd": KERNEL,
        "fstat": SEALED,
        "fstatfs": SEALED,
        "mmap": SEALED,
        "pread": "of ordinary memory, which takes no lock of the file",
        "fcntl": SEALED,
        "fd_close": SEALED,
        "fd_closep": OWN,
    },
}


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def code_of(text):
    """Without comments and strings, each character where it was."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def arguments(code, at):
    """From a parenthesis to the one that ends it."""
    depth = 0
    for i in range(at, len(code)):
        depth += {"(": 1, ")": -1}.get(code[i], 0)
        if depth == 0:
            return code[at : i + 1]
    return code[at:]


def calls(code):
    """Line, name and arguments of each call that counts, and of each variable that is closed as one."""
    for match in re.finditer(rf"(?<![\w.>])(?:({CALLS})\s*(?=\()|_cleanup_\((fd_closep)\))", code):
        yield code.count("\n", 0, match.start()) + 1, match[1] or match[2], arguments(code, match.end())


def is_declaration(code, line, name):
    text = code.splitlines()[line - 1]
    return re.match(rf"\s*(static\s+)?(int|ssize_t|void|bool)\s+\**{name}\(", text)


def check(top, allowed):
    used = set()
    for path in tap.tree(top):
        if not path.startswith("src/daemon/") or not path.endswith(".c"):
            continue
        code = code_of(tap.read(top, path))
        row = path[len("src/daemon/") :]
        for line, name, text in calls(code):
            if is_declaration(code, line, name):
                continue
            used.add((row, name))
            if name not in allowed.get(row, {}):
                yield f"{path}:{line}: {name}() may wait for who holds the descriptor; see check-descriptors.py"
            elif name in DONTWAIT_CALLS and "MSG_DONTWAIT" not in text:
                yield f"{path}:{line}: {name}() waits: it needs MSG_DONTWAIT"
            elif not re.search(PROOFS.get((allowed[row][name], name), ""), text):
                yield f"{path}:{line}: {name}() is not \"{allowed[row][name]}\""
    for row, names in allowed.items():
        for name in names:
            if (row, name) not in used:
                yield f"{row} does not call {name}(): the table need not allow it"


PLANTED = {
    "src/daemon/bus/bad.c": "int f(int fd) {\n        return close(fd); /* read(fd) */\n}\n",
    "src/daemon/bus/worse.c": "void g(int fd) {\n        _cleanup_(fd_closep) int own = fd;\n"
    '        log("write(1)");\n}\n',
    "src/daemon/good.c": "void h(int fd) {\n        ops->close(fd);\n        x.read(fd);\n"
    "        send(fd, a(b), MSG_DONTWAIT);\n}\n",
    "src/daemon/waits.c": "void i(int fd) {\n        recv(fd, 0, 0,\n             f(MSG_PEEK));\n}\n",
    "src/daemon/asks.c": "void k(int fd) {\n        fcntl(fd, F_GETFL);\n        fcntl(fd, F_SETLEASE, F_WRLCK);\n"
    "        poll(&wait, 1, 0);\n        poll(&wait, 1, 10);\n}\n",
    "src/client/other.c": "void j(int fd) {\n        close(fd);\n}\n",
}
PLANTED_ROWS = {
    "good.c": {"send": DONTWAIT},
    "waits.c": {"recv": DONTWAIT},
    "asks.c": {"fcntl": KERNEL, "poll": AT_ONCE},
    "gone.c": {"poll": OWN},
}
EXPECTED = [
    r"src/daemon/bus/bad\.c:2: close\(\) may wait.*",
    r"src/daemon/bus/worse\.c:2: fd_closep\(\) may wait.*",
    r"src/daemon/waits\.c:2: recv\(\) waits.*",
    r"src/daemon/asks\.c:3: fcntl\(\) is not .*",
    r"src/daemon/asks\.c:5: poll\(\) is not .*",
    r"gone\.c does not call poll\(\).*",
]


def self_test(out):
    with tempfile.TemporaryDirectory() as top:
        for path, text in PLANTED.items():
            os.makedirs(os.path.dirname(os.path.join(top, path)), exist_ok=True)
            with open(os.path.join(top, path), "w", encoding="utf-8") as file:
                file.write(text)
        found = list(check(top, PLANTED_ROWS))
    out.check(
        "planted calls are found, and nothing else",
        [f"not found: {each}" for each in EXPECTED if not any(re.fullmatch(each, line) for line in found)]
        + [f"found: {line}" for line in found if not any(re.fullmatch(each, line) for each in EXPECTED)],
    )


def main():
    out = tap.Tap()
    if sys.argv[1] == "--self-test":
        self_test(out)
    else:
        out.check("nothing waits for a peer's descriptor", check(sys.argv[1], ALLOWED))
    out.done()


main()
