/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Descriptions in packets: of processes, tracks, counters of the machine, and of the service itself.
 */

#include <string.h>

#include "client/trace-state.h"
#include "shared/names.h"
#include "sys_stats_counters.pb-c.h"
#include "trace/trace-names.h"

/*
 * Processes and threads
 */

/* "/usr/bin/cat" and "build/cat" are called "cat". A program that renamed itself ("sshd: user/tty") keeps its whole
 * name. */
static const char *command_name(TraceSummary *summary, const WireField *command) {
        const uint8_t *slash = NULL, *end = command->data + command->n_bytes;

        if (command->n_bytes && !memchr(command->data, ' ', command->n_bytes))
                slash = memrchr(command->data, '/', command->n_bytes);
        if (!slash || slash + 1 == end)
                return trace_state_field_name(summary, command);
        return trace_state_name(summary, slash + 1, (size_t)(end - slash - 1));
}

static void summary_add_thread(TraceSummary *summary,
                               int32_t tid,
                               int32_t pid,
                               const char *name,
                               uint8_t rank) {
        TraceThread *thread = tid > 0 ? trace_state_thread(summary, tid) : NULL;

        if (!thread)
                return;
        if (pid > 0)
                thread->pid = pid;
        if (name)
                trace_thread_set_name(thread, name, rank);
}

static TraceProcess *
summary_add_process(TraceSummary *summary, int32_t pid, const char *name, uint8_t rank) {
        TraceProcess *process = pid > 0 ? trace_state_process(summary, pid) : NULL;

        if (!process)
                return NULL;
        summary_add_thread(summary, pid, pid, NULL, rank);
        if (name)
                trace_process_set_name(process, name, rank);
        return process;
}

/* Fields of ours: see docs/SOURCES.md. A later description replaces the whole of an earlier one. */
static void process_take_units(TraceProcess *process, TraceSummary *summary, WireReader message) {
        const struct {
                uint32_t number;
                const char **text;
        } fields[] = {
                { 1900, &process->unit },
                { 1901, &process->user_unit },
                { 1905, &process->app_id },
                { 1907, &process->container },
        };
        WireField field;

        for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
                *fields[i].text = NULL;
        while (wire_read(&message, &field) > 0)
                for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
                        if (field.number == fields[i].number && field.type == WIRE_BYTES)
                                *fields[i].text = trace_state_field_name(summary, &field);
}

static void tree_process(TraceSummary *summary, const WireField *message) {
        WireField command = { 0 }, field;
        WireReader reader, whole;
        TraceProcess *process;
        const char *name = NULL;
        bool is_comm = false;
        int32_t pid = 0;

        wire_reader_init_field(&reader, message);
        whole = reader;
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1)
                        pid = (int32_t)field.value;
                else if (field.number == 3 && field.type == WIRE_BYTES && command.number == 0)
                        command = field;
                else if (field.number == 8 || field.number == 9) /* is_kthread, cmdline_is_comm */
                        is_comm |= field.value != 0;
        }
        if (command.number)
                name = is_comm ? trace_state_field_name(summary, &command)
                               : command_name(summary, &command);
        process = summary_add_process(summary, pid, name, NAME_RANK_PROCFS);
        if (process)
                process_take_units(process, summary, whole);
}

static void tree_thread(TraceSummary *summary, const WireField *message) {
        const char *name = NULL;
        int32_t tid = 0, tgid = 0;
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1)
                        tid = (int32_t)field.value;
                else if (field.number == 2 && field.type == WIRE_BYTES)
                        name = trace_state_field_name(summary, &field);
                else if (field.number == 3)
                        tgid = (int32_t)field.value;
        }
        summary_add_thread(summary, tid, tgid, name, NAME_RANK_PROCFS);
}

#define SAMPLE_RECORDS_LOST 17 /* of perfetto.protos.PerfSample */

/* Stacks are read again if somebody wants them (stack-report.h). Only what was lost is noted here. */
void packet_perf_sample(Packet *packet, const WireField *payload) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0)
                if (field.number == SAMPLE_RECORDS_LOST)
                        packet->summary->n_stack_records_lost += field.value;
}

/* All of this is only of interest with the stacks. */
void packet_stack_sample(Packet *packet, const WireField *payload) {
        (void)packet;
        (void)payload;
}

void packet_process_tree(Packet *packet, const WireField *payload) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1 && field.type == WIRE_BYTES)
                        tree_process(packet->summary, &field);
                else if (field.number == 2 && field.type == WIRE_BYTES)
                        tree_thread(packet->summary, &field);
        }
}

