/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Producers: registration and its limits, shared memory and what a hostile one can put there. */

#include <errno.h>

#include "core/model/producer.h"
#include "core/model/service.h"
#include "core/model/session-buffer.h"
#include "fixture.h"
#include "smb/smb-reader.h"

static Fixture f;

static FakeConsumer *start_with_writer(FakeProducer **ret_app, SmbWriter **ret_writer) {
        FakeConsumer *consumer;

        fixture_init(&f);
        *ret_app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        *ret_writer = fake_writer_new(*ret_app, fake_instance(*ret_app, "track_event"));
        return consumer;
}

/*
 * Registration
 */

static int add_source(FakeProducer *producer, const char *name, const void *descriptor, size_t n) {
        return producer_add_source(producer->producer,
                                   name,
                                   &(SourceOptions){ .descriptor = descriptor, .n_descriptor = n },
                                   f.now);
}

START_TEST(test_reserved_names_are_the_machines) {
        FakeProducer *app, *root, *probes;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", NULL);
        root = fixture_connect_producer(&f, 0, "root", NULL);
        probes = fixture_connect_producer(&f, 991, "probes", NULL);
        ck_assert_int_eq(add_source(app, "linux.ftrace", NULL, 0), PRODUCER_E_RESERVED);
        ck_assert_int_eq(add_source(app, "desktrace.x", NULL, 0), PRODUCER_E_RESERVED);
        ck_assert_int_eq(add_source(app, "linux", NULL, 0), 0);
        ck_assert_int_eq(add_source(root, "linux.ftrace", NULL, 0), 0);
        ck_assert_int_eq(add_source(probes, "linux.ftrace", NULL, 0), 0);
        ck_assert_uint_eq(producer_n_sources(app->producer), 1);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_bad_names_and_descriptors_are_refused) {
        static const uint8_t other_name[] = { 0x0a, 1, 'b' };
        static const uint8_t truncated[] = { 0x0a, 9, 'a' };
        char long_name[SOURCE_NAME_MAX + 2];
        FakeProducer *app;
        Producer *producer;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", NULL);
        memset(long_name, 'a', sizeof(long_name) - 1);
        long_name[sizeof(long_name) - 1] = 0;
        ck_assert_int_eq(add_source(app, "", NULL, 0), PRODUCER_E_INVALID);
        ck_assert_int_eq(add_source(app, long_name, NULL, 0), PRODUCER_E_INVALID);
        ck_assert_int_eq(add_source(app, "a\nb", NULL, 0), PRODUCER_E_INVALID);
        ck_assert_int_eq(add_source(app, "\xc3\xa4", NULL, 0), PRODUCER_E_INVALID);
        ck_assert_int_eq(add_source(app, "a", other_name, sizeof(other_name)), PRODUCER_E_INVALID);
        ck_assert_int_eq(add_source(app, "a", truncated, sizeof(truncated)), PRODUCER_E_INVALID);
        ck_assert_int_eq(producer_new(&producer,
                                      f.service,
                                      &(Identity){ .uid = 1000 },
                                      "",
                                      &(ProducerOptions){},
                                      &(ProducerOps){},
                                      NULL),
                         PRODUCER_E_INVALID);
        ck_assert_uint_eq(producer_n_sources(app->producer), 0);
        ck_assert_uint_eq(service_n_producers(f.service), 1);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_sources_and_their_descriptors_are_limited) {
        static uint8_t large[SOURCE_DESCRIPTOR_BYTES_MAX + 1];
        FakeProducer *app;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", NULL);
        ck_assert_int_eq(add_source(app, "large", large, sizeof(large)), PRODUCER_E_LIMIT);
        for (unsigned i = 0; i < PRODUCER_SOURCES_MAX; i++) {
                char name[] = { 's', (char)('0' + i / 10), (char)('0' + i % 10), 0 };

                ck_assert_int_eq(add_source(app, name, NULL, 0), 0);
        }
        ck_assert_int_eq(add_source(app, "one-more", NULL, 0), PRODUCER_E_LIMIT);
        ck_assert_int_eq(add_source(app, "s00", NULL, 0), 0); /* it has this one */
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_producers_are_limited_by_user) {
        static Producer *producers[SERVICE_PRODUCERS_PER_USER_MAX + 1];
        const Identity mine = { .uid = 1000 }, theirs = { .uid = 1001 };
        size_t n = 0;

        fixture_init(&f);
        while (n < SERVICE_PRODUCERS_PER_USER_MAX)
                ck_assert_int_eq(producer_new(&producers[n++],
                                              f.service,
                                              &mine,
                                              "p",
                                              &(ProducerOptions){},
                                              &(ProducerOps){},
                                              NULL),
                                 0);
        ck_assert_int_eq(producer_new(&producers[n],
                                      f.service,
                                      &mine,
                                      "p",
                                      &(ProducerOptions){},
                                      &(ProducerOps){},
                                      NULL),
                         PRODUCER_E_LIMIT);
        ck_assert_int_eq(producer_new(&producers[n++],
                                      f.service,
                                      &theirs,
                                      "p",
                                      &(ProducerOptions){},
                                      &(ProducerOps){},
                                      NULL),
                         0);
        while (n > 0)
                producer_free(producers[--n]);
        ck_assert_uint_eq(service_n_producers(f.service), 0);
        fixture_deinit(&f);
}
END_TEST

