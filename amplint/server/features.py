"""The requests of an editor that amplint answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from amplint import __version__
from amplint.documents import Document
from amplint.findings import Applicability, Finding, Fix, Related, Severity
from amplint.registry import UnknownRule, installed
from amplint.server.lints import Lint, Lints
from amplint.server.targets import Target, target_of

FIX_ALL = "source.fixAll.amplint"
NOTEBOOK_FIX_ALL = "notebook.source.fixAll.amplint"
FIX_ALL_COMMAND = "amplint.fixAll"

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}
_TEXT = attrgetter("text_document.uri")
_NOTEBOOK = attrgetter("notebook_document.uri")
_WORD = re.compile(r"\b[A-Za-z]+[0-9]+")
_SETTINGS = "**/{pyproject,amplint}.toml"
_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(
            notebook="jupyter-notebook",
            cells=[types.NotebookCellLanguage("python")],
        )
    ]
)


class Server(LanguageServer):
    """A language server that knows the newest findings of what is open."""

    def __init__(self) -> None:
        # whole texts, since editors and pygls disagree about where rows end
        super().__init__("amplint", __version__, types.TextDocumentSyncKind.Full, _NOTEBOOKS)
        self.lints = Lints(self.target, self.publish)
        self._problem: str | None = None

    def target(self, uri: str) -> Target | None:
        """What is open at ``uri``."""
        return target_of(self.workspace, uri)

    def home(self, uri: str) -> str:
        """The URI under which what is open at ``uri`` is linted: of a cell, its notebook's."""
        notebook = self.workspace.get_notebook_document(cell_uri=uri)
        return notebook.uri if notebook else uri

    def open_uris(self) -> list[str]:
        """The URIs of everything that is open, cells with their notebooks."""
        return list(dict.fromkeys(self.home(uri) for uri in self.workspace.text_documents))

    def publish(self, lint: Lint) -> None:
        """Show the findings, and once a problem that keeps amplint from finding any."""
        if lint.problem and lint.problem != self._problem:
            message = types.ShowMessageParams(types.MessageType.Error, f"amplint: {lint.problem}")
            self.window_show_message(message)
        self._problem = lint.problem
        shown: dict[str, list[types.Diagnostic]] = {page.uri: [] for page in lint.target.pages.values()}
        for finding in lint.report.findings if lint.report else ():
            shown[lint.target.page(finding.start).uri].append(_diagnostic(finding, lint.target))
        for page in lint.target.pages.values():
            self.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(page.uri, shown[page.uri], page.version)
            )

    def changes(self, edits: list[types.TextDocumentEdit]) -> types.WorkspaceEdit:
        """``edits`` as the editor takes them."""
        workspace = self.client_capabilities.workspace
        if workspace and workspace.workspace_edit and workspace.workspace_edit.document_changes:
            return types.WorkspaceEdit(document_changes=list(edits))
        return types.WorkspaceEdit(
            changes={
                edit.text_document.uri: [part for part in edit.edits if isinstance(part, types.TextEdit)]
                for edit in edits
            }
        )

    async def fix_all(self, uri: str) -> types.WorkspaceEdit | None:
        """All fixes that the settings allow, of what is open at ``uri``."""
        target = self.target(uri)
        fixed = await self.lints.fixed(target) if target else None
        edits = _text_edits(target, fixed) if target and fixed else []
        return self.changes(edits) if edits else None


def _diagnostic(finding: Finding, target: Target) -> types.Diagnostic:
    rule = installed().get(finding.code)
    url = rule.page_url() if rule else None
    related = [
        types.DiagnosticRelatedInformation(_related_location(place, target), place.message) for place in finding.related
    ]
    deprecated = rule is not None and rule.name.startswith("deprecated-")
    return types.Diagnostic(
        target.range(finding.start, finding.end),
        finding.message,
        _SEVERITIES[finding.severity],
        finding.code,
        types.CodeDescription(url) if url else None,
        "amplint",
        [types.DiagnosticTag.Deprecated] if deprecated else None,
        related or None,
    )


def _related_location(place: Related, target: Target) -> types.Location:
    if place.filename is None:
        return types.Location(target.page(place.start).uri, target.range(place.start, place.end))
    ends = (types.Position(end.row - 1, end.column - 1) for end in (place.start, place.end))
    return types.Location(Path(place.filename).as_uri(), types.Range(*ends))


def _text_edits(target: Target, after: Document) -> list[types.TextDocumentEdit]:
    return [
        types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(page.uri, page.version), list(edits))
        for page, edits in target.edits(after)
    ]


