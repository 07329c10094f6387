/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Bus hello: how a connection to a bus becomes a monitor */

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridges/dbus/bus-hello.h"
#include "shared/dbus-frame.h"
#include "shared/macro.h"

#define BUS_NAME "org.freedesktop.DBus"
#define BUS_PATH "/org/freedesktop/DBus"

#define MESSAGE_BYTES_MAX 1024
#define LINES_BYTES_MAX   512
#define SERIAL_HELLO      1
#define SERIAL_MONITOR    2

/* One rule for each kind. Without any rule a monitor is shown all messages, but only since version 1.9 of the reference
 * implementation, and kinds that may be invented later would be of no use here. */
static const char *const rules[] = {
        "type='method_call'",
        "type='method_return'",
        "type='error'",
        "type='signal'",
};

/*
 * Messages
 */

typedef struct Message {
        uint8_t data[MESSAGE_BYTES_MAX];
        size_t n;
} Message;

static void put_align(Message *message, size_t to) {
        while (message->n % to != 0)
                message->data[message->n++] = 0;
}

static void put_u32(Message *message, uint32_t value) {
        put_align(message, 4);
        value = htole32(value);
        memcpy(message->data + message->n, &value, sizeof(value));
        message->n += sizeof(value);
}

static void put_text(Message *message, const char *text) {
        const size_t n = strlen(text);

        put_u32(message, (uint32_t)n);
        memcpy(message->data + message->n, text, n + 1);
        message->n += n + 1;
}

static void put_field(Message *message, uint8_t code, char type, const char *text) {
        put_align(message, 8);
        message->data[message->n++] = code;
        message->data[message->n++] = 1;
        message->data[message->n++] = (uint8_t)type;
        message->data[message->n++] = 0;
        if (type == 'g') { /* for text shorter than 256 bytes */
                message->data[message->n++] = (uint8_t)strlen(text);
                memcpy(message->data + message->n, text, strlen(text) + 1);
                message->n += strlen(text) + 1;
        } else {
                put_text(message, text);
        }
}

static void set_u32(Message *message, size_t at, size_t value) {
        const uint32_t encoded = htole32((uint32_t)value);

        memcpy(message->data + at, &encoded, sizeof(encoded));
}

/* Up to the body. */
static void begin_call(Message *message,
                       uint32_t serial,
                       const char *interface,
                       const char *member,
                       const char *signature) {
        static const uint8_t head[FRAME_HEAD_BYTES] = { 'l', FRAME_METHOD_CALL, 0, 1 };

        memcpy(message->data, head, sizeof(head));
        message->n = sizeof(head);
        set_u32(message, 8, serial);
        put_field(message, 1, 'o', BUS_PATH);
        put_field(message, 2, 's', interface);
        put_field(message, 3, 's', member);
        put_field(message, 6, 's', BUS_NAME);
        if (signature)
                put_field(message, 8, 'g', signature);
        set_u32(message, 12, message->n - FRAME_HEAD_BYTES);
        put_align(message, 8);
}

static void put_become_monitor(Message *message) {
        size_t begin, n;

        begin_call(message, SERIAL_MONITOR, BUS_NAME ".Monitoring", "BecomeMonitor", "asu");
        begin = message->n;
        put_u32(message, 0);
        for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
                put_text(message, rules[i]);
        n = message->n - begin - sizeof(uint32_t);
        set_u32(message, begin, n);
        put_u32(message, 0);
        set_u32(message, 4, message->n - begin);
}

/*
 * The conversation
 */

static int send_all(int fd, const void *data, size_t n) {
        const uint8_t *at = data;

        while (n > 0) {
                ssize_t n_sent = send(fd, at, n, MSG_NOSIGNAL);

                if (n_sent < 0 && errno == EINTR)
                        continue;
                if (n_sent <= 0)
                        return n_sent < 0 ? -errno : -EPIPE;
                at += n_sent;
                n -= (size_t)n_sent;
        }
        return 0;
}

static int receive_exactly(int fd, void *data, size_t n) {
        uint8_t *at = data;

        while (n > 0) {
                ssize_t n_received = recv(fd, at, n, 0);

                if (n_received < 0 && errno == EINTR)
                        continue;
                if (n_received <= 0)
                        return n_received < 0 ? -errno : -ECONNRESET;
                at += n_received;
                n -= (size_t)n_received;
        }
        return 0;
}

