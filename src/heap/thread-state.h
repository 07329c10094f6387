/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Thread state: what each thread of the program knows of its sampling
 *
 * It is in the part of thread-local memory that is there before the first call and after the last destructor, and
 * that nothing has to be allocated for.
 */

#include <stdbool.h>
#include <stdint.h>

typedef struct HeapThread {
        int64_t left;   /* bytes until the next sample */
        uint32_t epoch; /* of the settings that `left` was drawn for */
        bool is_inside; /* in code of ours: what is allocated is not the program's */
        uint16_t name;  /* as thread-names.h counts */
        uint32_t n_samples;
        uint64_t random;
        uint64_t stack_start, stack_end; /* of the mapping that its stack was last found in */
} HeapThread;

extern _Thread_local HeapThread heap_thread
        __attribute__((__tls_model__("initial-exec"), __visibility__("hidden")));
