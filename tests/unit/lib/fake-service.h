/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A tracing service of the test's own, on a socket, in the test's thread
 *
 * fake_service_init() makes the socket that $DESKTRACE_SOCKET names; fake_accept() waits until the library has
 * connected and registered. The other verbs are the service's calls: each returns 0, or the
 * error's errno with its text in `fake->error`.
 */

#include <systemd/sd-bus.h>

#include "../smb/smb-fixture.h"

#define FAKE_PAGES_BYTES (64 * 4096)
#define FAKE_SOURCES_MAX 8

typedef struct FakeSource {
        char name[64];
        uint8_t descriptor[65536];
        size_t n_descriptor;
        uint32_t packet_fields[8];
        size_t n_packet_fields;
        char categories[16384]; /* joined by "," */
        char unavailable[1100];
        bool no_flush;
} FakeSource;

typedef struct Fake {
        int listen_fd;
        sd_bus *bus;
        char producer_address[64]; /* on a message bus: the unique name to call */
        unsigned n_registered;     /* calls of RegisterProducer() */
        unsigned n_refusals;       /* of these, that are still to be refused */
        unsigned n_unregistered;
        char triggers[4096]; /* joined by "," */
        unsigned n_triggers;
        char triggered_by[64];
        unsigned n_notes;
        uint64_t noted_instance; /* of the last one */
        char note[600];
        char producer[256];
        uint32_t memory_kib, page_kib;
        uint64_t pid_namespace; /* 0: in the initial one */
        bool has_proof;         /* of the pid */
        uint8_t said_key[16];   /* of a memory that it has */
        uint64_t said_instances[8];
        size_t n_said_key, n_said_instances;
        FakeSource sources[FAKE_SOURCES_MAX];
        size_t n_sources;

        void *memory;
        size_t n_memory;
        int doorbell_fd, bell_fd;
        const char *
                key; /* of 16 characters: the memory is kept, and stays when the library is disconnected */
        int memory_fd;         /* then */
        const char *known_key; /* who registers is told that it has that memory; NULL: nobody is */
        uint64_t known_instances[8];
        size_t n_known_instances;
        bool starts; /* with its setup */
        SmbArea area;
        Stream streams[SMB_NATIVE_WRITERS_MAX];

        char error[256];
} Fake;

void fake_init(Fake *fake);
void fake_deinit(Fake *fake);

void fake_listen(Fake *fake);
void fake_accept(Fake *fake);
void fake_accept_silent(Fake *fake); /* of a library that has nothing to register */
void fake_disconnect(Fake *fake);

/* The same on a message bus: takes the service's name there. fake_await() handles what comes until the library has
 * registered. */
void fake_own_name(Fake *fake, const char *bus_address);
void fake_await(Fake *fake);

/* Handles what the library sends, until `n_sources` registrations and `n_unregistered` are there. */
void fake_run(Fake *fake, size_t n_sources, unsigned n_unregistered);

/* The same, until n_triggers have come. */
void fake_run_triggers(Fake *fake, unsigned n_triggers);

/* The same, until n_notes have come. */
void fake_run_notes(Fake *fake, unsigned n_notes);

/* The same, until the source offers a category whose name contains the text. */
void fake_run_offered(Fake *fake, const char *source, const char *category);

/* What has come before the reply to the last call. */
void fake_run_on(Fake *fake);

FakeSource *fake_source(Fake *fake, const char *name);

void fake_setup_memory(Fake *fake, size_t pages_bytes, uint32_t page_bytes);
int fake_pass_memory(Fake *fake, int memory_fd);
int fake_setup(Fake *fake, uint64_t id, const char *name, const void *config, size_t n_config);
int fake_setup_buffer(Fake *fake, uint64_t id, const char *name, uint16_t buffer);
int fake_start(Fake *fake, uint64_t id);
int fake_stop(Fake *fake, uint64_t id);
int fake_flush(Fake *fake, uint64_t id);
int fake_clear(Fake *fake, uint64_t id);

/* The same in shared memory; waits for the answer. */
void fake_request(Fake *fake, SmbRequestKind kind, uint64_t id);

/* Takes all that is committed into streams[]. */
void fake_drain(Fake *fake);

/* Whether the doorbell was rung since this was asked last. */
bool fake_was_rung(const Fake *fake);

/* All packets of all streams so far. */
unsigned fake_n_packets(const Fake *fake);
