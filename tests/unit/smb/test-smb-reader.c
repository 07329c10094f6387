/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "smb-fixture.h"

#define PAGE 4096u

static const struct {
        SmbLayout layout;
        uint32_t n_chunks, n_bytes; /* in a 4 KiB page, by Perfetto's ABI */
} layouts[] = {
        { SMB_LAYOUT_NONE, 0, 0 },    { SMB_LAYOUT_DIV1, 1, 4088 }, { SMB_LAYOUT_DIV2, 2, 2044 },
        { SMB_LAYOUT_DIV4, 4, 1020 }, { SMB_LAYOUT_DIV7, 7, 584 },  { SMB_LAYOUT_DIV14, 14, 292 },
};

static void set_state(Fixture *fixture, uint32_t page, uint32_t state) {
        atomic_store(&smb_page(&fixture->service, page)->state, state);
}

static uint32_t get_state(Fixture *fixture, uint32_t page) {
        return atomic_load(&smb_page(&fixture->service, page)->state);
}

static void
set_header(Fixture *fixture, size_t offset, uint32_t chunk_id, uint16_t writer, uint16_t packets) {
        SmbChunkHeader *header = (SmbChunkHeader *)(fixture->service.pages + offset);

        atomic_store(&header->chunk_id, chunk_id);
        atomic_store(&header->writer_id, writer);
        atomic_store(&header->packets, packets);
}

START_TEST(test_layouts_are_perfettos) {
        for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
                ck_assert_uint_eq(smb_layout_chunks(layouts[i].layout), layouts[i].n_chunks);
                ck_assert_uint_eq(smb_chunk_bytes(PAGE, layouts[i].layout), layouts[i].n_bytes);
        }
        ck_assert_uint_eq(smb_chunk_bytes(32768, SMB_LAYOUT_DIV1), 32760);
        ck_assert_uint_eq(smb_layout_chunks((SmbLayout)6), 0);
        ck_assert_uint_eq(smb_layout_chunks((SmbLayout)7), 0);
}
END_TEST

START_TEST(test_only_documented_sizes_are_valid) {
        ck_assert(smb_sizes_valid(4096, 4096));
        ck_assert(smb_sizes_valid(SMB_PAGES_BYTES_MAX, 32768));
        ck_assert(!smb_sizes_valid(0, 4096));
        ck_assert(!smb_sizes_valid(6000, 4096));
        ck_assert(!smb_sizes_valid(2048, 2048));
        ck_assert(!smb_sizes_valid(12288, 12288));
        ck_assert(!smb_sizes_valid(65536, 65536));
        ck_assert(!smb_sizes_valid(SMB_PAGES_BYTES_MAX + 4096, 4096));
}
END_TEST