/*
 * Shared memory
 */

START_TEST(test_memory_is_made_once_at_the_first_setup) {
        FakeProducer *app;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        ck_assert_uint_eq(producer_memory_bytes(app->producer), 0);
        fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ck_assert_uint_eq(app->pages_bytes, SMB_PAGES_BYTES_DEFAULT);
        ck_assert_uint_eq(app->page_bytes, SMB_PAGE_BYTES_DEFAULT);
        ck_assert_uint_ge(producer_memory_bytes(app->producer), SMB_PAGES_BYTES_DEFAULT);
        fixture_start_session(
                &f,
                1000,
                CONFIG_ONE("track_event") "producers { producer_name: \"app\" shm_size_kb: 64 }");
        ck_assert_uint_eq(app->pages_bytes, SMB_PAGES_BYTES_DEFAULT);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_memory_size_is_the_configs_the_producers_or_the_default) {
        static const struct {
                size_t hint_bytes, hint_page;
                const char *config;
                size_t bytes, page;
        } cases[] = {
                { 4 << 20, 32768, "", 4 << 20, 32768 },
                { 4 << 20,
                  32768,
                  "producers { producer_name: \"app\" shm_size_kb: 64 page_size_kb: 8 }",
                  64 << 10,
                  8192 },
                { 4 << 20,
                  32768,
                  "producers { producer_name: \"other\" shm_size_kb: 64 }",
                  4 << 20,
                  32768 },
                { 0,
                  0,
                  "producers { producer_name: \"app\" shm_size_kb: 4000000 }",
                  SMB_PAGES_BYTES_MAX,
                  4096 },
                { 0,
                  0,
                  "producers { producer_name: \"app\" shm_size_kb: 64 page_size_kb: 12 }",
                  SMB_PAGES_BYTES_DEFAULT,
                  SMB_PAGE_BYTES_DEFAULT },
                { 10000, 4096, "", SMB_PAGES_BYTES_DEFAULT, SMB_PAGE_BYTES_DEFAULT },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char config[512] = CONFIG_ONE("track_event");
                FakeProducer *app;

                fixture_init(&f);
                app = fixture_connect_producer(&f, 1000, "app", "track_event");
                app->producer->options.memory_bytes = cases[i].hint_bytes;
                app->producer->options.page_bytes = (uint32_t)cases[i].hint_page;
                fixture_start_session(&f, 1000, strcat(config, cases[i].config));
                ck_assert_uint_eq(app->pages_bytes, cases[i].bytes);
                ck_assert_uint_eq(app->page_bytes, cases[i].page);
                fixture_deinit(&f);
        }
}
END_TEST

