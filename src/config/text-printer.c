/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Text printer: any message in protobuf text format */

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/text-format.h"

#define INDENT_COLUMNS 2
#define NUMBER_MAX     64

typedef struct Printer {
        Bytes out;
        unsigned depth;
        int error; /* sticky: the first negative errno */
} Printer;

static void print_message(Printer *printer, const ProtobufCMessage *message);

static void put(Printer *printer, const void *data, size_t n) {
        if (!printer->error)
                printer->error = bytes_append(&printer->out, data, n);
}

static void put_text(Printer *printer, const char *text) {
        put(printer, text, strlen(text));
}

_printf_(2, 3) static void put_number(Printer *printer, const char *format, ...) {
        char text[NUMBER_MAX];
        va_list args;

        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        put_text(printer, text);
}

static void put_indent(Printer *printer) {
        for (unsigned i = 0; i < printer->depth * INDENT_COLUMNS; i++)
                put(printer, " ", 1);
}

/* Prints a quoted string. Text keeps its UTF-8; in bytes, everything outside ASCII is escaped. */
static void put_string(Printer *printer, const uint8_t *data, size_t n, bool is_text) {
        static const char special[] = "\n\r\t\"\\", names[] = "nrt\"\\";

        put(printer, "\"", 1);
        for (size_t i = 0; i < n; i++) {
                const char *found = data[i] ? strchr(special, data[i]) : NULL;

                if (found)
                        put(printer, (char[]){ '\\', names[found - special] }, 2);
                else if (data[i] < ' ' || data[i] == 0x7f || (data[i] >= 0x80 && !is_text))
                        put_number(printer, "\\%03o", data[i]);
                else
                        put(printer, &data[i], 1);
        }
        put(printer, "\"", 1);
}

/* The shortest form that reads back as the same number; `digits` is enough for any. */
static void put_float(Printer *printer, double value, bool is_float, int digits) {
        char text[NUMBER_MAX];

        if (isnan(value) || isinf(value)) {
                put_text(printer, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
                return;
        }
        for (int n = is_float ? 6 : 15; n <= digits; n++) {
                snprintf(text, sizeof(text), "%.*g", n, value);
                if (is_float ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
                        break;
        }
        put_text(printer, text);
}

static void put_enum(Printer *printer, const ProtobufCEnumDescriptor *type, int value) {
        const ProtobufCEnumValue *known = protobuf_c_enum_descriptor_get_value(type, value);

        if (known)
                put_text(printer, known->name);
        else
                put_number(printer, "%d", value);
}

static void put_scalar(Printer *printer, const ProtobufCFieldDescriptor *field, const void *at) {
        const ProtobufCBinaryData *bytes = at;
        const char *text;

        switch (field->type) {
        case PROTOBUF_C_TYPE_INT32:
        case PROTOBUF_C_TYPE_SINT32:
        case PROTOBUF_C_TYPE_SFIXED32:
                return put_number(printer, "%" PRId32, *(const int32_t *)at);
        case PROTOBUF_C_TYPE_INT64:
        case PROTOBUF_C_TYPE_SINT64:
        case PROTOBUF_C_TYPE_SFIXED64:
                return put_number(printer, "%" PRId64, *(const int64_t *)at);
        case PROTOBUF_C_TYPE_UINT32:
        case PROTOBUF_C_TYPE_FIXED32:
                return put_number(printer, "%" PRIu32, *(const uint32_t *)at);
        case PROTOBUF_C_TYPE_UINT64:
        case PROTOBUF_C_TYPE_FIXED64:
                return put_number(printer, "%" PRIu64, *(const uint64_t *)at);
        case PROTOBUF_C_TYPE_FLOAT:
                return put_float(printer, (double)*(const float *)at, true, 9);
        case PROTOBUF_C_TYPE_DOUBLE:
                return put_float(printer, *(const double *)at, false, 17);
        case PROTOBUF_C_TYPE_BOOL:
                return put_text(printer, *(const protobuf_c_boolean *)at ? "true" : "false");
        case PROTOBUF_C_TYPE_ENUM:
                return put_enum(printer, field->descriptor, *(const int *)at);
        case PROTOBUF_C_TYPE_BYTES:
                return put_string(printer, bytes->data, bytes->len, false);
        case PROTOBUF_C_TYPE_STRING:
                text = *(const char *const *)at;
                return put_string(printer, (const uint8_t *)text, strlen(text), true);
        case PROTOBUF_C_TYPE_MESSAGE:
                break;
        }
}

static void print_value(Printer *printer, const ProtobufCFieldDescriptor *field, const void *at) {
        put_indent(printer);
        put_text(printer, field->name);
        if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
                put_text(printer, ": ");
                put_scalar(printer, field, at);
        } else {
                put_text(printer, " {\n");
                printer->depth++;
                print_message(printer, *(const ProtobufCMessage *const *)at);
                printer->depth--;
                put_indent(printer);
                put_text(printer, "}");
        }
        put_text(printer, "\n");
}

static size_t element_size(ProtobufCType type) {
        switch (type) {
        case PROTOBUF_C_TYPE_INT64:
        case PROTOBUF_C_TYPE_SINT64:
        case PROTOBUF_C_TYPE_SFIXED64:
        case PROTOBUF_C_TYPE_UINT64:
        case PROTOBUF_C_TYPE_FIXED64:
        case PROTOBUF_C_TYPE_DOUBLE:
                return 8;
        case PROTOBUF_C_TYPE_STRING:
        case PROTOBUF_C_TYPE_MESSAGE:
                return sizeof(void *);
        case PROTOBUF_C_TYPE_BYTES:
                return sizeof(ProtobufCBinaryData);
        case PROTOBUF_C_TYPE_BOOL:
                return sizeof(protobuf_c_boolean);
        default:
                return 4;
        }
}

/* Whether a field that is not repeated is there: protobuf-c has a flag in front of numbers, a case
 * number for a oneof, and a pointer otherwise. */
static bool
is_present(const ProtobufCFieldDescriptor *field, const ProtobufCMessage *message, const void *at) {
        const void *quantifier = (const char *)message + field->quantifier_offset;

        if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
                return *(const uint32_t *)quantifier == field->id;
        if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE) {
                const void *pointer = *(const void *const *)at;

                return pointer && pointer != field->default_value;
        }
        return field->label == PROTOBUF_C_LABEL_REQUIRED || *(const protobuf_c_boolean *)quantifier;
}

