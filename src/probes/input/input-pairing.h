/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Input pairing: which reports of a device a program read, and how long they had waited
 *
 * A report is everything that a device reports at one time (keys, axes, and the mark that ends it); only the number of
 * values is known, not the values. Every program that has the device open gets a copy of each report, except of kinds
 * that it does not want. So a read is paired by its size: it ends with the newest report, and reaches back as far as
 * its number of values.
 *
 * Reports and reads come in the order of their time. Memory is fixed; what does not fit is counted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define INPUT_DEVICES_MAX 64
#define INPUT_READERS_MAX 256 /* a program that reads two devices is two */
#define INPUT_REPORTS_MAX \
        64 /* that are remembered of one device: as many as the kernel keeps for a program */
#define INPUT_HANDLER_BYTES 16 /* "event3" */
#define INPUT_NAME_BYTES    80
#define INPUT_LATE_NS \
        UINT64_C(100000)     /* so shortly before a read's end a report may be too late for it */
#define INPUT_EVENT_BYTES 24 /* struct input_event, as 64-bit programs read it */

enum {
        _INPUT_E_SUCCESS,
        INPUT_E_NOTHING, /* no report that the read could have got: it came before the recording, or was lost */
};

typedef struct InputReport {
        uint64_t at_ns;
        uint32_t n_values;
} InputReport;

typedef struct InputDevice {
        char handler[INPUT_HANDLER_BYTES];
        char name[INPUT_NAME_BYTES]; /* empty until it reported something */
        uint64_t n_reports;          /* the last ones are in the ring */
        uint64_t n_forgotten;        /* the first reports that may no longer be paired */
        InputReport reports[INPUT_REPORTS_MAX];
} InputDevice;

typedef struct InputReader {
        const InputDevice *device;
        pid_t tid;
        uint64_t n_seen; /* of the device's reports */
        uint64_t used_ns;
        uint64_t end_ns; /* of its last wait */
} InputReader;

typedef struct InputPairing {
        InputDevice devices[INPUT_DEVICES_MAX];
        InputReader readers[INPUT_READERS_MAX];
        size_t n_devices, n_readers;
        uint64_t n_left_out; /* reports of devices that did not fit */
} InputPairing;

/* What a read says: the reports from `begin_ns` on waited for the thread until `end_ns`. */
typedef struct InputWait {
        const InputDevice *device;
        pid_t tid;
        uint64_t begin_ns, end_ns;
        uint64_t shown_ns; /* begin_ns, but not before the end of the thread's last one */
} InputWait;

/* A device reports `n_values` values, with the mark behind them. */
void input_pairing_report(InputPairing *pairing,
                          uint64_t at_ns,
                          const char *handler,
                          const char *name,
                          uint32_t n_values);

/* A thread got `n_bytes` bytes from the device. 0, INPUT_E_NOTHING. */
int input_pairing_read(InputPairing *pairing,
                       InputWait *ret,
                       uint64_t at_ns,
                       const char *handler,
                       pid_t tid,
                       uint64_t n_bytes);

/* Records were lost: reports that have not been read yet are forgotten. */
void input_pairing_forget(InputPairing *pairing);
