"""Pytest fixtures for programs that use sidestream. Enable with `pytest_plugins = ["sidestream.testing.plugin"]`.

`scripted` makes a model that recites, `virtual_time` runs a coroutine on a virtual clock, and every test is
kept from asking a real model unless it is marked `@pytest.mark.real_model`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from sidestream.testing import Script, block_real_models, run

__all__ = ["no_real_models", "scripted", "virtual_time"]


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", "real_model: this test may ask a real model")


@pytest.fixture(autouse=True)
def no_real_models(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that asks a real model."""
    if request.node.get_closest_marker("real_model"):
        yield
        return
    with block_real_models():
        yield


@pytest.fixture
def scripted() -> Callable[..., Script]:
    """`scripted(response, …)`: a model that recites these."""
    return Script


@pytest.fixture
def virtual_time() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """`virtual_time(main())`: run it on a clock that costs no time."""
    return run
