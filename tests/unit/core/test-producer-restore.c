/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A program whose service has gone goes on in its memory, with the next service. */

#include <errno.h>
#include <fcntl.h>

#include "core/ingest/producer-take.h"
#include "core/producer-restore.h"
#include "core/readout/session-stats.h"
#include "core/session-restore.h"
#include "fixture.h"
#include "smb/smb-reader.h"

static Fixture f;

#define RECORDER CONFIG_ONE("track_event")

static const SessionOptions kept = {
        .owner = { .uid = 1000 },
        .detached = true,
        .is_kept = true,
};

/* A program with its memory, which is there whatever becomes of the service. */
static uint8_t *memory;
static size_t n_memory;
static SmbProducer *smb;
static SmbWriter *writer;

/* What the next service finds. */
static FormerBuffer buffer;
static Bytes session_past, producer_past;
static SessionFormer former;
static uint64_t former_producer;

static Session *session;
static FakeProducer peer; /* what the next service asks the program */

static void start(void) {
        FakeProducer *producer;
        FakeConsumer *consumer;

        fixture_init(&f);
        producer = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session_with(&f, &kept, RECORDER);
        fixture_settle(&f);
        memory = producer->memory;
        smb = producer->smb;
        n_memory = smb_native_bytes(producer->pages_bytes, producer->page_bytes);
        writer = fake_writer_new(producer, fake_instance(producer, "track_event"));
        session = consumer->session;
}

static void note_session(void) {
        int index_fd, segments_fd;

        former = (SessionFormer){
                .id = session_id(session),
                .uuid = { session_uuid(session)[0], session_uuid(session)[1] },
                .started_at = session_started_at(session),
                .left_at = f.now,
                .buffers = &buffer,
                .n_buffers = 1,
        };
        ck_assert(session_buffer_files(session, 0, &index_fd, &segments_fd));
        buffer = (FormerBuffer){
                .index_fd = fcntl(index_fd, F_DUPFD_CLOEXEC, 3),
                .segments_fd = fcntl(segments_fd, F_DUPFD_CLOEXEC, 3),
        };
        bytes_clear(&session_past);
        ck_assert_int_eq(session_put_past(session, &session_past), 0);
        former.past = session_past.data;
        former.n_past = session_past.n;
}

static void note_producer(const Producer *producer) {
        ck_assert(producer_can_be_left(producer));
        bytes_clear(&producer_past);
        ck_assert_int_eq(producer_put_past(producer, &producer_past), 0);
}

/* Sessions first. */
static void end_service(uint64_t away_ns) {
        const uint64_t now = f.now + away_ns;

        note_session();
        session_leave(session);
        if (f.n_producers > 0) {
                f.producers[0]->memory = NULL;
                f.producers[0]->smb = NULL;
        } else {
                const size_t n_to_stop = peer.n_to_stop;

                session_free(session);
                ck_assert_uint_eq(peer.n_to_stop, n_to_stop); /* what is left goes on */
                peer.producer = producer_free(peer.producer);
                f.has_gone = true;
        }
        fixture_deinit(&f);
        fixture_init(&f);
        fixture_advance(&f, now - f.now);
}

/* The service is gone from one instruction to the next: the memory stays as it is. */
static void kill_service(uint64_t away_ns) {
        uint8_t *copy = malloc(n_memory);

        memcpy(copy, memory, n_memory);
        end_service(away_ns);
        memcpy(memory, copy, n_memory);
        free(copy);
}

static int on_setup_memory(void *userdata, size_t pages_bytes, uint32_t page_bytes, SmbArea *ret) {
        return -EHOSTDOWN;
}

static void on_release_memory(void *userdata) {
        FakeProducer *fake = userdata;

        fake->n_released++;
}

static void
on_setup_source(void *userdata, uint64_t id, const char *name, const void *config, size_t n) {
        FakeProducer *fake = userdata;

        fake->instances[fake->n_instances++] = (FakeInstance){ .id = id };
}

static void on_start_source(void *userdata, uint64_t id) {
        FakeProducer *fake = userdata;

        fake->to_start[fake->n_to_start++] = id;
}

