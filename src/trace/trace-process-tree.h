/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace process tree: what a packet says about processes and threads, as /proc had them
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire-reader.h"

/* Fields of perfetto.protos.ProcessTree. */
enum {
        TRACE_TREE_PROCESS = 1,
        TRACE_TREE_THREAD = 2,
};

/* What a process is part of. docs/SOURCES.md describes these fields of ours. */
typedef enum TraceProcessUnit {
        TRACE_PROCESS_UNIT,
        TRACE_PROCESS_USER_UNIT,
        TRACE_PROCESS_APP,
        TRACE_PROCESS_CONTAINER,
        _TRACE_PROCESS_UNITS,
} TraceProcessUnit;

typedef struct TraceTreeProcess {
        int32_t pid, ppid;
        bool has_uid, has_start, has_is_kthread, is_kthread;
        bool is_comm; /* it has no command line, so that its thread's name stands for it */
        uint32_t uid;
        uint64_t start_ns;
        size_t n_arguments;
        /* Fields that are present have the type WIRE_BYTES. */
        WireField command; /* the first of the arguments */
        WireField units[_TRACE_PROCESS_UNITS];
} TraceTreeProcess;

typedef struct TraceTreeThread {
        int32_t tid, tgid;
        WireField name; /* of type WIRE_BYTES if it is present */
} TraceTreeThread;

void trace_tree_process_read(TraceTreeProcess *ret, const WireField *message);
void trace_tree_thread_read(TraceTreeThread *ret, const WireField *message);

/* Reads the next argument of a process, from a reader of its message. Returns false after the last one. */
bool trace_tree_next_argument(WireReader *process, WireField *ret);
