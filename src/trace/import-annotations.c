/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Arguments of track events, which may be nested lists and dictionaries
 */

#include <stdio.h>
#include <string.h>

#include "trace/import.h"

#define TRACK_EVENT_ANNOTATIONS      4
#define TRACK_EVENT_CORRELATION      52
#define TRACK_EVENT_CORRELATION_TEXT 53

/* DebugAnnotation. */
enum {
        ANNOTATION_NAME_IID = 1,
        ANNOTATION_BOOL = 2,
        ANNOTATION_UINT = 3,
        ANNOTATION_INT = 4,
        ANNOTATION_DOUBLE = 5,
        ANNOTATION_STRING = 6,
        ANNOTATION_POINTER = 7,
        ANNOTATION_NESTED = 8,
        ANNOTATION_JSON = 9,
        ANNOTATION_NAME = 10,
        ANNOTATION_DICT = 11,
        ANNOTATION_ARRAY = 12,
        ANNOTATION_STRING_IID = 17,
};

#define ANNOTATION_DEPTH_MAX 16
#define KEY_BYTES_MAX        1024

typedef struct Key {
        char flat[KEY_BYTES_MAX], full[KEY_BYTES_MAX];
        size_t n_flat, n_full;
} Key;

static void key_append(char *text, size_t *n, const char *data, size_t n_data) {
        n_data = MIN(n_data, KEY_BYTES_MAX - *n);
        memcpy(text + *n, data, n_data);
        *n += n_data;
}

/* Replaces those characters of a name that a key would use to mark a member or an item of a list. */
static void replace_separators(char *name, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (name[i] == '.' || name[i] == '[' || name[i] == ']')
                        name[i] = '_';
}

static void key_append_name(Key *key, const char *name, size_t n) {
        size_t n_flat, n_full;

        key_append(key->flat, &key->n_flat, ".", 1);
        key_append(key->full, &key->n_full, ".", 1);
        n_flat = key->n_flat;
        n_full = key->n_full;
        key_append(key->flat, &key->n_flat, name, n);
        key_append(key->full, &key->n_full, name, n);
        replace_separators(key->flat + n_flat, key->n_flat - n_flat);
        replace_separators(key->full + n_full, key->n_full - n_full);
}

static void annotation_name(TraceImport *import,
                            const TraceSequence *sequence,
                            const WireField *annotation,
                            Key *key) {
        WireReader reader;
        WireField field;
        uint32_t name;

        wire_reader_init_field(&reader, annotation);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == ANNOTATION_NAME && field.type == WIRE_BYTES) {
                        key_append_name(key, (const char *)field.data, field.n_bytes);
                        return;
                }
                if (field.number == ANNOTATION_NAME_IID &&
                    trace_sequence_find(sequence, TRACE_INTERNED_ARG_NAME, field.value, &name)) {
                        key_append_name(key,
                                        trace_pool_text(&import->store->pool, name),
                                        trace_pool_length(&import->store->pool, name));
                        return;
                }
        }
}

/* Returns true if the value is not itself a list of others, and sets *ret. */
static bool annotation_value(TraceImport *import,
                             const TraceSequence *sequence,
                             const WireField *field,
                             TraceArg *arg) {
        static const char *const types[] = {
                [ANNOTATION_BOOL] = "bool",     [ANNOTATION_UINT] = "uint",
                [ANNOTATION_INT] = "int",       [ANNOTATION_DOUBLE] = "real",
                [ANNOTATION_STRING] = "string", [ANNOTATION_POINTER] = "pointer",
                [ANNOTATION_JSON] = "json",     [ANNOTATION_STRING_IID] = "string",
        };

        if (field->number >= ARRAY_SIZE(types) || !types[field->number])
                return false;
        *arg = (TraceArg){ .type = trace_pool_add_text(&import->store->pool, types[field->number]),
                           .number = TRACE_NO_TIME };
        if (field->number == ANNOTATION_STRING_IID)
                trace_sequence_find(
                        sequence, TRACE_INTERNED_ARG_STRING, field->value, &arg->string);
        else if (field->type == WIRE_BYTES)
                arg->string = import_text(import, field);
        else if (field->number == ANNOTATION_DOUBLE)
                memcpy(&arg->real, &field->value, sizeof(arg->real));
        else
                arg->number = (int64_t)field->value;
        return true;
}

static void add_arg(TraceImport *import, const Key *key, TraceArg *arg) {
        arg->flat_key = trace_pool_add(&import->store->pool, key->flat, key->n_flat);
        arg->key = trace_pool_add(&import->store->pool, key->full, key->n_full);
        trace_args_add(&import->args, arg);
}

static void key_append_index(Key *key, unsigned i) {
        char index[16];
        int n = snprintf(index, sizeof(index), "[%u]", i);

        key_append(key->full, &key->n_full, index, (size_t)n);
}

/*
 * The older form of nested values: the names of the members in one list, their values in another
 */

/* perfetto.protos.DebugAnnotation.NestedValue */
enum {
        NESTED_TYPE = 1,
        NESTED_NAME = 2,
        NESTED_MEMBER = 3,
        NESTED_ITEM = 4,
        NESTED_INT = 5,
        NESTED_DOUBLE = 6,
        NESTED_BOOL = 7,
        NESTED_STRING = 8,
};

