/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Export: a trace in the format of another program
 *
 * A format is a row of a table. Each is made of statements over the tables of the query, so that only what a format
 * needs is read, and rows go out as they come.
 */

#include <glib.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

#include "query/query.h"

#define EXPORT_DEPTH_MAX 1024 /* frames of a stack; deeper ones are cut off at the outside */

enum {
        EXPORT_E_NOTHING = 1000, /* the trace has nothing that the format can represent */
        EXPORT_E_WRITE,          /* errno says why */
        EXPORT_E_DATABASE,       /* SQLite could not write the file */
        EXPORT_E_EMPTY,          /* likewise, for a format with several kinds of data */
        EXPORT_E_NO_CLOCK,       /* the trace does not tell the time of day */
        EXPORT_E_NO_UUID,        /* the trace does not have its own number */
        EXPORT_E_NO_MACHINE,     /* this machine has no id */
        EXPORT_E_EXISTS,         /* a file exists that must not be replaced */
        EXPORT_E_MIXED,          /* a column has values of types that do not go together */
        EXPORT_E_WHICH, /* there are samples of several sources, or others than asked for */
};

typedef struct Export {
        const struct ExportFormat *format;
        Query *query;
        FILE *stream;
        const char *path; /* the file's path, for a library that opens it itself; or the tree's */
        const char
                *machine; /* the machine's name in a tree; NULL: derived from this machine's id */
        bool replace;     /* in a tree: existing files may be replaced */
        char **tables;    /* NULL: the format's own tables */
        const char *sql;  /* in place of tables, or NULL */
        const char *samples; /* the source that was asked for, or NULL */
        char *source;        /* the source that was chosen, or NULL; owned */
        bool is_time;        /* its samples weigh nanoseconds */
        bool has_range;
        int64_t zero, start, end;
        uint64_t n_rows;     /* written */
        uint64_t n_left_out; /* rows that the format cannot represent */
        char *column; /* the column of EXPORT_E_MIXED, or the sources to choose from; owned */
} Export;

typedef struct ExportFormat {
        const char *name;
        const char *cannot; /* what it leaves out, as a sentence; untranslated */
        bool is_database;   /* writes to the path, and not to the stream; takes several tables */
        bool has_tables;    /* --table and --sql choose what is in it */
        bool is_tree;       /* writes files below the path, and has tables of its own */
        bool has_samples;   /* --samples chooses which call stacks are in it */
        unsigned parts;     /* parts of the trace that it always needs */
        const char *record; /* a command that records its data; NULL: any recording has it */
        int (*run)(Export *export);
} ExportFormat;

const ExportFormat *export_formats(size_t *ret_n);

/* Whether there is such a table to export. */
bool export_has_table(const char *name);
