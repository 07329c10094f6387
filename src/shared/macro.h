/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Language helpers
 *
 * The few macros that every layer may use. Ownership is spelled with _cleanup_() and TAKE();
 * a descriptor is -1 when empty and moves with TAKE_FD().
 */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define _cleanup_(f)   __attribute__((__cleanup__(f)))
#define _unused_       __attribute__((__unused__))
#define _printf_(f, a) __attribute__((__format__(__printf__, f, a)))
#define _public_       __attribute__((__visibility__("default")))

#define ARRAY_SIZE(a)   (sizeof(a) / sizeof((a)[0]))
#define ALIGN_UP(n, to) (((n) + (to)-1) / (to) * (to))
#define LIKELY(x)       __builtin_expect(!!(x), 1)
#define UNLIKELY(x)     __builtin_expect(!!(x), 0)

/* Marks a text for the client's message catalogue: the client translates what the other programs report. GLib
 * defines the same macro. */
#define N_(String) (String)

/* GLib has its own versions, which evaluate an argument twice. */
#undef MIN
#undef MAX

#define MIN(a, b)                     \
        ({                            \
                __auto_type _a = (a); \
                __auto_type _b = (b); \
                _a < _b ? _a : _b;    \
        })

#define MAX(a, b)                     \
        ({                            \
                __auto_type _a = (a); \
                __auto_type _b = (b); \
                _a > _b ? _a : _b;    \
        })

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* Defines the `Tp` helper which _cleanup_() needs, from a destructor that takes a T. */
#define DEFINE_CLEANUP(type, func)            \
        static inline void func##p(type *p) { \
                if (*p)                       \
                        func(*p);             \
        }

/* Moves ownership out of a variable, and leaves it empty. */
#define TAKE(ptr)                         \
        ({                                \
                __auto_type _pp = &(ptr); \
                __auto_type _p = *_pp;    \
                *_pp = NULL;              \
                _p;                       \
        })

#define TAKE_FD(fd)               \
        ({                        \
                int *_fp = &(fd); \
                int _f = *_fp;    \
                *_fp = -1;        \
                _f;               \
        })

static inline uint64_t add_saturated(uint64_t a, uint64_t b) {
        uint64_t sum;

        return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline void freep(void *p) {
        free(*(void **)p);
}

static inline int streq(const char *a, const char *b) {
        return strcmp(a, b) == 0;
}
