/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Thread state: what each thread of the program knows about its sampling
 *
 * It is in the part of thread-local memory that exists before the first call and after the last destructor, and for
 * which nothing has to be allocated.
 */

#include <stdbool.h>
#include <stdint.h>

typedef struct HeapThread {
        int64_t left;   /* bytes until the next sample */
        uint32_t epoch; /* the settings for which `left` was drawn */
        bool is_inside; /* the thread runs our code, so what it allocates is not the program's */
        uint16_t name;  /* as thread-names.h counts */
        uint32_t n_samples;
        uint64_t random;
        uint64_t stack_start, stack_end; /* the mapping in which its stack was last found */
} HeapThread;

extern _Thread_local HeapThread heap_thread
        __attribute__((__tls_model__("initial-exec"), __visibility__("hidden")));
