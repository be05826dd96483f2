"""The workshop: what we test ourselves with, for those who build on sidestream.

    model = Script(["Hi ", CallDelta(0, "a", "weather", '{"city": "Bern"}')], ["It rains."])
    engine = Engine(model, tools=[weather])

`Script` is a model that recites and shows the requests it saw, `laws` the laws of the house as checks,
`clock` a virtual clock, `block_real_models` a guard against a test that would ask a real one. In a
`conftest.py`, `pytest_plugins = ["sidestream.testing.plugin"]` brings them as fixtures.
"""

from sidestream.providers.provider import block_real_models
from sidestream.providers.script import Script, recording
from sidestream.testing import laws
from sidestream.testing.clock import VirtualLoop, run, virtual_loop

__all__ = ["Script", "VirtualLoop", "block_real_models", "laws", "recording", "run", "virtual_loop"]
