/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The first lines of data/presets, for xgettext; written by scripts/update-translations. */
/* clang-format off */
N_("The events of your own programs, without any privilege")
N_("Sound: when programs hand it over, how long they wait, PipeWire's cycles, what GStreamer does, and scheduling")
N_("How this boot went, afterwards: units and what they waited for, logins, the journal")
N_("The session bus: who calls whom, how long answers take, and signals")
N_("Call stacks of all programs and of the kernel: what processors work on")
N_("Scheduling, processes and memory of the machine, and the events of programs")
N_("The desktop as it is: frames, stalls and input of programs that know nothing of it, the compositor, and scheduling")
N_("Jank: frames, what GPUs work on, input, scheduling, and the events of programs")
N_("Games: frames of programs that know nothing of it, what GPUs work on, input, scheduling and CPU frequencies")
N_("A GNOME desktop: all of the preset desktop, and what mutter or gnome-shell and the command tell by themselves")
N_("Interrupts, deferred work and timers, with scheduling")
N_("Requests to disks, and the threads that wait for them")
N_("A KDE desktop: all of the preset desktop, each event of Qt's objects, and frames of X11 windows")
N_("Memory of the machine and of each process, and what reclaims it")
N_("Which thread runs where and who wakes whom, with CPU frequencies and idle states")
N_("Which service or app uses the CPU, the memory, the disk, and which ones wait")