static void on_stop_source(void *userdata, uint64_t id) {
        FakeProducer *fake = userdata;

        fake->to_stop[fake->n_to_stop++] = id;
}

static void
on_flush(void *userdata, uint64_t id, const uint64_t *instances, size_t n, uint64_t flags) {
        FakeProducer *fake = userdata;

        fake->n_flushes++;
        fake->flush_id = id;
}

static unsigned n_clears;

static void on_clear(void *userdata, const uint64_t *instances, size_t n) {
        n_clears += (unsigned)n;
}

static const ProducerOps ops = {
        .setup_memory = on_setup_memory,
        .release_memory = on_release_memory,
        .setup_source = on_setup_source,
        .start_source = on_start_source,
        .stop_source = on_stop_source,
        .flush = on_flush,
        .clear_incremental_state = on_clear,
};

static void on_changed(void *userdata) {
}

static int find_session(void) {
        static const SessionOps session_ops = { .changed = on_changed };
        SessionError error = {};
        ConfigError why;
        Config *config;
        int r;

        former.producers = &former_producer;
        former.n_producers = 1;
        ck_assert_int_eq(config_new_from_text(&config, RECORDER, &why), 0);
        r = session_restore(
                &session, f.service, config, &kept, &session_ops, NULL, &former, &error, f.now);
        if (r != 0)
                config_free(config);
        return r;
}

static int find_producer_in(uint8_t *its_memory, size_t n) {
        ProducerPast past;
        int r;

        peer = (FakeProducer){ .fixture = &f };
        n_clears = 0;
        ck_assert_int_eq(producer_past_read(&past, producer_past.data, producer_past.n), 0);
        r = producer_restore(&peer.producer, f.service, &past, its_memory, n, &ops, &peer, f.now);
        if (r)
                service_give_up_on_producer(f.service, &past);
        producer_past_deinit(&past);
        return r;
}

static void find_all(void) {
        ProducerPast past;

        ck_assert_int_eq(producer_past_read(&past, producer_past.data, producer_past.n), 0);
        former_producer = past.origin_id;
        ck_assert_int_eq(service_expect_producer(f.service, &past), 0);
        producer_past_deinit(&past);
        ck_assert_int_eq(find_session(), 0);
        ck_assert_int_eq(find_producer_in(memory, n_memory), 0);
        fixture_advance(&f, 1 * MS);
}

static void return_with(const uint64_t *instances, size_t n) {
        ck_assert(producer_source_is_restored(peer.producer, 0));
        ck_assert_int_eq(
                producer_add_source(peer.producer, "track_event", &(SourceOptions){}, f.now), 0);
        ck_assert(!producer_source_is_restored(peer.producer, 0));
        producer_return(peer.producer, instances, n, f.now);
        fixture_settle(&f);
}

static void come_back(void) {
        const uint64_t id = 1;

        return_with(&id, 1);
}

static void finish(void) {
        free(writer);
        session_free(session);
        producer_free(peer.producer);
        f.has_gone = true;
        fixture_deinit(&f);
        free(smb);
        free(memory);
        bytes_deinit(&session_past);
        bytes_deinit(&producer_past);
}

/* In the order in which they were written, each once: "0 1 2 …" */
static void check_texts(const char *const texts[]) {
        FakeConsumer consumer = { .session = session };
        Bytes trace = fixture_read(&f, &consumer);
        size_t n = 0;

        for (; texts[n]; n++) {
                const TestPacket packet = trace_packet(&trace, FIXTURE_TEXT_FIELD, n);
                WireField field;

                ck_assert(packet_field(&packet, FIXTURE_TEXT_FIELD, &field));
                ck_assert_uint_eq(field.n_bytes, strlen(texts[n]));
                ck_assert_mem_eq(field.data, texts[n], field.n_bytes);
        }
        ck_assert_uint_eq(trace_count(&trace, FIXTURE_TEXT_FIELD), n);
        bytes_deinit(&trace);
}

#define check(...) check_texts((const char *const[]){ __VA_ARGS__, NULL })

static void drain(void) {
        producer_drain(f.producers[0]->producer);
}

