/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Every method of the producer port over a socket, by a client that knows Perfetto's protocol and nothing of ours.
 */

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/model/producer.h"
#include "producer-world.h"
#include "shared/fd.h"
#include "socket/link/link.h"

static ProducerClient app;

static FakeConsumer *record(const char *config) {
        const SessionOptions options = {
                .owner = { .uid = getuid(), .pid = 1 },
                .scope = SESSION_SCOPE_OWN,
        };
        FakeConsumer *consumer = fixture_start_session_with(&f, &options, config);

        world_run_one(&app);
        return consumer;
}

/* With what lies ready in the end. */
static Bytes stop_and_read(FakeConsumer *consumer) {
        session_stop(consumer->session, "requested", f.now);
        world_run_one(&app);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        return fixture_read(&f, consumer);
}

static size_t count(const Bytes *trace) {
        return trace_count(trace, FIXTURE_TEXT_FIELD);
}

static Producer *only_producer(void) {
        Producer *producer = service_next_producer(f.service, NULL);

        ck_assert_ptr_nonnull(producer);
        ck_assert_ptr_null(service_next_producer(f.service, producer));
        return producer;
}

/* TracePacket { 900: a text of n characters }. */
static size_t make_packet(uint8_t *packet, size_t n_packet, char letter, size_t n) {
        WireWriter writer;
        char *text = malloc(n + 1);

        memset(text, letter, n);
        text[n] = 0;
        wire_writer_init(&writer, packet, n_packet);
        wire_put_string(&writer, FIXTURE_TEXT_FIELD, text);
        ck_assert(!wire_writer_failed(&writer));
        free(text);
        return wire_writer_size(&writer);
}

static void put_text(ClientWriter *writer, char letter, size_t n) {
        static uint8_t packet[64 << 10];

        writer_put(writer, packet, make_packet(packet, sizeof(packet), letter, n));
}

static ClientWriter start_writer(uint16_t id) {
        ClientWriter writer;

        writer_init(&writer, &app, id, client_instance(&app, "track_event")->target_buffer, true);
        return writer;
}

PORT_WORLD_TEST(test_service_has_all_methods_by_their_names) {
        world_connect(&app);
        client_bind(&app);
        world_run_one(&app);
        for (uint32_t i = 0; i < _CLIENT_METHOD_N; i++)
                ck_assert_uint_ne(app.methods[i], 0);
        client_deinit(&app);
}

PORT_WORLD_TEST(test_connection_is_initialized_once_and_before_all_else) {
        uint64_t request;

        world_connect(&app);
        client_bind(&app);
        world_run_one(&app);
        for (unsigned method = CLIENT_REGISTER_SOURCE; method < _CLIENT_METHOD_N; method++) {
                request = client_call(&app, method, true, NULL, 0);
                ck_assert(!world_reply(&app, request)->success);
        }
        request = client_initialize(&app, &(ClientOptions){ .name = "sdk" });
        ck_assert(world_reply(&app, request)->success);
        /* using_shmem_provided_by_producer, direct_smb_patching_supported, use_shmem_emulation */
        ck_assert_uint_eq(client_reply(&app, request)->n_data, 6);
        ck_assert_int_eq(memcmp(client_reply(&app, request)->data, "\x08\x00\x10\x01\x18\x00", 6),
                         0);
        ck_assert_str_eq(producer_name(only_producer()), "sdk");
        ck_assert_str_eq(producer_version(only_producer()), "desktrace's test client");
        ck_assert_int_eq(producer_identity(only_producer())->pid, getpid());
        request = client_initialize(&app, &(ClientOptions){ .name = "other" });
        ck_assert(!world_reply(&app, request)->success);
        ck_assert_str_eq(producer_name(only_producer()), "sdk");
        client_deinit(&app);
        world_serve();
        ck_assert_uint_eq(service_n_producers(f.service), 0);
}

