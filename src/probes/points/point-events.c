/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Point events: the uprobes of a recording, as few kernel events with many probes each */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "host/probe.h"
#include "probes/points/point-events.h"
#include "shared/fd.h"
#include "shared/log.h"

#define LINE_BYTES 2048
#define PATH_BYTES 192

/* From 6.11 to 6.13, probed functions return to a place that makes a system call. The kernel kills a program whose
 * seccomp filter does not know that call. */
static bool kernel_can_return(void) {
        struct utsname name;
        unsigned major, minor;

        if (uname(&name) < 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2)
                return false;
        return major != 6 || minor < 11 || minor > 13;
}

int point_events_init(PointEvents *events,
                      const TraceDir *dir,
                      Instance *instance,
                      char **ret_error) {
        *events = (PointEvents){
                .slot = { .fd = -1 },
                .dir = dir,
                .instance = instance,
                .can_return = kernel_can_return(),
        };
        if (faccessat(dir->fd, "uprobe_events", F_OK, AT_EACCESS) < 0)
                return probe_refuse(
                        ret_error,
                        "this kernel has no uprobes (CONFIG_UPROBE_EVENTS); use one that "
                        "is built as distributions do");
        events->sites = calloc(POINT_SITES_MAX, sizeof(*events->sites));
        return events->sites ? dynamic_slot_take(&events->slot, dir, ret_error) : -ENOMEM;
}

static void event_name(char name[static DYNAMIC_NAME_BYTES],
                       const PointEvents *events,
                       size_t batch,
                       bool is_return) {
        snprintf(name,
                 DYNAMIC_NAME_BYTES,
                 DYNAMIC_EVENT_PREFIX "%u/points_%zu_%s",
                 events->slot.number,
                 batch,
                 is_return ? "return" : "entry");
}

static void remove_event(PointEvents *events, size_t batch, bool is_return) {
        char name[DYNAMIC_NAME_BYTES];
        int r;

        event_name(name, events, batch, is_return);
        r = dynamic_slot_remove(&events->slot, name);
        if (r < 0)
                log_warning("cannot remove the event %s: %s", name, strerror(-r));
}

static void remove_batch(PointEvents *events, size_t batch) {
        PointBatch *has = &events->batches[batch];

        if (has->has_entry)
                remove_event(events, batch, false);
        if (has->has_return)
                remove_event(events, batch, true);
        *has = (PointBatch){};
}

void point_events_deinit(PointEvents *events) {
        for (size_t i = 0; i < events->n_batches; i++)
                remove_batch(events, i);
        dynamic_slot_release(&events->slot);
        free(events->sites);
        *events = (PointEvents){ .slot = { .fd = -1 } };
}

/*
 * Definitions
 */

bool point_events_begin(PointEvents *events) {
        if (events->n_batches == POINT_BATCHES_MAX)
                return false;
        events->batches[events->n_batches++] = (PointBatch){};
        events->n_sites_before = events->n_sites;
        return true;
}

static bool shares(const PointSite *site, int fd, const Point *point, const PointSpot *spot) {
        const Point *other = site->points[0];

        if (!other || site->fd != fd || site->offset != spot->offset ||
            site->n_points == POINT_SHARERS_MAX || other->n_arguments != point->n_arguments)
                return false;
        for (size_t i = 0; i < point->n_arguments; i++)
                if (other->arguments[i].type != point->arguments[i].type ||
                    !streq(other->arguments[i].where, point->arguments[i].where))
                        return false;
        return true;
}

/* Appends to a text of LINE_BYTES. */
static void append(char *line, const char *format, ...) _printf_(2, 3);

static void append(char *line, const char *format, ...) {
        size_t n = strlen(line);
        va_list args;

        va_start(args, format);
        vsnprintf(line + n, LINE_BYTES - n, format, args);
        va_end(args);
}

static const char *number_at(const Point *point, const PointSpot *spot, unsigned slot) {
        for (size_t i = 0; i < point->n_arguments; i++)
                if (point->arguments[i].type != POINT_TEXT && point->arguments[i].slot == slot)
                        return spot->fetches[i];
        return "\\0";
}

/* All probes of an event need the same fields. If a point lacks a number, the field is a constant. A constant text
 * would be read as if it were in the program, and an attempt to read what does not exist takes microseconds. So the
 * text is one that always exists, and nobody looks at it. */
static void append_arguments(char *line, const Point *point, const PointSpot *spot) {
        const char *text = "+0(%sp)";

        for (unsigned slot = 0; slot < POINT_NUMBERS_MAX; slot++)
                append(line, " n%u=%s:u64", slot, number_at(point, spot, slot));
        for (size_t i = 0; i < point->n_arguments; i++)
                if (point->arguments[i].type == POINT_TEXT)
                        text = spot->fetches[i];
        append(line, " " POINT_FIELD_TEXT "=%s:string", text);
}

