/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Cycle recorder: cycles of PipeWire's graph as slices */

#include <stdio.h>

#include "bridges/pipewire/cycle-recorder.h"

#define CATEGORY        "pipewire"
#define TRACK_BYTES_MAX (PROFILE_NAME_BYTES + 32)
#define AGE_MAX_NS      INT64_C(10000000000) /* an earlier beginning is nonsense */
#define SLACK_NS        INT64_C(1000000000)  /* and so is one further in the future */
#define NS_PER_US       1000
#define LOAD_MAX        100.0 /* a load above a hundred times the available time is nonsense */

int cycle_recorder_init(CycleRecorder *recorder, TrackWriter *tracks) {
        int r;

        *recorder = (CycleRecorder){ .tracks = tracks, .until_ns = INT64_MAX };
        r = node_table_init(&recorder->nodes);
        return r < 0 ? r : program_names_init(&recorder->names);
}

void cycle_recorder_deinit(CycleRecorder *recorder) {
        program_names_deinit(&recorder->names);
        node_table_deinit(&recorder->nodes);
}

/*
 * Tracks
 */

static uint64_t process_track(CycleRecorder *recorder, const ProfileNode *node, int64_t now_ns) {
        const pid_t pid = node_table_pid(&recorder->nodes, node->id);
        const ProgramName *name;

        if (pid <= 0)
                return 0;
        name = program_name(&recorder->names, pid, (uint64_t)now_ns);
        return name->process_uuid
                       ? track_process(
                                 recorder->tracks, name->process_uuid, name->pid, name->process)
                       : 0;
}

/* Programs choose these names, and several may choose the same one. */
static uint64_t node_track(CycleRecorder *recorder, const ProfileNode *node, int64_t now_ns) {
        const uint64_t process = process_track(recorder, node, now_ns);
        char text[TRACK_BYTES_MAX];

        if (process) {
                snprintf(text, sizeof(text), "PipeWire %s (%u)", node->name, node->id);
                return track_group(recorder->tracks, process, text);
        }
        snprintf(text, sizeof(text), "%s (%u)", node->name, node->id);
        return track_group(recorder->tracks, track_group(recorder->tracks, 0, "PipeWire"), text);
}

void cycle_recorder_tell(CycleRecorder *recorder,
                         int64_t now_ns,
                         const char *what,
                         const char *why) {
        const TrackArgument argument = { "because", why, 0 };

        track_instant(recorder->tracks,
                      track_group(recorder->tracks, 0, "PipeWire"),
                      (uint64_t)now_ns,
                      what,
                      &argument,
                      why != NULL);
}

/*
 * Nodes
 */

static bool is_sensible(int64_t at_ns, int64_t now_ns) {
        return at_ns > 0 && at_ns >= now_ns - AGE_MAX_NS && at_ns <= now_ns + SLACK_NS;
}

/* Whether the node was signalled in this cycle. Steps that it did not reach have the time of an earlier cycle. */
static bool node_is_new(const CycleRecorder *recorder, const ProfileNode *node, int64_t now_ns) {
        const NodeObject *object = node_table_get(&recorder->nodes, node->id);

        return object && is_sensible(node->signal_ns, now_ns) &&
               node->signal_ns > object->written.until_ns &&
               MAX(node->awake_ns, node->finish_ns) <= now_ns + SLACK_NS;
}

static bool node_has_run(const ProfileNode *node) {
        return node->awake_ns >= node->signal_ns;
}

static void write_event(CycleRecorder *recorder,
                        TrackEventType type,
                        uint64_t track,
                        int64_t at_ns,
                        const char *name) {
        const TrackEvent event = {
                .type = type,
                .track = track,
                .at_ns = (uint64_t)at_ns,
                .name = name,
                .category = name ? CATEGORY : NULL,
        };

        (void)track_event(recorder->tracks, &event);
}

/* An arrow leads here from the cycle if there is a `flow`. */
static void write_waiting(CycleRecorder *recorder,
                          const ProfileNode *node,
                          uint64_t track,
                          const uint64_t *flow) {
        const TrackEvent event = {
                .type = TRACK_EVENT_BEGIN,
                .track = track,
                .at_ns = (uint64_t)node->signal_ns,
                .name = "waiting",
                .category = CATEGORY,
                .in = flow,
                .n_in = flow != NULL,
        };

        (void)track_event(recorder->tracks, &event);
        write_event(recorder, TRACK_EVENT_END, track, node->awake_ns, NULL);
}

static void write_busy(CycleRecorder *recorder, const ProfileNode *node, uint64_t track) {
        write_event(recorder, TRACK_EVENT_BEGIN, track, node->awake_ns, "busy");
        write_event(recorder, TRACK_EVENT_END, track, node->finish_ns, NULL);
}

