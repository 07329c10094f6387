/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Report: samples of a figure, and the table of figures beside their goals */

#include <stdarg.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "scale.h"

void samples_add(Samples *samples, double value) {
        if (samples->n == SAMPLES_MAX)
                die("too many runs", 0);
        samples->values[samples->n++] = value;
}

static int compare(const void *a, const void *b) {
        double left = *(const double *)a, right = *(const double *)b;

        return (left > right) - (left < right);
}

/* The value with that many tenths of the others below it. */
static double samples_at(const Samples *samples, size_t tenths) {
        Samples sorted = *samples;

        if (samples->n == 0)
                die("a row without a figure", 0);
        qsort(sorted.values, sorted.n, sizeof(sorted.values[0]), compare);
        return sorted.values[(sorted.n - 1) * tenths / 10];
}

double samples_min(const Samples *samples) {
        return samples_at(samples, 0);
}

double samples_median(const Samples *samples) {
        return samples_at(samples, 5);
}

double samples_max(const Samples *samples) {
        return samples_at(samples, 10);
}

static void print_machine(void) {
        char line[256], model[128] = "?", date[32] = "";
        struct utsname name;
        time_t now = time(NULL);
        FILE *file = fopen("/proc/cpuinfo", "re");

        while (file && fgets(line, sizeof(line), file))
                if (sscanf(line, "model name : %127[^\n]", model) == 1)
                        break;
        if (file)
                fclose(file);
        uname(&name);
        strftime(date, sizeof(date), "%F", gmtime(&now));
        printf("%s, %s %s, %ld x %s\n",
               date,
               name.sysname,
               name.release,
               sysconf(_SC_NPROCESSORS_ONLN),
               model);
}

void report_head(const World *world) {
        print_machine();
        printf("%s, %u runs of what is short%s\n\n",
               world->on_bus ? "on a private D-Bus bus (desktraced --user)"
                             : "on a private socket (desktraced --standalone)",
               world->n_runs,
               world->is_quick ? "; quick: the figures mean nothing" : "");
        printf("%-46s %9s %9s %-7s %-10s %-22s %s\n",
               "what",
               "min",
               "median",
               "",
               "goal",
               "beside, in this run",
               "Perfetto, recorded elsewhere");
}

void report_subject(const char *name) {
        printf("%s\n", name);
        fflush(stdout);
}

static const char *verdict(const Row *row, double median) {
        if (row->at_most > 0 || row->is_zero)
                return median <= row->at_most ? "" : " MISSED";
        return row->at_least == 0 || median >= row->at_least ? "" : " MISSED";
}

void report(const Row *row) {
        double median = samples_median(row->samples);
        char goal[32] = "", floor[48] = "";

        if (row->at_most > 0 || row->is_zero)
                snprintf(goal, sizeof(goal), "<= %g", row->at_most);
        else if (row->at_least > 0)
                snprintf(goal, sizeof(goal), ">= %g", row->at_least);
        if (row->floor > 0)
                snprintf(floor, sizeof(floor), "%.2f x %s", median / row->floor, row->floor_name);
        printf("  %-44s %9.4g %9.4g %-7s %-10s %-22s %s%s\n",
               row->what,
               samples_min(row->samples),
               median,
               row->unit,
               goal,
               floor,
               row->peer ?: "",
               verdict(row, median));
        fflush(stdout);
}

void report_note(const char *format, ...) {
        va_list arguments;

        fputs("    ", stdout);
        va_start(arguments, format);
        vprintf(format, arguments);
        va_end(arguments);
        putchar('\n');
        fflush(stdout);
}
