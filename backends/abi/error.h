/* SPDX-License-Identifier: Apache-2.0 */
/* Error codes, and the recorded error of the last failure (API reference 13, 25-01). */
#pragma once

#include "base.h"

/* Comment of each code: its meaning and, after a bar, the advice; without a bar, the advice of the group applies. The
 * error table of ascend_rt is generated from these lines. */

/* @errors success: nothing to do */
#define ACL_SUCCESS 0 /* success */

/* @errors ACL, wrong use: compare the arguments and the order of the calls with the function's page */
#define ACL_ERROR_INVALID_PARAM 100000 /* an argument is NULL or outside its range | check the arguments against the function's page */
#define ACL_ERROR_UNINITIALIZE 100001 /* aclInit or a feature's own init was not called | call aclInit first; ascend_rt does so when a Device is used */
#define ACL_ERROR_REPEAT_INITIALIZE 100002 /* aclInit was called before | harmless; pair every aclInit with one aclFinalizeReference */
#define ACL_ERROR_INVALID_FILE 100003 /* a file is missing or unreadable | check that the path exists and may be read */
#define ACL_ERROR_WRITE_FILE 100004 /* a file cannot be written | check that the directory exists, may be written and has room */
#define ACL_ERROR_INVALID_FILE_SIZE 100005 /* a file is empty or too large | check the file */
#define ACL_ERROR_PARSE_FILE 100006 /* the content of a file cannot be parsed | check the JSON syntax of the configuration file */
#define ACL_ERROR_FILE_MISSING_ATTR 100007 /* the configuration file lacks an attribute | add it to the file */
#define ACL_ERROR_FILE_ATTR_INVALID 100008 /* an attribute of the configuration file has an invalid value | correct the file */
#define ACL_ERROR_INVALID_DUMP_CONFIG 100009 /* the configuration of dumps is wrong | check the "dump" part of the configuration file */
#define ACL_ERROR_INVALID_PROFILING_CONFIG 100010 /* the configuration of profiling is wrong | check the "profiler" part of the configuration file */
#define ACL_ERROR_INVALID_MODEL_ID 100011 /* unknown model id */
#define ACL_ERROR_DESERIALIZE_MODEL 100012 /* model cannot be deserialised */
#define ACL_ERROR_PARSE_MODEL 100013 /* model cannot be parsed */
#define ACL_ERROR_READ_MODEL_FAILURE 100014 /* model cannot be read */
#define ACL_ERROR_MODEL_SIZE_INVALID 100015 /* model size invalid */
#define ACL_ERROR_MODEL_MISSING_ATTR 100016 /* model lacks an attribute */
#define ACL_ERROR_MODEL_INPUT_NOT_MATCH 100017 /* model inputs differ */
#define ACL_ERROR_MODEL_OUTPUT_NOT_MATCH 100018 /* model outputs differ */
#define ACL_ERROR_MODEL_NOT_DYNAMIC 100019 /* model is not dynamic */
#define ACL_ERROR_OP_TYPE_NOT_MATCH 100020 /* single-op type differs */
#define ACL_ERROR_OP_INPUT_NOT_MATCH 100021 /* single-op inputs differ */
#define ACL_ERROR_OP_OUTPUT_NOT_MATCH 100022 /* single-op outputs differ */
#define ACL_ERROR_OP_ATTR_NOT_MATCH 100023 /* single-op attributes differ */
#define ACL_ERROR_OP_NOT_FOUND 100024 /* single op not found */
#define ACL_ERROR_OP_LOAD_FAILED 100025 /* single op failed to load */
#define ACL_ERROR_UNSUPPORTED_DATA_TYPE 100026 /* data type not supported */
#define ACL_ERROR_FORMAT_NOT_MATCH 100027 /* tensor format differs */
#define ACL_ERROR_BIN_SELECTOR_NOT_REGISTERED 100028 /* no binary selector registered */
#define ACL_ERROR_KERNEL_NOT_FOUND 100029 /* operator kernel not registered */
#define ACL_ERROR_BIN_SELECTOR_ALREADY_REGISTERED 100030 /* selector registered twice */
#define ACL_ERROR_KERNEL_ALREADY_REGISTERED 100031 /* kernel registered twice */
#define ACL_ERROR_INVALID_QUEUE_ID 100032 /* the queue does not exist | use an id from acltdtCreateQueue whose queue is not destroyed */
#define ACL_ERROR_REPEAT_SUBSCRIBE 100033 /* the stream is subscribed already | unsubscribe it first */
#define ACL_ERROR_STREAM_NOT_SUBSCRIBE 100034 /* the stream is not subscribed | call aclrtSubscribeReport for it first */
#define ACL_ERROR_THREAD_NOT_SUBSCRIBE 100035 /* the thread is not subscribed | call aclrtSubscribeReport with its id first */
#define ACL_ERROR_WAIT_CALLBACK_TIMEOUT 100036 /* no callback arrived within the timeout | launch a callback, or wait longer */
#define ACL_ERROR_REPEAT_FINALIZE 100037 /* aclFinalize was called before | call aclFinalize once, after the last aclInit */
#define ACL_ERROR_NOT_STATIC_AIPP 100038 /* no static AIPP */
#define ACL_ERROR_COMPILING_STUB_MODE 100039 /* a link-time stub library was loaded | remove devlib directories from LD_LIBRARY_PATH; load the library of the toolkit's lib64 */
#define ACL_ERROR_GROUP_NOT_SET 100040 /* the thread has set no group | call aclrtSetGroup first */
#define ACL_ERROR_GROUP_NOT_CREATE 100041 /* there is no such group | use a group that aclrtGetAllGroupInfo lists */
#define ACL_ERROR_PROF_ALREADY_RUN 100042 /* profiling runs already | stop it first; a process has one profiling session */
#define ACL_ERROR_PROF_NOT_RUN 100043 /* profiling was not started | call aclprofInit first */
#define ACL_ERROR_DUMP_ALREADY_RUN 100044 /* dumping is initialised already | call aclmdlFinalizeDump first */
#define ACL_ERROR_DUMP_NOT_RUN 100045 /* dumping was not initialised | call aclmdlInitDump first */
#define ACL_ERROR_PROF_REPEAT_SUBSCRIBE 148046 /* model subscribed twice */
#define ACL_ERROR_PROF_API_CONFLICT 148047 /* mixed profiling API styles */
#define ACL_ERROR_INVALID_MAX_OPQUEUE_NUM_CONFIG 148048 /* max_opqueue_num is invalid | correct it in the configuration file */
#define ACL_ERROR_INVALID_OPP_PATH 148049 /* ASCEND_OPP_PATH is missing or wrong | source the toolkit's set_env.sh */
#define ACL_ERROR_OP_UNSUPPORTED_DYNAMIC 148050 /* op has no dynamic shape */
#define ACL_ERROR_RELATIVE_RESOURCE_NOT_CLEARED 148051 /* a resource that depends on this one still exists | destroy the dependent resource first */
#define ACL_ERROR_UNSUPPORTED_JPEG 148052 /* the product does not support JPEG coding of this kind | use another product, or code on the host */
#define ACL_ERROR_INVALID_BUNDLE_MODEL_ID 148053 /* bad bundle model id */

