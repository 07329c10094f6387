/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Track sequence: one thread's stream of packets into one or several sessions
 *
 * The packets of a stream refer to earlier ones: to names by number, to times by difference, to tracks by uuid. So
 * whenever a reader may miss a packet (one was dropped, or the session asks to start over because old packets are
 * overwritten), everything is written again.
 *
 * The sessions of a stream keep in step: each has got the same packets since the stream began. A session that joins
 * later, has lost a packet or is asked to start over begins separately; once that has succeeded, the whole stream
 * starts over with it. Until then it misses events, and the others are not affected.
 */

#include "lib/pool.h"
#include "lib/track-names.h"
#include "lib/track.h"
#include "lib/writer.h"
#include "shared/macro.h"

TrackSequence *track_sequence_free(TrackSequence *sequence) {
        if (!sequence)
                return NULL;
        dt_writer_free(sequence->writer);
        return pool_free(sequence);
}

void track_stream_deinit(TrackStream *stream) {
        intern_deinit(&stream->names);
        intern_deinit(&stream->arg_names);
        intern_deinit(&stream->values);
        intern_deinit(&stream->locations);
        intern_deinit(&stream->tracks);
        pool_free(stream->counts);
}

TrackStream *track_stream_free(TrackStream *stream) {
        if (!stream)
                return NULL;
        track_stream_deinit(stream);
        return pool_free(stream);
}

/*
 * Members
 */

/* A sequence that misses a packet is no longer a member, and has to begin again. */
static void members_drop(TrackMembers *members, unsigned i) {
        members->sequences[i]->position = 0;
        members->sequences[i] = members->sequences[--members->n];
}

/* If a description that belongs before an event is lost, so is the event. Without an event, the description is
 * written again later. */
static int put_before(const TrackMembers *members, unsigned i, const WireWriter *packet) {
        dt_writer *writer = members->sequences[i]->writer;
        size_t n_bytes = wire_writer_size(packet);

        return members->has_event ? writer_write(writer, packet->start, n_bytes)
                                  : writer_try(writer, packet->start, n_bytes);
}

/* Returns whether any session has got it. */
static bool members_put(TrackMembers *members, const WireWriter *packet) {
        for (unsigned i = members->n; i-- > 0;)
                if (UNLIKELY(wire_writer_failed(packet) || put_before(members, i, packet) != 0))
                        members_drop(members, i);
        return members->n > 0;
}

/* Declares that ranks count, for tracks that have one. */
static bool describe_root(TrackMembers *members, TrackThread *thread, int32_t rank) {
        WireWriter packet;

        if (LIKELY(rank == 0))
                return true;
        wire_writer_init(&packet, thread->scratch->packet, DT_EVENT_BYTES_MAX);
        track_encode_root(&packet);
        return members_put(members, &packet);
}

static bool describe_thread(TrackMembers *members, TrackThread *thread) {
        WireWriter packet;

        wire_writer_init(&packet, thread->scratch->packet, DT_EVENT_BYTES_MAX);
        track_encode_thread(&packet, thread);
        members->stream->name_epoch = thread->name_epoch;
        return members_put(members, &packet) && describe_root(members, thread, thread->rank);
}

static bool describe_process(TrackMembers *members, TrackThread *thread) {
        WireWriter packet;

        wire_writer_init(&packet, thread->scratch->packet, DT_EVENT_BYTES_MAX);
        track_encode_process(&packet);
        return members_put(members, &packet) &&
               describe_root(members, thread, track_process_rank());
}

/*
 * Beginning
 */

static bool begin_members(TrackMembers *members, TrackThread *thread, uint64_t now_ns) {
        WireWriter packet;

        for (unsigned i = 0; i < members->n; i++)
                members->sequences[i]->n_clears = atomic_load_explicit(
                        &members->sequences[i]->session->n_clears, memory_order_relaxed);
        wire_writer_init(&packet, thread->scratch->packet, DT_EVENT_BYTES_MAX);
        track_encode_start(&packet, thread, now_ns);
        return members_put(members, &packet) && describe_process(members, thread) &&
               describe_thread(members, thread);
}

