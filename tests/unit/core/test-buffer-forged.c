/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The files of a kept buffer, changed by hand before they are adopted: what cannot be is left out and counted, and the
 * rest can be read and written on.
 */

#include "buffer-script.h"
#include "buffer/mapping.h"
#include "buffer/trace-buffer-private.h"

#define SEGMENT_BYTES 1024
#define N_SEGMENTS    4
#define N_SEQUENCES   64

/* A buffer that nobody has, and what is in its files. */
typedef struct Files {
        int index_fd, segments_fd;
        BufferIndexFile index;
        Sequence *sequences;
} Files;

static void put(TraceBuffer *buffer, unsigned writer, uint32_t id, const char *text) {
        const Step step = PUT(writer, id, 0, text);

        ck_assert_int_eq(script_put(buffer, &step), 0);
}

/* Slot 0 has chunks of 1 and 2, slot 1 one of 1, slot 2 one of 3. */
static void files_init(Files *files) {
        BufferShape shape;
        TraceBuffer *buffer;
        void *memory;

        ck_assert_int_eq(
                trace_buffer_new_kept(
                        &buffer, N_SEGMENTS * SEGMENT_BYTES, SEGMENT_BYTES, TRACE_BUFFER_RING),
                0);
        put(buffer, 1, 0, "a100");
        put(buffer, 2, 0, "b100");
        put(buffer, 1, 1, "c800");
        put(buffer, 3, 0, "d800");
        ck_assert(trace_buffer_files(buffer, &files->index_fd, &files->segments_fd));
        files->index_fd = fcntl(files->index_fd, F_DUPFD_CLOEXEC, 3);
        files->segments_fd = fcntl(files->segments_fd, F_DUPFD_CLOEXEC, 3);
        trace_buffer_leave(buffer);
        ck_assert_int_eq(buffer_index_find(&files->index, files->index_fd, &shape), 0);
        ck_assert_int_eq(mapping_new(&memory,
                                     N_SEQUENCES * sizeof(Sequence),
                                     files->index_fd,
                                     files->index.sequences_at),
                         0);
        files->sequences = memory;
}

static Record *files_record(const Files *files, size_t slot, size_t i) {
        return &files->index.records[slot * (SEGMENT_BYTES / TRACE_BUFFER_RECORD_BYTES) + i];
}

/* The mappings end; the files are the buffer's. */
static TraceBuffer *files_adopt(Files *files, TraceBufferFound *found) {
        TraceBuffer *buffer = NULL;

        mapping_free(files->sequences, N_SEQUENCES * sizeof(Sequence));
        files->index.fd = -1;
        buffer_index_deinit(&files->index);
        *found = (TraceBufferFound){};
        ck_assert_int_eq(trace_buffer_adopt(&buffer, files->index_fd, files->segments_fd, found),
                         0);
        return buffer;
}

/* What is read, and that it goes on: all slots can be written to, and an adoption after that finds nothing broken. */
static void files_check(Files *files, const char *text, size_t n_records, size_t n_slots) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL, *look = NULL;
        TraceBufferFound found;

        buffer = files_adopt(files, &found);
        ck_assert_uint_eq(found.n_records_broken, n_records);
        ck_assert_uint_eq(found.n_slots_broken, n_slots);
        ck_assert_int_eq(trace_buffer_clone(&look, buffer, 0), 0);
        ck_assert_str_eq(script_read(look), text);
        for (uint32_t i = 0; i < 3 * N_SEGMENTS; i++) /* each slot comes round */
                put(buffer, 9, i, "z900");
        script_adopt(&buffer);
        ck_assert_ptr_nonnull(strstr(script_read(buffer), "9:z900"));
        ck_assert_str_eq(script_read(buffer), "");
}

START_TEST(test_nothing_changed_is_nothing_lost) {
        Files files;

        files_init(&files);
        files_check(&files, "1:a100 2:b100 1:c800 3:d800", 0, 0);
}
END_TEST

typedef struct Change {
        const char *name;
        size_t at; /* in Record */
        uint16_t value;
} Change;