/* @errors runtime, wrong use: compare the arguments, handles and states with the function's page */
#define ACL_ERROR_RT_PARAM_INVALID 107000 /* the runtime refused an argument */
#define ACL_ERROR_RT_INVALID_DEVICEID 107001 /* the device id is invalid | use an id below the device count; check ASCEND_RT_VISIBLE_DEVICES */
#define ACL_ERROR_RT_CONTEXT_NULL 107002 /* the calling thread has no current context | call Device.set_current() (aclrtSetDevice) in this thread; new threads start without one */
#define ACL_ERROR_RT_STREAM_CONTEXT 107003 /* the stream belongs to another context | make the stream's context current before using it */
#define ACL_ERROR_RT_MODEL_CONTEXT 107004 /* the model belongs to another context | make the model's context current before using it */
#define ACL_ERROR_RT_STREAM_MODEL 107005 /* the stream must (or must not) be bound to a model | use an ordinary stream here */
#define ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID 107006 /* the event has no time stamp yet | synchronize the event first, and create it with timing */
#define ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL 107007 /* the second event was recorded before the first, or one of them has no time stamp | pass the earlier event first */
#define ACL_ERROR_RT_ADDR_UNALIGNED 107008 /* the address is not aligned as this call needs it | see the function's page for the alignment */
#define ACL_ERROR_RT_FILE_OPEN 107009 /* a file cannot be opened | check that the path exists and may be read */
#define ACL_ERROR_RT_FILE_WRITE 107010 /* a file cannot be written | check that the directory exists, may be written and has room */
#define ACL_ERROR_RT_STREAM_SUBSCRIBE 107011 /* the stream's callback subscription does not allow this | do not mix host functions and subscribed callbacks on one stream */
#define ACL_ERROR_RT_THREAD_SUBSCRIBE 107012 /* the thread's callback subscription does not allow this | call aclrtProcessReport on the subscribed thread */
#define ACL_ERROR_RT_GROUP_NOT_SET 107013 /* the thread has set no group | call aclrtSetGroup first */
#define ACL_ERROR_RT_GROUP_NOT_CREATE 107014 /* there is no such group | use a group that aclrtGetAllGroupInfo lists */
#define ACL_ERROR_RT_STREAM_NO_CB_REG 107015 /* the stream is not subscribed to a callback thread | call aclrtSubscribeReport for this stream first */
#define ACL_ERROR_RT_INVALID_MEMORY_TYPE 107016 /* the memory is not of the kind that this call takes | check where the pointer comes from with aclrtPointerGetAttributes */
#define ACL_ERROR_RT_INVALID_HANDLE 107017 /* the handle is destroyed, foreign or of another type | do not use an object after its close() or after its device was reset */
#define ACL_ERROR_RT_INVALID_MALLOC_TYPE 107018 /* the driver refused the kind of allocation | pass a policy that the product has */
#define ACL_ERROR_RT_WAIT_TIMEOUT 107019 /* the notify or task did not come within the timeout | look for the record that never came, or raise the timeout */
#define ACL_ERROR_RT_TASK_TIMEOUT 107020 /* a task, for instance a timed wait, timed out | look for the record that never came, or raise the timeout */
#define ACL_ERROR_RT_SYSPARAMOPT_NOT_SET 107021 /* the option was never set in this context | call aclrtCtxSetSysParamOpt first */
#define ACL_ERROR_RT_DEVICE_TASK_ABORT 107022 /* a device task abort is running | wait until the abort has returned */
#define ACL_ERROR_RT_STREAM_ABORT 107023 /* the stream is being aborted | submit again after the abort has returned */
#define ACL_ERROR_RT_CAPTURE_DEPENDENCY 107024 /* the wait is for work outside the capture, or for an event without a record | record the event inside the capture first */
#define ACL_ERROR_RT_STREAM_UNJOINED 107025 /* a stream that joined the capture was not joined back | let the capturing stream wait for an event of every other one before the end */
#define ACL_ERROR_RT_MODEL_CAPTURED 107026 /* the model is being captured | end the capture first */
#define ACL_ERROR_RT_STREAM_CAPTURED 107027 /* the stream is being captured | end the capture first, or use another stream */
#define ACL_ERROR_RT_EVENT_CAPTURED 107028 /* the event was recorded in a capture | end the capture first, or use another event */
#define ACL_ERROR_RT_STREAM_NOT_CAPTURED 107029 /* the stream is not being captured | begin a capture on it first */
#define ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT 107030 /* the mode of a running capture refuses this call | make the call before or after the capture, or capture in a less strict mode */
#define ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT 107031 /* the default stream cannot take part in a capture | use a stream of your own */
#define ACL_ERROR_STREAM_CAPTURE_CONFLICT 107032 /* the event and the stream are in different captures | record and wait within one capture */
#define ACL_ERROR_STREAM_TASK_GROUP_STATUS 107033 /* the task group is in another state than this call needs | pair the begin and end of task groups on the stream */
#define ACL_ERROR_STREAM_TASK_GROUP_INTR 107034 /* the task group was interrupted by a call that cannot be in one | submit only updatable tasks between its begin and end */
#define ACL_ERROR_RT_TASK_ABORT_STOP 107035 /* abort stopped before post-processing (undocumented) */
#define ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED 107036 /* the capture was begun on another stream | end it on the stream it was begun on */
#define ACL_ERROR_RT_MODEL_RUNNING 107037 /* the model is still executing | synchronize its stream first */
#define ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD 107038 /* the capture was begun by another thread | end it on the thread that began it, or begin it in relaxed mode */
#define ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY 107039 /* the array is too small for the result | ask for the number first, then pass an array of that length */
#define ACL_ERROR_RT_MODEL_UPDATE_FAILED 107040 /* the graph cannot be updated now | update it after its capture, while it is not being executed */
#define ACL_ERROR_RT_SYMBOL_NOT_FOUND 107042 /* the binary has no variable of this name | check the name, and that the program is the one that defines it */
#define ACL_ERROR_RT_INVALID_SYMBOL 107043 /* the variable is not registered | register it before it is used; use the same host address */
#define ACL_ERROR_RT_INVALID_DEVICE_FUNCTION 107044 /* the function is not registered | register it before it is used; use the same host address */
#define ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING 107045 /* a sub graph is still capturing (undocumented) */

