# SPDX-License-Identifier: Apache-2.0
"""Order the work of two streams with an event, and report tasks that fail to a function.

One stream brings data to the device, the other takes it back as soon as it is there; the host waits once, at the end.
"""

import threading

import acl
from common import (
    ACL_CALLBACK_BLOCK,
    ACL_EVENT_SYNC,
    ACL_MEM_MALLOC_HUGE_FIRST,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    check,
    checked,
    end,
    start,
)

SIZE = 1 << 20


def report_failure(info):
    """Print all that is known of a task that has failed; the address is valid during the call only."""
    print(
        f"task {acl.rt.get_task_id_from_exception_info(info)}"
        f" of stream {acl.rt.get_stream_id_from_exception_info(info)}"
        f" on device {acl.rt.get_device_id_from_exception_info(info)}"
        f" failed with {acl.rt.get_error_code_from_exception_info(info)}"
        f", submitted by thread {acl.rt.get_thread_id_from_exception_info(info)}"
    )


def process_reports(args):
    """Execute the callbacks of the streams that are subscribed to this thread."""
    context, ends = args
    check(acl.rt.set_context(context), "acl.rt.set_context")
    while not ends.is_set():
        acl.rt.process_report(100)


def main():
    """Send, wait on the device, receive, compare."""
    context = start()
    check(acl.rt.set_exception_info_callback(report_failure), "acl.rt.set_exception_info_callback")
    ends = threading.Event()
    thread_id = checked(acl.util.start_thread(process_reports, [context, ends]), "acl.util.start_thread")

    sender, receiver = (checked(acl.rt.create_stream(), "acl.rt.create_stream") for _ in range(2))
    begin, finish = (checked(acl.rt.create_event(), "acl.rt.create_event") for _ in range(2))
    arrived = checked(acl.rt.create_event_with_flag(ACL_EVENT_SYNC), "acl.rt.create_event_with_flag")
    sent, received = (checked(acl.rt.malloc_host(SIZE), "acl.rt.malloc_host") for _ in range(2))
    device = checked(acl.rt.malloc(SIZE, ACL_MEM_MALLOC_HUGE_FIRST), "acl.rt.malloc")
    check(acl.rt.memset(sent, SIZE, 7, SIZE), "acl.rt.memset")
    check(acl.rt.subscribe_report(thread_id, sender), "acl.rt.subscribe_report")

    order = []
    check(acl.rt.record_event(begin, sender), "acl.rt.record_event")
    check(acl.rt.memcpy_async(device, SIZE, sent, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, sender), "the copy there")
    check(acl.rt.launch_callback(order.extend, ["sent"], ACL_CALLBACK_BLOCK, sender), "acl.rt.launch_callback")
    check(acl.rt.record_event(arrived, sender), "acl.rt.record_event")
    check(acl.rt.record_event(finish, sender), "acl.rt.record_event")
    check(acl.rt.stream_wait_event(receiver, arrived), "acl.rt.stream_wait_event")
    check(acl.rt.reset_event(arrived, receiver), "acl.rt.reset_event")
    check(acl.rt.memcpy_async(received, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, receiver), "the copy back")

    check(acl.rt.synchronize_event(finish), "acl.rt.synchronize_event")
    status = checked(acl.rt.query_event(finish), "acl.rt.query_event")
    print("the event is", "complete" if status == 0 else "not complete")
    check(acl.rt.synchronize_stream(receiver), "acl.rt.synchronize_stream")
    check(acl.rt.synchronize_device(), "acl.rt.synchronize_device")
    milliseconds = checked(acl.rt.event_elapsed_time(begin, finish), "acl.rt.event_elapsed_time")
    if acl.util.ptr_to_bytes(received, SIZE) != bytes([7]) * SIZE:
        raise RuntimeError("what came back is not what was sent")
    print(f"{SIZE} bytes were {order[0]} in {milliseconds:.3f} ms, and came back")

    check(acl.rt.unsubscribe_report(thread_id, sender), "acl.rt.unsubscribe_report")
    ends.set()
    check(acl.util.stop_thread(thread_id), "acl.util.stop_thread")
    check(acl.rt.free(device), "acl.rt.free")
    for address in (sent, received):
        check(acl.rt.free_host(address), "acl.rt.free_host")
    for event in (begin, finish, arrived):
        check(acl.rt.destroy_event(event), "acl.rt.destroy_event")
    for stream in (sender, receiver):
        check(acl.rt.destroy_stream(stream), "acl.rt.destroy_stream")
    check(acl.rt.set_exception_info_callback(None), "acl.rt.set_exception_info_callback")
    end()


if __name__ == "__main__":
    main()
