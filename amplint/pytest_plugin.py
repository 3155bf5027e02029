"""The pytest plugin: with ``--amp-watch`` a test fails whose training misuses mixed precision.

Off by default, and then nothing of it is imported but this file.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--amp-watch``."""
    parser.getgroup("amplint").addoption(
        "--amp-watch",
        action="store_true",
        default=False,
        help="fail tests whose training misuses PyTorch's automatic mixed precision",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and watch if that is asked for."""
    config.addinivalue_line(
        "markers", "amp_misuse: this test misuses mixed precision on purpose; --amp-watch leaves it alone"
    )
    if config.getoption("--amp-watch"):
        try:
            import amplint.harness  # noqa: F401
        except ImportError as error:
            raise pytest.UsageError(f"--amp-watch: {error}") from None
        config.pluginmanager.register(_Watch(), "amplint-watch")


class _Watch:
    """Runs each test under the watch."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Fail the test where the watch saw misuse and the test itself did not fail; else add what was seen."""
        if item.get_closest_marker("amp_misuse") is not None:
            return (yield)
        from amplint.harness import Report, watch

        report = Report()
        try:
            with watch(report):
                outcome = yield
        finally:
            seen = "\n".join(map(str, report.findings))
            if seen:
                item.add_report_section("call", "amp-watch", seen)
        if seen:
            pytest.fail(f"mixed precision is misused:\n{seen}", pytrace=False)
        return outcome
