/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Ring: one of our tracefs instances, and the streams that it feeds */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "probes/ftrace/ring.h"
#include "shared/log.h"

#define EVENT_PATH_BYTES 256

List rings = LIST_INIT(rings);

/* With sub-buffers larger than a page, system calls cost a third. Kernels before 6.8 do not have these, and memory
 * may lack pieces of that size. */
static void ring_size_pages(Ring *ring) {
        ring->n_page = (size_t)sysconf(_SC_PAGESIZE);
        if (instance_write_number(
                    ring->instance, "buffer_subbuf_size_kb", FTRACE_SUBBUFFER_KB, NULL) == 0)
                ring->n_page = MAX(ring->n_page, (size_t)FTRACE_SUBBUFFER_KB * 1024);
}

/* The limit is for all rings together. The settings have made sure that a single ring keeps within it. */
static int ring_check_memory(const Ring *ring, const FtraceSetup *setup, char **ret_error) {
        uint64_t total_kb = setup->settings.buffer_kb;
        Ring *other;

        list_for_each (other, &rings, rings)
                if (other != ring)
                        total_kb += other->buffer_kb;
        if (total_kb <= setup->settings.buffer_kb_max)
                return 0;
        return probe_refuse(
                ret_error,
                "buffer_size_kb: with those of other recordings the kernel's buffers would "
                "take %" PRIu64 " KiB on each CPU, and %" PRIu64
                " KiB (a quarter of the memory in all) are allowed; ask for less or stop "
                "a recording",
                total_kb,
                setup->settings.buffer_kb_max);
}

/* Growing keeps what is in the buffers, so it may be done while they record. Shrinking would not, so they never
 * shrink. */
static int
ring_size_buffers(Ring *ring, const FtraceSetup *setup, ProbeNotes *notes, char **ret_error) {
        uint64_t buffer_kb = setup->settings.buffer_kb;
        _cleanup_(freep) char *error = NULL;
        int r;

        if (buffer_kb <= ring->buffer_kb)
                return 0;
        r = ring_check_memory(ring, setup, ret_error);
        if (r != 0)
                return r;
        r = instance_write_number(ring->instance, "buffer_size_kb", buffer_kb, &error);
        if (r == 0)
                ring->buffer_kb = buffer_kb;
        if (r != PROBE_E_REFUSED)
                return r;
        if (ring->buffer_kb == 0) {
                *ret_error = TAKE(error);
                return r;
        }
        probe_note(notes,
                   "the buffers that another recording has already stay at %" PRIu64 " KiB: %s",
                   ring->buffer_kb,
                   error);
        return 0;
}

/* Applies the settings that cannot be combined. All streams of a ring agree in these (ring_key), so this is done
 * once, before the events are enabled, and nothing unwanted is ever recorded. */
static int ring_apply(Ring *ring, const FtraceSetup *setup, char **ret_error) {
        int r;

        r = instance_write(ring->instance, "trace_clock", "boot", ret_error);
        if (r == 0)
                r = instance_state_apply(&setup->state, ring->instance, ret_error);
        return r;
}

/* Since 6.16, an instance can get a copy of what programs write to the trace_marker that they know. In older kernels
 * it only gets what is written to its own. If this instance were not recording, the kernel would refuse these
 * programs' writes. */
static void ring_copy_markers(Ring *ring, bool on) {
        (void)instance_write(ring->instance, "options/copy_trace_marker", on ? "1" : "0", NULL);
}

static int ring_switch_event(Ring *ring, const FtraceEvent *event, bool on, char **ret_error) {
        char file[EVENT_PATH_BYTES];

        if (ftrace_event_is_print(event)) {
                ring->wants_markers = on;
                if (ring->n_recording > 0)
                        ring_copy_markers(ring, on);
                return 0;
        }
        if (!ftrace_event_has_switch(event))
                return 0;
        snprintf(file, sizeof(file), "events/%s/enable", event->name);
        return instance_write(ring->instance, file, on ? "1" : "0", ret_error);
}

