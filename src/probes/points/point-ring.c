/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Point ring: the instance that records the points, and its records in order of time */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/probe.h"
#include "probes/points/point-ring.h"
#include "shared/fd.h"
#include "shared/log.h"

PointRing *point_ring_free(PointRing *ring) {
        if (!ring)
                return NULL;
        own_pages_end(&ring->pages);
        if (ring->pages.dir)
                point_events_deinit(&ring->events); /* after the instance that uses them */
        own_pages_deinit(&ring->pages);
        free(ring->records);
        free(ring);
        return NULL;
}

static int prepare(PointRing *ring, char **ret_error) {
        int r;

        ring->events.slot.fd = -1;
        r = own_pages_init(&ring->pages, POINT_BUFFER_KB, ret_error);
        if (r == 0)
                r = point_events_init(
                        &ring->events, ring->pages.dir, ring->pages.instance, ret_error);
        return r == 0 ? own_pages_open(&ring->pages) : r;
}

int point_ring_new(PointRing **ret, char **ret_error) {
        _cleanup_(point_ring_freep) PointRing *ring = NULL;
        int r;

        ring = calloc(1, sizeof(*ring));
        if (!ring)
                return -ENOMEM;
        r = prepare(ring, ret_error);
        if (r != 0)
                return r;
        *ret = TAKE(ring);
        return 0;
}

int point_ring_add_waits(PointRing *ring, char **ret_error) {
        return wait_events_enable(&ring->waits, ring->pages.dir, ring->pages.instance, ret_error);
}

int point_ring_start(PointRing *ring, char **ret_error) {
        return own_pages_start(&ring->pages, ret_error);
}

void point_ring_stop(PointRing *ring) {
        own_pages_stop(&ring->pages, "linux.program_points");
}

/*
 * Records
 */

static bool find_kind(const PointRing *ring, uint16_t id, PointRecordKind *ret) {
        for (size_t i = 0; i < ring->events.n_batches; i++) {
                const PointBatch *batch = &ring->events.batches[i];

                if ((batch->has_entry && batch->entry_id == id) ||
                    (batch->has_return && batch->return_id == id)) {
                        *ret = batch->has_return && batch->return_id == id ? POINT_RECORD_RETURN
                                                                           : POINT_RECORD_ENTRY;
                        return true;
                }
        }
        for (size_t i = 0; i < ring->waits.n; i++)
                if (ring->waits.enter[i] == id || ring->waits.exit[i] == id) {
                        *ret = ring->waits.enter[i] == id ? POINT_RECORD_WAIT : POINT_RECORD_WAKE;
                        return true;
                }
        return false;
}

static bool
decode(PointRecord *ret, const PointRing *ring, PointRecordKind kind, const PageRecord *record) {
        const PointEvents *events = &ring->events;

        if (kind == POINT_RECORD_WAIT || kind == POINT_RECORD_WAKE)
                return point_record_decode_wait(ret, kind, record);
        return point_record_decode(ret,
                                   kind == POINT_RECORD_RETURN ? &events->return_layout
                                                               : &events->entry_layout,
                                   record) &&
               ret->site < events->n_sites;
}

static bool make_room(PointRing *ring) {
        PointRecord *more;
        size_t n;

        if (ring->n_records < ring->n_allocated)
                return true;
        if (ring->n_allocated == POINT_RECORDS_MAX)
                return false;
        n = MIN(ring->n_allocated * 2 + 1024, (size_t)POINT_RECORDS_MAX);
        more = reallocarray(ring->records, n, sizeof(*more));
        if (!more)
                return false;
        ring->records = more;
        ring->n_allocated = n;
        return true;
}

static void add_record(PointRing *ring, const PageRecord *record) {
        PointRecordKind kind;
        uint16_t id;

        if (record->n_bytes < RECORD_COMMON_BYTES)
                return;
        memcpy(&id, record->data + RECORD_ID_OFFSET, sizeof(id));
        if (!find_kind(ring, id, &kind))
                return;
        if (!make_room(ring)) {
                ring->n_lost++;
                return;
        }
        if (decode(&ring->records[ring->n_records], ring, kind, record))
                ring->n_records++;
}

static void add_page(PointRing *ring, size_t n_bytes) {
        PageReader reader;
        PageRecord record;

        if (page_reader_init(&reader, &ring->pages.layout, ring->pages.page, n_bytes) < 0) {
                ring->n_lost++;
                return;
        }
        if (reader.lost)
                ring->n_lost += MAX(reader.n_lost, (uint64_t)1);
        while (page_read(&reader, &record) == 1)
                add_record(ring, &record);
}

static int compare_records(const void *a, const void *b) {
        const PointRecord *first = a, *second = b;

        return (first->at_ns > second->at_ns) - (first->at_ns < second->at_ns);
}

/* Each turn takes no more than the rings hold: records that come faster than they are read must not keep us here. */
void point_ring_read(PointRing *ring) {
        size_t n_pages = POINT_BUFFER_KB * 1024 / ring->pages.n_page;

        for (size_t i = 0; i < ring->pages.n_cpus; i++)
                for (size_t page = 0; page < n_pages; page++) {
                        ssize_t n = read(ring->pages.cpus[i], ring->pages.page, ring->pages.n_page);

                        if (n <= 0)
                                break;
                        add_page(ring, (size_t)n);
                }
        if (ring->n_records > 1)
                qsort(ring->records, ring->n_records, sizeof(*ring->records), compare_records);
}

void point_ring_consume(PointRing *ring, size_t n) {
        ring->n_records -= n;
        if (ring->n_records > 0)
                memmove(ring->records, ring->records + n, ring->n_records * sizeof(*ring->records));
}

void point_ring_limit(PointRing *ring, uint64_t now_ns) {
        const uint64_t rest_ns = ring->rests_ns == 0 ? 0 : now_ns - MIN(now_ns, ring->rests_ns);
        const uint64_t late_ns = MIN(rest_ns, POINT_TURNS_LATE * POINT_TURN_NS);
        const size_t n_max = POINT_TURN_MAX * MAX(late_ns, POINT_TURN_NS) / POINT_TURN_NS;
        const size_t n = ring->n_records - MIN(ring->n_records, n_max);

        ring->n_lost += n;
        point_ring_consume(ring, n);
}
