# SPDX-License-Identifier: Apache-2.0
"""Initialising the runtime and giving it back: once per process, and only the references that we took.

The end of the interpreter is one hook, :func:`_give_back`. It is bounded, and the same for every library:

1. Functions that wait for failed tasks are called for those that have failed by then; they have `_WORK_MS`. The
   callback gate is closed; callbacks that are inside have `_WORK_MS` to return.
2. From here on every other call, of any thread, raises ``RuntimeClosed``, and finalizers do nothing.
3. Each context that we have open, explicit or primary, has the rest of that time to finish its work. Then it is given
   back together with its streams. A context with work that is still pending is left as it is: nothing is aborted, and
   the driver releases what a process has when the process ends.
4. The runtime is finalized, unless a context was left.
5. The library is disconnected, and one warning names what was not given back. If threads may be inside the vendor's
   library, the process ends without its destructors.

The calls of steps 3 and 4 are made on a separate thread and have `_CALL_MS` each, because some C functions have no time
limit: resetting a device waits for its work, and a process that is locked for a snapshot stops every call.
"""

from __future__ import annotations

import _thread
import atexit
import os
import warnings
from collections.abc import Callable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from ascend_rt._native import handles
from ascend_rt._runtime import failures, log, retention
from ascend_rt._runtime.driver import (
    address,
    call,
    call_within,
    check,
    ffi,
    is_expected,
    lib,
    recent_message,
    refuse_calls,
    shutdown,
    supports,
    usable,
)
from ascend_rt._runtime.locks import new_lock
from ascend_rt.errors import AclError, AclWarning, InvalidArgument, NotSupported

if TYPE_CHECKING:
    from typing import Protocol

    class Discarded(Protocol):
        """An object that is closed later than it is discarded."""

        def _close_if_done(self) -> bool: ...

    class ExplicitContext(Protocol):
        """An object that owns a context."""

        @property
        def _owner(self) -> Owner: ...
        @property
        def _is_open(self) -> bool: ...
        @property
        def _is_closing(self) -> bool: ...
        def _give_back(self, function: Callable[..., int], /) -> int: ...


# Time that the exit waits for callbacks and pending work, and for one call of a C function without a time limit.
_WORK_MS = 5_000
_CALL_MS = 10_000

_RESET, _DESTROY = "aclrtResetDevice", "aclrtDestroyContext"
_RESET_ALL = "aclrtResetDeviceForce"


class DeviceEpoch(handles.DeviceEpoch):
    """The time from our first reference to a device to the last; for streams, the life of their context.

    Its end frees everything that was created in it, and a handle of it may crash the library. So the objects of an
    ended epoch are neither used nor given back: they know their state, which :meth:`end` changes.
    """

    __slots__ = ("has_lost_context", "of_program", "primary", "references")

    def __init__(self, device_id: int) -> None:
        self.device_id = device_id
        self.has_lost_context = False  # it ended because a context was destroyed, not by a reset of the device
        self.primary = 0  # handle of the device's primary context
        self.references = {_RESET: 0, _DESTROY: 0}  # function that gives a reference back -> how many we have
        self.of_program = {_RESET: 0, _DESTROY: 0}  # and how many the program has, by pyACL

    def is_unused(self) -> bool:
        """Return True if no counted reference is left."""
        return max(*self.references.values(), *self.of_program.values()) <= 0

    def give_back(self, holder: str, undo: str, released: dict[str, int], *, every: bool) -> None:
        """Count one reference of a holder as given back, or all of both holders; note the number of each."""
        for name in ("references", "of_program") if every else (holder,):
            counts = getattr(self, name)
            number = counts[undo] if every else 1
            counts[undo], released[name] = counts[undo] - number, number  # for a signal handler, one step

    def is_gone_unseen(self) -> bool:
        """Return True if the device is no longer set: the program gave back references of ours, or we gave back its."""
        contexts = self.references[_DESTROY], self.of_program[_DESTROY]
        return (
            min(self.references[_RESET], self.of_program[_RESET]) < 0
            and max(contexts) <= 0
            and supports("aclrtGetPrimaryCtxState")
            and not _is_set(self.device_id)
        )


class Owner(NamedTuple):
    """The device of an object (for a stream, its context) and the explicit context, if any, that it was created in."""

    epoch: DeviceEpoch
    context: object = None  # the explicit one, kept alive: destroying the last one of a device frees its memory


