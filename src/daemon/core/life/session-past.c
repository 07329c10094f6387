/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The past of a session, in the wire format: a field that a later version adds is skipped. */

#include <errno.h>
#include <stdio.h>

#include "core/ingest/producer-loss.h"
#include "core/life/past-unsaid.h"
#include "core/life/session-past.h"
#include "core/model/bytes-writer.h"
#include "core/model/service.h"
#include "core/model/session-notes.h"
#include "core/model/session.h"
#include "core/readout/session-stats.h"
#include "shared/hash.h"
#include "wire/wire-reader.h"

#define PAST_SEQUENCES_MAX (UINT32_MAX / 2) /* given by all processes before */

enum {
        PAST_STATE = 1,
        PAST_STOPPED_AT,
        PAST_STOP_REASON,
        PAST_TRIGGER_TIMEOUT_AT,
        PAST_TRIGGER_STOP_AT,
        PAST_IS_HIT,
        PAST_ENDS_NS,
        PAST_HIT,
        PAST_SNAPSHOT,
        PAST_NOTE,
        PAST_N_SEQUENCES,
        PAST_CHANGE,
        PAST_FINAL_FLUSH,
        PAST_SAID_ALL_STARTED,
        PAST_BUFFER_ID, /* of each, in their order */
        PAST_CLOCKS,    /* each snapshot, oldest first */
        PAST_EVENT,     /* likewise */
        PAST_CLONE_NAME,
        PAST_CLONED_BY,
        PAST_SKIPS_FILTER,
        PAST_READ_ON = 32, /* higher numbers are about the read-out */
        PAST_SEQUENCES,
        PAST_SAID_PREAMBLE,
        PAST_SAID_CHANGE,
        PAST_N_NOTES_SAID,
        PAST_N_WRITERS_SAID,
        PAST_IS_FINISHED,
        PAST_IS_FULL,
        PAST_N_INVALID,
        PAST_N_BYTES,
        PAST_PRODUCERS_DROPPED,
        PAST_CHUNKS_DISCARDED,
        PAST_PATCHES_DISCARDED,
};

enum {
        HIT_NS = 1,
        HIT_UID,
        HIT_DELAY_MS,
        HIT_TRIGGER,
        HIT_PRODUCER,
        HIT_DUE_AT, /* of a snapshot */
};

enum {
        NOTE_NS = 1,
        NOTE_UID,
        NOTE_PID,
        NOTE_USER,
        NOTE_SOURCE,
        NOTE_PRODUCER,
        NOTE_TEXT,
        NOTE_AWAY_FROM,
        NOTE_AWAY_UNTIL,
        NOTE_AWAY_LOST,
};

/*
 * Written
 */

uint64_t session_past_revision(const Session *session) {
        const SessionTriggers *triggers = &session->triggers;
        const uint64_t facts[] = {
                session->n_changes,
                session->state,
                triggers->last_activation,
                triggers->is_hit,
                triggers->n_hits,
                triggers->n_snapshots,
                session->timers[SESSION_TIMER_TRIGGER_TIMEOUT],
                session->timers[SESSION_TIMER_TRIGGER_STOP],
                session->timers[SESSION_TIMER_TRIGGER_SNAPSHOT],
                session->n_notes,
                session->reader.sequences.n,
                (uintptr_t)session->change,
                session->reader.said_preamble,
                session->reader.said_change,
                session->reader.n_notes_said,
                session->reader.n_writers_said,
                session->reader.is_finished,
                session->reader.is_full,
                session->reader.n_invalid,
                session->producers_dropped,
                session->chunks_discarded,
                past_unsaid_revision(session),
        };
        uint64_t revision = HASH_BASIS;

        for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
                revision = hash_add(revision, facts[i]);
        return revision;
}

static void put_hit(WireWriter *writer, uint32_t field, const TriggerHit *hit, uint64_t due_at) {
        const size_t begin = wire_begin(writer, field);

        wire_put_uint(writer, HIT_NS, hit->ns);
        wire_put_uint(writer, HIT_UID, hit->uid);
        wire_put_uint(writer, HIT_DELAY_MS, hit->delay_ms);
        wire_put_string(writer, HIT_TRIGGER, hit->trigger);
        wire_put_string(writer, HIT_PRODUCER, hit->producer);
        wire_put_uint(writer, HIT_DUE_AT, due_at);
        wire_end(writer, begin);
}

