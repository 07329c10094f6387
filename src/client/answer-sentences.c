/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answer sentences: what an answer says in words */

#include "client/answer-sentences.h"

#include <math.h>
#include <string.h>

#include <glib/gi18n.h>

#include "answers/answer-questions.h"
#include "answers/comparison.h"
#include "client/answer-text.h"

/* Returns a fact, or a cell of the first row, as text. */
static char *fact(const Answer *answer, unsigned i) {
        return answer_value_text(&answer->facts[i], answer->def->facts[i].kind);
}

static char *first(const Answer *answer, unsigned column) {
        return answer_value_text(answer_cell(answer, 0, column), answer->def->columns[column].kind);
}

#define FACT(name, i)  g_autofree char *name = fact(answer, i)
#define FIRST(name, i) g_autofree char *name = first(answer, i)

static void say_line(GString *out, const char *line) {
        g_string_append(out, line);
        g_string_append_c(out, '\n');
}

static int64_t number(const Answer *answer, unsigned i) {
        return answer->facts[i].number;
}

/* ngettext() chooses the plural by this number. */
static unsigned long count(int64_t n) {
        return n < 0 ? 0 : (unsigned long)MIN(n, INT32_MAX);
}

static void say_cpu(GString *out, const Answer *answer) {
        FACT(busy, CPU_FACT_BUSY);
        FACT(all, CPU_FACT_ALL);
        FACT(share, CPU_FACT_SHARE);
        FACT(n_open, CPU_FACT_OPEN);

        g_string_append_printf(out,
                               _("Programs used %s of CPU time, %s of the %s that there were.\n"),
                               busy,
                               share,
                               all);
        if (answer->n_rows) {
                FIRST(who, CPU_COLUMN_WHO);
                FIRST(ns, CPU_COLUMN_NS);
                FIRST(part, CPU_COLUMN_SHARE);

                g_string_append_printf(out, _("Most of it, %s (%s), went to %s.\n"), ns, part, who);
        }
        if (number(answer, CPU_FACT_OPEN))
                g_string_append_printf(
                        out,
                        _("What was still running, or whose end was lost, is not counted (%s).\n"),
                        n_open);
}

static void say_slice(GString *out, const Answer *answer) {
        FACT(name, SLICE_FACT_NAME);
        FACT(id, SLICE_FACT_ID);
        FACT(at, SLICE_FACT_AT);
        FACT(dur, SLICE_FACT_DUR);
        FACT(thread, SLICE_FACT_THREAD);
        FACT(ran, SLICE_FACT_RAN);
        FACT(runnable, SLICE_FACT_RUNNABLE);
        FACT(io, SLICE_FACT_IO);
        FACT(blocked, SLICE_FACT_BLOCKED);
        FACT(slept, SLICE_FACT_SLEPT);
        FACT(unknown, SLICE_FACT_UNKNOWN);

        g_string_append_printf(out,
                               _("Slice %s, '%s' of %s, began at %s and took %s.\n"),
                               id,
                               name,
                               thread,
                               at,
                               dur);
        if (answer->n_rows)
                g_string_append_printf(
                        out,
                        _("In it the thread ran for %s, waited for a CPU for %s and for IO for %s, "
                          "was blocked in the kernel for %s and slept for %s.\n"),
                        ran,
                        runnable,
                        io,
                        blocked,
                        slept);
        if (number(answer, SLICE_FACT_UNKNOWN) > 0)
                g_string_append_printf(
                        out,
                        _("For %s the recording does not say what the thread did.\n"),
                        unknown);
        if (number(answer, SLICE_FACT_OPEN))
                say_line(out, _("The slice was still open when the recording ended."));
}

static void say_wakers(GString *out, const Answer *answer) {
        FACT(thread, WAKERS_FACT_THREAD);
        FACT(at, WAKERS_FACT_AT);
        FACT(waited, WAKERS_FACT_WAITED);
        FACT(end, WAKERS_FACT_END);

        g_string_append_printf(
                out, _("The longest wait of %s began at %s and took %s.\n"), thread, at, waited);
        g_string_append_printf(out, _("At the end of the chain of wakers is %s.\n"), end);
}