/* @errors graph engine, wrong use: check the model and its inputs */
#define ACL_ERROR_GE_PARAM_INVALID 145000 /* the graph engine refused an argument */
#define ACL_ERROR_GE_EXEC_NOT_INIT 145001 /* the graph engine is not initialised | initialise it first */
#define ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID 145002 /* path of a model is wrong */
#define ACL_ERROR_GE_EXEC_MODEL_ID_INVALID 145003 /* unknown model id */
#define ACL_ERROR_GE_EXEC_MODEL_DATA_SIZE_INVALID 145006 /* size of the model data is wrong */
#define ACL_ERROR_GE_EXEC_MODEL_ADDR_INVALID 145007 /* address of the model data is wrong */
#define ACL_ERROR_GE_EXEC_MODEL_QUEUE_ID_INVALID 145008 /* unknown queue id of a model */
#define ACL_ERROR_GE_EXEC_LOAD_MODEL_REPEATED 145009 /* the model is loaded already | load it once, or unload it first */
#define ACL_ERROR_GE_DYNAMIC_INPUT_ADDR_INVALID 145011 /* address of a dynamic input is wrong */
#define ACL_ERROR_GE_DYNAMIC_INPUT_LENGTH_INVALID 145012 /* length of a dynamic input is wrong */
#define ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID 145013 /* dynamic batch size is not one of the model */
#define ACL_ERROR_GE_AIPP_BATCH_EMPTY 145014 /* AIPP batch size is 0 */
#define ACL_ERROR_GE_AIPP_NOT_EXIST 145015 /* the model has no AIPP for this input */
#define ACL_ERROR_GE_AIPP_MODE_INVALID 145016 /* AIPP mode of the input is another one */
#define ACL_ERROR_GE_OP_TASK_TYPE_INVALID 145017 /* unknown task type of an operator */
#define ACL_ERROR_GE_OP_KERNEL_TYPE_INVALID 145018 /* unknown kernel type of an operator */
#define ACL_ERROR_GE_PLGMGR_PATH_INVALID 145019 /* path of the plug-in manager is wrong */
#define ACL_ERROR_GE_FORMAT_INVALID 145020 /* tensor format is wrong */
#define ACL_ERROR_GE_SHAPE_INVALID 145021 /* tensor shape is wrong */
#define ACL_ERROR_GE_DATATYPE_INVALID 145022 /* data type is wrong */