/* Snapshots that are still being taken are left out: the next process cannot finish them. */
static void put_triggers(WireWriter *writer, const Session *session) {
        const SessionTriggers *triggers = &session->triggers;
        const TriggerSnapshot *snapshot;
        const TriggerHit *hit;

        wire_put_uint(
                writer, PAST_TRIGGER_TIMEOUT_AT, session->timers[SESSION_TIMER_TRIGGER_TIMEOUT]);
        wire_put_uint(writer, PAST_TRIGGER_STOP_AT, session->timers[SESSION_TIMER_TRIGGER_STOP]);
        wire_put_bool(writer, PAST_IS_HIT, triggers->is_hit);
        wire_put_uint(writer, PAST_ENDS_NS, triggers->ends_ns);
        list_for_each (hit, &triggers->hits, link)
                put_hit(writer, PAST_HIT, hit, 0);
        list_for_each (snapshot, &triggers->snapshots, link)
                if (snapshot->hit)
                        put_hit(writer, PAST_SNAPSHOT, snapshot->hit, snapshot->due_at);
        if (triggers->cloned_by)
                put_hit(writer, PAST_CLONED_BY, triggers->cloned_by, 0);
}

static void put_clone(WireWriter *writer, const Session *session) {
        if (session->cloned_from == 0)
                return;
        wire_put_string(writer, PAST_CLONE_NAME, session->clone_name);
        wire_put_bool(writer, PAST_SKIPS_FILTER, session->skips_filter);
}

static void put_note(WireWriter *writer, const SourceNote *note) {
        const size_t begin = wire_begin(writer, PAST_NOTE);

        wire_put_uint(writer, NOTE_NS, note->ns);
        wire_put_uint(writer, NOTE_UID, note->identity.uid);
        wire_put_uint(writer, NOTE_PID, (uint32_t)note->identity.pid);
        wire_put_uint(writer, NOTE_USER, note->user);
        wire_put_string(writer, NOTE_SOURCE, note->source);
        wire_put_string(writer, NOTE_PRODUCER, note->producer);
        wire_put_string(writer, NOTE_TEXT, note->text);
        wire_put_uint(writer, NOTE_AWAY_FROM, note->away.from);
        wire_put_uint(writer, NOTE_AWAY_UNTIL, note->away.until);
        wire_put_uint(writer, NOTE_AWAY_LOST, note->away.n_lost);
        wire_end(writer, begin);
}

/* Packets that are written only once must not be written again. */
static int put_reader(WireWriter *writer, const Session *session) {
        const SessionReader *reader = &session->reader;
        _cleanup_(bytes_deinit) Bytes sequences = {};
        int r;

        r = sequence_ids_put(&reader->sequences, &sequences);
        if (r < 0)
                return r;
        if (sequences.n > 0)
                wire_put_bytes(writer, PAST_SEQUENCES, sequences.data, sequences.n);
        wire_put_bool(writer, PAST_SAID_PREAMBLE, reader->said_preamble);
        wire_put_bool(writer, PAST_SAID_CHANGE, reader->said_change);
        wire_put_uint(writer, PAST_N_NOTES_SAID, reader->n_notes_said);
        wire_put_uint(writer, PAST_N_WRITERS_SAID, reader->n_writers_said);
        wire_put_bool(writer, PAST_IS_FINISHED, reader->is_finished);
        wire_put_bool(writer, PAST_IS_FULL, reader->is_full);
        wire_put_uint(writer, PAST_N_INVALID, reader->n_invalid);
        wire_put_uint(writer, PAST_N_BYTES, reader->n_bytes);
        wire_put_uint(writer, PAST_PRODUCERS_DROPPED, session_producers_dropped_for_good(session));
        wire_put_uint(writer, PAST_CHUNKS_DISCARDED, session->chunks_discarded);
        wire_put_uint(writer, PAST_PATCHES_DISCARDED, session->patches_discarded);
        return 0;
}

