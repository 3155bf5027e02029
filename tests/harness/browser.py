"""A headless Chromium, spoken to over a pair of pipes: what a page asks for, complains of and shows."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


# the browser reads from its descriptor 3 and writes to its descriptor 4
_LAUNCH = """
import fcntl, os, sys
reads, writes = (fcntl.fcntl(int(given), fcntl.F_DUPFD, 10) for given in sys.argv[1:3])
os.dup2(reads, 3), os.dup2(writes, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Page:
    """One page, loaded; ``requests`` are the addresses that it asked for, ``complaints`` what the console says."""

    def __init__(self, path: Path, profile: Path) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._sent = 0
        to_browser, self._commands = os.pipe()
        self._answers, from_browser = os.pipe()
        command = [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        command += [f"--user-data-dir={profile}", "--no-first-run", "--disable-dev-shm-usage"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(to_browser), str(from_browser), *command],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._messages = self._read()
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Network", "Runtime", "Log", "Page"):
            self._call(f"{domain}.enable", session=self._session)
        self._call("Page.navigate", session=self._session, url=path.as_uri())
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self._call("Runtime.evaluate", session=self._session, expression=expression, returnByValue=True)
        return answer["result"]["value"]

    def close(self) -> None:
        """End the browser."""
        self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def _call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        self._sent += 1
        message: dict[str, Any] = {"id": self._sent, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._sent:
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self) -> dict[str, Any]:
        message = next(self._messages)
        parameters = message.get("params", {})
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif message.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(json.dumps(parameters))
        return message

    def _read(self) -> Iterator[dict[str, Any]]:
        waiting = b""
        while True:
            if not select.select([self._answers], [], [], 30)[0]:
                raise TimeoutError("the browser says nothing")
            some = os.read(self._answers, 1 << 16)
            if not some:
                raise EOFError("the browser has ended")
            *whole, waiting = (waiting + some).split(b"\0")
            yield from map(json.loads, whole)


def why_not() -> str | None:
    """Why there is no browser to use here."""
    if sys.platform == "win32":
        return "speaks to the browser over inherited descriptors"
    return None if CHROMIUM else "no Chromium is installed"