START_TEST(test_failed_memory_ends_the_instance_with_a_reason) {
        FakeProducer *app;
        FakeConsumer *consumer;
        InstanceInfo info;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        app->memory_error = -EMFILE;
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        session_instance(consumer->session, 0, &info);
        ck_assert_int_eq(info.state, INSTANCE_STOPPED);
        ck_assert_str_eq(info.why, strerror(EMFILE));
        ck_assert_uint_eq(app->n_instances, 0);
        ck_assert_uint_eq(f.service->quota.used[QUOTA_MEMORY_BYTES], 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_shared_memory_is_limited_by_user) {
        FakeProducer *app;
        FakeConsumer *consumer;
        InstanceInfo info;
        Charge charge = {};

        fixture_init(&f);
        ck_assert_int_eq(quota_charge(&f.service->quota,
                                      &charge,
                                      1000,
                                      QUOTA_MEMORY_BYTES,
                                      quota_user_max(&f.service->quota, QUOTA_MEMORY_BYTES) -
                                              SMB_PAGES_BYTES_DEFAULT),
                         0);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        session_instance(consumer->session, 0, &info);
        ck_assert_int_eq(info.state, INSTANCE_STOPPED);
        ck_assert_ptr_nonnull(strstr(info.why, "SERVICE_MEMORY_BYTES_PER_USER_MAX"));
        ck_assert_ptr_null(app->memory);
        charge_deinit(&charge);
        fixture_deinit(&f);
}
END_TEST

/* A producer that takes everything and needs no memory of its own. */
static int small_memory(void *peer, size_t pages_bytes, uint32_t page_bytes, SmbArea *ret) {
        static _Alignas(4096) uint8_t page[4096];

        smb_area_create_plain(ret, page, sizeof(page), sizeof(page));
        return 0;
}

static void
ignore_setup(void *peer, uint64_t id, const char *name, const void *config, size_t n_config) {
}

static void ignore(void *peer, uint64_t id) {
}

START_TEST(test_instances_of_a_session_are_limited) {
        static const ProducerOps ops = { .setup_memory = small_memory,
                                         .setup_source = ignore_setup,
                                         .start_source = ignore,
                                         .stop_source = ignore };
        static char config[32 << 10] = "buffers { size_kb: 256 } ";
        static Producer *producers[SESSION_INSTANCES_MAX / SESSION_SOURCES_MAX + 1];
        InstanceCursor cursor = {};
        FakeConsumer *consumer;
        InstanceInfo info;
        size_t n = 0;

        fixture_init(&f);
        for (unsigned i = 0; i < SESSION_SOURCES_MAX; i++)
                strcat(config, "data_sources { config { name: \"track_event\" } } ");
        consumer = fixture_start_session(&f, 1000, config);
        for (size_t i = 0; i < ARRAY_SIZE(producers); i++) {
                ck_assert_int_eq(producer_new(&producers[i],
                                              f.service,
                                              &(Identity){ .uid = 1000 },
                                              "p",
                                              &(ProducerOptions){},
                                              &ops,
                                              NULL),
                                 0);
                ck_assert_int_eq(
                        producer_add_source(producers[i], "track_event", &(SourceOptions){}, f.now),
                        0);
        }
        ck_assert_uint_eq(session_n_instances(consumer->session), SESSION_INSTANCES_MAX);
        session_instance(consumer->session, SESSION_INSTANCES_MAX - 1, &info);
        ck_assert_int_eq(info.state, INSTANCE_STARTING);
        while (session_next_instance(consumer->session, &cursor, &info))
                n++;
        ck_assert_uint_eq(n, SESSION_INSTANCES_MAX);
        for (size_t i = 0; i < ARRAY_SIZE(producers); i++)
                producer_free(producers[i]);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_commit_rings_once_then_is_only_a_store_while_awake) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;

        consumer = start_with_writer(&app, &writer);
        ck_assert_uint_eq(service_next_deadline(f.service) > f.now + 1 * S,
                          1); /* asleep: no timer */
        fake_write(writer, "a");
        ck_assert(fake_ring(app));
        for (unsigned i = 0; i < 20; i++) {
                fake_write(writer, "b");
                fixture_advance(&f, PRODUCER_DRAIN_INTERVAL_NS);
                ck_assert(!fake_ring(app));
        }
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->chunks_written, 21);
        fixture_advance(&f, 2 * PRODUCER_DRAIN_INTERVAL_NS);
        ck_assert_uint_gt(service_next_deadline(f.service), f.now + 1 * S);
        fake_write(writer, "c");
        ck_assert(fake_ring(app));
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_foreign_buffers_are_refused_and_counted) {
        FakeProducer *app, *other;
        FakeConsumer *consumer, *others;
        FakeInstance foreign;
        SmbWriter *writer;
        TestPacket packet, stats;
        WireField field;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        other = fixture_connect_producer(&f, 1001, "other", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        others = fixture_start_session(&f, 1001, CONFIG_ONE("track_event"));
        foreign = *fake_instance(other, "track_event");
        writer = fake_writer_new(app, &foreign);
        fake_write(writer, "intruder");
        fake_write_unfinished(writer, "intruder");
        fixture_stop_session(&f, others);
        trace = fixture_read(&f, others);
        ck_assert_uint_eq(trace_count_text(&trace, "intruder"), 0);
        bytes_deinit(&trace);

        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "intruder"), 0);
        packet = trace_packet(&trace, 35, 0);
        ck_assert(packet_field(&packet, 35, &field));
        stats = (TestPacket){ field.data, field.n_bytes };
        ck_assert_uint_ge(packet_uint(&stats, 8), 1); /* chunks_discarded */
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_stopped_session_takes_nothing_more) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        Bytes trace;

        consumer = start_with_writer(&app, &writer);
        fixture_stop_session(&f, consumer);
        fake_write(writer, "too late");
        fake_ring(app);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "too late"), 0);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_unused_pages_are_left_alone) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        SmbPageHeader *unused;
        const uint32_t complete = (uint32_t)SMB_LAYOUT_DIV1 << 28 | SMB_CHUNK_COMPLETE;

        consumer = start_with_writer(&app, &writer);
        fake_write_unfinished(writer, "in the first page");
        ck_assert_uint_eq(smb_n_used_pages(&app->area), 1);
        unused = smb_page(&app->area, 1);
        atomic_store(&unused->state, complete);
        ck_assert_int_eq(session_flush(consumer->session, 0, 0, NULL, NULL, f.now), 0);
        fixture_settle(&f);
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->chunks_written, 1);
        ck_assert_uint_eq(atomic_load(&unused->state), complete);

        /* What the producer says is not believed beyond the memory. */
        atomic_store(&app->area.control->n_used_pages, UINT32_MAX);
        ck_assert_uint_eq(smb_n_used_pages(&app->area), app->area.n_pages);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_buffer_ids_go_round_without_zero_or_those_in_use) {
        FakeProducer *app;
        FakeConsumer *first;
        SessionBuffer other;
        uint16_t mine;
        bool *is_used;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        first = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        mine = (uint16_t)fake_instance(app, "track_event")->target_buffer;
        is_used = calloc(SERVICE_BUFFER_IDS, sizeof(*is_used));
        is_used[0] = is_used[mine] = true;
        other = (SessionBuffer){ .session = first->session };
        for (unsigned i = 0; i < UINT16_MAX - 1; i++) {
                uint16_t id = service_claim_buffer_id(f.service, &other);

                ck_assert(!is_used[id]); /* not again so soon */
                is_used[id] = true;
                service_release_buffer_id(f.service, id);
        }
        ck_assert_ptr_eq(service_find_buffer(f.service, mine)->session, first->session);
        free(is_used);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_full_ring_loses_nothing) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        uint32_t n_slots;

        consumer = start_with_writer(&app, &writer);
        n_slots = app->area.n_slots;
        /* The ring is full of patches for chunks that do not exist; then a commit finds no slot. */
        for (uint32_t i = 0; i < n_slots; i++)
                ck_assert(smb_post_patch(
                        app->smb, writer->writer_id, 1000 + i, 0, (uint8_t[4]){}, false));
        fake_write(writer, "no slot for me");
        fake_ring(app);
        fixture_advance(&f, 1 * S);
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->chunks_written, 1);
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->patches_failed, n_slots);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