/* @errors ACL, resources: free what is no longer needed; check what this product and this release support */
#define ACL_ERROR_BAD_ALLOC 200000 /* host memory is exhausted | free memory of the host, or allocate less */
#define ACL_ERROR_API_NOT_SUPPORT 200001 /* the library does not support the function | `ascend-rt info` shows the library and the product, `ascend-rt coverage` their functions */
#define ACL_ERROR_INVALID_DEVICE 200002 /* the device cannot be used | use an id below the device count; check ASCEND_RT_VISIBLE_DEVICES */
#define ACL_ERROR_MEMORY_ADDRESS_UNALIGNED 200003 /* the address is not aligned as this call needs it | see the function's page for the alignment */
#define ACL_ERROR_RESOURCE_NOT_MATCH 200004 /* the resource does not fit the others | use resources of one device and one context together */
#define ACL_ERROR_INVALID_RESOURCE_HANDLE 200005 /* the handle is destroyed or in use | do not use an object after it was destroyed, nor destroy it while it is in use */
#define ACL_ERROR_FEATURE_UNSUPPORTED 200006 /* the feature is not supported | `ascend-rt info` shows the library and the product, `ascend-rt coverage` their functions */
#define ACL_ERROR_PROF_MODULES_UNSUPPORTED 200007 /* the product cannot profile this module | leave the module out of the configuration of the profile */