PORT_WORLD_TEST(test_any_name_of_a_program_is_made_one_of_a_producer) {
        char name[301];

        memset(name, 'x', sizeof(name) - 1);
        name[sizeof(name) - 1] = 0;
        world_connect_app(&app, name, NULL);
        ck_assert_uint_eq(strlen(producer_name(only_producer())), PRODUCER_NAME_MAX);
        client_deinit(&app);
        world_serve();
        world_connect_app(&app, "\xc3\xa4\x01z", NULL);
        ck_assert_str_eq(producer_name(only_producer()), "???z");
        client_deinit(&app);
        world_serve();
        world_connect_app(&app, "", NULL);
        ck_assert_str_eq(producer_name(only_producer()), "unnamed");
        client_deinit(&app);
}

PORT_WORLD_TEST(test_sources_come_change_and_go) {
        uint64_t request;

        world_connect_app(&app, "sdk", "track_event");
        ck_assert_uint_eq(producer_n_sources(only_producer()), 1);
        request = client_describe_source(&app, CLIENT_UPDATE_SOURCE, "track_event", 77, "category");
        ck_assert(world_reply(&app, request)->success);
        ck_assert_str_eq(producer_source_categories(only_producer(), 0)[0], "category");

        /* What no list on the bus could hold. */
        client_describe_source(&app, CLIENT_UPDATE_SOURCE, "track_event", 77, "not \xff UTF-8");
        world_run_one(&app);
        ck_assert(!producer_source_categories(only_producer(), 0) ||
                  !producer_source_categories(only_producer(), 0)[0]);
        client_describe_source(&app, CLIENT_UPDATE_SOURCE, "track_event", 77, "category");

        /* Another number, another name, no number: nothing changes. */
        client_describe_source(&app, CLIENT_UPDATE_SOURCE, "track_event", 78, "other");
        client_describe_source(&app, CLIENT_UPDATE_SOURCE, "own", 77, "other");
        client_describe_source(&app, CLIENT_UPDATE_SOURCE, "track_event", 0, "other");
        world_run_one(&app);
        ck_assert_uint_eq(producer_n_sources(only_producer()), 1);
        ck_assert_str_eq(producer_source_categories(only_producer(), 0)[0], "category");

        client_call(&app, CLIENT_UNREGISTER_SOURCE, false, "\x0a\x0btrack_event", 13);
        client_call(&app, CLIENT_UNREGISTER_SOURCE, false, "\x0a\x03own", 5);
        world_run_one(&app);
        ck_assert_uint_eq(producer_n_sources(only_producer()), 0);
        client_describe_source(&app, CLIENT_UPDATE_SOURCE, "track_event", 77, "late");
        world_run_one(&app);
        ck_assert_uint_eq(producer_n_sources(only_producer()), 0);
        client_deinit(&app);
}

/* As a success that says why: to Perfetto's clients a failure is a broken connection. */
PORT_WORLD_TEST(test_refused_source_is_told_why) {
        const ClientReply *reply;

        world_connect_app(&app, "sdk", NULL);
        reply = world_reply(&app, client_register_source(&app, SERVICE_SELF_SOURCE, 1));
        ck_assert(reply->success);
        ck_assert_ptr_nonnull(memmem(reply->data, reply->n_data, "system", 6));
        ck_assert_uint_eq(producer_n_sources(only_producer()), 0);
        client_deinit(&app);
}

PORT_WORLD_TEST(test_packets_of_any_length_arrive) {
        static const size_t lengths[] = { 0, 1, 100, 4000, 4050, 4064, 5000, 20000, 30000 };
        FakeConsumer *consumer;
        ClientWriter writer;
        Bytes trace;

        world_connect_app(&app, "sdk", "track_event");
        consumer = record(CONFIG_ONE("track_event"));
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        ck_assert_uint_eq(app.area.n_pages, 16);
        ck_assert_uint_eq(app.area.page_bytes, 4096);
        writer = start_writer(1);
        for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
                put_text(&writer, (char)('a' + i), lengths[i]);
                client_commit(&app, 0, false);
                world_run_one(&app);
        }
        writer_end(&writer);
        trace = stop_and_read(consumer);
        ck_assert_uint_eq(count(&trace), ARRAY_SIZE(lengths));
        for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
                TestPacket packet = trace_packet(&trace, FIXTURE_TEXT_FIELD, i);
                WireField text;

                ck_assert(packet_field(&packet, FIXTURE_TEXT_FIELD, &text));
                ck_assert_uint_eq(text.n_bytes, lengths[i]);
                ck_assert_uint_eq(packet_uint(&packet, 3), getuid());
                ck_assert_uint_eq(packet_uint(&packet, 79), (uint64_t)getpid());
        }
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->abi_violations, 0);
        bytes_deinit(&trace);
        client_deinit(&app);
}

