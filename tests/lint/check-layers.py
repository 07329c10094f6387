#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Proves the layer table: who may use whom (docs/ARCHITECTURE.md, "Layers").

Three independent looks at the same table:
  * each #include of each file under src/
  * the dependencies that the meson.build of each layer links
  * what the compiled objects of the layers that must not do I/O really call (nm)

Usage: check-layers.py SOURCE-ROOT BUILD-ROOT
       check-layers.py --self-test       plants violations and sees that each is found
"""

import os
import re
import subprocess
import sys
import tempfile

import tap

# What the floors of the core stand on.
CORE = {"shared", "wire", "smb", "config", "buffer", "packet", "protobuf-c"}

# Likewise those of the D-Bus transport.
BUS = {
    "shared", "config", "closer", "gate", "buffer", "core", "core-model", "output", "owner", "polkit", "protobuf-c",
    "systemd", "io",
}

# And those of the transport over Perfetto's sockets.
SOCKET = {
    "shared", "wire", "config", "closer", "core", "core-model", "output", "owner", "protobuf-c", "systemd", "io",
}

# What each layer may use. Every layer may use itself and libc; "io" is the part of libc that talks
# to the world: sockets, clocks, files, waiting.
LAYERS = {
    "src/shared": {"io", "sd-journal"},
    "src/wire": {"shared"},
    "src/config": {"shared", "protobuf-c", "io"},
    "src/smb": {"shared", "io"},
    "src/polkit": {"shared", "systemd"},
    "src/unwind": {"shared"},
    "src/daemon/closer": {"shared", "io"},
    "src/daemon/accept": {"shared", "closer", "io"},
    "src/daemon/gate": {"shared", "closer", "io"},
    "src/daemon/buffer": {"shared", "wire", "smb"},
    "src/daemon/keep": {"shared", "config", "buffer", "protobuf-c"},
    "src/daemon/packet": {"shared", "wire", "pcre2"},
    "src/daemon/core/model": CORE,
    "src/daemon/core/events": CORE | {"core-model"},
    "src/daemon/core/ingest": CORE | {"core-model", "core-events"},
    "src/daemon/core/requests": CORE | {"core-model", "core-events", "core-ingest"},
    "src/daemon/core/readout": CORE | {"core-model", "core-events", "core-ingest"},
    "src/daemon/core/life": CORE | {
        "core-model", "core-events", "core-ingest", "core-requests", "core-readout",
    },
    "src/daemon/core": CORE | {
        "core-model", "core-events", "core-ingest", "core-requests", "core-readout", "core-life",
    },
    "src/daemon/output": {"shared", "config", "core", "core-model", "protobuf-c", "systemd", "io"},
    "src/daemon/owner": {"shared", "config", "core", "core-model", "output", "protobuf-c", "systemd", "io"},
    "src/daemon/bus/link": BUS,
    "src/daemon/bus/permission": BUS | {"bus-link"},
    "src/daemon/bus/object": BUS | {"bus-link", "bus-permission"},
    "src/daemon/bus/producer": BUS | {"bus-link", "bus-permission", "bus-object"},
    "src/daemon/bus/session": BUS | {"bus-link", "bus-permission", "bus-object"},
    "src/daemon/bus": BUS | {"bus-link", "bus-permission", "bus-object", "bus-producer", "bus-session"},
    "src/daemon/socket/link": SOCKET,
    "src/daemon/socket/producer": SOCKET | {"socket-link"},
    "src/daemon/socket/consumer": SOCKET | {"socket-link"},
    "src/daemon/socket": SOCKET | {"socket-link", "socket-producer", "socket-consumer"},
    "src/daemon": {
        "shared", "wire", "config", "smb", "closer", "accept", "core", "core-model", "output", "owner", "keep", "bus",
        "bus-link", "bus-permission", "bus-object", "bus-producer", "bus-session", "socket", "socket-link",
        "protobuf-c", "systemd", "compression", "io",
    },
    "src/lib": {"shared", "wire", "smb", "systemd", "io"},
    "src/heap": {"shared", "lib", "unwind", "wire", "io"},
    "src/host": {"shared", "lib", "wire", "config", "protobuf-c", "systemd", "io"},
    "src/managers": {"shared", "host", "wire", "config", "protobuf-c", "systemd", "io"},
    "src/probes/ftrace": {"shared", "host", "wire", "config", "protobuf-c", "tracefs", "elf", "io"},
    "src/probes/perf": {"shared", "host", "unwind", "wire", "config", "probes-ftrace", "protobuf-c", "io"},
    "src/probes/points": {"shared", "host", "wire", "config", "probes-ftrace", "protobuf-c", "elf", "io"},
    "src/probes": {
        "shared", "managers", "host", "wire", "config", "probes-ftrace", "probes-perf", "probes-points", "polkit",
        "protobuf-c", "tracefs", "elf", "systemd", "sd-journal", "io",
    },
    "src/bridges": {
        "shared", "managers", "host", "wire", "config", "protobuf-c", "systemd", "pipewire", "xcb", "io",
    },
    "src/trace": {"shared", "wire", "compression", "io"},
    "src/query": {"shared", "trace", "sqlite", "io"},
    "src/answers": {"shared", "trace"},
    "src/report": {"shared", "trace", "answers", "compression"},
    "src/symbols": {"shared", "wire", "trace", "elf", "lzma", "io"},
    "src/client": {
        "shared", "wire", "config", "trace", "query", "answers", "report", "symbols", "sqlite", "protobuf-c", "glib",
        "systemd", "compression", "io",
    },
}

# Of the floors of the core, what others may include; the other headers show what things are made of.
OPEN = {
    "core-model": {
        "bytes-writer.h", "categories.h", "compression.h", "policy.h", "session-names.h", "trigger-history.h",
    },
}

# Single files that may do more than their layer.
EXCEPTIONS = {
    "src/daemon/config.c": {"glib"},  # GKeyFile for desktraced.conf
}

# Installed, so nothing of ours that is not installed as well.
PUBLIC_HEADERS = "src/lib/include/"

SYSTEM_HEADERS = [
    (r"systemd/sd-journal\.h", "sd-journal"),
    (r"systemd/.*", "systemd"),
    (r"(glib|gio|gobject)([-/].*)?\.h", "glib"),
    (r"protobuf-c/.*", "protobuf-c"),
    (r"(tracefs/|traceevent/)?(tracefs|event-parse|trace-seq|kbuffer)\.h", "tracefs"),
    (r"(gelf|libelf)\.h", "elf"),
    (r"(zstd|zstd_errors|zlib)\.h", "compression"),
    (r"lzma\.h", "lzma"),
    (r"pcre2\.h", "pcre2"),
    (r"(pipewire|spa)/.*", "pipewire"),
    (r"xcb/.*", "xcb"),
    (r"sqlite3\.h", "sqlite"),
    (
        r"(arpa|net|netinet)/.*|sys/(socket|un|epoll|poll|select|timerfd|eventfd|signalfd|inotify|"
        r"stat|statfs|statvfs|vfs|file|sendfile|time|times|wait|ioctl|memfd|syscall|utsname|"
        r"sysinfo|resource|prctl|xattr|random|capability|sysmacros|mount|ptrace)\.h|"
        r"linux/.*|(poll|fcntl|dirent|unistd|time|spawn|netdb|signal|termios|ftw|fts|glob|fnmatch|grp|"
        r"pwd|pthread|threads|sched|semaphore|dlfcn|syslog)\.h",
        "io",
    ),
    (
        r"(assert|byteswap|complex|ctype|elf|endian|errno|error|features|float|getopt|iconv|"
        r"inttypes|langinfo|libgen|libintl|limits|link|locale|malloc|math|nl_types|printf|regex|"
        r"search|setjmp|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|"
        r"string|strings|uchar|wchar|wctype)\.h|sys/(types|param|cdefs|user|uio|mman|auxv)\.h|"
        r"sanitizer/.*|immintrin\.h|cpuid\.h",
        "libc",
    ),
]

# dep_… of meson.build.
MESON_DEPENDENCIES = {
    "systemd": {"systemd", "sd-journal"},
    "glib": {"glib"},
    "gio": {"glib"},
    "protobuf_c": {"protobuf-c"},
    "tracefs": {"tracefs"},
    "elf": {"elf"},
    "lzma": {"lzma"},
    "pcre2": {"pcre2"},
    "pipewire": {"pipewire"},
    "xcb": {"xcb"},
    "zstd": {"compression"},
    "zlib": {"compression"},
    "sqlite": {"sqlite"},
    "threads": {"libc"},
    "atomic": {"libc"},
    "math": {"libc"},
    "rt": {"libc"},
    "dl": {"libc"},
    "desktrace": {"lib"},
}

# What of a layer is looked into for its calls, in the build tree.
OBJECTS = {
    "buffer": "src/daemon/buffer/libbuffer.a",
    "packet": "src/daemon/packet/libpacket.a",
    "core-model": "src/daemon/core/model/libcore-model.a",
    "core-events": "src/daemon/core/events/libcore-events.a",
    "core-ingest": "src/daemon/core/ingest/libcore-ingest.a",
    "core-requests": "src/daemon/core/requests/libcore-requests.a",
    "core-readout": "src/daemon/core/readout/libcore-readout.a",
    "core-life": "src/daemon/core/life/libcore-life.a",
    "core": "src/daemon/core/libcore.a",
    "wire": "src/wire/libwire.a",
    "smb": "src/smb/libsmb.a",
    "unwind": "src/unwind/libunwind.a",
    "lib": "src/lib/libdesktrace.so.0",
}

# Undefined symbols that an object of the layer must not have, and why.
FORBIDDEN_CALLS = {
    **dict.fromkeys(("buffer", "packet", "unwind", *(layer for layer in OBJECTS if layer.startswith("core"))), (
        r"(sd|g)_[a-z].*|socket|socketpair|connect|bind|listen|accept4?|send(to|msg|mmsg)?|"
        r"recv(from|msg|mmsg)?|clock_(gettime|nanosleep)|gettimeofday|time|nanosleep|u?sleep|"
        r"(f|fd|re)?open(64|at|at64|dir)?|creat|p?(read|write)(v|64)?|(p|e)?poll|epoll_.*|"
        r"select|timerfd_.*|eventfd|fork|exec.*|posix_spawn.*|(secure_)?getenv|signal|sigaction|pthread_create",
        "this layer is sans-I/O",
    )),
    "wire": (
        r"(sd|g)_[a-z].*|(m|c|re)alloc|reallocarray|aligned_alloc|strn?dup|v?asprintf",
        "wire does not allocate",
    ),
    "lib": (
        r"g_[a-z].*|abort|_?exit|quick_exit|signal|sigaction|v?printf|puts|putchar|perror|"
        r"stdout|stderr|setenv|putenv|setlocale|system|__assert_fail",
        "other people's processes: no abort, no output, no signals",
    ),
    "smb": (
        r"(sd|g)_[a-z].*|abort|_?exit|v?printf|puts|putchar|stdout|__assert_fail",
        "runs in other people's processes",
    ),
}


def layer_of(path):
    """The layer that a file is in, by the longest matching row."""
    rows = [row for row in LAYERS if path.startswith(row + "/")]
    return max(rows, key=len) if rows else None


def short(layer):
    """core-model for src/daemon/core/model."""
    return layer.removeprefix("src/").removeprefix("daemon/").replace("/", "-")


def resolve(top, path, name):
    """The file of the tree that an include means, or None. `top` may also be a build tree, which
    has the generated headers."""
    directories = [os.path.dirname(path), layer_of(path) or "", "src", "src/daemon", PUBLIC_HEADERS]
    for directory in directories:
        candidate = os.path.normpath(os.path.join(directory, name))
        if os.path.exists(os.path.join(top, candidate)):
            return candidate
    return None


def family(top, build, path, bracket, name):
    """What an include uses: a layer's short name, a library, "libc", or None if nobody knows."""
    found = resolve(top, path, name) or resolve(build, path, name)
    if found and layer_of(found):
        return short(layer_of(found))
    if name.endswith(".pb-c.h"):
        return "config"
    if name == "build-config.h":
        return "libc"
    if bracket == "<":
        for pattern, use in SYSTEM_HEADERS:
            if re.fullmatch(pattern, name):
                return use
    return None


