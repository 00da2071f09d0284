# SPDX-License-Identifier: Apache-2.0
"""``import acl``: which module it gives, under ``ascend-rt run`` and after `install_acl`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.simulator("independent")

WHICH = """
import sys
import acl
print("vendor" if hasattr(acl, "VENDOR") else acl is sys.modules["ascend_rt.pyacl"] and "ours")
"""


@pytest.fixture
def launch(run):
    """Return a function that runs a program by ``ascend-rt run``."""

    def launch(*arguments: str | Path, own: tuple[str, ...] = (), **variables: str | Path):
        return run("-m", "ascend_rt", "run", "--backend", "sim", *own, *map(str, arguments), **variables)

    return launch


@pytest.fixture
def which(tmp_path: Path) -> Path:
    """Return a script that prints which ``acl`` it got."""
    script = tmp_path / "scripts" / "which.py"
    script.parent.mkdir()
    script.write_text(WHICH, encoding="utf-8")
    return script


@pytest.fixture
def vendor(tmp_path: Path) -> Path:
    """Return a directory with an ``acl`` that replaces the vendor's."""
    directory = tmp_path / "vendor"
    directory.mkdir()
    (directory / "acl.py").write_text("VENDOR = True\n", encoding="utf-8")
    return directory


def output(result) -> str:
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.strip()


# --- which module ----------------------------------------------------------------------------------------------------


def test_an_untouched_script_gets_ours_where_there_is_no_other(launch, which: Path) -> None:
    assert output(launch(which)) == "ours"
    assert output(launch(which, own=("--pyacl", "ours"))) == "ours"
    assert output(launch(which, own=("--pyacl=auto",))) == "ours"
    assert output(launch(which, ASCEND_RT_PYACL="ours")) == "ours"


def test_the_vendors_is_used_where_it_is_installed(launch, which: Path, vendor: Path) -> None:
    assert output(launch(which, PYTHONPATH=vendor)) == "vendor"
    assert output(launch(which, PYTHONPATH=vendor, own=("--pyacl", "vendor"))) == "vendor"
    assert output(launch(which, PYTHONPATH=vendor, own=("--pyacl", "ours"))) == "ours"
    assert output(launch(which, PYTHONPATH=vendor, ASCEND_RT_PYACL="ours", own=("--pyacl", "auto"))) == "vendor"


def test_a_module_beside_the_script_is_found_as_python_finds_it(launch, which: Path, vendor: Path) -> None:
    (vendor / "acl.py").rename(which.parent / "acl.py")
    assert output(launch(which)) == "vendor"
    assert output(launch(which, own=("--pyacl", "ours"))) == "ours"


def test_a_directory_of_headers_is_not_taken_for_the_vendors(launch, which: Path) -> None:
    (which.parent / "acl").mkdir()
    (which.parent / "acl" / "acl.h").touch()
    assert output(launch(which)) == "ours"


def test_that_of_the_simulated_toolkit_is_ours(run, launch, which: Path) -> None:
    home = run("-m", "ascend_rt", "toolkit-path").stdout.strip()
    packages = f"{home}/python/site-packages"
    assert output(launch(which, PYTHONPATH=packages)) == "ours"
    assert output(run(str(which), PYTHONPATH=packages)) == "ours"
    found = json.loads(run("-m", "ascend_rt", "info", "--json", PYTHONPATH=packages).stdout)["acl"]
    assert (found["which"], found["path"]) == ("ours", None)
    assert launch(which, PYTHONPATH=packages, own=("--pyacl", "vendor")).returncode == 1


def test_a_vendors_module_that_is_broken_is_not_replaced(launch, which: Path, vendor: Path) -> None:
    (vendor / "acl.py").write_text("raise ImportError('libascendcl.so: cannot open shared object file')\n")
    result = launch(which, PYTHONPATH=vendor)
    assert result.returncode == 1
    assert result.stderr.strip().splitlines()[-1].startswith("ImportError: libascendcl.so")


def test_the_vendors_is_asked_for_and_missing(launch, which: Path) -> None:
    result = launch(which, own=("--pyacl", "vendor"))
    assert result.returncode == 1
    assert result.stderr.strip().splitlines()[-1] == "ModuleNotFoundError: No module named 'acl'"


