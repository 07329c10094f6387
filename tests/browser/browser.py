# SPDX-License-Identifier: LGPL-2.1-or-later
"""Real browsers, headless: Chromium by ChromeDriver's HTTP, Firefox by its Marionette protocol.

Both speak W3C WebDriver: a command has a name and arguments, and its answer a value.
"""

import base64
import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

WIDTH, HEIGHT = 1300, 1000
START_SECONDS = 60
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class BrowserError(Exception):
    pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Chromium:
    """One window of Chromium."""

    name = "chromium"
    binary = "chromium"
    needs = ("chromium", "chromedriver")

    def __init__(self, folder):
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            ["chromedriver", f"--port={port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.wait()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        flags += [f"--window-size={WIDTH},{HEIGHT}", f"--user-data-dir={folder}/chromium"]
        options = {"args": flags, "binary": shutil.which("chromium")}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        value = self.send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = f"/session/{value['sessionId']}"

    def wait(self):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            with contextlib.suppress(OSError, BrowserError):
                self.send("GET", "/status")
                return
            time.sleep(0.1)
        raise BrowserError("chromedriver does not start")

    def send(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise BrowserError(json.load(error)["value"]["message"]) from error

    def post(self, path, **body):
        return self.send("POST", self.session + path, body)

    def open(self, url):
        self.post("/url", url=url)

    def run(self, script, *arguments):
        return self.post("/execute/sync", script=script, args=list(arguments))

    def run_async(self, script, *arguments):
        return self.post("/execute/async", script=script, args=list(arguments))

    def act(self, *sources):
        self.post("/actions", actions=list(sources))

    def type(self, selector, text):
        element = self.post("/element", using="css selector", value=selector)[ELEMENT]
        self.post(f"/element/{element}/value", text=text)

    def picture(self):
        return base64.b64decode(self.send("GET", self.session + "/screenshot"))

    def emulate(self, medium="", scheme=""):
        """Shows the page as if on paper ("print"), or on a "dark" or "light" desktop; "" is what it is."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        parameters = {"media": medium, "features": features}
        self.post("/goog/cdp/execute", cmd="Emulation.setEmulatedMedia", params=parameters)

    def print(self):
        """A PDF."""
        return base64.b64decode(self.post("/print"))

    def complaints(self):
        """What the console has said since it was asked last."""
        return [entry["message"] for entry in self.post("/se/log", type="browser") if entry["level"] != "INFO"]

    def requests(self):
        """The addresses that were asked for since the last time."""
        entries = (json.loads(entry["message"])["message"] for entry in self.post("/se/log", type="performance"))
        return [e["params"]["request"]["url"] for e in entries if e["method"] == "Network.requestWillBeSent"]

    def close(self):
        with contextlib.suppress(OSError, BrowserError):
            self.send("DELETE", self.session)
        self.process.terminate()
        self.process.wait()


class Firefox:
    """One window of Firefox."""

    name = "firefox"
    needs = ("firefox-esr",)

    def __init__(self, folder):
        port = free_port()
        profile = os.path.join(folder, "firefox")
        os.makedirs(profile)
        with open(os.path.join(profile, "user.js"), "w", encoding="ascii") as file:
            file.write(f'user_pref("marionette.port", {port});\nuser_pref("app.update.enabled", false);\n')
        self.process = subprocess.Popen(
            ["firefox-esr", "--headless", "--marionette", "--remote-allow-system-access", "--no-remote",
             "--profile", profile, f"--width={WIDTH}", f"--height={HEIGHT}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "HOME": folder, "MOZ_HEADLESS_WIDTH": str(WIDTH), "MOZ_HEADLESS_HEIGHT": str(HEIGHT)},
        )
        self.socket = self.connect(port)
        self.number = 0
        self.read()  # its greeting
        self.call("WebDriver:NewSession", capabilities={"alwaysMatch": {}})

    def connect(self, port):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError):
                return socket.create_connection(("127.0.0.1", port), timeout=120)
            time.sleep(0.1)
        raise BrowserError("Firefox does not start")

    def read(self):
        length = b""
        while not length.endswith(b":"):
            length += self.socket.recv(1)
        data = b""
        while len(data) < int(length[:-1]):
            data += self.socket.recv(int(length[:-1]) - len(data))
        return json.loads(data)

    def call(self, name, **arguments):
        self.number += 1
        text = json.dumps([0, self.number, name, arguments]).encode()
        self.socket.sendall(f"{len(text)}:".encode() + text)
        _, _, error, value = self.read()
        if error:
            raise BrowserError(error["message"])
        return value

    def open(self, url):
        self.call("WebDriver:Navigate", url=url)

    def run(self, script, *arguments):
        return self.call("WebDriver:ExecuteScript", script=script, args=list(arguments))["value"]

    def run_async(self, script, *arguments):
        return self.call("WebDriver:ExecuteAsyncScript", script=script, args=list(arguments))["value"]

    def act(self, *sources):
        self.call("WebDriver:PerformActions", actions=list(sources))

    def type(self, selector, text):
        element = self.call("WebDriver:FindElement", using="css selector", value=selector)["value"][ELEMENT]
        self.call("WebDriver:ElementSendKeys", id=element, text=text)

    def picture(self):
        return base64.b64decode(self.call("WebDriver:TakeScreenshot", full=False)["value"])

    def emulate(self, medium="", scheme=""):
        self.chrome(f"""
            const context = gBrowser.selectedBrowser.browsingContext;
            context.mediumOverride = "{medium}";
            context.prefersColorSchemeOverride = "{scheme or "none"}";""")

    def print(self):
        return base64.b64decode(self.call("WebDriver:Print")["value"])

    def chrome(self, script):
        """Runs a script with the rights of the browser itself."""
        self.call("Marionette:SetContext", value="chrome")
        try:
            return self.run(script)
        finally:
            self.call("Marionette:SetContext", value="content")

    def complaints(self):
        script = """
            const messages = Services.console.getMessageArray()
                .filter((one) => one instanceof Ci.nsIScriptError && /^(file|http)/.test(one.sourceName))
                .map((one) => one.errorMessage);
            Services.console.reset();
            return messages;"""
        return self.chrome(script)

    def requests(self):
        return self.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")

    def close(self):
        with contextlib.suppress(OSError, BrowserError, ValueError):
            self.call("Marionette:Quit", flags=["eForceQuit"])
        self.socket.close()
        self.process.terminate()
        self.process.wait()


def installed():
    return [kind for kind in (Chromium, Firefox) if all(shutil.which(program) for program in kind.needs)]


@contextlib.contextmanager
def browser(kind):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        window = kind(folder)
        try:
            yield window
        finally:
            window.close()


def press(window, *keys):
    steps = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
    window.act({"type": "key", "id": "keys", "actions": steps})


def click(window, x, y, to=None):
    """At a place of the page; with another one, drags to there."""
    steps = [{"type": "pointerMove", "x": round(x), "y": round(y)}, {"type": "pointerDown", "button": 0}]
    if to:
        steps.append({"type": "pointerMove", "x": round(to[0]), "y": round(to[1]), "duration": 100})
    steps.append({"type": "pointerUp", "button": 0})
    window.act({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps})
