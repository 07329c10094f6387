#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What libdesktrace-heap.so and libdesktrace need of the programs and sandboxes that they are loaded into.

Usage: check-preload.py HEAP-LIBRARY LIBRARY
"""

import os
import re
import shutil
import subprocess
import sys

import tap

# Runtimes of Flatpak from 22.08 on, and Debian 12, have a newer one. No older one can be had from a newer C library:
# with this version it took libpthread and libdl in.
GLIBC_MOST = (2, 34)
NEEDED = re.compile(r"(libdesktrace|libsystemd|libc|libm|libdl|libpthread|librt|ld[\w-]*)\.so\.\d+")
HOOKS = (
    "malloc free calloc realloc reallocarray memalign aligned_alloc posix_memalign valloc pvalloc mmap munmap mremap"
)


def run(*command):
    environment = dict(os.environ, LC_ALL="C")
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def version(text):
    return tuple(map(int, text.split(".")))


def check(out, path):
    name = os.path.basename(path)
    symbols = run("readelf", "-W", "--dyn-syms", path)
    dynamic = run("readelf", "-W", "-d", path)
    wanted = re.findall(r" UND (\S+)@GLIBC_([0-9.]+)", symbols)
    if not wanted:
        out.skip(f"{name} needs an old C library only", "this one is not glibc")
    else:
        out.check(
            f"{name} needs an old C library only",
            sorted(f"{symbol} needs glibc {of}" for symbol, of in wanted if version(of) > GLIBC_MOST),
        )
    libraries = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    out.check(
        f"{name} needs no library that a sandbox may lack",
        sorted(f"{library} is needed" for library in libraries if not NEEDED.fullmatch(library)),
    )
    out.check(f"{name} needs no code to be changed", re.findall(r"TEXTREL", dynamic))
    return symbols


def main():
    heap, library = sys.argv[1:]
    out = tap.Tap()
    if not shutil.which("readelf"):
        print("1..0 # SKIP readelf is not installed")
        return
    symbols = check(out, heap)
    check(out, library)
    out.check(
        "thread-local memory of the heap library is there from the start",
        re.findall(r" UND (__tls_get_addr|___tls_get_addr)", symbols),
    )
    shown = set(re.findall(r" DEFAULT +\d+ (\w+)", symbols))
    out.check(
        "it stands before the functions of malloc()",
        sorted(f"{hook} is not exported" for hook in HOOKS.split() if hook not in shown),
    )
    out.done()


main()
