/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* OTLP writer: messages of OpenTelemetry's protocol, as JSON or in protobuf's form */

#include "client/otlp-writer.h"

#include <inttypes.h>

#include "shared/macro.h"

typedef enum Message {
        REQUEST,
        RESOURCE_SPANS,
        RESOURCE,
        SCOPE_SPANS,
        SCOPE,
        SPAN,
        EVENT,
        LINK,
        ATTRIBUTE,
        VALUE,
        NO_MESSAGE,
} Message;

/* Field numbers of opentelemetry/proto/collector/trace/v1/trace_service.proto and the messages in it. */
static const struct {
        Message in;
        const char *key;
        uint32_t number;
        Message message;
        bool is_fixed;
} fields[] = {
        { REQUEST, "resourceSpans", 1, RESOURCE_SPANS, false },
        { RESOURCE_SPANS, "resource", 1, RESOURCE, false },
        { RESOURCE_SPANS, "scopeSpans", 2, SCOPE_SPANS, false },
        { RESOURCE, "attributes", 1, ATTRIBUTE, false },
        { SCOPE_SPANS, "scope", 1, SCOPE, false },
        { SCOPE_SPANS, "spans", 2, SPAN, false },
        { SCOPE, "name", 1, NO_MESSAGE, false },
        { SPAN, "traceId", 1, NO_MESSAGE, false },
        { SPAN, "spanId", 2, NO_MESSAGE, false },
        { SPAN, "parentSpanId", 4, NO_MESSAGE, false },
        { SPAN, "name", 5, NO_MESSAGE, false },
        { SPAN, "kind", 6, NO_MESSAGE, false },
        { SPAN, "startTimeUnixNano", 7, NO_MESSAGE, true },
        { SPAN, "endTimeUnixNano", 8, NO_MESSAGE, true },
        { SPAN, "attributes", 9, ATTRIBUTE, false },
        { SPAN, "droppedAttributesCount", 10, NO_MESSAGE, false },
        { SPAN, "events", 11, EVENT, false },
        { SPAN, "droppedEventsCount", 12, NO_MESSAGE, false },
        { SPAN, "links", 13, LINK, false },
        { SPAN, "droppedLinksCount", 14, NO_MESSAGE, false },
        { EVENT, "timeUnixNano", 1, NO_MESSAGE, true },
        { EVENT, "name", 2, NO_MESSAGE, false },
        { EVENT, "attributes", 3, ATTRIBUTE, false },
        { EVENT, "droppedAttributesCount", 4, NO_MESSAGE, false },
        { LINK, "traceId", 1, NO_MESSAGE, false },
        { LINK, "spanId", 2, NO_MESSAGE, false },
        { ATTRIBUTE, "key", 1, NO_MESSAGE, false },
        { ATTRIBUTE, "value", 2, VALUE, false },
        { VALUE, "stringValue", 1, NO_MESSAGE, false },
        { VALUE, "boolValue", 2, NO_MESSAGE, false },
        { VALUE, "intValue", 3, NO_MESSAGE, false },
        { VALUE, "doubleValue", 4, NO_MESSAGE, false },
};

static int bytes_grow(WireWriter *wire, size_t n_more) {
        GByteArray *bytes = wire->userdata;
        size_t n = wire_writer_size(wire), n_new = n + MAX(n_more, n + 4096);

        if (n_new > G_MAXUINT)
                return -1;
        g_byte_array_set_size(bytes, (guint)n_new);
        wire->start = bytes->data;
        wire->at = bytes->data + n;
        wire->end = bytes->data + n_new;
        return 0;
}

void otlp_writer_init(OtlpWriter *writer, bool is_binary) {
        *writer = (OtlpWriter){ .is_binary = is_binary };
        json_writer_init(&writer->json, JSON_SHORT);
        writer->bytes = g_byte_array_new();
        writer->wire = (WireWriter){ .grow = bytes_grow, .userdata = writer->bytes };
}

void otlp_writer_deinit(OtlpWriter *writer) {
        json_writer_deinit(&writer->json);
        g_byte_array_unref(writer->bytes);
}

void otlp_writer_print(const OtlpWriter *writer, FILE *stream) {
        if (writer->is_binary)
                fwrite(writer->wire.start, 1, wire_writer_size(&writer->wire), stream);
        else
                fprintf(stream, "%s\n", writer->json.text->str);
}

