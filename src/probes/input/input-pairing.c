/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Input pairing: which reports of a device a program read, and how long they had waited */

#include <stdio.h>
#include <string.h>

#include "probes/input/input-pairing.h"
#include "shared/macro.h"

static InputDevice *find_device(InputPairing *pairing, const char *handler) {
        for (size_t i = 0; i < pairing->n_devices; i++)
                if (streq(pairing->devices[i].handler, handler))
                        return &pairing->devices[i];
        return NULL;
}

static InputDevice *add_device(InputPairing *pairing, const char *handler) {
        InputDevice *device;

        if (pairing->n_devices == INPUT_DEVICES_MAX)
                return NULL;
        device = &pairing->devices[pairing->n_devices++];
        *device = (InputDevice){};
        snprintf(device->handler, sizeof(device->handler), "%s", handler);
        return device;
}

void input_pairing_report(InputPairing *pairing,
                          uint64_t at_ns,
                          const char *handler,
                          const char *name,
                          uint32_t n_values) {
        InputDevice *device = find_device(pairing, handler) ?: add_device(pairing, handler);

        if (!device) {
                pairing->n_left_out++;
                return;
        }
        /* When devices are unplugged, their numbers are given to others. */
        if (strncmp(device->name, name, sizeof(device->name) - 1) != 0)
                snprintf(device->name, sizeof(device->name), "%s", name);
        device->reports[device->n_reports++ % INPUT_REPORTS_MAX] =
                (InputReport){ .at_ns = at_ns, .n_values = n_values };
}

/* The thread's entry. If there are too many, it replaces the one that has not been used for longest. */
static InputReader *
get_reader(InputPairing *pairing, const InputDevice *device, pid_t tid, uint64_t now_ns) {
        InputReader *oldest = &pairing->readers[0], *reader;

        for (size_t i = 0; i < pairing->n_readers; i++) {
                reader = &pairing->readers[i];
                if (reader->device == device && reader->tid == tid) {
                        reader->used_ns = now_ns;
                        return reader;
                }
                if (reader->used_ns < oldest->used_ns)
                        oldest = reader;
        }
        reader = pairing->n_readers < INPUT_READERS_MAX ? &pairing->readers[pairing->n_readers++]
                                                        : oldest;
        *reader = (InputReader){ .device = device, .tid = tid, .used_ns = now_ns };
        return reader;
}

static const InputReport *report_at(const InputDevice *device, uint64_t i) {
        return &device->reports[i % INPUT_REPORTS_MAX];
}

/* Where the reports end that the read can have got. If it got exactly what was there before the latest reports,
 * those came too shortly before its end and are left out. */
static uint64_t
find_end(const InputDevice *device, uint64_t first, uint64_t at_ns, uint64_t n_values) {
        uint64_t end = device->n_reports, n_unread = 0;

        for (uint64_t i = first; i < end; i++)
                n_unread += report_at(device, i)->n_values;
        for (; end > first && n_unread > n_values; end--) {
                const InputReport *last = report_at(device, end - 1);

                if (at_ns - last->at_ns > INPUT_LATE_NS)
                        break;
                n_unread -= last->n_values;
        }
        return end > first && n_unread == n_values ? end : device->n_reports;
}

int input_pairing_read(InputPairing *pairing,
                       InputWait *ret,
                       uint64_t at_ns,
                       const char *handler,
                       pid_t tid,
                       uint64_t n_bytes) {
        const InputDevice *device = find_device(pairing, handler);
        uint64_t first, end, begin, n_values = n_bytes / INPUT_EVENT_BYTES, n_found = 0;
        InputReader *reader;

        if (!device || n_values == 0)
                return INPUT_E_NOTHING;
        reader = get_reader(pairing, device, tid, at_ns);
        first = device->n_reports - MIN(device->n_reports, (uint64_t)INPUT_REPORTS_MAX);
        first = MAX(first, reader->n_seen);
        first = MAX(first, device->n_forgotten);
        end = find_end(device, first, at_ns, n_values);
        reader->n_seen = end;
        for (begin = end; begin > first && n_found < n_values; begin--)
                n_found += report_at(device, begin - 1)->n_values;
        if (begin == end)
                return INPUT_E_NOTHING;
        *ret = (InputWait){ .device = device,
                            .tid = tid,
                            .begin_ns = report_at(device, begin)->at_ns,
                            .end_ns = at_ns };
        ret->shown_ns = MAX(ret->begin_ns, reader->end_ns);
        reader->end_ns = at_ns;
        return 0;
}

void input_pairing_forget(InputPairing *pairing) {
        for (size_t i = 0; i < pairing->n_devices; i++)
                pairing->devices[i].n_forgotten = pairing->devices[i].n_reports;
}
