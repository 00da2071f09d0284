# SPDX-License-Identifier: Apache-2.0
"""The functions of pyACL: facts that the declarations of the C functions do not have.

A line is ``name``, or ``name(parameters) -> results``, and after a ``;`` what is irregular:

- without parameters in brackets, they are the inputs of the C function, and the results its outputs, in C's order;
- ``function=``   the C function, if the name does not follow from it;
- ``format=``     the format of the arguments in CPython's letters, if it does not follow from the C types;
- ``error=``      the text for wrong arguments, if it is not ``<name> args parse failed``: ``!`` is that with an
  exclamation mark, ``cpython`` for CPython's own texts;
- ``in=``         the module of ``ascend_rt.pyacl`` that has the function, called after the arguments were converted;
  ``c`` is ``pyacl_support.c``;
- ``initial=``    what the outputs are if the C function leaves them alone, if not 0;
- ``warning=``    the text of the warning that every call gives;
- ``ends_event``  the event, which is the first argument, is gone once the function has succeeded;
- ``ends_calls``  no callback of the stream, which is the first argument, runs any more once the function has succeeded.

Parameters and results are ints; ``name: type`` says otherwise, and ``name=None`` what may be left out.
"""

RT = """
set_device; in=devices
reset_device; in=devices
reset_device_force; in=devices
get_device
get_run_mode
set_ts_device
get_device_count
get_device_utilization_rate(device_id) -> utilization: dict[str, int], ret; format=i in=structures
query_device_status
set_device_sat_mode
get_device_sat_mode
device_task_abort
get_device_info; format=II
device_get_stream_priority_range
get_device_capability; format=iI
get_device_res_limit; format=iI
set_device_res_limit; format=iII
reset_device_res_limit
get_devices_topo; error="acl.rt.reset_device_res_limit args parse failed"
get_logic_dev_id_by_user_dev_id
get_user_dev_id_by_logic_dev_id
get_logic_dev_id_by_phy_dev_id
get_phy_dev_id_by_logic_dev_id
device_get_uuid(device_id) -> uuid: dict[str, list[int]], ret; format=i in=structures
device_peer_access_status
device_can_access_peer
device_enable_peer_access
device_disable_peer_access
device_get_bare_tgid
synchronize_device
synchronize_device_with_timeout; error=!

create_context; in=devices
destroy_context; in=devices
set_context; function=aclrtSetCurrentContext
get_context; function=aclrtGetCurrentContext
ctx_get_current_default_stream
ctx_set_sys_param_opt
ctx_get_sys_param_opt
set_sys_param_opt; error="acl.rt.set_sys_param_opt args parse faild"
get_sys_param_opt; error="acl.rt.get_sys_param_opt args parse faild"
get_primary_ctx_state(device_id) -> active, flags, ret; format=i in=structures
get_overflow_status; error=!
reset_overflow_status; error=!

create_stream
create_stream_with_config; format=ii
destroy_stream; ends_calls
destroy_stream_force; ends_calls
set_stream_overflow_switch
get_stream_overflow_switch
set_stream_failure_mode; format=kI error=!
stream_query; error=! initial=ACL_STREAM_STATUS_RESERVED
synchronize_stream
synchronize_stream_with_timeout
stream_abort; ends_calls
stream_get_id
get_stream_available_num
set_stream_attribute(stream, attr_type, value: dict[str, Any]) -> ret; format=kiO error=! in=structures
get_stream_attribute(stream, attr_type) -> value: dict[str, Any], ret; format=ki error=! in=structures
get_stream_res_limit; error="acl.rt.get_stream_res_limit parse failed"
set_stream_res_limit; error="acl.rt.set_stream_res_limit parse failed"
reset_stream_res_limit; error="acl.rt.reset_stream_res_limit parse failed"
use_stream_res_in_current_thread; error="acl.rt.use_stream_res_in_current_thread parse failed"
unuse_stream_res_in_current_thread; error="acl.rt.unuse_stream_res_in_current_thread parse failed"
get_res_in_current_thread; error="acl.rt.get_res_in_current_thread parse failed"

create_event
create_event_with_flag
create_event_ex_with_flag
destroy_event; ends_event
record_event
reset_event
query_event
query_event_status
query_event_wait_status
synchronize_event
synchronize_event_with_timeout; error=!
event_elapsed_time
event_get_timestamp
get_event_id; error=cpython
get_event_avail_num
stream_wait_event
set_op_wait_timeout; error=!

create_notify
destroy_notify
record_notify
wait_and_reset_notify(notify, stream, timeout) -> ret; format=kkL in=structures
get_notify_id
notify_batch_reset(notifies: list[int]) -> ret; format=O in=structures
notify_get_export_key(notify, length, flag) -> key: str, ret; format=kkK in=structures
notify_set_import_pid(notify, pids: list[int]) -> ret; format=kO in=structures
notify_import_by_key

subscribe_report
launch_callback(fn: Callable[[Any], object], user_data: Any, block_type, stream) -> ret; format=OOik in=c
process_report
unsubscribe_report; function=aclrtUnSubscribeReport
get_thread_last_task_id
reduce_async
set_op_execute_time_out; error="acl.rt.set_op_execute_timeout args parse failed!"
set_op_execute_timeout_v2; function=aclrtSetOpExecuteTimeOutV2 error=!
get_op_timeout_interval; function=aclrtGetOpTimeOutInterval
get_op_execute_timeout
cmo_async; error=!

set_exception_info_callback(fn: Callable[[int], object] | None = None) -> ret; format=O in=c
get_task_id_from_exception_info
get_stream_id_from_exception_info
get_thread_id_from_exception_info
get_device_id_from_exception_info
get_error_code_from_exception_info
peek_at_last_error; error=!
get_last_error; error=!

malloc
malloc_align32
malloc_cached
malloc_with_cfg(size, policy, cfg: dict[str, Any]) -> dev_ptr, ret; format=kiO error=! in=structures
malloc_for_task_scheduler(size, policy, cfg: dict[str, Any]) -> dev_ptr, ret; format=kiO error=! in=structures
free
get_mem_info
mem_flush
mem_invalidate
malloc_host
malloc_host_with_cfg(size, cfg: dict[str, Any]) -> host_ptr, ret; format=kO in=structures
free_host
host_register
host_register_v2
host_get_device_pointer; error="acl.rt.host_get_device_pointer parse failed"
host_unregister
memcpy
memcpy_async
memcpy_async_with_condition
memcpy2d
memcpy2d_async
get_memcpy_desc_size
set_memcpy_desc(desc, kind, src_addr, dst_addr, count, config) -> desc, ret; format=kikkkk in=structures
memcpy_async_with_desc
memset
memset_async
value_write
value_wait
pointer_get_attributes(ptr) -> attributes: dict[str, Any], ret; format=k in=structures

reserve_mem_address
release_mem_address
malloc_physical(size, prop: dict[str, Any], flags) -> handle, ret; format=kOK in=structures
free_physical
map_mem
unmap_mem
mem_export_to_shareable_handle
mem_set_pid_to_shareable_handle(shareable_handle, pids: list[int]) -> ret; format=KO in=structures
mem_import_from_shareable_handle
mem_get_allocation_granularity(prop: dict[str, Any], option) -> granularity, ret; format=Oi in=structures
ipc_mem_get_export_key(dev_ptr, size, length, flag) -> key: str, ret; format=kkkK in=structures
ipc_mem_set_import_pid(key: str, pids: list[int]) -> ret; format=sO in=structures
ipc_mem_import_by_key
ipc_mem_close
get_mem_uce_info(device_id, array_size) -> infos: list[dict[str, Any]], ret; format=iI error=! in=structures
mem_uce_repair(device_id, infos: list[dict[str, Any]]) -> ret; format=iO error=! in=structures

allocator_create_desc() -> desc; in=allocators
allocator_destroy_desc(desc) -> ret; format=k in=allocators
allocator_set_obj_to_desc(desc, allocator) -> ret; format=kk in=allocators
allocator_set_alloc_func_to_desc(desc, fn: Callable[[int, int], int]) -> ret; format=kO in=allocators
allocator_set_free_func_to_desc(desc, fn: Callable[[int, int], object]) -> ret; format=kO in=allocators
allocator_set_alloc_advise_func_to_desc(desc, fn: Callable[[int, int, int], int]) -> ret; format=kO in=allocators
allocator_set_get_addr_from_block_func_to_desc(desc, fn: Callable[[int], int]) -> ret; format=kO in=allocators
allocator_register(stream, desc) -> ret; format=kk in=allocators
allocator_unregister(stream) -> ret; format=k in=allocators

binary_load_from_file(path: str, options: list[dict[str, int]]) -> bin_handle, ret; format=sO error=! in=structures
binary_load_from_data(data, length, options: list[dict[str, int]]) -> bin_handle, ret; format=kkO in=structures
get_function_addr; error=!
get_function_name(func_handle, max_len) -> name: str, ret; format=kI error=! in=structures
register_cpu_func(handle, func_name: str, kernel_name: str) -> func_handle, ret; format=kss error=! in=structures
create_binary
destroy_binary
binary_load
binary_unload; function=aclrtBinaryUnLoad
binary_get_function
launch_kernel
kernel_args_init
kernel_args_init_by_user_mem
kernel_args_get_mem_size
kernel_args_get_handle_mem_size
kernel_args_append
kernel_args_append_place_holder
kernel_args_get_place_holder_buffer
kernel_args_para_update
kernel_args_finalize
launch_kernel_with_config(func_handle, num_blocks, stream, cfg: list[dict[str, int]], args_handle, reserve) -> ret;\
    format=kIkOkk in=structures

set_group; format=I
get_group_count(ignored) -> count, ret; format=I in=structures
create_group_info
destroy_group_info
get_all_group_info
get_group_info_detail(group_info, group_id, attr) -> values: list[int], ret; format=kii in=structures
"""

