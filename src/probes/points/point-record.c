/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Point record: one hit of a probe, from the kernel's ring */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probes/points/point-record.h"
#include "shared/utf8.h"

static bool find_number(uint32_t *ret, const EventFormat *format, const char *name, uint32_t size) {
        const EventField *field = event_format_find(format, name);

        if (!field || !field_kind_is_number(field->kind) || field->size != size)
                return false;
        *ret = field->offset;
        return true;
}

static bool find_text(uint32_t *ret, const EventFormat *format, const char *name) {
        const EventField *field = event_format_find(format, name);

        if (!field || field->kind != FIELD_LOC_STRING)
                return false;
        *ret = field->offset;
        return true;
}

int point_layout_init(PointLayout *ret, const EventFormat *format, bool is_return) {
        PointLayout layout = { .has_numbers = !is_return };

        if (!find_number(&layout.site, format, POINT_FIELD_SITE, sizeof(uint32_t)) ||
            !find_number(&layout.stack, format, POINT_FIELD_STACK, sizeof(uint64_t)))
                return -EBADMSG;
        for (unsigned i = 0; !is_return && i < POINT_NUMBERS_MAX; i++) {
                char name[8];

                snprintf(name, sizeof(name), "n%u", i);
                if (!find_number(&layout.numbers[i], format, name, sizeof(uint64_t)))
                        return -EBADMSG;
        }
        if (!is_return && !find_text(&layout.text, format, POINT_FIELD_TEXT))
                return -EBADMSG;
        *ret = layout;
        return 0;
}

static bool get(void *ret, size_t n, uint32_t offset, const PageRecord *record) {
        if (n > record->n_bytes || offset > record->n_bytes - n)
                return false;
        memcpy(ret, record->data + offset, n);
        return true;
}

/* __data_loc: offset and length in one word. Cut to what fits. */
static bool get_text(char *ret, size_t size, uint32_t at, const PageRecord *record) {
        uint32_t location, offset, n;

        if (!get(&location, sizeof(location), at, record))
                return false;
        offset = location & UINT16_MAX;
        n = location >> 16;
        if (offset > record->n_bytes || n > record->n_bytes - offset)
                return false;
        snprintf(ret, size, "%.*s", (int)n, (const char *)record->data + offset);
        for (char *c = ret; *c; c++)
                if ((unsigned char)*c < ' ' || *c == 127)
                        *c = '?';
        utf8_clean(ret);
        if (streq(ret, "(fault)"))
                *ret = '\0';
        return true;
}

bool point_record_decode_wait(PointRecord *ret, PointRecordKind kind, const PageRecord *record) {
        int32_t tid;

        *ret = (PointRecord){ .at_ns = record->timestamp, .kind = kind };
        if (!get(&tid, sizeof(tid), RECORD_PID_OFFSET, record))
                return false;
        ret->tid = tid;
        return true;
}

bool point_record_decode(PointRecord *ret, const PointLayout *layout, const PageRecord *record) {
        PointRecordKind kind = layout->has_numbers ? POINT_RECORD_ENTRY : POINT_RECORD_RETURN;

        if (!point_record_decode_wait(ret, kind, record) ||
            !get(&ret->site, sizeof(ret->site), layout->site, record) ||
            !get(&ret->stack, sizeof(ret->stack), layout->stack, record))
                return false;
        if (!layout->has_numbers)
                return true;
        for (size_t i = 0; i < POINT_NUMBERS_MAX; i++)
                if (!get(&ret->numbers[i], sizeof(ret->numbers[i]), layout->numbers[i], record))
                        return false;
        return get_text(ret->text, sizeof(ret->text), layout->text, record);
}

int64_t point_number(const PointRecord *record, const PointArgument *argument) {
        uint64_t number = record->numbers[argument->slot];

        switch (argument->type) {
        case POINT_U8:
                return (uint8_t)number;
        case POINT_U16:
                return (uint16_t)number;
        case POINT_U32:
                return (uint32_t)number;
        case POINT_S8:
                return (int8_t)number;
        case POINT_S16:
                return (int16_t)number;
        case POINT_S32:
                return (int32_t)number;
        default:
                return (int64_t)number;
        }
}

bool point_matches(const Point *point, const PointRecord *record) {
        for (size_t i = 0; i < point->n_conditions; i++) {
                const PointCondition *condition = &point->conditions[i];
                const PointArgument *argument = &point->arguments[condition->argument];

                if (argument->type == POINT_TEXT
                            ? !streq(record->text, condition->text)
                            : point_number(record, argument) != (int64_t)condition->number)
                        return false;
        }
        return true;
}
