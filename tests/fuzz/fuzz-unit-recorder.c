/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A manager that says anything in any order: units, times, jobs and what is ordered after what. Slices of a track end
 * as often as they begin or once less, in the order of time; names stay short and printable; limits hold.
 */

#include <string.h>

#include "fuzz.h"
#include "managers/unit-recorder.h"
#include "shared/utf8.h"
#include "wire/wire-reader.h"

#define NAMES 8

typedef struct Input {
        const uint8_t *at, *end;
} Input;

static uint64_t take(Input *input, unsigned n_bytes) {
        uint64_t value = 0;

        for (; n_bytes > 0 && input->at < input->end; n_bytes--)
                value = value << 8 | *input->at++;
        return value;
}

/* A few names come again; others are what the input says. */
static const char *take_name(Input *input) {
        static char name[512];
        uint8_t first = (uint8_t)take(input, 1);
        size_t n = 0;

        if (first < 0x80) {
                snprintf(name, sizeof(name), "%u.service", first % NAMES);
                return name;
        }
        for (; n < (size_t)(first - 0x80) * 4 && input->at < input->end; n++)
                name[n] = (char)(*input->at++ ?: 'x');
        name[n] = '\0';
        return name;
}

static UnitTimes take_times(Input *input) {
        UnitTimes times = { .phase = (UnitPhase)(take(input, 1) % _UNIT_PHASE_N) };
        unsigned n = take(input, 1) % 8 + 1;

        times.inactive_exit_us = take(input, n);
        times.active_enter_us = take(input, n);
        times.active_exit_us = take(input, n);
        times.inactive_enter_us = take(input, n);
        times.change_us = take(input, n);
        return times;
}

static void step(UnitRecorder *recorder, Input *input) {
        uint8_t kind = (uint8_t)take(input, 1) % 10;
        const char *name = take_name(input);
        Unit *unit = unit_recorder_unit(recorder, name);
        UnitTimes times;

        if (!unit)
                return;
        switch (kind) {
        case 0 ... 2:
                times = take_times(input);
                unit_recorder_change(recorder, unit, &times);
                break;
        case 3:
                unit_recorder_remove(recorder, name);
                break;
        case 4:
                unit_begin_after(unit);
                unit_add_after(unit, take_name(input));
                unit_add_after(unit, take_name(input));
                break;
        case 5:
                unit_recorder_add_job(
                        recorder, (uint32_t)take(input, 1), unit, name, take(input, 4));
                break;
        case 6:
                unit_recorder_run_job(recorder, (uint32_t)take(input, 1), take(input, 4));
                break;
        case 7:
                unit_recorder_end_job(recorder, (uint32_t)take(input, 1), name, take(input, 4));
                break;
        case 8:
                unit_recorder_write(recorder, take(input, 8));
                break;
        default:
                unit_recorder_set_job_type(recorder, (uint32_t)take(input, 1), name);
        }
}

static int check_packet(PacketSink *sink, const void *packet, size_t n_bytes) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, packet, n_bytes);
        while ((r = wire_read(&reader, &field)) > 0)
                ;
        FUZZ_CHECK(r == 0);
        FUZZ_CHECK(n_bytes < 4096); /* UNIT_ARROWS_MAX of 10 bytes, and names */
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        PacketSink sink = { .write = check_packet };
        Input input = { data, data + n_bytes };
        UnitRecorder recorder;
        PacketWriter packets;
        TrackWriter tracks;

        packet_writer_init(&packets, &sink);
        track_writer_init(&tracks, &packets, "fuzz");
        unit_recorder_init(&recorder, &tracks, "systemd");
        recorder.start_us = take(&input, 2);
        while (input.at < input.end) {
                step(&recorder, &input);
                FUZZ_CHECK(recorder.n_events <= UNIT_EVENTS_MAX);
                FUZZ_CHECK(recorder.n_jobs <= UNIT_JOBS_MAX);
        }
        unit_recorder_finish(&recorder);
        FUZZ_CHECK(recorder.n_events == 0 && recorder.n_jobs == 0);
        unit_recorder_deinit(&recorder);
        track_writer_deinit(&tracks);
        packet_writer_deinit(&packets);
        return 0;
}
