/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Record request: what the user wants to record
 *
 * Turns a config file, a preset and events into the arguments of StartSession(). Configs are parsed here with the
 * service's own parser, so that mistakes are reported with file, line and column before anything is started.
 */

#include <glib.h>
#include <stdint.h>

#include "client/bus-client.h"
#include "config/config.h"

#define BUFFER_KB_DEFAULT     (64u << 10) /* when only events are named */
#define RECORD_STACKS_HZ      997u        /* not 1000, which would keep step with timers */
#define RECORD_STACKS_HZ_MAX  10000u
#define RECORD_SLEEP_US       50u /* shorter sleeps are left out */
#define RECORD_FAULTS_PERIOD  64u /* 256 KiB, for a program that grows */
#define RECORD_PRESET_DEFAULT "default"
#define RECORD_PRESET_APPS    "apps" /* needs no privilege */

/* What triggers do with the session. */
typedef enum RecordTriggers {
        RECORD_TRIGGERS_NONE,
        RECORD_TRIGGERS_START, /* the first one starts the recording */
        RECORD_TRIGGERS_STOP,  /* the first one ends it; without one there is no recording */
        RECORD_TRIGGERS_CLONE, /* each makes a snapshot, and only those can be read */
} RecordTriggers;

typedef struct RecordRequest {
        Config *config; /* from a file or a preset; NULL: there are only events */
        GPtrArray *events, *sources, *categories; /* of char *, owned */
        GPtrArray *stack_events;  /* likewise: events at which call stacks are recorded */
        GPtrArray *presets;       /* those that the config is made of; NULL-terminated, owned */
        uint64_t duration_ms;     /* 0: as the config says */
        uint32_t buffer_kb;       /* likewise */
        const char *name;         /* or NULL */
        uint32_t clear_period_ms; /* for incremental state; 0: as the config says */
        char **triggers; /* triggers that make snapshots, NULL-terminated; or NULL. Not owned */
        uint32_t trigger_delay_ms;   /* from the trigger to the snapshot */
        uint32_t trigger_timeout_ms; /* when a session with triggers ends */
        uint32_t snapshot_before_ms; /* triggers' snapshots leave this out; 0: nothing */
        bool is_ring; /* keep the newest in memory; nothing is written before the end */
        bool is_detached;
} RecordRequest;

void record_request_init(RecordRequest *request);
void record_request_deinit(RecordRequest *request);

/* Each reports errors, and then returns STATUS_USAGE. */
ExitStatus record_request_load_file(RecordRequest *request, const char *path);    /* "-": stdin */
ExitStatus record_request_load_preset(RecordRequest *request, const char *names); /* "a,b": both */
ExitStatus record_request_add_event(RecordRequest *request, const char *event);
/* Records call stacks beside the rest, `rate` times a second and processor; "" means as often as makes sense. With
 * `is_own`, they are of the user's own programs instead of the whole machine. */
ExitStatus record_request_add_stacks(RecordRequest *request, const char *rate, bool is_own);
/* Records call stacks where something happens: "sleep", "page-fault" or "group/name", each perhaps followed by ":N". */
ExitStatus record_request_add_stacks_at(RecordRequest *request, const char *event, bool is_own);
/* Records programs' heaps, too, with one sample for this many bytes. */
ExitStatus record_request_add_heap(RecordRequest *request, uint64_t interval);
ExitStatus record_request_set_duration(RecordRequest *request, const char *text);
ExitStatus record_request_set_buffer(RecordRequest *request, const char *text);

/* The size of the first buffer. */
uint32_t record_request_buffer_kb(const RecordRequest *request);

/* Whether a config's data sources are misspelt. Where the service knows the probes' sources, it checks this itself. */
ExitStatus record_request_check_sources(const RecordRequest *request);

/* The kernel events of the user's own config, not those of the command line; not owned. */
GPtrArray *record_request_config_events(const RecordRequest *request);

/* As the config or the command line says. *ret_name is the name of the first one, or NULL. */
RecordTriggers record_request_triggers(const RecordRequest *request, const char **ret_name);

/* Whether call stacks of samples or of allocations are wanted. At first, these lack the names of functions. */
bool record_request_wants_stacks(const RecordRequest *request);

/* Whether events of programs (track-event.h) are wanted. */
bool record_request_wants_track_events(const RecordRequest *request);

/* The categories of these events, in the form that a program which is about to be started gets them
 * ($DESKTRACE_STARTUP). They may include more than what is wanted. Returns NULL if there are none. Free with
 * g_free(). */
char *record_request_startup_categories(const RecordRequest *request);

/* The data sources of desktrace-probes that are wanted, and all that it has; free with g_strfreev(). */
char **record_request_probe_sources(const RecordRequest *request);
char **record_request_known_probe_sources(void);
/* The same for desktrace-bridges. */
char **record_request_bridge_sources(const RecordRequest *request);

/* Makes the StartSession() call. With an `output_fd` of -1, nothing is streamed. Returns 0 or an errno. */
int record_request_to_message(const RecordRequest *request,
                              const BusClient *client,
                              int output_fd,
                              sd_bus_message **ret);