enum { NESTED_IS_VALUE, NESTED_IS_DICT, NESTED_IS_ARRAY };

static bool next_field(WireReader *reader, uint32_t number, WireField *ret) {
        while (wire_read(reader, ret) > 0)
                if (ret->number == number && ret->type == WIRE_BYTES)
                        return true;
        return false;
}

static void nested_value(TraceImport *import, const WireField *value, const Key *key) {
        static const char *const types[] = { [NESTED_INT] = "int",
                                             [NESTED_DOUBLE] = "real",
                                             [NESTED_BOOL] = "bool",
                                             [NESTED_STRING] = "string" };
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, value);
        while (wire_read(&reader, &field) > 0) {
                TraceArg arg = { .number = TRACE_NO_TIME };

                if (field.number >= ARRAY_SIZE(types) || !types[field.number] ||
                    (field.type == WIRE_BYTES) != (field.number == NESTED_STRING))
                        continue;
                arg.type = trace_pool_add_text(&import->store->pool, types[field.number]);
                if (field.number == NESTED_STRING)
                        arg.string = import_text(import, &field);
                else if (field.number == NESTED_DOUBLE)
                        memcpy(&arg.real, &field.value, sizeof(arg.real));
                else
                        arg.number = (int64_t)field.value;
                add_arg(import, key, &arg);
        }
}

static void nested_take(TraceImport *import, const WireField *value, Key *key, unsigned depth) {
        size_t n_flat = key->n_flat, n_full = key->n_full;
        uint64_t numbers[2];
        unsigned n_items = 0;
        WireReader names, members;
        WireField name, member;

        trace_read_numbers(value, numbers, ARRAY_SIZE(numbers));
        if (numbers[NESTED_TYPE] == NESTED_IS_VALUE)
                nested_value(import, value, key);
        if (numbers[NESTED_TYPE] == NESTED_IS_VALUE || depth == ANNOTATION_DEPTH_MAX)
                return;
        wire_reader_init_field(&names, value);
        wire_reader_init_field(&members, value);
        while (numbers[NESTED_TYPE] == NESTED_IS_ARRAY
                       ? next_field(&members, NESTED_ITEM, &member)
                       : next_field(&names, NESTED_NAME, &name) &&
                                 next_field(&members, NESTED_MEMBER, &member)) {
                if (numbers[NESTED_TYPE] == NESTED_IS_ARRAY)
                        key_append_index(key, n_items++);
                else
                        key_append_name(key, (const char *)name.data, name.n_bytes);
                nested_take(import, &member, key, depth + 1);
                key->n_flat = n_flat;
                key->n_full = n_full;
        }
}

/*
 * The newer form
 */

static void annotation_take(TraceImport *import,
                            const TraceSequence *sequence,
                            const WireField *annotation,
                            Key *key,
                            unsigned depth) {
        unsigned n_items = 0;
        WireReader reader;
        WireField field;
        TraceArg arg;

        wire_reader_init_field(&reader, annotation);
        while (wire_read(&reader, &field) > 0) {
                size_t n_flat = key->n_flat, n_full = key->n_full;

                if (annotation_value(import, sequence, &field, &arg)) {
                        add_arg(import, key, &arg);
                        continue;
                }
                if (field.type != WIRE_BYTES || depth == ANNOTATION_DEPTH_MAX)
                        continue;
                if (field.number == ANNOTATION_DICT) {
                        annotation_name(import, sequence, &field, key);
                        annotation_take(import, sequence, &field, key, depth + 1);
                } else if (field.number == ANNOTATION_ARRAY) {
                        key_append_index(key, n_items++);
                        annotation_take(import, sequence, &field, key, depth + 1);
                } else if (field.number == ANNOTATION_NESTED) {
                        nested_take(import, &field, key, depth + 1);
                }
                key->n_flat = n_flat;
                key->n_full = n_full;
        }
}

/* Ids that link slices of several threads. */
static void add_correlation(TraceImport *import, const WireField *field) {
        TracePool *pool = &import->store->pool;
        uint32_t text = 0;

        if (field->number == TRACK_EVENT_CORRELATION && field->type == WIRE_VARINT)
                text = trace_pool_add_format(pool, "tp:#%llu", (unsigned long long)field->value);
        else if (field->number == TRACK_EVENT_CORRELATION_TEXT && field->type == WIRE_BYTES)
                text = import_text(import, field);
        if (text)
                trace_args_add_string(&import->args, import->store, "correlation_id", text);
}

uint32_t
import_event_args(TraceImport *import, const TraceSequence *sequence, const WireField *event) {
        WireReader reader;
        WireField field;

        if (!import_wants(import, TRACE_PART_ARGS))
                return TRACE_NONE;
        trace_args_clear(&import->args);
        wire_reader_init_field(&reader, event);
        while (wire_read(&reader, &field) > 0) {
                Key key = { .flat = "debug", .full = "debug", .n_flat = 5, .n_full = 5 };

                if (field.number != TRACK_EVENT_ANNOTATIONS || field.type != WIRE_BYTES) {
                        add_correlation(import, &field);
                        continue;
                }
                annotation_name(import, sequence, &field, &key);
                annotation_take(import, sequence, &field, &key, 0);
        }
        return trace_arg_sets_store(&import->sets, import->store, &import->args);
}