START_TEST(test_what_was_committed_and_finished_is_taken) {
        start();
        fake_write(writer, "taken");
        drain();
        note_producer(f.producers[0]->producer);
        fake_write(writer, "committed");
        fake_write_unfinished(writer, "finished");
        kill_service(1 * S);
        find_all();
        ck_assert_uint_eq(peer.n_to_start, 0);
        peer.producer = producer_free(peer.producer); /* it died as well */
        f.has_gone = true;
        fixture_settle(&f);
        check("taken", "committed", "finished");
        finish();
}
END_TEST

START_TEST(test_program_goes_on_where_it_was) {
        start();
        fake_write(writer, "taken");
        drain();
        note_producer(f.producers[0]->producer);
        fake_write(writer, "committed");
        fake_write_unfinished(writer, "finished");
        kill_service(1 * S);
        fake_write_unfinished(writer, "while it was away");
        find_all();
        fake_write(writer, "before its return");
        come_back();
        ck_assert_uint_eq(peer.n_to_start, 0); /* it records already */
        ck_assert_uint_eq(peer.n_instances, 0);
        ck_assert_uint_eq(n_clears, 1);
        fake_write(writer, "after");
        producer_doorbell(peer.producer, f.now);
        fixture_advance(&f, 1 * S);
        check("taken", "committed", "finished", "while it was away", "before its return", "after");
        finish();
}
END_TEST

START_TEST(test_what_is_finished_while_the_service_ends_stays_in_the_memory) {
        start();
        note_producer(f.producers[0]->producer);
        fake_write_unfinished(writer, "begun");
        session_drain(session);
        check("begun");
        fake_write(writer, "finished before");
        service_leave(f.service);
        fake_write_unfinished(writer, "begun meanwhile");
        fake_write(writer, "finished meanwhile");
        end_service(1 * S);
        find_all();
        check("finished before", "begun meanwhile", "finished meanwhile");
        finish();
}
END_TEST

/* It had put a chunk into the buffer, and was killed before it had freed it: in each way that this can be seen. */
static void take_twice(SmbChunkState state) {
        SmbPageHeader *page;
        uint8_t *before;

        start();
        note_producer(f.producers[0]->producer);
        page = smb_page(&f.producers[0]->area, 0);
        fake_write(writer, "once");
        before = malloc(n_memory);
        memcpy(before, memory, n_memory);
        drain();
        memcpy(memory, before, n_memory);
        atomic_store(&page->state, SMB_LAYOUT_DIV1 << 28 | (uint32_t)state);
        free(before);
        kill_service(1 * S);
        find_all();
        come_back();
        ck_assert_uint_eq(atomic_load(&page->state), 0);
        fake_write(writer, "more");
        producer_doorbell(peer.producer, f.now);
        check("once", "more");
        finish();
}

START_TEST(test_chunk_that_was_taken_is_not_taken_twice) {
        take_twice(SMB_CHUNK_COMPLETE);
        take_twice(SMB_CHUNK_BEING_READ);
}
END_TEST

/* The header of a chunk that is being freed goes before its state does. */
static void free_again(bool is_counted) {
        SmbChunkHeader *header;
        SmbPageHeader *page;

        start();
        note_producer(f.producers[0]->producer);
        page = smb_page(&f.producers[0]->area, 0);
        header = (SmbChunkHeader *)(page + 1);
        fake_write(writer, "once");
        drain();
        atomic_store(&page->state, SMB_LAYOUT_DIV1 << 28 | (uint32_t)SMB_CHUNK_BEING_READ);
        atomic_store(&header->packets, is_counted);
        kill_service(1 * S);
        find_all();
        come_back();
        ck_assert_uint_eq(atomic_load(&page->state), 0);
        check("once");
        finish();
}

START_TEST(test_chunk_that_was_being_freed_is_freed) {
        free_again(false);
        free_again(true);
}
END_TEST

