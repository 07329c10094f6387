/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What peers do wrong is logged, and peers must not be able to fill the log: not with one connection, nor by connecting
 * again and again. So lines are counted by user, and the counts outlive the connections. They are a small table that
 * users share by their numbers; at worst two of them share one count.
 */

#include <stdarg.h>
#include <stdio.h>

#include "ports-private.h"
#include "shared/log.h"

#define LOG_TEXT_BYTES 512

/* A peer's strings are in it, and a line of the log is one line of plain text. */
static void make_plain(char *text) {
        for (; *text; text++)
                if (*text < ' ' || *text > '~')
                        *text = '?';
}

/* Whether one more line is due, and is it the last for now? */
static bool budget_take(PortLogBudget *budget, uint64_t now, bool *ret_is_last) {
        if (now >= budget->until_ns)
                *budget = (PortLogBudget){ .until_ns = now + PORTS_LOG_INTERVAL_NS };
        *ret_is_last = budget->n_lines + 1 == PORTS_LOG_LINES_PER_UID_MAX;
        return budget->n_lines++ < PORTS_LOG_LINES_PER_UID_MAX;
}

static bool connection_may_log(const PortConnection *connection, bool *ret_is_last) {
        Ports *ports = connection->ports;

        return budget_take(&ports->log_budgets[connection->identity.uid % PORTS_LOG_BUDGETS],
                           port_connection_now(connection),
                           ret_is_last);
}

void port_connection_log(const PortConnection *connection, const char *format, ...) {
        char text[LOG_TEXT_BYTES];
        bool is_last = false;
        va_list arguments;
        int level = LOG_DEBUG;

        va_start(arguments, format);
        vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        make_plain(text);
        if (connection_may_log(connection, &is_last))
                level = LOG_NOTICE;
        log_at(level, "%s: %s", connection->description, text);
        if (is_last)
                log_notice("no more about peers of uid %u for %u seconds",
                           (unsigned)connection->identity.uid,
                           (unsigned)(PORTS_LOG_INTERVAL_NS / UINT64_C(1000000000)));
}

int port_refuse(PortConnection *connection, const char *format, ...) {
        Ports *ports = connection->ports;
        va_list arguments;

        ports->refuses_quietly = false;
        va_start(arguments, format);
        vsnprintf(ports->refusal, sizeof(ports->refusal), format, arguments);
        va_end(arguments);
        return PORT_E_REFUSED;
}

int port_refuse_quietly(PortConnection *connection, const char *why) {
        const int r = port_refuse(connection, "%s", why);

        connection->ports->refuses_quietly = true;
        return r;
}

void port_begin_call(const PortConnection *connection) {
        connection->ports->refusal[0] = 0;
        connection->ports->refuses_quietly = false;
}

void port_log_refusal(const PortConnection *connection, const char *method) {
        const Ports *ports = connection->ports;
        const char *why = ports->refusal[0] ? ports->refusal : "it is not valid here";

        if (ports->refuses_quietly)
                log_debug("%s: %s is refused: %s", connection->description, method, why);
        else
                port_connection_log(connection, "%s is refused: %s", method, why);
}