/* @errors runtime, resources: free what is no longer needed; check what this product, driver and release support */
#define ACL_ERROR_RT_FEATURE_NOT_SUPPORT 207000 /* not supported by this product, library or simulator | `ascend-rt info` shows the library and the product, `ascend-rt coverage` their functions */
#define ACL_ERROR_RT_MEMORY_ALLOCATION 207001 /* memory is exhausted | free buffers, or allocate less */
#define ACL_ERROR_RT_MEMORY_FREE 207002 /* the memory could not be freed | see the runtime's log */
#define ACL_ERROR_RT_AICORE_OVER_FLOW 207003 /* an AI Core operation overflowed | look at the inputs; see the overflow mode of the stream */
#define ACL_ERROR_RT_NO_DEVICE 207004 /* no usable device | check ASCEND_RT_VISIBLE_DEVICES and npu-smi info */
#define ACL_ERROR_RT_RESOURCE_ALLOC_FAIL 207005 /* a device resource is exhausted | destroy streams, events or notifies that are no longer used */
#define ACL_ERROR_RT_NO_PERMISSION 207006 /* not permitted | run as a user that may use the device; in a container, check the mapped devices */
#define ACL_ERROR_RT_NO_EVENT_RESOURCE 207007 /* all events of the device are in use | close events that are no longer needed, or reuse them */
#define ACL_ERROR_RT_NO_STREAM_RESOURCE 207008 /* all streams of the device are in use | close streams that are no longer needed, or reuse them */
#define ACL_ERROR_RT_NO_NOTIFY_RESOURCE 207009 /* all notifies of the device are in use | close notifies that are no longer needed, or reuse them */
#define ACL_ERROR_RT_NO_MODEL_RESOURCE 207010 /* all models of the device are in use | destroy models that are no longer needed */
#define ACL_ERROR_RT_NO_CDQ_RESOURCE 207011 /* all queues for commands of the device are in use | destroy those that are no longer needed */
#define ACL_ERROR_RT_OVER_LIMIT 207012 /* there are too many queues | destroy those that are no longer needed */
#define ACL_ERROR_RT_QUEUE_EMPTY 207013 /* the queue is empty | enqueue an item, or wait until another process does */
#define ACL_ERROR_RT_QUEUE_FULL 207014 /* the queue is full | dequeue an item, or wait until another process does */
#define ACL_ERROR_RT_REPEATED_INIT 207015 /* the queue is initialised already | initialise it once */
#define ACL_ERROR_RT_AIVEC_OVER_FLOW 207016 /* a vector core operation overflowed | look at the inputs; see the overflow mode of the stream */
#define ACL_ERROR_RT_OVER_FLOW 207017 /* an operation overflowed | look at the inputs; see the overflow mode of the stream */
#define ACL_ERROR_RT_DEVICE_OOM 207018 /* the device's memory is exhausted | free buffers, or allocate less; Device.memory_info has the free bytes */
#define ACL_ERROR_RT_FEATURE_NOT_SUPPORT_UPDATE_OP 207019 /* the driver cannot update this operator in a graph | capture the graph again, or install a newer driver */
#define ACL_ERROR_RT_TIMEOUT 207020 /* the driver did not answer in time | try again; inspect the device with npu-smi info */
#define ACL_ERROR_RT_LINK_TYPE_NOT_SUPPORTED 207021 /* the product has no link of this kind | use another type of link */

/* @errors graph engine, resources: free memory of the host and the device */
#define ACL_ERROR_GE_MEMORY_ALLOCATION 245000 /* the graph engine could not allocate memory */
#define ACL_ERROR_GE_MEMORY_OPERATE_FAILED 245001 /* the graph engine could not copy or free memory */
#define ACL_ERROR_GE_DEVICE_MEMORY_OPERATE_FAILED 245002 /* the graph engine could not use device memory */

/* @errors ACL, limits: delete old files or raise the limit */
#define ACL_ERROR_STORAGE_OVER_LIMIT 300000 /* storage limit exceeded */

/* @errors graph engine, limits: check the deployment and its inputs */
#define ACL_ERROR_GE_SUBHEALTHY 345102 /* the deployment runs with less than its full health */
#define ACL_ERROR_GE_USER_RAISE_EXCEPTION 345103 /* the user's function raised an exception | check the exception of the function */
#define ACL_ERROR_GE_DATA_NOT_ALIGNED 345104 /* input data are not aligned to each other */

