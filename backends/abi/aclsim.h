/* Control of the simulator: entry points that the vendor library does not have. */
#pragma once

#include "base.h"

/* The answer of aclsimGetInfo. */
typedef struct aclsimInfo {
    char product[16];     /* product profile, for instance "910B" */
    uint32_t deviceCount; /* simulated devices, before ASCEND_RT_VISIBLE_DEVICES */
    uint32_t workerCount; /* threads that move data */
} aclsimInfo;

/* on = 1: no task starts any more on any device, whatever is submitted; on = 0: go on. Running tasks end. */
int32_t aclsimHold(int32_t on);
aclError aclsimGetInfo(aclsimInfo *info);
/* 1 if the simulator simulates the named function, 0 if the function answers ACL_ERROR_RT_FEATURE_NOT_SUPPORT or is
 * unknown. */
int32_t aclsimIsSimulated(const char *function);

/* The number of reports of ASCEND_RT_SIM_CHECK=memory so far. */
uint64_t aclsimGetCheckReports(void);
/* A place in the program as its runtime sees it: code, and an offset in that. Both mean something to the provider alone. */
typedef struct aclsimCallFrame {
    const void *code;
    int64_t offset;
} aclsimCallFrame;
/* Writes the frames that the calling thread is in, the innermost first, at most so many, and returns how many; 0: it
 * knows none. Called at the beginning of functions; must not call the library. */
typedef int32_t (*aclsimCaptureFrames)(aclsimCallFrame *frames, int32_t most);
/* Writes what a frame is called, for instance "train.py:12", and returns 0, or anything else if it does not know. Called
 * on any thread, with locks of the library held: must neither call the library nor wait. */
typedef int32_t (*aclsimNameFrame)(const aclsimCallFrame *frame, char *text, size_t size);
/* NULL: there is none, and places are return addresses. */
aclError aclsimSetPlaceProvider(aclsimCaptureFrames capture, aclsimNameFrame name);

/* One operand of a kernel: `rank` dimensions of so many elements, so many bytes apart; a stride may be negative. */
typedef enum aclsimAccessMode {
    ACLSIM_ACCESS_READ = 1,
    ACLSIM_ACCESS_WRITE = 2,
    ACLSIM_ACCESS_READ_WRITE = 3,
} aclsimAccessMode;
typedef struct aclsimAccess {
    const void *address; /* of the first element */
    aclsimAccessMode mode;
    uint32_t elementSize; /* in bytes */
    uint32_t rank;        /* at most 16; 0: one element */
    const int64_t *shape;
    const int64_t *strides; /* in bytes; NULL: without gaps, the last dimension varies fastest */
    const char *name;       /* of the operand, a string that stays; may be NULL */
} aclsimAccess;
/* Declares what the next kernel that the calling thread launches, or puts into a graph, reads and writes; replaces what
 * it declared before. A kernel without a declaration may access anything, and no check guesses what. Does nothing while
 * aclsimWantsAccesses() is 0. */
aclError aclsimDeclareAccesses(const aclsimAccess *accesses, uint64_t count);
/* 1 while a check or another observer wants to know accesses. */
int32_t aclsimWantsAccesses(void);

/* Tells whether the calling thread is to wait no longer. A thread that waits for a place in a full queue asks now and
 * then; if it is, its call fails with ACL_ERROR_RT_STREAM_TASK_FULL, and nothing is submitted. Must not call the library.
 * NULL: there is none. */
typedef int32_t (*aclsimInterruptCheck)(void);
aclError aclsimSetInterruptCheck(aclsimInterruptCheck check);

/* A thread of the program, for the search for deadlocks. */
typedef struct aclsimThread {
    uint64_t thread;   /* pthread_self() */
    int32_t isWaiting; /* 1: it does nothing until another thread has returned from a call of the library */
} aclsimThread;
/* A function that names all threads of the program that may call the library, in an array of that capacity; returns
 * their number, at most the capacity of them are written, and 0 means that they are not known. With it, a wait can be
 * called a deadlock though the process has other threads, for instance those of a library for mathematics. Called on a
 * thread that waits, from time to time; must not call the library. NULL: there is none, and every thread of the process
 * may call. */
typedef size_t (*aclsimThreadProvider)(aclsimThread *threads, size_t capacity);
aclError aclsimSetThreadProvider(aclsimThreadProvider provider);

/* Fault injection. nth counts from 1 and from now on; 0 is every time. A NULL stream is every stream. ASCEND_RT_SIM_FAULTS
 * causes the same from outside: entries separated by semicolons, call:FUNCTION:N=CODE, task:STREAM_ID:N=CODE (or *),
 * delay:STREAM_ID=MICROSECONDS, limit:streams|events|notifies|memory=N, lose:DEVICE=CODE, poison:DEVICE=CODE,
 * down:DEVICE=MICROSECONDS. */