static void print_field(Printer *printer,
                        const ProtobufCFieldDescriptor *field,
                        const ProtobufCMessage *message) {
        const char *at = (const char *)message + field->offset;
        size_t n;

        if (field->label != PROTOBUF_C_LABEL_REPEATED) {
                if (is_present(field, message, at))
                        print_value(printer, field, at);
                return;
        }
        n = *(const size_t *)((const char *)message + field->quantifier_offset);
        at = *(const char *const *)at;
        for (size_t i = 0; i < n; i++)
                print_value(printer, field, at + i * element_size(field->type));
}

static uint64_t varint_value(const uint8_t *data, size_t n) {
        uint64_t value = 0;

        for (size_t i = 0; i < n && i < 10; i++)
                value |= (uint64_t)(data[i] & 0x7f) << (7 * i);
        return value;
}

/* protobuf-c keeps the length in front of a length-delimited unknown field. */
static void put_unknown_bytes(Printer *printer, const ProtobufCMessageUnknownField *field) {
        size_t n_length = 0;

        while (n_length < field->len && field->data[n_length] & 0x80)
                n_length++;
        n_length = n_length < field->len ? n_length + 1 : field->len;
        put_string(printer, field->data + n_length, field->len - n_length, false);
}

static void print_unknown(Printer *printer, const ProtobufCMessageUnknownField *field) {
        uint64_t value = 0;

        put_indent(printer);
        put_number(printer, "%" PRIu32 ": ", field->tag);
        switch (field->wire_type) {
        case PROTOBUF_C_WIRE_TYPE_VARINT:
                put_number(printer, "%" PRIu64, varint_value(field->data, field->len));
                break;
        case PROTOBUF_C_WIRE_TYPE_32BIT:
        case PROTOBUF_C_WIRE_TYPE_64BIT:
                memcpy(&value, field->data, MIN(field->len, sizeof(value)));
                put_number(printer,
                           field->len == 4 ? "0x%08" PRIx64 : "0x%016" PRIx64,
                           le64toh(value));
                break;
        default:
                put_unknown_bytes(printer, field);
        }
        put_text(printer, "\n");
}

static void print_message(Printer *printer, const ProtobufCMessage *message) {
        for (unsigned i = 0; i < message->descriptor->n_fields; i++)
                print_field(printer, &message->descriptor->fields[i], message);
        for (unsigned i = 0; i < message->n_unknown_fields; i++)
                print_unknown(printer, &message->unknown_fields[i]);
}

int text_format_print(char **ret, const ProtobufCMessage *message) {
        Printer printer = {};
        locale_t plain, before;

        /* printf() writes the locale's decimal point. */
        plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
        if (!plain)
                return -ENOMEM;
        before = uselocale(plain);
        print_message(&printer, message);
        put(&printer, "", 1);
        uselocale(before);
        freelocale(plain);
        if (printer.error) {
                bytes_deinit(&printer.out);
                return printer.error;
        }
        *ret = (char *)printer.out.data;
        return 0;
}
