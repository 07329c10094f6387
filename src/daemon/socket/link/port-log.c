/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is logged of peers, and why a call was refused. */

#include <stdarg.h>
#include <stdio.h>

#include "link.h"
#include "shared/log-user.h"

#define LOG_TEXT_BYTES 512

void port_connection_log(const PortConnection *connection, const char *format, ...) {
        char text[LOG_TEXT_BYTES];
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        log_user(connection->identity.uid, LOG_NOTICE, "%s: %s", connection->description, text);
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