/* Enabling a whole group takes the kernel less time than enabling its events one by one. Returns false if this has
 * changed nothing that matters. */
static bool ring_switch_group(Ring *ring, const FtraceSetup *setup, size_t first) {
        const EventName *name = &setup->selection.events[first];
        char file[EVENT_PATH_BYTES];

        for (size_t i = first; i < first + name->n_whole; i++)
                if (setup->events[i].failed)
                        return false;
        if (name->n_whole < 2)
                return false;
        snprintf(file, sizeof(file), "events/%.*s/enable", (int)name->n_group, name->text);
        return instance_write(ring->instance, file, "1", NULL) == 0;
}

static int ring_use_event(Ring *ring, const FtraceEvent *event, bool is_on, char **ret_error) {
        int r = 0;

        if (!is_on && ring->uses[event->id] == 0)
                r = ring_switch_event(ring, event, true, ret_error);
        ring->uses[event->id] += r == 0;
        return r;
}

/* Events that the kernel refuses are reported, and the others are recorded, if there are any. */
static int ring_use_events(Ring *ring, Stream *stream, ProbeNotes *notes, char **ret_error) {
        const FtraceSetup *setup = stream->setup;
        _cleanup_(freep) char *first_error = NULL;
        size_t n_wanted = 0, on_until = 0;

        for (size_t i = 0; i < setup->n_events; i++) {
                FtraceEvent *event = &setup->events[i];
                _cleanup_(freep) char *error = NULL;
                int r;

                if (ring_switch_group(ring, setup, i))
                        on_until = i + setup->selection.events[i].n_whole;
                if (event->failed || id_set_has(&stream->wanted, event->id))
                        continue;
                r = ring_use_event(ring, event, i < on_until, &error);
                if (r < 0)
                        return r;
                event->failed = r == PROBE_E_REFUSED;
                if (event->failed) {
                        probe_note(notes, "%s", error);
                        first_error = first_error ?: TAKE(error);
                        continue;
                }
                id_set_add(&stream->wanted, event->id);
                n_wanted++;
        }
        if (n_wanted > 0)
                return 0;
        return probe_refuse(ret_error,
                            "nothing to record: %s",
                            first_error ?: "the formats of all events are unknown");
}

static void ring_unuse_events(Ring *ring, Stream *stream) {
        for (size_t i = 0; i < stream->setup->n_events; i++) {
                const FtraceEvent *event = &stream->setup->events[i];

                if (!id_set_has(&stream->wanted, event->id))
                        continue;
                id_set_remove(&stream->wanted, event->id);
                /* The last stream takes the instance along, and with it everything that is enabled. */
                if (--ring->uses[event->id] == 0 && !list_is_empty(&ring->streams))
                        (void)ring_switch_event(ring, event, false, NULL);
        }
}

/* From 6.9 on, the kernel correctly counts how full a ring is. */
static bool kernel_tells_watermark(void) {
        unsigned major, minor;
        struct utsname name;

        return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
               (major > 6 || (major == 6 && minor >= 9));
}

/* The lowest percentage of all streams, so that no stream is woken later than it wants. */
static void ring_set_watermark(Ring *ring) {
        unsigned percent = 0;
        Stream *stream;

        list_for_each (stream, &ring->streams, streams) {
                unsigned wanted = stream->setup->settings.drain_percent;

                if (wanted > 0 && (percent == 0 || wanted < percent))
                        percent = wanted;
        }
        if (percent == 0 || percent == ring->percent || !kernel_tells_watermark() ||
            instance_write_number(ring->instance, "buffer_percent", percent, NULL) != 0)
                return;
        ring->percent = percent;
        ring->is_watched = ftrace_reader_watch(&ring->reader) == 0;
}

/* When it is told a size, the kernel stops recording for a moment, even if the size stays the same. So we ask for
 * the present size first. */
