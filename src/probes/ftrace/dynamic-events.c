/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Dynamic events: kprobes and uprobes that a config defines */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/probe.h"
#include "probes/ftrace/dynamic-events.h"
#include "probes/ftrace/probe-place.h"
#include "shared/fd.h"
#include "shared/log.h"

#define NAME_BYTES    DYNAMIC_NAME_BYTES
#define PROFILE_BYTES 256

enum {
        STATS_KPROBES = 10,
        KPROBES_HITS = 1,
        KPROBES_MISSES = 2,
};

/*
 * Definitions
 */

/* The kernel's last complaint, if it is about this definition: what is wrong, and the word that it points to.
 * Returns NULL if it has none. malloc'ed. */
static char *kernel_reason(const TraceDir *dir, const char *full_name) {
        static const char error[] = "error: ", command[] = "  Command: ";
        _cleanup_(freep) char *log = NULL;
        const char *at = NULL, *words, *mark;
        char *reason;

        if (trace_dir_read(dir, "error_log", &log, NULL, NULL) != 0)
                return NULL;
        for (const char *next = log; (next = strstr(next, error)); next += strlen(error))
                at = next + strlen(error);
        words = at ? strstr(at, command) : NULL;
        if (!words || !strstr(words, full_name))
                return NULL;
        words += strlen(command);
        mark = strchr(words, '\n');
        if (mark)
                words += MIN(strcspn(mark + 1, "^"), strcspn(words, "\n") + strlen(command)) -
                         strlen(command);
        if (asprintf(&reason,
                     "%.*s, at \"%.*s\"",
                     (int)strcspn(at, "\n"),
                     at,
                     (int)strcspn(words, "\n"),
                     words) < 0)
                return NULL;
        return reason;
}

static int refuse_definition(const TraceDir *dir,
                             const ProbePlace *place,
                             const char *full_name,
                             int error,
                             char **ret_error) {
        _cleanup_(freep) char *reason = NULL;

        if (place->is_kprobe && faccessat(dir->fd, "kprobe_events", F_OK, AT_EACCESS) < 0)
                return probe_refuse(ret_error,
                                    "kprobe_events: \"%s\": this kernel has no kprobes "
                                    "(CONFIG_KPROBE_EVENTS)",
                                    place->asked);
        if (!place->is_kprobe && faccessat(dir->fd, "uprobe_events", F_OK, AT_EACCESS) < 0)
                return probe_refuse(ret_error,
                                    "uprobe_events: \"%s\": this kernel has no uprobes "
                                    "(CONFIG_UPROBE_EVENTS)",
                                    place->asked);
        reason = kernel_reason(dir, full_name);
        return probe_refuse(ret_error,
                            "%s: the kernel cannot probe \"%s\": %s",
                            place->what,
                            place->asked,
                            reason ?: strerror(error));
}

static int add_defined(DynamicEvents *events,
                       EventSelection *selection,
                       const ProbePlace *place,
                       const char *full_name,
                       unsigned slice_type) {
        DynamicEvent *event, *more;

        more = reallocarray(events->events, events->n_events + 1, sizeof(*more));
        if (!more)
                return -ENOMEM;
        events->events = more;
        event = &more[events->n_events];
        *event = (DynamicEvent){
                .name = strdup(full_name),
                .label = place->n_args == 0 ? strdup(place->label) : NULL,
                .slice_type = slice_type,
                .is_kprobe = place->is_kprobe,
        };
        events->n_events++; /* even a half-made event has to be removed and freed */
        if (!event->name || (place->n_args == 0 && !event->label))
                return -ENOMEM;
        return event_selection_add(selection, full_name);
}