/* @errors ACL, internal: read the runtime's log from its first ERROR line on */
#define ACL_ERROR_INTERNAL_ERROR 500000 /* unknown internal error */
#define ACL_ERROR_FAILURE 500001 /* internal failure */
#define ACL_ERROR_GE_FAILURE 500002 /* failure in the graph engine */
#define ACL_ERROR_RT_FAILURE 500003 /* failure in that module */
#define ACL_ERROR_DRV_FAILURE 500004 /* failure in that module */
#define ACL_ERROR_PROFILING_FAILURE 500005 /* failure in that module */

/* @errors runtime, internal: read the runtime's log from its first ERROR line on; inspect the device with npu-smi info */
#define ACL_ERROR_RT_INTERNAL_ERROR 507000 /* the runtime's internal error | if the cause is not clear, read the runtime's log from its first ERROR line on */
#define ACL_ERROR_RT_TS_ERROR 507001 /* the device's task scheduler failed */
#define ACL_ERROR_RT_STREAM_TASK_FULL 507002 /* the queue of the stream is full | wait for the stream, or submit less at once */
#define ACL_ERROR_RT_STREAM_TASK_EMPTY 507003 /* the queue of the stream is empty */
#define ACL_ERROR_RT_STREAM_NOT_COMPLETE 507004 /* the stream has work that is not done | synchronize it first */
#define ACL_ERROR_RT_END_OF_SEQUENCE 507005 /* the AI CPU signalled the end of its sequence | no action is needed: it marks the last item of the data */
#define ACL_ERROR_RT_EVENT_NOT_COMPLETE 507006 /* the event is not complete | synchronize it first */
#define ACL_ERROR_RT_CONTEXT_RELEASE_ERROR 507007 /* the device or context is already released | pair every aclrtResetDevice with one aclrtSetDevice */
#define ACL_ERROR_RT_SOC_VERSION 507008 /* the chip is not the one that the software is for | install the toolkit and the driver for this product */
#define ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT 507009 /* this task cannot be in such a stream or model | submit it to an ordinary stream */
#define ACL_ERROR_RT_LOST_HEARTBEAT 507010 /* the device is lost: its task scheduler does not answer | reset the device with force, or end the process and inspect it with npu-smi info */
#define ACL_ERROR_RT_MODEL_EXECUTE 507011 /* the execution of a model failed, or it cannot be executed | the exception callback has the code of the task that failed; finish building a model first */
#define ACL_ERROR_RT_REPORT_TIMEOUT 507012 /* no callback arrived within the timeout | launch a callback, or wait longer */
#define ACL_ERROR_RT_SYS_DMA 507013 /* a copy by the device failed: an address or the hardware is faulty | check addresses and sizes of the task */
#define ACL_ERROR_RT_AICORE_TIMEOUT 507014 /* a kernel on the AI Core did not end within the time limit | look for an endless loop, or raise the limit with aclrtSetOpExecuteTimeOut */
#define ACL_ERROR_RT_AICORE_EXCEPTION 507015 /* a kernel on the AI Core failed | check the addresses and sizes of its arguments */
#define ACL_ERROR_RT_AICORE_TRAP_EXCEPTION 507016 /* a kernel on the AI Core was trapped | check the addresses and sizes of its arguments */
#define ACL_ERROR_RT_AICPU_TIMEOUT 507017 /* a kernel on the AI CPU did not end within the time limit | look for an endless loop, or raise the limit with aclrtSetOpExecuteTimeOut */
#define ACL_ERROR_RT_AICPU_EXCEPTION 507018 /* a kernel on the AI CPU failed | check its arguments */
#define ACL_ERROR_RT_AICPU_DATADUMP_RSP_ERR 507019 /* AI CPU response missing */
#define ACL_ERROR_RT_AICPU_MODEL_RSP_ERR 507020 /* AI CPU response missing */
#define ACL_ERROR_RT_PROFILING_ERROR 507021 /* profiling failed */
#define ACL_ERROR_RT_IPC_ERROR 507022 /* the connection to another process failed | check that the other process is still running */
#define ACL_ERROR_RT_MODEL_ABORT_NORMAL 507023 /* the execution of the model was aborted | expected after aclmdlRIAbort */
#define ACL_ERROR_RT_KERNEL_UNREGISTERING 507024 /* the kernel is being removed | do not launch kernels of a binary that is being unloaded */
#define ACL_ERROR_RT_RINGBUFFER_NOT_INIT 507025 /* the ring buffer of the device's log is not set up */
#define ACL_ERROR_RT_RINGBUFFER_NO_DATA 507026 /* the ring buffer of the device's log has no data */
#define ACL_ERROR_RT_KERNEL_LOOKUP 507027 /* the kernel is not registered | register it before it is launched */
#define ACL_ERROR_RT_KERNEL_DUPLICATE 507028 /* the kernel is registered twice | register it once */
#define ACL_ERROR_RT_DEBUG_REGISTER_FAIL 507029 /* debug registration */
#define ACL_ERROR_RT_DEBUG_UNREGISTER_FAIL 507030 /* debug registration */
#define ACL_ERROR_RT_LABEL_CONTEXT 507031 /* the label belongs to another context | make the label's context current before using it */
#define ACL_ERROR_RT_PROGRAM_USE_OUT 507032 /* too many programs are loaded | unload programs that are no longer needed */
#define ACL_ERROR_RT_DEV_SETUP_ERROR 507033 /* the device is not set up, or cannot be opened | call aclrtSetDevice first; if that fails, npu-smi info shows whether the device is healthy, and which processes use it and its memory */
#define ACL_ERROR_RT_VECTOR_CORE_TIMEOUT 507034 /* a kernel on the vector core did not end within the time limit | look for an endless loop, or raise the limit with aclrtSetOpExecuteTimeOut */
#define ACL_ERROR_RT_VECTOR_CORE_EXCEPTION 507035 /* a kernel on the vector core failed | check the addresses and sizes of its arguments */
#define ACL_ERROR_RT_VECTOR_CORE_TRAP_EXCEPTION 507036 /* a kernel on the vector core was trapped | check the addresses and sizes of its arguments */
#define ACL_ERROR_RT_CDQ_BATCH_ABNORMAL 507037 /* cdq batch */
#define ACL_ERROR_RT_DIE_MODE_CHANGE_ERROR 507038 /* die mode */
#define ACL_ERROR_RT_DIE_SET_ERROR 507039 /* die mode */
#define ACL_ERROR_RT_INVALID_DIEID 507040 /* die mode */
#define ACL_ERROR_RT_DIE_MODE_NOT_SET 507041 /* die mode */
#define ACL_ERROR_RT_AICORE_TRAP_READ_OVERFLOW 507042 /* a kernel on the AI Core read out of bounds | check the addresses and sizes of its arguments */
#define ACL_ERROR_RT_AICORE_TRAP_WRITE_OVERFLOW 507043 /* a kernel on the AI Core wrote out of bounds | check the addresses and sizes of its arguments */
#define ACL_ERROR_RT_VECTOR_CORE_TRAP_READ_OVERFLOW 507044 /* a kernel on the vector core read out of bounds | check the addresses and sizes of its arguments */
#define ACL_ERROR_RT_VECTOR_CORE_TRAP_WRITE_OVERFLOW 507045 /* a kernel on the vector core wrote out of bounds | check the addresses and sizes of its arguments */
#define ACL_ERROR_RT_STREAM_SYNC_TIMEOUT 507046 /* the stream was not done within the timeout | wait longer; the stream keeps running */
#define ACL_ERROR_RT_EVENT_SYNC_TIMEOUT 507047 /* the event was not done within the timeout | wait longer; the stream keeps running */
#define ACL_ERROR_RT_FFTS_PLUS_TIMEOUT 507048 /* internal task failures */
#define ACL_ERROR_RT_FFTS_PLUS_EXCEPTION 507049 /* internal task failures */
#define ACL_ERROR_RT_FFTS_PLUS_TRAP_EXCEPTION 507050 /* internal task failures */
#define ACL_ERROR_RT_SEND_MSG 507051 /* queue message / copy failed */
#define ACL_ERROR_RT_COPY_DATA 507052 /* queue message / copy failed */
#define ACL_ERROR_RT_DEVICE_MEM_ERROR 507053 /* the device's memory has an error that cannot be corrected */
#define ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR 507054 /* the device's memory has an error of several bits */
#define ACL_ERROR_RT_SUSPECT_DEVICE_MEM_ERROR 507055 /* the memory of another device is suspected to be broken */
#define ACL_ERROR_RT_LINK_ERROR 507056 /* the link between devices is down */
#define ACL_ERROR_RT_SUSPECT_REMOTE_ERROR 507057 /* the memory of another server is suspected to be broken */
#define ACL_ERROR_RT_DRV_INTERNAL_ERROR 507899 /* the driver failed, or refused the state | read the driver's log; inspect the device with npu-smi info */
#define ACL_ERROR_RT_AICPU_INTERNAL_ERROR 507900 /* AI CPU */
#define ACL_ERROR_RT_SOCKET_CLOSE 507901 /* host-device channel closed */
#define ACL_ERROR_RT_AICPU_INFO_LOAD_RSP_ERR 507902 /* AI CPU */
#define ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED 507903 /* the capture was invalidated by a call that is not allowed during a capture | end it, and capture again without that call */
#define ACL_ERROR_RT_COMM_OP_RETRY_FAIL 507904 /* collective retry failed */
#define ACL_ERROR_SNAPSHOT_LOCK_TIMEOUT 507905 /* the process could not be locked in time | let its calls return first */
#define ACL_ERROR_SNAPSHOT_LOCK_FAILED 507906 /* the process could not be locked | check the order of lock, backup, restore and unlock */
#define ACL_ERROR_SNAPSHOT_UNLOCK_FAILED 507907 /* the process could not be unlocked | check the order of lock, backup, restore and unlock */
#define ACL_ERROR_SNAPSHOT_BACKUP_FAILED 507908 /* the process could not be backed up | lock it first */
#define ACL_ERROR_SNAPSHOT_RESTORE_FAILED 507909 /* the process could not be restored | lock it and back it up first */
#define ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED 507910 /* part of the host memory is registered already | register each range once; aclrtHostUnregister comes first */
#define ACL_ERROR_HOST_MEMORY_NOT_REGISTERED 507911 /* the host memory is not registered | pass an address that was registered with aclrtHostRegister */
#define ACL_ERROR_SNAPSHOT_CALLBACK_FAILED 507912 /* a callback of the snapshot failed | check the code that the callback returned */
#define ACL_ERROR_SNAPSHOT_REGISTER_CALLBACK_FAILED 507913 /* the callback of the snapshot cannot be registered | register each function once */
#define ACL_ERROR_RT_L3_PORT_ERROR 507914 /* L3 port */
#define ACL_ERROR_RT_CCU_TIMEOUT 507915 /* CCU engine */
#define ACL_ERROR_RT_CCU_EXCEPTION 507916 /* CCU engine */

