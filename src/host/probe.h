/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Probe: one data source, as a table of the steps in the life of its instances
 *
 * A probe knows neither the tracing service nor the main loop: it gets its config, a sink for packets and the time, and
 * returns when it wants to be called again. The host (host.h) connects it. All calls come from one thread.
 *
 * To add a data source of the machine: write its ProbeOps, name it in probes/probe-registry.c, in data/producers.d and
 * wherever tests/lint/check-data.py reports that it is missing, and let scripts/sources-table write its row into
 * docs/SOURCES.md.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "data_source_config.pb-c.h"
#include "host/packet-writer.h"
#include "host/session-link.h"
#include "shared/macro.h"

typedef Perfetto__Protos__DataSourceConfig DataSourceConfig;

#define PROBE_NEVER     UINT64_MAX
#define PROBE_NS_PER_MS UINT64_C(1000000)
#define PROBE_STOP_NS \
        (4000 * PROBE_NS_PER_MS) /* less than the service waits (SESSION_STOP_TIMEOUT_NS) */

enum {
        _PROBE_E_SUCCESS,
        PROBE_E_REFUSED, /* *ret_error says what was asked, what was wrong and what to do */
};

/* What the session's owner should know although nothing failed: an event that this kernel lacks, a file that may not
 * be read. Each note is one sentence of at most 512 bytes that says what is missing, why, and what to do. The
 * session reports it to its owner and writes it to the trace, together with the name of the source, so the note need
 * not repeat that. */
typedef struct ProbeNotes {
        char **texts;
        size_t n;
} ProbeNotes;

#define PROBE_NOTES_MAX 32 /* of one instance; further notes are only logged */

/* For whom something is recorded: the user and group of the connection or process that asked for it. */
typedef struct ProbeOwner {
        uid_t uid;
        gid_t gid;
} ProbeOwner;

typedef struct ProbeSetup {
        const DataSourceConfig *config; /* valid during setup() only */
        const ProbeOwner *owner;        /* likewise; NULL: not known */
        ProbeNotes *notes;              /* valid during setup() only; or NULL */
        PacketSink *sink;               /* valid from start() until free() */
        SessionLink *link;              /* what the probes of one recording share */
} ProbeSetup;

typedef struct ProbeOps {
        const char *name; /* of the data source */
        const uint32_t
                *packet_fields; /* the fields of TracePacket that it writes; 0 ends the list */

        /* Its row in docs/SOURCES.md and in --list-sources: plain English, no markup, lists by ", ". */
        const char *records;
        const char *reads;
        const char *needs;   /* capabilities beyond a plain user's; NULL: none */
        const char *refuses; /* "when: what to do; when: what to do" */

        /* Whether this machine can provide the data at all: 0, or PROBE_E_REFUSED with the reason and what to do.
         * Called when the source is registered. No config is known yet, so it opens a few files at most. May be
         * NULL. */
        int (*check)(char **ret_error);

        /* The names that a config can choose from, for the service's lists: NULL-terminated, to be freed with
         * probe_names_free(). Called when the source is registered. Returns 0 or a negative errno. May be NULL. */
        int (*names)(char ***ret);

        /* Checks the config and does everything that can fail. Returns 0, PROBE_E_REFUSED or a negative errno. */
        int (*setup)(void **ret, const ProbeSetup *setup, char **ret_error);

        /* Starts recording; the first poll() follows at once. Returns the same as setup(). May be NULL. */
        int (*start)(void *probe, char **ret_error);

        /* Does what is due at `now_ns` (CLOCK_BOOTTIME), and returns when it wants to be called next. */
        uint64_t (*poll)(void *probe, uint64_t now_ns);

        /* A descriptor that makes a poll due whenever it is readable; called after start(). -1: none. May be NULL. */
        int (*fd)(void *probe);

        /* Writes all that was recorded before `now_ns`. May be NULL. */
        void (*flush)(void *probe, uint64_t now_ns);

        /* Stops recording and writes all that is left. May be NULL. */
        void (*stop)(void *probe, uint64_t now_ns);

        /* After stop(): whether requested data has not arrived yet. Then poll() is still called, and the service is
         * answered when this is false, or after PROBE_STOP_NS. May be NULL: never. */
        bool (*is_stopping)(void *probe);

        /* From now on, packets must not refer to packets written before. May be NULL. */
        void (*clear_incremental_state)(void *probe);

        /* Accepts NULL and returns NULL; also called for instances that were never started or stopped. */
        void *(*free)(void *probe);
} ProbeOps;

/* Sets *ret_error, unless it is NULL, and returns PROBE_E_REFUSED (or -ENOMEM). */
int probe_refuse(char **ret_error, const char *format, ...) _printf_(2, 3);

/* Adds a note, and logs it. `notes` may be NULL. */
void probe_note(ProbeNotes *notes, const char *format, ...) _printf_(2, 3);
void probe_notes_deinit(ProbeNotes *notes);

void probe_names_free(char **names);

uint64_t probe_now_ns(void);
/* CPU time of this thread, for what something costs. */
uint64_t probe_cpu_ns(void);

/* The next multiple of a period: polls of all instances with one period fall together. */
static inline uint64_t probe_next_on_grid(uint64_t now_ns, uint64_t period_ns) {
        return (now_ns / period_ns + 1) * period_ns;
}