/*
 * Tracks
 */

typedef struct TrackInfo {
        uint64_t uuid, parent;
        const char *name, *process_name, *thread_name, *unit;
        int32_t pid, tid;
        bool is_counter;
} TrackInfo;

static void track_take_process(TrackInfo *info, TraceSummary *summary, const WireField *message) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1)
                        info->pid = (int32_t)field.value;
                else if (field.number == 6 && field.type == WIRE_BYTES)
                        info->process_name = trace_state_field_name(summary, &field);
                else if (field.number == 2 && field.type == WIRE_BYTES && !info->process_name)
                        info->process_name = command_name(summary, &field);
        }
}

static void track_take_thread(TrackInfo *info, TraceSummary *summary, const WireField *message) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1)
                        info->pid = (int32_t)field.value;
                else if (field.number == 2)
                        info->tid = (int32_t)field.value;
                else if (field.number == 5 && field.type == WIRE_BYTES)
                        info->thread_name = trace_state_field_name(summary, &field);
        }
}

static void track_take_counter(TrackInfo *info, TraceSummary *summary, const WireField *message) {
        static const char *const units[] = { NULL, "ns", NULL, "bytes" };
        WireReader reader;
        WireField field;

        info->is_counter = true;
        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 3 && field.value < ARRAY_SIZE(units) && !info->unit)
                        info->unit = units[field.value];
                else if (field.number == 6 && field.type == WIRE_BYTES)
                        info->unit = trace_state_field_name(summary, &field);
        }
}

static void track_take(TrackInfo *info, TraceSummary *summary, const WireField *field) {
        if (field->number == 1)
                info->uuid = field->value;
        else if (field->number == 5)
                info->parent = field->value;
        if (field->type != WIRE_BYTES)
                return;
        switch (field->number) {
        case 2:
        case 10: /* static_name */
                info->name = trace_state_field_name(summary, field);
                break;
        case 3:
                track_take_process(info, summary, field);
                break;
        case 4:
                track_take_thread(info, summary, field);
                break;
        case 8:
                track_take_counter(info, summary, field);
                break;
        }
}

/* Includes the names of the groups that it is in, which tell it from others: each service has its "CPU time". */
static const char *track_path(TraceSummary *summary, const TrackInfo *info) {
        const Track *parent = info->parent ? trace_state_track(summary, info->parent) : NULL;
        const char *name = info->name ? info->name : "(unnamed)";
        g_autofree char *path = NULL;

        if (!parent || !parent->group)
                return name;
        path = g_strdup_printf("%s/%s", parent->group, name);
        return trace_state_name(summary, path, strlen(path));
}

/* Neither the track nor any track above it belongs to a program, not even to one of which only the number is known. */
static bool track_is_of_machine(TraceSummary *summary, const TrackInfo *info) {
        const Track *parent = info->parent ? trace_state_track(summary, info->parent) : NULL;

        if (!info->parent && info->name && streq(info->name, TRACING_NAMELESS_TRACK))
                return false;
        return info->pid <= 0 && info->tid <= 0 &&
               (!info->parent || (parent && parent->is_of_machine));
}

static void summary_add_track(TraceSummary *summary, const TrackInfo *info) {
        const char *path = track_path(summary, info);
        Track *track = trace_state_track(summary, info->uuid);

        if (!track)
                return;
        track->is_of_machine = track_is_of_machine(summary, info);
        summary_add_process(summary, info->pid, info->process_name, NAME_RANK_DESCRIPTOR);
        summary_add_thread(summary, info->tid, info->pid, info->thread_name, NAME_RANK_DESCRIPTOR);
        if (info->tid > 0)
                track->thread = trace_state_thread(summary, info->tid);
        if (info->is_counter)
                track->counter = trace_state_counter(summary, path, info->unit);
        else if (info->name && info->pid <= 0 && info->tid <= 0)
                track->group = path;
}

void packet_track_descriptor(Packet *packet, const WireField *payload) {
        TrackInfo info = { 0 };
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0)
                track_take(&info, packet->summary, &field);
        summary_add_track(packet->summary, &info);
}

/*
 * Counters of the machine
 */

