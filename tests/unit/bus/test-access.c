/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus/producer/bus-producer-object.h"
#include "bus/session/bus-buffer.h"
#include "bus/session/bus-session-object.h"
#include "test.h"

#include <errno.h>

#include "bus/bus-manager.h"
#include "bus/link/bus-error.h"
#include "bus/object/bus-access.h"
#include "bus/object/bus-producer.h"
#include "bus/object/bus-session.h"
#include "bus/object/bus-source.h"
#include "shared/names.h"

static const struct {
        const char *interface;
        const sd_bus_vtable *vtable;
} objects[] = {
        { TRACING_MANAGER_INTERFACE, bus_manager_vtable },
        { TRACING_SESSION_INTERFACE, bus_session_vtable },
        { TRACING_BUFFER_INTERFACE, bus_buffer_vtable },
        { TRACING_PRODUCER_INFO_INTERFACE, bus_producer_vtable },
        { TRACING_SOURCE_INFO_INTERFACE, bus_source_vtable },
};

START_TEST(test_every_method_has_a_rule) {
        for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
                for (const sd_bus_vtable *at = objects[i].vtable; at->type != _SD_BUS_VTABLE_END;
                     at++)
                        if (at->type == _SD_BUS_VTABLE_METHOD)
                                ck_assert_msg(
                                        access_find(objects[i].interface, at->x.method.member),
                                        "%s.%s has no rule",
                                        objects[i].interface,
                                        at->x.method.member);
}
END_TEST

START_TEST(test_every_method_of_a_session_is_for_those_who_see_it) {
        for (const sd_bus_vtable *at = bus_session_vtable; at->type != _SD_BUS_VTABLE_END; at++)
                if (at->type == _SD_BUS_VTABLE_METHOD)
                        ck_assert_int_eq(
                                access_find(TRACING_SESSION_INTERFACE, at->x.method.member)->who,
                                ACCESS_SEES);
}
END_TEST

START_TEST(test_what_has_no_rule_is_refused) {
        ck_assert_ptr_null(access_find(TRACING_MANAGER_INTERFACE, "Nothing"));
        ck_assert_ptr_null(access_find(TRACING_SESSION_INTERFACE, "StartSession"));
        ck_assert_ptr_null(access_find("org.freedesktop.DBus.Properties", "Set"));
        ck_assert_ptr_null(access_find(TRACING_PRODUCER_INTERFACE, "StartDataSource"));
        ck_assert_ptr_null(access_find("", ""));
}
END_TEST

START_TEST(test_nothing_can_be_written_and_all_gates_are_ours) {
        for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
                for (const sd_bus_vtable *at = objects[i].vtable; at->type != _SD_BUS_VTABLE_END;
                     at++) {
                        ck_assert_int_ne(at->type, _SD_BUS_VTABLE_WRITABLE_PROPERTY);
                        if (at->type == _SD_BUS_VTABLE_METHOD)
                                ck_assert(at->flags & SD_BUS_VTABLE_UNPRIVILEGED);
                }
}
END_TEST

START_TEST(test_producers_do_not_listen) {
        ck_assert(!access_find(TRACING_MANAGER_INTERFACE, "RegisterProducer")->listens);
        ck_assert(!access_find(TRACING_MANAGER_INTERFACE, "RegisterDataSource")->listens);
        ck_assert(access_find(TRACING_MANAGER_INTERFACE, "StartSession")->listens);
}
END_TEST

START_TEST(test_each_error_has_its_own_name) {
        for (int i = 0; i < _BUS_ERROR_N; i++) {
                ck_assert_int_eq(strncmp(bus_error_name(i),
                                         TRACING_ERROR_PREFIX,
                                         strlen(TRACING_ERROR_PREFIX)),
                                 0);
                for (int j = 0; j < i; j++)
                        ck_assert_str_ne(bus_error_name(i), bus_error_name(j));
        }
}
END_TEST

START_TEST(test_outcomes_become_errors_with_the_text_of_the_core) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        SessionError why = { .message = "buffer 3 is too large" };

        ck_assert_int_lt(bus_error_set_session(&error, "cannot start", SESSION_E_LIMIT, &why), 0);
        ck_assert_str_eq(error.name, TRACING_ERROR_PREFIX "LimitExceeded");
        ck_assert_str_eq(error.message, "cannot start: buffer 3 is too large");
        sd_bus_error_free(&error);
        ck_assert_int_lt(bus_error_set_session(&error, "cannot start", -ENOMEM, NULL), 0);
        ck_assert_str_eq(error.name, SD_BUS_ERROR_NO_MEMORY);
        sd_bus_error_free(&error);
        ck_assert_int_lt(bus_error_set_producer(&error, "linux.x", PRODUCER_E_RESERVED), 0);
        ck_assert_str_eq(error.name, TRACING_ERROR_PREFIX "SourceNameReserved");
        sd_bus_error_free(&error);
}
END_TEST

TEST_MAIN("bus-access",
          test_every_method_has_a_rule,
          test_every_method_of_a_session_is_for_those_who_see_it,
          test_what_has_no_rule_is_refused,
          test_nothing_can_be_written_and_all_gates_are_ours,
          test_producers_do_not_listen,
          test_each_error_has_its_own_name,
          test_outcomes_become_errors_with_the_text_of_the_core)
