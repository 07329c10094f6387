/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Doctor, heap: whether a program's heap can be recorded, and what shows its growth if not */

#include "client/doctor-heap.h"

#include <glib/gi18n.h>
#include <string.h>

#include "client/doctor-process.h"
#include "client/heap-program.h"
#include "client/standalone.h"
#include "shared/fd.h"

#define TOPIC          "heap"
#define MAPS_BYTES_MAX (16u << 20)

/* This data source shows growth of memory, whatever the allocator. Nothing is loaded into any program for it. */
#define BY_PAGE_FAULTS "desktrace record --stacks-at=page-fault -t 10s"

/*
 * Facts
 */

/* Text that is in a file only if it contains that code. */
static void look_through(void *userdata, const void *data, size_t n) {
        HeapFacts *facts = userdata;
        static const struct {
                const char *word;
                const char *allocator; /* NULL: a sanitizer */
        } rows[] = {
                { "__asan_init", NULL },
                { "__tsan_init", NULL },
                { "__msan_init", NULL },
                { "jemalloc", "jemalloc" },
                { "mi_malloc", "mimalloc" },
                { "tcmalloc", "tcmalloc" },
                { "PartitionAlloc", "PartitionAlloc" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                if (!memmem(data, n, rows[i].word, strlen(rows[i].word)))
                        continue;
                if (!rows[i].allocator)
                        facts->has_sanitizer = true;
                else if (!facts->allocator)
                        facts->allocator = rows[i].allocator;
        }
}

static bool has_mapped(int root, pid_t pid, const char *library) {
        g_autofree char *path = g_strdup_printf("proc/%d/maps", (int)pid);
        _cleanup_(freep) char *text = NULL;

        return fd_read_file(&text, NULL, root, path, MAPS_BYTES_MAX) >= 0 && strstr(text, library);
}

HeapFacts *heap_facts_new(int root, const char *program, pid_t pid, const char *flatpak) {
        HeapFacts *facts = g_new0(HeapFacts, 1);
        g_autofree char *library = standalone_heap_library();

        facts->program = g_strdup(program);
        facts->pid = pid;
        facts->flatpak = g_strdup(flatpak);
        facts->is_armed = pid > 0 && has_mapped(root, pid, "/libdesktrace-heap.so");
        if (g_file_test(library, G_FILE_TEST_EXISTS))
                facts->library = g_steal_pointer(&library);
        if (facts->library && !flatpak)
                facts->refusal = heap_program_refusal(program, facts->library);
        program_file_look(root, facts->program, look_through, facts);
        return facts;
}

HeapFacts *heap_facts_free(HeapFacts *facts) {
        if (!facts)
                return NULL;
        g_free(facts->program);
        g_free(facts->library);
        g_free(facts->refusal);
        g_free(facts->flatpak);
        g_free(facts);
        return NULL;
}

/*
 * What follows
 */

/* Growth comes first, as nothing has to be restarted for it. */
static char *remedy_of(const HeapFacts *facts) {
        g_autofree char *name = g_shell_quote(facts->flatpak ?: facts->program);
        g_autofree char *start = g_strdup_printf(
                "desktrace record --heap -- %s%s", facts->flatpak ? "flatpak run " : "", name);

        return facts->pid > 0 ? g_strconcat(BY_PAGE_FAULTS "; ", start, NULL)
                              : g_steal_pointer(&start);
}

static void check_allocator(DoctorReport *report, const HeapFacts *facts) {
        if (facts->has_sanitizer)
                doctor_add(report,
                           DOCTOR_NOTE,
                           TOPIC,
                           _("build it without a sanitizer"),
                           _("it was built with a sanitizer, whose allocator has to be the first: "
                             "its heap cannot be recorded"));
        else if (facts->allocator)
                doctor_add(report,
                           DOCTOR_NOTE,
                           TOPIC,
                           BY_PAGE_FAULTS,
                           _("%s may be a part of it: what it allocates there does not call "
                             "malloc(), and is not seen"),
                           facts->allocator);
}

static void check_start(DoctorReport *report, const HeapFacts *facts) {
        g_autofree char *remedy = remedy_of(facts);

        if (facts->pid > 0) {
                doctor_add(report,
                           DOCTOR_NOTE,
                           TOPIC,
                           remedy,
                           _("page faults tell where its memory grows; who allocates is seen only "
                             "if it is started with the library for that"));
                doctor_add(report,
                           DOCTOR_OK,
                           TOPIC,
                           NULL,
                           _("LD_PRELOAD=%s in a file of ~/.config/environment.d arms all programs "
                             "of your next session"),
                           facts->library);
        } else
                doctor_add(report,
                           DOCTOR_OK,
                           TOPIC,
                           remedy,
                           _("its heap can be recorded, from its start on"));
}

void heap_check(DoctorReport *report, const HeapFacts *facts) {
        if (!facts)
                return;
        if (facts->is_armed)
                doctor_add(report,
                           DOCTOR_OK,
                           TOPIC,
                           "desktrace record -p apps --heap -t 10s",
                           _("libdesktrace-heap.so is loaded into it: its heap can be recorded "
                             "now"));
        else if (!facts->library)
                doctor_add(report,
                           DOCTOR_NOTE,
                           TOPIC,
                           BY_PAGE_FAULTS,
                           _("libdesktrace-heap.so is not installed, so heaps cannot be recorded"));
        else if (facts->refusal)
                doctor_add(report, DOCTOR_NOTE, TOPIC, BY_PAGE_FAULTS, "%s", facts->refusal);
        else if (!facts->has_sanitizer)
                check_start(report, facts);
        check_allocator(report, facts);
}
