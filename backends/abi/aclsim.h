/* SPDX-License-Identifier: Apache-2.0 */
/* Control of the simulator: entry points that the vendor library does not have. */
#pragma once

#include "base.h"

/* Result of aclsimGetInfo. */
typedef struct aclsimInfo {
    char product[16];     /* product profile, for instance "910B" */
    uint32_t deviceCount; /* simulated devices, before ASCEND_RT_VISIBLE_DEVICES */
    uint32_t workerCount; /* threads that move data, for each device */
} aclsimInfo;

/* With on = 1, keeps all devices from starting tasks, including tasks submitted later; running tasks end. With on = 0,
 * lets the devices continue. */
int32_t aclsimHold(int32_t on);
aclError aclsimGetInfo(aclsimInfo *info);
/* Returns 1 if the named function is simulated, 0 if it returns ACL_ERROR_RT_FEATURE_NOT_SUPPORT or is unknown. */
int32_t aclsimIsSimulated(const char *function);

/* Returns the number of reports of ASCEND_RT_SIM_CHECK=memory so far. */
uint64_t aclsimGetCheckReports(void);
/* Notes in the file of ASCEND_RT_SIM_CHECK_DIRECTORY that the process ends in the normal way. For a program that ends
 * without the destructors of libraries, which note it otherwise. */
aclError aclsimNoteEnd(void);
/* Writes to that file how often each race has been seen so far. Otherwise large counts are written when they have grown
 * by 0.1 %, and at the end of the process. */
aclError aclsimWriteCounts(void);
/* Place in the program as seen by its language runtime: code, and an offset in the code. Only the provider interprets
 * the two. */
typedef struct aclsimCallFrame {
    const void *code;
    int64_t offset;
} aclsimCallFrame;
/* Writes the frames of the calling thread, innermost first, at most `most` of them, and returns their number; 0 if no
 * frame is known, and a negative number if all are of libraries. Called at the beginning of functions; must not call
 * the library. */
typedef int32_t (*aclsimCaptureFrames)(aclsimCallFrame *frames, int32_t most);
/* Writes the name of a frame, for instance "train.py:12", and returns 0, or another value if the name is unknown.
 * Called on any thread, with locks of the library held: must neither call the library nor wait. */
typedef int32_t (*aclsimNameFrame)(const aclsimCallFrame *frame, char *text, size_t size);
/* Sets the provider of places. NULL removes it; places are then return addresses. */
aclError aclsimSetPlaceProvider(aclsimCaptureFrames capture, aclsimNameFrame name);
/* Writes the frames of the calling thread that the provider knows, at most `most`, and returns their number. */
int32_t aclsimGetFrames(aclsimCallFrame *frames, int32_t most);
/* Sets the place of calls for which the provider knows no frames of the program: that of the operation whose gradient
 * the thread computes. Reports show it as such. The frames are copied; with count = 0 there is none. */
aclError aclsimSetForwardPlace(const aclsimCallFrame *frames, int32_t count);

typedef enum aclsimAccessMode {
    ACLSIM_ACCESS_READ = 1,
    ACLSIM_ACCESS_WRITE = 2,
    ACLSIM_ACCESS_READ_WRITE = 3,
} aclsimAccessMode;
/* One operand of a kernel: `rank` dimensions, each with a number of elements (`shape`) and their distance in bytes
 * (`strides`); a stride may be negative. */
typedef struct aclsimAccess {
    const void *address; /* the first element */
    aclsimAccessMode mode;
    uint32_t elementSize; /* in bytes */
    uint32_t rank;        /* at most 16; 0 for one element */
    const int64_t *shape;
    const int64_t *strides; /* in bytes; NULL for no gaps, with the last dimension varying fastest */
    const char *name;       /* the operand's; may be NULL; the string must remain valid */
} aclsimAccess;
/* Declares the reads and writes of the next kernel that the calling thread launches or adds to a graph; replaces an
 * earlier declaration. A kernel without a declaration may access anything, and no check guesses its accesses. Does
 * nothing while aclsimWantsAccesses() is 0. */
aclError aclsimDeclareAccesses(const aclsimAccess *accesses, uint64_t count);
/* Returns 1 while a check or another observer needs accesses. */
int32_t aclsimWantsAccesses(void);