def includes(text):
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            yield number, match.group(1), match.group(2)


def sources(top):
    return [
        path for path in tap.tree(top) if path.startswith("src/") and path.endswith((".c", ".h"))
    ]


def check_includes(top, build):
    for path in sources(top):
        layer = layer_of(path)
        if not layer:
            yield f"{path}: belongs to no layer of the table"
            continue
        allowed = LAYERS[layer] | EXCEPTIONS.get(path, set()) | {short(layer), "libc"}
        for number, bracket, name in includes(tap.read(top, path)):
            use = family(top, build, path, bracket, name)
            if use is None:
                yield f"{path}:{number}: {name} is in no row of SYSTEM_HEADERS, nor in the tree"
            elif use not in allowed:
                yield f"{path}:{number}: {layer} may not use {use} ({name})"
            elif use.startswith("core-") and not layer.startswith("src/daemon/core"):
                if os.path.basename(name) not in OPEN.get(use, ()):
                    yield f"{path}:{number}: {name} is for the core alone"


def check_public_headers(top, build):
    for path in sources(top):
        if not path.startswith(PUBLIC_HEADERS):
            continue
        for number, bracket, name in includes(tap.read(top, path)):
            found = resolve(top, path, name)
            if found and not found.startswith(PUBLIC_HEADERS):
                yield f"{path}:{number}: {name} is not installed"
            elif not found and family(top, build, path, bracket, name) not in ("libc", "io"):
                yield f"{path}:{number}: a public header uses libc alone, not {name}"


