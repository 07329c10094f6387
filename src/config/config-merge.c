/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Works on decoded copies of both configs: values taken from the second one are moved out of it. There are no oneofs in
 * our configs.
 */

#include <errno.h>
#include <stdbool.h>

#include "config/config-merge.h"

typedef Perfetto__Protos__TraceConfig TraceConfig;
typedef Perfetto__Protos__TraceConfig__BufferConfig BufferConfig;
typedef Perfetto__Protos__TraceConfig__DataSource DataSource;
typedef Perfetto__Protos__DataSourceConfig SourceConfig;
typedef Perfetto__Protos__SysStatsConfig SysStatsConfig;

static void trace_config_freep(TraceConfig **config) {
        if (*config)
                perfetto__protos__trace_config__free_unpacked(*config, NULL);
}

static void *member(const ProtobufCMessage *message, unsigned offset) {
        return (char *)(uintptr_t)message + offset;
}

static bool ends_with(const char *text, const char *end) {
        size_t n = strlen(text), n_end = strlen(end);

        return n >= n_end && streq(text + n - n_end, end);
}

/* The shorter of two periods: sampling more often also serves the other config. */
static bool is_period(const ProtobufCFieldDescriptor *field) {
        return ends_with(field->name, "period_ms") || ends_with(field->name, "poll_ms");
}

static size_t type_bytes(ProtobufCType type) {
        switch (type) {
        case PROTOBUF_C_TYPE_INT64:
        case PROTOBUF_C_TYPE_SINT64:
        case PROTOBUF_C_TYPE_SFIXED64:
        case PROTOBUF_C_TYPE_UINT64:
        case PROTOBUF_C_TYPE_FIXED64:
                return sizeof(uint64_t);
        case PROTOBUF_C_TYPE_DOUBLE:
                return sizeof(double);
        case PROTOBUF_C_TYPE_BOOL:
                return sizeof(protobuf_c_boolean);
        case PROTOBUF_C_TYPE_STRING:
        case PROTOBUF_C_TYPE_MESSAGE:
                return sizeof(void *);
        case PROTOBUF_C_TYPE_BYTES:
                return sizeof(ProtobufCBinaryData);
        default:
                return sizeof(uint32_t); /* 32 bit numbers, float, enum */
        }
}

/*
 * Lists
 */

static bool values_are_equal(ProtobufCType type, const void *a, const void *b) {
        if (type == PROTOBUF_C_TYPE_STRING)
                return streq(*(char *const *)a, *(char *const *)b);
        if (type == PROTOBUF_C_TYPE_MESSAGE || type == PROTOBUF_C_TYPE_BYTES)
                return false;
        return memcmp(a, b, type_bytes(type)) == 0;
}

static bool list_has(ProtobufCType type, const char *list, size_t n, const void *value) {
        for (size_t i = 0; i < n; i++)
                if (values_are_equal(type, list + i * type_bytes(type), value))
                        return true;
        return false;
}

static int
unite_lists(const ProtobufCFieldDescriptor *field, ProtobufCMessage *to, ProtobufCMessage *from) {
        size_t n_bytes = type_bytes(field->type);
        size_t *n_to = member(to, field->quantifier_offset);
        size_t *n_from = member(from, field->quantifier_offset);
        char **list_to = member(to, field->offset), **list_from = member(from, field->offset);
        char *grown;

        if (*n_from == 0)
                return 0;
        grown = reallocarray(*list_to, *n_to + *n_from, n_bytes);
        if (!grown)
                return -ENOMEM;
        *list_to = grown;
        for (size_t i = 0; i < *n_from; i++) {
                void *value = *list_from + i * n_bytes;

                if (list_has(field->type, grown, *n_to, value))
                        continue;
                memcpy(grown + (*n_to)++ * n_bytes, value, n_bytes);
                memset(value, 0, n_bytes); /* moved */
        }
        return 0;
}

/*
 * Fields
 */

static int merge_messages(ProtobufCMessage *to, ProtobufCMessage *from);

