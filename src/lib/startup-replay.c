/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The hand-over: the library's thread reads each log once for each session, under the name and on the track of the
 * thread that wrote it.
 */

#include "lib/category-rules.h"
#include "lib/host-task.h"
#include "lib/startup.h"
#include "lib/track-wait.h"
#include "lib/writer.h"

/* A session that gets some of the events. */
typedef struct Taker {
        TrackSession *session;
        uint64_t wants[DT_CATEGORIES_MAX / 64];
} Taker;

/* The state of replaying one log. */
typedef struct Replay {
        TrackThread thread; /* stands for the log's */
        TrackStream stream;
        TrackSequence sequence;
        TrackScratch scratch;
        uint64_t n_lost; /* here */
        dt_full_policy policy;
} Replay;

/*
 * Who
 */

static void taker_init(Taker *taker, TrackSession *session) {
        *taker = (Taker){ .session = session };
        for (unsigned i = 0; i < DT_CATEGORIES_MAX; i++) {
                const dt_category *category =
                        atomic_load_explicit(&startup.categories[i], memory_order_relaxed);

                if (category && category_rules_enable(session->config.data,
                                                      session->config.n,
                                                      category->name,
                                                      category->tags))
                        taker->wants[i / 64] |= UINT64_C(1) << i % 64;
        }
}

static bool taker_wants(const Taker *taker, const dt_category *category) {
        return taker->wants[category->number / 64] >> category->number % 64 & 1;
}

/* With track_lock(). */
static unsigned find_takers(Taker takers[static DT_SESSIONS_MAX]) {
        unsigned n = 0;

        for (unsigned i = 0; i < DT_SESSIONS_MAX; i++)
                if (startup_interests(&track_sessions[i]))
                        taker_init(&takers[n++], &track_sessions[i]);
        return n;
}

/*
 * What
 */

static void replay_event(Replay *replay, const StartupEvent *record) {
        TrackMembers members = {
                .stream = &replay->stream,
                .sequences = { &replay->sequence },
                .n = 1,
        };

        if (replay->sequence.writer)
                track_members_write(&members, &replay->thread, &record->event, record->now_ns);
        else /* there are 4095 already */
                replay->n_lost++;
}

static void replay_name(Replay *replay, const StartupName *record) {
        memcpy(replay->thread.name, record->name, sizeof(replay->thread.name));
        replay->thread.rank = record->rank;
        replay->thread.name_epoch++;
}

static void replay_records(Replay *replay, const StartupLog *log, const Taker *taker) {
        uint64_t end = atomic_load_explicit(&log->end, memory_order_acquire) & ~STARTUP_CLOSED;

        for (uint64_t at = log->begin; at != end;) {
                const StartupRecord *record = (const StartupRecord *)(startup.memory + at);

                at += record->n_bytes;
                switch (record->kind) {
                case STARTUP_EVENT:
                        if (taker_wants(taker, ((const StartupEvent *)record)->event.category))
                                replay_event(replay, (const StartupEvent *)record);
                        break;
                case STARTUP_NAME:
                        replay_name(replay, (const StartupName *)record);
                        break;
                case STARTUP_JUMP:
                        at = ((const StartupJump *)record)->to;
                        break;
                }
        }
}

/* Tells readers that something is missing here. The loss has been counted before, so it is not forgotten if there
 * is no room for the mark. */
static void mark_loss(Replay *replay) {
        uint8_t bytes[TRACK_TICK_BYTES_MAX];
        WireWriter tick;

        wire_writer_init(&tick, bytes, sizeof(bytes));
        track_encode_tick(&tick, 0);
        replay->sequence.writer->smb.lost = true;
        writer_try(replay->sequence.writer, bytes, wire_writer_size(&tick));
}

/* In a container only a thread itself can find out its tid outside. So what is replayed for another thread goes
 * on a track of the process: a thread's track would need that tid. */
static uint64_t uuid_of(const StartupLog *log) {
        pid_t pid, tid;

        return host_task_get(log->tid, &pid, &tid) ? log->uuid : log->uuid ^ 1;
}

static void replay_log(Replay *replay, const StartupLog *log, const Taker *taker) {
        TrackSequence *sequence = &replay->sequence;

        *sequence = (TrackSequence){ .session = taker->session };
        replay->thread.uuid = replay->stream.thread_uuid = uuid_of(log);
        replay->thread.tid = log->tid;
        dt_writer_new(&sequence->writer, taker->session->instance, replay->policy);
        replay_records(replay, log, taker);
        if (sequence->writer && dt_writer_lost(sequence->writer))
                replay->policy = DT_FULL_DROP;
        if (atomic_load_explicit(&log->lost, memory_order_relaxed) && sequence->position > 0)
                mark_loss(replay);
        dt_writer_free(sequence->writer);
}

static void count_losses(Replay *replay, const Taker *taker) {
        SmbProducer *producer = &taker->session->instance->memory->producer;
        uint64_t n = replay->n_lost;

        for (unsigned i = 0; i < DT_CATEGORIES_MAX; i++)
                if (taker->wants[i / 64] >> i % 64 & 1)
                        n += atomic_load_explicit(&startup.n_lost[i], memory_order_relaxed) &
                             ~STARTUP_LOST_CLOSED;
        smb_producer_count_dropped(producer, n);
        replay->n_lost = 0;
}

static void replay(const StartupLog *logs, const Taker *takers, unsigned n_takers) {
        Replay *replay = calloc(1, sizeof(*replay));

        if (!replay)
                return;
        replay->thread.scratch = &replay->scratch;
        for (unsigned i = 0; i < n_takers; i++) {
                /* The replay waits for the service to make room, since there may be more events than fit. Once it
                 * has waited in vain, it drops events instead. */
                replay->policy = DT_FULL_STALL;
                for (const StartupLog *log = logs; log; log = log->next)
                        replay_log(replay, log, &takers[i]);
                count_losses(replay, &takers[i]);
        }
        track_stream_deinit(&replay->stream);
        free(replay);
}

/*
 * When
 */

static void hand_over(void) {
        Taker takers[DT_SESSIONS_MAX];
        StartupLog *logs;
        unsigned n;

        track_lock();
        n = find_takers(takers);
        if (n == 0) { /* or keeping has already ended because its time was over */
                track_unlock();
                return;
        }
        for (unsigned i = 0; i < n; i++)
                takers[i].session->continues_startup = true;
        startup_end();
        track_unlock();

        logs = startup_close();
        replay(logs, takers, n);
        startup_forget();
        track_wait_end();
}

bool startup_awaits(const TrackSession *session) {
        bool r;

        track_lock();
        r = startup_interests(session);
        track_unlock();
        return r;
}

void startup_hand_over_to(const TrackSession *session) {
        if (startup_awaits(session))
                hand_over();
}

static uint64_t due_ns(uint64_t now_ns) {
        uint64_t due = atomic_load_explicit(&startup.deadline_ns, memory_order_relaxed);
        bool has_come = startup_interests_any();

        if (!has_come)
                startup.gather_ns = 0;
        else if (startup.gather_ns == 0)
                startup.gather_ns = now_ns + STARTUP_GATHER_NS;
        return has_come ? MIN(due, startup.gather_ns) : due;
}

uint64_t startup_run(void) {
        uint64_t now_ns, due = UINT64_MAX;

        track_lock();
        now_ns = track_now_ns();
        if (startup.is_keeping)
                due = due_ns(now_ns);
        track_unlock();
        if (due == UINT64_MAX)
                return due;
        if (now_ns < due)
                return due - now_ns;
        hand_over();
        startup_expire(now_ns);
        return UINT64_MAX;
}
