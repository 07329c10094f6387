/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace service: what the service says in a file about the machine, the recording and its own life */

#include "trace/trace-service.h"

#include <string.h>

#include "shared/macro.h"
#include "trace/trace-packet.h"

/*
 * The machine
 */

#define SYSTEM_UTSNAME 1 /* of SystemInfo: a message of its own */

typedef struct FieldPlace {
        uint32_t number;
        uint8_t type;
        TraceSystemField place;
} FieldPlace;

static const FieldPlace utsname_places[] = {
        { 1, WIRE_BYTES, TRACE_SYSTEM_NAME },
        { 2, WIRE_BYTES, TRACE_SYSTEM_VERSION },
        { 3, WIRE_BYTES, TRACE_SYSTEM_RELEASE },
        { 4, WIRE_BYTES, TRACE_SYSTEM_MACHINE },
};

static const FieldPlace system_places[] = {
        { 4, WIRE_BYTES, TRACE_SYSTEM_SERVICE_VERSION },
        { 6, WIRE_VARINT, TRACE_SYSTEM_PAGE_BYTES },
        { 8, WIRE_VARINT, TRACE_SYSTEM_CPUS },
        { 16, WIRE_VARINT, TRACE_SYSTEM_RAM_BYTES },
        { 1900, WIRE_BYTES, TRACE_SYSTEM_BOOT_ID },
        { 1901, WIRE_BYTES, TRACE_SYSTEM_OS_ID },
        { 1902, WIRE_BYTES, TRACE_SYSTEM_OS_VERSION },
        { 1903, WIRE_BYTES, TRACE_SYSTEM_CPU_MODEL },
};

static void system_take(TraceSystemInfo *info,
                        const FieldPlace *places,
                        size_t n_places,
                        const WireField *field) {
        for (size_t i = 0; i < n_places; i++)
                if (places[i].number == field->number && places[i].type == field->type)
                        info->fields[places[i].place] = *field;
}

static void take_utsname(TraceSystemInfo *info, const WireField *message) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0)
                system_take(info, utsname_places, ARRAY_SIZE(utsname_places), &field);
}

void trace_system_info_read(TraceSystemInfo *ret, const WireField *payload) {
        WireReader reader;
        WireField field;

        *ret = (TraceSystemInfo){ 0 };
        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0)
                if (field.number == SYSTEM_UTSNAME && field.type == WIRE_BYTES)
                        take_utsname(ret, &field);
                else
                        system_take(ret, system_places, ARRAY_SIZE(system_places), &field);
}

/*
 * The service's life
 */

/* TracingServiceEvent. The last one is Desktrace's own. */
enum {
        EVENT_ALL_STARTED = 1, /* all_data_sources_started */
        EVENT_STARTED = 2,     /* tracing_started */
        EVENT_STOPPED = 5,     /* tracing_disabled */
        EVENT_CLONE_STARTED = 10,
        EVENT_AWAY = 1900,
};

static void take_away(TraceServiceEvent *event, const WireField *message) {
        uint64_t numbers[4];

        trace_read_numbers(message, numbers, ARRAY_SIZE(numbers));
        event->is_away = true;
        event->away_from_ns = numbers[1];
        event->away_until_ns = numbers[2];
        event->n_lost = numbers[3];
}

void trace_service_event_read(TraceServiceEvent *ret, const WireField *payload) {
        WireReader reader;
        WireField field;

        *ret = (TraceServiceEvent){ 0 };
        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0) {
                ret->is_all_started |= field.number == EVENT_ALL_STARTED;
                ret->is_start |= field.number == EVENT_STARTED;
                ret->is_stop |= field.number == EVENT_STOPPED;
                ret->is_clone |= field.number == EVENT_CLONE_STARTED;
                if (field.number == EVENT_AWAY && field.type == WIRE_BYTES)
                        take_away(ret, &field);
        }
}

void trace_uuid_read(uint64_t ret[2], const WireField *payload) {
        uint64_t numbers[3];

        trace_read_numbers(payload, numbers, ARRAY_SIZE(numbers));
        memcpy(ret, numbers + 1, 2 * sizeof(*ret));
}

/*
 * The config
 */

/* TraceConfig. */
enum {
        CONFIG_DATA_SOURCES = 2,
        CONFIG_WRITE_INTO_FILE = 8,
        CONFIG_UNIQUE_SESSION_NAME = 22,
};

#define SOURCE_CONFIG      1 /* of TraceConfig.DataSource */
#define SOURCE_CONFIG_NAME 1 /* of DataSourceConfig */

void trace_recorded_config_read(TraceRecordedConfig *ret, const WireField *payload) {
        WireReader reader;
        WireField field;

        *ret = (TraceRecordedConfig){ 0 };
        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0)
                if (field.number == CONFIG_WRITE_INTO_FILE)
                        ret->streams_to_file = field.value != 0;
                else if (field.number == CONFIG_UNIQUE_SESSION_NAME && field.type == WIRE_BYTES)
                        ret->session_name = field;
}

/* The first part of a message with this number. */
static bool find_bytes(const WireField *message, uint32_t number, WireField *ret) {
        WireReader reader;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, ret) > 0)
                if (ret->number == number && ret->type == WIRE_BYTES)
                        return true;
        return false;
}

bool trace_recorded_config_next_source(WireReader *config, TraceRecordedSource *ret) {
        WireField inner;

        *ret = (TraceRecordedSource){ 0 };
        while (wire_read(config, &ret->bytes) > 0) {
                if (ret->bytes.number != CONFIG_DATA_SOURCES || ret->bytes.type != WIRE_BYTES)
                        continue;
                if (!find_bytes(&ret->bytes, SOURCE_CONFIG, &inner) ||
                    !find_bytes(&inner, SOURCE_CONFIG_NAME, &ret->name))
                        ret->name = (WireField){ 0 };
                return true;
        }
        return false;
}