static void say_slowest(GString *out, const Answer *answer) {
        FACT(name, SLOWEST_FACT_NAME);
        FACT(n, SLOWEST_FACT_N);
        FACT(p50, SLOWEST_FACT_P50);
        FACT(max, SLOWEST_FACT_MAX);
        FACT(what, SLOWEST_FACT_WHAT);
        FACT(excess, SLOWEST_FACT_EXCESS);

        g_string_append_printf(
                out, _("'%s' usually took %s, and at most %s (slices: %s).\n"), name, p50, max, n);
        if (answer->facts[SLOWEST_FACT_EXCESS].is_there)
                g_string_append_printf(out,
                                       _("What was different in the slowest one: %s, by %s.\n"),
                                       what,
                                       excess);
        else if (answer->facts[SLOWEST_FACT_WHAT].is_there)
                g_string_append_printf(
                        out, _("What was different in the slowest one is %s.\n"), what);
}

static void say_times(GString *out, const Answer *answer) {
        FACT(n, TIMES_FACT_N);
        FACT(names, TIMES_FACT_NAMES);
        FACT(n_open, TIMES_FACT_OPEN);

        g_string_append_printf(out, _("Slices: %s, with different names: %s.\n"), n, names);
        if (answer->n_rows) {
                FIRST(name, TIMES_COLUMN_NAME);
                FIRST(ns, TIMES_COLUMN_NS);

                g_string_append_printf(out, _("The most time, %s, went to '%s'.\n"), ns, name);
        }
        if (number(answer, TIMES_FACT_OPEN))
                g_string_append_printf(
                        out, _("Slices that were still open are not counted (%s).\n"), n_open);
}

static void say_repeats(GString *out, const Answer *answer) {
        if (answer->n_rows) {
                FIRST(name, REPEATS_COLUMN_NAME);
                FIRST(period, REPEATS_COLUMN_PERIOD);

                g_string_append_printf(out,
                                       _("Of everything that repeats regularly, '%s' takes "
                                         "longest: it repeats every %s.\n"),
                                       name,
                                       period);
        } else {
                say_line(out, _("Nothing repeats regularly, every 50 ms or less often."));
        }
}

static void say_waits(GString *out, const Answer *answer) {
        FACT(total, WAITS_FACT_TOTAL);
        FACT(p50, WAITS_FACT_P50);
        FACT(p99, WAITS_FACT_P99);
        FACT(max, WAITS_FACT_MAX);

        if (answer->n_rows == 0) {
                say_line(out, _("No thread waited for a CPU."));
                return;
        }
        FIRST(who, WAITS_COLUMN_WHO);
        FIRST(ns, WAITS_COLUMN_NS);
        g_string_append_printf(out,
                               _("Threads waited for a CPU for %s in all: half of the waits took "
                                 "at most %s, 99 %% "
                                 "of them at most %s, the longest %s.\n"),
                               total,
                               p50,
                               p99,
                               max);
        g_string_append_printf(out, _("%s waited the most: %s.\n"), who, ns);
}

static void say_wakeups(GString *out, const Answer *answer) {
        FACT(n, WAKEUPS_FACT_N);
        FACT(rate, WAKEUPS_FACT_RATE);
        FACT(idle, WAKEUPS_FACT_IDLE);

        g_string_append_printf(
                out,
                ngettext("Idle CPUs were woken %s time, %s times a second; CPUs were idle for %s "
                         "of the time.\n",
                         "Idle CPUs were woken %s times, %s times a second; CPUs were idle for %s "
                         "of the time.\n",
                         count(number(answer, WAKEUPS_FACT_N))),
                n,
                rate,
                idle);
        if (answer->n_rows) {
                FIRST(who, WAKEUPS_COLUMN_WHO);
                FIRST(most, WAKEUPS_COLUMN_N);

                g_string_append_printf(
                        out,
                        ngettext("Most often it was for %s: %s time.\n",
                                 "Most often it was for %s: %s times.\n",
                                 count(answer_cell(answer, 0, WAKEUPS_COLUMN_N)->number)),
                        who,
                        most);
        }
}

static void say_disk(GString *out, const Answer *answer) {
        FACT(total, DISK_FACT_TOTAL);
        FACT(max, DISK_FACT_MAX);

        if (answer->n_rows == 0) {
                say_line(out, _("Nobody waited for the disk."));
                return;
        }
        FIRST(who, DISK_COLUMN_WHO);
        FIRST(ns, DISK_COLUMN_NS);
        g_string_append_printf(out,
                               _("Threads waited for the disk and the like for %s in all, at most "
                                 "%s at a time.\n"),
                               total,
                               max);
        g_string_append_printf(out, _("%s waited the most: %s.\n"), who, ns);
}