/* The kind of the innermost open object. */
static size_t find_field(const OtlpWriter *writer, const char *key) {
        size_t i = 0;

        while (i < ARRAY_SIZE(fields) - 1 &&
               ((int)fields[i].in != writer->open[writer->n_open - 1].message ||
                !streq(fields[i].key, key)))
                i++;
        return i;
}

static void push(OtlpWriter *writer, int message, uint32_t number, size_t begin) {
        g_assert(writer->n_open < OTLP_DEPTH_MAX);
        writer->open[writer->n_open].message = message;
        writer->open[writer->n_open].number = number;
        writer->open[writer->n_open++].begin = begin;
}

void otlp_begin_object(OtlpWriter *writer, const char *key) {
        uint32_t number;
        int message = REQUEST;

        if (!writer->is_binary) {
                json_begin_object(&writer->json, key);
                return;
        }
        if (writer->n_open == 0) {
                push(writer, message, 0, 0);
                return;
        }
        if (key) {
                size_t i = find_field(writer, key);

                number = fields[i].number;
                message = (int)fields[i].message;
        } else {
                number = writer->open[writer->n_open - 1].number;
                message = writer->open[writer->n_open - 1].message;
        }
        push(writer, message, 0, wire_begin(&writer->wire, number));
}

void otlp_end_object(OtlpWriter *writer) {
        if (!writer->is_binary)
                json_end_object(&writer->json);
        else if (--writer->n_open > 0)
                wire_end(&writer->wire, writer->open[writer->n_open].begin);
}

void otlp_begin_array(OtlpWriter *writer, const char *key) {
        size_t i;

        if (!writer->is_binary) {
                json_begin_array(&writer->json, key);
                return;
        }
        i = find_field(writer, key);
        push(writer, (int)fields[i].message, fields[i].number, 0);
}

void otlp_end_array(OtlpWriter *writer) {
        if (writer->is_binary)
                writer->n_open--;
        else
                json_end_array(&writer->json);
}

void otlp_string(OtlpWriter *writer, const char *key, const char *value) {
        g_autofree char *valid = NULL;

        if (!writer->is_binary) {
                json_string(&writer->json, key, value);
                return;
        }
        valid = g_utf8_make_valid(value ? value : "", -1);
        wire_put_string(&writer->wire, fields[find_field(writer, key)].number, valid);
}

void otlp_uint(OtlpWriter *writer, const char *key, uint64_t value) {
        if (writer->is_binary)
                wire_put_uint(&writer->wire, fields[find_field(writer, key)].number, value);
        else
                json_uint(&writer->json, key, value);
}

void otlp_bool(OtlpWriter *writer, const char *key, bool value) {
        if (writer->is_binary)
                wire_put_bool(&writer->wire, fields[find_field(writer, key)].number, value);
        else
                json_bool(&writer->json, key, value);
}

void otlp_double(OtlpWriter *writer, const char *key, double value) {
        if (writer->is_binary)
                wire_put_double(&writer->wire, fields[find_field(writer, key)].number, value);
        else
                json_double(&writer->json, key, value);
}

void otlp_int64(OtlpWriter *writer, const char *key, int64_t value) {
        char text[24];
        size_t i;

        if (!writer->is_binary) {
                snprintf(text, sizeof(text), "%" PRId64, value);
                json_string(&writer->json, key, text);
                return;
        }
        i = find_field(writer, key);
        if (fields[i].is_fixed)
                wire_put_fixed64(&writer->wire, fields[i].number, (uint64_t)value);
        else
                wire_put_int(&writer->wire, fields[i].number, value);
}

void otlp_id(OtlpWriter *writer, const char *key, const char *digits) {
        uint8_t bytes[16];
        size_t n = 0;

        if (!writer->is_binary) {
                json_string(&writer->json, key, digits);
                return;
        }
        for (; n < sizeof(bytes) && digits[2 * n] && digits[2 * n + 1]; n++)
                bytes[n] = (uint8_t)(g_ascii_xdigit_value(digits[2 * n]) << 4 |
                                     g_ascii_xdigit_value(digits[2 * n + 1]));
        wire_put_bytes(&writer->wire, fields[find_field(writer, key)].number, bytes, n);
}
