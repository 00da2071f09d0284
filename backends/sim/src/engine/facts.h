// Facts about the work of the engine: the words of the observer interface.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "abi/acl.h"
#include "support/call_place.h"
#include "support/ref.h"

namespace aclsim {

class Stream;

// A task, by the number of its stream, which no other stream of the process ever has, and its place there.
struct Point {
    std::uint64_t stream = 0;  // 0: no task
    std::uint64_t sequence = 0;
};

// What something waits for that no task of a stream will bring about.
enum class Outside : std::uint8_t {
    None,          // a task does
    Host,          // a thread of the program: it is to submit, record, write or process something
    OtherProcess,  // a process that shares an event or a notify
    Anybody,       // any task, or a thread of the program
    Clock,         // a time comes
};

// What a blocked task, or a host thread, waits for: a task of a stream, or something outside.
struct Cause {
    const Stream *stream = nullptr;
    std::uint64_t sequence = 0;
    Outside outside = Outside::None;
};

// What exception callbacks may ask about a kernel that failed.
struct FailedKernel {
    aclrtFuncHandle function = nullptr;  // nullptr: the task was no kernel
    void *arguments = nullptr;
    std::uint32_t arguments_size = 0;
    aclrtOpExceptionCallback callback = nullptr;  // of its binary
    void *callback_data = nullptr;
    Ref<const RefCounted> owner{};  // of the arguments
};

// What a blocked task waits for.
struct Causes {
    std::vector<Cause> list;
    bool any = false;  // one of them is enough; else all must come true
};

// Why what follows one task comes after another one.
enum class Ordering : std::uint8_t { Event, IpcEvent, Notify, Value, Barrier, Model, PoolReuse };

// `after`, and what follows it in its stream, comes after `before`. The order inside a stream is not among the facts.
struct Edge {
    Point before;
    Point after;
    Ordering why;
    // Another process's number, if `before` is a task of that: its stream is that process's, too.
    std::uint64_t process = 0;
};

// How a thread of the program comes to know that a task is done.
enum class HostSync : std::uint8_t {
    Synchronized,
    Queried,
    CalledBack,
    QueueRoom,  // it waited for a place in the stream's queue: the program has not synchronized
};

// The objects by which tasks are ordered.
enum class SyncKind : std::uint8_t { Event, IpcEvent, Notify, CountingNotify, CapturedEvent };

struct SyncObject {
    SyncKind kind;
    const void *handle;
};

// The record that a wait for an object is bound to, as far as its call settles that.
struct WaitBinding {
    enum class State : std::uint8_t {
        Record,         // the record at `record`
        OtherProcess,   // a record that another process has made
        Any,            // whatever task satisfies it: an edge says which
        NeverRecorded,  // nothing: the event was never recorded, and the wait orders nothing
        Ignored,        // nothing: the product ignores waits for events of other devices
    };
    State state;
    Point record{};
    bool has_task = true;  // false: the wait needed none; its point is that of the stream's next task
};

enum class AccessMode : std::uint8_t {
    Read,
    Write,
    ReadWrite,
    None,  // the call only names the memory, as the operand of a later task
};

// Pieces that repeat: so many, so many bytes apart.
struct Repetition {
    std::uint64_t count;
    std::uint64_t stride;

    bool operator==(const Repetition &other) const { return count == other.count && stride == other.stride; }
};

// Which bytes of an access are touched: `width` bytes, repeated along each of the repetitions. Without repetitions all
// of them are.
struct Layout {
    static constexpr std::size_t kMost = 16;
    std::uint64_t width = 0;
    std::uint8_t count = 0;
    std::array<Repetition, kMost> repetitions;  // the outermost first; the others are left as they are

    Layout() {}  // NOLINT: without writing all repetitions
    static Layout rows(std::uint64_t width, std::uint64_t height, std::uint64_t pitch) {
        Layout layout;
        if (height > 1 && width != pitch) {
            layout.width = width;
            layout.count = 1;
            layout.repetitions[0] = {height, pitch};
        }
        return layout;
    }
    bool is_whole() const { return count == 0; }
};

struct Access {
    const void *address;
    std::uint64_t size;  // from the first byte to the last
    AccessMode mode;
    const char *name;  // of the argument
    Layout layout{};
};

inline const std::vector<Access> kNoAccesses;

// A call of the C API.
struct CallSite {
    std::uint32_t thread;  // the kernel's number
    const char *function;
    const CallPlace *place;  // nullptr, unless an observer wants it
};

// The call that a task is there for.
struct Origin {
    std::uint32_t thread;  // the kernel's number
    const char *call;      // the C function
    // false: a model queues the task while it executes, for a call that launched it. What the thread has done since is
    // not before the task.
    bool is_calling;
};

// How a task came to be.
struct Submission {
    Origin origin;
    const std::vector<Access> &accesses;  // the memory that the task works on, as far as it is known by then
    // false: the task may access any memory, because it runs code of the program that has declared nothing.
    bool are_accesses_known = true;
    std::uint64_t batch =
        0;  // tasks of one batch, which have the same number, are in no order with each other; 0: none
};

// What happens to the content of memory at its allocation, for those who check its use.
enum class Pages : std::uint8_t {
    Own,       // undefined from now on
    InStream,  // undefined from where the stream comes to the allocation
    Shared,    // what others have written; neighbouring shared pages are one piece of memory
};

struct Allocation {
    void *address;
    std::uint64_t size;  // what the caller asked for
    std::uint64_t room;  // what was given
    Pages pages;
    std::uint64_t number = 0;  // of Pages::InStream: which allocation it is that the stream comes to
};

}  // namespace aclsim