START_TEST(test_memory_that_is_not_ours_is_not_attached) {
        SmbControl *control;
        Fixture fixture;
        SmbArea area;

        fixture_init(&fixture, 8 * PAGE, PAGE);
        control = fixture.service.control;
        ck_assert_int_eq(smb_area_attach(&area, fixture.memory, fixture.n_bytes - 1), -EBADMSG);
        ck_assert_int_eq(smb_area_attach(&area, fixture.memory, 100), -EBADMSG);

#define REFUSED(member, value)                                                            \
        do {                                                                              \
                uint32_t was = control->geometry.member;                                  \
                                                                                          \
                control->geometry.member = (value);                                       \
                ck_assert_int_eq(smb_area_attach(&area, fixture.memory, fixture.n_bytes), \
                                 -EBADMSG);                                               \
                control->geometry.member = was;                                           \
        } while (0)

        REFUSED(magic, 1);
        REFUSED(version, SMB_CONTROL_VERSION + 1);
        REFUSED(page_bytes, 0);
        REFUSED(page_bytes, 8192);
        REFUSED(page_bytes, UINT32_MAX);
        REFUSED(n_pages, 0);
        REFUSED(n_pages, 9);
        REFUSED(n_pages, UINT32_MAX);
        REFUSED(n_slots, 0);
        REFUSED(n_slots, 65);
        REFUSED(n_slots, 1u << 31);
        REFUSED(pages_offset, 0);
        REFUSED(pages_offset, UINT32_MAX & ~(PAGE - 1));
        ck_assert_int_eq(smb_area_attach(&area, fixture.memory, fixture.n_bytes), 0);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_fresh_memory_has_nothing_in_it) {
        SmbCommit commit;
        Fixture fixture;
        SmbChunk chunk;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        ck_assert_int_eq(smb_next_commit(&fixture.service, &commit), SMB_E_EMPTY);
        ck_assert(smb_prepare_sleep(&fixture.service));
        ck_assert_uint_eq(smb_page_chunks(&fixture.service, 0), 0);
        ck_assert_int_eq(smb_take_chunk(&fixture.service, 0, 0, &chunk), SMB_E_EMPTY);
        ck_assert_int_eq(smb_peek_chunk(&fixture.service, 0, 0, &chunk), SMB_E_EMPTY);
        ck_assert_int_eq(smb_take_chunk(&fixture.service, 4, 0, &chunk), SMB_E_INVALID);
        ck_assert_int_eq(smb_peek_chunk(&fixture.service, UINT32_MAX, 0, &chunk), SMB_E_INVALID);
        ck_assert_int_eq(smb_take_chunk(&fixture.service, 0, 14, &chunk), SMB_E_INVALID);
        ck_assert_uint_eq(smb_page_chunks(&fixture.service, 4), 0);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_chunks_of_every_layout_are_taken_and_the_last_one_frees_the_page) {
        Fixture fixture;

        fixture_init(&fixture, 2 * PAGE, PAGE);
        for (size_t i = 1; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
                uint32_t state = (uint32_t)layouts[i].layout << 28;

                for (uint32_t c = 0; c < layouts[i].n_chunks; c++) {
                        set_header(&fixture,
                                   PAGE + 8 + c * layouts[i].n_bytes,
                                   100 + c,
                                   5,
                                   3 | 2 << 10);
                        state |= (uint32_t)SMB_CHUNK_COMPLETE << (2 * c);
                }
                set_state(&fixture, 1, state);
                ck_assert_uint_eq(smb_page_chunks(&fixture.service, 1), layouts[i].n_chunks);
                for (uint32_t c = 0; c < layouts[i].n_chunks; c++) {
                        SmbChunk chunk;

                        ck_assert_uint_ne(get_state(&fixture, 1), 0);
                        ck_assert_int_eq(smb_take_chunk(&fixture.service, 1, c, &chunk), 0);
                        ck_assert_uint_eq(chunk.chunk_id, 100 + c);
                        ck_assert_uint_eq(chunk.writer_id, 5);
                        ck_assert_uint_eq(chunk.n_fragments, 3);
                        ck_assert_uint_eq(chunk.flags, SMB_CHUNK_TO_BE_CONTINUED);
                        ck_assert(chunk.complete);
                        ck_assert_uint_eq(chunk.n_payload, layouts[i].n_bytes - 8);
                        ck_assert_int_eq(smb_take_chunk(&fixture.service, 1, c, &chunk),
                                         SMB_E_EMPTY);
                        smb_release_chunk(&fixture.service, &chunk);
                        ck_assert_int_eq(smb_peek_chunk(&fixture.service, 1, c, &chunk),
                                         SMB_E_EMPTY);
                }
                ck_assert_uint_eq(get_state(&fixture, 1), 0);
        }
        fixture_deinit(&fixture);
}
END_TEST

