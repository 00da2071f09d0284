# SPDX-License-Identifier: Apache-2.0
"""Callbacks of pyACL: they live as long as they are needed, their exceptions are reported, nothing deadlocks.

Each script runs in a separate process: exception callbacks and the processing of reports are process-wide.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from support.programs_in_forks import Programs

START = """
import ctypes, gc, sys, threading, weakref
import ascend_rt.pyacl as acl
from ascend_rt import library
rt = acl.rt
sim = ctypes.CDLL(library().path)

def ok(*results):
    assert results[-1] == 0, results
    return results[0]

ok(acl.init())
ok(rt.set_device(0))
stream = ok(*rt.create_stream())
memory = ok(*rt.malloc(64, 0))
me = threading.get_ident()

def fail_next(code=507015):
    sim.aclsimFailTask(ctypes.c_void_p(stream), ctypes.c_uint64(1), code)

def submit():
    ok(rt.memset_async(memory, 64, 1, 64, stream))

class Thing:
    pass

"""

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, programs: Programs) -> Run:
    """Return a function that runs a script and returns what it prints on both outputs."""

    def start(script: str) -> str:
        done = programs.run("-c", START + textwrap.dedent(script), directory=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    return start


# --- callbacks in streams --------------------------------------------------------------------------------------------


def test_an_exception_of_a_callback_is_the_cause_of_a_system_error(run: Run) -> None:
    run("""
        ok(rt.subscribe_report(me, stream))
        error = ValueError("no")
        def fail(argument):
            raise error
        ok(rt.launch_callback(fail, [], 1, stream))
        try:
            rt.process_report(60000)
        except SystemError as caught:
            text = "<built-in function process_report> returned a result with an exception set"
            assert (str(caught), caught.__cause__) == (text, error)
            assert caught.__cause__.__traceback__ is not None
        else:
            raise AssertionError("nothing was raised")
        ok(rt.launch_callback(lambda argument: None, [], 1, stream))
        assert rt.process_report(60000) == 0
    """)


def test_every_exception_is_raised_also_where_the_interpreter_has_specialized_the_call(run: Run) -> None:
    run("""
        ok(rt.subscribe_report(me, stream))
        def fail(argument):
            raise ValueError
        raised = 0
        for _ in range(100):
            ok(rt.launch_callback(fail, [], 1, stream))
            try:
                rt.process_report(60000)
            except SystemError:
                raised += 1
        assert raised == 100
    """)


def test_callbacks_and_their_data_are_kept_until_they_have_run_and_no_longer(run: Run) -> None:
    run("""
        ok(rt.subscribe_report(me, stream))
        class Function:
            def __call__(self, argument):
                assert isinstance(argument, Thing)
        function, data = Function(), Thing()
        alive = [weakref.ref(function), weakref.ref(data)]
        ok(rt.launch_callback(function, data, 1, stream))
        del function, data
        assert all(reference() for reference in alive)
        ok(rt.process_report(60000))
        assert not any(reference() for reference in alive)
    """)


def test_a_callback_that_is_refused_is_given_back(run: Run) -> None:
    run("""
        data = Thing()
        alive = weakref.ref(data)
        assert rt.launch_callback(print, data, 1, stream) == 107015
        del data
        assert alive() is None
    """)


@pytest.mark.parametrize("end", ["destroy_stream_force", "stream_abort"])
def test_callbacks_that_an_abort_drops_are_given_back(run: Run, end: str) -> None:
    run(f"""
        ok(rt.subscribe_report(me, stream))
        other = ok(*rt.create_stream())
        ok(rt.subscribe_report(me, other))
        dropped, kept = Thing(), Thing()
        alive = weakref.ref(dropped), weakref.ref(kept)
        ok(rt.launch_callback(print, dropped, 1, stream))
        ok(rt.launch_callback(lambda thing: None, kept, 1, other))
        del dropped, kept
        ok(rt.{end}(stream))
        assert alive[0]() is None and alive[1]() is not None
        ok(rt.process_report(60000))
        assert alive[1]() is None
    """)


@pytest.mark.simulator("deadly")
def test_references_of_arguments_and_results_do_not_leak(run: Run) -> None:
    run("""
        import contextlib
        class Number(int):
            pass
        number, text, data = Number(1), "x" * 5, b"data"
        def calls():
            rt.synchronize_stream(number)
            rt.ipc_mem_close(text)
            acl.util.bytes_to_ptr(data)
            rt.set_stream_attribute(0, number, {"failureMode": number})
            with contextlib.suppress(TypeError):
                rt.malloc(number, text)
        calls()
        before = [sys.getrefcount(it) for it in (number, text, data, None)]
        for _ in range(100):
            calls()
        after = [sys.getrefcount(it) for it in (number, text, data, None)]
        assert all(b <= a + 5 for a, b in zip(before, after)), (before, after)
    """)


# --- failed tasks ----------------------------------------------------------------------------------------------------


@pytest.mark.simulator("faults")
def test_a_second_failure_after_an_exception_calls_the_function_again(run: Run) -> None:
    output = run("""
        seen = []
        def fail(info):
            seen.append(rt.get_error_code_from_exception_info(info))
            raise ValueError("this one")
        ok(rt.set_exception_info_callback(fail))
        for _ in range(2):
            fail_next()
            try:
                submit()
                rt.synchronize_stream(stream)
            except SystemError as error:
                print(repr(error.__cause__))
            rt.get_last_error(0)
        assert seen == [507015] * 2, seen
    """)
    assert output.count("this one") == 2


@pytest.mark.simulator("held tasks")
@pytest.mark.parametrize(
    "wait",
    [
        "synchronize_device_with_timeout(60000)",
        "synchronize_stream_with_timeout(stream, 60000)",
        "destroy_stream(stream)",
        "reset_device(0)",
    ],
)
def test_an_exception_callback_that_is_due_inside_a_call_does_not_deadlock(run: Run, wait: str) -> None:
    run(f"""
        seen, is_done = [], threading.Event()
        def on_failure(info):
            seen.append(threading.get_ident() == me)
            is_done.set()
        ok(rt.set_exception_info_callback(on_failure))
        sim.aclsimHold(1)
        fail_next()
        submit()
        threading.Thread(target=sim.aclsimHold, args=(0,)).start()
        rt.{wait}
        assert is_done.wait(60)
    """)


@pytest.mark.simulator("faults")
def test_the_exception_callback_lives_as_long_as_it_is_set(run: Run) -> None:
    run("""
        class Function:
            def __call__(self, info):
                pass
        first, second = Function(), Function()
        alive = weakref.ref(first), weakref.ref(second)
        ok(rt.set_exception_info_callback(first))
        del first
        assert alive[0]() is not None
        ok(rt.set_exception_info_callback(second))
        del second
        assert alive[0]() is None and alive[1]() is not None
        ok(rt.set_exception_info_callback())
        assert alive[1]() is None
    """)


# --- allocators ------------------------------------------------------------------------------------------------------

ALLOCATOR = """
seen = []
class Functions:
    def __init__(self, name):
        self.name = name
    def allocate(self, number, size):
        seen.append((self.name, "allocate", number, size))
        return memory
    def free(self, number, block):
        seen.append((self.name, "free", number, block == memory))
    def address(self, block):
        return block

