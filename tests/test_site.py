"""The site, as its readers' browsers have it."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from conftest import PROJECT

from amplint.registry import installed

pytest.importorskip("material")

from amplint.site import build
from amplint.site.rules import rule_page

HOME = "https://amplint.invalid/"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build(folder, measured=False)
    return folder


class Page(HTMLParser):
    """What a page links to, what it loads, and what can be linked to on it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attributes}
        self.anchors |= {told[name] for name in ("id", "name") if name in told}
        if tag == "a" and "href" in told:
            self.links.append(told["href"])
        elif tag == "link" and told.get("rel") in ("stylesheet", "icon", "preload", "preconnect"):
            self.loads.append(told["href"])
        elif tag in ("script", "img", "iframe", "source") and "src" in told:
            self.loads.append(told["src"])


def test_every_link_leads_somewhere(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(pages) > len(installed().rules)
    dead = []
    for path, page in pages.items():
        here = HOME + path.relative_to(site).as_posix().removesuffix("index.html")
        for link in (*page.links, *page.loads):
            url = urlsplit(urljoin(here, link))
            if not url.geturl().startswith(HOME):
                continue
            target = site / unquote(url.path).lstrip("/")
            target = target / "index.html" if target.is_dir() else target
            if target not in pages and not target.is_file():
                dead.append((here, link))
            elif target in pages and unquote(url.fragment) not in pages[target].anchors:
                dead.append((here, link))
        assert not [load for load in page.loads if urlsplit(load).netloc], "a page asks another server for something"
    assert dead == []


def test_every_rule_has_its_page(site: Path) -> None:
    listed = Page(site / "rules" / "index.html").links
    for rule in installed().rules:
        text = (site / "rules" / rule.name / "index.html").read_text(encoding="utf-8")
        assert f"{rule.name} ({rule.code})" in text
        assert f"{rule.name}/" in listed
        for said in ("What it does", "Why is this bad?", "Example", "References"):
            assert said in text
        if "## Use instead" in rule.page():
            assert all(f">{label}</label>" in text for label in ("Before", "After", "Change"))


def test_the_harm_is_measured() -> None:
    pytest.importorskip("torch")
    rule = installed().find("AMP102")
    page = rule_page(rule, PROJECT, True)
    assert "after 1 step it raises <code>RuntimeError: step() has already been called since the last" in page
    assert page.count('<path class="after" d="M') == 3
    page = rule_page(installed().find("AMP201"), PROJECT, True)
    assert "PyTorch warns that <code>torch.cuda.amp.GradScaler is deprecated</code>" in page


def test_findings_link_to_the_site_that_the_metadata_names(tmp_path: Path) -> None:
    metadata = tmp_path / "amplint-9.dist-info"
    metadata.mkdir()
    url = "https://docs.example.org/amplint"
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: amplint\nVersion: 9\nProject-URL: Documentation, {url}/\n"
    )
    (metadata / "entry_points.txt").write_text("[amplint.rules]\nbuiltin = amplint.rules\n")
    command = [sys.executable, "-m", "amplint", "--isolated", "--output-format", "json", "-"]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{PROJECT}"}
    source = b"from torch.cuda.amp import autocast\n"
    done = subprocess.run(command, input=source, capture_output=True, cwd=tmp_path, env=environment)
    assert json.loads(done.stdout)[0]["url"] == f"{url}/rules/deprecated-cuda-amp/"


@contextlib.contextmanager
def browser(site: Path) -> Iterator[Any]:
    """Chromium without a window, at the site, which is served by a server of its own."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs Chromium and its driver")

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1400,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        started.get(f"http://127.0.0.1:{server.server_port}/")
        yield started
        assert [entry for entry in started.get_log("browser") if entry["level"] == "SEVERE"] == []
    finally:
        started.quit()
        server.shutdown()
        server.server_close()


def test_one_searches_and_switches_between_before_and_after(site: Path) -> None:
    with browser(site) as page:
        from selenium.webdriver.common.by import By
        from selenium.webdriver.support.ui import WebDriverWait

        soon = WebDriverWait(page, 20)
        page.find_element(By.CSS_SELECTOR, "input[data-md-component=search-query]").send_keys("clipped threshold")
        found = "a.md-search-result__link[href*='rules/clip-before-unscale']"
        page.get(soon.until(lambda _: page.find_elements(By.CSS_SELECTOR, found))[0].get_attribute("href"))
        assert page.find_element(By.TAG_NAME, "h1").text.startswith("clip-before-unscale (AMP103)")
        example = page.find_element(By.CSS_SELECTOR, ".tabbed-set")

        def shown() -> str:
            blocks = example.find_elements(By.CSS_SELECTOR, ":scope > .tabbed-content > .tabbed-block")
            (block,) = (block for block in blocks if block.is_displayed())
            return str(block.text)

        assert "unscale_" not in shown().partition("Why is this bad?")[0] and "1.67e7" in shown()
        for label, said in (("After", "Fix safety"), ("Change", "+scaler.unscale_(optimizer)")):
            example.find_element(By.XPATH, f"./div/label[normalize-space()='{label}']").click()
            soon.until(lambda _, said=said: said in shown())
        assert "Fix safety" not in shown()


@pytest.mark.slow
def test_one_switches_the_lines_of_what_was_measured(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    build(tmp_path, measured=True)
    with browser(tmp_path) as page:
        from selenium.webdriver.common.by import By

        page.get(f"{page.current_url}rules/step-bypasses-scaler/")
        line = page.find_element(By.CSS_SELECTOR, ".measured path.before")
        assert line.is_displayed()
        page.find_element(By.CSS_SELECTOR, ".measured label.before").click()
        assert not line.is_displayed()
        assert page.find_element(By.CSS_SELECTOR, ".measured path.after").is_displayed()