/* Every layout with every state of each chunk that fits a short loop, and bit 31 set. */
START_TEST(test_every_state_word_is_survived_and_stays_inside_the_page) {
        Fixture fixture;

        fixture_init(&fixture, 2 * PAGE, PAGE);
        memset(fixture.service.pages, 0xa5, 2 * PAGE);
        for (uint32_t word = 0; word < 1u << 16; word++) {
                /* 4 top bits, then the two lowest and the two highest chunks, the middle ones
                 * alike. */
                uint32_t state = (word >> 12) << 28 | (word & 0xf) | (word & 0xf0) << 20 |
                                 (word & 0xf00) << 8;

                for (uint32_t c = 0; c < SMB_CHUNKS_MAX; c++) {
                        SmbChunk chunk;

                        set_state(&fixture, 0, state);
                        if (smb_peek_chunk(&fixture.service, 0, c, &chunk) == 0) {
                                ck_assert(chunk.payload >= fixture.service.pages + 16);
                                ck_assert(chunk.payload + chunk.n_payload <=
                                          fixture.service.pages + PAGE);
                        }
                        if (smb_take_chunk(&fixture.service, 0, c, &chunk) == 0)
                                smb_release_chunk(&fixture.service, &chunk);
                }
        }
        for (size_t i = PAGE; i < 2 * PAGE; i++)
                ck_assert_int_eq(fixture.service.pages[i], 0xa5);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_a_layout_that_changes_between_take_and_release_does_no_harm) {
        SmbChunk chunk;
        Fixture fixture;

        fixture_init(&fixture, 2 * PAGE, PAGE);
        memset(fixture.service.pages + PAGE, 0x77, PAGE);
        set_header(&fixture, 8 + 13 * 292, 1, 1, 1);
        set_state(&fixture, 0, (uint32_t)SMB_LAYOUT_DIV14 << 28 | 3u << 26);
        ck_assert_int_eq(smb_take_chunk(&fixture.service, 0, 13, &chunk), 0);

        set_state(&fixture, 0, (uint32_t)SMB_LAYOUT_DIV1 << 28 | 2u << 26);
        smb_release_chunk(&fixture.service, &chunk);
        ck_assert_uint_eq(get_state(&fixture, 0), (uint32_t)SMB_LAYOUT_DIV1 << 28 | 2u << 26);
        set_state(&fixture, 0, 0);
        smb_release_chunk(&fixture.service, &chunk);
        ck_assert_uint_eq(get_state(&fixture, 0), 0);
        ck_assert_uint_eq(atomic_load(&fixture.service.control->n_freed), 0);
        for (size_t i = PAGE; i < 2 * PAGE; i++)
                ck_assert_int_eq(fixture.service.pages[i], 0x77);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_impossible_writer_ids_are_refused_and_the_chunk_is_freed) {
        static const uint16_t ids[] = { 0, SMB_NATIVE_WRITERS_MAX, SMB_WRITER_MAX, UINT16_MAX };
        SmbArea plain;
        Fixture fixture;
        SmbChunk chunk;

        fixture_init(&fixture, PAGE, PAGE);
        for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
                set_header(&fixture, 8, 1, ids[i], 1);
                set_state(&fixture, 0, (uint32_t)SMB_LAYOUT_DIV1 << 28 | SMB_CHUNK_COMPLETE);
                ck_assert_int_eq(smb_peek_chunk(&fixture.service, 0, 0, &chunk), SMB_E_INVALID);
                ck_assert_int_eq(smb_take_chunk(&fixture.service, 0, 0, &chunk), SMB_E_INVALID);
                ck_assert_uint_eq(get_state(&fixture, 0), 0);
                ck_assert_uint_eq(smb_writer_buffer(&fixture.service, ids[i]), 0);
        }

        /* Perfetto's producers may use all that the ABI has. */
        smb_area_create_plain(&plain, fixture.service.pages, PAGE, PAGE);
        set_header(&fixture, 8, 1, SMB_WRITER_MAX, 1);
        set_state(&fixture, 0, (uint32_t)SMB_LAYOUT_DIV1 << 28 | SMB_CHUNK_COMPLETE);
        ck_assert_int_eq(smb_take_chunk(&plain, 0, 0, &chunk), 0);
        smb_release_chunk(&plain, &chunk);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_memory_without_control_area_is_always_quiet) {
        static _Alignas(4096) uint8_t memory[2 * PAGE];
        SmbCommit commit;
        SmbArea area;

        smb_area_create_plain(&area, memory, sizeof(memory), PAGE);
        ck_assert_int_eq(smb_next_commit(&area, &commit), SMB_E_EMPTY);
        ck_assert(smb_prepare_sleep(&area));
        ck_assert(!smb_take_rescan(&area));
        ck_assert_uint_eq(smb_n_dropped(&area), 0);
        ck_assert_uint_eq(smb_writer_buffer(&area, 1), 0);
        smb_wake(&area);
}
END_TEST

