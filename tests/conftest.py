# SPDX-License-Identifier: Apache-2.0
"""Fixtures for every test: the library under test, and the declarations."""

from __future__ import annotations

import fcntl
import gc
import importlib.util
import json
import os
import signal
import sys
import textwrap
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from support.programs_in_forks import Programs

if importlib.util.find_spec("ascend_rt_measure") is None:
    raise pytest.UsageError("the tests need what plays recorded calls: pip install ./measure")

pytest.register_assert_rewrite("support")

HERE = Path(__file__).resolve().parent  # not where Python would find the source tree instead of the installed package
ROOT = HERE.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = "the library under test: the simulator (default) or the vendor's"
    parser.addoption("--backend", choices=("sim", "cann"), default="sim", help=help_text)
    double = "run on a library that dies where the vendor's may (docs/testing.md)"
    parser.addoption("--double", action="store_true", help=double)
    parser.addoption("--double-release", metavar="RELEASE", help="leave out what came later than this release of CANN")
    in_process = "run all tests in this process, also those of which the vendor's library may die"
    parser.addoption("--in-process", action="store_true", help=in_process)
    parser.addoption("--full", action="store_true", help="also run what is marked full, as CI does")
    parser.addoption("--long", action="store_true", help="also run what is marked long, as .ci/long does")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Start three workers for two processors: a quarter of the time, tests wait for limits to pass."""
    from support import processors

    return processors.workers(for_each_two=3)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    option = config.option
    if option.double or option.double_release:
        from support import doubles

        library = doubles.build(option.double_release or doubles.NEWEST)
        os.environ["ASCEND_HOME_PATH"] = str(library.parents[1])
        os.environ.pop("ASCEND_RT_LIBRARY", None)
        option.backend, option.double, option.double_release = "cann", False, None  # to the processes of pytest-xdist
    if option.backend == "cann":
        from support import vendor

        vendor.distribute(config)


def pytest_configure(config: pytest.Config) -> None:
    if config.option.backend == "cann":
        from support import vendor

        config.pluginmanager.register(vendor.Session(config), "vendor")
    # In the environment too: programs that tests start have the same library under test.
    os.environ["ASCEND_RT_BACKEND"] = config.getoption("--backend")
    # Tests that run at the same time count streams and free memory.
    os.environ.setdefault("ASCEND_RT_SIM_CARDS", "separate")
    # Nor does numpy start threads for linear algebra in each of them: half of what its import costs.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    # A shell lets jobs in the background ignore Ctrl-C, and the programs that tests start would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    kind = "simulator(kind, reason): of what only the simulator has; the kinds are in tests/support/kinds.py"
    config.addinivalue_line("markers", kind)
    config.addinivalue_line("markers", "full: takes long, or one more combination; run with --full")
    config.addinivalue_line("markers", "long: an attack that takes minutes; run with --long")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    from support import kinds

    off = [mark for mark in ("full", "long") if not config.getoption(f"--{mark}")]
    unwanted = {kinds.INDEPENDENT} if config.option.backend == "cann" else set()
    left_out = [
        item
        for item in items
        if any(map(item.get_closest_marker, off)) or unwanted.intersection(kind for kind, _ in kinds.marks_of(item))
    ]
    if left_out:
        items[:] = [item for item in items if item not in set(left_out)]
        config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let one worker compile a module while the others wait: they load what it has written."""
    with ExitStack() as locked:
        if isinstance(collector, pytest.Module):
            file = locked.enter_context(collector.path.open())
            with suppress(OSError):  # some file systems lock only what is open for writing
                fcntl.flock(file, fcntl.LOCK_EX)
        return (yield)


@pytest.fixture(scope="module", autouse=True)
def short_collections() -> None:
    """Let no garbage collection of a test look through what was collected, and what earlier tests have left."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def backend(pytestconfig: pytest.Config) -> str:
    """Return the name of the library under test."""
    return str(pytestconfig.getoption("--backend"))


_OF_CANN = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_RT_LIBRARY", "LD_LIBRARY_PATH")


@pytest.fixture
def installation(backend: str) -> dict[str, str]:
    """Return the variables that lead to the vendor's library, if that is under test, and those of the double."""
    kept = {name: it for name, it in os.environ.items() if name in _OF_CANN or name.startswith("ASCEND_RT_DOUBLE_")}
    return kept if backend == "cann" else {}


