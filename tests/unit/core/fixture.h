/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A world for the core: a service, fake producers that write through the real shared memory, and fake
 * consumers. Time stands still until fixture_advance(). Peers answer when they are told to (the *_acks flags) with the
 * next fixture_settle(), as a transport would: never from inside a request.
 *
 * Everything that should work is asserted in here, so that tests read as what happens.
 */

#include "core/model/policy.h"
#include "core/producer.h"
#include "core/service.h"
#include "core/session-clone.h"
#include "core/session.h"
#include "core/trigger.h"
#include "smb/smb-writer.h"
#include "test.h"
#include "wire/wire-reader.h"

#define FIXTURE_TEXT_FIELD 900 /* TracePacket.for_testing; here just a string */

/* The first of 65536 that are user 1000's. */
#define FIXTURE_SUBORDINATE_UID 100000

#define MS UINT64_C(1000000)
#define S  (1000 * MS)

#define FAKE_PEERS_MAX     16 /* consumers, and producers of most tests */
#define FAKE_PRODUCERS_MAX 1280
#define FAKE_INSTANCES_MAX 32
#define FAKE_MEMORIES_MAX  16

typedef struct FakeInstance {
        uint64_t id;
        char name[64];
        uint8_t config[1024];
        size_t n_config;
        uint16_t target_buffer;
        bool start_asked, stop_asked;
        unsigned n_clears;
} FakeInstance;

typedef struct Fixture Fixture;

typedef struct FakeProducer {
        Fixture *fixture;
        Producer *producer;
        uint8_t *memory;
        SmbArea area; /* the service's */
        SmbProducer *smb;
        int doorbell_fd;
        size_t pages_bytes;
        uint32_t page_bytes;
        unsigned n_released; /* memories that were given back */
        struct {
                uint8_t *memory;
                SmbProducer *smb;
        } old[FAKE_MEMORIES_MAX];
        size_t n_old;
        bool is_native;
        pid_t pid;
        bool acks_start, acks_flush, acks_stop;
        bool is_suspended; /* answers nothing until it goes on */
        int memory_error;  /* what setup_memory() returns */
        FakeInstance instances[FAKE_INSTANCES_MAX];
        size_t n_instances;
        uint64_t flush_id; /* the last one asked for */
        uint64_t flush_flags;
        unsigned n_flushes, n_flushed_instances;

        /* Answers that the next fixture_settle() gives. */
        uint64_t to_start[FAKE_INSTANCES_MAX], to_stop[FAKE_INSTANCES_MAX], to_flush;
        size_t n_to_start, n_to_stop;
} FakeProducer;

typedef struct FakeConsumer FakeConsumer;

struct FakeConsumer {
        Session *session;
        unsigned n_changed, n_outputs, n_triggered, n_snapshots_failed;
        char triggered_by[64];                   /* what the last one was, and who sent it */
        FakeConsumer *snapshots[FAKE_PEERS_MAX]; /* that triggers asked for */
        size_t n_snapshots;
        Fixture *fixture;
        SessionError error;
        bool is_over;   /* the session was freed */
        bool is_cloned; /* of one that fixture_ask_clone() made: the answer has come, */
        int outcome;    /* and was this */
};

struct Fixture {
        Service *service;
        ServiceInfo info;
        uint64_t now;
        uint64_t suspended_ns; /* what MONOTONIC is behind BOOTTIME */
        uint64_t skew_ns;      /* of the clocks that are not BOOTTIME */
        uint8_t random_byte;   /* all random bytes are this one */
        unsigned n_activations[4];
        unsigned n_clock_looks;
        bool has_gone;    /* a producer, since the last tick */
        unsigned n_looks; /* whether a producer is suspended */
        FakeProducer *producers[FAKE_PRODUCERS_MAX];
        size_t n_producers;
        FakeConsumer *consumers[FAKE_PEERS_MAX];
        size_t n_consumers;
};

/* A service that has settled, for uid 990 with probes as uid 991. */
void fixture_init(Fixture *fixture);
void fixture_init_fresh(Fixture *fixture);
void fixture_deinit(Fixture *fixture);

/* Delivers the answers that are due. */
void fixture_settle(Fixture *fixture);

