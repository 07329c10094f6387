/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace service: what the service says in a file about the machine, the recording and its own life
 */

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire-reader.h"

/* What SystemInfo has. The last ones are Desktrace's own. */
typedef enum TraceSystemField {
        TRACE_SYSTEM_NAME,
        TRACE_SYSTEM_VERSION,
        TRACE_SYSTEM_RELEASE,
        TRACE_SYSTEM_MACHINE,
        TRACE_SYSTEM_SERVICE_VERSION,
        TRACE_SYSTEM_PAGE_BYTES, /* a number, like the next two */
        TRACE_SYSTEM_CPUS,
        TRACE_SYSTEM_RAM_BYTES,
        TRACE_SYSTEM_BOOT_ID,
        TRACE_SYSTEM_OS_ID,
        TRACE_SYSTEM_OS_VERSION,
        TRACE_SYSTEM_CPU_MODEL,
        _TRACE_SYSTEM_FIELDS,
} TraceSystemField;

typedef struct TraceSystemInfo {
        WireField fields[_TRACE_SYSTEM_FIELDS]; /* number 0: it is not there */
} TraceSystemInfo;

void trace_system_info_read(TraceSystemInfo *ret, const WireField *payload);

/* What a perfetto.protos.TracingServiceEvent says. */
typedef struct TraceServiceEvent {
        bool is_start;       /* the recording has been started, */
        bool is_all_started; /* and all of its sources */
        bool is_stop;
        bool is_clone; /* the session went on after this file */
        bool is_away;  /* of ours: there was no service for a while. By BOOTTIME: */
        uint64_t away_from_ns, away_until_ns, n_lost;
} TraceServiceEvent;

void trace_service_event_read(TraceServiceEvent *ret, const WireField *payload);

/* Both halves of a TraceUuid. */
void trace_uuid_read(uint64_t ret[2], const WireField *payload);

/* Facts from the TraceConfig with which a file was recorded. */
typedef struct TraceRecordedConfig {
        bool streams_to_file;
        WireField session_name; /* of type WIRE_BYTES if it has one */
} TraceRecordedConfig;

typedef struct TraceRecordedSource {
        WireField bytes; /* the whole of its part of the config */
        WireField name;  /* of type WIRE_BYTES if it has one */
} TraceRecordedSource;

void trace_recorded_config_read(TraceRecordedConfig *ret, const WireField *payload);
/* Reads the next data source from a reader of the config. Returns false after the last one. */
bool trace_recorded_config_next_source(WireReader *config, TraceRecordedSource *ret);