/* Events with fields keep their name. A slice has its name in the event, so the kernel's name only has to be unique. */
static void make_full_name(char name[static NAME_BYTES],
                           const DynamicEvents *events,
                           const ProbePlace *place,
                           bool at_exit) {
        if (place->n_args > 0)
                snprintf(name,
                         NAME_BYTES,
                         DYNAMIC_EVENT_PREFIX "%u/%s%s",
                         events->slot.number,
                         place->name,
                         at_exit ? "_return" : "");
        else
                snprintf(name,
                         NAME_BYTES,
                         DYNAMIC_EVENT_PREFIX "%u/s%zu_%s",
                         events->slot.number,
                         events->n_events,
                         place->name);
}

static int define(DynamicEvents *events,
                  const TraceDir *dir,
                  EventSelection *selection,
                  const ProbePlace *place,
                  bool at_exit,
                  char **ret_error) {
        _cleanup_(freep) char *line = NULL;
        char name[NAME_BYTES];
        int r;

        make_full_name(name, events, place, at_exit);
        if (dynamic_events_find(events, name))
                return probe_refuse(ret_error,
                                    "%s: two probes are called \"%s\"; give one of them a name",
                                    place->what,
                                    place->label);
        line = probe_place_line(place, at_exit, name);
        if (!line)
                return probe_refuse(ret_error,
                                    "%s: the definition of \"%s\" is too long; the kernel takes %d "
                                    "bytes",
                                    place->what,
                                    place->asked,
                                    PLACE_LINE_BYTES_MAX);
        r = dynamic_slot_write(&events->slot, line);
        if (r < 0)
                return refuse_definition(dir, place, name, -r, ret_error);
        return add_defined(events,
                           selection,
                           place,
                           name,
                           !place->entry || !place->exit ? SLICE_INSTANT
                           : at_exit                     ? SLICE_END
                                                         : SLICE_BEGIN);
}

/* A slice needs its end, so the exit is defined first: if that fails, there is no entry. */
static int define_place(DynamicEvents *events,
                        const TraceDir *dir,
                        EventSelection *selection,
                        const ProbePlace *place,
                        char **ret_error) {
        int r = 0;

        if (place->exit)
                r = define(events, dir, selection, place, true, ret_error);
        if (r == 0 && place->entry)
                r = define(events, dir, selection, place, false, ret_error);
        return r;
}

/*
 * Static probes
 */

/* A probe that the compiler has put into several places is one event if its arguments have the same types in all of
 * them. Otherwise, and before Linux 5.4, each place is an event of its own. */
static int define_again(DynamicEvents *events,
                        const TraceDir *dir,
                        EventSelection *selection,
                        ProbePlace *place,
                        char **ret_error) {
        _cleanup_(freep) char *line = NULL;
        char name[NAME_BYTES], number[16];

        make_full_name(name, events, place, false);
        if (place->n_args > 0 && dynamic_events_find(events, name)) {
                line = probe_place_line(place, false, name);
                if (line && dynamic_slot_write(&events->slot, line) == 0)
                        return 0;
                snprintf(number, sizeof(number), "_%zu", events->n_events);
                place->name[MIN(strlen(place->name), sizeof(place->name) - strlen(number) - 1)] = 0;
                strcat(place->name, number);
        }
        return define_place(events, dir, selection, place, ret_error);
}

/* Whether an earlier probe of the file has the same text and, if so, whether it is at the same place. */
static bool is_again(const StaticProbes *list, const StaticProbe *probe, bool *ret_is_same_place) {
        bool is_again = false;

        *ret_is_same_place = false;
        for (const StaticProbe *other = list->probes; other < probe; other++) {
                if (!streq(other->provider, probe->provider) || !streq(other->name, probe->name))
                        continue;
                is_again = true;
                *ret_is_same_place |= other->offset == probe->offset;
        }
        return is_again;
}

