# SPDX-License-Identifier: LGPL-2.1-or-later
"""For heap.py: hardly anything but allocations, each of which malloc() is called for with PYTHONMALLOC=malloc."""


def work(depth):
    if depth:
        return work(depth - 1)
    total = 0
    for i in range(150000):
        rows = [(str(i), {"k": i + k, "v": [k, float(k)]}) for k in range(60)]
        total += sum(len(row["v"]) for _, row in rows)
    return total


work(8)
