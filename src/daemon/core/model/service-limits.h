/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Limits and deadlines of the service
 *
 * Everything that a peer can make the service allocate has a limit. Errors name the limit, and docs/LIMITS.md gives the
 * reason for its value.
 */

#include <stdint.h>

/* For one user, for all together, and the part that is reserved for each: core/model/quota.h. Memory is a share of the
 * machine's, but at least this much. */
#define SERVICE_SESSIONS_PER_USER_MAX           8
#define SERVICE_SESSIONS_MAX                    256
#define SERVICE_SESSIONS_FIRST                  2
#define SERVICE_PRODUCERS_PER_USER_MAX          1024
#define SERVICE_PRODUCERS_MAX                   4096
#define SERVICE_PRODUCERS_FIRST                 64
#define SERVICE_CONNECTIONS_PER_USER_MAX        2048
#define SERVICE_CONNECTIONS_MAX                 8192
#define SERVICE_CONNECTIONS_FIRST               128
#define SERVICE_BUFFER_BYTES_PER_USER_SHARE     4 /* of all trace buffers */
#define SERVICE_BUFFER_BYTES_PER_USER_MIN       (UINT64_C(128) << 20)
#define SERVICE_BUFFER_BYTES_TOTAL_SHARE        2
#define SERVICE_BUFFER_BYTES_TOTAL_MIN          (UINT64_C(256) << 20)
#define SERVICE_BUFFER_BYTES_FIRST_SHARE        32
#define SERVICE_BUFFER_BYTES_FIRST_MIN          (UINT64_C(16) << 20)
#define SERVICE_MEMORY_BYTES_PER_USER_SHARE     8 /* shared with producers */
#define SERVICE_MEMORY_BYTES_PER_USER_MIN       (UINT64_C(64) << 20)
#define SERVICE_MEMORY_BYTES_TOTAL_SHARE        4
#define SERVICE_MEMORY_BYTES_TOTAL_MIN          (UINT64_C(128) << 20)
#define SERVICE_MEMORY_BYTES_FIRST_SHARE        64
#define SERVICE_MEMORY_BYTES_FIRST_MIN          (UINT64_C(8) << 20)
#define SERVICE_DESCRIPTOR_BYTES_PER_USER_SHARE 256 /* of data sources, and notes */
#define SERVICE_DESCRIPTOR_BYTES_PER_USER_MIN   (UINT64_C(16) << 20)
#define SERVICE_DESCRIPTOR_BYTES_TOTAL_SHARE    64
#define SERVICE_DESCRIPTOR_BYTES_TOTAL_MIN      (UINT64_C(64) << 20)
#define SERVICE_DESCRIPTOR_BYTES_FIRST_SHARE    4096
#define SERVICE_DESCRIPTOR_BYTES_FIRST_MIN      (UINT64_C(2) << 20)
#define SERVICE_MESSAGE_BYTES_PER_USER_SHARE    256 /* not read yet, by them or by us */
#define SERVICE_MESSAGE_BYTES_PER_USER_MIN      (UINT64_C(16) << 20)
#define SERVICE_MESSAGE_BYTES_TOTAL_SHARE       64
#define SERVICE_MESSAGE_BYTES_TOTAL_MIN         (UINT64_C(64) << 20)
#define SERVICE_MESSAGE_BYTES_FIRST_SHARE       4096
#define SERVICE_MESSAGE_BYTES_FIRST_MIN         (UINT64_C(2) << 20)
#define SERVICE_CALL_BYTES_PER_USER_SHARE       256 /* to producers that have not answered earlier ones */
#define SERVICE_CALL_BYTES_PER_USER_MIN         (UINT64_C(32) << 20)
#define SERVICE_CALL_BYTES_TOTAL_SHARE          64
#define SERVICE_CALL_BYTES_TOTAL_MIN            (UINT64_C(64) << 20)
#define SERVICE_CALL_BYTES_FIRST_SHARE          4096
#define SERVICE_CALL_BYTES_FIRST_MIN            (UINT64_C(2) << 20)
#define SERVICE_RECENT_SESSIONS_PER_USER_MAX    64 /* unattended, within SESSION_GUARDED_GAP_NS */
#define SERVICE_RECENT_SESSIONS_MAX             4096
#define SERVICE_RECENT_SESSIONS_FIRST           8

/* For what the administrator installs; every trace has all of it. */
#define SERVICE_DESCRIPTORS_BYTES_MAX (1u << 20)

/* Limits of one producer. */
#define PRODUCER_NAME_MAX           128
#define PRODUCER_VERSION_MAX        128
#define PRODUCER_SOURCES_MAX        64
#define SOURCE_NAME_MAX             128
#define SOURCE_DESCRIPTOR_BYTES_MAX (256u << 10) /* with its categories */
#define SOURCE_CATEGORIES_MAX       16384        /* over D-Bus */
#define SOURCE_UNAVAILABLE_MAX      1024 /* bytes of why it cannot record; the rest is cut off */

