/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * D-Bus messages as a bus would send them.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/dbus-frame.h"
#include "shared/macro.h"

#define DBUS_MESSAGE_BYTES 2048

typedef struct DbusMessage {
        uint8_t data[DBUS_MESSAGE_BYTES];
        size_t n;
} DbusMessage;

static inline void dbus_message_align(DbusMessage *message, size_t to) {
        while (message->n % to != 0)
                message->data[message->n++] = 0;
}

static inline void dbus_message_put_u32(DbusMessage *message, uint32_t value) {
        dbus_message_align(message, 4);
        for (int i = 0; i < 4; i++)
                message->data[message->n++] = (uint8_t)(value >> 8 * i);
}

static inline void dbus_message_set_u32(DbusMessage *message, size_t at, size_t value) {
        const size_t n = message->n;

        message->n = at;
        dbus_message_put_u32(message, (uint32_t)value);
        message->n = n;
}

static inline void dbus_message_put_text(DbusMessage *message, const char *text) {
        dbus_message_put_u32(message, (uint32_t)strlen(text));
        memcpy(message->data + message->n, text, strlen(text) + 1);
        message->n += strlen(text) + 1;
}

static inline void
dbus_message_put_field(DbusMessage *message, uint8_t code, char type, const char *text) {
        const uint8_t head[] = { code, 1, (uint8_t)type, 0 };

        if (!text || !*text)
                return;
        dbus_message_align(message, 8);
        memcpy(message->data + message->n, head, sizeof(head));
        message->n += sizeof(head);
        dbus_message_put_text(message, text);
}

/* The body is of texts, up to NULL. */
static inline void
dbus_message_make(DbusMessage *ret, const FrameFields *fields, const char *const *texts) {
        const uint8_t reply[] = { 5, 1, 'u', 0 };
        size_t begin;

        *ret = (DbusMessage){ .data = { 'l', fields->type, fields->flags, 1 }, .n = 16 };
        dbus_message_set_u32(ret, 8, fields->serial);
        dbus_message_put_field(ret, 1, 'o', fields->path);
        dbus_message_put_field(ret, 2, 's', fields->interface);
        dbus_message_put_field(ret, 3, 's', fields->member);
        dbus_message_put_field(ret, 4, 's', fields->error);
        dbus_message_put_field(ret, 6, 's', fields->destination);
        dbus_message_put_field(ret, 7, 's', fields->sender);
        if (fields->reply_serial) {
                dbus_message_align(ret, 8);
                memcpy(ret->data + ret->n, reply, sizeof(reply));
                ret->n += sizeof(reply);
                dbus_message_put_u32(ret, fields->reply_serial);
        }
        dbus_message_set_u32(ret, 12, ret->n - 16);
        dbus_message_align(ret, 8);
        begin = ret->n;
        for (; texts && *texts; texts++)
                dbus_message_put_text(ret, *texts);
        dbus_message_set_u32(ret, 4, ret->n - begin);
}
