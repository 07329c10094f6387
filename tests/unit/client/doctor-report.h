/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A report of "desktrace doctor", and what is expected in it.
 */

#include <string.h>

#include "client/doctor.h"
#include "test.h"

static DoctorReport report;

static inline void begin(void) {
        doctor_report_init(&report);
}

static inline void end(void) {
        doctor_report_deinit(&report);
}

static inline const DoctorFinding *find(DoctorLevel level, const char *topic, const char *text) {
        for (guint i = 0; i < report.findings->len; i++) {
                const DoctorFinding *finding = &g_array_index(report.findings, DoctorFinding, i);

                if (finding->level == level && g_str_equal(finding->topic, topic) &&
                    strstr(finding->text, text))
                        return finding;
        }
        return NULL;
}

#define assert_finding(level, topic, text) \
        ck_assert_msg(find(level, topic, text) != NULL, "no finding of %s with \"%s\"", topic, text)

static inline void assert_remedy(const char *topic, const char *text, const char *remedy) {
        for (guint i = 0; i < report.findings->len; i++) {
                const DoctorFinding *finding = &g_array_index(report.findings, DoctorFinding, i);

                if (g_str_equal(finding->topic, topic) && strstr(finding->text, text)) {
                        ck_assert_ptr_nonnull(finding->remedy);
                        ck_assert_msg(strstr(finding->remedy, remedy), "%s", finding->remedy);
                        return;
                }
        }
        ck_abort_msg("no finding of %s with \"%s\"", topic, text);
}
