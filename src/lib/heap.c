/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Heaps: the public functions, for programs whose heap nobody records
 *
 * libdesktrace-heap.so has functions of the same names. Where that library is loaded, it comes before all others, so
 * the dynamic linker takes its functions instead.
 */

#include <errno.h>

#include "desktrace/heap.h"
#include "lib/source-private.h"
#include "shared/macro.h"

DT_EXPORT int dt_heap_register(dt_heap **ret, const char *name) {
        const size_t n = name ? strlen(name) : 0;

        *ret = NULL;
        return n > 0 && n <= DT_HEAP_NAME_MAX ? -ENOSYS : -EINVAL;
}

DT_EXPORT void
dt_heap_allocated(dt_heap *heap _unused_, const void *address _unused_, size_t n_bytes _unused_) {
}

DT_EXPORT void dt_heap_freed(dt_heap *heap _unused_, const void *address _unused_) {
}

DT_EXPORT void
dt_heap_freed_range(dt_heap *heap _unused_, const void *start _unused_, size_t n_bytes _unused_) {
}
