/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Call frame information: .eh_frame, one function at a time */

#include "unwind/cfi.h"

#define AUGMENTATION_MAX 8
#define LONG_LENGTH      UINT32_C(0xffffffff)

/* Reads a record's body. The length takes 4 bytes, or 12 for a record too long for that. */
static int read_record(ByteReader *ret, const CfiSection *section, size_t offset) {
        ByteReader reader;
        uint64_t n;

        if (offset >= section->n_bytes)
                return CFI_E_BAD;
        byte_reader_init(&reader, section->bytes, section->n_bytes, section->address);
        byte_skip(&reader, offset);
        n = byte_read(&reader, 4);
        if (n == LONG_LENGTH)
                n = byte_read(&reader, 8);
        if (reader.failed || n == 0 || n > byte_reader_left(&reader))
                return CFI_E_BAD;
        reader.end = reader.at + n;
        *ret = reader;
        return 0;
}

size_t cfi_record_end(const CfiSection *section, size_t offset) {
        ByteReader reader;

        return read_record(&reader, section, offset) ? section->n_bytes
                                                     : (size_t)(reader.end - reader.start);
}

static void read_augmentation(CfiEntry *entry, ByteReader *reader, const char *letters) {
        for (; *letters; letters++)
                switch (*letters) {
                case 'R':
                        entry->pointer_encoding = (uint8_t)byte_read(reader, 1);
                        break;
                case 'P': /* the personality routine: C++'s, not ours */
                        (void)byte_read_pointer(reader, (uint8_t)byte_read(reader, 1), 0);
                        break;
                case 'L':
                        (void)byte_read(reader, 1);
                        break;
                case 'S':
                        entry->is_signal_frame = true;
                        break;
                case 'B': /* arm64: return addresses are signed with another key */
                case 'G':
                        break;
                default: /* an unknown letter: its data can only be skipped */
                        return;
                }
}

static int read_letters(char *ret, ByteReader *reader) {
        for (size_t i = 0; i < AUGMENTATION_MAX; i++) {
                ret[i] = (char)byte_read(reader, 1);
                if (reader->failed)
                        return CFI_E_BAD;
                if (!ret[i])
                        return 0;
        }
        return CFI_E_BAD;
}

static CfiProgram rest_as_program(const ByteReader *reader) {
        return (CfiProgram){
                .bytes = reader->at,
                .n_bytes = byte_reader_left(reader),
                .address = reader->address + (uint64_t)(reader->at - reader->start),
        };
}

static int read_augmentation_data(CfiEntry *entry, ByteReader *reader, const char *letters) {
        ByteReader data = *reader;
        uint64_t n;

        if (letters[0] == '\0')
                return 0;
        if (letters[0] != 'z')
                return CFI_E_BAD;
        entry->has_lengths = true;
        n = byte_read_uleb(reader);
        data = *reader;
        byte_skip(reader, n);
        if (reader->failed)
                return CFI_E_BAD;
        data.end = reader->at;
        read_augmentation(entry, &data, letters + 1);
        return data.failed ? CFI_E_BAD : 0;
}

/* What functions share (CIE). */
static int read_common(CfiEntry *entry, const CfiSection *section, size_t offset) {
        char letters[AUGMENTATION_MAX];
        ByteReader reader;
        uint64_t version;

        if (read_record(&reader, section, offset) || byte_read(&reader, 4) != 0)
                return CFI_E_BAD;
        version = byte_read(&reader, 1);
        if ((version != 1 && version != 3) || read_letters(letters, &reader))
                return CFI_E_BAD;
        entry->code_factor = byte_read_uleb(&reader);
        entry->data_factor = byte_read_sleb(&reader);
        entry->return_register =
                (uint8_t)(version == 1 ? byte_read(&reader, 1) : byte_read_uleb(&reader));
        if (reader.failed || read_augmentation_data(entry, &reader, letters))
                return CFI_E_BAD;
        entry->common = rest_as_program(&reader);
        return 0;
}

int cfi_entry_read(CfiEntry *ret, const CfiSection *section, size_t offset) {
        CfiEntry entry = {};
        ByteReader reader;
        uint64_t here, back, n;

        if (read_record(&reader, section, offset))
                return CFI_E_BAD;
        here = (uint64_t)(reader.at - reader.start);
        back = byte_read(&reader, 4);
        if (back == 0 || back > here || read_common(&entry, section, here - back))
                return CFI_E_BAD;
        entry.start = byte_read_pointer(&reader, entry.pointer_encoding, 0);
        n = byte_read_pointer(&reader, entry.pointer_encoding & POINTER_FORM, 0);
        if (__builtin_add_overflow(entry.start, n, &entry.end))
                return CFI_E_BAD;
        if (entry.has_lengths)
                byte_skip(&reader, byte_read_uleb(&reader));
        if (reader.failed)
                return CFI_E_BAD;
        entry.own = rest_as_program(&reader);
        *ret = entry;
        return 0;
}
