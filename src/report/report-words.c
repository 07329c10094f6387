/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Words: texts that are the same on every page, by the keys of its template and its scripts */

#include "report/report-words.h"

#include "shared/macro.h"

const ReportWord report_words[] = {
        { "picture", N_("Picture") },
        { "findings", N_("What stands out") },
        { "details", N_("Selection") },
        { "search", N_("Search for a name") },
        { "whole", N_("Whole recording") },
        { "in", N_("Closer") },
        { "out", N_("Farther") },
        { "keys",
          N_("Keys: W and S or + and − zoom, A and D or ← and → move, ↑ and ↓ scroll, N and P go "
             "to the next "
             "and the previous match, 0 shows the whole recording, Escape drops the selection. "
             "Drag to move, "
             "Ctrl and the wheel to zoom, Shift and drag to zoom into a range.") },
        { "noscript",
          N_("The picture needs JavaScript. Nothing is loaded from anywhere: all of it is in this "
             "file.") },
        { "made", N_("Made by desktrace. This page loads nothing from elsewhere.") },
        { "machine", N_("Machine") },
        { "counters", N_("Counters of the machine") },
        { "log", N_("Journal, priority") },
        { "thread", N_("Thread") },
        { "process", N_("Process") },
        { "unit", N_("Unit") },
        { "at", N_("Begins at") },
        { "took", N_("Takes") },
        { "unfinished", N_("not finished when the recording ended") },
        { "several", N_("events too short to be told apart in this page; most of their time is") },
        { "value", N_("Value") },
        { "running", N_("running") },
        { "runnable", N_("ready to run, waiting for a CPU") },
        { "ranMeanwhile", N_("Meanwhile on the CPUs") },
        { "sleeping", N_("asleep") },
        { "blocked", N_("blocked, usually waiting for a disk") },
        { "nothing", N_("Click something in the picture to see what it is.") },
        { "notFound", N_("not found") },
        { "matches", N_("matches") },
        { "times", N_("How long things took") },
        { "timesOf", N_("Slices named") },
        { "showLongest", N_("Show the longest") },
        { "strip",
          N_("One bar for each, in the order of time; a line at the middle one. Arrow keys go from "
             "bar to bar, Enter shows it in the picture.") },
        { "histogram", N_("How many took how long, from the shortest to the longest") },
        { "count", N_("How many") },
        { "half", N_("Half took at most") },
        { "longest", N_("Longest") },
        { "memory", N_("Memory and pressure") },
        { "memoryMachine", N_("Memory of the machine") },
        { "memoryPrograms", N_("Memory of programs; those that grew the most come first") },
        { "memoryFirst", N_("At the beginning") },
        { "memoryLast", N_("At the end") },
        { "memoryLowest", N_("Lowest") },
        { "memoryHighest", N_("Highest") },
        { "pressure", N_("Pressure: the share of the time in which there was too little") },
        { "pressureMean", N_("On average") },
        { "pressure-cpu-some", N_("some waited for a CPU") },
        { "pressure-cpu-full", N_("all waited for a CPU") },
        { "pressure-io-some", N_("some waited for a disk") },
        { "pressure-io-full", N_("all waited for a disk") },
        { "pressure-mem-some", N_("some waited for memory") },
        { "pressure-mem-full", N_("all waited for memory") },
        { "flames", N_("Where time and memory went") },
        { "flameKind", N_("Of the time in the picture") },
        { "flameCpu", N_("CPU time, by program and thread") },
        { "flameStacks", N_("CPU time, by call stacks") },
        { "flameSleeps", N_("Time asleep, by call stacks") },
        { "flameFaults", N_("Page faults, by call stacks") },
        { "flameSlices", N_("Nested slices") },
        { "flameWaits", N_("Waiting for a CPU or a disk") },
        { "heapInUse", N_("Heap: in use at the end of the picture") },
        { "heapGrew", N_("Heap: growth since the start of the picture") },
        { "heapPeak", N_("Heap: in use at its peak, over the whole recording") },
        { "heapAllocated", N_("Heap: allocated in the whole recording") },
        { "heapSoon", N_("Heap: freed within 10 ms, in the whole recording") },
        { "allPrograms", N_("all") },
        { "all", N_("All") },
        { "samples", N_("samples") },
        { "stacks", N_("Stacks of") },
        { "sleeps", N_("Sleep of") },
        { "faults", N_("Page faults of") },
        { "nFaults", N_("page faults") },
        { "stack", N_("Call stack") },
        { "flows", N_("Flows to and from others") },
        { "leftOut", N_("Rows that did not fit into this page:") },
        { "grain", N_("To keep this page small, events shorter than this are drawn together:") },
        { "tooOld",
          N_("This browser is too old to show the picture: it has no DecompressionStream.") },
        { "broken", N_("The data in this page is damaged.") },
};

const size_t report_n_words = ARRAY_SIZE(report_words);

const char *report_word(const char *key) {
        for (size_t i = 0; i < report_n_words; i++)
                if (streq(report_words[i].key, key))
                        return report_words[i].text;
        return key;
}