int session_put_past(const Session *session, Bytes *out) {
        const SourceNote *note;
        WireWriter writer;
        int r;

        bytes_writer_init(&writer, out);
        wire_put_uint(&writer, PAST_STATE, session->state);
        wire_put_uint(&writer, PAST_STOPPED_AT, session->stopped_at);
        wire_put_string(&writer, PAST_STOP_REASON, session->stop_reason);
        wire_put_uint(&writer, PAST_FINAL_FLUSH, session->final_flush);
        wire_put_bool(&writer, PAST_SAID_ALL_STARTED, session->said_all_started);
        wire_put_uint(&writer,
                      PAST_N_SEQUENCES,
                      session->reader.sequences.n_before + session->reader.sequences.n);
        r = put_reader(&writer, session);
        if (r < 0)
                return r;
        for (size_t i = 0; i < session->n_buffers; i++)
                wire_put_uint(&writer, PAST_BUFFER_ID, session->buffers[i].id);
        past_put_unsaid(&writer, session, PAST_CLOCKS, PAST_EVENT);
        put_clone(&writer, session);
        put_triggers(&writer, session);
        list_for_each (note, &session->notes, link)
                put_note(&writer, note);
        if (session->change)
                wire_put_bytes(
                        &writer, PAST_CHANGE, session->change->bytes, session->change->n_bytes);
        return bytes_writer_finish_within(&writer, out, SESSION_PAST_BYTES_MAX);
}

/*
 * Read
 */

/* Returns NULL if memory has run out. */
static char *field_text(const WireField *field) {
        return strndup((const char *)field->data, field->n_bytes);
}

static void replace_text(char **text, const WireField *field) {
        free(*text);
        *text = field->type == WIRE_BYTES ? field_text(field) : NULL;
}

static int take_hit_fields(TriggerHit *hit, uint64_t *ret_due_at, const WireField *from) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init_field(&reader, from);
        while ((r = wire_read(&reader, &field)) > 0) {
                if (field.number == HIT_NS)
                        hit->ns = field.value;
                else if (field.number == HIT_UID)
                        hit->uid = (uid_t)field.value;
                else if (field.number == HIT_DELAY_MS)
                        hit->delay_ms = (uint32_t)field.value;
                else if (field.number == HIT_TRIGGER)
                        replace_text(&hit->trigger, &field);
                else if (field.number == HIT_PRODUCER)
                        replace_text(&hit->producer, &field);
                else if (field.number == HIT_DUE_AT)
                        *ret_due_at = field.value;
        }
        if (r == 0 && (!hit->trigger || !hit->producer || strlen(hit->trigger) > TRIGGER_NAME_MAX))
                r = -EBADMSG;
        return r;
}

static int take_hit(TriggerHit **ret, uint64_t *ret_due_at, const WireField *field) {
        _cleanup_(trigger_hit_freep) TriggerHit *hit = NULL;
        int r;

        if (field->type != WIRE_BYTES)
                return -EBADMSG;
        hit = calloc(1, sizeof(*hit));
        if (!hit)
                return -ENOMEM;
        list_init(&hit->link);
        *ret_due_at = 0;
        r = take_hit_fields(hit, ret_due_at, field);
        if (r == 0)
                *ret = TAKE(hit);
        return r;
}

static int session_take_hit(Session *session, const WireField *field) {
        uint64_t due_at;
        TriggerHit *hit;
        int r;

        if (session->triggers.n_hits >= TRIGGER_HITS_MAX)
                return -EBADMSG;
        r = take_hit(&hit, &due_at, field);
        if (r < 0)
                return r;
        list_append(&session->triggers.hits, &hit->link);
        session->triggers.n_hits++;
        return 0;
}

static int session_take_cloned_by(Session *session, const WireField *field) {
        uint64_t due_at;

        if (session->triggers.cloned_by)
                return -EBADMSG;
        return take_hit(&session->triggers.cloned_by, &due_at, field);
}

static int session_take_planned(Session *session, const WireField *field) {
        uint64_t due_at;
        TriggerHit *hit;
        int r;

        r = take_hit(&hit, &due_at, field);
        if (r == 0)
                session_plan_snapshot_at(session, hit, due_at);
        return r;
}

typedef struct PastNote {
        uint64_t ns;
        uid_t user;
        Identity identity;
        char *source, *producer, *text;
        ServiceAway away;
} PastNote;

static void past_note_deinit(PastNote *note) {
        free(note->source);
        free(note->producer);
        free(note->text);
}