static void check_patches(bool in_place) {
        static uint8_t packet[10000];
        FakeConsumer *consumer;
        ClientWriter writer;
        size_t n;
        Bytes trace;

        world_connect_app(&app, "sdk", "track_event");
        consumer = record(CONFIG_ONE("track_event"));
        writer = start_writer(1);
        n = make_packet(packet, sizeof(packet), 'x', 9000);
        put_text(&writer, 'a', 3);
        ck_assert(writer_put_patched(&writer, packet, n, 50, in_place));
        put_text(&writer, 'b', 3);
        writer_end(&writer);
        trace = stop_and_read(consumer);
        ck_assert_uint_eq(count(&trace), 3);
        ck_assert_int_eq(memcmp(trace_packet(&trace, FIXTURE_TEXT_FIELD, 1).data, packet, n), 0);
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->patches_succeeded, !in_place);
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->patches_failed, 0);
        bytes_deinit(&trace);
        client_deinit(&app);
}

PORT_WORLD_TEST(test_patches_come_by_message) {
        check_patches(false);
}

PORT_WORLD_TEST(test_patches_are_made_in_place) {
        check_patches(true);
}

PORT_WORLD_TEST(test_commit_is_answered_when_it_is_done) {
        FakeConsumer *consumer;
        ClientWriter writer;
        uint64_t request;

        world_connect_app(&app, "sdk", "track_event");
        consumer = record(CONFIG_ONE("track_event"));
        writer = start_writer(1);
        put_text(&writer, 'a', 3);
        writer_return(&writer);
        request = client_commit(&app, 0, true);
        ck_assert(world_reply(&app, request)->success);
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->chunks_written, 1);
        request = client_call(&app, CLIENT_COMMIT, true, "\x0a\xff", 2);
        ck_assert(!world_reply(&app, request)->success);
        client_deinit(&app);
}

static void note_flush(void *userdata, int outcome) {
        int *done = userdata;

        *done = 1 + outcome;
}

PORT_WORLD_TEST(test_flush_is_done_with_the_commit_that_answers_it) {
        FakeConsumer *consumer;
        int done = 0;

        world_connect_app(&app, "sdk", "track_event");
        consumer = record(CONFIG_ONE("track_event"));
        app.is_silent = true;
        ck_assert_int_eq(session_flush(consumer->session, 0, 0x21, note_flush, &done, f.now), 0);
        world_run_one(&app);
        ck_assert_uint_eq(app.n_commands[CLIENT_FLUSH], 1);
        ck_assert_uint_eq(app.last_flush_flags, 0x21);
        ck_assert_int_eq(done, 0);
        client_commit(&app, app.last_flush, false);
        world_run_one(&app);
        ck_assert_int_eq(done, 1);
        app.is_silent = false;
        client_deinit(&app);
}

PORT_WORLD_TEST(test_incremental_state_is_cleared_by_command) {
        FakeConsumer *consumer;

        world_connect_app(&app, "sdk", "track_event");
        consumer = record(
                CONFIG_ONE("track_event") "incremental_state_config { clear_period_ms: 1000 }");
        fixture_advance(&f, 2500 * MS);
        world_run_one(&app);
        ck_assert_uint_eq(client_instance(&app, "track_event")->n_clears, 2);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        client_deinit(&app);
}

