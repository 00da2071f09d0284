# SPDX-License-Identifier: Apache-2.0
"""aclInit with its configuration, aclFinalize, their references and their callbacks, each in a separate process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.codes import FAILURE, INVALID_DEVICE, INVALID_FILE, INVALID_PARAM, PARSE_FILE

REPEAT_INIT, REPEAT_FINALIZE = 100002, 100037
DUMP, PROFILING, OP_QUEUE, INTERNAL = 100009, 100010, 148048, 500000
MODEL, OP_EXECUTOR, OP_COMPILER, DVPP, OTHER = 0, 1, 3, 6, 0xFFFF


def nested(opening: str, closing: str, depth: int) -> str:
    return opening * depth + closing * depth


def objects(depth: int) -> str:
    return '{"a":' * (depth - 1) + "{}" + "}" * (depth - 1)


# Configurations that are refused. They leave no trace, so that one process can try them all.
REFUSED = [
    (" \n", PARSE_FILE),
    ("{", PARSE_FILE),
    ("{ not json", PARSE_FILE),
    ('{"a":1,}', PARSE_FILE),
    ('{"a":1} {}', PARSE_FILE),
    ('{"a" 1}', PARSE_FILE),
    ("{a:1}", PARSE_FILE),
    ("[1 2]", PARSE_FILE),
    ('{"a":01}', PARSE_FILE),
    ('{"a":1.}', PARSE_FILE),
    ('{"a":+1}', PARSE_FILE),
    ('{"a":nul}', PARSE_FILE),
    ('{"a":"\\x"}', PARSE_FILE),
    ('{"a":"\\u12g4"}', PARSE_FILE),
    ('{"a":"\\ud800"}', PARSE_FILE),
    ('{"a":"', PARSE_FILE),
    ('{"a":"\n"}', PARSE_FILE),
    (objects(11), PARSE_FILE),
    (nested("[", "]", 11), PARSE_FILE),
    ('{"err_msg_mode":"2"}', INVALID_PARAM),
    ('{"err_msg_mode":1}', INVALID_PARAM),
    ('{"defaultDevice":{"default_device":0}}', FAILURE),
    ('{"defaultDevice":{"default_device":""}}', FAILURE),
    ('{"defaultDevice":{"default_device":"01"}}', FAILURE),
    ('{"defaultDevice":{"default_device":"-1"}}', FAILURE),
    ('{"defaultDevice":{"default_device":"99"}}', INVALID_DEVICE),
    ('{"defaultDevice":{"default_device":"4294967200"}}', INVALID_DEVICE),
    ('{"StackSize":{"aicore_stack_size":"65536"}}', FAILURE),
    ('{"StackSize":{"simt_stack_size":null}}', FAILURE),
    ('{"simd_printf_fifo_size_per_core":"2048"}', FAILURE),
    ('{"simd_printf_fifo_size_per_core":0}', FAILURE),
    ('{"simd_printf_fifo_size_per_core":1016}', FAILURE),
    ('{"simd_printf_fifo_size_per_core":2047}', FAILURE),
    ('{"simd_printf_fifo_size_per_core":67108872}', FAILURE),
    ('{"simt_printf_fifo_size":1048575}', FAILURE),
    ('{"simt_printf_fifo_size":67108865}', FAILURE),
    ('{"acl_graph":{"event_mode":"2"}}', INVALID_PARAM),
    ('{"acl_graph":{"event_mode":1}}', INVALID_PARAM),
    ('{"max_opqueue_num":"many"}', OP_QUEUE),
    ('{"max_opqueue_num":0}', OP_QUEUE),
    ('{"dump":1}', DUMP),
    ('{"profiler":[]}', PROFILING),
]

# Configurations that are accepted; only one in a process, because the first is remembered.
ACCEPTED = [
    "",
    "{}",
    "[]",
    " 17 ",
    '{"defaultDevice":{"default_device":"4294967297"}}',
    objects(10),
    '{"a":' + nested("[", "]", 10) + "}",
    '{"unknown":["\\u00e9\\ud83d\\ude00\\n", -1.5e+3, true, false, null]}',
    '{"err_msg_mode":"2","err_msg_mode":"0"}',
    '{"defaultDevice":{},"StackSize":{},"acl_graph":{},"dump":{},"profiler":{}}',
    '{"StackSize":{"aicore_stack_size":99999999,"simt_stack_size":1},"simt_printf_fifo_size":1048576}',
    '{"simd_printf_fifo_size_per_core":67108864,"acl_graph":{"event_mode":"1"},"max_opqueue_num":"10000"}',
]


@pytest.fixture
def config(tmp_path: Path) -> Any:
    """Return a function that writes a configuration and returns its path."""

    def write(text: str, name: str = "acl.json") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_refused_configurations_leave_no_trace(child: Any, tmp_path: Path, config: Any) -> None:
    for index, (text, _) in enumerate(REFUSED):
        config(text, f"{index}.json")
    script = """
        directory, count = sys.argv[1], int(sys.argv[2])
        codes, texts = [], []
        for index in range(count):
            codes.append(lib.aclInit(f"{directory}/{index}.json".encode()))
            texts.append(text())
        left = ffi.new("uint64_t *", 9)
        none = lib.aclFinalizeReference(left)
        reported([codes, texts, none, left[0], lib.aclrtGetDevice(ffi.new("int32_t *")), lib.aclInit(ffi.NULL)])
    """
    codes, texts, none, left, no_device, clean = child(script, tmp_path, len(REFUSED))
    assert list(zip([text for text, _ in REFUSED], codes, strict=True)) == REFUSED
    assert all(text.startswith("aclInit: ") for text in texts)
    assert (none, left) == (REPEAT_FINALIZE, 0)
    assert no_device == 107002
    assert clean == 0


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted_configurations(text: str, child: Any, config: Any) -> None:
    script = "reported([lib.aclInit(sys.argv[1].encode()), text(), lib.aclFinalize()])"
    assert child(script, config(text)) == [0, None, 0]


NESTED = """
    left = ffi.new("uint64_t *")
    calls = []

    def nest(where, depth, *functions):
        calls.append(where)
        if calls.count(where) <= depth:  # limits the recursion
            calls.append([function() for function in functions])
        return 0

    init = lambda: lib.aclInit(ffi.NULL)
    drop = lambda: lib.aclFinalizeReference(left)
    def register(on_init, on_end):
        keep = ffi.callback("aclInitCallbackFunc", on_init), ffi.callback("aclFinalizeCallbackFunc", on_end)
        assert lib.aclInitCallbackRegister(lib.ACL_REG_TYPE_OTHER, keep[0], ffi.NULL) == 0
        assert lib.aclFinalizeCallbackRegister(lib.ACL_REG_TYPE_OTHER, keep[1], ffi.NULL) == 0
        return keep