HOST = Owner(DeviceEpoch(-1))  # owns objects that no reset of a device frees

_lock = new_lock()  # a finalizer may set a device, or destroy a context, inside
_initialized = False
_is_initialiser = False
_deferred: dict[int, Discarded] = handles.deferred  # by identity
_first_at_exit: list[tuple[Callable[[float], bool], str]] = []

explicit_contexts: WeakValueDictionary[int, ExplicitContext] = WeakValueDictionary()
"""Explicit contexts that were created and not discarded, by their handles."""

owners: dict[int, Owner] = {}
"""The owner of new objects on each device, outside of explicit contexts, by the number of the device."""

_contexts: dict[int, DeviceEpoch] = {}  # handle -> epoch of the streams in the context

only_owner: Owner | None = None
"""Owner on the only device in use, which most programs need no call to find; None with several devices."""

usual_owner: Owner | None = None
"""Owner of every new object while there is no explicit context; None after a change, until it is found again."""


events: dict[int, Owner] = {}
"""Owners of events whose handles were given out as numbers, to other libraries or by pyACL, until they are destroyed.

The handle of an ended event stays in the dictionary, because other code may still use the number.
"""


def initialize() -> None:
    """Initialise the runtime if we have not done so (``aclInit``); loads the library. Idempotent and thread-safe."""
    global _initialized, _is_initialiser
    if _initialized:
        return
    with _lock:
        if _initialized:
            return
        code = lib.aclInit(b"")  # NULL would end the process where the official library refuses it
        if code == lib.ACL_ERROR_INVALID_PARAM:
            raise _other_configuration(code)
        # Other code in the process was first: then the call has counted, and the reference is given back at exit.
        _is_initialiser = not is_expected(code, lib.ACL_ERROR_REPEAT_INITIALIZE)
        if _is_initialiser:
            check(code, "aclInit")
        failures.listen()
        atexit.register(_give_back)
        handles.note_initialized()
        _initialized = True
    log.debug("aclInit: %s", "initialised" if _is_initialiser else "other code in the process had initialised")


def _other_configuration(code: int) -> InvalidArgument:
    """Return the error of an initialisation without a configuration after an earlier one with a configuration."""
    said = recent_message()
    text = (
        "other code has initialised the runtime with a configuration and finalised it; from then on the runtime takes "
        "only that configuration in this process, and ascend_rt initialises without one"
    )
    hint = "let that code call aclInit with its configuration again before ascend_rt is used, or leave out aclFinalize"
    return InvalidArgument(code, "aclInit", f"{text}\nthe runtime says: {said}" if said else text, hint=hint)


def epoch_of(device_id: int) -> DeviceEpoch:
    """Return the current epoch of a device; the first call begins it, and our last reference ends it."""
    return owner_of(device_id).epoch


def owner_of(device_id: int) -> Owner:
    """Return the owner of new objects on a device, outside of explicit contexts."""
    return owners.get(device_id) or _begin(DeviceEpoch(device_id))


def epoch_of_context(context: int, device_id: int) -> DeviceEpoch:
    """Return the epoch of the streams in a context, by its handle: it ends with the context, not with the device."""
    with _lock:
        epoch = _contexts.get(context)
        if epoch is None or epoch.device_id != device_id:  # other code has destroyed an older one with this handle
            epoch = _contexts[context] = DeviceEpoch(device_id)
        return epoch


def _begin(epoch: DeviceEpoch) -> Owner:
    """Return the owner of new objects on a device: this epoch, unless another thread was faster."""
    with _lock:
        current = owners.setdefault(epoch.device_id, Owner(epoch))
        _find_usual_owner()
        return current


def _find_usual_owner() -> None:
    """Note, after each change, the owner that is known without a call."""
    global only_owner, usual_owner
    only_owner = next(iter(owners.values())) if len(owners) == 1 else None
    usual_owner = only_owner if only_owner is not None and not only_owner.epoch.references[_DESTROY] else None
    handles.note_owners(usual_owner, only_owner)


def set_device(device_id: int) -> None:
    """Make the primary context of a device current in this thread and count that we did (``aclrtSetDevice``)."""
    initialize()
    code = lib.aclrtSetDevice(device_id)
    if code:
        check(code, "aclrtSetDevice")
    _count(device_id, _RESET)
    log.debug("aclrtSetDevice: device %d", device_id)


def references_to(device_id: int) -> int:
    """Return the number of times that a device was set and not reset since."""
    owner = owners.get(device_id)
    return 0 if owner is None else owner.epoch.references[_RESET]


