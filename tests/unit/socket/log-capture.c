/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log-capture.h"
#include "shared/fd.h"
#include "test.h"

static int real_stderr = -1, captured = -1;

void log_capture_begin(void) {
        captured = memfd_create("log", MFD_CLOEXEC);
        ck_assert_int_ge(captured, 0);
        real_stderr = dup(STDERR_FILENO);
        ck_assert_int_ge(real_stderr, 0);
        ck_assert_int_ge(dup2(captured, STDERR_FILENO), 0);
}

char *log_capture_end(void) {
        char *text;
        size_t n;

        ck_assert_int_ge(dup2(real_stderr, STDERR_FILENO), 0);
        real_stderr = fd_close(real_stderr);
        ck_assert_int_eq(lseek(captured, 0, SEEK_SET), 0);
        ck_assert_int_eq(fd_read_all(&text, &n, captured, 1 << 20), 0);
        captured = fd_close(captured);
        text = realloc(text, n + 1);
        ck_assert_ptr_nonnull(text);
        text[n] = 0;
        return text;
}

size_t text_count(const char *text, const char *part) {
        size_t n = 0;

        while ((text = strstr(text, part))) {
                text += strlen(part);
                n++;
        }
        return n;
}
