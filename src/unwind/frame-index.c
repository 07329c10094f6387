/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Frame index: .eh_frame_hdr, which finds a function's entry by its address */

#include <endian.h>
#include <string.h>

#include "shared/macro.h"
#include "unwind/byte-reader.h"
#include "unwind/frame-index.h"

#define INDEX_VERSION  1
#define COUNT_ENCODING 0x03 /* an unsigned number of 4 bytes */
#define TABLE_ENCODING 0x3b /* signed numbers of 4 bytes, from the start of .eh_frame_hdr */

int frame_index_init(FrameIndex *ret, const uint8_t *bytes, size_t n_bytes, uint64_t address) {
        ByteReader reader;
        uint8_t version, section_encoding, count_encoding, table_encoding;
        uint64_t section, n_rows;

        byte_reader_init(&reader, bytes, n_bytes, address);
        version = (uint8_t)byte_read(&reader, 1);
        section_encoding = (uint8_t)byte_read(&reader, 1);
        count_encoding = (uint8_t)byte_read(&reader, 1);
        table_encoding = (uint8_t)byte_read(&reader, 1);
        if (reader.failed || version != INDEX_VERSION || count_encoding != COUNT_ENCODING ||
            table_encoding != TABLE_ENCODING || section_encoding == POINTER_OMITTED ||
            (section_encoding & POINTER_INDIRECT))
                return FRAME_INDEX_E_BAD;
        section = byte_read_pointer(&reader, section_encoding, address);
        n_rows = byte_read(&reader, 4);
        if (reader.failed || n_rows == 0 ||
            n_rows > byte_reader_left(&reader) / FRAME_INDEX_ROW_BYTES)
                return FRAME_INDEX_E_BAD;
        *ret = (FrameIndex){
                .rows = reader.at,
                .n_rows = (size_t)n_rows,
                .address = address,
                .section = section,
        };
        return 0;
}

static int32_t row_number(const FrameIndex *index, size_t row, size_t offset) {
        uint32_t number;

        memcpy(&number, index->rows + row * FRAME_INDEX_ROW_BYTES + offset, sizeof(number));
        return (int32_t)le32toh(number);
}

static uint64_t row_entry(const FrameIndex *index, size_t row) {
        return index->address + (uint64_t)(int64_t)row_number(index, row, 4) - index->section;
}

uint64_t frame_index_find(const FrameIndex *index, uint64_t address) {
        const int64_t wanted = (int64_t)(address - index->address);
        size_t first = 0, n = index->n_rows;

        if (row_number(index, 0, 0) > wanted)
                return UINT64_MAX;
        while (n > 1) {
                const size_t half = n / 2;

                if (row_number(index, first + half, 0) <= wanted)
                        first += half;
                n -= half;
        }
        return row_entry(index, first);
}

uint64_t frame_index_last(const FrameIndex *index) {
        uint64_t last = 0;

        for (size_t i = 0; i < index->n_rows; i++)
                last = MAX(last, row_entry(index, i));
        return last;
}
