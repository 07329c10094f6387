/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Doctor, heap: whether a program's heap can be recorded, and what shows its growth if not
 */

#include "client/doctor-process.h"

typedef struct HeapFacts {
        char *program; /* its file */
        pid_t pid;     /* 0: it does not run */
        char *library; /* the library that would be loaded into it; NULL: it is not installed */
        char *refusal; /* why it cannot be loaded, as a sentence; or NULL */
        bool is_armed; /* it is loaded */
        bool has_sanitizer;
        const char *allocator; /* the name of an allocator that the program contains, or NULL */
        char *flatpak;         /* the app that it belongs to, or NULL */
} HeapFacts;

/* Inspects a file (pid 0) or a process. */
HeapFacts *heap_facts_new(int root, const char *program, pid_t pid, const char *flatpak);
HeapFacts *heap_facts_free(HeapFacts *facts);
DEFINE_CLEANUP(HeapFacts *, heap_facts_free)

/* Pure. `facts` NULL: it could not be inspected in time. */
void heap_check(DoctorReport *report, const HeapFacts *facts);