/* Notes that code of the program on the calling thread reads or writes memory now. In a host function the access is
 * one of the function's stream; in a kernel nothing is noted, because the accesses of kernels are declared. Does nothing
 * while aclsimWantsHostAccesses() is 0. */
aclError aclsimNoteHostAccess(const aclsimAccess *access);
/* Note an order between threads of the program: all that the releasing thread knows to be done, and has done itself, is
 * handed over by the key, an arbitrary address; a thread that acquires the key comes after everything released under it
 * so far. Do nothing while aclsimWantsHostAccesses() is 0. */
aclError aclsimNoteHostRelease(const void *key);
aclError aclsimNoteHostAcquire(const void *key);
/* Returns 1 while a check or another observer needs what the host does with memory. */
int32_t aclsimWantsHostAccesses(void);

/* With on = 1, queries of the calling thread are made for the purposes of a library that calls the runtime, not for the
 * program: a check for races derives no order from their answers, except that memory may be freed. Ended by on = 0. */
aclError aclsimAskQuietly(int32_t on);
/* The same for queries of all threads about events that were created with exactly these flags of
 * aclrtCreateEventExWithFlag: those of a library that has flags for itself. 0 ends it. */
aclError aclsimAskQuietlyAbout(uint32_t eventFlags);

/* Note what an allocator above the library does with parts of live memory, for a check for races. Do nothing while
 * aclsimWantsHostAccesses() is 0.
 * The program has the part from now on: reports name the place of the call, and the part by the first name that an
 * operand at its beginning has. */
aclError aclsimNoteGivenOut(const void *address, size_t size);
/* All uses of the part that quiet queries have shown to be over are over for the next owner of the part. */
aclError aclsimNoteReusable(const void *address, size_t size);
/* Names the part that begins at the address, unless it has a name. The string must remain valid. */
aclError aclsimNamePart(const void *address, const char *name);

/* Returns a value other than 0 if the calling thread must stop waiting. A thread that waits for a place in a full queue
 * polls this function; if it must stop, its call fails with ACL_ERROR_RT_STREAM_TASK_FULL and submits nothing. A call
 * that blocks on a device that is down polls it too, and fails with ACL_ERROR_RT_SOCKET_CLOSE; so does a call that
 * another thread blocks by synchronizing the device, and fails with ACL_ERROR_RT_WAIT_TIMEOUT. Must not call the library.
 * NULL removes the check. */
typedef int32_t (*aclsimInterruptCheck)(void);
aclError aclsimSetInterruptCheck(aclsimInterruptCheck check);
/* Synchronizes the device as aclrtSynchronizeDeviceWithTimeout does, or for -1 as aclrtSynchronizeDevice, but blocks no
 * call of another thread meanwhile, and fails with ACL_ERROR_RT_STREAM_SYNC_TIMEOUT soon after *isLeft is set (NULL:
 * never). On a device, short waits one after the other have the same effect, but they would hide deadlocks here. */
aclError aclsimSynchronizeDevice(int32_t timeout, const int32_t *isLeft);

/* Writes the graph to which the stream's tasks go: that which is captured, or that whose task group the stream updates.
 * NULL if there is none, or if the product has no graphs. */
aclError aclsimGetGraph(aclrtStream stream, aclmdlRI *graph);

/* Thread of the program, for the search for deadlocks. */
typedef struct aclsimThread {
    uint64_t thread;   /* pthread_self() */
    int32_t isWaiting; /* 1 if it does nothing until another thread has returned from a call of the library, or nothing
                        * that concerns the library; 2 if it does nothing until another thread of the program has acted,
                        * whatever that is; otherwise 0. Threads with 2 must all have been waiting at one time before
                        * this answer. */
} aclsimThread;
/* Writes all threads of the program that may call the library to an array, at most `capacity` of them, and returns
 * their total number; 0 if they are unknown. The list makes it possible to report a wait as a deadlock although the
 * process has other threads, for instance those of a mathematical library. Called from time to time on a waiting
 * thread; must not call the library. NULL removes the provider; any thread of the process may then call the library. */