static void connect_without_commands(void) {
        world_connect(&app);
        client_bind(&app);
        world_run_one(&app);
        client_call(&app, CLIENT_INITIALIZE, true, "\x1a\x04late", 6);
        client_register_source(&app, "track_event", 1);
        world_run_one(&app);
}

PORT_WORLD_TEST(test_commands_wait_until_they_are_asked_for) {
        FakeConsumer *consumer;

        connect_without_commands();
        consumer = record(CONFIG_ONE("track_event"));
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTING);
        ck_assert_ptr_null(app.memory);
        app.commands_request = client_call(&app, CLIENT_GET_COMMAND, true, NULL, 0);
        world_run_one(&app);
        ck_assert_ptr_nonnull(app.memory);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        client_deinit(&app);
}

/* A user may have many such producers. */
PORT_WORLD_TEST(test_commands_that_wait_count_for_their_user) {
        const PortUser *user;

        connect_without_commands();
        user = list_first(&ports->users, PortUser, link);
        ck_assert_uint_eq(user->bytes.n, 0);
        record(CONFIG_ONE("track_event"));
        ck_assert_uint_gt(user->bytes.n, 0);
        app.commands_request = client_call(&app, CLIENT_GET_COMMAND, true, NULL, 0);
        world_run_one(&app);
        ck_assert_uint_eq(user->bytes.n, 0);
        client_deinit(&app);
}

PORT_WORLD_TEST(test_a_producer_that_never_asks_for_commands_is_disconnected_in_the_end) {
        size_t i;

        connect_without_commands();
        for (i = 0; client_pump(&app, 0) && i < 2000; i++) {
                FakeConsumer *consumer = record(CONFIG_ONE("track_event"));

                fixture_free_session(consumer);
                free(consumer);
                f.n_consumers--;
                world_serve();
        }
        ck_assert_uint_lt(i, 2000);
        ck_assert_uint_eq(service_n_producers(f.service), 0);
        client_deinit(&app);
}

PORT_WORLD_TEST(test_setup_start_and_stop_come_in_order) {
        FakeConsumer *consumer;
        Bytes trace;

        world_connect_app(&app, "sdk", "track_event");
        consumer = record(CONFIG_ONE("track_event") "deferred_start: true");
        ck_assert_uint_eq(app.n_commands[CLIENT_SETUP_TRACING], 1);
        ck_assert_uint_eq(app.n_commands[CLIENT_SETUP], 1);
        ck_assert_uint_eq(app.n_commands[CLIENT_START], 0);
        ck_assert_int_eq(session_start(consumer->session, f.now), 0);
        world_run_one(&app);
        ck_assert(client_instance(&app, "track_event")->is_started);
        trace = stop_and_read(consumer);
        ck_assert(client_instance(&app, "track_event")->is_stopped);
        bytes_deinit(&trace);
        client_deinit(&app);
}

PORT_WORLD_TEST(test_silent_producer_is_not_waited_for_for_ever) {
        FakeConsumer *consumer;

        world_connect_app(&app, "sdk", "track_event");
        app.is_silent = true;
        consumer = record(CONFIG_ONE("track_event"));
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTING);
        fixture_advance(&f, SESSION_START_TIMEOUT_NS);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        session_stop(consumer->session, "requested", f.now);
        fixture_advance(&f, SESSION_FLUSH_TIMEOUT_NS + SESSION_STOP_TIMEOUT_NS);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        client_deinit(&app);
}

PORT_WORLD_TEST(test_killed_producer_leaves_all_but_its_last_packet) {
        FakeConsumer *consumer;
        ClientWriter writer;
        Bytes trace;

        world_connect_app(&app, "sdk", "track_event");
        consumer = record(CONFIG_ONE("track_event"));
        writer = start_writer(1);
        put_text(&writer, 'a', 10);
        put_text(&writer, 'b', 10);
        world_serve();
        client_deinit(&app);
        world_serve();
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(count(&trace), 2);
        bytes_deinit(&trace);
}