/* One of the probes that a config's pattern matches. If it is refused, only this one is reported. */
static int define_one_static(DynamicEvents *events,
                             const TraceDir *dir,
                             EventSelection *selection,
                             const UprobeConfig *config,
                             int fd,
                             const StaticProbes *list,
                             const StaticProbe *probe) {
        _cleanup_(probe_place_deinit) ProbePlace place = {};
        bool is_same_place, is_other_place = is_again(list, probe, &is_same_place);
        char *error = NULL;
        int r;

        if (is_same_place)
                return 0;
        r = probe_place_init_static(&place, config, fd, probe, list->machine, &error);
        if (r == 0)
                r = is_other_place ? define_again(events, dir, selection, &place, &error)
                                   : define_place(events, dir, selection, &place, &error);
        if (r == PROBE_E_REFUSED)
                return event_selection_add_unknown(selection, place.label ?: config->usdt, error);
        free(error);
        return r;
}

static int
refuse_unknown_static(const UprobeConfig *config, const StaticProbes *list, char **ret_error) {
        if (list->n_probes == 0)
                return probe_refuse(
                        ret_error, "uprobe_events: %s has no static probes", config->path);
        return probe_refuse(ret_error,
                            "uprobe_events: none of the %zu static probes of %s is \"%s\"; "
                            "\"desktrace list probes %s\" lists them",
                            list->n_probes,
                            config->path,
                            config->usdt,
                            config->path);
}

static int define_static(DynamicEvents *events,
                         const TraceDir *dir,
                         EventSelection *selection,
                         const UprobeConfig *config,
                         char **ret_error) {
        _cleanup_(fd_closep) int fd = -1;
        _cleanup_(static_probes_deinit) StaticProbes list = {};
        size_t n_meant = 0;
        int r;

        r = probe_place_read_static(&list, &fd, config, ret_error);
        for (size_t i = 0; r == 0 && i < list.n_probes; i++)
                n_meant += probe_place_is_meant(config, &list.probes[i]);
        if (r == 0 && n_meant == 0)
                r = refuse_unknown_static(config, &list, ret_error);
        if (r == 0 && n_meant > DYNAMIC_EVENTS_MAX)
                r = probe_refuse(ret_error,
                                 "uprobe_events: \"%s\" are %zu places in %s; at most %d are "
                                 "allowed",
                                 config->usdt,
                                 n_meant,
                                 config->path,
                                 DYNAMIC_EVENTS_MAX);
        for (size_t i = 0; r == 0 && i < list.n_probes; i++)
                if (probe_place_is_meant(config, &list.probes[i]))
                        r = define_one_static(
                                events, dir, selection, config, fd, &list, &list.probes[i]);
        return r;
}

/*
 * The probes of a config
 */

/* The name that the trace has for a probe that could not be defined. */
static const char *asked_for(const FtraceConfig *config, size_t i) {
        const UprobeConfig *uprobe;

        if (i < config->n_kprobe_events)
                return config->kprobe_events[i]->probe ?: "kprobe_events";
        uprobe = config->uprobe_events[i - config->n_kprobe_events];
        return uprobe->symbol ?: uprobe->usdt ?: uprobe->path ?: "uprobe_events";
}

static int define_asked(DynamicEvents *events,
                        const TraceDir *dir,
                        EventSelection *selection,
                        const FtraceConfig *config,
                        size_t i,
                        char **ret_error) {
        _cleanup_(probe_place_deinit) ProbePlace place = {};
        const UprobeConfig *uprobe;
        int r;

        if (i < config->n_kprobe_events) {
                r = probe_place_init_kprobe(&place, config->kprobe_events[i], ret_error);
        } else {
                uprobe = config->uprobe_events[i - config->n_kprobe_events];
                if (uprobe->usdt)
                        return define_static(events, dir, selection, uprobe, ret_error);
                r = probe_place_init_uprobe(&place, uprobe, ret_error);
        }
        return r == 0 ? define_place(events, dir, selection, &place, ret_error) : r;
}

/* A refused probe does not affect the others: the selection lists it as unknown, with the reason. */
static int define_all(DynamicEvents *events,
                      const TraceDir *dir,
                      const FtraceConfig *config,
                      EventSelection *selection) {
        size_t n = config->n_kprobe_events + config->n_uprobe_events;
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++) {
                char *error = NULL;

                r = define_asked(events, dir, selection, config, i, &error);
                if (r == PROBE_E_REFUSED)
                        r = event_selection_add_unknown(selection, asked_for(config, i), error);
                else
                        free(error);
        }
        return r;
}

