"""The client in Python, without a binding."""

import ctypes

PAGE = 4096
acl = ctypes.CDLL("libascendcl.so")


def must(name, *arguments):
    code = getattr(acl, name)(*arguments)
    if code:
        acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
        raise SystemExit(f"{name}: {code}: {acl.aclGetRecentErrMsg()}")


devices, memory = ctypes.c_uint32(), ctypes.c_void_p()
sent, received = ctypes.create_string_buffer(b"\7" * PAGE, PAGE), ctypes.create_string_buffer(PAGE)
size = ctypes.c_size_t(PAGE)
must("aclInit", None)
must("aclrtGetDeviceCount", ctypes.byref(devices))
must("aclrtSetDevice", 0)
must("aclrtMalloc", ctypes.byref(memory), size, 0)
must("aclrtMemcpy", memory, size, sent, size, 1)
must("aclrtMemcpy", received, size, memory, size, 2)
must("aclrtFree", memory)
must("aclFinalize")
assert sent.raw == received.raw
print(f"{devices.value} devices, {PAGE} bytes came back")
