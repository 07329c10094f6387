/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Page: a walk over one sub-buffer of the kernel's ring buffer */

#include <stdio.h>

#include "probes/ftrace/page.h"

/* Flags above the length in the commit word, set by the kernel's ring_buffer_read_page(). */
#define COMMIT_LENGTH_MASK ((1u << 27) - 1)
#define COMMIT_LOST_STORED (1u << 30) /* behind the data is the number of lost records */
#define COMMIT_LOST        (1u << 31)

#define TIMESTAMP_BITS 59 /* of an absolute timestamp; the kernel leaves out the others */

static int
layout_field(const char *text, const char *name, uint32_t *ret_offset, uint32_t *ret_size) {
        const char *at = strstr(text, name);
        const char *offset = at ? strstr(at, "offset:") : NULL;

        if (!offset || sscanf(offset, "offset:%u; size:%u;", ret_offset, ret_size) != 2)
                return -EBADMSG;
        return 0;
}

int page_layout_parse(PageLayout *ret, const char *text) {
        PageLayout layout;
        uint32_t n_data;

        if (layout_field(text, " commit;", &layout.commit_offset, &layout.commit_size) < 0 ||
            layout_field(text, " data;", &layout.data_offset, &n_data) < 0)
                return -EBADMSG;
        if ((layout.commit_size != 4 && layout.commit_size != 8) || layout.commit_offset < 8 ||
            layout.commit_offset > 64 ||
            layout.data_offset < layout.commit_offset + layout.commit_size ||
            layout.data_offset > 128)
                return -EBADMSG;
        *ret = layout;
        return 0;
}

static int page_error(PageReader *reader, FtraceStatus status) {
        reader->status = status;
        reader->at = reader->end;
        return -EBADMSG;
}

static uint64_t load_long(const uint8_t *at, uint32_t size) {
        uint64_t value;

        if (size == 4)
                return page_load_word(at);
        memcpy(&value, at, sizeof(value));
        return value;
}

int page_reader_init(PageReader *reader,
                     const PageLayout *layout,
                     const void *page,
                     size_t n_bytes) {
        const uint8_t *bytes = page;
        uint32_t commit, n_data;

        *reader = (PageReader){ .at = bytes, .end = bytes, .status = FTRACE_STATUS_OK };
        if (n_bytes < layout->data_offset)
                return page_error(reader, FTRACE_STATUS_PARTIAL_PAGE_READ);
        commit = (uint32_t)load_long(bytes + layout->commit_offset, layout->commit_size);
        n_data = commit & COMMIT_LENGTH_MASK;
        if (n_data > n_bytes - layout->data_offset)
                return page_error(reader, FTRACE_STATUS_INVALID_PAGE_HEADER);

        memcpy(&reader->timestamp, bytes, sizeof(reader->timestamp));
        reader->at = bytes + layout->data_offset;
        reader->end = reader->at + n_data;
        reader->lost = commit & COMMIT_LOST;
        if (reader->lost && (commit & COMMIT_LOST_STORED) &&
            n_bytes - layout->data_offset - n_data >= layout->commit_size)
                reader->n_lost = load_long(reader->end, layout->commit_size);
        return 0;
}

/* A record whose length did not fit into five bits. */
static int read_long_record(PageReader *reader, uint32_t delta, PageRecord *ret) {
        uint32_t length;

        if (reader->end - reader->at < 4)
                return page_error(reader, FTRACE_STATUS_SHORT_DATA_LENGTH);
        length = page_load_word(reader->at);
        if (length <= 4) /* seen with kernels that failed to discard a reserved record */
                return page_error(reader, FTRACE_STATUS_ZERO_DATA_LENGTH);
        if (ALIGN_UP((uint64_t)length, 4) > (uint64_t)(reader->end - reader->at))
                return page_error(reader, FTRACE_STATUS_INVALID_DATA_LENGTH);
        reader->timestamp += delta;
        *ret = (PageRecord){ reader->timestamp, reader->at + 4, length - 4 };
        reader->at += ALIGN_UP(length, 4);
        return 1;
}

/* Padding with a delta is a discarded record; without one, it is the unused tail of the page. */
static int skip_padding(PageReader *reader, uint32_t delta) {
        uint32_t length;

        if (delta == 0) {
                reader->at = reader->end;
                return 0;
        }
        if (reader->end - reader->at < 4)
                return page_error(reader, FTRACE_STATUS_SHORT_PADDING_LENGTH);
        length = page_load_word(reader->at);
        if (length < 4 || length > (size_t)(reader->end - reader->at))
                return page_error(reader, FTRACE_STATUS_INVALID_PADDING_LENGTH);
        reader->timestamp += delta;
        reader->at += length;
        return 1;
}

int page_read_special(PageReader *reader, uint32_t type_len, uint32_t delta, PageRecord *ret) {
        uint64_t high;

        if (type_len == 0)
                return read_long_record(reader, delta, ret);
        if (type_len == PAGE_TYPE_PADDING)
                return skip_padding(reader, delta);
        if (type_len <= PAGE_TYPE_DATA_MAX)
                return page_error(reader, FTRACE_STATUS_INVALID_DATA_LENGTH);

        if (reader->end - reader->at < 4)
                return page_error(reader,
                                  type_len == PAGE_TYPE_TIME_EXTEND
                                          ? FTRACE_STATUS_SHORT_TIME_EXTEND
                                          : FTRACE_STATUS_SHORT_TIME_STAMP);
        high = (uint64_t)page_load_word(reader->at) << 27;
        reader->at += 4;
        if (type_len == PAGE_TYPE_TIME_EXTEND)
                reader->timestamp += high + delta;
        else /* absolute; the bits that it lacks are those of the page's time */
                reader->timestamp =
                        (reader->timestamp >> TIMESTAMP_BITS << TIMESTAMP_BITS) | (high + delta);
        return 1;
}