/* @errors graph engine, internal: read the log of the graph engine from its first ERROR line on */
#define ACL_ERROR_GE_INTERNAL_ERROR 545000 /* unknown failure in the graph engine */
#define ACL_ERROR_GE_LOAD_MODEL 545001 /* a model cannot be loaded */
#define ACL_ERROR_GE_EXEC_LOAD_MODEL_PARTITION_FAILED 545002 /* the model partition cannot be loaded */
#define ACL_ERROR_GE_EXEC_LOAD_WEIGHT_PARTITION_FAILED 545003 /* the weight partition cannot be loaded */
#define ACL_ERROR_GE_EXEC_LOAD_TASK_PARTITION_FAILED 545004 /* the task partition cannot be loaded */
#define ACL_ERROR_GE_EXEC_LOAD_KERNEL_PARTITION_FAILED 545005 /* the kernel partition cannot be loaded */
#define ACL_ERROR_GE_EXEC_RELEASE_MODEL_DATA 545006 /* model data cannot be released */
#define ACL_ERROR_GE_COMMAND_HANDLE 545007 /* a command cannot be carried out */
#define ACL_ERROR_GE_GET_TENSOR_INFO 545008 /* tensor information is not available */
#define ACL_ERROR_GE_UNLOAD_MODEL 545009 /* a model cannot be unloaded */
#define ACL_ERROR_GE_MODEL_EXECUTE_TIMEOUT 545601 /* a model did not finish in time | wait longer, or find the operation that the model waits for */
#define ACL_ERROR_GE_REDEPLOYING 545602 /* the model is being redeployed | try again after the deployment */

/* Other names of success. */
#define ACL_ERROR_NONE 0
#define ACL_RT_SUCCESS 0

typedef enum aclrtLastErrLevel {
    ACL_RT_THREAD_LEVEL = 0,
} aclrtLastErrLevel;

const char *aclGetRecentErrMsg(void);
aclError aclrtGetLastError(aclrtLastErrLevel level);
aclError aclrtPeekAtLastError(aclrtLastErrLevel level);