def test_an_unknown_choice(launch, which: Path) -> None:
    result = launch(which, own=("--pyacl", "mine"))
    assert result.returncode == 2
    assert "mine" in result.stderr
    result = launch(which, ASCEND_RT_PYACL="mine")
    assert (result.returncode, result.stdout) == (1, "")
    assert "auto, ours, vendor" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_program_may_name_the_module_itself(run) -> None:
    script = """
import sys, ascend_rt.pyacl as mine
try:
    import acl.rt
except ModuleNotFoundError as error:
    assert error.name == "acl"
sys.modules["acl"] = mine
import acl.rt
assert acl is mine and acl.rt is mine.rt
import acl.util as util
assert util is mine.util
for name in ("nothing", "init"):
    try:
        __import__(f"acl.{name}")
    except ModuleNotFoundError as error:
        assert error.name == f"acl.{name}"
    else:
        raise AssertionError(name)
"""
    assert output(run("-c", script)) == ""


def test_every_form_of_the_import(launch, tmp_path: Path) -> None:
    script = tmp_path / "forms.py"
    for form in (
        "import acl.rt; rt = acl.rt",
        "from acl import rt",
        "import acl.rt as rt",
        "from acl.rt import malloc; import sys; rt = sys.modules['acl.rt']; assert rt.malloc is malloc",
        "import importlib; rt = importlib.import_module('acl.rt')",
        "import ascend_rt.pyacl as mine; import acl; assert acl is mine; rt = acl.rt",
    ):
        script.write_text(f"{form}\nimport acl\nassert rt is acl.rt\nprint(rt.__name__, acl.util.__name__)\n")
        assert output(launch(script)) == "acl.rt acl.util", form


def test_threads_import_it_at_the_same_time(launch, tmp_path: Path) -> None:
    script = tmp_path / "threads.py"
    script.write_text("""
import sys, threading
forms = ["import acl; acl.rt.malloc", "import acl.rt; acl.rt.malloc", "from acl import rt", "from acl.rt import malloc",
         "import acl.mdl as mdl; mdl.execute", "from ascend_rt.pyacl import rt", "import ascend_rt.pyacl, acl; acl.rt"]
start, failed = threading.Barrier(3 * len(forms)), []

def run(form):
    start.wait()
    try:
        exec(form, {})
    except BaseException as error:
        failed.append((form, error))

threads = [threading.Thread(target=run, args=(form,)) for form in 3 * forms]
for thread in threads: thread.start()
for thread in threads: thread.join()
import acl, ascend_rt.pyacl
assert acl is ascend_rt.pyacl
assert acl.__spec__.name == "ascend_rt.pyacl", acl.__spec__
sys.exit(repr(failed) if failed else 0)
""")
    output(launch(script))


def test_there_is_no_other_submodule(launch) -> None:
    result = launch("-c", "import acl.nothing")
    assert result.stderr.strip().splitlines()[-1].startswith("ModuleNotFoundError: No module named 'acl.nothing'")


# --- a script is what it is after ``python`` -------------------------------------------------------------------------

SHOWS = """
import os, sys
print(sys.argv, __name__, __file__, sys.path, __spec__ and __spec__.name, __builtins__)
print(sys.flags, sys.orig_argv[1:], sys.stdin.read())
"""


@pytest.fixture
def like_python(run, tmp_path: Path):
    """Return a function that runs a program after ``python`` and by ``ascend-rt run`` and compares all there is."""

    def compare(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        # A UTF-8 locale: in another one each Python passes a changed LC_CTYPE to those that it starts.
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **variables}
        launched = [sys.executable, "-m", "ascend_rt", "run", "--backend", "sim", *arguments]
        results = [
            subprocess.run(c, env=environment, cwd=tmp_path, capture_output=True, text=True, input="1\n", check=False)
            for c in (command, launched)
        ]
        assert results[0].returncode == results[1].returncode
        assert results[0].stdout == results[1].stdout
        assert results[0].stderr == results[1].stderr
        return results[1]

    return compare