static void write_late(CycleRecorder *recorder, const ProfileNode *node, uint64_t track) {
        const TrackArgument argument = {
                "because", node_has_run(node) ? "it was still busy" : "it did not run", 0
        };

        track_instant(
                recorder->tracks, track, (uint64_t)node->signal_ns, "not in time", &argument, 1);
}

static void
write_node(CycleRecorder *recorder, const ProfileNode *node, const uint64_t *flow, int64_t now_ns) {
        const uint64_t track = node_track(recorder, node, now_ns);
        const int64_t end_ns = MAX(node->awake_ns, node->finish_ns);

        if (node->status == PROFILE_TRIGGERED || node->status == PROFILE_AWAKE)
                write_late(recorder, node, track);
        if (node_has_run(node))
                write_waiting(recorder, node, track, flow);
        if (node_has_run(node) && node->finish_ns >= node->awake_ns)
                write_busy(recorder, node, track);
        node_table_get(&recorder->nodes, node->id)->written.until_ns = MAX(node->signal_ns, end_ns);
}

/*
 * Cycles
 */

typedef struct CycleText {
        TrackArgument arguments[3];
        size_t n_arguments;
} CycleText;

static void add_number(CycleText *text, const char *name, int64_t number) {
        text->arguments[text->n_arguments++] = (TrackArgument){ name, NULL, number };
}

static void describe(CycleText *ret, const ProfileCycle *cycle, int64_t end_ns) {
        ret->n_arguments = 0;
        if (!cycle->has_clock)
                return;
        add_number(ret, "samples", cycle->duration);
        if (cycle->rate.number > 0)
                add_number(ret, "rate", cycle->rate.of / cycle->rate.number);
        if (cycle->next_ns > cycle->at_ns && is_sensible(cycle->next_ns, end_ns))
                add_number(ret, "slack_us", (cycle->next_ns - end_ns) / NS_PER_US);
}

/* The time at which the cycle's last node finished. */
static int64_t cycle_end(const CycleRecorder *recorder, int64_t now_ns) {
        const ProfileCycle *cycle = &recorder->cycle;
        int64_t end_ns = MAX(cycle->driver.signal_ns, cycle->driver.finish_ns);

        for (size_t i = 0; i < cycle->n_followers; i++)
                if (node_is_new(recorder, &cycle->followers[i], now_ns))
                        end_ns = MAX(end_ns, cycle->followers[i].finish_ns);
        return end_ns;
}

/* Stores the numbers of the arrows to the nodes that follow, 0 for a node without one. Returns how many arrows there
 * are. */
static size_t number_arrows(CycleRecorder *recorder,
                            uint64_t of[static PROFILE_FOLLOWERS_MAX],
                            uint64_t all[static CYCLE_ARROWS_MAX],
                            int64_t now_ns) {
        const ProfileCycle *cycle = &recorder->cycle;
        size_t n = 0;

        for (size_t i = 0; i < cycle->n_followers; i++) {
                const ProfileNode *node = &cycle->followers[i];

                of[i] = 0;
                if (n < CYCLE_ARROWS_MAX && node_is_new(recorder, node, now_ns) &&
                    node_has_run(node))
                        of[i] = all[n++] = recorder->tracks->root ^ ++recorder->n_arrows << 20;
        }
        return n;
}

static void write_cycle(CycleRecorder *recorder,
                        uint64_t driver,
                        int64_t end_ns,
                        const uint64_t *arrows,
                        size_t n_arrows) {
        const ProfileCycle *cycle = &recorder->cycle;
        const uint64_t track = track_group(recorder->tracks, driver, "cycles");
        NodeObject *object = node_table_get(&recorder->nodes, cycle->driver.id);
        TrackEvent event = {
                .type = TRACK_EVENT_BEGIN,
                .track = track,
                .at_ns = (uint64_t)MAX(cycle->driver.signal_ns, object->written.cycles_until_ns),
                .name = "cycle",
                .category = CATEGORY,
                .out = arrows,
                .n_out = n_arrows,
        };
        CycleText text;

        describe(&text, cycle, end_ns);
        event.arguments = text.arguments;
        event.n_arguments = text.n_arguments;
        end_ns = MAX(end_ns, (int64_t)event.at_ns);
        (void)track_event(recorder->tracks, &event);
        if (cycle->has_clock && cycle->next_ns > (int64_t)event.at_ns && cycle->next_ns < end_ns)
                write_event(
                        recorder, TRACK_EVENT_INSTANT, track, cycle->next_ns, "deadline missed");
        write_event(recorder, TRACK_EVENT_END, track, end_ns, NULL);
        object->written.cycles_until_ns = end_ns;
}