static void
move_value(const ProtobufCFieldDescriptor *field, ProtobufCMessage *to, ProtobufCMessage *from) {
        size_t n_bytes = type_bytes(field->type);

        memcpy(member(to, field->offset), member(from, field->offset), n_bytes);
        memset(member(from, field->offset), 0, n_bytes);
        if (field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE) {
                *(protobuf_c_boolean *)member(to, field->quantifier_offset) = true;
                *(protobuf_c_boolean *)member(from, field->quantifier_offset) = false;
        }
}

static bool is_set(const ProtobufCFieldDescriptor *field, const ProtobufCMessage *message) {
        const void *value = member(message, field->offset);

        if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE)
                return *(void *const *)value && *(void *const *)value != field->default_value;
        return *(const protobuf_c_boolean *)member(message, field->quantifier_offset);
}

static void
merge_uint32(const ProtobufCFieldDescriptor *field, uint32_t *to, const uint32_t *from) {
        if (is_period(field) && *to && *from)
                *to = MIN(*to, *from);
        else
                *to = MAX(*to, *from);
}

/* Both configs have the field: keep the first one's value, unless there is a rule. */
static int
merge_values(const ProtobufCFieldDescriptor *field, ProtobufCMessage *to, ProtobufCMessage *from) {
        void *a = member(to, field->offset), *b = member(from, field->offset);

        if (field->type == PROTOBUF_C_TYPE_MESSAGE)
                return merge_messages(*(ProtobufCMessage **)a, *(ProtobufCMessage **)b);
        if (field->type == PROTOBUF_C_TYPE_BOOL)
                *(protobuf_c_boolean *)a |= *(protobuf_c_boolean *)b;
        else if (field->type == PROTOBUF_C_TYPE_UINT32)
                merge_uint32(field, a, b);
        return 0;
}

/* Of fields of which only one may be set, the first config's stays. */
static int
merge_choice(const ProtobufCFieldDescriptor *field, ProtobufCMessage *to, ProtobufCMessage *from) {
        uint32_t *chosen_to = member(to, field->quantifier_offset),
                 *chosen_from = member(from, field->quantifier_offset);

        if (*chosen_from != field->id)
                return 0;
        if (*chosen_to == field->id && field->type == PROTOBUF_C_TYPE_MESSAGE)
                return merge_values(field, to, from);
        if (*chosen_to != 0)
                return 0;
        memcpy(member(to, field->offset), member(from, field->offset), type_bytes(field->type));
        memset(member(from, field->offset), 0, type_bytes(field->type));
        *chosen_to = field->id;
        *chosen_from = 0;
        return 0;
}

static int
merge_field(const ProtobufCFieldDescriptor *field, ProtobufCMessage *to, ProtobufCMessage *from) {
        if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
                return merge_choice(field, to, from);
        if (field->label == PROTOBUF_C_LABEL_REPEATED)
                return unite_lists(field, to, from);
        if (!is_set(field, from))
                return 0;
        if (is_set(field, to))
                return merge_values(field, to, from);
        move_value(field, to, from);
        return 0;
}