@pytest.fixture
def under_test(backend: str, installation: dict[str, str]) -> dict[str, str]:
    """Return the variables that choose the library under test, for programs with a separate environment."""
    return {"ASCEND_RT_BACKEND": backend} | installation


@pytest.fixture(scope="session")
def ffi() -> Any:
    """Return the ``ffi`` object of the raw layer."""
    from ascend_rt._runtime import driver

    return driver.ffi


@pytest.fixture(scope="session")
def lib() -> Any:
    """Return the C functions of the library under test."""
    from ascend_rt._runtime import driver

    return driver.lib


@pytest.fixture
def override(lib: Any) -> Iterator[Callable[[str, Callable[..., Any]], Callable[..., Any]]]:
    """Return a function that replaces a C function until the test ends, and returns the former one."""
    with ExitStack() as overridden:
        yield lambda name, function: overridden.enter_context(lib.override(name, function))


@pytest.fixture(scope="session")
def declarations() -> ModuleType:
    """Return the module that reads the ABI headers; it is part of the build, not of the package."""
    path = ROOT / "codegen" / "declarations.py"
    spec = importlib.util.spec_from_file_location("abi_declarations", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def declared(declarations: ModuleType) -> Any:
    """Return everything that the ABI headers declare."""
    return declarations.load()


@pytest.fixture
def device() -> Any:
    """Return the first device, current in the test's thread."""
    from ascend_rt import Device

    device = Device(0)
    device.set_current()
    return device


@pytest.fixture
def stream(device: Any) -> Iterator[Any]:
    """Return a stream that is destroyed after the test."""
    from ascend_rt import Stream

    with Stream() as stream:
        yield stream


@pytest.fixture
def other(device: Any) -> Iterator[Any]:
    """Return a second stream."""
    from ascend_rt import Stream

    with Stream() as stream:
        yield stream


@pytest.fixture(scope="session")
def double() -> Path:
    """Return a look-alike of the vendor's library that misbehaves on demand; the variables are in docs/testing.md."""
    from support import doubles

    return doubles.build()


# --- other processes, for what is process-wide or depends on the environment ------------------------------------------

started: set[int] = set()  # their ids, in the present test

_START = """
import json, os, sys, threading
from support.raw import ffi, lib

def reported(value):
    sys.stdout.write(json.dumps(value))

def text():
    found = lib.aclGetRecentErrMsg()
    return None if found == ffi.NULL else ffi.string(found).decode()

"""


@pytest.fixture(scope="session")
def programs() -> Iterator[Any]:
    """Return a process that runs many short programs of the facade, each in a fork of it."""
    from support.programs_in_forks import Programs, facade

    others = ("numpy", "argparse", "dataclasses", "hashlib", "pkgutil", "traceback")
    programs = Programs(*others, *facade(), "ascend_rt._runtime.selection", "ascend_rt._generated.functions")
    yield programs
    programs.close()


@pytest.fixture(scope="session")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Return a function that runs a script with more environment variables and returns what it prints as JSON.

    It runs in a fork of a process that has imported the C functions. With ``lines`` each line that it prints is a JSON
    document. With ``may_die`` its death is not a failure.
    """
    from support import vendor
    from support.programs_in_forks import Programs

    of_the_package = [f"ascend_rt.{name}" for name in ("_runtime.selection", "_generated.functions")]
    programs = Programs("support.raw", "ascend_rt_measure.verify.player", *of_the_package, directory=HERE)
    script = tmp_path_factory.mktemp("programs") / "program.py"

    def run(
        text: str,
        arguments: tuple[object, ...],
        environment: dict[str, object],
        *,
        standard_input: str = "",
        lines: bool = False,
        may_die: bool = False,
    ) -> Any:
        if may_die:
            environment = {**environment, **vendor.UNNOTICED}
        script.write_text(text, encoding="utf-8")
        variables = {name: str(value) for name, value in environment.items()}
        ended = programs.run(script, *map(str, arguments), variables=variables, standard_input=standard_input)
        started.add(ended.pid)
        if may_die:
            vendor.require_alive(ended.returncode, ended.stderr)
        assert ended.returncode == 0, ended.stderr
        return [json.loads(line) for line in ended.stdout.splitlines()] if lines else json.loads(ended.stdout)

    yield run
    programs.close()


@pytest.fixture(scope="session")
def child(answer: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that runs a script, which has ``lib`` and ``ffi``, and returns what it has ``reported()``."""

    def make(script: str, *arguments: object, **environment: object) -> Any:
        return answer(_START + textwrap.dedent(script), arguments, environment)

    return make


# A second process that executes lines of code, and answers each line.
OTHER = """
import os, sys
import ascend_rt as rt
from ascend_rt import Buffer, Device, Stream, ffi, lib
if len(sys.argv) > 1:
    lib.aclInit  # loads the library, whose file this user may not be able to read
    os.umask(0o077)
    os.setgroups([])
    os.setgid(int(sys.argv[1]))
    os.setuid(int(sys.argv[1]))
Device(0).set_current()
stream = Stream()
raw = ffi.cast("aclrtStream", stream.handle)
objects = {}

def code_of(function, *arguments):
    try:
        function(*arguments)
    except rt.errors.AclError as error:
        return error.code
    return 0

for line in sys.stdin:
    print(eval(line), flush=True)
"""


class Process:
    """The second process, of another user if that is asked for, which only root can do."""

    def __init__(self, programs: Programs, directory: Path, environment: dict[str, str], user: int | None) -> None:
        self._programs, self._is_over = programs, False
        files = [directory / name for name in ("input", "output", "errors")]
        for file in files[:2]:
            os.mkfifo(file)
        arguments = ["-c", OTHER, *([] if user is None else [str(user)])]
        self._started = programs.start(
            *arguments, files=files, environment={**os.environ, **environment}, directory=HERE
        )
        self.pid = self._started.pid
        started.add(self.pid)
        self._input, self._output = files[0].open("w"), files[1].open()

    def __call__(self, expression: str) -> str:
        print(expression, file=self._input, flush=True)
        return self._output.readline().strip()

    def end(self) -> None:
        """Let the process come to its end, if it has not been killed."""
        self._input.close()
        if not self._is_over:
            assert self._programs.wait(self._started) in (0, -signal.SIGKILL)
            self._is_over = True
        self._output.close()

    def kill(self) -> None:
        """End the process without letting it clean up."""
        os.kill(self.pid, signal.SIGKILL)
        self._programs.wait(self._started)
        self._is_over = True


@pytest.fixture
def new_process(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Process]]:
    """Return a function that starts another process, with more environment variables, which sets device 0."""
    processes: list[Process] = []

    def start(user: int | None = None, **environment: str) -> Process:
        processes.append(Process(programs, tmp_path_factory.mktemp("process"), environment, user))
        return processes[-1]

    yield start
    for process in processes:
        process.end()


@pytest.fixture
def process(new_process: Callable[..., Process]) -> Process:
    """Return a second process that has set device 0."""
    return new_process()


def shared_memory() -> set[Path]:
    """Return the shared memory that this process and those that its tests have started made, by their numbers."""
    made_by = {str(pid) for pid in (os.getpid(), *started)}
    return {path for path in Path("/dev/shm").glob("ascend_rt-*.*") if path.stem.split("-")[1] in made_by}


@pytest.fixture
def no_device_memory_is_left(device: Any) -> Iterator[None]:
    """Compare the free memory of the device before and after the test."""
    gc.collect()
    free = device.memory_info.free
    yield
    gc.collect()
    assert device.memory_info.free == free


@pytest.fixture
def no_shared_memory_is_left() -> Iterator[None]:
    """Compare the shared memory before and after the test; tests that run beside it do not matter."""
    started.clear()
    before = shared_memory()
    yield
    assert shared_memory() <= before