static void say_interrupts(GString *out, const Answer *answer) {
        FACT(total, INTERRUPTS_FACT_TOTAL);
        FACT(max, INTERRUPTS_FACT_MAX);
        FIRST(name, INTERRUPTS_COLUMN_NAME);
        FIRST(ns, INTERRUPTS_COLUMN_NS);

        g_string_append_printf(
                out, _("Interrupts took %s in all, at most %s at a time.\n"), total, max);
        g_string_append_printf(out, _("Most of it, %s, was '%s'.\n"), ns, name);
}

static void say_function(GString *out, const Answer *answer, size_t row) {
        g_autofree char *name =
                answer_value_text(answer_cell(answer, row, FUNCTIONS_COLUMN_NAME), ANSWER_TEXT);
        g_autofree char *share =
                answer_value_text(answer_cell(answer, row, FUNCTIONS_COLUMN_SHARE), ANSWER_SHARE);

        g_string_append_printf(out, _("'%s' was running in %s of them.\n"), name, share);
}

static void say_functions(GString *out, const Answer *answer) {
        FACT(n, FUNCTIONS_FACT_N);
        FACT(no_stack, FUNCTIONS_FACT_NO_STACK);
        FACT(no_name, FUNCTIONS_FACT_NO_NAME);

        g_string_append_printf(out,
                               _("Samples of call stacks: %s; without a stack: %s, in functions "
                                 "whose name is not known: %s.\n"),
                               n,
                               no_stack,
                               no_name);
        for (size_t row = 0; row < answer->n_rows; row++)
                if (answer_cell(answer, row, FUNCTIONS_COLUMN_NAME)->text) {
                        say_function(out, answer, row);
                        return;
                }
}

static void say_sleeps(GString *out, const Answer *answer) {
        FACT(n, FUNCTIONS_FACT_N);
        FACT(no_stack, FUNCTIONS_FACT_NO_STACK);
        FIRST(name, FUNCTIONS_COLUMN_NAME);
        FIRST(share, FUNCTIONS_COLUMN_SHARE);

        g_string_append_printf(
                out, _("Threads slept for %s together; without a stack: %s.\n"), n, no_stack);
        g_string_append_printf(out, _("In '%s' they slept for %s of it.\n"), name, share);
}

static void say_memory(GString *out, const Answer *answer) {
        FIRST(who, MEMORY_COLUMN_WHO);
        FIRST(growth, MEMORY_COLUMN_GROWTH);

        if (answer_cell(answer, 0, MEMORY_COLUMN_GROWTH)->number > 0)
                g_string_append_printf(
                        out, _("The memory of %s grew the most: by %s.\n"), who, growth);
        else
                say_line(out, _("No program's memory grew."));
}

static void say_growth(GString *out, const Answer *answer) {
        FACT(growth, GROWS_FACT_GROWTH);
        FACT(from, GROWS_FACT_FIRST);
        FACT(to, GROWS_FACT_LAST);

        if (number(answer, GROWS_FACT_GROWTH) <= 0) {
                g_string_append_printf(out,
                                       _("Between their first and their last dump heaps did not "
                                         "grow: from %s to %s in use.\n"),
                                       from,
                                       to);
                return;
        }
        g_string_append_printf(
                out,
                _("Between their first and their last dump heaps grew by %s, from %s to %s.\n"),
                growth,
                from,
                to);
        if (answer->n_rows) {
                FIRST(who, GROWS_COLUMN_WHO);
                FIRST(most, GROWS_COLUMN_GROWTH);
                FIRST(stack, GROWS_COLUMN_STACK);

                g_string_append_printf(out,
                                       _("The largest growth, %s, is what %s allocated in: %s\n"),
                                       most,
                                       who,
                                       stack);
        }
        if (answer->facts[GROWS_FACT_MOST_THREAD].is_there) {
                FACT(most, GROWS_FACT_MOST_THREAD);
                FACT(who, GROWS_FACT_MOST_THREAD_WHO);
                FACT(thread, GROWS_FACT_MOST_THREAD_NAME);

                g_string_append_printf(out,
                                       _("By thread, it was %s of %s that made a heap grow the "
                                         "most, by %s.\n"),
                                       thread,
                                       who,
                                       most);
        }
}