/* An idle program's memory takes no pages: to look at a page is to make it. */
PORT_WORLD_TEST(test_unused_pages_are_not_looked_at) {
        static uint8_t packet[9000];
        unsigned char is_there[16];
        FakeConsumer *consumer;
        ClientWriter writer;
        size_t n = 0;
        Bytes trace;

        world_connect_app(&app, "sdk", "track_event");
        consumer = record(CONFIG_ONE("track_event"));
        writer = start_writer(1);
        app.next_page = 9;
        writer_put(&writer, packet, make_packet(packet, sizeof(packet), 'x', 8000));
        put_text(&writer, 'a', 3);
        world_serve();
        ck_assert_int_eq(session_flush(consumer->session, 0, 0, NULL, NULL, f.now), 0);
        world_run_one(&app);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(count(&trace), 2);
        ck_assert_int_eq(mincore(app.memory, sizeof(is_there) * 4096, is_there), 0);
        for (size_t i = 0; i < sizeof(is_there); i++)
                n += is_there[i] & 1;
        ck_assert_uint_eq(n, 2);
        bytes_deinit(&trace);
        client_deinit(&app);
}

PORT_WORLD_TEST(test_same_source_for_two_sessions_goes_to_both) {
        FakeConsumer *one, *two;
        ClientWriter first, second;
        Bytes trace;

        world_connect_app(&app, "sdk", "track_event");
        one = record(CONFIG_ONE("track_event"));
        first = start_writer(1);
        two = record("buffers { size_kb: 256 } buffers { size_kb: 256 } data_sources { config { "
                     "name: \"track_event\" target_buffer: 1 } } ");
        second = start_writer(2);
        ck_assert_uint_eq(app.n_commands[CLIENT_SETUP_TRACING], 1);
        ck_assert_uint_ne(first.target_buffer, second.target_buffer);
        put_text(&first, 'a', 10);
        put_text(&second, 'b', 10);
        put_text(&second, 'b', 10);
        writer_end(&first);
        writer_end(&second);
        trace = stop_and_read(one);
        ck_assert_uint_eq(count(&trace), 1);
        bytes_deinit(&trace);
        trace = stop_and_read(two);
        ck_assert_uint_eq(count(&trace), 2);
        bytes_deinit(&trace);
        client_deinit(&app);
}

PORT_WORLD_TEST(test_chunks_come_in_messages_too) {
        /* chunk 0 of writer 9, one packet: 900: "a" */
        static const uint8_t chunk[] = { 0, 0, 0, 0, 9, 0, 1, 0, 4, 0xa2, 0x38, 1, 'a' };
        FakeConsumer *consumer;
        uint16_t buffer;
        Bytes trace;

        world_connect_app(&app, "sdk", "track_event");
        consumer = record(CONFIG_ONE("track_event"));
        buffer = client_instance(&app, "track_event")->target_buffer;
        for (size_t n = 0; n < SMB_CHUNK_HEADER_BYTES; n++)
                client_commit_bytes(&app, buffer, chunk, n, false);
        client_commit_bytes(&app, buffer, chunk, sizeof(chunk), true);
        client_commit_bytes(&app, buffer, chunk, sizeof(chunk), false);
        client_commit(&app, 0, false);
        trace = stop_and_read(consumer);
        ck_assert_uint_eq(count(&trace), 1);
        bytes_deinit(&trace);
        client_deinit(&app);
}

PORT_WORLD_TEST(test_triggers_are_heard_from_who_goes_at_once) {
        FakeConsumer *consumer;

        world_connect_app(&app, "sdk", NULL);
        consumer = record(CONFIG_ONE(
                "track_event") "trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: "
                               "9000 "
                               "triggers { name: \"jank\" stop_delay_ms: 1 producer_name_regex: "
                               "\"sdk\" } }");
        client_call(&app, CLIENT_TRIGGERS, false, "\x0a\x05other\x0a\x04jank", 13);
        client_deinit(&app);
        world_serve();
        ck_assert_uint_eq(consumer->n_triggered, 1);
        fixture_advance(&f, 10 * MS);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
}

