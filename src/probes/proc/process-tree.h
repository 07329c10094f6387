/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Process tree: who the threads are, as perfetto.protos.ProcessTree packets
 *
 * Each process and thread is written once, when somebody first asks about it. It is written again when its pid belongs
 * to somebody else, when it has another name (as after exec), and when a process that was young has moved to another
 * unit since. Any number of pids are added between process_tree_begin() and process_tree_end(); packets are split when
 * they grow large.
 *
 * The unit, app and container of a process are in fields of our own, which other readers skip, and are shown as labels
 * beside its name. A label is a packet of its own that names the process by its pid alone. As part of a TrackDescriptor
 * it would need a uuid, and readers take a process with another uuid for a second process.
 */

#include "host/packet-writer.h"
#include "probes/proc/proc-dir.h"
#include "probes/proc/task-table.h"

#define PROCESS_TREE_BYTES_MAX (24u << 10) /* a packet of this size is closed */
#define PROCESS_CMDLINE_MAX    4096        /* bytes of a command line */
#define PROCESS_YOUNG_NS       UINT64_C(5000000000)

/* Our fields of ProcessTree.Process; see docs/SOURCES.md. */
enum {
        PROCESS_UNIT = 1900,
        PROCESS_USER_UNIT = 1901,
        PROCESS_SLICE = 1902,
        PROCESS_USER_SLICE = 1903,
        PROCESS_CGROUP = 1904,
        PROCESS_APP_ID = 1905,
        PROCESS_APP_KIND = 1906,
        PROCESS_CONTAINER = 1907,
        PROCESS_CONTAINER_KIND = 1908,
};

typedef struct ProcessTree {
        PacketWriter *packets;
        PacketWriter *labels; /* separate, as a tree is open meanwhile; NULL: none */
        ProcDir *proc;
        TaskTable *tasks;
        uint64_t ns_per_tick;
        bool thread_names;
        bool skips_main_threads; /* a process implies that it has one */
        bool says_cleared;       /* the next packet says that nothing before it is needed anymore */

        WireWriter *wire; /* the current packet, or NULL */
        size_t begin;
        uint64_t begin_ns;
} ProcessTree;

void process_tree_begin(ProcessTree *tree, uint64_t now_ns);
void process_tree_end(ProcessTree *tree);

/* Writes a process, unless it is known. Returns its task, which is valid until the next call, or NULL if the process
 * is gone. */
Task *process_tree_add_process(ProcessTree *tree, pid_t pid);
/* Writes a thread, and its process. */
void process_tree_add_thread(ProcessTree *tree, pid_t tid);
/* Writes a process and all its threads. */
void process_tree_add_with_threads(ProcessTree *tree, pid_t pid);
