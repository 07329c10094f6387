/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What a sequence says refers to what it said before: names by number, times by difference, tracks by uuid. So
 * whenever a packet may be missing for the reader (one was dropped, or the session asks for it because
 * old packets are overwritten) everything is said anew.
 */

#include <time.h>

#include "lib/track.h"
#include "shared/macro.h"

#define NS_PER_SEC UINT64_C(1000000000)

uint64_t track_now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

TrackSequence *track_sequence_free(TrackSequence *sequence) {
        if (!sequence)
                return NULL;
        dt_writer_free(sequence->writer);
        intern_deinit(&sequence->names);
        intern_deinit(&sequence->arg_names);
        intern_deinit(&sequence->tracks);
        free(sequence);
        return NULL;
}

static bool put_packet(TrackSequence *sequence, const WireWriter *packet) {
        if (wire_writer_failed(packet))
                return false;
        return dt_writer_write(sequence->writer, packet->start, wire_writer_size(packet)) == 0;
}

static bool describe_thread(TrackSequence *sequence, TrackThread *thread) {
        WireWriter packet;

        wire_writer_init(&packet, thread->scratch->packet, DT_EVENT_BYTES_MAX);
        track_encode_thread(&packet, thread);
        sequence->name_epoch = thread->name_epoch;
        return put_packet(sequence, &packet);
}

static bool begin(TrackSequence *sequence, TrackThread *thread, uint64_t now_ns) {
        WireWriter packet;

        intern_clear(&sequence->names);
        intern_clear(&sequence->arg_names);
        intern_clear(&sequence->tracks);
        memset(sequence->recent_track, 0, sizeof(sequence->recent_track));
        memset(sequence->categories, 0, sizeof(sequence->categories));

        wire_writer_init(&packet, thread->scratch->packet, DT_EVENT_BYTES_MAX);
        track_encode_start(&packet, thread, now_ns);
        if (!put_packet(sequence, &packet))
                return false;
        sequence->last_ns = now_ns;
        wire_writer_init(&packet, thread->scratch->packet, DT_EVENT_BYTES_MAX);
        track_encode_process(&packet);
        return put_packet(sequence, &packet) && describe_thread(sequence, thread);
}

static bool prepare(TrackSequence *sequence,
                    TrackThread *thread,
                    const TrackSession *session,
                    uint64_t now_ns) {
        uint32_t n_clears = atomic_load_explicit(&session->n_clears, memory_order_relaxed);

        if (!sequence->begun || sequence->n_clears != n_clears ||
            dt_writer_lost(sequence->writer)) {
                sequence->n_clears = n_clears;
                sequence->begun = begin(sequence, thread, now_ns);
                return sequence->begun;
        }
        if (sequence->name_epoch != thread->name_epoch)
                return describe_thread(sequence, thread);
        return true;
}

/* Describes a track and those above it, once. */
static bool describe_track(TrackSequence *sequence,
                           TrackThread *thread,
                           const dt_track *track,
                           uint64_t uuid,
                           bool is_counter) {
        uint64_t *recent = &sequence->recent_track[uuid % ARRAY_SIZE(sequence->recent_track)];
        WireWriter packet;
        uint32_t number;

        if (LIKELY(*recent == uuid))
                return true;
        *recent = uuid;
        if (intern_number(&sequence->tracks, &uuid, sizeof(uuid), &number) == 0)
                return true;
        if (track->parent &&
            !describe_track(sequence, thread, track->parent, track_uuid(track->parent), false))
                return false;
        wire_writer_init(&packet, thread->scratch->packet, DT_EVENT_BYTES_MAX);
        track_encode_track(&packet, track, is_counter);
        return put_packet(sequence, &packet);
}

static bool
describe_event_track(TrackSequence *sequence, TrackThread *thread, const TrackEvent *event) {
        return !event->track || describe_track(sequence,
                                               thread,
                                               event->track,
                                               event->uuid,
                                               event->type == TRACK_EVENT_COUNTER);
}

static void encode(WireWriter *packet,
                   TrackSequence *sequence,
                   TrackThread *thread,
                   const TrackEvent *event,
                   uint64_t since_ns) {
        WireWriter interned;

        wire_writer_init(packet, thread->scratch->packet, DT_EVENT_BYTES_MAX);
        wire_writer_init(&interned, thread->scratch->interned, TRACK_INTERNED_BYTES);
        track_encode_event(packet, &interned, sequence, event, since_ns);
        packet->failed |= interned.failed;
}

static bool write_event(TrackSequence *sequence,
                        TrackThread *thread,
                        const TrackEvent *event,
                        uint64_t now_ns) {
        uint64_t since_ns = now_ns - sequence->last_ns;
        WireWriter packet;

        encode(&packet, sequence, thread, event, since_ns);
        if (wire_writer_failed(&packet)) {
                TrackEvent bare = *event;

                /* Too much for one packet. What it interned was never said, so it starts anew, too. */
                bare.n_args = 0;
                if (!begin(sequence, thread, now_ns) ||
                    !describe_event_track(sequence, thread, event))
                        return false;
                encode(&packet, sequence, thread, &bare, 0);
        }
        if (!put_packet(sequence, &packet))
                return false;
        sequence->last_ns = now_ns;
        return true;
}

static void count_depth(TrackSequence *sequence, const TrackEvent *event) {
        if (event->track)
                return;
        if (event->type == TRACK_EVENT_SLICE_BEGIN)
                sequence->depth++;
        if (event->type == TRACK_EVENT_SLICE_END)
                sequence->depth--;
}

void track_sequence_write(TrackSequence *sequence,
                          TrackThread *thread,
                          const TrackSession *session,
                          const TrackEvent *event,
                          uint64_t now_ns) {
        /* Began before the session did, or its begin was dropped. */
        if (event->type == TRACK_EVENT_SLICE_END && !event->track && sequence->depth == 0)
                return;
        if (!prepare(sequence, thread, session, now_ns))
                return;
        if (!describe_event_track(sequence, thread, event)) {
                sequence->begun = false;
                return;
        }
        if (write_event(sequence, thread, event, now_ns))
                count_depth(sequence, event);
        else
                sequence->begun = false;
}
