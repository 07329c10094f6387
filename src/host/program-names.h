/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Program names: to which process a thread belongs, whose that is, and what both are called
 *
 * Read from /proc when a thread is first seen, and again after some seconds: numbers are used again, and programs
 * change names. Names are what programs call themselves, made printable. A thread that has ended before that keeps
 * its number as its name.
 *
 * Reading a name takes tens of microseconds, and other programs may decide which ones are asked for. So only
 * PROGRAM_NAMES_READ are read within a short time; the other programs keep their numbers as names meanwhile.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROGRAM_NAME_BYTES 32
#define PROGRAM_NAMES_MAX \
        2048 /* threads that are remembered; of neighbours, those that were seen last */
#define PROGRAM_NAMES_READ  256 /* in one moment */
#define PROGRAM_MOMENT_NS   UINT64_C(100000000)
#define PROGRAM_NAME_AGE_NS UINT64_C(5000000000)

typedef struct ProgramName {
        pid_t tid, pid;
        uid_t uid;             /* of the process, as far as it has not ended */
        bool is_nested;        /* it has a pid namespace of its own, with other numbers than ours */
        uint64_t process_uuid; /* the uuid of its track; 0: the process has ended */
        char thread[PROGRAM_NAME_BYTES], process[PROGRAM_NAME_BYTES];
        uint64_t read_ns, used_ns;
} ProgramName;

typedef struct ProgramNames {
        bool are_foreign; /* numbers come from another pid namespace than ours, so nothing has a name */
        ProgramName *names;
        ProgramName unread; /* for threads beyond the limit, and threads without a name */
        uint64_t moment_ns; /* when it began */
        unsigned n_read;
} ProgramNames;

/* Returns 0 or -ENOMEM. */
int program_names_init(ProgramNames *names);
void program_names_deinit(ProgramNames *names);

/* Valid until the next call. */
const ProgramName *program_name(ProgramNames *names, pid_t tid, uint64_t now_ns);