static int take_note_fields(PastNote *note, const WireField *from) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init_field(&reader, from);
        while ((r = wire_read(&reader, &field)) > 0) {
                if (field.number == NOTE_NS)
                        note->ns = field.value;
                else if (field.number == NOTE_UID)
                        note->identity.uid = (uid_t)field.value;
                else if (field.number == NOTE_PID)
                        note->identity.pid = (pid_t)field.value;
                else if (field.number == NOTE_USER)
                        note->user = (uid_t)field.value;
                else if (field.number == NOTE_SOURCE)
                        replace_text(&note->source, &field);
                else if (field.number == NOTE_PRODUCER)
                        replace_text(&note->producer, &field);
                else if (field.number == NOTE_TEXT)
                        replace_text(&note->text, &field);
                else if (field.number == NOTE_AWAY_FROM)
                        note->away.from = field.value;
                else if (field.number == NOTE_AWAY_UNTIL)
                        note->away.until = field.value;
                else if (field.number == NOTE_AWAY_LOST)
                        note->away.n_lost = field.value;
        }
        return r;
}

static int session_take_past_note(Session *session, const WireField *field) {
        _cleanup_(past_note_deinit) PastNote note = {};
        int r;

        if (field->type != WIRE_BYTES)
                return -EBADMSG;
        r = take_note_fields(&note, field);
        if (r < 0)
                return r;
        if (!note.source || !note.producer || !note.text)
                return -EBADMSG;
        session_restore_note(session,
                             note.ns,
                             note.user,
                             &(NoteInfo){ .source = note.source,
                                          .producer = note.producer,
                                          .text = note.text,
                                          .identity = note.identity,
                                          .away = note.away });
        return 0;
}

static void copy_text(char *to, size_t n_bytes, const WireField *field) {
        if (field->type == WIRE_BYTES)
                snprintf(to,
                         n_bytes,
                         "%.*s",
                         (int)MIN(field->n_bytes, n_bytes),
                         (const char *)field->data);
}

static void past_take_change(SessionPast *past, const WireField *field) {
        if (field->type == WIRE_BYTES) {
                past->change = field->data;
                past->n_change = field->n_bytes;
        }
}

static void past_take_sequences(SessionPast *past, const WireField *field) {
        if (field->type == WIRE_BYTES) {
                past->sequences = field->data;
                past->n_sequences = field->n_bytes;
        }
}

static void session_take_reader(Session *session, SessionPast *past, const WireField *field) {
        SessionReader *reader = &session->reader;

        switch (field->number) {
        case PAST_SEQUENCES:
                past_take_sequences(past, field);
                break;
        case PAST_SAID_PREAMBLE:
                reader->said_preamble = field->value > 0;
                break;
        case PAST_SAID_CHANGE:
                reader->said_change = field->value > 0;
                break;
        case PAST_N_NOTES_SAID:
                reader->n_notes_said = (size_t)MIN(field->value, (uint64_t)SESSION_NOTES_MAX);
                break;
        case PAST_IS_FINISHED:
                reader->is_finished = field->value > 0;
                break;
        case PAST_IS_FULL:
                reader->is_full = field->value > 0;
                break;
        case PAST_N_INVALID:
                reader->n_invalid = field->value;
                break;
        case PAST_N_BYTES:
                reader->n_bytes = field->value;
                break;
        case PAST_PRODUCERS_DROPPED:
                session->producers_dropped = field->value;
                break;
        case PAST_CHUNKS_DISCARDED:
                session->chunks_discarded = field->value;
                break;
        case PAST_PATCHES_DISCARDED:
                session->patches_discarded = field->value;
                break;
        default:
                break;
        }
}

/* Writers of programs that keep running know the buffers by these ids. */
static void session_take_buffer_id(Session *session, SessionPast *past, uint64_t id) {
        if (past->n_buffer_ids < session->n_buffers && id <= UINT16_MAX)
                service_reclaim_buffer_id(
                        session->service, &session->buffers[past->n_buffer_ids], (uint16_t)id);
        past->n_buffer_ids++;
}