TOP = """
init(config_path: str | None = None) -> ret; format=s
finalize
finalize_reference
get_version; function=aclrtGetVersion
get_soc_name; function=aclrtGetSocName
get_recent_err_msg
get_cann_version(name) -> version: dict[str, str], ret; function=aclsysGetCANNVersion format=I in=structures
get_version_str(pkg_name: str) -> version: str, ret; function=aclsysGetVersionStr format=s in=structures
get_cann_attribute_list() -> attributes: list[int], num, ret; in=structures
get_cann_attribute
get_device_capability
app_log(level, text: str) -> None; format=is in=structures
data_type_size
float16_to_float
float_to_float16
create_data_buffer
destroy_data_buffer
update_data_buffer
get_data_buffer_addr
get_data_buffer_size
get_data_buffer_size_v2
"""

PROF = """
init(path: str) -> ret; format=s error=! in=profiling
finalize
start; error=!
stop; error=!
create_config(device_ids: list[int], aicore_metrics, aicore_events, data_type_config) -> config;\
    format=OikK error=! in=profiling
destroy_config; error=!
set_config(config_type, config: str) -> ret; format=is error=! in=profiling
create_stamp
destroy_stamp; error=!
set_stamp_trace_message; error=!
push; error=!
pop
range_start; error=!
range_stop; error=!
mark; error=!
mark_ex(text: str, stream) -> ret; format=sk error=! in=profiling
create_step_info
destroy_step_info
get_step_timestamp; error=!
get_op_desc_size
create_subscribe_config(time_info_switch, aicore_metrics, fd) -> subscribe_config; format=bii in=profiling
destroy_subscribe_config
model_subscribe
model_un_subscribe; function=aclprofModelUnSubscribe error="acl.prof.model_unsubscribe args parse failed"
model_unsubscribe; function=aclprofModelUnSubscribe
get_op_num
get_op_type_len; error="acl.prof.get_op_type args parse failed"
get_op_type(op_info, op_info_len, index, op_type_len) -> op_type: str, ret; format=kkIk in=profiling
get_op_type_v2(op_info, op_info_len, index) -> op_type: str | None, ret; format=kkI in=profiling\
    error="acl.prof.get_op_type args parse failed"
get_op_name_len; error="acl.prof.get_op_type args parse failed"
get_op_name(op_info, op_info_len, index, op_name_len) -> op_name: str, ret; format=kkIk in=profiling
get_op_name_v2(op_info, op_info_len, index) -> op_name: str | None, ret; format=kkI in=profiling\
    error="acl.prof.get_op_name args parse failed"
get_op_start
get_op_end
get_op_duration
get_model_id
"""