static int define(PointEvents *events,
                  size_t site,
                  int fd,
                  const Point *point,
                  const PointSpot *spot,
                  bool is_return) {
        PointBatch *batch = &events->batches[events->n_batches - 1];
        char line[LINE_BYTES] = "", name[DYNAMIC_NAME_BYTES];
        int r;

        event_name(name, events, events->n_batches - 1, is_return);
        append(line,
               "%c:%s /proc/self/fd/%d:0x%" PRIx64,
               is_return ? 'r' : 'p',
               name,
               fd,
               spot->offset);
        if (spot->semaphore)
                append(line, "(0x%" PRIx64 ")", spot->semaphore);
        append(line, " " POINT_FIELD_SITE "=\\%zu:u32 " POINT_FIELD_STACK "=%%sp:u64", site);
        if (!is_return)
                append_arguments(line, point, spot);
        append(line, "\n");
        r = dynamic_slot_write(&events->slot, line);
        if (r == 0 && is_return)
                batch->has_return = true;
        else if (r == 0)
                batch->has_entry = true;
        return r;
}

static int
add_return(PointEvents *events, size_t site, int fd, const Point *point, const PointSpot *spot) {
        int r;

        if (!point_has_return(point) || !events->can_return || events->sites[site].has_return)
                return 0;
        r = define(events, site, fd, point, spot, true);
        events->sites[site].has_return = r == 0;
        return r;
}

int point_events_add(PointEvents *events,
                     int fd,
                     const Point *point,
                     const PointSpot *spot,
                     char **ret_error) {
        size_t site = 0;
        int r = 0;

        while (site < events->n_sites && !shares(&events->sites[site], fd, point, spot))
                site++;
        if (site == POINT_SITES_MAX)
                return probe_refuse(ret_error, "there are %d probes already", POINT_SITES_MAX);
        if (site == events->n_sites) {
                r = define(events, site, fd, point, spot, false);
                if (r == 0)
                        events->sites[events->n_sites++] =
                                (PointSite){ .fd = fd, .offset = spot->offset };
        }
        if (r == 0)
                r = add_return(events, site, fd, point, spot);
        if (r < 0)
                return probe_refuse(ret_error, "the kernel cannot probe it: %s", strerror(-r));
        events->sites[site].points[events->sites[site].n_points++] = point;
        return 0;
}

/*
 * Switching on
 */

static int read_layout(PointEvents *events,
                       const char *name,
                       bool is_return,
                       uint16_t *ret_id,
                       char **ret_error) {
        _cleanup_(event_format_freep) EventFormat *format = NULL;
        _cleanup_(freep) char *text = NULL;
        char file[PATH_BYTES];
        size_t n;
        int r;

        snprintf(file, sizeof(file), "events/%s/format", name);
        r = trace_dir_read(events->dir, file, &text, &n, ret_error);
        if (r != 0)
                return r;
        r = event_format_parse(&format, "points", text, n);
        if (r == 0)
                r = point_layout_init(is_return ? &events->return_layout : &events->entry_layout,
                                      format,
                                      is_return);
        if (r == -EBADMSG)
                return probe_refuse(ret_error, "cannot understand the kernel's %s", file);
        if (r == 0)
                *ret_id = format->id;
        return r;
}

static int enable(PointEvents *events, bool is_return, uint16_t *ret_id, char **ret_error) {
        char name[DYNAMIC_NAME_BYTES], file[PATH_BYTES];
        int r;

        event_name(name, events, events->n_batches - 1, is_return);
        r = read_layout(events, name, is_return, ret_id, ret_error);
        if (r != 0)
                return r;
        snprintf(file, sizeof(file), "events/%s/enable", name);
        return instance_write(events->instance, file, "1", ret_error);
}

static void disable(PointEvents *events, bool is_return) {
        char name[DYNAMIC_NAME_BYTES], file[PATH_BYTES];

        event_name(name, events, events->n_batches - 1, is_return);
        snprintf(file, sizeof(file), "events/%s/enable", name);
        (void)instance_write(events->instance, file, "0", NULL);
}

/* The batch is gone together with its sites. Whatever their returns have left in the ring belongs to no known event. */
static void drop_last(PointEvents *events) {
        PointBatch *batch = &events->batches[events->n_batches - 1];

        if (batch->has_return)
                disable(events, true);
        if (batch->has_entry)
                disable(events, false);
        remove_batch(events, events->n_batches - 1);
        events->n_batches--;
        events->n_sites = events->n_sites_before;
}

int point_events_end(PointEvents *events, char **ret_error) {
        PointBatch *batch = &events->batches[events->n_batches - 1];
        int r = 0;

        for (size_t i = 0; i < events->n_sites; i++)
                events->sites[i].fd = -1;
        if (!batch->has_entry) {
                events->n_batches--;
                return 0;
        }
        if (batch->has_return)
                r = enable(events, true, &batch->return_id, ret_error);
        if (r == 0)
                r = enable(events, false, &batch->entry_id, ret_error);
        if (r != 0)
                drop_last(events);
        return r;
}