def primary_context(device_id: int) -> Any | None:
    """Return the primary context of a device that was set; None if other code has reset it."""
    owner = owners.get(device_id)
    if owner is None or (supports("aclrtGetPrimaryCtxState") and not _is_set(device_id)):
        return None
    return ffi.cast("aclrtContext", owner.epoch.primary)


def reset_device(device_id: int) -> None:
    """Undo one :func:`set_device` (``aclrtResetDevice``); the last one frees everything on the device."""
    _release(device_id, _RESET, device_id)


def reset_device_force(device_id: int) -> None:
    """Undo every :func:`set_device`, also those of other code in the process (``aclrtResetDeviceForce``)."""
    _release(device_id, _RESET, device_id, function=_RESET_ALL)


def reset_surplus(device_id: int) -> None:
    """Undo one :func:`set_device` unless it is the last of ours: the device stays open until the exit."""
    _release(device_id, _RESET, device_id, unless_last=True)


def count_context(device_id: int, counted: list[DeviceEpoch]) -> None:
    """Count an explicit context, which keeps its device open even if it is not set; note the epoch of the device."""
    _count(device_id, _DESTROY, counted)
    log.debug("aclrtCreateContext: device %d", device_id)


def uncount_context(epoch: DeviceEpoch) -> None:
    """Take back what :func:`count_context` has counted, because there is no context."""
    with _lock:
        epoch.references[_DESTROY] -= 1
        if epoch.is_unused() and not epoch.has_objects:
            _end(epoch)
        _find_usual_owner()


def destroy_context(context: ExplicitContext, handle: Any) -> None:
    """Destroy an explicit context that was counted (``aclrtDestroyContext``)."""
    _release(context._owner.epoch.device_id, _DESTROY, handle, context=context)


def _count(device_id: int, undo: str, counted: list[DeviceEpoch] | None = None) -> None:
    noted: list[DeviceEpoch] = [] if counted is None else counted
    with _lock:
        epoch, references = epoch_of(device_id), epoch_of(device_id).references
        references[undo], noted[:] = references[undo] + 1, (epoch,)  # for a signal handler, one step
        _note_primary(epoch, undo)
        _find_usual_owner()


def _note_primary(epoch: DeviceEpoch, undo: str) -> None:
    """Note the primary context of a device that was just set."""
    if undo == _RESET and not epoch.primary:
        out = ffi.new("aclrtContext *")
        call("aclrtGetCurrentContext", out)
        epoch.primary = address(out[0])


def _release(
    device_id: int,
    undo: str,
    argument: Any,
    *,
    unless_last: bool = False,
    function: str | None = None,
    context: ExplicitContext | None = None,
) -> None:
    given = _Given(device_id, "references", undo, argument, function or undo, context)
    check(retention.Reset(device_id).run(given.give_back, unless_last), given.function)


def count_for_program(device_id: int, undo: str) -> None:
    """Count a reference to a device that the program has taken by pyACL, and gives back itself."""
    with _lock:
        epoch = epoch_of(device_id)
        epoch.of_program[undo] += 1
        _note_primary(epoch, undo)


def release_for_program(device_id: int, undo: str, argument: Any, function: str | None = None) -> int:
    """Give back a reference that the program has taken by pyACL; return the code, and leave the text of a failure."""
    given = _Given(device_id, "of_program", undo, argument, function or undo)
    try:
        return retention.Reset(device_id).run(given.give_back)
    except NotSupported as error:
        return error.code