def make_server() -> Server:
    """The server, ready to be started."""
    server = Server()

    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        workspace = server.client_capabilities.workspace
        watched = workspace and workspace.did_change_watched_files
        if watched and watched.dynamic_registration:
            options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(_SETTINGS)])
            registration = types.Registration("amplint-settings", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            server.client_register_capability(types.RegistrationParams([registration]))

    def lint_on(feature: str, uri_of: Callable[[Any], str], **delay: float) -> None:
        """Lint what a notification of ``feature`` is about."""

        @server.feature(feature)
        def told(params: Any) -> None:
            server.lints.request(server.home(uri_of(params)), **delay)

    lint_on(types.TEXT_DOCUMENT_DID_OPEN, _TEXT, delay=0)
    lint_on(types.TEXT_DOCUMENT_DID_CHANGE, _TEXT)
    lint_on(types.TEXT_DOCUMENT_DID_SAVE, _TEXT)
    lint_on(types.NOTEBOOK_DOCUMENT_DID_OPEN, _NOTEBOOK, delay=0)
    lint_on(types.NOTEBOOK_DOCUMENT_DID_CHANGE, _NOTEBOOK)
    lint_on(types.NOTEBOOK_DOCUMENT_DID_SAVE, _NOTEBOOK)

    def forget_on(feature: str, uri_of: Callable[[Any], str], pages_of: Callable[[Any], list[str]]) -> None:
        """Forget what a notification of ``feature`` is about, and show nothing on its pages any more."""

        @server.feature(feature)
        def told(params: Any) -> None:
            server.lints.forget(uri_of(params))
            for page in pages_of(params):
                server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(page, []))

    forget_on(types.TEXT_DOCUMENT_DID_CLOSE, _TEXT, lambda params: [_TEXT(params)])
    forget_on(
        types.NOTEBOOK_DOCUMENT_DID_CLOSE, _NOTEBOOK, lambda params: [cell.uri for cell in params.cell_text_documents]
    )

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def settings_changed(params: types.DidChangeWatchedFilesParams) -> None:
        for uri in server.open_uris():
            server.lints.request(uri)

    @server.feature(types.SHUTDOWN)
    def shut_down(params: None) -> None:
        server.lints.close()

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions([types.CodeActionKind.QuickFix, FIX_ALL, NOTEBOOK_FIX_ALL]),
    )
    async def code_actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        only = params.context.only
        found: list[types.CodeAction] = []
        if _wanted(types.CodeActionKind.QuickFix, only):
            lint = await server.lints.of(server.home(uri))
            if lint and lint.report:
                for finding in lint.report.findings:
                    found += _quick_fixes(server, lint.target, finding, uri, params.range)
        for kind in (FIX_ALL, NOTEBOOK_FIX_ALL):
            if only and _wanted(kind, only):
                edit = await server.fix_all(server.home(uri))
                if edit:
                    found.append(types.CodeAction("amplint: Fix all", kind, edit=edit))
        if not only and any(action.edit for action in found):
            command = types.Command("amplint: Fix all", FIX_ALL_COMMAND, arguments=[uri])
            found.append(types.CodeAction(command.title, FIX_ALL, command=command))
        return found

    @server.command(FIX_ALL_COMMAND)
    async def fix_all(uri: str) -> None:
        edit = await server.fix_all(server.home(uri))
        if edit:
            await server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, "amplint: Fix all"))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        lint = await server.lints.of(server.home(uri))
        if lint is None or lint.report is None:
            return None
        on_code = _hover_on_code(lint.target, uri, params.position)
        if on_code is not None:
            return on_code
        for finding in lint.report.findings:
            if _is_at(finding, lint.target, uri, types.Range(params.position, params.position)):
                rule = installed().get(finding.code)
                told = types.MarkupContent(types.MarkupKind.Markdown, rule.page() if rule else finding.message)
                return types.Hover(told, lint.target.range(finding.start, finding.end))
        return None

    return server


def _hover_on_code(target: Target, uri: str, position: types.Position) -> types.Hover | None:
    """The page of the rule whose code stands at ``position``, as in a comment that silences it."""
    for page in target.pages.values():
        if page.uri == uri:
            rows = re.split(r"\r\n|\r|\n", page.text)
            row = rows[position.line] if position.line < len(rows) else ""
            for word in _WORD.finditer(row):
                start, end = (target.codec.client_num_units(row[: word.span()[index]]) for index in (0, 1))
                if start <= position.character <= end:
                    try:
                        rule = installed().find(word[0])
                    except UnknownRule:
                        continue
                    place = types.Range(types.Position(position.line, start), types.Position(position.line, end))
                    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, rule.page()), place)
    return None


def _wanted(kind: str, only: Any) -> bool:
    return not only or any(kind == wanted or kind.startswith(f"{wanted}.") for wanted in map(_text, only))


def _text(kind: Any) -> str:
    return str(kind.value if isinstance(kind, types.CodeActionKind) else kind)


def _quick_fixes(
    server: Server, target: Target, finding: Finding, uri: str, selected: types.Range
) -> Iterator[types.CodeAction]:
    if not _is_at(finding, target, uri, selected):
        return
    diagnostics = [_diagnostic(finding, target)]
    if finding.fix:
        edits = _text_edits(target, target.document.edited(finding.fix.edits))
        title = f"amplint: {finding.fix.message}" + ("" if _is_safe(finding.fix) else " (unsafe)")
        yield types.CodeAction(
            title,
            types.CodeActionKind.QuickFix,
            diagnostics,
            is_preferred=_is_safe(finding.fix) or None,
            edit=server.changes(edits),
        )
    rule = installed().get(finding.code)
    if rule is not None and rule.selectable:
        yield types.CodeAction(
            f"amplint: Ignore {finding.code} ({rule.name}) here",
            types.CodeActionKind.QuickFix,
            diagnostics,
            edit=server.changes([target.silencing(finding)]),
        )


def _is_safe(fix: Fix) -> bool:
    return fix.applicability is Applicability.SAFE


def _is_at(finding: Finding, target: Target, uri: str, selected: types.Range) -> bool:
    place = target.range(finding.start, finding.end)
    return target.page(finding.start).uri == uri and place.start <= selected.end and selected.start <= place.end