/* Lets time pass; ticks and answers that fall due happen on the way. */
void fixture_advance(Fixture *fixture, uint64_t ns);

/* A native producer that answers everything, of this user, with one source (or none: NULL). */
FakeProducer *
fixture_connect_producer(Fixture *fixture, uid_t uid, const char *name, const char *source);

/* One of Perfetto's: no control area. */
FakeProducer *
fixture_connect_plain_producer(Fixture *fixture, uid_t uid, const char *name, const char *source);
FakeProducer *fixture_connect_producer_with(Fixture *fixture,
                                            uid_t uid,
                                            const char *name,
                                            const char *source,
                                            const ProducerOptions *options);
void fixture_add_source(FakeProducer *producer, const char *source, const SourceOptions *options);
void fixture_disconnect_producer(FakeProducer *producer);

/* Makes a session of the user's own scope, and starts it unless its config says otherwise. */
FakeConsumer *fixture_start_session(Fixture *fixture, uid_t uid, const char *config);
FakeConsumer *
fixture_start_session_with(Fixture *fixture, const SessionOptions *options, const char *config);

/* Only makes it; the outcome of session_new(), and the error in consumer->error. */
int fixture_try_session(Fixture *fixture,
                        FakeConsumer **ret,
                        const SessionOptions *options,
                        const char *config);
/* The same for a config that was not written as text; takes it over. */
int fixture_try_config(Fixture *fixture,
                       FakeConsumer **ret,
                       const SessionOptions *options,
                       Config *config);
void fixture_free_session(FakeConsumer *consumer);

/* Asks for a clone, whose session comes with the producers' answers. */
FakeConsumer *
fixture_ask_clone(Fixture *fixture, FakeConsumer *source, const CloneOptions *options);

/* A clone for the owner of the original. */
FakeConsumer *fixture_clone(Fixture *fixture, FakeConsumer *source);

/* The program sends a trigger; how many sessions took it. */
size_t fake_trigger(FakeProducer *producer, const char *name);

/* Stops and lets the producers answer. */
void fixture_stop_session(Fixture *fixture, FakeConsumer *consumer);

/* The newest instance of that source; NULL when there is none. */
FakeInstance *fake_instance(FakeProducer *producer, const char *source);

/* Appends "source@producer " for each who did not answer; see session_next_silent(). */
void fake_silent(const Session *session, char *text, size_t n);

/* A writer into an instance's buffer, to be ended by free(). */
SmbWriter *fake_writer_new(FakeProducer *producer, const FakeInstance *instance);

/* Writes a packet with this text, and gives the service its chunk. */
void fake_write(SmbWriter *writer, const char *text);

/* The same, but the chunk stays with the writer. */
void fake_write_unfinished(SmbWriter *writer, const char *text);
void fake_write_bytes(SmbWriter *writer, const void *packet, size_t n);

/* Rings when the service wants it. Returns whether it did. */
bool fake_ring(FakeProducer *producer);

/*
 * Traces
 */

/* Reads all that there is now. */
Bytes fixture_read(Fixture *fixture, FakeConsumer *consumer);

typedef struct TestPacket {
        const uint8_t *data;
        size_t n;
} TestPacket;

/* false at the end; fails when the bytes are no trace. */
bool trace_next(const Bytes *trace, size_t *at, TestPacket *ret);

/* The last field of that number; false when there is none. */
bool packet_field(const TestPacket *packet, uint32_t number, WireField *ret);
uint64_t packet_uint(const TestPacket *packet, uint32_t number);

/* How many packets hold the field. */
size_t trace_count(const Bytes *trace, uint32_t field);

/* The nth packet that holds the field; fails when there is none. */
TestPacket trace_packet(const Bytes *trace, uint32_t field, size_t nth);

/* How many packets fake_write() gave this text; the packet of the first one. */
size_t trace_count_text(const Bytes *trace, const char *text);
TestPacket trace_text(const Bytes *trace, const char *text);

/* Whether the trace has this lifecycle event, and when. */
bool trace_has_event(const Bytes *trace, uint32_t event, uint64_t *ret_ns);

#define CONFIG_ONE(source) \
        "buffers { size_kb: 256 } data_sources { config { name: \"" source "\" } } "