static void stream_forget(TrackStream *stream, uint64_t now_ns) {
        intern_clear(&stream->names);
        intern_clear(&stream->arg_names);
        intern_clear(&stream->values);
        intern_clear(&stream->locations);
        stream->n_log_bodies = 0;
        intern_clear(&stream->tracks);
        memset(stream->recent_track, 0, sizeof(stream->recent_track));
        memset(stream->recent, 0, sizeof(stream->recent));
        memset(stream->categories, 0, sizeof(stream->categories));
        stream->n_counts = 0;
        stream->last_ns = now_ns;
}

/* Lets all members begin; those that cannot are no longer members. */
static bool begin(TrackMembers *members, TrackThread *thread, uint64_t now_ns) {
        stream_forget(members->stream, now_ns);
        return begin_members(members, thread, now_ns);
}

static inline bool keeps_step(const TrackSequence *sequence, const TrackStream *stream) {
        return sequence->position == stream->position && sequence->position > 0 &&
               sequence->n_clears ==
                       atomic_load_explicit(&sequence->session->n_clears, memory_order_relaxed);
}

static bool all_keep_step(const TrackMembers *members) {
        for (unsigned i = 0; i < members->n; i++)
                if (UNLIKELY(!keeps_step(members->sequences[i], members->stream)))
                        return false;
        return true;
}

/* Those in step come first: if none of the others can begin, they are not affected. */
static bool members_join(TrackMembers *members, TrackThread *thread, uint64_t now_ns) {
        TrackMembers old = { .stream = members->stream, .has_event = members->has_event },
                     new = old;

        for (unsigned i = 0; i < members->n; i++) {
                TrackSequence *sequence = members->sequences[i];

                if (keeps_step(sequence, members->stream))
                        old.sequences[old.n++] = sequence;
                else
                        new.sequences[new.n++] = sequence;
        }
        if (begin_members(&new, thread, now_ns)) {
                begin(&old, thread, now_ns);
                for (unsigned i = 0; i < new.n; i++)
                        old.sequences[old.n++] = new.sequences[i];
        }
        *members = old;
        return members->n > 0;
}

/*
 * Events
 */

/* Describes a track and those above it, once. */
static bool describe_track(TrackMembers *members,
                           TrackThread *thread,
                           const dt_track *track,
                           uint64_t uuid,
                           TrackKind kind) {
        TrackStream *stream = members->stream;
        uint64_t *recent = &stream->recent_track[uuid % ARRAY_SIZE(stream->recent_track)];
        WireWriter packet;
        uint32_t number;

        if (LIKELY(*recent == uuid) || track_is_given(track))
                return true;
        *recent = uuid;
        if (intern_number(&stream->tracks, &uuid, sizeof(uuid), &number) == 0)
                return true;
        if (track->parent && !describe_track(members,
                                             thread,
                                             track->parent,
                                             track_uuid(track->parent, thread->uuid),
                                             TRACK_KIND_SLICES))
                return false;
        wire_writer_init(&packet, thread->scratch->packet, DT_EVENT_BYTES_MAX);
        track_encode_track(&packet, stream, track, kind);
        return members_put(members, &packet);
}

static TrackKind event_track_kind(const TrackEvent *event) {
        switch (event->type) {
        case TRACK_EVENT_COUNTER:
                return TRACK_KIND_COUNTER;
        case TRACK_EVENT_STATE:
                return TRACK_KIND_STATES;
        default:
                return TRACK_KIND_SLICES;
        }
}

