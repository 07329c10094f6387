/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Static probes: the places that a program's author has marked (sys/sdt.h, dtrace)
 *
 * Each is a note in the ELF section .note.stapsdt. It has the address of a single no-op instruction in the code, a
 * provider and a name, where the arguments are at that instruction, and perhaps a semaphore: a counter in the program's
 * data that is not zero while a tracer is attached, for arguments that are expensive to compute. A probe that was
 * compiled into several places has as many notes.
 */

#include <stddef.h>
#include <stdint.h>

#include "probes/ftrace/elf-file.h"

#define STATIC_PROBES_MAX 65536 /* in one file; further ones are left out */
#define STATIC_NOTES_BYTES_MAX \
        (UINT64_C(16) << 20)  /* for one section of them, and for the names of sections */
#define STATIC_NAME_BYTES 512 /* provider and name together, when one is looked up */

/* The texts belong to the list, and contain whatever the file has. */
typedef struct StaticProbe {
        const char *provider, *name;
        const char *arguments;     /* "-4@%eax 8@-8(%rbp)"; see probe-operand.h */
        uint64_t offset;           /* in the file */
        uint64_t semaphore_offset; /* the same; 0: none */
} StaticProbe;

typedef struct StaticProbes {
        Elf *elf;
        uint16_t machine; /* EM_X86_64, … */
        StaticProbe *probes;
        size_t n_probes, n_allocated;
} StaticProbes;

/* Finds the static probes of a regular file, which stays open for as long as they exist. `path` is for errors. That
 * there are none is no error. Returns 0, PROBE_E_REFUSED or -ENOMEM. */
int static_probes_init(StaticProbes *ret, int fd, const char *path, char **ret_error);
void static_probes_deinit(StaticProbes *probes);
