/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Input ring: an instance that records the input events, and returns their records in order of time */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/probe.h"
#include "probes/input/input-ring.h"
#include "shared/fd.h"
#include "shared/log.h"

#define EVENT_PATH_BYTES 256

InputRing *input_ring_free(InputRing *ring) {
        if (!ring)
                return NULL;
        own_pages_end(&ring->pages);
        input_events_deinit(&ring->events); /* the instance that uses them is gone by now */
        own_pages_deinit(&ring->pages);
        free(ring->records);
        free(ring);
        return NULL;
}

static int read_format(InputRing *ring, unsigned event, char **ret_error) {
        const EventName *name = &ring->events.selection.events[event];
        _cleanup_(event_format_freep) EventFormat *format = NULL;
        _cleanup_(freep) char *group = NULL, *text = NULL;
        char file[EVENT_PATH_BYTES];
        size_t n;
        int r;

        snprintf(file, sizeof(file), "events/%s/format", name->text);
        r = trace_dir_read(ring->pages.dir, file, &text, &n, ret_error);
        if (r != 0)
                return r;
        group = strndup(name->text, name->n_group);
        if (!group)
                return -ENOMEM;
        r = event_format_parse(&format, group, text, n);
        if (r == 0)
                r = input_layout_set(&ring->layout, event, format);
        if (r == -EBADMSG)
                return probe_refuse(ret_error, "cannot understand the kernel's %s", file);
        return r;
}

static int enable(InputRing *ring, unsigned event, char **ret_error) {
        char file[EVENT_PATH_BYTES];
        int r;

        r = read_format(ring, event, ret_error);
        if (r != 0)
                return r;
        snprintf(file, sizeof(file), "events/%s/enable", ring->events.selection.events[event].text);
        return instance_write(ring->pages.instance, file, "1", ret_error);
}

static int prepare(InputRing *ring, char **ret_error) {
        int r;

        r = own_pages_init(&ring->pages, INPUT_BUFFER_KB, ret_error);
        if (r == 0)
                r = input_events_init(&ring->events, ring->pages.dir, ret_error);
        for (unsigned event = 0; r == 0 && event < INPUT_EVENTS_N; event++)
                r = enable(ring, event, ret_error);
        return r == 0 ? own_pages_open(&ring->pages) : r;
}

int input_ring_new(InputRing **ret, char **ret_error) {
        _cleanup_(input_ring_freep) InputRing *ring = NULL;
        int r;

        ring = calloc(1, sizeof(*ring));
        if (!ring)
                return -ENOMEM;
        ring->records = calloc(INPUT_RECORDS_MAX, sizeof(*ring->records));
        if (!ring->records)
                return -ENOMEM;
        r = prepare(ring, ret_error);
        if (r != 0)
                return r;
        *ret = TAKE(ring);
        return 0;
}

int input_ring_start(InputRing *ring, char **ret_error) {
        return own_pages_start(&ring->pages, ret_error);
}

void input_ring_stop(InputRing *ring) {
        own_pages_stop(&ring->pages, "linux.input_latency");
}

static void add_page(InputRing *ring, size_t n_bytes) {
        PageReader reader;
        PageRecord record;

        if (page_reader_init(&reader, &ring->pages.layout, ring->pages.page, n_bytes) < 0) {
                ring->lost = true;
                return;
        }
        ring->lost |= reader.lost;
        while (page_read(&reader, &record) == 1)
                if (ring->n_records == INPUT_RECORDS_MAX)
                        ring->lost = true;
                else if (input_record_decode(
                                 &ring->records[ring->n_records], &ring->layout, &record))
                        ring->n_records++;
}

static int compare_records(const void *a, const void *b) {
        uint64_t first = ((const InputRecord *)a)->at_ns, second = ((const InputRecord *)b)->at_ns;

        return (first > second) - (first < second);
}

void input_ring_read(InputRing *ring) {
        for (size_t i = 0; i < ring->pages.n_cpus; i++) {
                ssize_t n;

                while (ring->n_records < INPUT_RECORDS_MAX &&
                       (n = read(ring->pages.cpus[i], ring->pages.page, ring->pages.n_page)) > 0)
                        add_page(ring, (size_t)n);
        }
        qsort(ring->records, ring->n_records, sizeof(*ring->records), compare_records);
}

void input_ring_consume(InputRing *ring, size_t n) {
        ring->n_records -= n;
        memmove(ring->records, ring->records + n, ring->n_records * sizeof(*ring->records));
}
