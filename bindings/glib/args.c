/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The arguments of an event, gathered by one call for each, as introspection has no varargs. */

#include <string.h>

#include "private.h"

/* Names and texts are copied into `text`, which never moves: the arguments point into it. */
struct _DtGlibArgs {
        gatomicrefcount n_refs;
        gsize n_args;
        gsize n_text;
        dt_arg args[DT_GLIB_ARGS_MAX];
        char text[DT_GLIB_ARGS_TEXT_MAX];
};

G_DEFINE_BOXED_TYPE(DtGlibArgs, dt_glib_args, dt_glib_args_ref, dt_glib_args_unref)

/**
 * dt_glib_args_new: (constructor)
 *
 * Makes an empty list of arguments, for one event or several. One thread at a time may add to it.
 *
 * Returns: (transfer full): the list
 */
DtGlibArgs *dt_glib_args_new(void) {
        DtGlibArgs *args = g_new(DtGlibArgs, 1);

        g_atomic_ref_count_init(&args->n_refs);
        args->n_args = args->n_text = 0;
        return args;
}

/**
 * dt_glib_args_ref:
 * @args: a list
 *
 * Takes a reference.
 *
 * Returns: (transfer full): @args
 */
DtGlibArgs *dt_glib_args_ref(DtGlibArgs *args) {
        g_atomic_ref_count_inc(&args->n_refs);
        return args;
}

/**
 * dt_glib_args_unref:
 * @args: (transfer full): a list
 *
 * Gives a reference back; the last one frees the list.
 */
void dt_glib_args_unref(DtGlibArgs *args) {
        if (g_atomic_ref_count_dec(&args->n_refs))
                g_free(args);
}

const dt_arg *args_list(const DtGlibArgs *args, gsize *ret_n) {
        *ret_n = args ? args->n_args : 0;
        return args ? args->args : NULL;
}

/* Whether `n_args` more and copies of `n_text` bytes fit. */
static gboolean has_room(const DtGlibArgs *args, gsize n_args, gsize n_text) {
        return n_args <= DT_GLIB_ARGS_MAX - args->n_args &&
               n_text <= DT_GLIB_ARGS_TEXT_MAX - args->n_text;
}

static gsize text_size(const char *text) {
        return text ? strlen(text) + 1 : 0;
}

static const char *copy_text(DtGlibArgs *args, const char *text) {
        char *copy = args->text + args->n_text;

        if (!text)
                return NULL;
        memcpy(copy, text, text_size(text));
        args->n_text += text_size(text);
        return copy;
}

/* `arg` has the caller's name; a text is given beside it, as not every type has one. */
static DtGlibArgs *add(DtGlibArgs *args, dt_arg arg, const char *text) {
        if (!has_room(args, 1, text_size(arg.name) + text_size(text)))
                return args;
        arg.name = copy_text(args, arg.name);
        if (text)
                arg.value.as_string = copy_text(args, text);
        args->args[args->n_args++] = arg;
        return args;
}

/**
 * dt_glib_args_add_int:
 * @args: a list
 * @name: the argument's name
 * @value: its value
 *
 * Adds an argument. What is more than %DT_GLIB_ARGS_MAX or %DT_GLIB_ARGS_TEXT_MAX is left out.
 *
 * Returns: (transfer none): @args, for the next one
 */
DtGlibArgs *dt_glib_args_add_int(DtGlibArgs *args, const char *name, gint64 value) {
        return add(args, dt_arg_int(name, value), NULL);
}

/**
 * dt_glib_args_add_uint:
 * @args: a list
 * @name: the argument's name
 * @value: its value
 *
 * Adds an argument without a sign, see dt_glib_args_add_int().
 *
 * Returns: (transfer none): @args, for the next one
 */
DtGlibArgs *dt_glib_args_add_uint(DtGlibArgs *args, const char *name, guint64 value) {
        return add(args, dt_arg_uint(DT_ARG_UINT, name, value), NULL);
}

/**
 * dt_glib_args_add_double:
 * @args: a list
 * @name: the argument's name
 * @value: its value
 *
 * Adds an argument, see dt_glib_args_add_int().
 *
 * Returns: (transfer none): @args, for the next one
 */
DtGlibArgs *dt_glib_args_add_double(DtGlibArgs *args, const char *name, double value) {
        return add(args, dt_arg_double(name, value), NULL);
}