PORT_WORLD_TEST(test_sync_is_answered_behind_all_that_was_said_before) {
        uint64_t request;

        world_connect_app(&app, "sdk", NULL);
        record(CONFIG_ONE("track_event"));
        client_register_source(&app, "track_event", 1);
        request = client_call(&app, CLIENT_SYNC, true, NULL, 0);
        ck_assert_uint_eq(app.n_commands[CLIENT_START], 0);
        ck_assert(world_reply(&app, request)->success);
        ck_assert_uint_eq(app.n_commands[CLIENT_START], 1);
        client_deinit(&app);
}

/*
 * Memory that the producer brings
 */

#define ALL_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static int make_memory(size_t n_bytes, int seals) {
        int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(ftruncate(fd, (off_t)n_bytes), 0);
        ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
        return fd;
}

/* Whether the service has taken it. */
static bool bring_memory(int fd, uint32_t page_bytes) {
        const ClientOptions options = { .name = "sdk", .page_bytes = page_bytes, .memory_fd = fd };
        const ClientReply *reply;
        bool is_taken;

        world_connect(&app);
        client_bind(&app);
        world_run_one(&app);
        reply = world_reply(&app, client_initialize(&app, &options));
        ck_assert(reply->success);
        is_taken = reply->data[1];
        ck_assert_uint_eq(app.n_commands[CLIENT_SETUP_TRACING], is_taken);
        return is_taken;
}

PORT_WORLD_TEST(test_memory_with_the_start_of_the_program_is_taken) {
        int fd = make_memory(64 << 10, ALL_SEALS);
        FakeConsumer *consumer;
        ClientWriter writer;
        uint16_t buffer;
        Bytes trace;

        ck_assert(bring_memory(fd, 4096));
        app.memory = mmap(NULL, 64 << 10, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        smb_area_create_plain(&app.area, app.memory, 64 << 10, 4096);
        /* Written before the session, for whichever buffer it will be. */
        writer_init(&writer, &app, 1, 0, false);
        put_text(&writer, 'a', 10);
        client_register_source(&app, "track_event", 1);
        consumer = record(CONFIG_ONE("track_event"));
        buffer = client_instance(&app, "track_event")->target_buffer;
        writer_init(&writer, &app, 1, buffer, true);
        writer.has_chunk = true;
        writer_return(&writer);
        client_commit(&app, 0, false);
        ck_assert_uint_eq(app.n_commands[CLIENT_SETUP_TRACING], 1);
        trace = stop_and_read(consumer);
        ck_assert_uint_eq(count(&trace), 1);
        bytes_deinit(&trace);
        client_deinit(&app);
        close(fd);
}

PORT_WORLD_TEST(test_memory_that_could_be_taken_away_is_not_taken) {
        static const struct {
                size_t n_bytes;
                uint32_t page_bytes;
                int seals;
        } wrong[] = {
                { 64 << 10, 4096, 0 },
                { 64 << 10, 4096, F_SEAL_GROW | F_SEAL_SEAL },
                { 64 << 10, 4096, F_SEAL_SHRINK | F_SEAL_GROW },
                { 64 << 10, 4096, ALL_SEALS | F_SEAL_WRITE },
                { 0, 4096, ALL_SEALS },
                { 64 << 10, 0, ALL_SEALS },
                { 64 << 10, 5000, ALL_SEALS },
                { 60 << 10, 20 << 10, ALL_SEALS },
                { 1000, 4096, ALL_SEALS },
                { 33 << 20, 4096, ALL_SEALS },
        };

        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
                int fd = make_memory(wrong[i].n_bytes, wrong[i].seals);
                int other = open("/dev/zero", O_RDWR | O_CLOEXEC);

                ck_assert_msg(!bring_memory(fd, wrong[i].page_bytes), "case %zu", i);
                client_deinit(&app);
                ck_assert(!bring_memory(other, 4096));
                client_deinit(&app);
                close(other);
                close(fd);
        }
        world_serve();
        ck_assert_uint_eq(service_n_producers(f.service), 0);
}

