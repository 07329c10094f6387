#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Asks "desktrace view" as browsers do, and as others might. Prints TAP.

Usage: view_client.py DESKTRACE TRACE
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

UI = "https://ui.perfetto.dev"
CONNECTIONS_MAX = 8  # VIEW_CONNECTIONS_MAX
SECONDS = 30


class View:
    """A running "desktrace view"."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        parts = urllib.parse.urlsplit(self.address.rpartition("url=")[2])
        self.port, self.path = parts.port, parts.path

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)

    def ask(self, method="GET", path=None, host=None, **headers):
        """Status and headers, and the body. None: the connection was closed without a word."""
        lines = [f"{method} {path or self.path} HTTP/1.1", f"Host: {host or f'127.0.0.1:{self.port}'}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        with self.connect() as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            data = b""
            try:
                while piece := connection.recv(65536):
                    data += piece
            except ConnectionResetError:
                pass
        if not data:
            return None
        head, _, body = data.partition(b"\r\n\r\n")
        return int(head.split()[1]), head.decode(), body

    def status(self, *arguments, **headers):
        answer = self.ask(*arguments, **headers)
        return answer and answer[0]

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=SECONDS)
        return self.process.returncode


class Checks:
    n = failed = 0

    def ok(self, promise, holds, *details):
        self.n += 1
        self.failed += not holds
        for line in [] if holds else details:
            print("#", line)
        print("ok" if holds else "not ok", self.n, "-", promise, flush=True)


def check_refusals(checks, desktrace, trace):
    view = View(desktrace, "view", "--print", trace)
    checks.ok("the address cannot be guessed", re.fullmatch(r"/[0-9a-f]{32}/[^/]+\.html", view.path), view.address)
    checks.ok("another path is not there", view.status(path="/") == 404)
    checks.ok("nor one that is nearly right", view.status(path=view.path[:-1]) == 404)
    checks.ok("another host's name is refused", view.status(host=f"evil.example:{view.port}") == 421)
    checks.ok("so is a page of another site", view.status(Origin="https://evil.example") == 403)
    checks.ok("and what is no reading", view.status("POST") == 405)
    checks.ok("and no HTTP", view.status("\x01\x02") == 400)
    checks.ok("and a head that does not end", view.status(Long="x" * 9000) in (431, None))
    checks.ok("a look at the head fetches nothing", view.status("HEAD") == 200 and view.process.poll() is None)
    checks.ok("and a head with a zero in it", view.status(Zero="\0") == 400)
    checks.ok("and a path without end", view.status(path="/" + "x" * 4000) == 404)
    slow = view.connect()
    silent = [slow] + [view.connect() for _ in range(CONNECTIONS_MAX)]
    for connection in silent[1:]:
        connection.sendall(b"GET /")
    checks.ok("who is slowest to ask makes room for others", slow.recv(100) in (b"", b"HTTP/1.1 408 Request Timeout"))
    status, head, body = view.ask(Range="bytes=0-9")
    checks.ok("while others do not ask, the page comes", status == 200 and body.endswith(b"</html>\n"), head)
    checks.ok("whole", f"Content-Length: {len(body)}" in head, head)
    checks.ok("and is not kept by the browser", "no-store" in head, head)
    checks.ok("no other site may read it", "Access-Control" not in head, head)
    checks.ok("then the command ends by itself", view.process.wait(SECONDS) == 0)
    for connection in silent:
        connection.close()


QUEUED = 60  # net.core.somaxconn is 128 at least


def check_queue(checks, view):
    """Others' connections stand before the browser's, and have to leave it room."""
    others = [socket.socket() for _ in range(QUEUED)]
    try:
        for each in others:
            os.fchown(each.fileno(), 65534, -1)
    except OSError:
        checks.ok("another user's connections do not take the browser's place # SKIP may not be others", True)
        return
    view.process.send_signal(signal.SIGSTOP)
    for each in others:
        each.setblocking(False)
        each.connect_ex(("127.0.0.1", view.port))
    ours = socket.socket()
    ours.settimeout(0.9)  # the kernel tries once more after a second
    has_room = ours.connect_ex(("127.0.0.1", view.port)) == 0
    view.process.send_signal(signal.SIGCONT)
    ours.settimeout(SECONDS)
    ours.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{view.port}\r\n\r\n".encode())
    is_answered = ours.recv(12) == b"HTTP/1.1 404"
    checks.ok("another user's connections do not take the browser's place", has_room and is_answered)
    for each in (ours, *others):
        each.close()


def check_users(checks, desktrace, trace):
    view = View(desktrace, "view", "--print", trace)
    if os.getuid() != 0:
        checks.ok("another user is refused # SKIP needs root", True)
    else:
        script = f"""if True:
            import encodings.idna, os, socket
            os.setresuid(65534, 65534, 65534)
            one = socket.create_connection(("127.0.0.1", {view.port}))
            one.settimeout({SECONDS})
            try:
                one.sendall(b"GET {view.path} HTTP/1.1\\r\\nHost: 127.0.0.1:{view.port}\\r\\n\\r\\n")
                print(len(one.recv(65536)))
            except ConnectionError:
                print(0)"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        checks.ok("another user is refused, who knows the address", done.stdout == "0\n", done.stdout, done.stderr)
    check_queue(checks, view)
    begin = time.monotonic()
    checks.ok("a signal ends it at once", view.end() != 0 and time.monotonic() - begin < SECONDS / 2)