class _Given:
    """A reference to a device that is given back, and all that ends with it."""

    def __init__(
        self,
        device_id: int,
        holder: str,
        undo: str,
        argument: Any,
        function: str,
        context: ExplicitContext | None = None,
    ) -> None:
        self.function = function
        self._device_id, self._holder, self._undo, self._argument = device_id, holder, undo, argument
        self._context = context
        self._epoch = DeviceEpoch(device_id)
        self._is_owned = self._is_last = False
        self._released: dict[str, int] = {}
        self._ended: dict[int, DeviceEpoch] = {}

    def give_back(self, unless_last: bool = False) -> int:
        """Call the function; return its code, also if it has failed and nothing was given back."""
        call, is_asked = getattr(lib, self.function), False
        try:
            if not self._count_down(unless_last):
                return 0
            lib.ascend_rt_await_left(ffi.NULL)
            is_asked = True
            code = int(call(self._argument) if self._context is None else self._context._give_back(call))
        except BaseException as error:  # a signal handler raised it, or the library has no such function
            is_made = is_asked if self._context is None else not self._context._is_closing
            if self._released and (isinstance(error, AclError) or not is_made):
                self._take_back()
            raise
        if code:
            self._take_back()
        else:
            self._follow_device()
        return code

    def _count_down(self, unless_last: bool) -> bool:
        # Counted before the call, during which other threads may count: only one sees the last reference.
        with _lock:
            owner = owners.get(self._device_id)
            if owner is not None:
                self._epoch, self._is_owned = owner.epoch, True
            epoch = self._epoch
            if unless_last and epoch.references[self._undo] < 2:
                return False
            epoch.give_back(self._holder, self._undo, self._released, every=self.function == _RESET_ALL)
            self._is_last = epoch.is_unused()
            # Before the call: none of the objects may be used while the context or the device goes.
            _end_contexts(_contexts_without(epoch, self._undo, self._argument), self._ended)
            for handle, of_streams in self._ended.items():
                of_streams.has_lost_context = self._undo == _DESTROY and handle == address(self._argument)
            if self._is_last and self._is_owned:
                _end(epoch)
            _find_usual_owner()
            return True

    def _take_back(self) -> None:
        with _lock:
            for holder, number in self._released.items():
                getattr(self._epoch, holder)[self._undo] += number
            _resume(self._epoch, self._ended)

    def _follow_device(self) -> None:
        """Follow what the call has left of the device: other code may have set it, or may have reset it before."""
        log.debug("%s: device %d%s", self.function, self._device_id, ", the last reference" if self._is_last else "")
        has_ended = self._is_owned and bool(self._ended or self._is_last)
        if self._undo == _RESET and has_ended and _is_set(self._device_id):
            _resume(self._epoch, self._ended)
        elif not self._is_last and self._epoch.is_gone_unseen():
            with _lock:
                _end_contexts(_contexts_on(self._device_id), {})
                _end(self._epoch)


def _end(epoch: DeviceEpoch) -> None:
    epoch.end()
    if owners.get(epoch.device_id, HOST).epoch is epoch:
        del owners[epoch.device_id]
    _find_usual_owner()


def _contexts_on(device_id: int) -> list[int]:
    return [context for context, epoch in _contexts.items() if epoch.device_id == device_id]


def _contexts_without(epoch: DeviceEpoch, undo: str, argument: Any) -> list[int]:
    """Return the contexts that go with a reference to their device, which is counted as given back."""
    if epoch.is_unused():
        return _contexts_on(epoch.device_id)
    if undo == _DESTROY:
        return [address(argument)]
    is_set = max(epoch.references[_RESET], epoch.of_program[_RESET]) > 0
    return [] if is_set else [epoch.primary]


def _end_contexts(contexts: list[int], ended: dict[int, DeviceEpoch]) -> None:
    """End the epochs of the streams in contexts, and note them."""
    for context in contexts:
        if context in _contexts:
            ended[context] = _contexts[context]
            _contexts.pop(context).end()


def _resume(epoch: DeviceEpoch, contexts: dict[int, DeviceEpoch]) -> None:
    # If another epoch has begun meanwhile, the handles may have new holders: leak memory rather than free theirs.
    if epoch.is_over and _begin(epoch).epoch is epoch:
        epoch.resume()
    for context, of_streams in contexts.items():
        if _contexts.setdefault(context, of_streams) is of_streams:
            of_streams.resume()


def _is_set(device_id: int) -> bool:
    if not supports("aclrtGetPrimaryCtxState"):
        return False
    active = ffi.new("int32_t *")
    call("aclrtGetPrimaryCtxState", device_id, ffi.NULL, active)
    return bool(active[0])


def defer(discarded: Discarded) -> None:
    """Keep an object that was discarded where it cannot be destroyed: with work pending, or without a context."""
    _deferred[id(discarded)] = discarded


def close_deferred() -> None:
    """Close the objects that :func:`defer` has kept and whose work is done; does not wait.

    Each stays there until it is closed: its finalizer is not called again, so an exception of a signal handler would
    lose one that is nowhere else.
    """
    for discarded in list(_deferred.values()):
        if discarded._close_if_done():
            _deferred.pop(id(discarded), None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=handles.renew_locks)


# --- the end of the interpreter --------------------------------------------------------------------------------------