/* Keeps the fields that only newer versions know. */
static int move_unknown_fields(ProtobufCMessage *to, ProtobufCMessage *from) {
        ProtobufCMessageUnknownField *grown;

        if (from->n_unknown_fields == 0)
                return 0;
        grown = reallocarray(
                to->unknown_fields, to->n_unknown_fields + from->n_unknown_fields, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        memcpy(grown + to->n_unknown_fields,
               from->unknown_fields,
               from->n_unknown_fields * sizeof(*grown));
        to->unknown_fields = grown;
        to->n_unknown_fields += from->n_unknown_fields;
        from->n_unknown_fields = 0;
        return 0;
}

/*
 * Lists that restrict: if one is missing, everything is wanted
 */

static void widen(size_t *n_a, size_t *n_b, bool a_wants, bool b_wants) {
        if ((a_wants && *n_a == 0) || (b_wants && *n_b == 0))
                *n_a = *n_b = 0;
}

static void widen_sys_stats(SysStatsConfig *a, SysStatsConfig *b) {
        widen(&a->n_meminfo_counters,
              &b->n_meminfo_counters,
              a->meminfo_period_ms,
              b->meminfo_period_ms);
        widen(&a->n_vmstat_counters,
              &b->n_vmstat_counters,
              a->vmstat_period_ms,
              b->vmstat_period_ms);
        widen(&a->n_stat_counters, &b->n_stat_counters, a->stat_period_ms, b->stat_period_ms);
}

static int merge_messages(ProtobufCMessage *to, ProtobufCMessage *from) {
        const ProtobufCMessageDescriptor *type = to->descriptor;
        int r = 0;

        if (type == &perfetto__protos__sys_stats_config__descriptor)
                widen_sys_stats((SysStatsConfig *)to, (SysStatsConfig *)from);
        for (unsigned i = 0; r == 0 && i < type->n_fields; i++)
                r = merge_field(&type->fields[i], to, from);
        return r == 0 ? move_unknown_fields(to, from) : r;
}

/*
 * Buffers and data sources
 */

static bool same_name(const char *a, const char *b) {
        return a && b && *a && streq(a, b);
}

static int list_append(void *list, size_t *n, void *item) {
        void ***items = list;
        void **grown = reallocarray(*items, *n + 1, sizeof(void *));

        if (!grown)
                return -ENOMEM;
        grown[(*n)++] = item;
        *items = grown;
        return 0;
}

/* The new index of the other config's i-th buffer, which is the first config's if both name it. */
static int merge_buffer(TraceConfig *to, BufferConfig **buffer, uint32_t *ret_index) {
        for (size_t i = 0; i < to->n_buffers; i++) {
                if (!same_name(to->buffers[i]->name, (*buffer)->name))
                        continue;
                *ret_index = (uint32_t)i;
                if (__builtin_add_overflow(
                            to->buffers[i]->size_kb, (*buffer)->size_kb, &to->buffers[i]->size_kb))
                        to->buffers[i]->size_kb = UINT32_MAX;
                to->buffers[i]->has_size_kb = true;
                return 0;
        }
        *ret_index = (uint32_t)to->n_buffers;
        if (list_append(&to->buffers, &to->n_buffers, *buffer) < 0)
                return -ENOMEM;
        *buffer = NULL;
        return 0;
}

/* A data source that is limited to certain producers is not merged. */
static bool is_for_all(const DataSource *source) {
        return source->config && source->config->name && source->n_producer_name_filter == 0 &&
               source->n_producer_name_regex_filter == 0 && source->n_machine_name_filter == 0;
}

static const Perfetto__Protos__PerfEvents__Timebase *timebase_of(const SourceConfig *config) {
        return config->perf_event_config ? config->perf_event_config->timebase : NULL;
}

static bool is_off_cpu(const SourceConfig *config) {
        return config->perf_event_config && config->perf_event_config->off_cpu;
}

/* Call stacks at different events are different data: one cannot be had for the other. */
static bool has_same_event(const SourceConfig *a, const SourceConfig *b) {
        static const Perfetto__Protos__PerfEvents__Timebase none =
                PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__INIT;
        const Perfetto__Protos__PerfEvents__Timebase *x = timebase_of(a) ?: &none,
                                                     *y = timebase_of(b) ?: &none;

        if (is_off_cpu(a) != is_off_cpu(b))
                return false;
        if (x->event_case != y->event_case)
                return !timebase_of(a) || !timebase_of(b);
        if (x->event_case == PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__EVENT_TRACEPOINT)
                return same_name(x->tracepoint->name, y->tracepoint->name);
        if (x->event_case == PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__EVENT_COUNTER)
                return x->counter == y->counter;
        return true;
}

static SourceConfig *find_alike(const TraceConfig *config, const DataSource *source) {
        if (!is_for_all(source))
                return NULL;
        for (size_t i = 0; i < config->n_data_sources; i++)
                if (is_for_all(config->data_sources[i]) &&
                    same_name(config->data_sources[i]->config->name, source->config->name) &&
                    has_same_event(config->data_sources[i]->config, source->config))
                        return config->data_sources[i]->config;
        return NULL;
}

static void free_strings(char **strings, size_t *n) {
        while (*n > 0)
                free(strings[--*n]);
}

/* Only categories that both configs disable stay disabled. */
static void intersect(char **list, size_t *n, char *const *other, size_t n_other) {
        size_t n_kept = 0;

        for (size_t i = 0; i < *n; i++) {
                if (list_has(PROTOBUF_C_TYPE_STRING, (const char *)other, n_other, &list[i]))
                        list[n_kept++] = list[i];
                else
                        free(list[i]);
        }
        *n = n_kept;
}

/* Without rules all categories are enabled, and so is a category that no rule matches. */
static void widen_categories(SourceConfig *to, SourceConfig *from) {
        Perfetto__Protos__TrackEventConfig *a = to->track_event_config,
                                           *b = from->track_event_config;

        if (a && b) {
                intersect(a->disabled_categories,
                          &a->n_disabled_categories,
                          b->disabled_categories,
                          b->n_disabled_categories);
                free_strings(b->disabled_categories, &b->n_disabled_categories);
                return;
        }
        if (a)
                perfetto__protos__track_event_config__free_unpacked(a, NULL);
        if (b)
                perfetto__protos__track_event_config__free_unpacked(b, NULL);
        to->track_event_config = from->track_event_config = NULL;
}

static int merge_source(TraceConfig *to, DataSource **source, const uint32_t *buffers, size_t n) {
        SourceConfig *config = (*source)->config, *alike = find_alike(to, *source);
        uint32_t target = config ? config->target_buffer : 0;

        if (alike) {
                widen_categories(alike, config);
                config->has_target_buffer = false;
                free(config->target_buffer_name);
                config->target_buffer_name = NULL;
                return merge_messages(&alike->base, &config->base);
        }
        /* A name still says which one; without either it is the first. */
        if (config && target < n && (config->has_target_buffer || !config->target_buffer_name)) {
                config->target_buffer = buffers[target];
                config->has_target_buffer = true;
        }
        if (list_append(&to->data_sources, &to->n_data_sources, *source) < 0)
                return -ENOMEM;
        *source = NULL;
        return 0;
}

static int merge_buffers_and_sources(TraceConfig *to, TraceConfig *from) {
        _cleanup_(freep) uint32_t *buffers = calloc(from->n_buffers + 1, sizeof(*buffers));
        int r = buffers ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < from->n_buffers; i++)
                r = merge_buffer(to, &from->buffers[i], &buffers[i]);
        for (size_t i = 0; r == 0 && i < from->n_data_sources; i++)
                r = merge_source(to, &from->data_sources[i], buffers, from->n_buffers);
        return r;
}

/* The two lists have been merged by hand: the generic merge must not see the rest. */
static int merge_rest(TraceConfig *to, TraceConfig *from) {
        size_t n_buffers = from->n_buffers, n_sources = from->n_data_sources;
        int r;

        from->n_buffers = from->n_data_sources = 0;
        r = merge_messages(&to->base, &from->base);
        from->n_buffers = n_buffers;
        from->n_data_sources = n_sources;
        return r;
}

int config_merge(Config **config, const Config *other) {
        _cleanup_(trace_config_freep) TraceConfig *to =
                perfetto__protos__trace_config__unpack(NULL, (*config)->n_bytes, (*config)->bytes);
        _cleanup_(trace_config_freep) TraceConfig *from =
                perfetto__protos__trace_config__unpack(NULL, other->n_bytes, other->bytes);
        Config *merged;
        int r;

        if (!to || !from)
                return -ENOMEM;
        r = merge_buffers_and_sources(to, from);
        if (r == 0)
                r = merge_rest(to, from);
        if (r == 0)
                r = config_new_from_message(&merged, to);
        if (r < 0)
                return r;
        config_free(*config);
        *config = merged;
        return 0;
}