int dynamic_events_new(DynamicEvents **ret,
                       const TraceDir *dir,
                       const FtraceConfig *config,
                       EventSelection *selection,
                       char **ret_error) {
        _cleanup_(dynamic_events_freep) DynamicEvents *events = NULL;
        size_t n = config->n_kprobe_events + config->n_uprobe_events;
        int r;

        *ret = NULL;
        if (n == 0)
                return 0;
        if (n > DYNAMIC_EVENTS_MAX)
                return probe_refuse(ret_error,
                                    "kprobe_events and uprobe_events have %zu probes; at most %d "
                                    "are allowed",
                                    n,
                                    DYNAMIC_EVENTS_MAX);
        events = calloc(1, sizeof(*events));
        if (!events)
                return -ENOMEM;
        events->slot.fd = -1;
        r = dynamic_slot_take(&events->slot, dir, ret_error);
        if (r == 0)
                r = define_all(events, dir, config, selection);
        if (r == 0)
                *ret = TAKE(events);
        return r;
}

DynamicEvents *dynamic_events_free(DynamicEvents *events) {
        if (!events)
                return NULL;
        for (size_t i = 0; i < events->n_events; i++) {
                DynamicEvent *event = &events->events[i];

                const int r = event->name ? dynamic_slot_remove(&events->slot, event->name) : 0;

                if (r < 0)
                        log_warning("cannot remove the event %s: %s", event->name, strerror(-r));
                free(event->name);
                free(event->label);
        }
        dynamic_slot_release(&events->slot);
        free(events->events);
        free(events);
        return NULL;
}

const DynamicEvent *dynamic_events_find(const DynamicEvents *events, const char *name) {
        for (size_t i = 0; events && i < events->n_events; i++)
                if (events->events[i].name && streq(events->events[i].name, name))
                        return &events->events[i];
        return NULL;
}

/*
 * Statistics
 */

/* The kernel's list names the events without their group. In practice ours are always those of this recording. */
static bool is_own_kprobe(const DynamicEvents *events, const char *name) {
        for (size_t i = 0; i < events->n_events; i++)
                if (events->events[i].is_kprobe &&
                    streq(strchr(events->events[i].name, '/') + 1, name))
                        return true;
        return false;
}

/* "  name   hits   misses" */
static void count_hits(const DynamicEvents *events,
                       const TraceDir *dir,
                       uint64_t *ret_hits,
                       uint64_t *ret_misses) {
        _cleanup_(freep) char *profile = NULL;
        char *line, *state = NULL;

        *ret_hits = *ret_misses = 0;
        if (trace_dir_read(dir, "kprobe_profile", &profile, NULL, NULL) != 0)
                return;
        for (line = strtok_r(profile, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
                uint64_t hits, misses;
                char name[PROFILE_BYTES];

                if (sscanf(line, "%255s %" SCNu64 " %" SCNu64, name, &hits, &misses) != 3 ||
                    !is_own_kprobe(events, name))
                        continue;
                *ret_hits += hits;
                *ret_misses += misses;
        }
}

void dynamic_events_encode_stats(DynamicEvents *events,
                                 const TraceDir *dir,
                                 WireWriter *wire,
                                 bool of_start) {
        uint64_t hits = events->start_hits, misses = events->start_misses;
        size_t begin;

        if (!of_start || !events->has_start)
                count_hits(events, dir, &hits, &misses);
        if (of_start && !events->has_start) {
                events->start_hits = hits;
                events->start_misses = misses;
                events->has_start = true;
        }
        begin = wire_begin(wire, STATS_KPROBES);
        wire_put_uint(wire, KPROBES_HITS, hits);
        wire_put_uint(wire, KPROBES_MISSES, misses);
        wire_end(wire, begin);
}