typedef size_t (*aclsimThreadProvider)(aclsimThread *threads, size_t capacity);
aclError aclsimSetThreadProvider(aclsimThreadProvider provider);
/* Describes a thread for a report, in lines: its name, such as "thread 4711"; the function in which it waits, and what
 * it does there, such as "waits for a lock", both empty unless isWaiting is 2; and the places of its calls, innermost
 * first. Writes at most `size` bytes, and returns their number; 0 if the thread is unknown. Called on a waiting thread;
 * must not call the library. NULL removes the describer. */
typedef size_t (*aclsimThreadDescriber)(uint64_t thread, char *text, size_t size);
aclError aclsimSetThreadDescriber(aclsimThreadDescriber describer);
/* With 0, the simulator prints no messages from then on: the program has no standard error, whose number may be that of
 * any other file. */
aclError aclsimSetMessages(int32_t arePrinted);
/* Status of a process that ends because of a deadlock (ASCEND_RT_SIM_CHECK=deadlocks). */
typedef enum aclsimExit {
    ACLSIM_EXIT_DEADLOCK = 86,
} aclsimExit;

/* Fault injection. nth counts from 1, starting now; 0 means every time. A NULL stream means every stream.
 * ASCEND_RT_SIM_FAULTS has the same effects from outside: entries separated by semicolons, call:FUNCTION:N=CODE,
 * task:STREAM_ID:N=CODE, delay:STREAM_ID=MICROSECONDS (STREAM_ID may be *), limit:streams|events|notifies|memory=N,
 * lose:DEVICE=CODE, poison:DEVICE=CODE, down:DEVICE=MICROSECONDS. */
typedef enum aclsimResource {
    ACLSIM_RESOURCE_STREAMS = 0,
    ACLSIM_RESOURCE_EVENTS = 1,
    ACLSIM_RESOURCE_NOTIFIES = 2,
    ACLSIM_RESOURCE_MEMORY = 3,
} aclsimResource;

/* Makes the nth call of a simulated function return the code and do nothing else. */
aclError aclsimFailCall(const char *function, uint64_t nth, aclError code);
/* Makes the nth task submitted to the stream fail with the code when its turn comes, instead of doing its work. */
aclError aclsimFailTask(aclrtStream stream, uint64_t nth, aclError code);
/* Delays the start of tasks submitted from now on by this time, at most an hour; 0 ends the delay. */
aclError aclsimDelayTasks(aclrtStream stream, uint64_t microseconds);
/* Makes everything that needs the device fail with the code from now on, including aclrtSetDevice. Ended by
 * aclrtResetDevice, or by aclrtResetDeviceForce if the device is not set. */
aclError aclsimLoseDevice(int32_t deviceId, aclError code);
/* Puts the device into the state after an operator that timed out, or after a fault of an AI CPU: creating streams and
 * allocating memory of the device fail with the code from now on; real devices use ACL_ERROR_RT_DRV_INTERNAL_ERROR.
 * Existing objects remain usable. Ended by aclrtResetDeviceForce, but not by aclrtResetDevice. */
aclError aclsimPoisonDevice(int32_t deviceId, aclError code);
/* Takes the device down: everything that needs it fails with ACL_ERROR_RT_SOCKET_CLOSE from now on, and so does the
 * destruction of its streams, alone or with their context. The first call that destroys streams blocks for the given
 * time before it fails, at most an hour; real devices were observed to block for 300 s. Ended by aclrtResetDeviceForce,
 * but not by aclrtResetDevice. */
aclError aclsimTakeDownDevice(int32_t deviceId, uint64_t blockMicroseconds);
/* Limits the amount of the resource that may be in use on the device; the unit of memory is the byte. UINT64_MAX
 * removes the limit. */
aclError aclsimLimitResource(int32_t deviceId, aclsimResource resource, uint64_t limit);
/* Removes all faults; earlier failures remain. */
aclError aclsimClearFaults(void);