MDL = """
init_dump
set_dump(dump_cfg_path: str | None=None) -> ret; format=s error=! in=dumps
finalize_dump
dump_reg_callback(fn: Callable[[dict[str, Any]], object], flag) -> ret; function=acldumpRegCallback format=Oi\
    error=! in=dumps
dump_unreg_callback() -> None; function=acldumpUnregCallback in=dumps
"""

OP = """
start_dump_args
stop_dump_args
"""

UTIL = """
bytes_to_ptr(data: bytes) -> ptr; format=O in=c
ptr_to_bytes(ptr, size) -> data: bytes; format=kk in=c
numpy_to_ptr(array: NDArray[Any]) -> ptr; format=O in=conversions\
    warning="acl.util.numpy_to_ptr will be deprecated. Please use acl.util.bytes_to_ptr instead."
numpy_contiguous_to_ptr(array: NDArray[Any]) -> ptr, array: NDArray[Any]; format=O in=conversions\
    warning="acl.util.numpy_contiguous_to_ptr will be deprecated. Please use acl.util.bytes_to_ptr instead."
ptr_to_numpy(ptr, shape: tuple[int, ...], number) -> array: NDArray[Any]; format=kOi in=conversions\
    warning="acl.util.ptr_to_numpy will be deprecated. Please use acl.util.ptr_to_bytes instead."
start_thread(fn: Callable[..., object], args: list[Any] | None) -> thread_id, err; format=OO error=cpython in=threads
stop_thread(thread_id) -> err; format=K in=threads
"""

# The submodule of acl, "" for acl itself; how the names of its C functions begin; its functions.
# Memory for media data; the other functions of the module are not the runtime's.
MEDIA = """
dvpp_malloc(size) -> dev_ptr, ret; format=k in=media
dvpp_free(dev_ptr) -> ret; function=aclrtFree format=k
"""

MODULES = (
    ("", "acl", TOP),
    ("rt", "aclrt", RT),
    ("prof", "aclprof", PROF),
    ("mdl", "aclmdl", MDL),
    ("op", "aclop", OP),
    ("util", "acl", UTIL),
    ("media", "acldvpp", MEDIA),
)

# The submodules whose functions are not of the runtime.
OUTSIDE = ("blas", "himpi", "fv")
# The submodules of which only some functions belong to the runtime.
IN_PART = ("mdl", "op", "media")