/**
 * dt_glib_args_add_boolean:
 * @args: a list
 * @name: the argument's name
 * @value: its value
 *
 * Adds an argument, see dt_glib_args_add_int().
 *
 * Returns: (transfer none): @args, for the next one
 */
DtGlibArgs *dt_glib_args_add_boolean(DtGlibArgs *args, const char *name, gboolean value) {
        return add(args, dt_arg_uint(DT_ARG_BOOL, name, value ? 1 : 0), NULL);
}

/**
 * dt_glib_args_add_string:
 * @args: a list
 * @name: the argument's name
 * @value: (nullable): its value
 *
 * Adds an argument, see dt_glib_args_add_int().
 *
 * Returns: (transfer none): @args, for the next one
 */
DtGlibArgs *dt_glib_args_add_string(DtGlibArgs *args, const char *name, const char *value) {
        return add(args, dt_arg_string(name, value), value);
}

/* What has no type of arguments is printed. */
static void add_printed(DtGlibArgs *args, const char *name, GVariant *value) {
        g_autofree char *text = g_variant_print(value, FALSE);

        dt_glib_args_add_string(args, name, text);
}

static void add_value(DtGlibArgs *args, const char *name, GVariant *value, unsigned depth);

static void add_entry(DtGlibArgs *args, GVariant *entry, unsigned depth) {
        g_autoptr(GVariant) key = g_variant_get_child_value(entry, 0);
        g_autoptr(GVariant) value = g_variant_get_child_value(entry, 1);
        g_autofree char *printed = NULL;

        if (!g_variant_is_of_type(key, G_VARIANT_TYPE_STRING))
                printed = g_variant_print(key, FALSE);
        add_value(args, printed ? printed : g_variant_get_string(key, NULL), value, depth);
}

/* The end has its place kept, so that what is opened is closed. */
static void add_container(DtGlibArgs *args, const char *name, GVariant *value, unsigned depth) {
        const gboolean is_dict = g_variant_is_of_type(value, G_VARIANT_TYPE_DICTIONARY);
        const gsize n = g_variant_n_children(value);

        if (depth >= DT_GLIB_VARIANT_DEPTH_MAX || !has_room(args, 2 + depth, text_size(name)))
                return;
        add(args, dt_arg_text(is_dict ? DT_ARG_DICT : DT_ARG_ARRAY, name, NULL), NULL);
        for (gsize i = 0; i < n && has_room(args, 2 + depth, 0); i++) {
                g_autoptr(GVariant) child = g_variant_get_child_value(value, i);

                if (is_dict)
                        add_entry(args, child, depth + 1);
                else
                        add_value(args, NULL, child, depth + 1);
        }
        add(args, DT_CLOSE, NULL);
}

static void add_number(DtGlibArgs *args, const char *name, GVariant *value) {
        switch (g_variant_classify(value)) {
        case G_VARIANT_CLASS_BYTE:
                dt_glib_args_add_uint(args, name, g_variant_get_byte(value));
                break;
        case G_VARIANT_CLASS_INT16:
                dt_glib_args_add_int(args, name, g_variant_get_int16(value));
                break;
        case G_VARIANT_CLASS_UINT16:
                dt_glib_args_add_uint(args, name, g_variant_get_uint16(value));
                break;
        case G_VARIANT_CLASS_INT32:
                dt_glib_args_add_int(args, name, g_variant_get_int32(value));
                break;
        case G_VARIANT_CLASS_UINT32:
                dt_glib_args_add_uint(args, name, g_variant_get_uint32(value));
                break;
        case G_VARIANT_CLASS_INT64:
                dt_glib_args_add_int(args, name, g_variant_get_int64(value));
                break;
        case G_VARIANT_CLASS_UINT64:
                dt_glib_args_add_uint(args, name, g_variant_get_uint64(value));
                break;
        case G_VARIANT_CLASS_DOUBLE:
                dt_glib_args_add_double(args, name, g_variant_get_double(value));
                break;
        default:
                add_printed(args, name, value);
        }
}