def described(functions, number):
    desc = rt.allocator_create_desc()
    ok(rt.allocator_set_obj_to_desc(desc, number))
    ok(rt.allocator_set_alloc_func_to_desc(desc, functions.allocate))
    ok(rt.allocator_set_free_func_to_desc(desc, functions.free))
    ok(rt.allocator_set_get_addr_from_block_func_to_desc(desc, functions.address))
    return desc

def run_operator(stream, size):
    return sim.aclsimRunOperator(ctypes.c_void_p(stream), ctypes.c_size_t(size))
"""


@pytest.mark.simulator("kernels")
def test_each_descriptor_has_its_own_functions(run: Run) -> None:
    run(
        ALLOCATOR
        + textwrap.dedent("""
        other = ok(*rt.create_stream())
        ok(rt.allocator_register(stream, described(Functions("a"), 1)))
        ok(rt.allocator_register(other, described(Functions("b"), 2)))
        ok(run_operator(stream, 64))
        ok(run_operator(other, 32))
        assert seen == [
            ("a", "allocate", 1, 64), ("a", "free", 1, True), ("b", "allocate", 2, 32), ("b", "free", 2, True)
        ], seen
    """)
    )


@pytest.mark.simulator("kernels")
def test_an_allocator_is_reported_sizes_beyond_32_bits_and_may_have_nothing(run: Run) -> None:
    run(
        ALLOCATOR
        + textwrap.dedent("""
        functions = Functions("a")
        functions.allocate = lambda number, size: seen.append(size)
        ok(rt.allocator_register(stream, described(functions, 1)))
        assert run_operator(stream, 2 ** 33 + 64) == 207001
        assert seen == [2 ** 33 + 64]
    """)
    )


@pytest.mark.simulator("kernels")
def test_an_allocator_that_raises_fails_the_operator_and_reports_the_exception(run: Run) -> None:
    output = run(
        ALLOCATOR
        + textwrap.dedent("""
        class Broken(Functions):
            def allocate(self, number, size):
                raise ValueError("there is none")
        ok(rt.allocator_register(stream, described(Broken("a"), 1)))
        assert run_operator(stream, 64) == 207001
    """)
    )
    assert "ValueError: there is none" in output


@pytest.mark.simulator("kernels")
def test_the_functions_of_an_allocator_are_given_back(run: Run) -> None:
    run(
        ALLOCATOR
        + textwrap.dedent("""
        functions = Functions("a")
        alive = weakref.ref(functions)
        desc = described(functions, 1)
        ok(rt.allocator_register(stream, desc))
        del functions
        ok(rt.allocator_destroy_desc(desc))
        assert alive() is not None
        ok(rt.allocator_unregister(stream))
        gc.collect()
        assert alive() is None
    """)
    )


# --- threads ---------------------------------------------------------------------------------------------------------


def test_start_thread_passes_the_list_or_nothing(run: Run) -> None:
    run("""
        seen = []
        given = [1, 2]
        for argument in (given, None):
            thread, error = acl.util.start_thread(lambda *arguments: seen.append(arguments), argument)
            assert (error, acl.util.stop_thread(thread)) == (0, 0)
        assert seen[0][0] is given and seen == [(given,), ()]
    """)


def test_the_exception_of_a_thread_is_shown_and_raised_by_stop_thread(run: Run) -> None:
    output = run("""
        def fail():
            raise ValueError("in the thread")
        thread, _ = acl.util.start_thread(fail, None)
        try:
            acl.util.stop_thread(thread)
        except RuntimeError as error:
            assert isinstance(error.__cause__, ValueError)
            assert str(error) == "exception=ValueError,msg=thread call failed;"
        else:
            raise AssertionError("nothing was raised")
        assert acl.util.stop_thread(thread) != 0
    """)
    assert "ValueError: in the thread" in output


def test_a_thread_cannot_stop_itself(run: Run) -> None:
    run("""
        codes = []
        thread, _ = acl.util.start_thread(lambda: codes.append(acl.util.stop_thread(threading.get_ident())), None)
        assert acl.util.stop_thread(thread) == 0
        assert codes and codes[0] != 0
    """)


# --- the end, and other processes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "left",
    [
        "acl.util.start_thread(lambda: rt.process_report(-1), None)",
        "ok(rt.subscribe_report(me, stream)); ok(rt.launch_callback(print, ['must not run'], 1, stream))",
        "threading.Thread(target=rt.process_report, args=(20,)).start()",
        "ok(rt.set_exception_info_callback(print)); fail_next(); submit()",
    ],
)
@pytest.mark.simulator("unspecified", "what is left behind may need a real device to be reset")
def test_a_program_that_leaves_something_behind_ends(run: Run, left: str) -> None:
    assert "must not run" not in run(left)


def test_a_callback_that_does_not_return_delays_the_end_and_no_more(run: Run) -> None:
    run("""
        from ascend_rt._runtime import lifecycle
        lifecycle._WORK_MS = 100
        never, is_inside = threading.Event(), threading.Event()
        context = ok(*rt.get_context())
        def block(argument):
            is_inside.set()
            never.wait()
        def report():
            rt.set_context(context)
            ok(rt.subscribe_report(threading.get_ident(), stream))
            ok(rt.launch_callback(block, [], 1, stream))
            rt.process_report(-1)
        acl.util.start_thread(report, None)
        assert is_inside.wait(60)
    """)


def test_a_forked_child_is_refused(run: Run) -> None:
    run("""
        import os
        from ascend_rt.errors import ForkedProcess
        child = os.fork()
        if child == 0:
            code = 1
            try:
                rt.get_device_count()
            except ForkedProcess:
                try:
                    rt.notify_batch_reset([])
                except ForkedProcess:
                    code = 0
            os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
    """)
