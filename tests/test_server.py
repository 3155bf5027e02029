"""The language server, spoken to by a client in a process of its own."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")

from click.testing import CliRunner
from conftest import README
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from amplint.cli import main
from amplint.registry import installed

SOURCE = """\
from torch.cuda.amp import GradScaler
from torch.optim import SGD


def train(model, batches):
    optimizer = SGD(model.parameters(), lr=0.1)
    scaler = GradScaler()
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        "𐐀"; optimizer.step()
"""
FIXED = """\
from torch.amp import GradScaler
from torch.optim import SGD


def train(model, batches):
    optimizer = SGD(model.parameters(), lr=0.1)
    scaler = GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        "𐐀"; scaler.step(optimizer); scaler.update()
"""


class Editor(LanguageClient):
    """An editor with one folder open."""

    def __init__(self, folder: Path) -> None:
        super().__init__("test", "1")
        self.folder = folder
        self.shown: dict[str, list[types.Diagnostic]] = {}
        self.messages: list[str] = []
        self.applied: list[types.WorkspaceEdit] = []
        self.registered: list[str] = []
        self._news = asyncio.Event()

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.shown[params.uri] = list(params.diagnostics)
            self._news.set()

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        def told(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)

        @self.feature(types.WORKSPACE_APPLY_EDIT)
        def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            self.applied.append(params.edit)
            return types.ApplyWorkspaceEditResult(applied=True)

        @self.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            self.registered += [registration.method for registration in params.registrations]

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    async def news(self, wanted: Callable[[], bool]) -> None:
        """Wait until what is shown is as ``wanted``."""
        while not wanted():
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), 60)

    def open(self, name: str, text: str) -> str:
        document = types.TextDocumentItem(self.uri(name), "python", 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(document))
        return document.uri

    def change(self, uri: str, text: str, version: int) -> None:
        self.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version, uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    def settings_changed(self) -> None:
        change = types.FileEvent(self.uri("pyproject.toml"), types.FileChangeType.Changed)
        self.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))

    def codes(self, uri: str) -> list[Any]:
        return [diagnostic.code for diagnostic in self.shown.get(uri, [])]

    async def actions(
        self, uri: str, row: int, column: int = 0, only: list[str] | None = None
    ) -> list[types.CodeAction]:
        place = types.Range(types.Position(row, column), types.Position(row, column))
        context = types.CodeActionContext([], only=only)
        found = await self.text_document_code_action_async(
            types.CodeActionParams(types.TextDocumentIdentifier(uri), place, context)
        )
        return [*(found or ())]  # type: ignore[list-item]  # one that carries a command is a Command to lsprotocol


def edited(text: str, edit: types.WorkspaceEdit | None, uri: str) -> str:
    """``text`` after the edits of ``uri``."""
    assert edit is not None and edit.document_changes is not None
    (changes,) = (
        change
        for change in edit.document_changes
        if isinstance(change, types.TextDocumentEdit) and change.text_document.uri == uri
    )
    rows = text.split("\n")

    def offset(position: types.Position) -> int:
        units = rows[position.line].encode("utf-16-le")[: 2 * position.character].decode("utf-16-le")
        return sum(len(row) + 1 for row in rows[: position.line]) + len(units)

    for change in sorted(changes.edits, key=lambda change: offset(change.range.start), reverse=True):
        assert isinstance(change, types.TextEdit)
        text = text[: offset(change.range.start)] + change.new_text + text[offset(change.range.end) :]
    return text


def session(folder: Path, script: Callable[[Editor], Awaitable[None]]) -> None:
    """Run ``script`` with an editor that has a server of its own."""

    async def run() -> None:
        editor = Editor(folder)
        await editor.start_io(sys.executable, "-m", "amplint", "server", "--stdio")
        capabilities = types.ClientCapabilities(
            workspace=types.WorkspaceClientCapabilities(
                workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
                did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
            )
        )
        await editor.initialize_async(types.InitializeParams(capabilities, root_uri=folder.as_uri()))
        editor.initialized(types.InitializedParams())
        try:
            await script(editor)
        finally:
            await editor.shutdown_async(None)
            editor.exit(None)
            await editor.stop()

    asyncio.run(asyncio.wait_for(run(), 120))


def test_diagnostics_follow_the_text(tmp_path: Path) -> None:
    async def script(editor: Editor) -> None:
        uri = editor.open("train.py", SOURCE)
        await editor.news(lambda: uri in editor.shown)
        first, second = editor.shown[uri]
        assert (first.code, first.severity, list(first.tags or ())) == (
            "AMP201",
            types.DiagnosticSeverity.Warning,
            [types.DiagnosticTag.Deprecated],
        )
        assert (second.code, second.source, second.severity) == ("AMP101", "amplint", types.DiagnosticSeverity.Error)
        assert second.range == types.Range(types.Position(10, 14), types.Position(10, 30))
        (related,) = second.related_information or ()
        assert (related.location.uri, related.location.range.start.line) == (uri, 9)
        editor.change(uri, FIXED, 2)
        await editor.news(lambda: not editor.shown[uri])
        editor.change(uri, "def f(:  # autocast", 3)
        await editor.news(lambda: editor.codes(uri) == ["AMP902"])
        editor.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
        await editor.news(lambda: not editor.shown[uri])

    session(tmp_path, script)


def test_a_rule_that_fails_is_told_and_the_others_are_heard(tmp_path: Path, demo_rules: None) -> None:
    async def script(editor: Editor) -> None:
        uri = editor.open("train.py", "bad, crash_here\n")
        await editor.news(lambda: uri in editor.shown)
        assert editor.codes(uri) == ["DEMO001"]
        while not editor.messages:
            await asyncio.sleep(0.05)
        assert "rule DEMO004 (crash) failed" in editor.messages[0] and "please report it" in editor.messages[0]

    session(tmp_path, script)


def test_quick_fixes_and_fix_all(tmp_path: Path) -> None:
    async def script(editor: Editor) -> None:
        uri = editor.open("train.py", SOURCE)
        step, ignore, everything = await editor.actions(uri, 10, 16)
        assert step.title == "amplint: Replace with `scaler.step(...)` and add `scaler.update()`"
        assert (step.is_preferred, [diagnostic.code for diagnostic in step.diagnostics or ()]) == (True, ["AMP101"])
        assert edited(SOURCE, step.edit, uri).splitlines()[10:] == FIXED.splitlines()[10:]
        assert ignore.title == "amplint: Ignore AMP101 (step-bypasses-scaler) here"
        silenced = edited(SOURCE, ignore.edit, uri)
        assert silenced.splitlines()[10].endswith("optimizer.step()  # amplint: ignore[AMP101]")
        assert everything.title == "amplint: Fix all"
        assert await editor.actions(uri, 3) == []
        await editor.workspace_execute_command_async(types.ExecuteCommandParams("amplint.fixAll", [uri]))
        assert edited(SOURCE, editor.applied[0], uri) == FIXED
        (on_save,) = await editor.actions(uri, 0, only=["source.fixAll"])
        assert (on_save.kind, edited(SOURCE, on_save.edit, uri)) == ("source.fixAll.amplint", FIXED)
        editor.change(uri, silenced, 2)
        await editor.news(lambda: editor.codes(uri) == ["AMP201"])
        assert await editor.actions(uri, 0, only=["refactor"]) == []

    session(tmp_path, script)


def test_hover(tmp_path: Path) -> None:
    async def script(editor: Editor) -> None:
        uri = editor.open("train.py", SOURCE + "x = 1  # noqa: AMP102\n")
        for row, column, code in [(10, 20, "AMP101"), (11, 17, "AMP102"), (11, 9, "AMP901"), (8, 10, None)]:
            params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(row, column))
            found = await editor.text_document_hover_async(params)
            if code is None:
                assert found is None
            else:
                assert found is not None and isinstance(found.contents, types.MarkupContent)
                assert found.contents.value == installed().find(code).page()

    session(tmp_path, script)


def test_settings_are_read_again_and_wrong_ones_are_told(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.amplint]\nignore = ['AMP2']\nextend-exclude = ['old']\n")

    async def script(editor: Editor) -> None:
        uri = editor.open("train.py", SOURCE)
        old = editor.open("old/train.py", SOURCE)
        await editor.news(lambda: old in editor.shown and uri in editor.shown)
        assert (editor.codes(uri), editor.codes(old)) == (["AMP101"], [])
        assert editor.registered == ["workspace/didChangeWatchedFiles"]
        (tmp_path / "pyproject.toml").write_text("[tool.amplint]\nselct = []\n")
        editor.settings_changed()
        await editor.news(lambda: not editor.codes(uri))
        (message,) = editor.messages
        assert message.endswith("unknown key `selct` in [tool.amplint]; did you mean `select`?")
        (tmp_path / "pyproject.toml").unlink()
        editor.settings_changed()
        await editor.news(lambda: editor.codes(uri) == editor.codes(old) == ["AMP201", "AMP101"])

    session(tmp_path, script)


def test_known_findings_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.amplint]\nbaseline = 'known.json'\n")
    (tmp_path / "train.py").write_text(SOURCE)
    subprocess.run([sys.executable, "-m", "amplint", "--write-baseline"], cwd=tmp_path, check=True)

    async def script(editor: Editor) -> None:
        uri = editor.open("train.py", SOURCE)
        await editor.news(lambda: uri in editor.shown)
        assert editor.codes(uri) == []
        editor.change(uri, f"{SOURCE}        optimizer.step()\n", 2)
        await editor.news(lambda: editor.codes(uri) == ["AMP101"])
        (tmp_path / "known.json").unlink()
        editor.settings_changed()
        await editor.news(lambda: len(editor.codes(uri)) == 3)
        assert editor.messages == [f"amplint: {tmp_path / 'known.json'}: no such file; --write-baseline makes it"]

    session(tmp_path, script)


def test_a_notebook_is_one_program(tmp_path: Path) -> None:
    head, tail = SOURCE.split("\n\n\n")
    cells = [("code", head + "\n%matplotlib inline"), ("markup", "# text"), ("code", tail)]

    async def script(editor: Editor) -> None:
        kinds = {"code": types.NotebookCellKind.Code, "markup": types.NotebookCellKind.Markup}
        uris = [f"vscode-notebook-cell:/train.ipynb#{number}" for number in range(3)]
        notebook = types.NotebookDocument(
            editor.uri("train.ipynb"),
            "jupyter-notebook",
            1,
            [types.NotebookCell(kinds[kind], uri) for (kind, _), uri in zip(cells, uris, strict=True)],
        )
        texts = [
            types.TextDocumentItem(uri, "python" if kind == "code" else "markdown", 1, text)
            for (kind, text), uri in zip(cells, uris, strict=True)
        ]
        editor.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, texts))
        await editor.news(lambda: len(editor.shown) == 3)
        assert [editor.codes(uri) for uri in uris] == [["AMP201"], [], ["AMP101"]]
        assert editor.shown[uris[2]][0].range.start == types.Position(6, 14)
        (fix, *_) = await editor.actions(uris[0], 0, 30)
        assert edited(cells[0][1], fix.edit, uris[0]).startswith("from torch.amp import GradScaler\n")
        assert 'scaler = GradScaler("cuda")\n' in edited(cells[2][1], fix.edit, uris[2])
        (everything,) = await editor.actions(uris[2], 0, only=["notebook.source.fixAll"])
        assert edited(cells[2][1], everything.edit, uris[2]) == FIXED.split("\n\n\n")[1]
        editor.notebook_document_did_close(
            types.DidCloseNotebookDocumentParams(
                types.NotebookDocumentIdentifier(notebook.uri), [types.TextDocumentIdentifier(uri) for uri in uris]
            )
        )
        await editor.news(lambda: not any(editor.shown.values()))

    session(tmp_path, script)


def test_what_is_out_of_date_is_not_shown(tmp_path: Path) -> None:
    async def script(editor: Editor) -> None:
        uri = editor.open("train.py", SOURCE)
        for version in range(2, 30):
            editor.change(uri, SOURCE if version % 2 else "x = 1\n", version)
        editor.change(uri, FIXED, 30)
        await editor.news(lambda: uri in editor.shown)
        assert await editor.actions(uri, 10) == []
        assert not editor.shown[uri]

    session(tmp_path, script)


def test_without_pygls_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygls", None)
    done = CliRunner().invoke(main, ["server"])
    assert (done.exit_code, done.stderr.count("pip install 'amplint[server]'")) == (2, 1)


@pytest.mark.skipif(shutil.which("nvim") is None, reason="needs Neovim")
def test_neovim_shows_and_fixes(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SOURCE)
    script = Path(__file__).parent / "neovim.lua"
    done = subprocess.run(
        ["nvim", "--headless", "-u", "NONE", "train.py", "-c", f"luafile {script}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.stdout.splitlines() == ["1:28 AMP201", "11:17 AMP101"]
    assert (tmp_path / "train.py").read_text() == FIXED


def neovim_version() -> tuple[int, ...]:
    """That of the Neovim on this machine; (0,) where there is none."""
    if shutil.which("nvim") is None:
        return (0,)
    first = subprocess.run(["nvim", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    return tuple(map(int, re.findall(r"\d+", first)[:2]))


@pytest.mark.skipif(neovim_version() < (0, 11), reason="needs Neovim 0.11 or newer")
def test_neovim_takes_the_documented_settings(tmp_path: Path) -> None:
    (settings,) = re.findall(r"```lua\n(.*?)```", README, re.DOTALL)
    (tmp_path / "init.lua").write_text(settings)
    (tmp_path / "train.py").write_text(SOURCE)
    (tmp_path / "show.lua").write_text(
        "vim.wait(30000, function() return #vim.diagnostic.get(0) > 0 end, 50)\n"
        "for _, found in ipairs(vim.diagnostic.get(0)) do io.stdout:write(found.code, '\\n') end\n"
        "vim.cmd('qall!')\n"
    )
    command = tmp_path / "amplint"
    command.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m amplint \"$@\"\n")
    command.chmod(0o755)
    done = subprocess.run(
        ["nvim", "--headless", "-u", "init.lua", "train.py", "-c", "luafile show.lua"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.stdout.splitlines() == ["AMP201", "AMP101"], done.stderr


EDITORS = ["visual_studio_code", "emacs"]  # Neovim is asked itself


@pytest.mark.parametrize("editor", EDITORS)
def test_the_server_serves_what_an_editor_says_it_can_do(tmp_path: Path, editor: str) -> None:
    pytest_lsp = pytest.importorskip("pytest_lsp")

    async def run() -> None:
        client = pytest_lsp.make_test_lsp_client()
        await client.start_io(sys.executable, "-m", "amplint", "server")
        capabilities = pytest_lsp.client_capabilities(editor)
        await client.initialize_session(types.InitializeParams(capabilities, root_uri=tmp_path.as_uri()))
        document = types.TextDocumentItem((tmp_path / "train.py").as_uri(), "python", 1, SOURCE)
        client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        first, second = client.diagnostics[document.uri]
        assert (first.code, second.code) == ("AMP201", "AMP101")
        this = types.TextDocumentIdentifier(document.uri)
        actions = await client.text_document_code_action_async(
            types.CodeActionParams(this, second.range, types.CodeActionContext([second]))
        )
        assert len(actions) == 3
        assert await client.text_document_hover_async(types.HoverParams(this, second.range.start))
        await client.shutdown_session()

    asyncio.run(asyncio.wait_for(run(), 120))