typedef enum aclsimResource {
    ACLSIM_RESOURCE_STREAMS = 0,
    ACLSIM_RESOURCE_EVENTS = 1,
    ACLSIM_RESOURCE_NOTIFIES = 2,
    ACLSIM_RESOURCE_MEMORY = 3,
} aclsimResource;

/* The nth call of a simulated function answers the code and does nothing else. */
aclError aclsimFailCall(const char *function, uint64_t nth, aclError code);
/* The nth task that is submitted to the stream fails with the code when its turn comes, instead of doing its work. */
aclError aclsimFailTask(aclrtStream stream, uint64_t nth, aclError code);
/* Tasks submitted from now on start by this time later than they could. */
aclError aclsimDelayTasks(aclrtStream stream, uint64_t microseconds);
/* Everything that needs the device fails with the code from now on, aclrtSetDevice included; aclrtResetDevice ends it,
 * or aclrtResetDeviceForce if the device is not set. */
aclError aclsimLoseDevice(int32_t deviceId, aclError code);
/* What an operator that timed out, or a fault of an AI CPU, leaves behind: creating streams and allocating memory of the
 * device fail with the code from now on, devices answer ACL_ERROR_RT_DRV_INTERNAL_ERROR. What exists can still be used.
 * aclrtResetDeviceForce ends it, aclrtResetDevice does not. */
aclError aclsimPoisonDevice(int32_t deviceId, aclError code);
/* The device goes down: everything that needs it fails with ACL_ERROR_RT_SOCKET_CLOSE from now on, and so does destroying
 * its streams, alone or with their context. The first such call blocks before, for at most an hour; devices were seen to
 * block for 300 s. aclrtResetDeviceForce ends it, aclrtResetDevice does not. */
aclError aclsimTakeDownDevice(int32_t deviceId, uint64_t blockMicroseconds);
/* At most that many of the resource, of memory that many bytes, may be in use on the device; UINT64_MAX: no limit. */
aclError aclsimLimitResource(int32_t deviceId, aclsimResource resource, uint64_t limit);
/* Removes all faults; what has failed stays failed. */
aclError aclsimClearFaults(void);

/* Stands in for an operator that needs workspace, as an executor of operators would run it: in the calling thread, it
 * takes a block from the allocator registered for the stream (alloc, then getAddrFromBlock; the advise callback is
 * not used), enqueues a task that overwrites the whole workspace, and gives the block back (free) before it returns.
 * The task works with the memory when its turn in the stream comes, so an allocator hands blocks out in stream order
 * and synchronizes the stream before it frees their memory; a task whose workspace is no longer live memory fails
 * with ACL_ERROR_RT_AICORE_EXCEPTION. Callbacks may call the library, but not this function (207000), and are never
 * called concurrently for one allocator object. Without an allocator the workspace is memory of the device until the
 * task is done; 0 bytes need no workspace and call nothing. A NULL stream is the default stream. Failures:
 *   ACL_ERROR_RT_STREAM_NOT_COMPLETE  the allocator object served another stream, which no host thread has
 *                                     synchronized since: streams that share one must not run concurrently
 *   ACL_ERROR_RT_MEMORY_ALLOCATION    alloc returned NULL, or the device has no such memory
 *   ACL_ERROR_RT_PARAM_INVALID        the block's address is not live memory of the stream's device of that size */
aclError aclsimRunOperator(aclrtStream stream, size_t workspaceBytes);

/* A task that takes that many cycles of the device and does nothing else, as the operator aclnnSleep. They are
 * those of the clock that stamps events: 50 MHz on 910B and 910C, 48 MHz on 310B, 1 GHz on the others. An abort, or a reset
 * with force, ends it at once. A NULL stream is the default stream. */
aclError aclsimSleep(aclrtStream stream, uint64_t cycles);

/* Called once, when the task is over and looks at the word no more. result is that of the task: 0, the content of code,
 * ACL_ERROR_RT_TASK_TIMEOUT, or the reason of an abort. It may call the library. */
typedef void (*aclsimWaitEnd)(void *userData, aclError result);

typedef struct aclsimWait {
    const char *name;              /* of the operation, in profiles and in explanations of waits */
    const volatile uint64_t *word; /* aligned to 8; readable until the task is over */
    uint64_t value;                /* that the word must reach: the task waits while *word < value */
    const volatile aclError *code; /* where the task's result is when the word has reached the value; NULL: it is 0 */
    uint32_t timeoutSeconds;       /* until it fails with ACL_ERROR_RT_TASK_TIMEOUT; 0: it has no limit */
    const aclsimAccess *accesses;  /* the operands of the operation; NULL if accessCount is 0 */
    uint64_t accessCount;
    aclsimWaitEnd end; /* may be NULL */
    void *userData;
} aclsimWait;