static void say_left(GString *out, const Answer *answer) {
        FACT(left, GROWS_FACT_LEFT);
        FACT(most, GROWS_FACT_MOST_LEFT);
        FACT(who, GROWS_FACT_MOST_LEFT_WHO);
        FACT(stack, GROWS_FACT_MOST_LEFT_AT);

        g_string_append_printf(out, _("When they ended, programs had not freed %s.\n"), left);
        if (answer->facts[GROWS_FACT_MOST_LEFT].is_there)
                g_string_append_printf(out,
                                       _("Most of that, %s, is what %s allocated in: %s\n"),
                                       most,
                                       who,
                                       stack);
}

static void say_grows(GString *out, const Answer *answer) {
        FACT(once, GROWS_FACT_ONCE);

        if (number(answer, GROWS_FACT_SEVERAL))
                say_growth(out, answer);
        if (number(answer, GROWS_FACT_ONCE))
                g_string_append_printf(out,
                                       _("Heaps with one dump in this time, of which growth is not "
                                         "known: %s. A longer recording has more.\n"),
                                       once);
        if (number(answer, GROWS_FACT_ENDED))
                say_left(out, answer);
}

static void say_journal(GString *out, const Answer *answer) {
        FACT(n, JOURNAL_FACT_N);
        FACT(bad, JOURNAL_FACT_BAD);

        g_string_append_printf(
                out, _("Entries of the journal: %s, of them warnings or worse: %s.\n"), n, bad);
}

static void say_bus(GString *out, const Answer *answer) {
        FACT(calls, BUS_FACT_CALLS);
        FACT(waited, BUS_FACT_WAITED);
        FACT(max, BUS_FACT_MAX);
        FACT(n_open, BUS_FACT_OPEN);
        FACT(sent, BUS_FACT_SENT);

        g_string_append_printf(
                out,
                _("Calls over a message bus: %s, which waited for their answers for %s, the "
                  "longest for %s. Signals, and calls that want no answer: %s.\n"),
                calls,
                waited,
                max,
                sent);
        if (number(answer, BUS_FACT_CALLS) && answer->n_rows) {
                FIRST(who, BUS_COLUMN_WHO);
                FIRST(name, BUS_COLUMN_NAME);

                g_string_append_printf(out, _("%s waited the most, for %s.\n"), who, name);
        }
        if (number(answer, BUS_FACT_OPEN))
                g_string_append_printf(
                        out, _("Calls that were not answered in the recording: %s.\n"), n_open);
}

static void say_losses(GString *out, const Answer *answer) {
        FACT(gaps, LOSSES_FACT_GAPS);

        if (number(answer, LOSSES_FACT_KINDS) && number(answer, LOSSES_FACT_GAPS))
                g_string_append_printf(
                        out,
                        ngettext("A loss matters here: how long threads were in a state is not "
                                 "known %s time.\n",
                                 "A loss matters here: how long threads were in a state is not "
                                 "known %s times.\n",
                                 count(number(answer, LOSSES_FACT_GAPS))),
                        gaps);
        else if (number(answer, LOSSES_FACT_KINDS))
                say_line(out,
                         _("Something was lost or wrong, and the recording does not say when: no "
                           "gap "
                           "of the scheduling shows in this time, but events may be missing."));
        else
                say_line(out,
                         _("Nothing that the recording counts was lost: answers about it are "
                           "whole."));
        if (!number(answer, LOSSES_FACT_KINDS) && number(answer, LOSSES_FACT_GAPS))
                g_string_append_printf(
                        out,
                        ngettext("Events of two CPUs contradict each other %s time, which leaves a "
                                 "state of a thread without an end.\n",
                                 "Events of two CPUs contradict each other %s times, which leaves "
                                 "a state of a thread without an end each.\n",
                                 count(number(answer, LOSSES_FACT_GAPS))),
                        gaps);
}

static void say_differences(GString *out, const Answer *answer) {
        static const char *const formats[N_CONDITION_TEXTS] = {
                [CONDITION_KERNEL] = N_("  kernel: %s (A), %s (B)\n"),
                [CONDITION_SYSTEM] = N_("  distribution: %s (A), %s (B)\n"),
                [CONDITION_PROCESSOR] = N_("  processor: %s (A), %s (B)\n"),
                [CONDITION_CPUS] = N_("  CPUs: %s (A), %s (B)\n"),
                [CONDITION_SOURCES] =
                        N_("  data sources and a sum of their settings: %s (A), %s (B)\n"),
        };

        say_line(out,
                 _("The recordings were not all made under the same conditions, which may explain "
                   "differences:"));
        for (unsigned i = 0; i < N_CONDITION_TEXTS; i++) {
                FACT(a, DIFF_FACT_KERNEL_A + 2 * i);
                FACT(b, DIFF_FACT_KERNEL_A + 2 * i + 1);

                if (!streq(a, b) || strstr(a, " | "))
                        g_string_append_printf(out, _(formats[i]), a, b);
        }
}

