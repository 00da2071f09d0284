// SPDX-License-Identifier: Apache-2.0
// Facts about the work of the engine: vocabulary of the observer interface.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "abi/acl.h"
#include "support/call_place.h"
#include "support/ref.h"

namespace aclsim {

class Stream;

// Identifies a task: the number of its stream, which is unique in the process, and its position in that stream.
struct Point {
    std::uint64_t stream = 0;  // 0: no task
    std::uint64_t sequence = 0;
    bool operator==(const Point &other) const { return stream == other.stream && sequence == other.sequence; }
    bool operator!=(const Point &other) const { return !(*this == other); }
};

// Source of an awaited change that no task of a stream will bring about.
enum class Outside : std::uint8_t {
    None,          // none: a task brings it about
    Host,          // a thread of the program, which must submit, record, write or process something
    OtherProcess,  // a process that shares an event or a notify
    Anybody,       // any task, or a thread of the program
    Clock,         // the passing of time
    Caller,        // a thread inside a call, which is not asleep now
};

// Reason why a blocked task or a host thread waits: a task of a stream, or an outside source.
struct Cause {
    const Stream *stream = nullptr;
    std::uint64_t sequence = 0;
    Outside outside = Outside::None;
};

// Details that exception callbacks may query about a failed kernel.
struct FailedKernel {
    aclrtFuncHandle function = nullptr;  // nullptr: the task was not a kernel
    void *arguments = nullptr;
    std::uint32_t arguments_size = 0;
    std::string name{};
    std::uint32_t blocks = 0;
    aclrtOpExceptionCallback callback = nullptr;  // callback of the kernel's binary
    void *callback_data = nullptr;
    Ref<const RefCounted> owner{};  // keeps the arguments alive
};

// Reasons why a task is blocked.
struct Causes {
    std::vector<Cause> list;
    bool any = false;  // true: one of them is sufficient; false: all must come true
};

// Reason why the successors of one task come after another task.
enum class Ordering : std::uint8_t { Event, IpcEvent, Notify, Value, Barrier, Model, PoolReuse };

// Orders `after` and its successors in the same stream behind `before`. Order within a stream is not reported.
struct Edge {
    Point before;
    Point after;
    Ordering why;
    // Number of the other process if `before` is a task of one; the stream then belongs to that process, too.
    std::uint64_t process = 0;
    // Several tasks may have satisfied a wait, one alone or some together: those that did depend on the schedule. Edges
    // of one wait follow each other.
    enum class Choice : std::uint8_t {
        Sole,
        Taken,     // one of several, and one that did
        Other,     // one of several, which need not have begun
        Fallback,  // one that did, if too few of several were first
    };
    Choice choice = Choice::Sole;
    std::uint64_t weight = 1;  // number that the task adds,
    std::uint64_t needed = 1;  // and the sum that the wait needs of several
};

// Number that a task adds toward the sum that a wait needs.
struct Share {
    Point task;
    std::uint64_t weight;
};

// Means by which a thread of the program learns that a task is done.
enum class HostSync : std::uint8_t {
    Synchronized,
    Queried,
    QueriedQuietly,  // by a caller that asks for its own purposes: aclsimAskQuietly
    CalledBack,
    QueueRoom,  // waiting for a place in the stream's queue: the program has not synchronized
};

// Kinds of objects that order tasks.
enum class SyncKind : std::uint8_t { Event, IpcEvent, Notify, CountingNotify, CapturedEvent };

struct SyncObject {
    SyncKind kind;
    const void *handle;
};

// Record to which a wait for an object is bound, as far as the call determines it.
struct WaitBinding {
    enum class State : std::uint8_t {
        Record,         // the record at `record`
        OtherProcess,   // a record made by another process
        Any,            // any task that satisfies the wait: an edge names it
        NeverRecorded,  // none: the event was never recorded, and the wait orders nothing
        Ignored,        // none: the product ignores waits for events of other devices
    };
    State state;
    Point record{};
    bool has_task = true;  // false: the wait needed no task; its point is that of the stream's next task
};

enum class AccessMode : std::uint8_t {
    Read,
    Write,
    ReadWrite,
    None,  // the call only names the memory, as the operand of a later task
};

// Repeated pieces: `count` pieces, `stride` bytes apart.
struct Repetition {
    std::uint64_t count;
    std::uint64_t stride;

    bool operator==(const Repetition &other) const { return count == other.count && stride == other.stride; }
};

// Bytes that an access touches: `width` bytes, repeated along each of the repetitions; all bytes if there are no
// repetitions.
struct Layout {
    static constexpr std::size_t kMost = 16;
    std::uint64_t width = 0;
    std::uint8_t count = 0;
    std::array<Repetition, kMost> repetitions;  // outermost first; unused entries stay uninitialized

    Layout() {}  // NOLINT: without writing all repetitions
    Layout(const Layout &other) { *this = other; }
    Layout &operator=(const Layout &other) {  // mostly there are none
        width = other.width;
        count = other.count;
        std::copy_n(other.repetitions.begin(), other.count, repetitions.begin());
        return *this;
    }
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
    const char *name;  // name of the argument
    Layout layout{};
    std::uint32_t item = 0;  // in a batch, counted from 1
};

inline const std::vector<Access> kNoAccesses;

// Call of the C API.
struct CallSite {
    std::uint32_t thread;  // OS thread number
    const char *function;
    const CallPlace *place;  // nullptr unless an observer wants it
};

// Call that caused a task.
struct Origin {
    std::uint32_t thread;  // OS thread number
    const char *call;      // name of the C function
    // false: a model queues the task during its execution, on behalf of the call that launched it. Later actions of the
    // thread are not ordered before the task.
    bool is_calling;
    Point launch{};  // then the task that executes the model; no task if the call itself does
};

// Circumstances under which a task was submitted.
struct Submission {
    Origin origin;
    const std::vector<Access> &accesses;  // memory that the task uses, as far as known at submission
    // false: the task may access any memory, because it runs code of the program that declared no accesses.
    bool are_accesses_known = true;
    std::uint64_t batch = 0;  // tasks with the same number are unordered among each other; 0: none
};

// Effect of an allocation on the content of the memory, for observers that check its use.
enum class Pages : std::uint8_t {
    Own,       // content undefined from now on
    InStream,  // content undefined from the point where the stream reaches the allocation
    Shared,    // content written by others; adjacent shared pages form one piece of memory
};

struct Allocation {
    void *address;
    std::uint64_t size;  // requested by the caller
    std::uint64_t room;  // actually allocated
    Pages pages;
    std::uint64_t number = 0;  // identifies the allocation that the stream will reach; for Pages::InStream only
};

// Place of memory in a file of pages that several processes map.
struct SharedPlace {
    std::uint64_t device;  // identity of the file
    std::uint64_t file;
    std::uint64_t offset;
};

}  // namespace aclsim
