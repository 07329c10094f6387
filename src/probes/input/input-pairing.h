/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Input pairing: which reports of a device a program read, and how long they had waited
 *
 * A report is everything that a device reports at one time (keys, axes, and the mark that ends it). Only the number of
 * its values is known, not the values. Every program that has opened the device gets a copy of each report, except for
 * kinds of values that it does not want. So a read is paired by its size: it ends with the newest report, and reaches
 * back for as many values as it has.
 *
 * Reports and reads come in order of time. The memory is fixed, and what does not fit is counted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define INPUT_DEVICES_MAX   64
#define INPUT_READERS_MAX   256 /* a program that reads two devices counts twice */
#define INPUT_REPORTS_MAX   64 /* remembered for one device: the kernel keeps no more for a program */
#define INPUT_HANDLER_BYTES 16 /* "event3" */
#define INPUT_NAME_BYTES    80
/* A report that comes this shortly before a read's end may be too late for it. */
#define INPUT_LATE_NS     UINT64_C(100000)
#define INPUT_EVENT_BYTES 24 /* struct input_event, as 64-bit programs read it */

enum {
        _INPUT_E_SUCCESS,
        INPUT_E_NOTHING, /* no report that the read could have got: it came before the recording began, or was lost */
};

typedef struct InputReport {
        uint64_t at_ns;
        uint32_t n_values;
} InputReport;

typedef struct InputDevice {
        char handler[INPUT_HANDLER_BYTES];
        char name[INPUT_NAME_BYTES]; /* empty until it has reported something */
        uint64_t n_reports;          /* the ring has the last ones */
        uint64_t n_forgotten;        /* reports before this number can no longer be paired */
        InputReport reports[INPUT_REPORTS_MAX];
} InputDevice;

typedef struct InputReader {
        const InputDevice *device;
        pid_t tid;
        uint64_t n_seen; /* of the device's reports */
        uint64_t used_ns;
        uint64_t end_ns; /* when its last wait ended */
} InputReader;

typedef struct InputPairing {
        InputDevice devices[INPUT_DEVICES_MAX];
        InputReader readers[INPUT_READERS_MAX];
        size_t n_devices, n_readers;
        uint64_t n_left_out; /* reports of devices for which there was no room */
} InputPairing;

/* The result of a read: the reports from `begin_ns` on waited for the thread until `end_ns`. */
typedef struct InputWait {
        const InputDevice *device;
        pid_t tid;
        uint64_t begin_ns, end_ns;
        uint64_t shown_ns; /* begin_ns, but not before the end of the thread's last wait */
} InputWait;

/* A device reports `n_values` values, including the mark at the end. */
void input_pairing_report(InputPairing *pairing,
                          uint64_t at_ns,
                          const char *handler,
                          const char *name,
                          uint32_t n_values);

/* A thread got `n_bytes` bytes from the device. Returns 0 or INPUT_E_NOTHING. */
int input_pairing_read(InputPairing *pairing,
                       InputWait *ret,
                       uint64_t at_ns,
                       const char *handler,
                       pid_t tid,
                       uint64_t n_bytes);

/* Records were lost, so reports that have not been read yet are forgotten. */
void input_pairing_forget(InputPairing *pairing);