@pytest.mark.parametrize("directory", [".", "below"])
def test_arguments_path_and_name_of_a_script(like_python, tmp_path: Path, directory: str) -> None:
    script = tmp_path / directory / "script.py"
    script.parent.mkdir(exist_ok=True)
    script.write_text(SHOWS)
    assert "__main__" in like_python(f"{directory}/script.py", "a", "--pyacl", "vendor", "-m").stdout
    like_python(str(script), PYTHONPATH=f"/somewhere:{tmp_path}")
    like_python(str(script), PYTHONPATH=f":{tmp_path}:")
    like_python("-X", "dev", "-W", "error", str(script))
    if sys.version_info >= (3, 11):
        like_python("-P", str(script))


def test_a_module_code_and_standard_input(like_python, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").write_text(SHOWS)
    assert "__main__" in like_python("-m", "package", "x").stdout
    like_python("-c", "import sys; print(sys.argv, sys.path)", "x")
    like_python("-", "x")
    like_python("package")


@pytest.mark.parametrize(
    "end",
    [
        "sys.exit(3)",
        "sys.exit('said at the end')",
        "sys.exit()",
        "raise SystemExit([1, 2])",
        "raise KeyError('missing')",
        "def deep():\n    {}['no']\ntry:\n    deep()\nexcept KeyError as e:\n    raise OSError from e",
        "import no_such_module",
        "def broken(:",
        "os._exit(7)",
        "os.kill(os.getpid(), 9)",
        "raise KeyboardInterrupt",
        "import threading; threading.Thread(target=lambda: 1 / 0).start()",
        "import atexit; atexit.register(print, 'at exit')",
    ],
)
def test_the_end_of_a_script(like_python, tmp_path: Path, end: str) -> None:
    (tmp_path / "script.py").write_text(f"import os, sys\nprint('begins', flush=True)\n{end}\n")
    result = like_python("script.py")
    assert "_startup" not in result.stderr
    assert "ascend_rt" not in result.stderr


def test_a_script_that_is_killed_by_a_signal(like_python, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n")
    assert like_python("script.py").returncode == -signal.SIGTERM


def test_an_error_of_ours_is_traced_to_the_script_alone(launch, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import acl\nacl.mdl.load_from_file('m.om')\n")
    result = launch(script)
    assert result.returncode == 1
    assert "acl_finder" not in result.stderr
    assert f'File "{script}", line 2' in result.stderr


# --- what surrounds a script -----------------------------------------------------------------------------------------


def test_another_sitecustomize_is_executed_too(launch, interpreter, which: Path, tmp_path: Path) -> None:
    for name, text in (("first", "print('first')"), ("second", "print('second')")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sitecustomize.py").write_text(text)
    command = ("-m", "ascend_rt", "run", "--backend", "sim", str(which))
    result = interpreter(*command, PYTHONPATH=f"{tmp_path / 'first'}:{tmp_path / 'second'}")
    # Twice: Python starts for the command, and again for the script.
    assert output(result).splitlines() == ["first", "first", "ours"]
    code = "import sitecustomize; print(sitecustomize.__file__)"
    assert str(tmp_path / "second") in output(launch("-c", code, PYTHONPATH=tmp_path / "second"))


def test_an_error_in_another_sitecustomize_is_reported(launch, which: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import no_such_module")
    result = launch(which, PYTHONPATH=tmp_path)
    assert result.returncode == 0
    assert result.stdout.strip() == "ours"
    assert "no_such_module" in result.stderr


def test_processes_that_the_script_starts_have_it_too(launch, tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        "import multiprocessing, subprocess, sys\n"
        "def name(_):\n    import acl\n    return acl.rt.__name__\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(2) as pool:\n"
        "        print(pool.map(name, [1, 2]), flush=True)\n"
        "    subprocess.run([sys.executable, '-c', 'import acl; print(acl.rt.__name__)'], check=True)\n"
    )
    assert output(launch(script)).splitlines() == ["['acl.rt', 'acl.rt']", "acl.rt"]


def test_a_python_without_the_package_is_left_alone(launch) -> None:
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    if (
        not base.exists()
        or subprocess.run([base, "-c", "import ascend_rt"], capture_output=True, check=False).returncode == 0
    ):
        pytest.skip("needs a second Python, without the package")
    code = f"import subprocess; subprocess.run([{str(base)!r}, '-c', 'print(1); import acl'])"
    result = launch("-c", code)
    assert result.stdout == "1\n"
    assert result.stderr.strip().splitlines()[-1] == "ModuleNotFoundError: No module named 'acl'"


def test_python_starts_without_the_package(launch, backend) -> None:
    loaded = output(launch("-c", "import sys; print(*(m for m in sys.modules if m.startswith('ascend_rt')))"))
    finders = ["ascend_rt._startup.acl_finder", *(["ascend_rt._startup.framework_finder"] if backend == "sim" else [])]
    assert loaded.split() == finders


def test_a_launch_below_a_launch(launch, which: Path) -> None:
    code = (
        "import subprocess, sys\n"
        f"subprocess.run([sys.executable, '-m', 'ascend_rt', 'run', '--pyacl', sys.argv[1], {str(which)!r}])"
    )
    assert output(launch("-c", code, "auto")) == "ours"
    assert "ModuleNotFoundError" in launch("-c", code, "vendor").stderr


# --- install_acl -----------------------------------------------------------------------------------------------------


def test_install_in_a_program_of_ones_own(run, vendor: Path) -> None:
    program = f"import ascend_rt\nascend_rt.install_acl({{0}})\nascend_rt.install_acl({{0}})\n{WHICH}"
    for argument, path, expected in (
        ("", "", "ours"),
        ("'auto'", "", "ours"),
        ("'ours'", "", "ours"),
        ("", vendor, "vendor"),
        ("'ours'", vendor, "ours"),
    ):
        assert output(run("-c", program.format(argument), PYTHONPATH=path)) == expected


def test_nothing_is_installed_without_being_asked_for(run) -> None:
    result = run("-c", "import ascend_rt.pyacl; import acl")
    assert "ModuleNotFoundError: No module named 'acl'" in result.stderr


def test_install_refuses_what_it_cannot_do(run, vendor: Path) -> None:
    result = run(
        "-c", "import acl, ascend_rt; ascend_rt.install_acl(); ascend_rt.install_acl('ours')", PYTHONPATH=vendor
    )
    said = f"ascend_rt.errors.WrongState: {vendor / 'acl.py'} is imported as acl already"
    assert result.stderr.strip().splitlines()[-1] == said
    result = run("-c", "import ascend_rt; ascend_rt.install_acl('mine')")
    assert result.stderr.strip().splitlines()[-1].startswith("ValueError: ")


def test_installing_twice_leaves_one_finder(run) -> None:
    program = (
        "import ascend_rt, sys; ascend_rt.install_acl('ours'); import acl; ascend_rt.install_acl('ours'); "
        "print([type(each).__module__ for each in sys.meta_path].count('ascend_rt._startup.acl_finder'))"
    )
    assert output(run("-c", program)) == "1"


# --- info ------------------------------------------------------------------------------------------------------------


def test_info_reports_which_and_why(run, vendor: Path) -> None:
    def reported(**variables: str | Path) -> dict[str, str]:
        return json.loads(output(run("-m", "ascend_rt", "info", "--backend", "sim", "--json", **variables)))["acl"]

    def line(**variables: str | Path) -> str:
        text = output(run("-m", "ascend_rt", "info", "--backend", "sim", **variables))
        return next(line for line in text.splitlines() if line.startswith("acl "))

    path = str(vendor / "acl.py")
    none = "there is no other module of that name"
    assert reported() == {"which": "ours", "path": None, "reason": none}
    assert reported(PYTHONPATH=vendor) == {"which": "vendor", "path": path, "reason": "it is installed"}
    assert reported(PYTHONPATH=vendor, ASCEND_RT_PYACL="ours")["which"] == "ours"
    assert reported(ASCEND_RT_PYACL="vendor") == {
        "which": "vendor",
        "path": None,
        "reason": "asked for, but there is none",
    }
    assert line() == f"acl          ascend_rt.pyacl, under 'ascend-rt run': {none}"
    assert line(PYTHONPATH=vendor) == f"acl          the vendor's, {path}: it is installed"
    assert line(ASCEND_RT_PYACL="vendor") == "acl          none: asked for, but there is none"
