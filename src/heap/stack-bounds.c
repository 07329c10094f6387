/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Stack bounds: how far a stack can be read */

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap/stack-bounds.h"
#include "shared/macro.h"

#define PAGE_BYTES UINT64_C(4096)
#define LINES_MAX  65536u

/* The main thread's stack grows downwards in its mapping, and nothing else comes close to it. */
#define GROWS_BYTES (UINT64_C(64) << 20)

static const char *parse_hex(const char *text, uint64_t *ret) {
        uint64_t value = 0;

        for (;; text++) {
                if (*text >= '0' && *text <= '9')
                        value = value << 4 | (uint64_t)(*text - '0');
                else if (*text >= 'a' && *text <= 'f')
                        value = value << 4 | (uint64_t)(*text - 'a' + 10);
                else
                        break;
        }
        *ret = value;
        return text;
}

bool stack_bounds_parse(HeapThread *thread, const char *line, uint64_t sp) {
        uint64_t start, end;

        line = parse_hex(line, &start);
        if (*line != '-')
                return false;
        line = parse_hex(line + 1, &end);
        if (line[0] != ' ' || line[1] != 'r' || sp < start || sp >= end)
                return false;
        thread->stack_start = strstr(line, "[stack]") ? end - MIN(end, GROWS_BYTES) : start;
        thread->stack_end = end;
        return true;
}

/* Goes through the lines that are complete, and moves the rest to the front. Returns how many bytes the rest has. */
static size_t take_lines(HeapThread *thread, char *buffer, size_t n, uint64_t sp, bool *ret_found) {
        char *line = buffer, *end;

        buffer[n] = 0;
        while (!*ret_found && (end = strchr(line, '\n'))) {
                *end = 0;
                *ret_found = stack_bounds_parse(thread, line, sp);
                line = end + 1;
        }
        n -= (size_t)(line - buffer);
        memmove(buffer, line, n);
        return n;
}

void stack_bounds_find(HeapThread *thread, uint64_t sp, char *buffer, size_t n_buffer) {
        const long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
        bool has_found = false;
        size_t n_kept = 0;

        thread->stack_start = sp & ~(PAGE_BYTES - 1);
        thread->stack_end = thread->stack_start + PAGE_BYTES;
        for (unsigned i = 0; fd >= 0 && !has_found && i < LINES_MAX; i++) {
                const long n = syscall(SYS_read, (int)fd, buffer + n_kept, n_buffer - 1 - n_kept);

                if (n <= 0)
                        break;
                n_kept = take_lines(thread, buffer, n_kept + (size_t)n, sp, &has_found);
                if (n_kept == n_buffer - 1) /* one long line, whose beginning was enough */
                        n_kept = 0;
        }
        if (fd >= 0)
                syscall(SYS_close, (int)fd);
}