/* "MEMINFO_MEM_TOTAL" of /proc/meminfo is called "meminfo.mem_total". */
static const char *stat_name(TraceSummary *summary,
                             const ProtobufCEnumDescriptor *names,
                             const char *file,
                             uint64_t key) {
        const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(names, (int)key);
        g_autofree char *text = NULL;
        g_autofree char *lower = NULL;

        if (value)
                lower = g_ascii_strdown(value->name + strlen(file) + 1, -1);
        else
                lower = g_strdup_printf("%" G_GUINT64_FORMAT, key);
        text = g_strdup_printf("%s.%s", file, lower);
        return trace_state_name(summary, text, strlen(text));
}

static void add_stat(Packet *packet,
                     const WireField *field,
                     const ProtobufCEnumDescriptor *names,
                     const char *file,
                     const char *unit) {
        uint64_t numbers[3];
        TraceCounter *counter;

        trace_read_numbers(field, numbers, ARRAY_SIZE(numbers));
        counter = trace_state_counter(
                packet->summary, stat_name(packet->summary, names, file, numbers[1]), unit);
        if (counter)
                trace_counter_add(counter, (double)numbers[2]);
}

void packet_sys_stats(Packet *packet, const WireField *payload) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1 && field.type == WIRE_BYTES)
                        add_stat(packet,
                                 &field,
                                 &perfetto__protos__meminfo_counters__descriptor,
                                 "meminfo",
                                 "KiB");
                else if (field.number == 2 && field.type == WIRE_BYTES)
                        add_stat(packet,
                                 &field,
                                 &perfetto__protos__vmstat_counters__descriptor,
                                 "vmstat",
                                 NULL);
        }
}

/*
 * What the service says about itself
 */

void packet_trace_config(Packet *packet, const WireField *payload) {
        TraceSummary *summary = packet->summary;
        uint64_t numbers[9];

        if (summary->config || payload->n_bytes > TRACE_SUMMARY_CONFIG_MAX)
                return;
        summary->config =
                g_byte_array_append(g_byte_array_new(), payload->data, (guint)payload->n_bytes);
        trace_read_numbers(payload, numbers, ARRAY_SIZE(numbers));
        summary->streams_to_file = numbers[8] != 0; /* write_into_file */
}

static void system_take_utsname(TraceSummary *summary, const WireField *message) {
        TraceSystem *system = &summary->system;
        const char **const members[] = {
                NULL, &system->sysname, &system->version, &system->release, &system->machine,
        };
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0)
                if (field.type == WIRE_BYTES && field.number < ARRAY_SIZE(members) &&
                    members[field.number])
                        *members[field.number] = trace_state_field_name(summary, &field);
}

void packet_system_info(Packet *packet, const WireField *payload) {
        TraceSummary *summary = packet->summary;
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1 && field.type == WIRE_BYTES)
                        system_take_utsname(summary, &field);
                else if (field.number == 4 && field.type == WIRE_BYTES)
                        summary->system.service_version = trace_state_field_name(summary, &field);
                else if (field.number == 8)
                        summary->system.n_cpus = (uint32_t)field.value;
        }
}

void packet_trace_uuid(Packet *packet, const WireField *payload) {
        uint64_t numbers[3];

        trace_read_numbers(payload, numbers, ARRAY_SIZE(numbers));
        packet->summary->trace_uuid[0] = numbers[1];
        packet->summary->trace_uuid[1] = numbers[2];
}

static void take_away(TraceSummary *summary, const WireField *event) {
        uint64_t numbers[4];
        TraceAway away;

        if (summary->away->len == TRACE_NOTES_MAX)
                return;
        trace_read_numbers(event, numbers, ARRAY_SIZE(numbers));
        away = (TraceAway){ .from_ns = numbers[1], .until_ns = numbers[2], .n_lost = numbers[3] };
        g_array_append_val(summary->away, away);
}

/* All sources run from "all_data_sources_started" on; without it, from "tracing_started" on. */
void packet_service_event(Packet *packet, const WireField *payload) {
        TraceSummary *summary = packet->summary;
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1 || (field.number == 2 && summary->started_ns == 0))
                        summary->started_ns = packet->at_ns;
                else if (field.number == 5) /* tracing_disabled */
                        summary->stopped_ns = packet->at_ns;
                else if (field.number == 10) /* clone_started */
                        summary->is_clone = true;
                else if (field.number == 1900 && field.type == WIRE_BYTES) /* ours: service_away */
                        take_away(summary, &field);
        }
}

void packet_compressed(Packet *packet, const WireField *payload) {
        packet->summary->n_compressed++;
}