static void add_value(DtGlibArgs *args, const char *name, GVariant *value, unsigned depth) {
        if (!has_room(args, 1 + depth, 0))
                return;
        if (g_variant_is_of_type(value, G_VARIANT_TYPE_VARIANT)) {
                g_autoptr(GVariant) inner = g_variant_get_variant(value);

                if (depth < DT_GLIB_VARIANT_DEPTH_MAX)
                        add_value(args, name, inner, depth + 1);
        } else if (g_variant_is_of_type(value, G_VARIANT_TYPE_BOOLEAN)) {
                dt_glib_args_add_boolean(args, name, g_variant_get_boolean(value));
        } else if (g_variant_is_of_type(value, G_VARIANT_TYPE_STRING) ||
                   g_variant_is_of_type(value, G_VARIANT_TYPE_OBJECT_PATH) ||
                   g_variant_is_of_type(value, G_VARIANT_TYPE_SIGNATURE)) {
                dt_glib_args_add_string(args, name, g_variant_get_string(value, NULL));
        } else if (g_variant_is_container(value) &&
                   !g_variant_is_of_type(value, G_VARIANT_TYPE_MAYBE)) {
                add_container(args, name, value, depth);
        } else {
                add_number(args, name, value);
        }
}

/**
 * dt_glib_args_add_variant:
 * @args: a list
 * @name: the argument's name
 * @value: its value
 *
 * Adds an argument that may hold others: a dictionary becomes a dictionary, arrays and tuples become arrays, numbers,
 * booleans and texts stay what they are, and anything else is printed. What is nested deeper than
 * %DT_GLIB_VARIANT_DEPTH_MAX is left out, variants within variants included. A floating @value is consumed.
 *
 * Returns: (transfer none): @args, for the next one
 */
DtGlibArgs *dt_glib_args_add_variant(DtGlibArgs *args, const char *name, GVariant *value) {
        g_autoptr(GVariant) owned = g_variant_ref_sink(value);

        add_value(args, name, owned, 0);
        return args;
}

/**
 * dt_glib_args_add_flow:
 * @args: a list
 * @id: of dt_glib_flow_id(), or received from another program
 *
 * Connects the event by an arrow with all others that have the same @id, in the order of time.
 *
 * Returns: (transfer none): @args, for the next one
 */
DtGlibArgs *dt_glib_args_add_flow(DtGlibArgs *args, guint64 id) {
        return add(args, DT_FLOW(id), NULL);
}

/**
 * dt_glib_args_add_flow_end:
 * @args: a list
 * @id: of dt_glib_flow_id(), or received from another program
 *
 * The same as dt_glib_args_add_flow() for the last event of that @id.
 *
 * Returns: (transfer none): @args, for the next one
 */
DtGlibArgs *dt_glib_args_add_flow_end(DtGlibArgs *args, guint64 id) {
        return add(args, DT_FLOW_END(id), NULL);
}

static const char *priority(GLogLevelFlags level) {
        switch (level & G_LOG_LEVEL_MASK) {
        case G_LOG_LEVEL_ERROR:
                return DT_LOG_FATAL;
        case G_LOG_LEVEL_CRITICAL:
                return DT_LOG_ERROR;
        case G_LOG_LEVEL_WARNING:
                return DT_LOG_WARNING;
        case G_LOG_LEVEL_MESSAGE:
        case G_LOG_LEVEL_INFO:
                return DT_LOG_INFO;
        default:
                return DT_LOG_DEBUG;
        }
}

/**
 * dt_glib_args_add_log:
 * @args: a list
 * @level: the message's level
 * @text: the message
 *
 * Makes the event a line of a log, which viewers show among other logs. Once for an event.
 *
 * Returns: (transfer none): @args, for the next one
 */
DtGlibArgs *dt_glib_args_add_log(DtGlibArgs *args, GLogLevelFlags level, const char *text) {
        return add(args, dt_arg_text(DT_ARG_LOG, priority(level), NULL), text);
}

/**
 * dt_glib_args_set_time:
 * @args: a list
 * @time_ns: nanoseconds of CLOCK_BOOTTIME, see dt_glib_now_ns()
 *
 * Says when the event happened, if that was not now. Events of one track must begin and end in the order of time. Once
 * for an event.
 *
 * Returns: (transfer none): @args, for the next one
 */
DtGlibArgs *dt_glib_args_set_time(DtGlibArgs *args, guint64 time_ns) {
        return add(args, DT_AT(time_ns), NULL);
}