static void ring_read_sizes(Ring *ring, const FtraceSetup *setup) {
        const uint64_t wanted_kb = setup->settings.buffer_kb;
        _cleanup_(freep) char *pages = NULL, *buffers = NULL;

        ring->n_page = (size_t)sysconf(_SC_PAGESIZE);
        if (instance_read(ring->instance, "buffer_subbuf_size_kb", &pages, NULL, NULL) == 0)
                ring->n_page = MAX(ring->n_page, (size_t)strtoul(pages, NULL, 10) * 1024);
        if (instance_read(ring->instance, "buffer_size_kb", &buffers, NULL, NULL) == 0)
                ring->buffer_kb = strtoull(buffers, NULL, 10);
        if (ring->buffer_kb + ring->buffer_kb / 16 >= wanted_kb) /* it is rounded */
                ring->buffer_kb = MAX(ring->buffer_kb, wanted_kb);
}

static Ring *ring_free(Ring *ring) {
        if (!ring)
                return NULL;
        assert(list_is_empty(&ring->streams) && ring->n_recording == 0);
        list_unlink(&ring->rings);
        ftrace_reader_deinit(&ring->reader);
        instance_free(ring->instance); /* after its descriptors */
        free(ring->key);
        free(ring);
        return NULL;
}
DEFINE_CLEANUP(Ring *, ring_free)

static int ring_allocate(Ring **ret, const FtraceSetup *setup) {
        _cleanup_(ring_freep) Ring *ring = calloc(1, sizeof(*ring));

        if (!ring)
                return -ENOMEM;
        list_init(&ring->rings);
        list_init(&ring->streams);
        ring->reader.epoll_fd = -1;
        ring->layout = setup->layout;
        ring->key = strdup(setup->ring_key);
        if (!ring->key)
                return -ENOMEM;
        *ret = TAKE(ring);
        return 0;
}

static int
ring_make_instance(Ring *ring, const FtraceSetup *setup, const InstanceTag *tag, char **ret_error) {
        int r;

        r = instance_new(&ring->instance, setup->dir, tag, ret_error);
        if (r == 0)
                r = ring_apply(ring, setup, ret_error);
        if (r == 0)
                ring_size_pages(ring);
        return r;
}

/* Probes that a recording defined are gone with the process that defined them, and with them what was in the ring. */
static InstanceTag tag_of(const Stream *stream) {
        const FtraceSetup *setup = stream->setup;

        return (InstanceTag){
                .session_id = setup->dynamic ? 0 : stream->link->session_id,
                .settings = setup->ring_key,
        };
}

static int ring_open(Ring *ring, const FtraceSetup *setup, ProbeNotes *notes, char **ret_error) {
        int r;

        r = ring_size_buffers(ring, setup, notes, ret_error);
        if (r == 0)
                r = ftrace_reader_init(&ring->reader, ring->instance, ring->n_page);
        if (r != 0)
                return r;
        list_append(&rings, &ring->rings);
        return 0;
}

static int ring_new(Ring **ret, const Stream *stream, ProbeNotes *notes, char **ret_error) {
        _cleanup_(ring_freep) Ring *ring = NULL;
        const InstanceTag tag = tag_of(stream);
        int r;

        r = ring_allocate(&ring, stream->setup);
        if (r == 0)
                r = ring_make_instance(ring, stream->setup, &tag, ret_error);
        if (r == 0)
                r = ring_open(ring, stream->setup, notes, ret_error);
        if (r == 0)
                *ret = TAKE(ring);
        return r;
}

/* Takes over the instance that the previous process has left for this recording. Returns 0, INSTANCE_E_NONE or a
 * negative errno. */
static int ring_adopt(Ring **ret, const Stream *stream, ProbeNotes *notes) {
        _cleanup_(ring_freep) Ring *ring = NULL;
        const InstanceTag tag = tag_of(stream);
        int r;

        r = ring_allocate(&ring, stream->setup);
        if (r == 0)
                r = instance_adopt(&ring->instance, stream->setup->dir, &tag);
        if (r != 0)
                return r;
        ring->is_adopted = true;
        ring_read_sizes(ring, stream->setup);
        r = ring_open(ring, stream->setup, notes, NULL);
        if (r != 0)
                return r < 0 ? r : INSTANCE_E_NONE;
        *ret = TAKE(ring);
        probe_note(notes,
                   "the program that reads the kernel's buffers was started again; the kernel "
                   "recorded on, and what the buffers had no room for is counted, but what was "
                   "being read at that moment may be missing");
        return 0;
}

