import asyncio
import gc
import subprocess
import sys
import threading
import weakref

import pytest

from sidestream.testing.clock import run as virtually
from sidestream.tools.output import failure
from sidestream.tools.threads import in_thread, running_threads


class OddError(BaseException):
    pass


def throw(error):
    raise error


@pytest.mark.parametrize(
    "error", [ValueError("v"), SystemExit(3), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()]
)
def test_what_is_raised_in_a_thread_is_raised_where_it_is_awaited(error):
    async def main():
        try:
            await in_thread("x", lambda: throw(error))
        except (Exception, SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError) as raised:
            return raised

    assert asyncio.run(main()) is error


@pytest.mark.parametrize("error", [StopIteration("a"), StopAsyncIteration("a"), OddError("a")])
def test_what_no_caller_expects_arrives_as_an_error_and_is_told_as_itself(error):
    async def main():
        with pytest.raises(RuntimeError) as caught:
            await in_thread("x", lambda: throw(error))
        return caught.value

    raised = asyncio.run(main())
    assert raised.__cause__ is error
    assert failure(raised, "show")[0].text == f"{type(error).__name__}: a"


def test_the_error_is_not_kept_alive_by_a_circle():
    class LocalError(Exception):
        pass

    def fail():
        raise LocalError

    async def main():
        try:
            await in_thread("x", fail)
        except LocalError as error:
            return weakref.ref(error)

    gc.disable()
    try:
        kept = asyncio.run(main())
        assert kept() is None
    finally:
        gc.enable()


def test_threads_overlap_and_are_daemons_of_our_own():
    async def main():
        both = threading.Barrier(2, timeout=10)

        def meet():
            both.wait()
            return threading.current_thread().daemon, threading.current_thread().name

        found = await asyncio.gather(in_thread("a/1", meet), in_thread("a/2", meet))
        assert found == [(True, "sidestream a/1"), (True, "sidestream a/2")]

    asyncio.run(main())


def test_a_cancelled_caller_goes_on_at_once_and_the_thread_is_still_seen_until_it_ends():
    async def main():
        go, began = threading.Event(), threading.Event()

        def work():
            began.set()
            go.wait(10)

        task = asyncio.ensure_future(in_thread("r/1", work))
        await asyncio.sleep(0)
        assert began.wait(10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await running_threads("r/", 0) == ["r/1"]
        assert await running_threads("r/", -1) == ["r/1"]
        assert await running_threads("other/", 10) == []
        go.set()
        assert await running_threads("r/", 10) == []

    asyncio.run(main())


def test_waiting_for_threads_has_a_bound_in_virtual_time():
    async def main():
        go = threading.Event()
        task = asyncio.ensure_future(in_thread("v/1", lambda: go.wait(10)))
        await asyncio.sleep(0)
        began = asyncio.get_running_loop().time()
        assert await running_threads("v/", 3) == ["v/1"]
        assert asyncio.get_running_loop().time() == began + 3
        go.set()
        assert await task is True

    virtually(main())


def test_a_thread_of_another_loop_is_not_waited_for():
    go, began = threading.Event(), threading.Event()

    async def leave():
        asyncio.ensure_future(in_thread("s/1", lambda: (began.set(), go.wait(10))))  # noqa: RUF006
        await asyncio.sleep(0)
        began.wait(10)

    async def main():
        return await running_threads("s/", 10)

    asyncio.run(leave())
    try:
        assert asyncio.run(main()) == []
    finally:
        go.set()


def test_no_thread_left_in_the_system_is_an_error_of_that_call_only(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    async def main():
        monkeypatch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="new thread"):
            await in_thread("t/1", lambda: None)
        assert await running_threads("t/", 10) == []

    asyncio.run(main())


def test_a_thread_that_never_ends_does_not_keep_the_interpreter_alive():
    code = """
import asyncio, threading
from sidestream.tools.threads import in_thread
async def main():
    began = threading.Event()
    task = asyncio.ensure_future(in_thread("x", lambda: (began.set(), threading.Event().wait())))
    await asyncio.sleep(0)
    began.wait()
    task.cancel()
asyncio.run(main())
print("over")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert (done.stdout, done.stderr) == ("over\n", "")
