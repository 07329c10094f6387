/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Doctor, machine: what the kernel, the installation and our environment allow
 *
 * `root` is the machine's "/", or a tree of fixtures.
 */

#include <limits.h>
#include <stdint.h>

#include "client/doctor.h"

#define MACHINE_UNKNOWN INT_MIN

typedef struct MachineFacts {
        uint32_t uid;
        bool is_user_service; /* the user's service is checked: the system's need not be installed */
        uint64_t capabilities; /* the effective ones of this process */
        char *container;       /* whose, or NULL */
        bool is_flatpak;       /* this program runs in a sandbox of Flatpak */

        bool has_tracing_folder, has_tracefs, tracefs_is_read_only;
        char *lockdown; /* the word in brackets, or NULL */
        int perf_event_paranoid, kptr_restrict, ptrace_scope;
        bool hides_processes, has_partial_proc;
        bool has_journal;

        bool has_native_socket, has_producer_socket;
        bool has_bus_file, has_probes_socket, has_bus_policy, has_polkit_action;
        bool has_probes;
} MachineFacts;

MachineFacts *machine_facts_new(int root, uint32_t uid);
MachineFacts *machine_facts_free(MachineFacts *facts);
DEFINE_CLEANUP(MachineFacts *, machine_facts_free)

/* Pure. */
void machine_check(DoctorReport *report, const MachineFacts *facts);

/* Where recordings go by default. */
typedef struct OutputFacts {
        char *path;
        int error; /* the errno of reading or writing it */
        uint64_t n_bytes_free;
} OutputFacts;

#define OUTPUT_BYTES_MIN (UINT64_C(256) << 20) /* less free space is worth a note */

OutputFacts *output_facts_new(const char *path);
OutputFacts *output_facts_free(OutputFacts *facts);
DEFINE_CLEANUP(OutputFacts *, output_facts_free)

/* Pure. NULL: the file system did not answer. */
void output_check(DoctorReport *report, const OutputFacts *facts);
