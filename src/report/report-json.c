/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* JSON: written into bytes */

#include "report/report-json.h"

#include <inttypes.h>
#include <stdio.h>

#include "shared/utf8.h"

static void put(ReportJson *json, const void *data, size_t n) {
        int r = bytes_append(&json->bytes, data, n);

        if (r != 0)
                json->error = r;
}

static void put_text(ReportJson *json, const char *text) {
        put(json, text, strlen(text));
}

static void put_key(ReportJson *json, const char *key) {
        if (json->needs_comma)
                put_text(json, ",");
        json->needs_comma = true;
        if (!key)
                return;
        put_text(json, "\"");
        put_text(json, key);
        put_text(json, "\":");
}

void report_json_begin(ReportJson *json, const char *key, char bracket) {
        put_key(json, key);
        put(json, &bracket, 1);
        json->needs_comma = false;
}

void report_json_end(ReportJson *json, char bracket) {
        put(json, &bracket, 1);
        json->needs_comma = true;
}

static void put_character(ReportJson *json, const uint8_t *at, size_t n) {
        char escaped[8];

        if (n > 1 || (*at >= 0x20 && *at != '"' && *at != '\\' && *at != 0x7f)) {
                put(json, at, n);
                return;
        }
        snprintf(escaped, sizeof(escaped), "\\u%04x", *at);
        put_text(json, escaped);
}

void report_json_text(ReportJson *json, const char *key, const char *text, size_t n_max) {
        const uint8_t *at = (const uint8_t *)(text ? text : "");
        size_t n_left = strlen((const char *)at);

        put_key(json, key);
        put_text(json, "\"");
        while (n_left > 0) {
                size_t n = utf8_character(at, n_left);

                if (n > n_max)
                        break;
                if (n > 0)
                        put_character(json, at, n);
                n = MAX(n, (size_t)1);
                at += n;
                n_left -= n;
                n_max -= MIN(n, n_max);
        }
        put_text(json, "\"");
}

void report_json_number(ReportJson *json, const char *key, int64_t number) {
        char text[24];

        put_key(json, key);
        snprintf(text, sizeof(text), "%" PRId64, number);
        put_text(json, text);
}