/* A processor that is hot, or saves power, makes everything slower. */
static void say_frequencies(GString *out, const Answer *answer) {
        const AnswerValue *a = &answer->facts[DIFF_FACT_HZ_A], *b = &answer->facts[DIFF_FACT_HZ_B];

        if (!a->is_there || !b->is_there)
                return;
        if (fabs(b->real / a->real - 1) > CONDITION_HZ_CHANGE)
                g_string_append_printf(out,
                                       _("CPUs ran at %.2f GHz (A) and %.2f GHz (B) on average, "
                                         "which may explain differences, too.\n"),
                                       a->real / 1e9,
                                       b->real / 1e9);
}

/* Conditions of the machine come before any figure. */
static void say_conditions(GString *out, const Answer *answer) {
        FACT(a, DIFF_FACT_A);
        FACT(b, DIFF_FACT_B);
        FACT(seconds_a, DIFF_FACT_SECONDS_A);
        FACT(seconds_b, DIFF_FACT_SECONDS_B);
        FACT(busy_a, DIFF_FACT_BUSY_A);
        FACT(busy_b, DIFF_FACT_BUSY_B);
        FACT(lossy, DIFF_FACT_LOSSY);
        FACT(shared, DIFF_FACT_SHARED);

        g_string_append_printf(out,
                               _("Recordings: %s (A) and %s (B), of %s s and %s s; CPUs were used "
                                 "for %s and %s of "
                                 "the time.\n"),
                               a,
                               b,
                               seconds_a,
                               seconds_b,
                               busy_a,
                               busy_b);
        if (!number(answer, DIFF_FACT_SAME_SYSTEM) || !number(answer, DIFF_FACT_SAME_CONFIG))
                say_differences(out, answer);
        say_frequencies(out, answer);
        if (number(answer, DIFF_FACT_OVERLAPPING))
                g_string_append_printf(out,
                                       _("Recordings that are on both sides: %s, at times that "
                                         "overlap.\n"),
                                       shared);
        else if (number(answer, DIFF_FACT_SHARED))
                g_string_append_printf(out,
                                       _("Recordings that are on both sides: %s, at different "
                                         "times. What differs may be due to what came before.\n"),
                                       shared);
        if (number(answer, DIFF_FACT_LOSSY))
                g_string_append_printf(out, _("Recordings that are not whole: %s.\n"), lossy);
}

static void say_diff(GString *out, const Answer *answer) {
        FACT(tested, DIFF_FACT_TESTED);
        FACT(changed, DIFF_FACT_CHANGED);

        say_conditions(out, answer);
        g_string_append_printf(
                out, _("Names that could be tested: %s, of which changed: %s.\n"), tested, changed);
        if (number(answer, DIFF_FACT_TOO_FEW))
                say_line(out,
                         _("There are too few recordings to show a difference: take at least 4 of "
                           "each "
                           "side, and more for many names, or name one with --slice."));
}

static const struct {
        const AnswerDef *def;
        void (*say)(GString *out, const Answer *answer);
} rows[] = {
        { &answer_cpu, say_cpu },        { &answer_slice, say_slice },
        { &answer_wakers, say_wakers },  { &answer_slowest, say_slowest },
        { &answer_times, say_times },    { &answer_repeats, say_repeats },
        { &answer_waits, say_waits },    { &answer_wakeups, say_wakeups },
        { &answer_disk, say_disk },      { &answer_interrupts, say_interrupts },
        { &answer_memory, say_memory },  { &answer_journal, say_journal },
        { &answer_bus, say_bus },        { &answer_functions, say_functions },
        { &answer_sleeps, say_sleeps },  { &answer_losses, say_losses },
        { &answer_grows, say_grows },    { &answer_diff, say_diff },
        { &answer_diff_heap, say_diff },
};

char *answer_sentences(const Answer *answer) {
        GString *out = g_string_new(NULL);

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (rows[i].def == answer->def)
                        rows[i].say(out, answer);
        return g_string_free(out, FALSE);
}