static Ring *ring_find(const char *key) {
        Ring *ring;

        list_for_each (ring, &rings, rings)
                if (streq(ring->key, key))
                        return ring;
        return NULL;
}

int ring_join(Stream *stream, ProbeNotes *notes, char **ret_error) {
        Ring *ring;
        int r;

        r = ring_adopt(&ring, stream, notes);
        if (r == INSTANCE_E_NONE) {
                ring = ring_find(stream->setup->ring_key);
                r = ring ? 0 : ring_new(&ring, stream, notes, ret_error);
        }
        if (r != 0)
                return r;
        stream->ring = ring;
        list_append(&ring->streams, &stream->streams);
        r = ring_size_buffers(ring, stream->setup, notes, ret_error);
        if (r == 0)
                r = ring_use_events(ring, stream, notes, ret_error);
        if (r != 0) {
                ring_leave(stream);
                return r;
        }
        ring_set_watermark(ring);
        return 0;
}

void ring_leave(Stream *stream) {
        Ring *ring = TAKE(stream->ring);

        list_unlink(&stream->streams);
        ring_unuse_events(ring, stream);
        if (list_is_empty(&ring->streams))
                ring_free(ring);
        else
                ring_set_watermark(ring);
}

int ring_start(Ring *ring, char **ret_error) {
        int r = 0;

        if (ring->n_recording == 0)
                r = instance_write(ring->instance, "tracing_on", "1", ret_error);
        if (r != 0)
                return r;
        if (ring->n_recording++ == 0 && ring->wants_markers)
                ring_copy_markers(ring, true);
        return 0;
}

/* Returns whether recording has stopped, which is false only if the kernel refuses even that. */
static bool ring_switch_off(Ring *ring) {
        _cleanup_(freep) char *error = NULL;

        if (ring->wants_markers)
                ring_copy_markers(ring, false);
        if (instance_write(ring->instance, "tracing_on", "0", &error) == 0)
                return true;
        log_warning("linux.ftrace: %s", error ?: "cannot stop recording");
        return false;
}

void ring_stop(Ring *ring) {
        bool is_off = --ring->n_recording == 0 && ring_switch_off(ring);

        ring_drain(ring, is_off ? UINT64_MAX : probe_now_ns());
}

/* Passes on to each session the threads that its streams have seen. A new thread counts as new, even if its pid was
 * seen before. */
static void stream_tell_pids(const Stream *stream) {
        PidSet *pids = session_link_pids(stream->link);
        const PidSet *met, *born;

        if (!pids || !stream->writer)
                return;
        met = &stream->writer->pids;
        born = &stream->writer->born;
        for (size_t i = 0; i < born->n_fresh; i++)
                pid_set_remove(pids, born->fresh[i]);
        for (size_t i = 0; i < met->n_fresh; i++)
                pid_set_add(pids, met->fresh[i]);
}

void ring_drain(Ring *ring, uint64_t until_ns) {
        BundleWriter *writer;
        Stream *stream;

        list_for_each (stream, &ring->streams, streams)
                if (stream->writer && session_link_pids(stream->link))
                        stream->writer->notes_pids = true;
        ftrace_reader_drain(&ring->reader, until_ns);
        list_for_each (stream, &ring->streams, streams)
                stream_tell_pids(stream);
        list_for_each (writer, &ring->reader.writers, writers) {
                writer->notes_pids = false;
                bundle_forget_pids(writer);
        }
        list_for_each (stream, &ring->streams, streams)
                if (stream->writer)
                        session_link_notify(stream->link);
        ring->drained_ns = MIN(until_ns, probe_now_ns());
}