/* A slot of the ring was passed, and what it said was not done. */
static void pass_commit(bool is_head_behind) {
        SmbCommit commit;
        uint32_t head;

        start();
        note_producer(f.producers[0]->producer);
        head = f.producers[0]->area.head;
        fake_write(writer, "once");
        ck_assert_int_eq(smb_next_commit(&f.producers[0]->area, &commit), 0);
        if (is_head_behind) /* nor was it said that it was passed */
                atomic_store(&f.producers[0]->area.control->head, head);
        kill_service(1 * S);
        find_all();
        come_back();
        for (unsigned i = 0; i < 3; i++) {
                fake_write(writer, "more");
                producer_doorbell(peer.producer, f.now);
        }
        check("once", "more", "more", "more");
        finish();
}

START_TEST(test_commit_that_had_left_the_ring_is_found) {
        pass_commit(false);
        pass_commit(true);
}
END_TEST

START_TEST(test_program_goes_on_twice) {
        start();
        fake_write(writer, "first");
        note_producer(f.producers[0]->producer);
        kill_service(1 * S);
        find_all();
        come_back();
        fake_write(writer, "second");
        note_producer(peer.producer);
        kill_service(1 * S);
        fake_write(writer, "third");
        find_all();
        come_back();
        check("first", "second", "third");
        finish();
}
END_TEST

START_TEST(test_what_was_lost_meanwhile_is_counted) {
        start();
        smb_producer_count_dropped(smb, 2);
        note_producer(f.producers[0]->producer);
        kill_service(1 * S);
        smb_producer_count_dropped(smb, 3);
        find_all();
        come_back();
        ck_assert_uint_eq(session_producers_dropped(session), 5);
        finish();
}
END_TEST

START_TEST(test_instance_that_is_gone_ends) {
        start();
        note_producer(f.producers[0]->producer);
        kill_service(1 * S);
        find_all();
        return_with(NULL, 0);
        ck_assert_int_eq(session_state(session), SESSION_STARTED);
        ck_assert_int_eq(producer_add_source(peer.producer, "other", &(SourceOptions){}, f.now), 0);
        ck_assert(!producer_can_be_left(peer.producer));
        finish();
}
END_TEST

/* Comparing all that fit into a message would take long. */
START_TEST(test_instances_of_a_program_that_returns_are_limited) {
        static uint64_t instances[PRODUCER_RETURNED_MAX + 1];

        for (size_t n = PRODUCER_RETURNED_MAX; n <= PRODUCER_RETURNED_MAX + 1; n++) {
                start();
                note_producer(f.producers[0]->producer);
                kill_service(1 * S);
                find_all();
                memset(instances, 0, sizeof(instances));
                instances[n - 1] = 1;
                return_with(instances, n);
                ck_assert_int_eq(producer_can_be_left(peer.producer), n <= PRODUCER_RETURNED_MAX);
                finish();
        }
}
END_TEST

START_TEST(test_what_is_asked_of_one_that_is_away_is_asked_again) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        FakeConsumer *another;

        start();
        note_producer(f.producers[0]->producer);
        kill_service(1 * S);
        find_all();
        another = fixture_start_session_with(&f, &options, RECORDER);
        ck_assert_uint_eq(peer.n_instances, 1);
        ck_assert_uint_eq(peer.n_to_start, 1);
        ck_assert_int_eq(session_flush(session, 0, 0, NULL, NULL, f.now), 0);
        ck_assert_uint_eq(peer.n_flushes, 1);
        come_back();
        ck_assert_uint_eq(peer.n_instances, 2);
        ck_assert_uint_eq(peer.instances[0].id, peer.instances[1].id);
        ck_assert_uint_gt(peer.instances[0].id, 1);
        ck_assert_uint_eq(peer.n_to_start, 2);
        ck_assert_uint_eq(peer.n_flushes, 2);
        fixture_free_session(another);
        finish();
}
END_TEST

START_TEST(test_one_that_stopped_is_asked_to_again) {
        start();
        note_producer(f.producers[0]->producer);
        kill_service(1 * S);
        find_all();
        session_stop(session, "requested", f.now);
        ck_assert_uint_eq(peer.n_flushes, 1);
        producer_flushed(peer.producer, peer.flush_id, f.now);
        ck_assert_uint_eq(peer.n_to_stop, 1);
        come_back();
        ck_assert_uint_eq(peer.n_to_stop, 2);
        producer_source_stopped(peer.producer, 1, f.now);
        fixture_settle(&f);
        ck_assert_int_eq(session_state(session), SESSION_STOPPED);
        finish();
}
END_TEST