static int session_take_field(Session *session, SessionPast *past, const WireField *field) {
        if (field->number > PAST_READ_ON) {
                session_take_reader(session, past, field);
                return 0;
        }
        switch (field->number) {
        case PAST_STATE:
                if (field->value >= _SESSION_STATE_N)
                        return -EBADMSG;
                past->state = (SessionState)field->value;
                return 0;
        case PAST_STOPPED_AT:
                past->stopped_at = field->value;
                return 0;
        case PAST_STOP_REASON:
                copy_text(past->stop_reason, sizeof(past->stop_reason), field);
                return 0;
        case PAST_TRIGGER_TIMEOUT_AT:
                past->trigger_timeout_at = field->value;
                return 0;
        case PAST_TRIGGER_STOP_AT:
                past->trigger_stop_at = field->value;
                return 0;
        case PAST_IS_HIT:
                session->triggers.is_hit = field->value > 0;
                return 0;
        case PAST_ENDS_NS:
                session->triggers.ends_ns = field->value;
                return 0;
        case PAST_HIT:
                return session_take_hit(session, field);
        case PAST_SNAPSHOT:
                return session_take_planned(session, field);
        case PAST_NOTE:
                return session_take_past_note(session, field);
        case PAST_N_SEQUENCES:
                if (field->value > PAST_SEQUENCES_MAX)
                        return -EBADMSG;
                session->reader.sequences.n_before = (uint32_t)field->value;
                return 0;
        case PAST_CHANGE:
                past_take_change(past, field);
                return 0;
        case PAST_FINAL_FLUSH:
                session->final_flush = field->value <= FINAL_FLUSH_FAILED ? (FinalFlush)field->value
                                                                          : FINAL_FLUSH_NONE;
                return 0;
        case PAST_SAID_ALL_STARTED:
                session->said_all_started = field->value > 0;
                return 0;
        case PAST_BUFFER_ID:
                session_take_buffer_id(session, past, field->value);
                return 0;
        case PAST_CLOCKS:
                return past_take_clocks(session, field);
        case PAST_EVENT:
                return past_take_event(session, field);
        case PAST_CLONE_NAME:
                copy_text(session->clone_name, sizeof(session->clone_name), field);
                return 0;
        case PAST_CLONED_BY:
                return session_take_cloned_by(session, field);
        case PAST_SKIPS_FILTER:
                session->skips_filter = field->value > 0;
                return 0;
        default:
                return 0;
        }
}

int session_take_past(Session *session, SessionPast *ret, const void *data, size_t n_bytes) {
        WireReader reader;
        WireField field;
        int r;

        *ret = (SessionPast){
                .state = SESSION_STARTED,
                .trigger_timeout_at = UINT64_MAX,
                .trigger_stop_at = UINT64_MAX,
        };
        if (n_bytes > SESSION_PAST_BYTES_MAX)
                return -EBADMSG;
        wire_reader_init(&reader, data, n_bytes);
        while ((r = wire_read(&reader, &field)) > 0) {
                r = session_take_field(session, ret, &field);
                if (r < 0)
                        return r;
        }
        return r;
}

/* If the producer was retired, its packets were read under another number. */
static int
session_take_sequence(Session *session, const SequenceIds *before, const ChunkOrigin *writer) {
        uint32_t sequence = sequence_ids_find(before, writer->producer_id, writer->writer_id);

        if (sequence == 0)
                sequence = sequence_ids_find(
                        before, trace_buffer_number_before(writer->producer_id), writer->writer_id);
        if (sequence == 0)
                return 0;
        return sequence_ids_set(
                &session->reader.sequences, writer->producer_id, writer->writer_id, sequence);
}

void session_take_said(Session *session, uint64_t said) {
        SessionReader *reader = &session->reader;
        const uint32_t n_sequences = MIN((uint32_t)(said >> 32), PAST_SEQUENCES_MAX);
        const size_t n_notes = (uint32_t)said >> 1;

        reader->sequences.n_before = MAX(reader->sequences.n_before, n_sequences);
        reader->n_notes_said = MIN(MAX(reader->n_notes_said, n_notes), session->n_notes);
        reader->said_preamble |= said & 1;
}

int session_take_sequences(Session *session, const SessionPast *past) {
        SequenceIds before = {}, *ids = &session->reader.sequences;
        int r;

        r = sequence_ids_take(&before, past->sequences, past->n_sequences);
        for (size_t i = 0; r == 0 && i < session->n_buffers; i++) {
                WriterCursor cursor = {};
                WriterStats writer;

                while (r == 0 &&
                       trace_buffer_next_writer(session->buffers[i].buffer, &cursor, &writer))
                        r = session_take_sequence(session, &before, &writer.origin);
        }
        sequence_ids_deinit(&before);
        /* New ones are higher than all that were ever assigned. */
        ids->n_before -= (uint32_t)MIN((size_t)ids->n_before, ids->n);
        return r > 0 ? -EBADMSG : r;
}
