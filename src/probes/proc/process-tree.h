/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Process tree: who the threads are, as perfetto.protos.ProcessTree packets
 *
 * Writes each process and thread once, when it is first asked about, and again when its pid belongs to somebody
 * else. Between process_tree_begin() and process_tree_end() any number of pids are added; packets are split when
 * they grow large.
 */

#include "probes/packet-writer.h"
#include "probes/proc/proc-dir.h"
#include "probes/proc/task-table.h"

#define PROCESS_TREE_BYTES_MAX (24u << 10) /* of a packet, when it is closed */
#define PROCESS_CMDLINE_MAX    4096        /* bytes of a command line */

typedef struct ProcessTree {
        PacketWriter *packets;
        ProcDir *proc;
        TaskTable *tasks;
        bool thread_names;
        bool says_cleared; /* the next packet says that nothing before it is needed */

        WireWriter *wire; /* the packet at hand, or NULL */
        size_t begin;
        uint64_t begin_ns;
} ProcessTree;

void process_tree_begin(ProcessTree *tree, uint64_t now_ns);
void process_tree_end(ProcessTree *tree);

/* Writes a process, unless it is known. Returns its task, valid until the next call; NULL when it is gone. */
Task *process_tree_add_process(ProcessTree *tree, pid_t pid);
/* Writes a thread, and its process. */
void process_tree_add_thread(ProcessTree *tree, pid_t tid);
/* Writes a process and all its threads. */
void process_tree_add_with_threads(ProcessTree *tree, pid_t pid);