/* For the notes of one instance of a source. */
#define INSTANCE_NOTES_MAX      32
#define INSTANCE_NOTE_BYTES_MAX 512 /* the rest is cut off */

/* Limits of one session. */
#define SESSION_NOTES_MAX            1024
#define SESSION_NAME_MAX             128
#define SESSION_BUFFERS_MAX          128
#define SESSION_SOURCES_MAX          256 /* data_sources entries */
#define SESSION_FILTERS_MAX          64  /* producer name filters of one entry */
#define SESSION_REGEXES_MAX          64 /* of them, of all entries: each is tried on each producer */
#define SESSION_INSTANCES_MAX        16384 /* that run at a time */
#define SESSION_FLUSHES_MAX          64    /* asked for and not answered */
#define SESSION_SEQUENCES_MAX        (1u << 18)
#define SESSION_TRIGGERS_MAX         64
#define TRIGGER_NAME_MAX             128
#define SESSION_TRIGGERED_CLONES_MAX 4 /* being made or unread; the oldest is dropped */
#define SESSION_SEMAPHORES_MAX       16
#define SESSION_DURATION_MAX_MS      (UINT64_C(7) * 24 * 3600 * 1000)
#define SESSION_TIMEOUT_MAX_MS       (UINT64_C(10) * 60 * 1000) /* that a config may ask to wait */
#define SESSION_PRESSURE_SHARE       2 /* of a buffer that waits to be written: what is written at once */
#define SESSION_PERIOD_MIN_NS        (UINT64_C(100) * 1000000) /* shorter ones are made this long */

/* For a session that nobody watches: enable_extra_guardrails. */
#define SESSION_GUARDED_DURATION_MAX_MS (UINT64_C(24) * 3600 * 1000)
#define SESSION_GUARDED_BUFFERS_MAX_KB  (UINT64_C(128) << 10)
#define SESSION_GUARDED_GAP_NS          (UINT64_C(300) * 1000000000) /* between two of one name */

/* Waiting times; some are defaults that a config can change. */
#define SERVICE_SETTLE_NS (UINT64_C(150) * 1000000) /* a fresh service: running programs register */
#define SERVICE_COMING_NS (UINT64_C(5) * 1000000000) /* from activation to registration */
#define SERVICE_RETRY_NS \
        (UINT64_C(10) * 1000000000) /* after a failed one, if nothing is to be recorded */
#define PRODUCER_KEEP_MEMORY_NS (UINT64_C(200) * 1000000) /* after its last instance */
#define PRODUCER_RING_BYTES     (1u << 20) /* taken at once when the doorbell rings, and */
#define SERVICE_LOOK_BYTES \
        (2u << 20) /* in one look at all that are awake, about; then others are served */
#define PRODUCER_DRAIN_INTERVAL_NS (UINT64_C(10) * 1000000) /* between looks while awake */
#define PRODUCER_DROPS_PER_SECOND_MAX \
        UINT64_C(200000000) /* it counts with an atomic addition, which takes a CPU 5 ns at best */
#define SESSION_START_TIMEOUT_NS \
        (UINT64_C(5) * 1000000000) /* activations and start acknowledgements */
#define SESSION_SLOW_START_NS \
        (UINT64_C(20) * 1000000000) /* Perfetto's; then they are named again */
#define SESSION_FLUSH_TIMEOUT_NS (UINT64_C(5) * 1000000000) /* flush_timeout_ms */
#define SESSION_DISABLE_FLUSH_NS \
        (UINT64_C(500) * 1000000) /* the same, if the caller of the stop expects no flush */
#define SESSION_STOP_TIMEOUT_NS (UINT64_C(5) * 1000000000) /* data_source_stop_timeout_ms */
#define SESSION_GRACE_NS \
        (UINT64_C(50) *  \
         1000000) /* after the last answer; then suspended producers are not waited for */
#define SESSION_CLEAR_GAP_NS         (UINT64_C(500) * 1000000) /* between those of a ring that turns fast */
#define SESSION_SNAPSHOT_INTERVAL_NS (UINT64_C(10) * 1000000000) /* snapshot_interval_ms */
#define SESSION_WRITE_PERIOD_NS      (UINT64_C(5) * 1000000000)  /* file_write_period_ms */
#define SESSION_PRESSURE_GAP_NS      (UINT64_C(10) * 1000000) /* between writes, as a buffer fills up */
#define CLONE_KEEP_AFTER_NS          (UINT64_C(1) * 1000000000) /* then it is left to the next service */
#define SESSION_LINGER_NS            (UINT64_C(300) * 1000000000) /* the data of a stopped, detached session */