"""


def test_callbacks_may_initialise_and_finalise(child: Any) -> None:
    script = (
        NESTED
        + """
    keep = register(lambda *_: nest("init", 1, init, lib.aclFinalize, drop),
                    lambda *_: nest("end", 2, init, lib.aclFinalize, drop))
    reported([lib.aclInit(ffi.NULL), lib.aclInit(ffi.NULL), calls[:], drop(), drop(), left[0], init()])
    """
    )
    first, second, inside, *ends = child(script)
    assert (first, second) == (0, REPEAT_INIT)
    # The inner aclInit runs the callback again; the inner aclFinalize finds that state finalised from within, too.
    repeated = [REPEAT_INIT, 0, REPEAT_FINALIZE]
    assert inside == ["init", "init", "end", "end", "end", repeated, repeated, [0, 0, REPEAT_FINALIZE]]
    assert ends == [0, 0, 0, 0]


@pytest.mark.simulator("deadly", "the official library overflows its stack")
def test_callbacks_that_initialise_without_end(child: Any) -> None:
    script = (
        NESTED
        + """
    keep = register(lambda *_: nest("init", 1000, init, lib.aclFinalize, init),
                    lambda *_: nest("end", 1000, init, drop))
    outcome = [lib.aclInit(ffi.NULL), calls.count("init"), calls.count("end"), calls[-1]]
    reported([*outcome, lib.aclFinalizeReference(left), left[0]])
    """
    )
    # The innermost is refused, and then all but the outermost: two calls in each callback would never come to an end.
    assert child(script) == [0, 32, 0, [0, INTERNAL, REPEAT_INIT], 0, 0]


@pytest.mark.parametrize("product", ["910B", "910C", "310B", "310P", "910", "950"])
@pytest.mark.simulator("products")
def test_limits_that_a_product_lacks_are_passed_over(product: str, child: Any, config: Any) -> None:
    sizes = '"aicore_stack_size":131072,"simt_stack_size":1280,"simt_divergence_stack_size":1152'
    path = config(f'{{"StackSize":{{{sizes}}},"simd_printf_fifo_size_per_core":2048,"simt_printf_fifo_size":1048576}}')
    script = "reported([lib.aclInit(sys.argv[1].encode()), text()])"
    assert child(script, path, ASCEND_RT_SIM_PRODUCT=product) == [0, None]


@pytest.mark.simulator("internals", "a library without devices is refused")
def test_limits_go_through_the_first_device(child: Any, config: Any) -> None:
    script = "reported([lib.aclInit(path.encode()) for path in sys.argv[1:]])"
    paths = config('{"StackSize":{"aicore_stack_size":65536}}'), config("{}", "empty.json")
    assert child(script, *paths, ASCEND_RT_VISIBLE_DEVICES="-1") == [INVALID_DEVICE, 0]


def test_files_that_are_no_configuration(child: Any, tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "large").write_bytes(b" " * (10 * 1024 * 1024 + 1))
    (tmp_path / "limit").write_bytes(b"{}" + b" " * (10 * 1024 * 1024 - 2))
    script = 'reported([lib.aclInit(f"{sys.argv[1]}/{name}".encode()) for name in sys.argv[2:]])'
    assert child(script, tmp_path, "missing", "directory", "large", "limit") == [INVALID_FILE] * 3 + [0]


@pytest.mark.simulator("deadly", "a NULL follows a configuration")
def test_the_first_configuration_stays(child: Any, config: Any) -> None:
    script = """
        first, same, other = (path.encode() for path in sys.argv[1:])
        codes = [lib.aclInit(first), lib.aclInit(other), lib.aclFinalize()]
        codes += [lib.aclInit(other), lib.aclInit(ffi.NULL), lib.aclInit(b""), lib.aclInit(same), lib.aclFinalize()]
        reported(codes)
    """
    paths = config("{}"), config("{}", "same.json"), config("[]", "other.json")
    assert child(script, *paths) == [0, REPEAT_INIT, 0, INVALID_PARAM, INVALID_PARAM, INVALID_PARAM, 0, 0]


@pytest.mark.simulator("deadly", "the official library ends the process where it refuses NULL")
def test_a_refused_configuration_is_reported_with_the_first_one(child: Any, config: Any) -> None:
    script = """
        path = sys.argv[1].encode()
        assert [lib.aclInit(path), lib.aclFinalize(), lib.aclInit(b"")] == [0, 0, 100000]
        texts = [text()]
        assert lib.aclInit(ffi.NULL) == 100000
        reported([*texts, text()])
    """
    path = config("{}")
    refused = f"aclInit: the configuration is not the one that the process was first initialised with: {path}"
    of_null = "; the official library ends the process if the path is NULL here"
    assert child(script, path) == [refused, refused + of_null]


def test_the_first_configuration_may_be_none(child: Any, config: Any) -> None:
    script = """
        codes = [lib.aclInit(ffi.NULL), lib.aclFinalize(), lib.aclInit(sys.argv[1].encode())]
        refusal = text()
        reported([*codes, lib.aclInit(b""), refusal])
    """
    *codes, refusal = child(script, config("{}"))
    assert codes == [0, 0, INVALID_PARAM, 0]
    assert refusal is None or refusal.endswith("first initialised with: none")


REFERENCES = [
    ("I", [0]),
    ("F", [0]),  # once, before any aclInit
    ("FF", [0, REPEAT_FINALIZE]),
    ("r", [(REPEAT_FINALIZE, 0)]),
    ("IIIrrF", [0, REPEAT_INIT, REPEAT_INIT, (0, 2), (0, 1), 0]),
    ("IIFFr", [0, REPEAT_INIT, 0, REPEAT_FINALIZE, (REPEAT_FINALIZE, 0)]),
    ("IrrI", [0, (0, 0), (REPEAT_FINALIZE, 0), 0]),
    ("IrFIF", [0, (0, 0), REPEAT_FINALIZE, 0, 0]),
]


@pytest.mark.parametrize(("calls", "expected"), REFERENCES)
def test_references(calls: str, expected: list[Any], child: Any) -> None:
    script = """
        def drop():
            left = ffi.new("uint64_t *", 99)
            return lib.aclFinalizeReference(left), left[0]
        call = {"I": lambda: lib.aclInit(ffi.NULL), "F": lib.aclFinalize, "r": drop}
        reported([call[letter]() for letter in sys.argv[1]])
    """
    assert [tuple(code) if isinstance(code, list) else code for code in child(script, calls)] == expected


def test_default_device(child: Any, config: Any) -> None:
    script = """
        def device():
            id = ffi.new("int32_t *", -1)
            return lib.aclrtGetDevice(id), id[0]
        def in_thread(work):
            results = []
            thread = threading.Thread(target=lambda: results.append(work()))
            thread.start()
            thread.join()
            return results[0]
        def allocate():
            memory = ffi.new("void **")
            return lib.aclrtMalloc(memory, 64, 0)
        results = [device(), lib.aclInit(sys.argv[1].encode()), device(), in_thread(device), in_thread(allocate)]
        results += [lib.aclrtSetDevice(0), device(), in_thread(device)]
        results += [lib.aclFinalize(), device(), in_thread(device)]
        reported(results)
    """
    path = config('{"defaultDevice":{"default_device":"1"}}')
    none, second, first = [107002, -1], [0, 1], [0, 0]
    assert child(script, path) == [none, 0, second, second, 0, 0, first, second, 0, first, none]


@pytest.mark.parametrize("number", ["4294967295", "99999999999999999999"])
def test_a_default_device_that_is_none(number: str, child: Any, config: Any) -> None:
    """The runtime takes the low 32 bits of the saturated number, and -1 for no default device."""
    script = 'reported([lib.aclInit(sys.argv[1].encode()), text(), lib.aclrtGetDevice(ffi.new("int32_t *"))])'
    path = config(f'{{"defaultDevice":{{"default_device":"{number}"}}}}')
    assert child(script, path) == [0, None, 107002]


@pytest.mark.parametrize(("mode", "from_other"), [("0", None), ("1", "aclrtGetDevice: deviceId is NULL")])
def test_whose_texts_are_reported(mode: str, from_other: str | None, child: Any, config: Any) -> None:
    script = """
        codes = [lib.aclInit(sys.argv[1].encode())]
        thread = threading.Thread(target=lambda: codes.append(lib.aclrtGetDevice(ffi.NULL)))
        thread.start()
        thread.join()
        reported([*codes, text(), text()])
    """
    path = config(f'{{"err_msg_mode":"{mode}"}}')
    assert child(script, path) == [0, INVALID_PARAM, from_other, None]


CALLBACKS = """
    calls = []
    keep = []
    def on_init(name, code=0, work=None):
        @ffi.callback("aclInitCallbackFunc")
        def function(config, size, user):
            calls.append([name, ffi.string(config, size).decode(), int(ffi.cast("intptr_t", user))])
            if work is not None:
                work()
            return code
        keep.append(function)
        return function
    def on_finalize(name, code=0, work=None):
        @ffi.callback("aclFinalizeCallbackFunc")
        def function(user):
            calls.append([name, int(ffi.cast("intptr_t", user))])
            if work is not None:
                work()
            return code
        keep.append(function)
        return function
    def user(number):
        return ffi.cast("void *", number)