START_TEST(test_record_that_cannot_be_is_left_out) {
        static const Change changes[] = {
                { "payload beyond its room", offsetof(Record, n_payload), 129 },
                { "room for more than a chunk", offsetof(Record, n_room), UINT16_MAX },
                { "room beyond the segment", offsetof(Record, n_room), SEGMENT_BYTES },
                { "read beyond the payload", offsetof(Record, n_consumed), 103 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
                Files files;

                files_init(&files);
                memcpy((uint8_t *)files_record(&files, 0, 1) + changes[i].at,
                       &changes[i].value,
                       sizeof(changes[i].value));
                if (changes[i].at == offsetof(Record, n_payload))
                        files_record(&files, 0, 1)->n_room = 128;
                printf("# %s\n", changes[i].name);
                files_check(&files, "1:a100 1:c800 3:d800", 1, 0);
        }
}
END_TEST

START_TEST(test_record_outside_of_its_segment_is_left_out) {
        static const uint32_t offsets[] = {
                0, PAYLOAD_SKEW - 1, SEGMENT_BYTES, SEGMENT_BYTES + 1, UINT32_MAX
        };

        for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
                Files files;

                files_init(&files);
                files_record(&files, 0, 1)->offset = offsets[i];
                files_check(&files, "1:a100 1:c800 3:d800", 1, 0);
        }
}
END_TEST

START_TEST(test_record_of_nobody_is_left_out) {
        Files files;

        files_init(&files);
        files_record(&files, 0, 1)->index = 3; /* there are 0 to 2 */
        files_check(&files, "1:a100 1:c800 3:d800", 1, 0);
        files_init(&files);
        files.sequences[files_record(&files, 0, 1)->index].is_used = 0;
        files_check(&files, "1:a100 1:c800 3:d800", 1, 0);
}
END_TEST

START_TEST(test_flags_that_there_are_not_do_not_count) {
        Files files;

        files_init(&files);
        files_record(&files, 0, 1)->flags |= (uint8_t)~RECORD_FLAGS;
        files_check(&files, "1:a100 2:b100 1:c800 3:d800", 0, 0);
}
END_TEST

START_TEST(test_slot_with_more_than_it_can_hold_is_left_out) {
        Files files;

        files_init(&files);
        files.index.slots[0].n_records = SEGMENT_BYTES / TRACE_BUFFER_RECORD_BYTES + 1;
        files_check(&files, "1:c800 3:d800", 0, 1);
        /* All together: records and payloads share the segment. */
        files_init(&files);
        files.index.slots[1].n_records = SEGMENT_BYTES / TRACE_BUFFER_RECORD_BYTES;
        files_check(&files, "1:a100 2:b100 3:d800", 0, 1);
}
END_TEST

START_TEST(test_slot_that_never_was_has_nothing) {
        Files files;

        files_init(&files);
        files.index.slots[3].n_records = 1;
        files_check(&files, "1:a100 2:b100 1:c800 3:d800", 0, 1);
}
END_TEST

START_TEST(test_place_belongs_to_one_slot) {
        Files files;

        files_init(&files);
        files.index.slots[1].place = files.index.slots[0].place;
        files_check(&files, "1:a100 2:b100 3:d800", 0, 1);
        files_init(&files);
        files.index.slots[1].place = UINT32_MAX;
        files_check(&files, "1:a100 2:b100 3:d800", 0, 1);
}
END_TEST

/* Of which all was read: its segment is already another's, and that is nobody's fault. */
START_TEST(test_slot_without_anything_to_read_may_have_lost_its_place) {
        Files files;

        files_init(&files);
        files_record(&files, 1, 0)->sequence = NULL;
        files.index.slots[1].place = files.index.slots[2].place;
        files_check(&files, "1:a100 2:b100 3:d800", 0, 0);
}
END_TEST

START_TEST(test_the_order_is_that_of_ages) {
        Files files;
        uint64_t age;

        files_init(&files);
        age = files.index.slots[1].age;
        files.index.slots[1].age = files.index.slots[2].age;
        files.index.slots[2].age = age;
        files.index.head->n_ages = 0; /* is found again */
        files_check(&files, "1:a100 2:b100 3:d800 1:c800", 0, 0);
}
END_TEST

/* The process was killed while a chunk existed in two places: the later copy is the complete one. */
START_TEST(test_of_a_chunk_that_is_there_twice_the_later_counts) {
        Files files;

        files_init(&files);
        files_record(&files, 2, 0)->index = files_record(&files, 0, 0)->index;
        files_record(&files, 2, 0)->chunk_id = 0;
        files_check(&files, "2:b100 1:d800 1:c800", 0, 0);
}
END_TEST

START_TEST(test_writer_that_is_there_twice_is_one) {
        Files files;

        files_init(&files);
        files.sequences[2].origin = files.sequences[0].origin;
        files_check(&files, "1:a100 2:b100 1:c800", 1, 0);
}
END_TEST

