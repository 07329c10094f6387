/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Thread names: which thread a call stack belongs to, as its outermost frame */

#include <string.h>
#include <sys/prctl.h>

#include "heap/thread-names.h"
#include "shared/macro.h"

/* The first is for all threads that find no room. */
static char texts[THREAD_NAMES_MAX][THREAD_FRAME_BYTES] = { "[other threads]" };
static uint16_t n_texts = 1;

static uint16_t find_text(const char *text) {
        for (uint16_t i = 1; i < n_texts; i++)
                if (streq(texts[i], text))
                        return i;
        if (n_texts == THREAD_NAMES_MAX)
                return 0;
        memcpy(texts[n_texts], text, strlen(text) + 1);
        return n_texts++;
}

/* This does not use stdio, because the program's thread may have a stack of only 16 KiB. */
static void put_text(char text[THREAD_FRAME_BYTES], const char *name) {
        const size_t n = strlen(name);

        memcpy(text, "[thread ", 8);
        memcpy(text + 8, name, n);
        memcpy(text + 8 + n, "]", 2);
}

/* Looks at the samples 1, 2, 4, 8, … of each thread. */
static bool is_asked(HeapThread *thread) {
        const uint32_t n = ++thread->n_samples;

        return (n & (n - 1)) == 0;
}

SiteFrame thread_names_frame(HeapThread *thread) {
        if (is_asked(thread)) {
                char name[THREAD_NAME_BYTES] = "", text[THREAD_FRAME_BYTES];

                (void)prctl(PR_GET_NAME, name);
                name[THREAD_NAME_BYTES - 1] = '\0';
                put_text(text, name);
                thread->name = find_text(text);
        }
        return (SiteFrame){ .address = _SITE_WORD_N + thread->name, .module = SITE_NO_MODULE };
}

const char *thread_names_text(uint64_t address) {
        static const char *const words[_SITE_WORD_N] = {
                [SITE_WORD_OTHERS] = "[others]",
                [SITE_WORD_TRUNCATED] = "[truncated]",
        };

        return address < _SITE_WORD_N ? words[address] : texts[address - _SITE_WORD_N];
}
