"""Controls Chromium by its DevTools pipe: one start for all pages of a test."""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
                None)


class Browser:
    """A page that can be loaded repeatedly; its log messages and requests are kept."""

    def __init__(self, patience):
        self.patience = patience
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.to = os.pipe()
        self.of, of_browser = os.pipe()
        # It also writes into the home folder.
        env = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        env["HOME"] = self.folder.name
        # The file descriptors that --remote-debugging-pipe reads and writes; the shell sets them
        # up.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec 3<&{to_browser} 4>&{of_browser}; exec "$@"', "sh", CHROMIUM,
             "--headless", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", f"--user-data-dir={self.folder.name}",
             *(["--no-sandbox"] if os.geteuid() == 0 else []), "about:blank"],
            pass_fds=(to_browser, of_browser), env=env, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(of_browser)
        self.left, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def close(self):
        """Lets the browser end by itself, so that it removes its own temporary folder."""
        self.session = None
        try:
            self.call("Browser.close")
        except (EOFError, OSError): # it is ending, or it hangs
            pass
        try:
            self.process.wait(self.patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.of)
        self.folder.cleanup()

    def message(self):
        """Returns the next message from the browser."""
        end = time.monotonic() + self.patience
        while b"\0" not in self.left:
            if not select.select([self.of], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser says nothing")
            part = os.read(self.of, 1 << 20)
            if not part:
                raise EOFError("the browser has ended")
            self.left += part
        line, self.left = self.left.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise ValueError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def show(self, path, width, height=800, dark=False, script=True):
        """Loads the page; returns its log messages and requests."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.events.clear()
        url = pathlib.Path(path).as_uri()
        loader = self.call("Page.navigate", url=url)["loaderId"]
        # On a busy machine the event of the page before, about:blank at first, may still come.
        while not any(event["method"] == "Page.lifecycleEvent" and event["params"]["name"] == "load" and
                      event["params"]["loaderId"] == loader for event in self.events):
            event = self.message()
            if "method" in event:
                self.events.append(event)
        # Messages that are logged after the page's load come before this answer.
        self.ask("new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))" if script else "0")
        logged = [event["params"] for event in self.events
                  if event["method"] in ("Log.entryAdded", "Runtime.consoleAPICalled",
                                         "Runtime.exceptionThrown")]
        asked = [event["params"]["request"]["url"] for event in self.events
                 if event["method"] == "Network.requestWillBeSent"]
        return logged, [other for other in asked if other != url]

    def ask(self, expression):
        """Returns the value of an expression in the page, under any policy."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise ValueError(json.dumps(answer["exceptionDetails"])[:1000])
        return answer["result"].get("value")

    def picture(self, path, height=None):
        clip = {}
        if height:
            width = self.ask("innerWidth")
            clip = {"clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
                    "captureBeyondViewport": True}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", **clip)["data"]))


def start(patience):
    """Returns a browser, or the reason why there is none."""
    if not CHROMIUM:
        return None, "no Chromium"
    try:
        return Browser(patience), None
    except (TimeoutError, EOFError, OSError) as error:
        return None, f"Chromium does not start here: {error}"
