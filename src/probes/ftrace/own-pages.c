/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Own pages: an instance for one data source alone, and the pages of all CPUs' rings */

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/probe.h"
#include "probes/ftrace/own-pages.h"
#include "shared/fd.h"
#include "shared/log.h"

#define OWN_BUFFER_KB_MAX 2048 /* buffers up to this size are not given back to the kernel */

/* A new instance has small rings. To change their size, the kernel waits for all of its processors. */
static bool has_room(OwnPages *pages, unsigned buffer_kb) {
        _cleanup_(freep) char *text = NULL;
        unsigned long n_kb;

        if (instance_read(pages->instance, "buffer_size_kb", &text, NULL, NULL) != 0)
                return false;
        n_kb = strtoul(text, NULL, 10);
        return n_kb >= buffer_kb && n_kb <= OWN_BUFFER_KB_MAX;
}

static int make_instance(OwnPages *pages, unsigned buffer_kb, char **ret_error) {
        int r;

        r = instance_new(&pages->instance, pages->dir, NULL, ret_error);
        if (r == 0)
                r = instance_write(pages->instance, "trace_clock", "boot", ret_error);
        if (r == 0 && !has_room(pages, buffer_kb))
                r = instance_write_number(pages->instance, "buffer_size_kb", buffer_kb, ret_error);
        return r == 0 ? trace_dir_read_layout(pages->dir, &pages->layout, ret_error) : r;
}

int own_pages_init(OwnPages *pages, unsigned buffer_kb, char **ret_error) {
        int r;

        *pages = (OwnPages){ .n_page = (size_t)sysconf(_SC_PAGESIZE) };
        pages->page = malloc(pages->n_page);
        if (!pages->page)
                return -ENOMEM;
        r = trace_dir_new(&pages->dir, ret_error);
        return r == 0 ? make_instance(pages, buffer_kb, ret_error) : r;
}

/* The pages of all CPUs that might ever exist. */
int own_pages_open(OwnPages *pages) {
        long n = sysconf(_SC_NPROCESSORS_CONF);

        pages->cpus = calloc((size_t)MAX(n, 1L), sizeof(*pages->cpus));
        if (!pages->cpus)
                return -ENOMEM;
        for (long cpu = 0; cpu < n; cpu++) {
                int fd = instance_open_pages(pages->instance, (unsigned)cpu);

                if (fd >= 0)
                        pages->cpus[pages->n_cpus++] = fd;
                else if (fd != -ENOENT)
                        return fd;
        }
        return 0;
}

void own_pages_end(OwnPages *pages) {
        for (size_t i = 0; i < pages->n_cpus; i++)
                fd_close(pages->cpus[i]);
        pages->n_cpus = 0;
        pages->instance = instance_free(pages->instance);
}

void own_pages_deinit(OwnPages *pages) {
        own_pages_end(pages);
        trace_dir_free(pages->dir);
        free(pages->cpus);
        free(pages->page);
        *pages = (OwnPages){};
}

int own_pages_start(OwnPages *pages, char **ret_error) {
        return instance_write(pages->instance, "tracing_on", "1", ret_error);
}

void own_pages_stop(OwnPages *pages, const char *source) {
        _cleanup_(freep) char *error = NULL;

        if (instance_write(pages->instance, "tracing_on", "0", &error) != 0)
                log_warning("%s: %s", source, error ?: "cannot stop recording");
}