def check_links(top):
    """dep_x in a layer's meson.build is a row x of the table, or one of MESON_DEPENDENCIES."""
    for layer in LAYERS:
        path = f"{layer}/meson.build"
        if not os.path.exists(os.path.join(top, path)):
            continue
        allowed = LAYERS[layer] | {short(layer), "libc"}
        for exception, extra in EXCEPTIONS.items():
            if layer_of(exception) == layer:
                allowed = allowed | extra
        text = re.sub(r"#.*", "", tap.read(top, path))
        own = set(re.findall(r"\b(dep_\w+)\s*\+?=", text))
        for name in sorted(set(re.findall(r"\bdep_\w+", text)) - own):
            uses = MESON_DEPENDENCIES.get(name[4:], {name[4:].replace("_", "-")})
            if not uses & allowed:
                yield f"{path}: {layer} may not link {name}"


def undefined_symbols(path):
    dynamic = ["-D"] if ".so" in path else []
    out = subprocess.run(
        ["nm", *dynamic, "--undefined-only", "-A", path], capture_output=True, text=True, check=True
    ).stdout
    for line in out.splitlines():
        where, _, symbol = line.rpartition(" U ")
        if symbol:
            yield os.path.basename(where.rstrip(": ").split(":")[-1]), symbol


def check_calls(layer, symbols):
    pattern, why = FORBIDDEN_CALLS[layer]
    for where, symbol in symbols:
        name = re.sub(r"@.*|^__isoc99_|^__(?=\w+_chk$)", "", symbol)
        name = re.sub(r"_chk$", "", name) if symbol.startswith("__") else name
        if re.fullmatch(pattern, name) or re.fullmatch(pattern, symbol):
            yield f"{layer}: {where} calls {symbol}: {why}"