def check_ui(checks, desktrace, trace):
    with open(trace, "rb") as file:
        wanted = file.read()
    view = View(desktrace, "view", "--perfetto", "--print", trace)
    if not view.address:
        checks.ok(f"the Perfetto UI # SKIP {view.process.stderr.read().strip().splitlines()[0]}", True)
        return
    opened = view.address.startswith(UI + "/#!/?url=http://127.0.0.1:9001/")
    checks.ok("the Perfetto UI is opened with the address", opened, view.address)
    checks.ok("others' pages are refused", view.status(Origin="https://evil.example") == 403)
    status, head, _ = view.ask("OPTIONS", Origin=UI)
    checks.ok("it may ask whether it may ask", status == 200 and "Allow-Private-Network: true" in head, head)
    status, head, body = view.ask(Origin=UI)
    checks.ok("and gets the recording as it is", status == 200 and body == wanted, head)
    checks.ok("which only it may read", f"Access-Control-Allow-Origin: {UI}\r\n" in head, head)
    command = [desktrace, "view", "--perfetto", "--print", trace]
    second = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    is_told = second.returncode == 1 and "9001" in second.stderr
    checks.ok("a second one says that the port is in use", is_told, second.stderr)
    view.end()
    with tempfile.TemporaryDirectory() as directory:
        check_swaps(checks, desktrace, wanted, directory + "/trace")


def place_link(path):
    os.rename(path, path + "-moved")
    os.symlink("/etc/passwd", path)


def place_pipe(path):
    os.unlink(path)
    os.mkfifo(path)


def check_swaps(checks, desktrace, content, path):
    """What is served is the file that was opened, whatever its name becomes."""
    swaps = (
        (place_link, "a link that takes the file's place is not followed"),
        (place_pipe, "nor is a pipe read"),
        (lambda path: os.truncate(path, 10), "a file that becomes shorter ends nothing but the reply"),
    )
    for n, (swap, promise) in enumerate(swaps):
        with open(f"{path}{n}", "wb") as file:
            file.write(content)
        view = View(desktrace, "view", "--perfetto", "--print", file.name)
        if not view.address:
            checks.ok(f"{promise} # SKIP somebody has taken the port", True)
            continue
        swap(file.name)
        status, _, body = view.ask(Range="bytes=0-9")
        is_whole = body == content or os.path.getsize(file.name) == 10
        checks.ok(promise, status == 200 and is_whole and view.status(path="/") == 404)
        view.end()


def check_words(checks, desktrace, trace):
    """What somebody reads for whom no browser opens."""
    command = [desktrace, "view", "--timeout", "200ms"]

    def run(*arguments, **environment):
        environment = {**os.environ, **environment}
        return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, env=environment)

    done = run(trace)
    checks.ok("without a display it says how to get a file", '"desktrace report"' in done.stderr, done.stderr)
    done = run(trace, SSH_CONNECTION="192.0.2.1 1 192.0.2.2 22")
    checks.ok("over ssh, how to reach it", re.search(r"ssh -L (\d+):127\.0\.0\.1:\1 ", done.stderr), done.stderr)
    with tempfile.TemporaryDirectory() as directory:
        with open(directory + "/xdg-open", "w", encoding="utf-8") as script:
            script.write("#!/bin/sh\nexit 3\n")
        os.chmod(script.name, 0o755)
        done = run(trace, DISPLAY=":77", PATH=f"{directory}:{os.environ['PATH']}")
    checks.ok("where none opens, it has said the address", re.search(r"^http://127\.", done.stderr, re.M), done.stderr)
    with tempfile.NamedTemporaryFile() as file:
        for what, text in (("text", b"hello\n" * 99), ("an empty file", b"")):
            file.write(text)
            file.flush()
            for way in ([], ["--perfetto"]):
                done = run(*way, file.name)
                is_told = done.returncode == 1 and "is not a Perfetto trace" in done.stderr
                checks.ok(" ".join([what, "is no recording", *way]), is_told, done.stderr)
            file.truncate(0)
            file.seek(0)


def main(desktrace, trace):
    checks = Checks()
    check_refusals(checks, desktrace, trace)
    check_users(checks, desktrace, trace)
    check_ui(checks, desktrace, trace)
    check_words(checks, desktrace, trace)
    done = subprocess.run(
        [desktrace, "view", "--print", "--timeout", "200ms", trace], capture_output=True, text=True, check=False
    )
    checks.ok("where nobody comes, it says so", done.returncode == 9 and "no browser" in done.stderr, done.stderr)
    print(f"1..{checks.n}")
    return checks.failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
