/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Invocation: one parsed command line
 *
 *      desktrace [OPTION…] VERB [OPTION…] [ARGUMENT…] [-- COMMAND…]
 *
 * Options may stand on either side of the verb. Everything after "--" is left alone.
 */

#include <glib.h>
#include <stdbool.h>

#include "client/exit-status.h"
#include "client/json-writer.h"
#include "shared/macro.h"

typedef enum BusChoice {
        BUS_CHOICE_DEFAULT, /* $DESKTRACE_SOCKET, else the system's */
        BUS_CHOICE_SYSTEM,
        BUS_CHOICE_USER,
        BUS_CHOICE_STANDALONE, /* a service of our own; for record and list */
} BusChoice;

/* Which common options a verb has. */
enum {
        VERB_USES_BUS = 1 << 0,     /* --system, --user, --no-ask-password */
        VERB_SHOWS_DATA = 1 << 1,   /* --json, --no-legend */
        VERB_RUNS_COMMAND = 1 << 2, /* -- COMMAND… */
        VERB_STANDALONE = 1 << 3,   /* --standalone */
};

typedef struct Invocation Invocation;

typedef struct Verb {
        const char *name;
        const char *arguments; /* for --help */
        const char *summary;   /* untranslated */
        unsigned flags;
        ExitStatus (*run)(Invocation *invocation);
} Verb;

struct Invocation {
        const Verb *verb;
        char **options;   /* the verb's arguments, as given; owned */
        char **command;   /* the words behind "--", or NULL; owned */
        char **arguments; /* what is left after parsing; owned */
        BusChoice bus;
        JsonMode json;
        bool has_legend;
        bool is_quiet;
        bool may_ask; /* polkit may ask for a password */
};

/* Splits at "--" and takes the verb's name out of the rest. *ret_verb is NULL when there is none;
 * free it. */
void invocation_init(Invocation *invocation, char **ret_verb, const char *const argv[]);
void invocation_deinit(Invocation *invocation);

/* Parses the options by the verb's entries and the common ones. STATUS_USAGE: it has reported the error and the
 * nearest valid option. May end the process for --help. */
ExitStatus invocation_parse(Invocation *invocation, const GOptionEntry *entries);

/* " --user", or "": what other commands need to find the same service. */
const char *invocation_bus_option(const Invocation *invocation);

/* Checks the number of arguments; reports an error. */
ExitStatus invocation_expect(const Invocation *invocation, size_t n_min, size_t n_max);

/* Checks an argument that names a file, as invocation_parse() does those of options; reports an error. */
ExitStatus invocation_check_file(const char *path);

/* "unknown verb 'x'. Did you mean 'y'?"; `format` is translated, with one %s. Always STATUS_USAGE. */
ExitStatus
usage_unknown(const char *format, const char *name, const char *const known[], size_t n_known);

/* Likewise, when the caller knows what was meant; NULL: it does not. */
ExitStatus usage_meant(const char *format, const char *name, const char *meant);