START_TEST(test_commits_of_what_does_not_exist_are_passed_on_for_take_to_refuse) {
        SmbCommit commit;
        SmbSlot *slots;
        Fixture fixture;
        SmbChunk chunk;

        fixture_init(&fixture, PAGE, PAGE);
        slots = fixture.service.control->slots;
        atomic_store(&slots[0].a, 0x80000000);
        atomic_store(&slots[0].b, UINT32_MAX);
        atomic_store(&slots[0].turn, 1);
        atomic_store(&slots[1].a, SMB_SLOT_RETIRE); /* of a writer that cannot be */
        atomic_store(&slots[1].b, UINT32_MAX);
        atomic_store(&slots[1].turn, 1);
        ck_assert_int_eq(smb_next_commit(&fixture.service, &commit), 0);
        ck_assert_int_eq(smb_take_chunk(&fixture.service, commit.page, commit.chunk, &chunk),
                         SMB_E_INVALID);
        ck_assert_int_eq(smb_next_commit(&fixture.service, &commit), SMB_E_EMPTY);
        ck_assert_uint_eq(fixture.service.head, 2);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_a_producer_that_keeps_writing_cannot_hold_the_service) {
        SmbCommit commit;
        Fixture fixture;
        uint32_t n = 0;

        fixture_init(&fixture, PAGE, PAGE);
        for (uint32_t i = 0; i < SMB_SLOTS_MIN; i++)
                atomic_store(&fixture.service.control->slots[i].turn, 1);
        while (smb_next_commit(&fixture.service, &commit) == 0) {
                ck_assert_uint_lt(n++, fixture.service.n_slots);
                /* The slot just read is filled again, out of turn. */
                atomic_store(&fixture.service.control->slots[(n - 1) % SMB_SLOTS_MIN].turn,
                             SMB_SLOTS_MIN + 1);
        }
        ck_assert_uint_eq(n, fixture.service.n_slots);
        ck_assert_int_eq(smb_next_commit(&fixture.service, &commit), 0); /* and goes on next time */
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_a_retirement_waits_for_the_rescan_that_is_due) {
        SmbCommit commit;
        Fixture fixture;

        fixture_init(&fixture, PAGE, PAGE);
        atomic_store(&fixture.service.control->writer_buffer[9], 4);
        atomic_store(&fixture.service.control->slots[0].a, SMB_SLOT_RETIRE);
        atomic_store(&fixture.service.control->slots[0].b, 9);
        atomic_store(&fixture.service.control->slots[0].turn, 1);
        atomic_store(&fixture.service.control->rescan, 1);
        ck_assert_int_eq(smb_next_commit(&fixture.service, &commit), SMB_E_EMPTY);
        ck_assert_uint_eq(smb_writer_buffer(&fixture.service, 9), 4);
        ck_assert(smb_take_rescan(&fixture.service));
        ck_assert_int_eq(smb_next_commit(&fixture.service, &commit), SMB_E_EMPTY);
        ck_assert_uint_eq(smb_writer_buffer(&fixture.service, 9), 0);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_a_chunk_whose_writer_died_is_readable_up_to_the_last_finished_packet) {
        Stream streams[2] = { 0 };
        SmbWriter writer;
        Fixture fixture;
        SmbChunk chunk;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        ck_assert_int_eq(smb_writer_init(&writer, fixture.producer, 6, SMB_FULL_DROP, 0), 0);
        ck_assert_int_eq(smb_peek_chunk(&fixture.service, 0, 0, &chunk), SMB_E_EMPTY);
        ck_assert_int_eq(smb_writer_write(&writer, "one", 3), 0);
        ck_assert_int_eq(smb_writer_write(&writer, "three", 5), 0);
        memcpy(writer.at, "\x40half a pack", 12); /* and there it was killed */

        ck_assert_int_eq(smb_take_chunk(&fixture.service, 0, 0, &chunk), SMB_E_EMPTY);
        ck_assert_int_eq(smb_peek_chunk(&fixture.service, 0, 0, &chunk), 0);
        ck_assert(!chunk.complete);
        ck_assert_uint_eq(smb_writer_buffer(&fixture.service, chunk.writer_id), 6);
        stream_chunk(&streams[1], &chunk);
        ck_assert_uint_eq(streams[1].n_packets, 2);
        bytes_deinit(&streams[1].packet);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_a_count_beyond_what_fits_is_told_as_it_is) {
        SmbChunk chunk;
        Fixture fixture;

        fixture_init(&fixture, PAGE, PAGE);
        set_header(&fixture, 8, 1, 1, UINT16_MAX);
        set_state(&fixture, 0, (uint32_t)SMB_LAYOUT_DIV14 << 28 | SMB_CHUNK_COMPLETE);
        ck_assert_int_eq(smb_take_chunk(&fixture.service, 0, 0, &chunk), 0);
        ck_assert_uint_eq(chunk.n_fragments, SMB_FRAGMENTS_MAX);
        ck_assert_uint_eq(chunk.flags, 0x3f);
        ck_assert_uint_eq(chunk.n_payload, 284);
        fixture_deinit(&fixture);
}
END_TEST

/*
 * After another process
 */

/* The same memory, as the process that comes after this one finds it. */
static void find_again(Fixture *fixture) {
        SmbArea next;

        smb_area_find(&next, fixture->memory, fixture->service.n_pages * PAGE, PAGE);
        fixture->service = next;
}

