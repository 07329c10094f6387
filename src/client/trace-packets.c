/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Descriptions in packets: of processes, tracks, counters of the machine, and of the service itself.
 */

#include <string.h>

#include "client/trace-state.h"
#include "shared/names.h"
#include "sys_stats_counters.pb-c.h"
#include "trace/trace-names.h"
#include "trace/trace-process-tree.h"
#include "trace/trace-service.h"
#include "trace/trace-sys-stats.h"
#include "trace/trace-track-descriptor.h"
#include "wire/stack-sample.h"

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

/* A text of a message, or NULL. */
static const char *optional_text(TraceSummary *summary, const WireField *field) {
        return field->type == WIRE_BYTES ? trace_state_field_name(summary, field) : NULL;
}

/* A later description replaces the whole of an earlier one. */
static void
process_set_units(TraceProcess *process, TraceSummary *summary, const TraceTreeProcess *tree) {
        process->unit = optional_text(summary, &tree->units[TRACE_PROCESS_UNIT]);
        process->user_unit = optional_text(summary, &tree->units[TRACE_PROCESS_USER_UNIT]);
        process->app_id = optional_text(summary, &tree->units[TRACE_PROCESS_APP]);
        process->container = optional_text(summary, &tree->units[TRACE_PROCESS_CONTAINER]);
}

static void tree_process(TraceSummary *summary, const WireField *message) {
        TraceTreeProcess tree;
        TraceProcess *process;
        const char *name = NULL;

        trace_tree_process_read(&tree, message);
        if (tree.n_arguments)
                name = tree.is_comm || tree.is_kthread
                               ? trace_state_field_name(summary, &tree.command)
                               : command_name(summary, &tree.command);
        process = summary_add_process(summary, tree.pid, name, NAME_RANK_PROCFS);
        if (process)
                process_set_units(process, summary, &tree);
}

static void tree_thread(TraceSummary *summary, const WireField *message) {
        TraceTreeThread thread;

        trace_tree_thread_read(&thread, message);
        summary_add_thread(summary,
                           thread.tid,
                           thread.tgid,
                           optional_text(summary, &thread.name),
                           NAME_RANK_PROCFS);
}

/* Stacks are read again if somebody wants them (stack-report.h). Only what was lost is noted here. */
void packet_perf_sample(Packet *packet, const WireField *payload) {
        uint64_t numbers[SAMPLE_FIELDS];

        trace_read_numbers(payload, numbers, SAMPLE_FIELDS);
        packet->summary->n_stack_records_lost += numbers[SAMPLE_RECORDS_LOST];
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
                if (field.number == TRACE_TREE_PROCESS && field.type == WIRE_BYTES)
                        tree_process(packet->summary, &field);
                else if (field.number == TRACE_TREE_THREAD && field.type == WIRE_BYTES)
                        tree_thread(packet->summary, &field);
        }
}

/*
 * Tracks
 */

/* Includes the names of the groups that it is in, which tell it from others: each service has its "CPU time". */
static const char *
track_path(TraceSummary *summary, const TraceTrackDescriptor *info, const char *name) {
        const Track *parent =
                info->parent_uuid ? trace_state_track(summary, info->parent_uuid) : NULL;
        g_autofree char *path = NULL;

        if (!name)
                name = "(unnamed)";
        if (!parent || !parent->group)
                return name;
        path = g_strdup_printf("%s/%s", parent->group, name);
        return trace_state_name(summary, path, strlen(path));
}

/* Neither the track nor any track above it belongs to a program, not even to one of which only the number is known. */
static bool
track_is_of_machine(TraceSummary *summary, const TraceTrackDescriptor *info, const char *name) {
        const Track *parent =
                info->parent_uuid ? trace_state_track(summary, info->parent_uuid) : NULL;

        if (!info->parent_uuid && name && streq(name, TRACING_NAMELESS_TRACK))
                return false;
        return info->pid <= 0 && info->tid <= 0 &&
               (!info->parent_uuid || (parent && parent->is_of_machine));
}

/* Returns NULL for plain numbers, which have no unit. */
static const char *track_unit(TraceSummary *summary, const TraceTrackDescriptor *info) {
        if (info->unit_name.type == WIRE_BYTES)
                return trace_state_field_name(summary, &info->unit_name);
        return info->unit == TRACE_UNIT_COUNT ? NULL : trace_unit_name(info->unit);
}