/*
 * Strangers
 */

PORT_WORLD_TEST(test_no_message_of_any_method_breaks_anything) {
        static const uint8_t bytes[] = { 0x0a, 0x7f, 0x12, 0x05, 0x0a, 0xff, 0xff, 0xff,
                                         0xff, 0xff, 0x08, 0xff, 0xff, 0xff, 0xff, 0x0f,
                                         0x1a, 0x02, 0x22, 0x00, 0x2a, 0x04, 0x08, 0x01 };

        world_connect_app(&app, "sdk", "track_event");
        record(CONFIG_ONE("track_event"));
        for (unsigned method = 0; method < _CLIENT_METHOD_N; method++)
                for (size_t from = 0; from < sizeof(bytes); from++)
                        for (size_t n = 0; n <= sizeof(bytes) - from; n++) {
                                if (method == CLIENT_GET_COMMAND)
                                        continue;
                                client_call(&app, method, false, bytes + from, n);
                                world_serve();
                        }
        world_run_one(&app);
        ck_assert(!app.is_closed);
        client_deinit(&app);
}

/* Of one process, as a browser's children are. */
PORT_WORLD_TEST(test_many_producers_of_one_process_are_many) {
        enum { MANY = 12 };
        static ProducerClient children[MANY];
        ClientWriter writers[MANY];
        FakeConsumer *consumer;
        Bytes trace;
        char name[32];

        for (size_t i = 0; i < MANY; i++) {
                snprintf(name, sizeof(name), "org.browser-%zu", i);
                world_connect_app(&children[i], name, "track_event");
        }
        app = children[0];
        consumer = record(CONFIG_ONE("track_event"));
        children[0] = app;
        world_run(children, MANY);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        for (size_t i = 0; i < MANY; i++) {
                writer_init(&writers[i],
                            &children[i],
                            1,
                            client_instance(&children[i], "track_event")->target_buffer,
                            true);
                put_text(&writers[i], 'a', i + 1);
                writer_end(&writers[i]);
        }
        session_stop(consumer->session, "requested", f.now);
        world_run(children, MANY);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(count(&trace), MANY);
        for (size_t i = 1; i < MANY; i++) {
                TestPacket one = trace_packet(&trace, FIXTURE_TEXT_FIELD, i - 1);
                TestPacket other = trace_packet(&trace, FIXTURE_TEXT_FIELD, i);

                ck_assert_uint_ne(packet_uint(&one, 10), packet_uint(&other, 10));
        }
        bytes_deinit(&trace);
        for (size_t i = 0; i < MANY; i++)
                client_deinit(&children[i]);
}

TEST_MAIN("producer-port",
          test_service_has_all_methods_by_their_names,
          test_connection_is_initialized_once_and_before_all_else,
          test_any_name_of_a_program_is_made_one_of_a_producer,
          test_sources_come_change_and_go,
          test_refused_source_is_told_why,
          test_packets_of_any_length_arrive,
          test_patches_come_by_message,
          test_patches_are_made_in_place,
          test_commit_is_answered_when_it_is_done,
          test_flush_is_done_with_the_commit_that_answers_it,
          test_incremental_state_is_cleared_by_command,
          test_commands_wait_until_they_are_asked_for,
          test_commands_that_wait_count_for_their_user,
          test_a_producer_that_never_asks_for_commands_is_disconnected_in_the_end,
          test_setup_start_and_stop_come_in_order,
          test_silent_producer_is_not_waited_for_for_ever,
          test_killed_producer_leaves_all_but_its_last_packet,
          test_unused_pages_are_not_looked_at,
          test_same_source_for_two_sessions_goes_to_both,
          test_chunks_come_in_messages_too,
          test_triggers_are_heard_from_who_goes_at_once,
          test_sync_is_answered_behind_all_that_was_said_before,
          test_memory_with_the_start_of_the_program_is_taken,
          test_memory_that_could_be_taken_away_is_not_taken,
          test_no_message_of_any_method_breaks_anything,
          test_many_producers_of_one_process_are_many)
