// What the engine tells about its work: the words of the observer interface.
#pragma once

#include <cstdint>
#include <vector>

#include "abi/acl.h"
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

// How a thread of the program comes to know that a task is done.
enum class Learned : std::uint8_t { Synchronized, Queried, CalledBack };

enum class AccessMode : std::uint8_t {
    Read,
    Write,
    ReadWrite,
    None,  // the call only names the memory, as the operand of a later task
};

struct Access {
    const void *address;
    std::uint64_t size;
    AccessMode mode;
    const char *name;  // of the argument
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