"""
TYPES = {"model": MODEL, "op_executor": OP_EXECUTOR, "op_compiler": OP_COMPILER, "dvpp": DVPP, "other": OTHER}


@pytest.mark.parametrize(
    ("config_text", "order"),
    [(None, ["model", "dvpp", "other", "other2"]), ("{ }", ["model", "op_executor", "dvpp", "other", "other2"])],
)
@pytest.mark.simulator("deadly", "a NULL follows a configuration")
def test_callbacks_run_in_order(config_text: str | None, order: list[str], child: Any, config: Any) -> None:
    script = (
        CALLBACKS
        + """
    types = json.loads(sys.argv[1])
    for name in ("other", "other2", "dvpp", "op_compiler", "op_executor", "model"):
        type = types[name.rstrip("2")]
        assert lib.aclInitCallbackRegister(type, on_init(name), user(type)) == 0
        assert lib.aclFinalizeCallbackRegister(type, on_finalize(name), user(type)) == 0
    assert lib.aclInit(sys.argv[2].encode()) == 0
    init_calls, calls = calls, []
    assert lib.aclInit(ffi.NULL) == 100002
    assert lib.aclFinalizeReference(ffi.NULL) == 0
    assert calls == []
    assert lib.aclFinalize() == 0
    reported([init_calls, calls])
    """
    )
    path = "" if config_text is None else config(config_text)
    init, final = child(script, json.dumps(TYPES), path)
    types = {**TYPES, "other2": OTHER}
    assert init == [[name, config_text or "", types[name]] for name in order]
    assert final == [[name, types[name]] for name in ("op_compiler", "model", "dvpp", "other", "other2")]


def test_a_failing_callback_ends_the_call(child: Any) -> None:
    script = (
        CALLBACKS
        + """
    assert lib.aclInitCallbackRegister(0, on_init("model", 4711), user(0)) == 0
    assert lib.aclInitCallbackRegister(6, on_init("dvpp"), user(0)) == 0
    results = [lib.aclInit(ffi.NULL), text(), list(calls)]
    calls = []
    assert lib.aclInitCallbackUnRegister(0, keep[0]) == 0
    assert lib.aclInit(ffi.NULL) == 0
    assert lib.aclFinalizeCallbackRegister(0, on_finalize("model", 4712), user(0)) == 0
    assert lib.aclFinalizeCallbackRegister(6, on_finalize("dvpp"), user(0)) == 0
    calls = []
    left = ffi.new("uint64_t *")
    results += [lib.aclFinalize(), list(calls), lib.aclFinalizeReference(left), left[0]]
    assert lib.aclFinalizeCallbackUnRegister(0, keep[2]) == 0
    results += [lib.aclFinalizeReference(left), left[0]]
    reported(results)
    """
    )
    init, why, called, final, ended, again, left, last, none = child(script)
    assert (init, called) == (4711, [["model", "", 0]])
    assert why.startswith("aclInit: ")
    assert (final, ended) == (4712, [["model", 0]])
    assert (again, left, last, none) == (4712, 1, 0, 0)


def test_registering(child: Any) -> None:
    script = (
        CALLBACKS
        + """
    one, two = on_init("one", 7), on_init("two")
    add, drop = lib.aclInitCallbackRegister, lib.aclInitCallbackUnRegister
    results = [add(0, ffi.NULL, user(0)), drop(0, ffi.NULL), drop(0, one), add(0, one, user(0)), add(0, two, user(0)),
               add(0, one, user(0)), drop(0, two), drop(0, one), drop(0, one)]
    results += [add(65535, one, user(0)), add(65535, two, user(0)), drop(65535, two), drop(65535, one)]
    fone, ftwo = on_finalize("one"), on_finalize("two")
    add, drop = lib.aclFinalizeCallbackRegister, lib.aclFinalizeCallbackUnRegister
    results += [add(0, ffi.NULL, user(0)), drop(0, ffi.NULL), drop(0, fone), add(0, fone, user(0)),
                add(0, ftwo, user(0)), drop(0, fone)]
    assert lib.aclInit(ffi.NULL) == 0
    assert calls == []
    results.append(lib.aclInitCallbackRegister(3, one, user(5)))  # runs at once, and its answer is ignored
    reported([results, calls])
    """
    )
    codes, calls = child(script)
    bad, taken = INVALID_PARAM, INTERNAL
    assert codes[:9] == [bad, bad, taken, 0, taken, taken, taken, 0, taken]
    assert codes[9:13] == [0, 0, 0, 0]
    assert codes[13:19] == [bad, bad, taken, 0, taken, 0]
    assert codes[19] == 0
    assert calls == [["one", "", 5]]


def test_callbacks_may_call_the_runtime(child: Any) -> None:
    script = (
        CALLBACKS
        + """
    codes = []
    def work():
        stream = ffi.new("aclrtStream *")
        codes.append(lib.aclrtSetDevice(0))
        codes.append(lib.aclrtCreateStream(stream))
        codes.append(lib.aclrtSynchronizeStream(stream[0]))
        codes.append(lib.aclInitCallbackRegister(65535, keep[1], user(0)))
        codes.append(lib.aclrtGetDevice(ffi.NULL))
    first, second = on_init("first", 3, work), on_init("second")
    assert lib.aclInitCallbackRegister(0, first, user(0)) == 0
    reported([lib.aclInit(ffi.NULL), codes, text()])
    """
    )
    code, inside, text = child(script)
    assert (code, inside) == (3, [0, 0, 0, 0, INVALID_PARAM])
    assert text == "aclInit: a callback of type 0 answered 3"


def test_threads_share_one_initialisation(child: Any) -> None:
    script = """
        codes = []
        start = threading.Barrier(8)
        def work():
            start.wait()
            codes.append(lib.aclInit(ffi.NULL))
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        left = ffi.new("uint64_t *")
        reported([sorted(codes), [lib.aclFinalizeReference(left) for _ in range(8)], left[0]])
    """
    codes, finals, left = child(script)
    assert codes == [0] + [REPEAT_INIT] * 7
    assert finals == [0] * 8
    assert left == 0