static void
track_name_owner(TraceSummary *summary, Track *track, const TraceTrackDescriptor *info) {
        const char *process_name = optional_text(summary, &info->process_name);

        if (!process_name && info->command.type == WIRE_BYTES)
                process_name = command_name(summary, &info->command);
        summary_add_process(summary, info->pid, process_name, NAME_RANK_DESCRIPTOR);
        summary_add_thread(summary,
                           info->tid,
                           info->pid,
                           optional_text(summary, &info->thread_name),
                           NAME_RANK_DESCRIPTOR);
        if (info->tid > 0)
                track->thread = trace_state_thread(summary, info->tid);
}

void packet_track_descriptor(Packet *packet, const WireField *payload) {
        TraceSummary *summary = packet->summary;
        const char *name, *path;
        TraceTrackDescriptor info;
        Track *track;

        trace_track_descriptor_read(&info, payload);
        name = optional_text(summary, &info.name);
        path = track_path(summary, &info, name);
        track = trace_state_track(summary, info.uuid);
        if (!track)
                return;
        track->is_of_machine = track_is_of_machine(summary, &info, name);
        track_name_owner(summary, track, &info);
        if (info.is_counter)
                track->counter = trace_state_counter(summary, path, track_unit(summary, &info));
        else if (name && info.pid <= 0 && info.tid <= 0)
                track->group = path;
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
        uint64_t numbers[_TRACE_SYS_KEYED];
        TraceCounter *counter;

        trace_read_numbers(field, numbers, ARRAY_SIZE(numbers));
        counter =
                trace_state_counter(packet->summary,
                                    stat_name(packet->summary, names, file, numbers[TRACE_SYS_KEY]),
                                    unit);
        if (counter)
                trace_counter_add(counter, (double)numbers[TRACE_SYS_VALUE]);
}

void packet_sys_stats(Packet *packet, const WireField *payload) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == TRACE_SYS_MEMINFO && field.type == WIRE_BYTES)
                        add_stat(packet,
                                 &field,
                                 &perfetto__protos__meminfo_counters__descriptor,
                                 "meminfo",
                                 "KiB");
                else if (field.number == TRACE_SYS_VMSTAT && field.type == WIRE_BYTES)
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
        TraceRecordedConfig config;

        if (summary->config || payload->n_bytes > TRACE_SUMMARY_CONFIG_MAX)
                return;
        summary->config =
                g_byte_array_append(g_byte_array_new(), payload->data, (guint)payload->n_bytes);
        trace_recorded_config_read(&config, payload);
        summary->streams_to_file = config.streams_to_file;
}

void packet_system_info(Packet *packet, const WireField *payload) {
        TraceSystem *system = &packet->summary->system;
        const char **const members[_TRACE_SYSTEM_FIELDS] = {
                [TRACE_SYSTEM_NAME] = &system->sysname,
                [TRACE_SYSTEM_VERSION] = &system->version,
                [TRACE_SYSTEM_RELEASE] = &system->release,
                [TRACE_SYSTEM_MACHINE] = &system->machine,
                [TRACE_SYSTEM_SERVICE_VERSION] = &system->service_version,
        };
        TraceSystemInfo info;

        trace_system_info_read(&info, payload);
        for (size_t i = 0; i < _TRACE_SYSTEM_FIELDS; i++)
                if (members[i] && info.fields[i].number)
                        *members[i] = trace_state_field_name(packet->summary, &info.fields[i]);
        if (info.fields[TRACE_SYSTEM_CPUS].number)
                system->n_cpus = (uint32_t)info.fields[TRACE_SYSTEM_CPUS].value;
}

void packet_trace_uuid(Packet *packet, const WireField *payload) {
        trace_uuid_read(packet->summary->trace_uuid, payload);
}

static void take_away(TraceSummary *summary, const TraceServiceEvent *event) {
        const TraceAway away = { .from_ns = event->away_from_ns,
                                 .until_ns = event->away_until_ns,
                                 .n_lost = event->n_lost };

        if (summary->away->len < TRACE_NOTES_MAX)
                g_array_append_val(summary->away, away);
}

/* All sources run from is_all_started on; without it, from is_start on. */
void packet_service_event(Packet *packet, const WireField *payload) {
        TraceSummary *summary = packet->summary;
        TraceServiceEvent event;

        trace_service_event_read(&event, payload);
        if (event.is_all_started || (event.is_start && summary->started_ns == 0))
                summary->started_ns = packet->at_ns;
        if (event.is_stop)
                summary->stopped_ns = packet->at_ns;
        if (event.is_clone)
                summary->is_clone = true;
        if (event.is_away)
                take_away(summary, &event);
}

void packet_compressed(Packet *packet, const WireField *payload) {
        packet->summary->n_compressed++;
}
