/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a session says in its trace: its config, triggers and notes. */

#include "core/readout/session-put.h"
#include "core/events/service-packets.h"
#include "core/model/bytes-writer.h"
#include "core/model/service.h"
#include "core/model/session-notes.h"
#include "core/model/session-output.h"
#include "core/model/session.h"

#define CONFIG_FLUSH_PERIOD_MS 13 /* of perfetto.protos.TraceConfig */

/* 0: nobody is flushed before the end. */
static uint64_t session_told_flush_ms(const Session *session) {
        uint64_t period_ns = session_flush_period_ns(session);

        if (session->config->pb->write_into_file && session_flushes_before_output(session))
                period_ns = MIN(period_ns, session_write_period_ns(session));
        return period_ns == UINT64_MAX ? 0 : period_ns / NS_PER_MS;
}

/* A file seems to lack data to readers unless its config has a flush period. The last value of a field counts. */
int session_put_config(const Session *session, const Config *config, Bytes *out) {
        _cleanup_(bytes_deinit) Bytes told = {};
        const uint64_t flush_ms = session_told_flush_ms(session);
        WireWriter writer;
        int r;

        bytes_writer_init(&writer, &told);
        wire_put_raw(&writer, config->bytes, config->n_bytes);
        if (flush_ms != config->pb->flush_period_ms)
                wire_put_uint(&writer, CONFIG_FLUSH_PERIOD_MS, flush_ms);
        r = bytes_writer_finish(&writer, &told);
        if (r < 0)
                return r;
        return packet_put_config(out, &session->service->info, told.data, told.n);
}

static bool session_tells_events(const Session *session) {
        const Perfetto__Protos__TraceConfig__BuiltinDataSource *builtin =
                session->config->pb->builtin_data_sources;

        return !builtin || !builtin->disable_service_events;
}

static int put_note(const Session *session, const SourceNote *note, Bytes *out) {
        const NoteEvent event = {
                .ns = note->ns,
                .text = note->text,
                .source = note->source,
                .producer = note->producer,
                .pid = note->identity.pid,
        };

        int r;

        r = packet_put_note(out, &session->service->info, &event);
        if (r < 0 || note->away.until == 0 || !session_tells_events(session))
                return r;
        return packet_put_away(out, &session->service->info, &note->away);
}

/* Notes that no read has returned yet. */
int session_put_notes(Session *session, Bytes *out) {
        SessionReader *reader = &session->reader;
        const SourceNote *note;
        size_t n = 0;
        int r = 0;

        if (reader->n_notes_said == 0 && session->n_notes > 0)
                r = packet_put_note_track(out, &session->service->info);
        list_for_each (note, &session->notes, link)
                if (r == 0 && n++ >= reader->n_notes_said)
                        r = put_note(session, note, out);
        reader->n_notes_said = n;
        return r;
}

static int put_hit(const Session *session, Bytes *out, uint32_t field, const TriggerHit *hit) {
        const TriggerEvent event = {
                .ns = hit->ns,
                .trigger = hit->trigger,
                .producer = hit->producer,
                .uid = hit->uid,
                .delay_ms = hit->delay_ms,
        };

        return packet_put_trigger(out, &session->service->info, field, &event);
}

int session_put_triggers(Session *session, Bytes *out) {
        const Perfetto__Protos__TraceConfig__BuiltinDataSource *builtin =
                session->config->pb->builtin_data_sources;
        SessionTriggers *triggers = &session->triggers;
        const TriggerHit *hit;
        int r = 0;

        if (builtin && builtin->disable_trace_config)
                return 0;
        if (triggers->cloned_by)
                r = put_hit(session, out, PACKET_CLONE_SNAPSHOT_TRIGGER, triggers->cloned_by);
        triggers->cloned_by = trigger_hit_free(triggers->cloned_by);
        list_for_each (hit, &triggers->hits, link)
                if (r == 0)
                        r = put_hit(session, out, PACKET_TRIGGER, hit);
        session_drop_hits(session);
        return r;
}