/* Simulates an operator that needs workspace, as run by an executor of operators: on the calling thread, it takes a
 * block from the allocator registered for the stream (alloc, then getAddrFromBlock; the advise callback is not used),
 * enqueues a task that overwrites the whole workspace, and returns the block (free) before the call ends. The task uses
 * the memory when its turn in the stream comes, so an allocator must hand out blocks in stream order, and synchronize
 * the stream before it frees their memory; a task whose workspace is no longer live memory fails with
 * ACL_ERROR_RT_AICORE_EXCEPTION. Callbacks may call the library except for this function (207000), and are never called
 * concurrently for one allocator object. Without an allocator, the workspace is memory of the device until the task is
 * done; 0 bytes need no workspace, and no callback is called. A NULL stream is the default stream. Failures:
 *   ACL_ERROR_RT_STREAM_NOT_COMPLETE  the allocator object served another stream, which no host thread has
 *                                     synchronized since: streams that share an object must not run concurrently
 *   ACL_ERROR_RT_MEMORY_ALLOCATION    alloc returned NULL, or the device has not enough memory
 *   ACL_ERROR_RT_PARAM_INVALID        the block's address is not live memory of that size on the stream's device */
aclError aclsimRunOperator(aclrtStream stream, size_t workspaceBytes);

/* Submits a task that takes the given number of device cycles and does nothing else, like the operator aclnnSleep. The
 * cycles are those of the clock that stamps events: 50 MHz on 910B and 910C, 48 MHz on 310B, 1 GHz on the others. An
 * abort, or a reset with force, ends the task at once. A NULL stream is the default stream. */
aclError aclsimSleep(aclrtStream stream, uint64_t cycles);

/* Functions of a companion library for an operation that it runs elsewhere: in its own threads, or in another process.
 * The number identifies one execution of the task; a captured task has one for each replay. */
typedef struct aclsimOperation {
    const char *name;             /* function, in texts, findings, and profiles; stays valid */
    const aclsimAccess *accesses; /* operands; may be NULL if accessCount is 0 */
    uint64_t accessCount;
    void *userData;
    /* Called when the task's turn in its stream has come. Starts the work and returns soon. The stream goes on when
     * aclsimEndOperation is called with the number, which may happen during this call. */
    void (*begin)(void *userData, uint64_t execution);
    /* Called if an abort or a reset ends an execution that has begun, after begin and before the call that ends it
     * returns: from then on the program may free the operands. May be NULL. */
    void (*cancel)(void *userData, uint64_t execution);
    /* Writes what the execution waits for. Must not call the library, nor wait for a thread that does. May be NULL. */
    void (*describe)(void *userData, uint64_t execution, char *text, size_t size);
    /* Called once, after all other functions, when the task is over and cannot begin again. May be NULL. */
    void (*release)(void *userData);
} aclsimOperation;

/* Gives an operation a place in a stream: submits a task that begins it. The task needs no thread, so any number of
 * streams may wait for operations. The operands must be live memory, and observers treat the task as their user. The
 * structures are copied. A task can be captured, and begins anew in each replay. All functions but describe may call the
 * library. A NULL stream is the default stream. Failures, after which nothing is submitted and no function is called:
 *   ACL_ERROR_INVALID_PARAM     operation, name or begin is NULL, accesses is NULL although accessCount is not 0, or an
 *                               access has an unknown mode, a rank above 16 or no shape
 *   ACL_ERROR_RT_PARAM_INVALID  an access is not live memory */
aclError aclsimSubmitOperation(aclrtStream stream, const aclsimOperation *operation);
/* Ends an execution, on any thread. The result is that of the task, and the text the reason of a failure; it is copied,
 * and may be NULL. Fails with ACL_ERROR_RT_INVALID_HANDLE if the execution has ended or was cancelled. */
aclError aclsimEndOperation(uint64_t execution, aclError result, const char *text);

/* Registers a symbol, as the loading of a program with a variable in device memory does: from now on the symbol, an
 * address of the host, is a variable of the given size to the symbol functions. Each device gets a separate
 * variable, initialised with the content passed here, at its first use and again after a reset. Fails with
 * ACL_ERROR_RT_INVALID_SYMBOL if the symbol is already registered; aclsimUnregisterSymbol, if it is not. */
aclError aclsimRegisterSymbol(const void *symbol, const void *content, size_t size);
aclError aclsimUnregisterSymbol(const void *symbol);

/* Function that replaces a kernel. The functions for binaries load a shared object of the host, and each function
 * that it exports with this signature is the kernel of that name (see aclsim_kernel.h). Called once for each block, on
 * several threads at the same time. */