static void write_number(CycleRecorder *recorder,
                         uint64_t track,
                         int64_t at_ns,
                         const char *name,
                         const char *of,
                         int64_t number) {
        const TrackArgument argument = { of, NULL, number };

        track_instant(recorder->tracks, track, (uint64_t)at_ns, name, &argument, 1);
}

/* Cycles are numbered for each driver, or for all drivers together. */
static uint64_t count_lost(const CycleRecorder *recorder, const NodeObject *driver) {
        const uint64_t n_seen = recorder->n_cycles - driver->written.n_before;
        int64_t n;

        if (__builtin_sub_overflow(recorder->cycle.number, driver->written.number, &n) || n <= 0)
                return 0;
        return (uint64_t)n > n_seen ? (uint64_t)n - n_seen : 0;
}

static void compare_with_last(CycleRecorder *recorder, uint64_t track) {
        const ProfileCycle *cycle = &recorder->cycle;
        NodeObject *driver = node_table_get(&recorder->nodes, cycle->driver.id);
        const int64_t at_ns = cycle->driver.signal_ns;

        if (driver->written.has_cycles && cycle->n_xruns > driver->written.n_xruns)
                write_number(recorder, track, at_ns, "xrun", "in all", cycle->n_xruns);
        if (driver->written.has_cycles && count_lost(recorder, driver) > 0)
                write_number(recorder,
                             track,
                             at_ns,
                             "lost",
                             "cycles",
                             (int64_t)count_lost(recorder, driver));
        driver->written.has_cycles = true;
        driver->written.n_xruns = cycle->n_xruns;
        driver->written.number = cycle->number;
        driver->written.n_before = recorder->n_cycles;
}

static void count(CycleRecorder *recorder, uint64_t driver) {
        const ProfileCycle *cycle = &recorder->cycle;
        const uint64_t at_ns = (uint64_t)cycle->driver.signal_ns;
        uint64_t track;

        track = track_counter(recorder->tracks, driver, "xruns", TRACK_UNIT_COUNT);
        track_count(recorder->tracks, track, at_ns, cycle->n_xruns);
        if (!(cycle->load >= 0 && cycle->load <= LOAD_MAX))
                return;
        track = track_counter(recorder->tracks, driver, "load in %", TRACK_UNIT_NONE);
        track_count_double(recorder->tracks, track, at_ns, 100 * cycle->load);
}

static void write_nodes(CycleRecorder *recorder, const uint64_t *arrows, int64_t now_ns) {
        const ProfileCycle *cycle = &recorder->cycle;

        for (size_t i = 0; i < cycle->n_followers; i++)
                if (node_is_new(recorder, &cycle->followers[i], now_ns))
                        write_node(recorder,
                                   &cycle->followers[i],
                                   arrows[i] ? &arrows[i] : NULL,
                                   now_ns);
        write_node(recorder, &cycle->driver, NULL, now_ns);
}

/* Returns when the cycle began. */
static int64_t take_cycle(CycleRecorder *recorder, int64_t now_ns) {
        const ProfileCycle *cycle = &recorder->cycle;
        uint64_t arrows[PROFILE_FOLLOWERS_MAX], all_arrows[CYCLE_ARROWS_MAX];
        const size_t n_arrows = number_arrows(recorder, arrows, all_arrows, now_ns);
        uint64_t driver;

        recorder->n_cycles++;
        if (cycle->driver.signal_ns > recorder->until_ns)
                return cycle->driver.signal_ns;
        driver = node_track(recorder, &cycle->driver, now_ns);
        write_cycle(recorder, driver, cycle_end(recorder, now_ns), all_arrows, n_arrows);
        compare_with_last(recorder, driver);
        count(recorder, driver);
        write_nodes(recorder, arrows, now_ns);
        if (cycle->n_left_out > 0)
                write_number(recorder,
                             driver,
                             cycle->driver.signal_ns,
                             "left out",
                             "nodes",
                             (int64_t)cycle->n_left_out);
        return cycle->driver.signal_ns;
}

int64_t
cycle_recorder_take(CycleRecorder *recorder, const void *data, size_t n_bytes, int64_t now_ns) {
        int64_t last_ns = 0;
        PodReader cycles;
        bool is_known;

        if (!profile_begin(&cycles, data, n_bytes))
                recorder->n_nonsense++;
        else
                while (profile_next(&cycles, &recorder->cycle, &is_known))
                        if (!is_known || !node_is_new(recorder, &recorder->cycle.driver, now_ns))
                                recorder->n_nonsense++;
                        else
                                last_ns = take_cycle(recorder, now_ns);
        return last_ns;
}
