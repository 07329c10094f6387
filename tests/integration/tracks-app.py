# SPDX-License-Identifier: LGPL-2.1-or-later
"""As tracks-app.c."""

import threading

import desktrace
from desktrace import Track

calls = desktrace.Category("calls", "What is called")
gpu = Track("gpu", description="What it does", child_order=desktrace.ORDER_BY_RANK)
queue = Track("queue", 7, parent=gpu, rank=-2, merge=desktrace.MERGE_BY_KEY, merge_key="queues")
memory = Track("memory", unit=desktrace.UNIT_SIZE_BYTES, unit_multiplier=1024, y_axis="sizes", categories="calls")
row = Track("row", parent=desktrace.THREAD)
cpu = Track("cpu", unit=desktrace.UNIT_TIME_NS, parent=desktrace.THREAD, is_incremental=True)
bus = Track("bus", parent=desktrace.ROOT)
requests = desktrace.Lanes("requests")


def work():
    desktrace.thread_set_name("worker")
    desktrace.thread_set_rank(3)
    calls.instant("in the row", row)
    for i in range(3):
        calls.counter(cpu, 1000000 + i)


desktrace.init()
calls.instant("in the queue", queue)
desktrace.process_set_name("Tracks")
desktrace.process_set_labels("one", "two")
thread = threading.Thread(target=work)
thread.start()
thread.join()
calls.counter(memory, 5)
calls.instant("on the bus", bus)
first, second = calls.begin("first", requests), calls.begin("second", requests)
first.end()
first.end()
third = calls.begin("third", requests)
third.end()
second.end()
desktrace.Category.find_or_add("calls.found", "At run time").instant("found")