/* Lets an operation that runs elsewhere have its place in a stream: a task that waits for a word which threads of a
 * companion library, or another process, change. It needs no thread, so that any number of streams may wait. The
 * operands must be live memory, and ASCEND_RT_SIM_CHECK=memory treats the task as their user. The structures are
 * copied. A NULL stream is the default stream. Failures, with which nothing is submitted and end is not
 * called:
 *   ACL_ERROR_INVALID_PARAM        wait, name or word is NULL, the word is not aligned to 8, or an access has no such
 *                                  mode or no shape
 *   ACL_ERROR_RT_PARAM_INVALID     an access is not live memory
 *   ACL_ERROR_RT_STREAM_CAPTURED   the stream is being captured
 *   ACL_ERROR_RT_STREAM_MODEL      the stream is bound to a model, which would repeat the task */
aclError aclsimSubmitWait(aclrtStream stream, const aclsimWait *wait);
/* Lets the tasks of this process that wait for the word look at it now. Without it they look within a millisecond or so,
 * which is how they notice the stores of another process. */
aclError aclsimWake(const volatile uint64_t *word);

/* Does what a program with a variable in device memory does when it is loaded: from now on the symbol, an address of the
 * host, stands for a variable of that size in the symbol functions. Each device gets its own, with the content copied
 * from here, at its first use and again after a reset. ACL_ERROR_RT_INVALID_SYMBOL: it is registered already, or not. */
aclError aclsimRegisterSymbol(const void *symbol, const void *content, size_t size);
aclError aclsimUnregisterSymbol(const void *symbol);

/* What stands in for a kernel. A shared object of the host is loaded by the functions for binaries, and each function that
 * it exports with this signature is the kernel of that name (see aclsim_kernel.h). It is called once for each block, on
 * several threads at the same time. */
typedef void (*aclsimHostKernel)(void *arguments, uint32_t block_index, uint32_t block_count, void *workspace);

/* A block of a launch, as a registered function gets it. */
typedef struct aclsimKernelBlock {
    const char *name;     /* of the kernel */
    void *arguments;      /* the block of arguments, as the launch packed it; placeholders are filled in */
    size_t argumentsSize; /* in bytes */
    uint32_t index;       /* of the block */
    uint32_t count;       /* how many blocks the launch has */
    void *workspace;      /* the same for all blocks; NULL if the kernel has none */
    size_t workspaceSize;
    dim3 grid;    /* of a SIMT launch; else count, 1, 1 */
    dim3 threads; /* of a SIMT launch; else 1, 1, 1 */
    char *text;   /* where the function may write what went wrong, for the message of the failure; "" at first */
    size_t textSize;
    uint64_t *bytes; /* where the function may write how many bytes the block moves, for the cost of the kernel in
                      * ASCEND_RT_SIM_PROFILE; 0 at first. NULL: there is no such cost */
} aclsimKernelBlock;

/* Does the work of a block; several threads call it at the same time. Anything but 0 is the code that the task fails
 * with; a device reports ACL_ERROR_RT_AICORE_EXCEPTION. */
typedef aclError (*aclsimKernelFunction)(const aclsimKernelBlock *block, void *userData);

/* Called once, when the kernel is no longer registered and no launch is left that uses it. */
typedef void (*aclsimReleaseFunction)(void *userData);

typedef struct aclsimKernel {
    aclsimKernelFunction function;
    void *userData;
    aclsimReleaseFunction release; /* may be NULL */
    size_t workspaceSize; /* of a launch; taken as operators take theirs, see aclsimRunOperator */
} aclsimKernel;

/* Lets a function of the program stand in for a kernel, by the kernel's name, in launches from now on: for binaries that
 * are for a device, whose code cannot run here. A shared object's own function goes first. Registering the name again
 * replaces the function. */
aclError aclsimRegisterKernel(const char *name, const aclsimKernel *kernel);
/* Launches that were made go on. ACL_ERROR_RT_INVALID_DEVICE_FUNCTION: no function is registered under the name. */
aclError aclsimUnregisterKernel(const char *name);

/* Lets a function of the program release what the tasks of a captured graph need. It is called once, when the graph has
 * been destroyed and nothing executes it any more; the callbacks of aclmdlRIDestroyRegisterCallback come before that.
 * Not at the end of the process. ACL_ERROR_RT_PARAM_INVALID: it is no captured graph. */
aclError aclsimReleaseWithGraph(aclmdlRI graph, aclsimReleaseFunction release, void *userData);

/* 1 if the runtime allocated the memory, and it is live over the whole range; also in kernels. */
int32_t aclsimIsLive(const void *address, size_t size);

/* Does what a program with kernels in it does when it is loaded: from now on the symbol, an address of the host, stands
 * for the kernel of the binary in aclrtGetFuncBySymbol and in launches that take a symbol, until the binary is unloaded.
 * ACL_ERROR_RT_INVALID_DEVICE_FUNCTION: the symbol stands for a kernel already, or the binary has none of that name. */
aclError aclsimRegisterKernelSymbol(const void *symbol, aclrtBinHandle binary, const char *kernelName);

/* Does nothing and returns 0: the floor for the cost of a call through the binding. */
aclError aclsimNoOp(void *first, void *second);
