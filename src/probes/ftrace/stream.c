/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * When a stream starts on a ring that is already recording, the other streams first read everything older. When a
 * stream stops, events that other streams of its session also want go to those from then on.
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "probes/ftrace/ring.h"
#include "shared/fd.h"

#define FILTER_PATH_BYTES 256

int stream_new(Stream **ret,
               FtraceSetup *setup,
               SessionLink *link,
               PacketSink *sink,
               ProbeNotes *notes,
               char **ret_error) {
        _cleanup_(stream_freep) Stream *stream = calloc(1, sizeof(*stream));
        int r;

        if (!stream) {
                ftrace_setup_free(setup);
                return -ENOMEM;
        }
        list_init(&stream->streams);
        stream->setup = setup;
        stream->link = session_link_ref(link);
        stream->fd = -1;
        r = ring_join(stream, notes, ret_error);
        if (r != 0)
                return r;
        stream->period_ns = setup->settings.drain_period_ns;
        if (setup->settings.drain_percent > 0 && stream->ring->is_watched)
                stream->period_ns = setup->settings.watched_period_ns;
        else if (setup->settings.drain_percent > 0)
                probe_note(
                        notes,
                        "drain_buffer_percent has no effect, as it needs Linux 6.9; the rings are "
                        "read every drain_period_ms");
        r = bundle_receiver_init(&stream->receiver, sink, stream->ring->reader.n_cpus);
        if (r < 0)
                return r;
        stream->start_stats = calloc(stream->ring->reader.n_cpus, sizeof(*stream->start_stats));
        if (!stream->start_stats)
                return -ENOMEM;
        *ret = TAKE(stream);
        return 0;
}

/*
 * Which stream of a session gets which events
 */

/* Conditions for single events are compared event by event. The rest of the state applies to all events. */
static bool is_of_event(const InstanceWrite *write) {
        return strncmp(write->file, "events/", strlen("events/")) == 0;
}

static bool has_all_of(FtraceSetup *setup, const FtraceSetup *of) {
        for (size_t i = 0; i < of->state.n_writes; i++) {
                const InstanceWrite *write = &of->state.writes[i], *own;

                own = instance_state_find(&setup->state, write->file);
                if (!is_of_event(write) && (!own || !streq(own->value, write->value)))
                        return false;
        }
        return true;
}

static bool filters_event_same(FtraceSetup *a, FtraceSetup *b, const char *event) {
        const InstanceWrite *of_a, *of_b;
        char file[FILTER_PATH_BYTES];

        snprintf(file, sizeof(file), "events/%s/filter", event);
        of_a = instance_state_find(&a->state, file);
        of_b = instance_state_find(&b->state, file);
        return (!of_a && !of_b) || (of_a && of_b && streq(of_a->value, of_b->value));
}

/* Removes the events that `other` records under the same conditions. */
static void leave_to(const Stream *stream, const Stream *other, IdSet *ids) {
        FtraceSetup *setup = stream->setup;

        if (!has_all_of(setup, other->setup) || !has_all_of(other->setup, setup))
                return;
        for (size_t i = 0; i < setup->n_events; i++)
                if (id_set_has(&other->granted, setup->events[i].id) &&
                    filters_event_same(setup, other->setup, setup->events[i].name))
                        id_set_remove(ids, setup->events[i].id);
}

/* The events that `stream` wants and that no other recording stream of the session has. */
static void stream_choose(const Stream *stream, IdSet *ret) {
        Stream *other;
        Ring *ring;

        *ret = stream->wanted;
        list_for_each (ring, &rings, rings)
                list_for_each (other, &ring->streams, streams)
                        if (other != stream && other->link == stream->link && other->writer)
                                leave_to(stream, other, ret);
}

static bool wants_same(const Stream *a, const Stream *b) {
        return id_set_equal(&a->granted, &b->granted) &&
               streq(a->setup->encoding_key, b->setup->encoding_key);
}

static BundleWriter *find_writer(const Stream *stream) {
        Stream *other;

        list_for_each (other, &stream->ring->streams, streams)
                if (other != stream && other->writer && wants_same(stream, other))
                        return other->writer;
        return NULL;
}

static void writer_free(BundleWriter *writer) {
        assert(list_is_empty(&writer->receivers));
        list_unlink(&writer->writers);
        bundle_writer_deinit(writer);
        free(writer);
}

static int writer_new(BundleWriter **ret, const Stream *stream) {
        BundleWriter *writer = calloc(1, sizeof(*writer));
        int r;

        if (!writer)
                return -ENOMEM;
        r = bundle_writer_init(writer, &stream->ring->layout);
        if (r == 0)
                r = bundle_writer_use(
                        writer, &stream->setup->encoders, &stream->granted, stream->setup->symbols);
        if (r < 0) {
                writer_free(writer);
                return r;
        }
        list_append(&stream->ring->reader.writers, &writer->writers);
        *ret = writer;
        return 0;
}

static int stream_attach(Stream *stream) {
        BundleWriter *writer = find_writer(stream);
        int r = 0;

        if (!writer)
                r = writer_new(&writer, stream);
        if (r < 0)
                return r;
        stream->writer = writer;
        bundle_writer_add(writer, &stream->receiver);
        return 0;
}

/* The writer borrows a stream's encoders. From now on it borrows another stream's, or it is freed if there is no
 * other. */