/* Describes the tracks of counters among the event's arguments. */
static bool
describe_arg_tracks(TrackMembers *members, TrackThread *thread, const TrackEvent *event) {
        for (size_t i = 0; i < event->n_args; i++) {
                const dt_arg *arg = &event->args[i];
                const dt_track *track = (const dt_track *)arg->name;

                if (UNLIKELY(arg->type == DT_ARG_COUNTER || arg->type == DT_ARG_COUNTER_DOUBLE) &&
                    !describe_track(members,
                                    thread,
                                    track,
                                    track_uuid(track, thread->uuid),
                                    TRACK_KIND_COUNTER))
                        return false;
        }
        return true;
}

static inline bool
describe_event_tracks(TrackMembers *members, TrackThread *thread, const TrackEvent *event) {
        if (event->track) {
                if (!describe_track(
                            members, thread, event->track, event->uuid, event_track_kind(event)))
                        return false;
                track_remember(members->stream, event);
        }
        return event->n_args == 0 || describe_arg_tracks(members, thread, event);
}

static void encode(WireWriter *packet,
                   TrackStream *stream,
                   TrackThread *thread,
                   const TrackEvent *event,
                   uint64_t since_ns) {
        WireWriter interned;
        uint8_t *end;

        wire_writer_init(packet, thread->scratch->packet, DT_EVENT_BYTES_MAX);
        end = event->time_ns == 0 ? track_encode_short(packet->at, stream, event, since_ns) : NULL;
        if (end) {
                packet->at = end;
                return;
        }
        wire_writer_init(&interned, thread->scratch->interned, TRACK_INTERNED_BYTES);
        track_encode_event(packet, &interned, stream, event, since_ns);
        packet->failed |= interned.failed;
}

static bool is_thread_end(const TrackEvent *event) {
        return event->type == TRACK_EVENT_SLICE_END && !event->track;
}

/* Counts open slices on the thread's track. */
static int depth_change(const TrackEvent *event) {
        if (event->track)
                return 0;
        return (event->type == TRACK_EVENT_SLICE_BEGIN) - (event->type == TRACK_EVENT_SLICE_END);
}

/* The session does not have the slice, so its end is not written either: otherwise another slice would end in its
 * place. */
static void miss_begin(TrackSequence *sequence) {
        if (sequence->depth == 0 && sequence->n_missing > 0)
                sequence->missing[sequence->n_missing - 1].n_slices++;
        else if (sequence->n_missing < TRACK_MISSING_MAX)
                sequence->missing[sequence->n_missing++] = (TrackMissing){ 1, sequence->depth };
        else
                return;
        sequence->depth = 0;
}

static void skip_end(TrackSequence *sequence) {
        TrackMissing *missing;

        if (sequence->n_missing == 0)
                return;
        missing = &sequence->missing[sequence->n_missing - 1];
        if (--missing->n_slices > 0)
                return;
        sequence->depth = missing->outer;
        sequence->n_missing--;
}

static void miss(TrackSequence *sequence, const TrackEvent *event) {
        if (depth_change(event) > 0)
                miss_begin(sequence);
        else if (is_thread_end(event) && sequence->depth == 0)
                skip_end(sequence);
}

/* The end of a slice that began before the session, or whose begin was dropped, is not written. */
static bool concerns_nobody(const TrackMembers *members, const TrackEvent *event) {
        if (LIKELY(!is_thread_end(event)))
                return false;
        for (unsigned i = 0; i < members->n; i++)
                if (members->sequences[i]->depth > 0)
                        return false;
        for (unsigned i = 0; i < members->n; i++)
                skip_end(members->sequences[i]);
        return true;
}

/* A stream that skips the event still gets its time, because the next event's time counts from here. The slice was
 * counted when its begin was lost, if it was. */
static int write_tick(TrackSequence *sequence, uint64_t since_ns) {
        uint8_t bytes[TRACK_TICK_BYTES_MAX];
        WireWriter tick;

        wire_writer_init(&tick, bytes, sizeof(bytes));
        track_encode_tick(&tick, since_ns);
        return writer_try(sequence->writer, bytes, wire_writer_size(&tick));
}