START_TEST(test_numbers_are_not_given_again) {
        const FakeProducer *stranger;
        uint64_t id;

        start();
        id = producer_id(f.producers[0]->producer);
        note_producer(f.producers[0]->producer);
        kill_service(1 * S);
        find_all(); /* the fixture's numbers come in the same order each time */
        ck_assert_uint_eq(producer_id(peer.producer), id);
        stranger = fixture_connect_producer(&f, 1000, "app", "track_event");
        ck_assert_uint_ne(producer_id(stranger->producer), id);
        finish();
}
END_TEST

START_TEST(test_memory_of_another_size_is_refused) {
        ProducerPast past;

        start();
        fake_write(writer, "lost");
        note_producer(f.producers[0]->producer);
        kill_service(1 * S);
        ck_assert_int_eq(producer_past_read(&past, producer_past.data, producer_past.n), 0);
        former_producer = past.origin_id;
        producer_past_deinit(&past);
        ck_assert_int_eq(find_session(), 0);
        ck_assert_int_eq(find_producer_in(memory, n_memory - 4096), -EBADMSG);
        ck_assert_ptr_null(peer.producer);
        fixture_advance(&f, 1 * S);
        finish();
}
END_TEST

START_TEST(test_without_its_session_there_is_nothing_to_go_on_with) {
        start();
        note_producer(f.producers[0]->producer);
        kill_service(1 * S);
        ck_assert_int_eq(find_producer_in(memory, n_memory), -EBADMSG);
        former_producer = 0;
        ck_assert_int_eq(find_session(), 0);
        finish();
}
END_TEST

START_TEST(test_torn_pasts_are_refused) {
        ProducerPast past;

        start();
        note_producer(f.producers[0]->producer);
        for (size_t n = 0; n < producer_past.n; n++) {
                const int r = producer_past_read(&past, producer_past.data, n);

                ck_assert(r == 0 || r == -EBADMSG);
                producer_past_deinit(&past);
        }
        kill_service(0);
        former_producer = 0;
        ck_assert_int_eq(find_session(), 0);
        finish();
}
END_TEST

/* With a field at its end that nobody knows. */
START_TEST(test_past_of_a_producer_is_not_endless) {
        static const uint8_t unknown[] = { 0xc2, 0x3e, 0x80, 0x80, 0x40 }; /* 1 MiB */
        ProducerPast past;
        uint8_t *longer;
        size_t n;

        start();
        note_producer(f.producers[0]->producer);
        n = producer_past.n + sizeof(unknown) + (1u << 20);
        longer = calloc(n, 1);
        memcpy(longer, producer_past.data, producer_past.n);
        memcpy(longer + producer_past.n, unknown, sizeof(unknown));
        ck_assert_uint_gt(n, PRODUCER_PAST_BYTES_MAX);
        ck_assert_int_eq(producer_past_read(&past, longer, n), -EBADMSG);
        free(longer);
        kill_service(0);
        former_producer = 0;
        ck_assert_int_eq(find_session(), 0);
        finish();
}
END_TEST

TEST_MAIN("producer-restore",
          test_what_was_committed_and_finished_is_taken,
          test_program_goes_on_where_it_was,
          test_what_is_finished_while_the_service_ends_stays_in_the_memory,
          test_chunk_that_was_taken_is_not_taken_twice,
          test_chunk_that_was_being_freed_is_freed,
          test_commit_that_had_left_the_ring_is_found,
          test_program_goes_on_twice,
          test_what_was_lost_meanwhile_is_counted,
          test_instance_that_is_gone_ends,
          test_instances_of_a_program_that_returns_are_limited,
          test_what_is_asked_of_one_that_is_away_is_asked_again,
          test_one_that_stopped_is_asked_to_again,
          test_numbers_are_not_given_again,
          test_memory_of_another_size_is_refused,
          test_without_its_session_there_is_nothing_to_go_on_with,
          test_torn_pasts_are_refused,
          test_past_of_a_producer_is_not_endless)