static void stream_detach(Stream *stream) {
        BundleWriter *writer = TAKE(stream->writer);
        BundleReceiver *next;

        list_unlink(&stream->receiver.receivers);
        next = list_first(&writer->receivers, BundleReceiver, receivers);
        if (next) {
                const Stream *other = container_of(next, Stream, receiver);

                bundle_writer_borrow(writer, &other->setup->encoders, other->setup->symbols);
        } else
                writer_free(writer);
}

/* Takes over the events that another stream of the session has left. If memory has run out, nothing changes. */
static void stream_choose_again(Stream *stream) {
        IdSet before = stream->granted, now;

        stream_choose(stream, &now);
        if (id_set_equal(&before, &now))
                return;
        ring_drain(stream->ring, probe_now_ns());
        stream_detach(stream);
        stream->granted = now;
        if (stream_attach(stream) == 0)
                return;
        stream->granted = before;
        (void)stream_attach(stream);
}

static void session_choose_again(const SessionLink *link) {
        Stream *stream;
        Ring *ring;

        list_for_each (ring, &rings, rings)
                list_for_each (stream, &ring->streams, streams)
                        if (stream->link == link && stream->writer)
                                stream_choose_again(stream);
}

/*
 * Life
 */

static uint32_t cpu_of(const Stream *stream, size_t i) {
        return stream->ring->reader.cpus[i].bundle.cpu;
}

static void cpu_stats_read(const Stream *stream, size_t i, CpuStats *ret) {
        const uint32_t cpu = cpu_of(stream, i);
        _cleanup_(freep) char *text = NULL;
        char file[64];

        *ret = (CpuStats){ .cpu = cpu };
        snprintf(file, sizeof(file), "per_cpu/cpu%u/stats", cpu);
        if (instance_read(stream->ring->instance, file, &text, NULL, NULL) == 0)
                cpu_stats_parse(ret, cpu, text);
}

void stream_encode_stats(Stream *stream, WireWriter *wire, bool of_start) {
        for (size_t i = 0; i < stream->receiver.n_cpus; i++) {
                CpuStats now;

                if (!of_start)
                        cpu_stats_read(stream, i, &now);
                cpu_stats_encode(of_start ? &stream->start_stats[i] : &now, wire);
        }
}

/* A ring that was adopted has recorded for the session since it was made, so losses in the meantime count. */
static void stream_begin_stats(Stream *stream, size_t i, bool is_running) {
        if (stream->ring->is_adopted && !is_running)
                stream->start_stats[i] = (CpuStats){ .cpu = cpu_of(stream, i) };
        else
                cpu_stats_read(stream, i, &stream->start_stats[i]);
}

/* Each CPU's first bundle says where the recording begins there. */
static void stream_begin_here(Stream *stream, uint64_t now_ns) {
        FtraceReader *reader = &stream->ring->reader;
        bool is_running = stream->ring->n_recording > 0;

        if (is_running)
                ring_drain(stream->ring, now_ns);
        stream->receiver.from_ns = is_running ? now_ns : 0;
        for (size_t i = 0; i < reader->n_cpus; i++) {
                stream->receiver.cpus[i] = (ReceiverCpu){
                        .end_timestamp = is_running ? reader->cpus[i].bundle.read_timestamp : 0,
                };
                stream_begin_stats(stream, i, is_running);
        }
}

int stream_start(Stream *stream, char **ret_error) {
        int r;

        stream_begin_here(stream, probe_now_ns());
        stream_choose(stream, &stream->granted);
        r = stream_attach(stream);
        if (r < 0)
                return r;
        r = ring_start(stream->ring, ret_error);
        if (r != 0)
                stream_detach(stream);
        return r;
}

void stream_stop(Stream *stream) {
        if (!stream->writer)
                return;
        ring_stop(stream->ring);
        stream_detach(stream);
        session_choose_again(stream->link);
}

Stream *stream_free(Stream *stream) {
        if (!stream)
                return NULL;
        stream_stop(stream);
        bundle_receiver_deinit(&stream->receiver);
        fd_close(stream->fd);
        if (stream->ring)
                ring_leave(stream);
        ftrace_setup_free(stream->setup);
        session_link_unref(stream->link);
        free(stream->start_stats);
        free(stream);
        return NULL;
}

/*
 * Reading
 */

void stream_drain(Stream *stream, uint64_t now_ns) {
        ring_drain(stream->ring, now_ns);
}

/* The shortest period of the ring's streams that record. */
static uint64_t ring_period_ns(const Ring *ring) {
        uint64_t period_ns = UINT64_MAX;
        Stream *stream;

        list_for_each (stream, &ring->streams, streams)
                if (stream->writer)
                        period_ns = MIN(period_ns, stream->period_ns);
        return period_ns;
}

static bool ring_is_filled(const Ring *ring) {
        struct epoll_event event;

        return ring->is_watched && epoll_wait(ring->reader.epoll_fd, &event, 1, 0) > 0;
}

uint64_t stream_poll(Stream *stream, uint64_t now_ns) {
        Ring *ring = stream->ring;

        if (!stream->writer)
                return PROBE_NEVER;
        if (ring_is_filled(ring) || ring->drained_ns + ring_period_ns(ring) / 2 <= now_ns) {
                ring_drain(ring, now_ns);
                if (ring->is_watched)
                        ftrace_reader_unwatch_broken(&ring->reader);
        }
        return probe_next_on_grid(now_ns, stream->period_ns);
}

int stream_fd(Stream *stream) {
        const Ring *ring = stream->ring;

        if (stream->fd < 0 && ring->is_watched && stream->setup->settings.drain_percent > 0)
                stream->fd = fcntl(ring->reader.epoll_fd, F_DUPFD_CLOEXEC, 0);
        return stream->fd;
}
