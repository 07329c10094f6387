/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Page: a walk over one sub-buffer of the kernel's ring buffer
 *
 * As read from per_cpu/cpuN/trace_pipe_raw: a header (u64 timestamp, the committed length with two flags
 * on top), then records of a u32 (5 bits type or length, 27 bits time delta) and data. The layout is the
 * kernel's include/linux/ring_buffer.h and events/header_page. Although the bytes are the kernel's own,
 * nothing is read outside of the page, whatever they say.
 */

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shared/macro.h"

/* perfetto.protos.FtraceParseStatus. Readers refuse the whole trace for any value but ZERO_DATA_LENGTH, so the
 * others are reported only when the bytes make no sense. */
typedef enum FtraceStatus {
        FTRACE_STATUS_OK = 1,
        FTRACE_STATUS_UNEXPECTED_READ_ERROR = 2,
        FTRACE_STATUS_PARTIAL_PAGE_READ = 3,
        FTRACE_STATUS_INVALID_PAGE_HEADER = 4,
        FTRACE_STATUS_SHORT_EVENT_HEADER = 5,
        FTRACE_STATUS_NULL_PADDING = 6,
        FTRACE_STATUS_SHORT_PADDING_LENGTH = 7,
        FTRACE_STATUS_INVALID_PADDING_LENGTH = 8,
        FTRACE_STATUS_SHORT_TIME_EXTEND = 9,
        FTRACE_STATUS_SHORT_TIME_STAMP = 10,
        FTRACE_STATUS_SHORT_DATA_LENGTH = 11,
        FTRACE_STATUS_ZERO_DATA_LENGTH = 12,
        FTRACE_STATUS_INVALID_DATA_LENGTH = 13,
        FTRACE_STATUS_SHORT_EVENT_ID = 14,
        FTRACE_STATUS_SHORT_COMPACT_EVENT = 16,
        FTRACE_STATUS_INVALID_EVENT = 17,
} FtraceStatus;

/* From events/header_page: the commit word is a long of the kernel. */
typedef struct PageLayout {
        uint32_t commit_offset, commit_size;
        uint32_t data_offset;
} PageLayout;

#define PAGE_LAYOUT_64BIT \
        { .commit_offset = 8, .commit_size = 8, .data_offset = 16 }

typedef struct PageReader {
        const uint8_t *at;
        const uint8_t *end;
        uint64_t timestamp; /* of the last record that was read; at first, of the page */
        bool lost;       /* the kernel overwrote records between the previous page and this one */
        uint64_t n_lost; /* how many, or 0 if the kernel had no room to say so */
        FtraceStatus status;
} PageReader;

typedef struct PageRecord {
        uint64_t timestamp;
        const uint8_t *data;
        uint32_t n_bytes; /* a multiple of 4: the last field may be followed by slack */
} PageRecord;

/* Parses the text of events/header_page. Returns 0 or -EBADMSG. */
int page_layout_parse(PageLayout *ret, const char *text);

/* Returns 0, or -EBADMSG with the reason in `reader->status`. */
int page_reader_init(PageReader *reader,
                     const PageLayout *layout,
                     const void *page,
                     size_t n_bytes);

/* For page_read(): handles a record that is not plain data. Returns 1 if it was skipped, 0 at the end, or -EBADMSG. */
int page_read_special(PageReader *reader, uint32_t type_len, uint32_t delta, PageRecord *ret);

enum {
        PAGE_TYPE_DATA_MAX =
                28, /* up to here type_len is the length in words; 0: the next word is the length */
        PAGE_TYPE_PADDING = 29,
        PAGE_TYPE_TIME_EXTEND = 30,
        PAGE_TYPE_TIME_STAMP = 31,
};

static inline uint32_t page_load_word(const uint8_t *at) {
        uint32_t word;

        memcpy(&word, at, sizeof(word));
        return word;
}

/* Bit fields: the first one is at the low end on little-endian machines, and at the top on big-endian ones. */
static inline uint32_t page_type_len(uint32_t header) {
        return __BYTE_ORDER == __LITTLE_ENDIAN ? header & 31 : header >> 27;
}

static inline uint32_t page_delta(uint32_t header) {
        return __BYTE_ORDER == __LITTLE_ENDIAN ? header >> 5 : header & ((1u << 27) - 1);
}

/* Returns 1 and sets *ret to the next record, 0 at the end, or -EBADMSG if the rest makes no sense (reader->status). */
static inline int page_read(PageReader *reader, PageRecord *ret) {
        for (;;) {
                uint32_t header, type_len, delta;
                int r;

                if (reader->end - reader->at < 4)
                        return 0;
                header = page_load_word(reader->at);
                type_len = page_type_len(header);
                delta = page_delta(header);
                reader->at += 4;
                if (LIKELY(type_len >= 1 && type_len <= PAGE_TYPE_DATA_MAX &&
                           (size_t)(reader->end - reader->at) >= type_len * 4)) {
                        reader->timestamp += delta;
                        *ret = (PageRecord){ reader->timestamp, reader->at, type_len * 4 };
                        reader->at += type_len * 4;
                        return 1;
                }
                ret->data = NULL;
                r = page_read_special(reader, type_len, delta, ret);
                if (r <= 0 || ret->data)
                        return r;
        }
}
