/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace bundle: events of the kernel from one CPU, in the form that packets have them */

#include "trace/trace-bundle.h"

/* Fields of FtraceEvent's envelope. Any other field is the event itself. */
enum {
        EVENT_TIMESTAMP = 1,
        EVENT_PID = 2,
        EVENT_COMMON_FLAGS = 5,
};

void trace_bundle_read(TraceBundle *ret, const WireField *bytes) {
        WireReader reader;
        WireField field;

        *ret = (TraceBundle){ 0 };
        wire_reader_init_field(&reader, bytes);
        while (wire_read_fast(&reader, &field) > 0) {
                if (field.number == TRACE_BUNDLE_CPU)
                        ret->cpu = field.value;
                else if (field.number == TRACE_BUNDLE_LOST)
                        ret->is_lossy = field.value != 0;
                else if (field.number == TRACE_BUNDLE_DESCRIPTORS && field.type == WIRE_BYTES)
                        ret->has_descriptors = true;
        }
}

void trace_kernel_event_read(TraceKernelEvent *ret, const WireField *bytes) {
        WireReader reader;
        WireField field;

        *ret = (TraceKernelEvent){ 0 };
        wire_reader_init_field(&reader, bytes);
        while (wire_read_fast(&reader, &field) > 0) {
                if (field.number == EVENT_TIMESTAMP)
                        ret->at_ns = field.value;
                else if (field.number == EVENT_PID)
                        ret->pid = (int32_t)field.value;
                else if (field.number == EVENT_COMMON_FLAGS)
                        ret->flags = (uint32_t)field.value;
                else if (field.type == WIRE_BYTES)
                        ret->body = field;
        }
}

void trace_kernel_fields_read(TraceKernelFields *ret, const WireField *body) {
        WireReader reader;
        WireField field;

        *ret = (TraceKernelFields){ 0 };
        wire_reader_init_field(&reader, body);
        while (wire_read_fast(&reader, &field) > 0) {
                if (field.number >= TRACE_KERNEL_FIELDS)
                        continue;
                if (field.type == WIRE_BYTES) {
                        ret->texts[field.number] = field;
                } else {
                        ret->numbers[field.number] = field.value;
                        ret->has_numbers |= 1u << field.number;
                }
        }
}

bool trace_kernel_name_read(WireField *ret, const WireField *body) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, body);
        while (wire_read_fast(&reader, &field) > 0)
                if (field.number == 1 && field.type == WIRE_BYTES) {
                        *ret = field;
                        return true;
                }
        return false;
}

bool trace_kernel_descriptor_read(uint32_t *ret_number,
                                  WireField *ret_name,
                                  const WireField *bytes) {
        bool has_name = false;
        uint32_t number = 0;
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, bytes);
        while (wire_read_fast(&reader, &field) > 0) {
                if (field.number == 1 && field.type == WIRE_VARINT)
                        number = (uint32_t)field.value;
                else if (field.number == 2 && field.type == WIRE_BYTES)
                        has_name = trace_kernel_name_read(ret_name, &field);
        }
        *ret_number = number;
        return number != 0 && has_name;
}

void trace_compact_init(TraceCompactSched *compact, const WireField *bytes) {
        WireReader reader;
        WireField field;

        compact->n_comms = 0;
        compact->switch_ns = compact->waking_ns = 0;
        for (size_t i = 0; i < _TRACE_COMPACT_FIELDS; i++)
                wire_reader_init(&compact->columns[i], NULL, 0);
        wire_reader_init_field(&reader, bytes);
        while (wire_read_fast(&reader, &field) > 0) {
                if (field.type != WIRE_BYTES || field.number >= _TRACE_COMPACT_FIELDS)
                        continue;
                if (field.number != TRACE_COMPACT_INTERN_TABLE)
                        wire_reader_init_field(&compact->columns[field.number], &field);
                else if (compact->n_comms < TRACE_COMPACT_COMMS_MAX)
                        compact->comms[compact->n_comms++] =
                                (TraceComm){ field.data, field.n_bytes };
        }
}
