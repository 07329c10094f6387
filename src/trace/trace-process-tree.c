/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace process tree: what a packet says about processes and threads, as /proc had them */

#include "trace/trace-process-tree.h"

#include "shared/macro.h"

/* ProcessTree.Process. */
enum {
        PROCESS_PID = 1,
        PROCESS_PPID = 2,
        PROCESS_ARGUMENT = 3,
        PROCESS_UID = 5,
        PROCESS_START = 7,
        PROCESS_IS_KTHREAD = 8,
        PROCESS_IS_COMM = 9,
};

static const uint32_t unit_fields[_TRACE_PROCESS_UNITS] = {
        [TRACE_PROCESS_UNIT] = 1900,
        [TRACE_PROCESS_USER_UNIT] = 1901,
        [TRACE_PROCESS_APP] = 1905,
        [TRACE_PROCESS_CONTAINER] = 1907,
};

/* ProcessTree.Thread. */
enum {
        THREAD_TID = 1,
        THREAD_NAME = 2,
        THREAD_TGID = 3,
};

static void process_take_text(TraceTreeProcess *process, const WireField *field) {
        if (field->number == PROCESS_ARGUMENT && process->n_arguments++ == 0)
                process->command = *field;
        for (size_t i = 0; i < _TRACE_PROCESS_UNITS; i++)
                if (field->number == unit_fields[i])
                        process->units[i] = *field;
}

static void process_take_number(TraceTreeProcess *process, const WireField *field) {
        switch (field->number) {
        case PROCESS_PID:
                process->pid = (int32_t)field->value;
                break;
        case PROCESS_PPID:
                process->ppid = (int32_t)field->value;
                break;
        case PROCESS_UID:
                process->has_uid = true;
                process->uid = (uint32_t)field->value;
                break;
        case PROCESS_START:
                process->has_start = true;
                process->start_ns = field->value;
                break;
        case PROCESS_IS_KTHREAD:
                process->has_is_kthread = true;
                process->is_kthread = field->value != 0;
                break;
        case PROCESS_IS_COMM:
                process->is_comm = field->value != 0;
                break;
        }
}

void trace_tree_process_read(TraceTreeProcess *ret, const WireField *message) {
        WireReader reader;
        WireField field;

        *ret = (TraceTreeProcess){ 0 };
        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0)
                if (field.type == WIRE_BYTES)
                        process_take_text(ret, &field);
                else
                        process_take_number(ret, &field);
}

bool trace_tree_next_argument(WireReader *process, WireField *ret) {
        while (wire_read(process, ret) > 0)
                if (ret->number == PROCESS_ARGUMENT && ret->type == WIRE_BYTES)
                        return true;
        return false;
}

void trace_tree_thread_read(TraceTreeThread *ret, const WireField *message) {
        WireReader reader;
        WireField field;

        *ret = (TraceTreeThread){ 0 };
        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0)
                if (field.number == THREAD_NAME && field.type == WIRE_BYTES)
                        ret->name = field;
                else if (field.number == THREAD_TID)
                        ret->tid = (int32_t)field.value;
                else if (field.number == THREAD_TGID)
                        ret->tgid = (int32_t)field.value;
}