START_TEST(test_chunks_that_a_killed_service_was_reading_are_given_back) {
        Fixture fixture;
        SmbChunk chunk;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        atomic_store(&fixture.service.control->n_used_pages, 3);
        atomic_store(&fixture.service.control->sleeping, 1);
        set_header(&fixture, 8, 1, 1, 1);        /* was being read */
        set_header(&fixture, 8 + 2044, 0, 0, 0); /* was being freed */
        set_state(&fixture,
                  0,
                  (uint32_t)SMB_LAYOUT_DIV2 << 28 | SMB_CHUNK_BEING_READ |
                          SMB_CHUNK_BEING_READ << 2);
        set_header(&fixture, PAGE + 8, 2, 1, 1);
        set_state(&fixture, 1, (uint32_t)SMB_LAYOUT_DIV1 << 28 | SMB_CHUNK_BEING_WRITTEN);
        set_header(&fixture, 2 * PAGE + 8, 3, SMB_WRITER_MAX + 1, 1);
        set_state(&fixture, 2, (uint32_t)SMB_LAYOUT_DIV1 << 28 | SMB_CHUNK_BEING_READ);
        set_header(&fixture, 3 * PAGE + 8, 4, 1, 1); /* behind those that are used */
        set_state(&fixture, 3, (uint32_t)SMB_LAYOUT_DIV1 << 28 | SMB_CHUNK_BEING_READ);

        find_again(&fixture);
        ck_assert_uint_eq(get_state(&fixture, 0),
                          (uint32_t)SMB_LAYOUT_DIV2 << 28 | SMB_CHUNK_COMPLETE);
        ck_assert_uint_eq(get_state(&fixture, 1),
                          (uint32_t)SMB_LAYOUT_DIV1 << 28 | SMB_CHUNK_BEING_WRITTEN);
        ck_assert_uint_eq(get_state(&fixture, 3),
                          (uint32_t)SMB_LAYOUT_DIV1 << 28 | SMB_CHUNK_BEING_READ);
        ck_assert_uint_eq(atomic_load(&fixture.service.control->n_freed), 1);
        ck_assert_uint_eq(atomic_load(&fixture.service.control->sleeping), 0);
        ck_assert(smb_take_rescan(&fixture.service));
        ck_assert_int_eq(smb_take_chunk(&fixture.service, 0, 0, &chunk), 0);
        ck_assert_uint_eq(chunk.chunk_id, 1);
        ck_assert_int_eq(smb_take_chunk(&fixture.service, 2, 0, &chunk), SMB_E_INVALID);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_commits_that_a_killed_service_has_passed_are_not_passed_again) {
        SmbWriter writers[3];
        SmbCommit commit;
        Fixture fixture;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        for (unsigned i = 0; i < 3; i++) {
                ck_assert_int_eq(
                        smb_writer_init(&writers[i], fixture.producer, 6, SMB_FULL_DROP, 0), 0);
                ck_assert_int_eq(smb_writer_write(&writers[i], "packet", 6), 0);
                smb_writer_flush(&writers[i]);
        }
        ck_assert_int_eq(smb_next_commit(&fixture.service, &commit), 0);
        ck_assert_uint_eq(commit.page, 0);
        find_again(&fixture);
        ck_assert_int_eq(smb_next_commit(&fixture.service, &commit), 0);
        ck_assert_uint_eq(commit.page, 1);
        /* It was killed between the two. */
        atomic_fetch_sub(&fixture.service.control->head, 1);
        find_again(&fixture);
        ck_assert_int_eq(smb_next_commit(&fixture.service, &commit), 0);
        ck_assert_uint_eq(commit.page, 2);
        ck_assert_int_eq(smb_next_commit(&fixture.service, &commit), SMB_E_EMPTY);
        fixture_deinit(&fixture);
}
END_TEST

TEST_MAIN("smb-reader",
          test_layouts_are_perfettos,
          test_only_documented_sizes_are_valid,
          test_memory_that_is_not_ours_is_not_attached,
          test_fresh_memory_has_nothing_in_it,
          test_chunks_of_every_layout_are_taken_and_the_last_one_frees_the_page,
          test_every_state_word_is_survived_and_stays_inside_the_page,
          test_a_layout_that_changes_between_take_and_release_does_no_harm,
          test_impossible_writer_ids_are_refused_and_the_chunk_is_freed,
          test_memory_without_control_area_is_always_quiet,
          test_commits_of_what_does_not_exist_are_passed_on_for_take_to_refuse,
          test_a_producer_that_keeps_writing_cannot_hold_the_service,
          test_a_retirement_waits_for_the_rescan_that_is_due,
          test_a_chunk_whose_writer_died_is_readable_up_to_the_last_finished_packet,
          test_a_count_beyond_what_fits_is_told_as_it_is,
          test_chunks_that_a_killed_service_was_reading_are_given_back,
          test_commits_that_a_killed_service_has_passed_are_not_passed_again)