/* Reads a whole line, which must begin with `wanted`. */
static int receive_line(int fd, const char *wanted, char *error, size_t n_error) {
        char line[LINES_BYTES_MAX];
        size_t n = 0;
        int r;

        do {
                if (n == sizeof(line) - 1)
                        return -EBADMSG;
                r = receive_exactly(fd,
                                    line + n,
                                    1); /* byte by byte, as nothing behind the line may be taken */
                if (r < 0)
                        return r;
        } while (line[n++] != '\n');
        line[n] = '\0';
        if (strncmp(line, wanted, strlen(wanted)) == 0)
                return 0;
        snprintf(error, n_error, "%.*s", (int)strcspn(line, "\r\n"), line);
        return -EACCES;
}

/* The kernel tells the bus our user. If descriptors may not be passed, messages that have some are not shown. */
static int authenticate(int fd, char *error, size_t n_error) {
        char text[64], hex[128] = "", *at = hex;
        int r;

        snprintf(text, sizeof(text), "%u", (unsigned)geteuid());
        for (const char *c = text; *c; c++)
                at += sprintf(at, "%02x", (unsigned char)*c);
        r = send_all(fd, "", 1);
        if (r >= 0)
                r = send_all(fd, "AUTH EXTERNAL ", strlen("AUTH EXTERNAL "));
        if (r >= 0)
                r = send_all(fd, hex, strlen(hex));
        if (r >= 0)
                r = send_all(fd, "\r\n", 2);
        if (r >= 0)
                r = receive_line(fd, "OK ", error, n_error);
        if (r >= 0)
                r = send_all(fd, "NEGOTIATE_UNIX_FD\r\n", strlen("NEGOTIATE_UNIX_FD\r\n"));
        if (r >= 0)
                r = receive_line(fd, "AGREE_UNIX_FD", error, n_error);
        return r < 0 ? r : send_all(fd, "BEGIN\r\n", strlen("BEGIN\r\n"));
}

/* A message that is too long to be the answer is skipped to its end. */
static int receive_message(int fd, uint8_t data[static MESSAGE_BYTES_MAX], size_t *ret_n) {
        uint8_t rest[MESSAGE_BYTES_MAX];
        uint64_t n_left;
        Frame frame;
        int r;

        r = receive_exactly(fd, data, FRAME_HEAD_BYTES);
        if (r >= 0)
                r = frame_read(&frame, data);
        if (r < 0)
                return r;
        *ret_n = (size_t)MIN(frame.n_bytes, (uint64_t)MESSAGE_BYTES_MAX);
        r = receive_exactly(fd, data + FRAME_HEAD_BYTES, *ret_n - FRAME_HEAD_BYTES);
        for (n_left = frame.n_bytes - *ret_n; r >= 0 && n_left > 0;) {
                const size_t n = (size_t)MIN(n_left, (uint64_t)sizeof(rest));

                r = receive_exactly(fd, rest, n);
                n_left -= n;
        }
        return r;
}

static int receive_answer(int fd, uint32_t serial, char *error, size_t n_error) {
        uint8_t data[MESSAGE_BYTES_MAX];
        const char *text;
        FrameFields fields;
        size_t n;
        int r;

        do {
                r = receive_message(fd, data, &n);
                if (r < 0)
                        return r;
                if (frame_read_fields(&fields, data, n) < 0)
                        fields.reply_serial = 0;
        } while (fields.reply_serial != serial);
        if (fields.type != FRAME_ERROR)
                return 0;
        if (frame_read_texts(&text, 1, data, n) < 0)
                text = fields.error;
        snprintf(error, n_error, "%s", text);
        return -EACCES;
}

static int become_monitor(int fd, char *error, size_t n_error) {
        Message message = {};
        int r;

        r = authenticate(fd, error, n_error);
        begin_call(&message, SERIAL_HELLO, BUS_NAME, "Hello", NULL);
        if (r >= 0)
                r = send_all(fd, message.data, message.n);
        if (r >= 0)
                r = receive_answer(fd, SERIAL_HELLO, error, n_error);
        put_become_monitor(&message);
        if (r >= 0)
                r = send_all(fd, message.data, message.n);
        return r < 0 ? r : receive_answer(fd, SERIAL_MONITOR, error, n_error);
}

int bus_hello_become_monitor(int fd, char *error, size_t n_error) {
        int r;

        error[0] = '\0';
        r = become_monitor(fd, error, n_error);
        if (r < 0 && !error[0])
                snprintf(error, n_error, "%s", strerror(-r));
        return r;
}
