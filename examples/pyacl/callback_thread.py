# SPDX-License-Identifier: Apache-2.0
"""Let streams call functions of the host; a separate thread executes them, in the order of each stream.

With the argument ``threading``, the thread is one of Python's; without, one that acl starts.
"""

import sys
import threading

import acl
from common import ACL_CALLBACK_BLOCK, ACL_CALLBACK_NO_BLOCK, check, checked, end, start

TIMEOUT_MS = 100


class ReportThread:
    """A thread that executes the callbacks of the streams that are subscribed to it."""

    def __init__(self, context, use_threading):
        self.context = context
        self.ends = False
        self.is_ready = threading.Event()
        self.thread = None
        if use_threading:
            self.thread = threading.Thread(target=self.run, args=([context],))
            self.thread.start()
            self.id = self.thread.ident  # acl's thread id is that of POSIX threads, as Python's is
        else:
            self.id = checked(acl.util.start_thread(self.run, [context]), "acl.util.start_thread")
        self.is_ready.wait()

    def run(self, args):
        """Execute callbacks as they come."""
        (context,) = args
        check(acl.rt.set_context(context), "acl.rt.set_context")
        self.is_ready.set()
        while not self.ends:
            # The code says that there was nothing within the time, or no stream is subscribed yet; then try again.
            acl.rt.process_report(TIMEOUT_MS)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.ends = True
        if self.thread is not None:
            self.thread.join()
        else:
            check(acl.util.stop_thread(self.id), "acl.util.stop_thread")


def note(user_data):
    """Add a line to the list that came with the user data."""
    stream_name, number, lines = user_data
    lines.append(f"{stream_name} {number}")


def launch(thread):
    """Launch callbacks in two streams."""
    streams = {}
    for name in ("first", "second"):
        streams[name] = checked(acl.rt.create_stream(), "acl.rt.create_stream")
        check(acl.rt.subscribe_report(thread.id, streams[name]), "acl.rt.subscribe_report")

    lines = []
    for number in range(3):
        for name, stream in streams.items():
            # BLOCK: the stream goes on when the function has returned.
            user_data = [name, number, lines]
            check(acl.rt.launch_callback(note, user_data, ACL_CALLBACK_BLOCK, stream), "acl.rt.launch_callback")
    for stream in streams.values():
        check(acl.rt.synchronize_stream(stream), "acl.rt.synchronize_stream")
    for name in streams:
        print(*(line for line in lines if line.startswith(name)), sep=", ")

    done = threading.Event()
    check(
        acl.rt.launch_callback(lambda user_data: user_data[0].set(), [done], ACL_CALLBACK_NO_BLOCK, streams["first"]),
        "acl.rt.launch_callback",
    )
    done.wait()
    print("a callback that the stream does not wait for has run, too")

    for stream in streams.values():
        check(acl.rt.synchronize_stream(stream), "acl.rt.synchronize_stream")
        check(acl.rt.unsubscribe_report(thread.id, stream), "acl.rt.unsubscribe_report")
        check(acl.rt.destroy_stream(stream), "acl.rt.destroy_stream")


def main(kind="acl"):
    """Start the thread, and stop it whatever happens."""
    context = start()
    with ReportThread(context, use_threading=kind == "threading") as thread:
        launch(thread)
    end()


if __name__ == "__main__":
    main(*sys.argv[1:2])