static void put_event(TrackMembers *members,
                      const WireWriter *packet,
                      const TrackEvent *event,
                      uint64_t since_ns) {
        const size_t n_bytes = wire_writer_size(packet);
        const bool is_end = is_thread_end(event);
        const int change = depth_change(event);

        for (unsigned i = members->n; i-- > 0;) {
                TrackSequence *sequence = members->sequences[i];
                bool is_spared = is_end && sequence->depth == 0;
                int r;

                r = UNLIKELY(is_spared) ? write_tick(sequence, since_ns)
                                        : writer_write(sequence->writer, packet->start, n_bytes);
                if (UNLIKELY(r != 0))
                        members_drop(members, i);
                else if (UNLIKELY(is_spared))
                        skip_end(sequence);
                else
                        sequence->depth += (uint32_t)change;
        }
}

static void
write_event(TrackMembers *members, TrackThread *thread, const TrackEvent *event, uint64_t now_ns) {
        TrackStream *stream = members->stream;
        uint64_t since_ns = now_ns - stream->last_ns;
        WireWriter packet;

        encode(&packet, stream, thread, event, since_ns);
        if (UNLIKELY(wire_writer_failed(&packet))) {
                TrackEvent bare = *event;

                /* Too much for one packet. What it interned was never written, so the sequence starts over, too. */
                bare.n_args = 0;
                since_ns = 0;
                if (!begin(members, thread, now_ns) ||
                    !describe_event_tracks(members, thread, event))
                        return;
                encode(&packet, stream, thread, &bare, since_ns);
        }
        if (event->time_ns == 0)
                stream->last_ns = now_ns;
        else
                since_ns = 0; /* those that skip the event */
        put_event(members, &packet, event, since_ns);
}

bool track_sequence_write_short(TrackSequence *sequence,
                                const TrackThread *thread,
                                TrackStream *stream,
                                const TrackEvent *event,
                                uint64_t now_ns) {
        uint8_t *begin, *end;

        if (UNLIKELY(!keeps_step(sequence, stream) || stream->name_epoch != thread->name_epoch ||
                     (is_thread_end(event) && sequence->depth == 0)))
                return false;
        /* Encoded in its final place: copying it would load words whose bytes are still on their way to the
         * cache, and wait for them. */
        begin = writer_place_small(sequence->writer);
        if (UNLIKELY(!begin))
                return false;
        end = track_encode_short(begin, stream, event, now_ns - stream->last_ns);
        writer_put_placed(sequence->writer, end ? (size_t)(end - begin) : 0);
        if (UNLIKELY(!end))
                return false;
        stream->last_ns = now_ns;
        sequence->position = ++stream->position;
        sequence->depth += (uint32_t)depth_change(event);
        return true;
}

static void members_write(TrackMembers *members,
                          TrackThread *thread,
                          const TrackEvent *event,
                          uint64_t now_ns) {
        TrackStream *stream = members->stream;

        if (UNLIKELY(!all_keep_step(members)) && !members_join(members, thread, now_ns))
                return;
        /* From here on, a sequence that is not a member is out of step. */
        stream->position++;
        for (unsigned i = 0; i < members->n; i++)
                members->sequences[i]->position = stream->position;
        if (UNLIKELY(stream->name_epoch != thread->name_epoch) && !describe_thread(members, thread))
                return;
        if (UNLIKELY(event->type == TRACK_EVENT_PROCESS))
                describe_process(members, thread);
        else if (describe_event_tracks(members, thread, event))
                write_event(members, thread, event, now_ns);
}

void track_members_write(TrackMembers *members,
                         TrackThread *thread,
                         const TrackEvent *event,
                         uint64_t now_ns) {
        const TrackMembers all = *members;

        if (concerns_nobody(members, event))
                return;
        members->has_event = event->type != TRACK_EVENT_PROCESS;
        members_write(members, thread, event, now_ns);
        for (unsigned i = 0; i < all.n; i++)
                if (UNLIKELY(all.sequences[i]->position ==
                             0)) /* a sequence that lost it has to begin again */
                        miss(all.sequences[i], event);
}