PLANTED = {
    "src/shared/macro.h": "#include <stddef.h>\n",
    "src/wire/w.h": '#include "shared/macro.h"\n',
    "src/wire/bad.c": '#include "config/config.h"\n#include <sys/socket.h>\n',
    "src/config/config.h": '#include <protobuf-c/protobuf-c.h>\n#include "x.pb-c.h"\n',
    "src/daemon/core/service.h": '#include "wire/w.h"\n',
    "src/daemon/core/life/life.h": "",
    "src/daemon/core/model/session.h": "",
    "src/daemon/core/model/bad.c": '#include "core/life/life.h"\n',
    "src/daemon/core/model/policy.h": "",
    "src/daemon/bus/bad.c": '#include "core/model/policy.h"\n#include "core/model/session.h"\n',
    "src/daemon/core/bad.c": "#include <systemd/sd-bus.h>\n#  include <time.h>\n"
    "#include <glib.h>\n",
    "src/daemon/core/worse.c": '#include "bus/manager.h"\n',
    "src/daemon/bus/manager.h": '#include <systemd/sd-bus.h>\n#include "core/service.h"\n',
    "src/daemon/main.c": '#include "bus/manager.h"\n#include <gio/gio.h>\n',
    "src/daemon/config.c": "#include <glib.h>\n",
    "src/lib/include/desktrace/a.h": '#include "shared/macro.h"\n#include <systemd/sd-bus.h>\n',
    "src/lib/a.c": '#include <desktrace/a.h>\n#include "config/config.h"\n#include <glib.h>\n',
    "src/client/main.c": "#include <glib.h>\n#include <unheard/of.h>\n#include \"gone.h\"\n",
    "src/client/a.c": '#include "client/table.h"\n',
    "build/src/client/table.h": "",
    "src/other/a.c": "int a;\n",
    "src/wire/meson.build": "lib_wire = static_library('wire', dependencies: [dep_shared])\n"
    "dep_wire = declare_dependency(link_with: lib_wire)\n",
    "src/daemon/core/meson.build": "x = [dep_shared, dep_systemd, dep_wire] # dep_glib\n",
}

