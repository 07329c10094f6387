/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Plays silence with ALSA, as any program does that was linked with it, and says how much: for tests that record it.
 * It begins when there is a probe in the function that writes, or after ten seconds.
 *
 * Usage: playing-app N      writes N times 480 frames to the device that throws away what it is given; 0: see if it can
 */

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/macro.h"

/* ALSA's header is not needed for so little. */
#define PLAYBACK    0 /* SND_PCM_STREAM_PLAYBACK */
#define INTERLEAVED 3 /* SND_PCM_ACCESS_RW_INTERLEAVED */
#define S16_LE      2 /* SND_PCM_FORMAT_S16_LE */
#define RATE        48000
#define FRAMES      480

/* Of the function's beginning: a probe is there, or behind what is in its way. */
#define CODE_BYTES  16
#define LOOK_USEC   10000
#define LOOKS       1000
#define INT3        0xCC
#define SETTLE_USEC 300000 /* a function and its return have two probes */

typedef struct Alsa {
        int (*open)(void **ret, const char *name, int stream, int mode);
        int (*set_params)(void *,
                          int format,
                          int access,
                          unsigned channels,
                          unsigned rate,
                          int,
                          unsigned);
        long (*writei)(void *, const void *buffer, unsigned long n);
        int (*close)(void *);
} Alsa;

static int alsa_load(Alsa *alsa) {
        static const char *const names[] = {
                "snd_pcm_open", "snd_pcm_set_params", "snd_pcm_writei", "snd_pcm_close"
        };
        void *library = dlopen("libasound.so.2", RTLD_NOW), *functions[ARRAY_SIZE(names)];

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                functions[i] = library ? dlsym(library, names[i]) : NULL;
                if (!functions[i])
                        return -1;
        }
        memcpy(alsa, functions, sizeof(*alsa));
        return 0;
}

/* On x86-64 a probe is an int3. Elsewhere it is not looked for: the probes have the time instead. */
static bool has_probe(const void *function) {
        const volatile uint8_t *code = function;

        for (size_t i = 0; i < CODE_BYTES; i++)
                if (code[i] == INT3)
                        return true;
        return false;
}

static void await_probe(const void *function) {
        for (size_t n = 0; n < LOOKS && !has_probe(function); n++)
                usleep(LOOK_USEC);
        usleep(SETTLE_USEC);
}

int main(int argc, char **argv) {
        static const int16_t silence[2 * FRAMES];
        const long n = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
        long n_written = 0;
        void *device;
        Alsa alsa;

        if (alsa_load(&alsa) < 0 || alsa.open(&device, "null", PLAYBACK, 0) < 0 ||
            alsa.set_params(device, S16_LE, INTERLEAVED, 2, RATE, 1, 500000) < 0)
                return 77; /* there is no ALSA, or no configuration of it */
        if (n > 0)
                await_probe((const void *)(uintptr_t)alsa.writei);
        for (long i = 0; i < n; i++) {
                n_written += alsa.writei(device, silence, FRAMES) == FRAMES;
                usleep(LOOK_USEC);
        }
        alsa.close(device);
        printf("%ld writes\n", n_written);
        return n_written == n ? EXIT_SUCCESS : EXIT_FAILURE;
}
