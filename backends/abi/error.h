/* Error codes and what the runtime remembers of the last failure (API reference 13, 25-01). */
#pragma once

#include "base.h"

/* Each code: meaning, and after the bar what to do. The table of ascend_rt.errors is made from these lines. */
#define ACL_SUCCESS 0 /* success */
#define ACL_ERROR_INVALID_PARAM 100000 /* an argument is NULL or outside its range | check the arguments against the function's page */
#define ACL_ERROR_UNINITIALIZE 100001 /* aclInit or a feature's own init was not called | call aclInit first; ascend_rt does so when a Device is used */
#define ACL_ERROR_REPEAT_INITIALIZE 100002 /* aclInit was called before | harmless; pair every aclInit with one aclFinalizeReference */
#define ACL_ERROR_INVALID_FILE 100003 /* a file is missing or unreadable | check that the path exists and may be read */
#define ACL_ERROR_WRITE_FILE 100004 /* file write failed */
#define ACL_ERROR_INVALID_FILE_SIZE 100005 /* bad file size */
#define ACL_ERROR_PARSE_FILE 100006 /* the content of a file cannot be parsed | check the JSON syntax of the configuration file */
#define ACL_ERROR_FILE_MISSING_ATTR 100007 /* attribute missing in file */
#define ACL_ERROR_FILE_ATTR_INVALID 100008 /* attribute value in file invalid */
#define ACL_ERROR_INVALID_DUMP_CONFIG 100009 /* bad dump configuration */
#define ACL_ERROR_INVALID_PROFILING_CONFIG 100010 /* bad profiling configuration */
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
#define ACL_ERROR_INVALID_QUEUE_ID 100032 /* bad queue id */
#define ACL_ERROR_REPEAT_SUBSCRIBE 100033 /* stream subscribed twice */
#define ACL_ERROR_STREAM_NOT_SUBSCRIBE 100034 /* stream not subscribed */
#define ACL_ERROR_THREAD_NOT_SUBSCRIBE 100035 /* thread not subscribed */
#define ACL_ERROR_WAIT_CALLBACK_TIMEOUT 100036 /* callback wait timed out */
#define ACL_ERROR_REPEAT_FINALIZE 100037 /* aclFinalize was called before | call aclFinalize once, after the last aclInit */
#define ACL_ERROR_NOT_STATIC_AIPP 100038 /* no static AIPP */
#define ACL_ERROR_COMPILING_STUB_MODE 100039 /* a link-time stub library was loaded | remove devlib directories from LD_LIBRARY_PATH; load the library of the toolkit's lib64 */
#define ACL_ERROR_GROUP_NOT_SET 100040 /* group not set / not created */
#define ACL_ERROR_GROUP_NOT_CREATE 100041 /* group not set / not created */
#define ACL_ERROR_PROF_ALREADY_RUN 100042 /* profiling already / not started */
#define ACL_ERROR_PROF_NOT_RUN 100043 /* profiling already / not started */
#define ACL_ERROR_DUMP_ALREADY_RUN 100044 /* dump already / not started */
#define ACL_ERROR_DUMP_NOT_RUN 100045 /* dump already / not started */
#define ACL_ERROR_RT_PARAM_INVALID 107000 /* the runtime refused an argument | see the message; the value is outside what this call accepts in this state */
#define ACL_ERROR_RT_INVALID_DEVICEID 107001 /* the device id is invalid | use an id below the device count; check ASCEND_RT_VISIBLE_DEVICES */
#define ACL_ERROR_RT_CONTEXT_NULL 107002 /* the calling thread has no current context | call Device.set_current() (aclrtSetDevice) in this thread; new threads start without one */
#define ACL_ERROR_RT_STREAM_CONTEXT 107003 /* the stream belongs to another context | make the stream's context current before using it */
#define ACL_ERROR_RT_MODEL_CONTEXT 107004 /* model belongs to another context */
#define ACL_ERROR_RT_STREAM_MODEL 107005 /* the stream must (or must not) be bound to a model | use an ordinary stream here */
#define ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID 107006 /* the event has no time stamp yet | synchronize the event first, and create it with timing */
#define ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL 107007 /* event has no / reversed time stamp */
#define ACL_ERROR_RT_ADDR_UNALIGNED 107008 /* address not aligned */
#define ACL_ERROR_RT_FILE_OPEN 107009 /* file error */
#define ACL_ERROR_RT_FILE_WRITE 107010 /* file error */
#define ACL_ERROR_RT_STREAM_SUBSCRIBE 107011 /* the stream's callback subscription does not allow this | do not mix host functions and subscribed callbacks on one stream */
#define ACL_ERROR_RT_THREAD_SUBSCRIBE 107012 /* the thread's callback subscription does not allow this | call aclrtProcessReport on the subscribed thread */
#define ACL_ERROR_RT_GROUP_NOT_SET 107013 /* group problem */
#define ACL_ERROR_RT_GROUP_NOT_CREATE 107014 /* group problem */
#define ACL_ERROR_RT_STREAM_NO_CB_REG 107015 /* the stream is not subscribed to a callback thread | call aclrtSubscribeReport for this stream first */
#define ACL_ERROR_RT_INVALID_MEMORY_TYPE 107016 /* memory type invalid */
#define ACL_ERROR_RT_INVALID_HANDLE 107017 /* the handle is destroyed, foreign or of another type | do not use an object after its close() or after its device was reset */
#define ACL_ERROR_RT_INVALID_MALLOC_TYPE 107018 /* wrong allocation type */
#define ACL_ERROR_RT_WAIT_TIMEOUT 107019 /* wait / task timed out */
#define ACL_ERROR_RT_TASK_TIMEOUT 107020 /* a task, for instance a timed wait, timed out | look for the record that never came, or raise the timeout */
#define ACL_ERROR_RT_SYSPARAMOPT_NOT_SET 107021 /* context option never set */
#define ACL_ERROR_RT_DEVICE_TASK_ABORT 107022 /* a device task abort is running | wait until the abort has returned */
#define ACL_ERROR_RT_STREAM_ABORT 107023 /* the stream is being aborted | submit again after the abort has returned */
#define ACL_ERROR_RT_CAPTURE_DEPENDENCY 107024 /* wait on work outside the capture / event never recorded */
#define ACL_ERROR_RT_STREAM_UNJOINED 107025 /* forked stream not joined back */
#define ACL_ERROR_RT_MODEL_CAPTURED 107026 /* object is in capture */
#define ACL_ERROR_RT_STREAM_CAPTURED 107027 /* object is in capture */
#define ACL_ERROR_RT_EVENT_CAPTURED 107028 /* object is in capture */
#define ACL_ERROR_RT_STREAM_NOT_CAPTURED 107029 /* stream not in capture */
#define ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT 107030 /* unsafe call refused by capture mode */
#define ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT 107031 /* default stream involved in capture */
#define ACL_ERROR_STREAM_CAPTURE_CONFLICT 107032 /* event and stream are in different captures */
#define ACL_ERROR_STREAM_TASK_GROUP_STATUS 107033 /* task group in wrong state */
#define ACL_ERROR_STREAM_TASK_GROUP_INTR 107034 /* task group interrupted */
#define ACL_ERROR_RT_TASK_ABORT_STOP 107035 /* abort stopped before post-processing (undocumented) */
#define ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED 107036 /* capture not begun on this stream */
#define ACL_ERROR_RT_MODEL_RUNNING 107037 /* model still executing */
#define ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD 107038 /* capture ended on another thread */
#define ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY 107039 /* output array too small */
#define ACL_ERROR_RT_MODEL_UPDATE_FAILED 107040 /* graph cannot be updated now */
#define ACL_ERROR_RT_SYMBOL_NOT_FOUND 107042 /* global symbol not in binary */
#define ACL_ERROR_RT_INVALID_SYMBOL 107043 /* host variable / host function not registered */
#define ACL_ERROR_RT_INVALID_DEVICE_FUNCTION 107044 /* host variable / host function not registered */
#define ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING 107045 /* a sub graph is still capturing (undocumented) */
#define ACL_ERROR_PROF_REPEAT_SUBSCRIBE 148046 /* model subscribed twice */
#define ACL_ERROR_PROF_API_CONFLICT 148047 /* mixed profiling API styles */
#define ACL_ERROR_INVALID_MAX_OPQUEUE_NUM_CONFIG 148048 /* bad max_opqueue_num */
#define ACL_ERROR_INVALID_OPP_PATH 148049 /* ASCEND_OPP_PATH missing or wrong */
#define ACL_ERROR_OP_UNSUPPORTED_DYNAMIC 148050 /* op has no dynamic shape */
#define ACL_ERROR_RELATIVE_RESOURCE_NOT_CLEARED 148051 /* dependent resource still alive */
#define ACL_ERROR_UNSUPPORTED_JPEG 148052 /* JPEG coding not supported */
#define ACL_ERROR_INVALID_BUNDLE_MODEL_ID 148053 /* bad bundle model id */
#define ACL_ERROR_BAD_ALLOC 200000 /* host memory allocation failed */
#define ACL_ERROR_API_NOT_SUPPORT 200001 /* API not supported here */
#define ACL_ERROR_INVALID_DEVICE 200002 /* bad device */
#define ACL_ERROR_MEMORY_ADDRESS_UNALIGNED 200003 /* address alignment */
#define ACL_ERROR_RESOURCE_NOT_MATCH 200004 /* resource mismatch */
#define ACL_ERROR_INVALID_RESOURCE_HANDLE 200005 /* resource handle dead or in use */
#define ACL_ERROR_FEATURE_UNSUPPORTED 200006 /* feature not supported */
#define ACL_ERROR_PROF_MODULES_UNSUPPORTED 200007 /* profiling module not supported */
#define ACL_ERROR_RT_FEATURE_NOT_SUPPORT 207000 /* not supported by this product, library or simulator | see `ascend-rt info`; look the function up in the support table */
#define ACL_ERROR_RT_MEMORY_ALLOCATION 207001 /* memory is exhausted | free buffers, or allocate less */
#define ACL_ERROR_RT_MEMORY_FREE 207002 /* alloc / free failed */
#define ACL_ERROR_RT_AICORE_OVER_FLOW 207003 /* AI core numeric overflow */
#define ACL_ERROR_RT_NO_DEVICE 207004 /* no usable device | check ASCEND_RT_VISIBLE_DEVICES and npu-smi info */
#define ACL_ERROR_RT_RESOURCE_ALLOC_FAIL 207005 /* a device resource is exhausted | destroy streams, events or notifies that are no longer used */
#define ACL_ERROR_RT_NO_PERMISSION 207006 /* not permitted */
#define ACL_ERROR_RT_NO_EVENT_RESOURCE 207007 /* all events of the device are in use | close events that are no longer needed, or reuse them */
#define ACL_ERROR_RT_NO_STREAM_RESOURCE 207008 /* all streams of the device are in use | close streams that are no longer needed, or reuse them */
#define ACL_ERROR_RT_NO_NOTIFY_RESOURCE 207009 /* that resource is exhausted */
#define ACL_ERROR_RT_NO_MODEL_RESOURCE 207010 /* that resource is exhausted */
#define ACL_ERROR_RT_NO_CDQ_RESOURCE 207011 /* that resource is exhausted */
#define ACL_ERROR_RT_OVER_LIMIT 207012 /* too many queues */
#define ACL_ERROR_RT_QUEUE_EMPTY 207013 /* queue state */
#define ACL_ERROR_RT_QUEUE_FULL 207014 /* queue state */
#define ACL_ERROR_RT_REPEATED_INIT 207015 /* queue initialised twice */
#define ACL_ERROR_RT_AIVEC_OVER_FLOW 207016 /* vector / other overflow (undocumented) */
#define ACL_ERROR_RT_OVER_FLOW 207017 /* vector / other overflow (undocumented) */
#define ACL_ERROR_RT_DEVICE_OOM 207018 /* device memory exhausted */
#define ACL_ERROR_RT_FEATURE_NOT_SUPPORT_UPDATE_OP 207019 /* driver cannot update this op */
#define ACL_ERROR_RT_TIMEOUT 207020 /* driver timeout (undocumented) */
#define ACL_ERROR_RT_LINK_TYPE_NOT_SUPPORTED 207021 /* link type unsupported */
#define ACL_ERROR_STORAGE_OVER_LIMIT 300000 /* storage limit exceeded */
#define ACL_ERROR_INTERNAL_ERROR 500000 /* unknown internal error */
#define ACL_ERROR_FAILURE 500001 /* internal failure */
#define ACL_ERROR_RT_FAILURE 500003 /* failure in that module */
#define ACL_ERROR_DRV_FAILURE 500004 /* failure in that module */
#define ACL_ERROR_PROFILING_FAILURE 500005 /* failure in that module */
#define ACL_ERROR_RT_INTERNAL_ERROR 507000 /* the runtime's internal error | see the message; an event without a record gives it too */
#define ACL_ERROR_RT_TS_ERROR 507001 /* task scheduler internal */
#define ACL_ERROR_RT_STREAM_TASK_FULL 507002 /* stream queue state */
#define ACL_ERROR_RT_STREAM_TASK_EMPTY 507003 /* stream queue state */
#define ACL_ERROR_RT_STREAM_NOT_COMPLETE 507004 /* stream queue state */
#define ACL_ERROR_RT_END_OF_SEQUENCE 507005 /* AI CPU signalled end */
#define ACL_ERROR_RT_EVENT_NOT_COMPLETE 507006 /* event not complete */
#define ACL_ERROR_RT_CONTEXT_RELEASE_ERROR 507007 /* the device or context is already released | pair every aclrtResetDevice with one aclrtSetDevice */
#define ACL_ERROR_RT_SOC_VERSION 507008 /* SoC version problem */
#define ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT 507009 /* task type not allowed here */
#define ACL_ERROR_RT_LOST_HEARTBEAT 507010 /* task scheduler lost */
#define ACL_ERROR_RT_MODEL_EXECUTE 507011 /* model execution failed or not executable */
#define ACL_ERROR_RT_REPORT_TIMEOUT 507012 /* no callback arrived within the timeout | launch a callback, or wait longer */
#define ACL_ERROR_RT_SYS_DMA 507013 /* DMA hardware error */
#define ACL_ERROR_RT_AICORE_TIMEOUT 507014 /* cube core failures */
#define ACL_ERROR_RT_AICORE_EXCEPTION 507015 /* cube core failures */
#define ACL_ERROR_RT_AICORE_TRAP_EXCEPTION 507016 /* cube core failures */
#define ACL_ERROR_RT_AICPU_TIMEOUT 507017 /* AI CPU failures */
#define ACL_ERROR_RT_AICPU_EXCEPTION 507018 /* AI CPU failures */
#define ACL_ERROR_RT_AICPU_DATADUMP_RSP_ERR 507019 /* AI CPU response missing */
#define ACL_ERROR_RT_AICPU_MODEL_RSP_ERR 507020 /* AI CPU response missing */
#define ACL_ERROR_RT_PROFILING_ERROR 507021 /* profiling / IPC */
#define ACL_ERROR_RT_IPC_ERROR 507022 /* profiling / IPC */
#define ACL_ERROR_RT_MODEL_ABORT_NORMAL 507023 /* model left normally by abort */
#define ACL_ERROR_RT_KERNEL_UNREGISTERING 507024 /* kernel being removed */
#define ACL_ERROR_RT_RINGBUFFER_NOT_INIT 507025 /* ring buffer */
#define ACL_ERROR_RT_RINGBUFFER_NO_DATA 507026 /* ring buffer */
#define ACL_ERROR_RT_KERNEL_LOOKUP 507027 /* kernel registry */
#define ACL_ERROR_RT_KERNEL_DUPLICATE 507028 /* kernel registry */
#define ACL_ERROR_RT_DEBUG_REGISTER_FAIL 507029 /* debug registration */
#define ACL_ERROR_RT_DEBUG_UNREGISTER_FAIL 507030 /* debug registration */
#define ACL_ERROR_RT_LABEL_CONTEXT 507031 /* label of another context */
#define ACL_ERROR_RT_PROGRAM_USE_OUT 507032 /* too many programs */
#define ACL_ERROR_RT_DEV_SETUP_ERROR 507033 /* the device is not set up | call aclrtSetDevice for it first */
#define ACL_ERROR_RT_VECTOR_CORE_TIMEOUT 507034 /* vector core failures */
#define ACL_ERROR_RT_VECTOR_CORE_EXCEPTION 507035 /* vector core failures */
#define ACL_ERROR_RT_VECTOR_CORE_TRAP_EXCEPTION 507036 /* vector core failures */
#define ACL_ERROR_RT_CDQ_BATCH_ABNORMAL 507037 /* cdq batch */
#define ACL_ERROR_RT_DIE_MODE_CHANGE_ERROR 507038 /* die mode */
#define ACL_ERROR_RT_DIE_SET_ERROR 507039 /* die mode */
#define ACL_ERROR_RT_INVALID_DIEID 507040 /* die mode */
#define ACL_ERROR_RT_DIE_MODE_NOT_SET 507041 /* die mode */
#define ACL_ERROR_RT_AICORE_TRAP_READ_OVERFLOW 507042 /* cube trap out of bounds */
#define ACL_ERROR_RT_AICORE_TRAP_WRITE_OVERFLOW 507043 /* cube trap out of bounds */
#define ACL_ERROR_RT_VECTOR_CORE_TRAP_READ_OVERFLOW 507044 /* vector trap out of bounds */
#define ACL_ERROR_RT_VECTOR_CORE_TRAP_WRITE_OVERFLOW 507045 /* vector trap out of bounds */
#define ACL_ERROR_RT_STREAM_SYNC_TIMEOUT 507046 /* the stream was not done within the timeout | wait longer; the stream keeps running */
#define ACL_ERROR_RT_EVENT_SYNC_TIMEOUT 507047 /* the event was not done within the timeout | wait longer; the stream keeps running */
#define ACL_ERROR_RT_FFTS_PLUS_TIMEOUT 507048 /* internal task failures */
#define ACL_ERROR_RT_FFTS_PLUS_EXCEPTION 507049 /* internal task failures */
#define ACL_ERROR_RT_FFTS_PLUS_TRAP_EXCEPTION 507050 /* internal task failures */
#define ACL_ERROR_RT_SEND_MSG 507051 /* queue message / copy failed */
#define ACL_ERROR_RT_COPY_DATA 507052 /* queue message / copy failed */
#define ACL_ERROR_RT_DEVICE_MEM_ERROR 507053 /* uncorrectable memory error */
#define ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR 507054 /* HBM ECC */
#define ACL_ERROR_RT_SUSPECT_DEVICE_MEM_ERROR 507055 /* peer memory suspected */
#define ACL_ERROR_RT_LINK_ERROR 507056 /* device link down */
#define ACL_ERROR_RT_SUSPECT_REMOTE_ERROR 507057 /* peer memory suspected */
#define ACL_ERROR_RT_DRV_INTERNAL_ERROR 507899 /* driver internal */
#define ACL_ERROR_RT_AICPU_INTERNAL_ERROR 507900 /* AI CPU */
#define ACL_ERROR_RT_SOCKET_CLOSE 507901 /* host-device channel closed */
#define ACL_ERROR_RT_AICPU_INFO_LOAD_RSP_ERR 507902 /* AI CPU */
#define ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED 507903 /* capture became invalid */
#define ACL_ERROR_RT_COMM_OP_RETRY_FAIL 507904 /* collective retry failed */
#define ACL_ERROR_SNAPSHOT_LOCK_TIMEOUT 507905 /* snapshot */
#define ACL_ERROR_SNAPSHOT_LOCK_FAILED 507906 /* snapshot */
#define ACL_ERROR_SNAPSHOT_UNLOCK_FAILED 507907 /* snapshot */
#define ACL_ERROR_SNAPSHOT_BACKUP_FAILED 507908 /* snapshot */
#define ACL_ERROR_SNAPSHOT_RESTORE_FAILED 507909 /* snapshot */
#define ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED 507910 /* host registration state */
#define ACL_ERROR_HOST_MEMORY_NOT_REGISTERED 507911 /* host registration state */
#define ACL_ERROR_SNAPSHOT_CALLBACK_FAILED 507912 /* snapshot callbacks */
#define ACL_ERROR_SNAPSHOT_REGISTER_CALLBACK_FAILED 507913 /* snapshot callbacks */
#define ACL_ERROR_RT_L3_PORT_ERROR 507914 /* L3 port */
#define ACL_ERROR_RT_CCU_TIMEOUT 507915 /* CCU engine */
#define ACL_ERROR_RT_CCU_EXCEPTION 507916 /* CCU engine */
typedef enum aclrtLastErrLevel {
    ACL_RT_THREAD_LEVEL = 0,
} aclrtLastErrLevel;

const char *aclGetRecentErrMsg(void);
aclError aclrtGetLastError(aclrtLastErrLevel level);
aclError aclrtPeekAtLastError(aclrtLastErrLevel level);