EXPECTED = [
    "src/client/main.c:2: unheard/of.h is in no row of SYSTEM_HEADERS, nor in the tree",
    "src/client/main.c:3: gone.h is in no row of SYSTEM_HEADERS, nor in the tree",
    "src/daemon/bus/bad.c:2: core/model/session.h is for the core alone",
    "src/daemon/core/model/bad.c:1: src/daemon/core/model may not use core-life (core/life/life.h)",
    "src/daemon/core/bad.c:1: src/daemon/core may not use systemd (systemd/sd-bus.h)",
    "src/daemon/core/bad.c:2: src/daemon/core may not use io (time.h)",
    "src/daemon/core/bad.c:3: src/daemon/core may not use glib (glib.h)",
    "src/daemon/core/meson.build: src/daemon/core may not link dep_systemd",
    "src/daemon/core/worse.c:1: src/daemon/core may not use bus (bus/manager.h)",
    "src/daemon/main.c:2: src/daemon may not use glib (gio/gio.h)",
    "src/lib/a.c:2: src/lib may not use config (config/config.h)",
    "src/lib/a.c:3: src/lib may not use glib (glib.h)",
    "src/lib/include/desktrace/a.h:1: shared/macro.h is not installed",
    "src/lib/include/desktrace/a.h:2: a public header uses libc alone, not systemd/sd-bus.h",
    "src/other/a.c: belongs to no layer of the table",
    "src/wire/bad.c:1: src/wire may not use config (config/config.h)",
    "src/wire/bad.c:2: src/wire may not use io (sys/socket.h)",
]

PLANTED_CALLS = [
    ("core", "clock_gettime@GLIBC_2.17"), ("core", "sd_bus_call"),
    ("core", "openat"), ("unwind", "pread64"), ("wire", "malloc"), ("lib", "__printf_chk"), ("lib", "abort"),
]
ALLOWED_CALLS = [
    ("core", "malloc"), ("core", "log_write"), ("core", "memcpy"), ("core", "reopen_things"),
    ("wire", "__memcpy_chk"), ("lib", "__snprintf_chk"), ("lib", "clock_gettime"),
]


def self_test(out):
    with tempfile.TemporaryDirectory() as top:
        for path, text in PLANTED.items():
            os.makedirs(os.path.join(top, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(top, path), "w", encoding="utf-8") as file:
                file.write(text)
        build = os.path.join(top, "build")
        found = sorted(
            [*check_includes(top, build), *check_public_headers(top, build), *check_links(top)]
        )
        out.check(
            "every planted include and link is found, and nothing else",
            [f"not found: {line}" for line in EXPECTED if line not in found]
            + [f"not planted: {line}" for line in found if line not in EXPECTED],
        )
    out.check(
        "every planted call is found",
        [f"{c}" for c in PLANTED_CALLS if not list(check_calls(c[0], [("a.o", c[1])]))],
    )
    out.check(
        "calls that are allowed are not found",
        [f"{c}" for c in ALLOWED_CALLS if list(check_calls(c[0], [("a.o", c[1])]))],
    )


def main():
    out = tap.Tap()
    if sys.argv[1:] == ["--self-test"]:
        self_test(out)
    else:
        top, build = sys.argv[1:]
        out.check("no #include crosses the layer table", check_includes(top, build))
        out.check("public headers need only what is installed", check_public_headers(top, build))
        out.check("no layer links what the table does not allow", check_links(top))
        for layer, path in OBJECTS.items():
            problems = check_calls(layer, undefined_symbols(os.path.join(build, path)))
            out.check(f"objects of {layer} call nothing forbidden", problems)
    out.done()


main()