def call_first_at_exit(function: Callable[[float], bool], problem: str) -> None:
    """Have a function called at the exit, while callbacks still work.

    It is given the seconds that it has, and returns whether it was done in time; the problem is what to say if not.
    """
    _first_at_exit.append((function, problem))


def close_gate() -> int:
    """Let no further callback enter Python; return how many are still inside after `_WORK_MS`."""
    return lib.ascend_rt_close_gate(_WORK_MS)


def leave_to_threads(*, is_needed: bool = False) -> None:
    """Let the process end without the library's destructors if threads, such as daemons, may be inside a call."""
    if is_needed or _thread._count() > 0:
        lib.ascend_rt_skip_destructors()


def end_program() -> None:
    """Prepare the end of a program that uses the runtime by pyACL and gives it back itself."""
    close_gate()
    leave_to_threads()


def _give_back() -> None:
    if not usable():
        return
    end_of_work = monotonic() + _WORK_MS / 1000
    problems = []
    try:
        finalizer = _finalizer()
        problems += [problem for function, problem in _first_at_exit if not function(_WORK_MS / 1000)]
        still_inside = close_gate()
        refuse_calls()
        if still_inside:
            problems.append(f"{still_inside} callback(s) do not return")
        else:
            problems += _close_runtime(end_of_work, finalizer)
    finally:  # even if the user interrupts the wait
        leave_to_threads(is_needed=bool(problems))
        shutdown()
    log.debug("the runtime was given back%s", "".join(f"; but {problem}" for problem in problems))
    if problems:
        retention.leak_at_exit()
        message = f"the exit of the interpreter could not release everything: {'; '.join(problems)}"
        warnings.warn(message, AclWarning, stacklevel=1)


def _finalizer() -> str | None:
    if supports("aclFinalizeReference"):
        return "aclFinalizeReference"
    return "aclFinalize" if _is_initialiser else None  # releases before 8.5 do not count references


def _close_runtime(end_of_work: float, finalizer: str | None) -> Iterator[str]:
    """Give back all that we have open; yield what could not be given back."""
    is_idle = True
    lib.ascend_rt_await_left(ffi.NULL)
    try:
        for handle, device_id in _open_contexts():
            is_there = _is_accepted("aclrtSetCurrentContext", handle)
            if is_there and not _is_done_by(end_of_work):
                is_idle = False
                yield f"work is still pending in a context of device {device_id}"
            elif is_there:
                yield from _undo(_DESTROY, handle)
        for device_id, references in _open_devices():
            is_set = _is_accepted("aclrtSetDevice", device_id)  # not if it is lost, and then nothing is pending
            if is_set and not _is_done_by(end_of_work):
                is_idle = False
                yield f"work is still pending on device {device_id}"
            else:
                yield from _undo(_RESET, device_id, times=references + is_set)
        if is_idle and finalizer is not None:
            yield from _undo(finalizer)
    except TimeoutError as error:
        yield str(error)


def _open_contexts() -> list[tuple[int, int]]:
    references = explicit_contexts.valuerefs()  # in one step: other threads may add some
    contexts = [(reference.key, reference()) for reference in references]
    return [(handle, it._owner.epoch.device_id) for handle, it in contexts if it is not None and it._is_open]


def _open_devices() -> list[tuple[int, int]]:
    epochs = [owner.epoch for owner in list(owners.values())]  # one step: other threads may be about to count
    return [(epoch.device_id, epoch.references[_RESET]) for epoch in epochs if epoch.references[_RESET] > 0]


def _is_accepted(function: str, argument: int) -> bool:
    try:
        call_within(_CALL_MS, function, argument)
    except AclError:
        return False
    return True


def _is_done_by(end_of_work: float) -> bool:
    """Wait for the work of the current context; failed work counts as done."""
    remaining_ms = max(1, round(1000 * (end_of_work - monotonic())))
    try:
        call_within(remaining_ms + _CALL_MS, "aclrtSynchronizeDeviceWithTimeout", remaining_ms)
    except AclError as error:  # other codes are of failed tasks, also those that are a Timeout
        return error.code != lib.ACL_ERROR_RT_STREAM_SYNC_TIMEOUT
    return True


def _undo(function: str, argument: int = 0, *, times: int = 1) -> Iterator[str]:
    try:
        for _ in range(times):
            call_within(_CALL_MS, function, argument)
    except AclError as error:
        yield str(error)
