/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A file of points.d: what is taken from it is within its bounds, and an argument is something that the kernel's list
 * of definitions can have without a blank or a new line in it.
 */

#include "fuzz.h"
#include "probes/points/point-fetch.h"
#include "probes/points/point-file.h"
#include "shared/log.h"

static bool find_field(void *userdata, const char *symbol, uint32_t *ret) {
        FUZZ_CHECK(*symbol);
        *ret = POINT_OFFSET_MAX;
        return true;
}

static void check_argument(const Point *point, const PointArgument *argument) {
        char fetch[POINT_FETCH_BYTES];

        FUZZ_CHECK(argument->slot < POINT_NUMBERS_MAX);
        FUZZ_CHECK(argument->type < _POINT_TYPE_N);
        if (point_fetch_make(fetch, argument->where, 62 /* EM_X86_64 */, find_field, NULL))
                FUZZ_CHECK(!strpbrk(fetch, " \t\n#;\"\\@:") && *fetch);
}

static void check_index(const Point *point, int argument) {
        FUZZ_CHECK(argument >= POINT_NO_ARGUMENT && argument < (int)point->n_arguments);
}

static void check_point(const Point *point) {
        FUZZ_CHECK(*point->group && *point->name && *point->library && *point->label &&
                   *point->category);
        FUZZ_CHECK(point->meaning > POINT_NOTHING && point->meaning < _POINT_MEANING_N);
        FUZZ_CHECK(point->n_arguments <= POINT_ARGUMENTS_MAX);
        FUZZ_CHECK(point->n_conditions <= POINT_CONDITIONS_MAX);
        for (size_t i = 0; i < point->n_arguments; i++)
                check_argument(point, &point->arguments[i]);
        for (size_t i = 0; i < point->n_conditions; i++)
                check_index(point, point->conditions[i].argument);
        check_index(point, point->process);
        check_index(point, point->surface);
        check_index(point, point->seconds);
        check_index(point, point->nanoseconds);
        check_index(point, point->refresh);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        PointTable table = {};
        char *text = malloc(n_bytes + 1);

        log_set_level(LOG_ERR);
        if (n_bytes > 0)
                memcpy(text, data, n_bytes);
        text[n_bytes] = '\0';
        FUZZ_CHECK(point_file_parse(&table, "fuzz.conf", text, NULL) == 0);
        FUZZ_CHECK(table.n_points <= POINTS_MAX);
        for (size_t i = 0; i < table.n_points; i++)
                check_point(&table.points[i]);
        point_table_deinit(&table);
        free(text);
        return 0;
}