START_TEST(test_buffer_with_nothing_left_begins_again) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        TraceBufferFound found;
        Files files;

        files_init(&files);
        for (size_t i = 0; i < N_SEGMENTS; i++)
                files.index.slots[i].n_records = UINT32_MAX;
        buffer = files_adopt(&files, &found);
        ck_assert_uint_eq(found.n_slots_broken, N_SEGMENTS);
        ck_assert_str_eq(script_read(buffer), "");
        put(buffer, 9, 0, "z900");
        script_adopt(&buffer);
        ck_assert_str_eq(script_read(buffer), "9:z900");
}
END_TEST

/* Refused, and the descriptors are still the caller's. */
static void files_refused(Files *files, int outcome) {
        TraceBuffer *buffer = NULL;
        TraceBufferFound found;

        ck_assert_int_eq(trace_buffer_adopt(&buffer, files->index_fd, files->segments_fd, &found),
                         outcome);
        ck_assert_ptr_null(buffer);
        ck_assert_int_ge(fcntl(files->index_fd, F_GETFD), 0);
        ck_assert_int_ge(fcntl(files->segments_fd, F_GETFD), 0);
}

static void files_deinit(Files *files) {
        files_check(files, "1:a100 2:b100 1:c800 3:d800", 0, 0);
}

START_TEST(test_files_of_another_build_are_refused) {
        uint32_t *numbers[4];
        Files files;

        files_init(&files);
        numbers[0] = &files.index.head->layout;
        numbers[1] = &files.index.head->n_slot;
        numbers[2] = &files.index.head->n_record;
        numbers[3] = &files.index.head->n_sequence;
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
                ++*numbers[i];
                files_refused(&files, TRACE_BUFFER_E_LAYOUT);
                --*numbers[i];
        }
        files_deinit(&files);
}
END_TEST

START_TEST(test_heads_that_make_no_sense_are_refused) {
        BufferIndex *head, good;
        Files files;

        files_init(&files);
        head = files.index.head;
        good = *head;
        head->magic++;
        files_refused(&files, TRACE_BUFFER_E_BROKEN);
        *head = good;
        head->n_sequences_ever = (uint32_t)good.shape.n_sequences_max + 1;
        files_refused(&files, TRACE_BUFFER_E_BROKEN);
        *head = good;
        head->shape.policy = TRACE_BUFFER_DISCARD + 1;
        files_refused(&files, TRACE_BUFFER_E_BROKEN);
        *head = good;
        head->shape.n_bytes = TRACE_BUFFER_BYTES_MAX + SEGMENT_BYTES;
        files_refused(&files, TRACE_BUFFER_E_BROKEN);
        *head = good;
        head->shape.segment_bytes = 0;
        files_refused(&files, TRACE_BUFFER_E_BROKEN);
        *head = good;
        head->shape.segment_bytes = (UINT64_C(1) << 32) + SEGMENT_BYTES;
        files_refused(&files, TRACE_BUFFER_E_BROKEN);
        *head = good;
        head->shape.n_slots--;
        files_refused(&files, TRACE_BUFFER_E_BROKEN);
        *head = good;
        /* A shape that is possible, of a file that is larger. */
        ck_assert_int_eq(buffer_shape_init(&head->shape,
                                           64 * N_SEGMENTS * SEGMENT_BYTES,
                                           SEGMENT_BYTES,
                                           TRACE_BUFFER_RING),
                         0);
        files_refused(&files, TRACE_BUFFER_E_BROKEN);
        *head = good;
        files_deinit(&files);
}
END_TEST

START_TEST(test_segments_have_a_file_of_their_own) {
        Files files, wrong;

        files_init(&files);
        wrong = files;
        wrong.segments_fd = files.index_fd;
        files_refused(&wrong, TRACE_BUFFER_E_BROKEN);
        wrong = files;
        wrong.index_fd = files.segments_fd;
        files_refused(&wrong, TRACE_BUFFER_E_BROKEN);
        files_deinit(&files);
}
END_TEST

TEST_MAIN("buffer-forged",
          test_nothing_changed_is_nothing_lost,
          test_record_that_cannot_be_is_left_out,
          test_record_outside_of_its_segment_is_left_out,
          test_record_of_nobody_is_left_out,
          test_flags_that_there_are_not_do_not_count,
          test_slot_with_more_than_it_can_hold_is_left_out,
          test_slot_that_never_was_has_nothing,
          test_place_belongs_to_one_slot,
          test_slot_without_anything_to_read_may_have_lost_its_place,
          test_the_order_is_that_of_ages,
          test_of_a_chunk_that_is_there_twice_the_later_counts,
          test_writer_that_is_there_twice_is_one,
          test_buffer_with_nothing_left_begins_again,
          test_files_of_another_build_are_refused,
          test_heads_that_make_no_sense_are_refused,
          test_segments_have_a_file_of_their_own)
