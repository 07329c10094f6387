/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Category view: the categories of the programs that run
 */

#include <glib.h>

#include "client/bus-client.h"

typedef struct ViewCategory {
        char *name;
        char *description; /* or NULL */
        char **tags;
        char **programs; /* "name (pid)" of each program that has it; NULL: the service is too old to tell */
} ViewCategory;

/* An array that owns what is in it, sorted. Reports errors. */
ExitStatus view_list_categories(GArray **ret, const BusClient *client);