typedef void (*aclsimHostKernel)(void *arguments, uint32_t block_index, uint32_t block_count, void *workspace);

/* Block of a launch, as passed to a registered function. */
typedef struct aclsimKernelBlock {
    const char *name;     /* the kernel's */
    void *arguments;      /* as packed by the launch; placeholders are filled in */
    size_t argumentsSize; /* in bytes */
    uint32_t index;       /* the block's */
    uint32_t count;       /* number of blocks of the launch */
    void *workspace;      /* the same for all blocks; NULL if the kernel has none */
    size_t workspaceSize;
    dim3 grid;    /* the grid of a SIMT launch; otherwise count, 1, 1 */
    dim3 threads; /* the block of a SIMT launch; otherwise 1, 1, 1 */
    char *text;   /* to which the function may write a reason for the message of its failure; "" at first */
    size_t textSize;
    uint64_t *bytes; /* to which the function may write the number of bytes that the block moves, for the cost of the
                      * kernel in ASCEND_RT_SIM_PROFILE; 0 at first. NULL if there is no such cost */
    uint32_t device, stream, task; /* numbers of the launch, as passed to exception callbacks if it fails */
    uint64_t launch;               /* number that differs between all executions of launches in the process; not 0 */
} aclsimKernelBlock;

/* Does the work of a block; called on several threads at the same time. Returns 0, or the code with which the task
 * fails; a real device reports ACL_ERROR_RT_AICORE_EXCEPTION. */
typedef aclError (*aclsimKernelFunction)(const aclsimKernelBlock *block, void *userData);

/* Called once, when the kernel is no longer registered and no remaining launch uses it. */
typedef void (*aclsimReleaseFunction)(void *userData);

typedef struct aclsimKernel {
    aclsimKernelFunction function;
    void *userData;
    aclsimReleaseFunction release; /* may be NULL */
    size_t workspaceSize; /* workspace of a launch; allocated as for operators, see aclsimRunOperator */
    uint32_t isBrief;     /* not 0: a thread that waits with a time limit may run the kernel, which ends the wait late */
} aclsimKernel;

/* Registers a function of the program that replaces a kernel, by the name of the kernel, in launches from now on: for
 * binaries of a device, whose code cannot run here. A function of a shared object takes precedence. Registering the
 * name again replaces the function. */
aclError aclsimRegisterKernel(const char *name, const aclsimKernel *kernel);
/* Removes the function; earlier launches continue. Fails with ACL_ERROR_RT_INVALID_DEVICE_FUNCTION if no function is
 * registered under the name. */
aclError aclsimUnregisterKernel(const char *name);

/* Registers a function of the program that releases the data needed by the tasks of a captured graph. It is called
 * once, when the graph has been destroyed and no execution of it remains, after the callbacks of
 * aclmdlRIDestroyRegisterCallback; it is not called at the end of the process. Fails with ACL_ERROR_RT_PARAM_INVALID if
 * the handle is not that of a captured graph. */
aclError aclsimReleaseWithGraph(aclmdlRI graph, aclsimReleaseFunction release, void *userData);

/* Returns 1 if the runtime allocated the memory and the whole range is live. May be called in kernels too. */
int32_t aclsimIsLive(const void *address, size_t size);

/* Registers a symbol, as the loading of a program with kernels does: from now on the symbol, an address of the host,
 * is the kernel of the binary to aclrtGetFuncBySymbol and in launches that take a symbol, until the binary is
 * unloaded. Fails with ACL_ERROR_RT_INVALID_DEVICE_FUNCTION if the symbol already has a kernel, or if the binary
 * has no kernel of that name. */
aclError aclsimRegisterKernelSymbol(const void *symbol, aclrtBinHandle binary, const char *kernelName);

/* Writes the number of the task that the calling thread submitted last, as aclrtGetThreadLastTaskId does, and the
 * number of its stream; before the first task 0xFFFFFFFF and 0xFFFF. */
aclError aclsimGetLastTask(uint32_t *taskId, uint32_t *streamId);

/* Does nothing and returns 0. Measures the minimum cost of a call through the binding. */
aclError aclsimNoOp(void *first, void *second);
