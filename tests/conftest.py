"""What every test shares: how async tests run, how hard Hypothesis tries, and when a skip is a failure."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import sidestream

ALL = os.environ.get("SIDESTREAM_TEST_ALL") == "1"
INSTALLED = os.environ.get("SIDESTREAM_TEST_INSTALLED") == "1"
CHECKOUT = Path(__file__).resolve().parents[1]

settings.register_profile(
    "dev", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("ci", settings.get_profile("dev"), max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_sessionstart() -> None:
    source = Path(sidestream.__file__).resolve()
    if INSTALLED and source.is_relative_to(CHECKOUT / "src"):
        pytest.exit(f"the installed wheel was to be tested, but {source} is imported", returncode=3)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """An `async def` test runs in a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    return True


def _no_skip(report: Any) -> Any:
    if ALL and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which SIDESTREAM_TEST_ALL=1 forbids: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    return _no_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    return _no_skip((yield))