/* A small pseudo random sequence that is the same everywhere. */
static uint32_t next_random(uint32_t *state) {
        *state = *state * 1664525 + 1013904223;
        return *state ^ *state >> 15;
}

START_TEST(test_hostile_memory_harms_nobody) {
        uint32_t state = 42;
        FakeProducer *app, *honest;
        FakeConsumer *consumer;
        SmbWriter *writer, *other;
        Bytes trace;

        consumer = start_with_writer(&app, &writer);
        honest = fixture_connect_producer(&f, 1000, "honest", "track_event");
        other = fake_writer_new(honest, fake_instance(honest, "track_event"));
        fake_write(other, "honest");
        for (unsigned round = 0; round < 200; round++) {
                uint32_t *words = (uint32_t *)app->memory;
                size_t n_words = app->area.n_bytes / sizeof(uint32_t);

                atomic_store(&app->area.control->n_used_pages, UINT32_MAX);
                for (unsigned i = 0; i < 400; i++)
                        words[6 + next_random(&state) % (n_words - 6)] = next_random(&state);
                /* Page states and slots are few: aim at them. */
                for (unsigned i = 0; i < app->area.n_pages; i++)
                        *(uint32_t *)(app->area.pages + i * app->area.page_bytes) =
                                next_random(&state);
                for (unsigned i = 0; i < 64; i++) {
                        SmbSlot *slot =
                                &app->area.control->slots[next_random(&state) % app->area.n_slots];

                        atomic_store(&slot->turn, app->producer->area.head + i % 3);
                        slot->what = i % 2 ? 0 : next_random(&state);
                        slot->a = next_random(&state) % (2 * app->area.n_pages);
                        slot->b = next_random(&state) % 20;
                }
                producer_doorbell(app->producer, f.now);
                fixture_advance(&f, PRODUCER_DRAIN_INTERVAL_NS);
                if (round % 20 == 0) {
                        ck_assert_int_eq(session_flush(consumer->session, 0, 0, NULL, NULL, f.now),
                                         0);
                        fixture_settle(&f);
                }
        }
        fixture_disconnect_producer(app);
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_ge(trace_count(&trace, 35), 1);
        bytes_deinit(&trace);
        free(writer);
        free(other);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_native_patches_come_through_the_ring) {
        static const uint8_t packet[] = { 0xa2, 0x38, 4, 0, 0, 0, 0 };
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        Bytes trace;

        consumer = start_with_writer(&app, &writer);
        fake_write_bytes(writer, packet, sizeof(packet));
        atomic_fetch_or(&writer->header->packets, SMB_CHUNK_NEEDS_PATCHING << SMB_FLAGS_SHIFT);
        writer->packets |= SMB_CHUNK_NEEDS_PATCHING << SMB_FLAGS_SHIFT;
        smb_writer_flush(writer);
        /* Behind the fragment's size, one byte, and the packet's first three. */
        ck_assert(
                smb_post_patch(app->smb, writer->writer_id, 0, 4, (const uint8_t *)"good", false));
        fixture_stop_session(&f, consumer);
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->patches_succeeded, 1);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "good"), 1);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_requests_lie_in_the_memory_until_they_are_taken) {
        const uint64_t instances[] = { 7, UINT64_C(1) << 40 };
        FakeProducer *app;
        unsigned place;
        SmbAsked asked;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ck_assert(!smb_take_request(app->smb, &asked));
        ck_assert_int_eq(producer_ask(app->producer, SMB_REQUEST_FLUSH, instances, 2, &place), 0);
        ck_assert(smb_take_request(app->smb, &asked));
        ck_assert_uint_eq(asked.place, place);
        ck_assert_int_eq(asked.kind, SMB_REQUEST_FLUSH);
        ck_assert_uint_eq(asked.n_instances, 2);
        ck_assert_mem_eq(asked.instances, instances, sizeof(instances));
        ck_assert_int_ne(
                producer_ask(app->producer, SMB_REQUEST_FLUSH, instances, SIZE_MAX, &place), 0);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("producer",
          test_reserved_names_are_the_machines,
          test_bad_names_and_descriptors_are_refused,
          test_sources_and_their_descriptors_are_limited,
          test_producers_are_limited_by_user,
          test_memory_is_made_once_at_the_first_setup,
          test_memory_size_is_the_configs_the_producers_or_the_default,
          test_failed_memory_ends_the_instance_with_a_reason,
          test_shared_memory_is_limited_by_user,
          test_instances_of_a_session_are_limited,
          test_commit_rings_once_then_is_only_a_store_while_awake,
          test_foreign_buffers_are_refused_and_counted,
          test_stopped_session_takes_nothing_more,
          test_unused_pages_are_left_alone,
          test_buffer_ids_go_round_without_zero_or_those_in_use,
          test_full_ring_loses_nothing,
          test_hostile_memory_harms_nobody,
          test_native_patches_come_through_the_ring,
          test_requests_lie_in_the_memory_until_they_are_taken)
