/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Names on the bus and in the file system, defined once for the service, the library and the client. The interfaces are
 * documented in data/dbus/org.desktrace.Tracing1.xml.
 */

/* The message bus itself: no peer can have this name, so messages from it are not forged. */
#define MESSAGE_BUS_NAME "org.freedesktop.DBus"
#define MESSAGE_BUS_PATH "/org/freedesktop/DBus"

#define TRACING_BUS_NAME      "org.desktrace.Tracing1"
#define TRACING_PATH          "/org/desktrace/Tracing1"
#define TRACING_SESSION_PATH  TRACING_PATH "/session"
#define TRACING_PRODUCER_PATH TRACING_PATH "/producer"
#define TRACING_SOURCE_PATH   TRACING_PATH "/source"

#define TRACING_MANAGER_INTERFACE       "org.desktrace.Tracing1.Manager"
#define TRACING_SESSION_INTERFACE       "org.desktrace.Tracing1.Session"
#define TRACING_SOURCE_INFO_INTERFACE   "org.desktrace.Tracing1.SourceInfo"
#define TRACING_BUFFER_INTERFACE        "org.desktrace.Tracing1.Buffer"
#define TRACING_PRODUCER_INFO_INTERFACE "org.desktrace.Tracing1.ProducerInfo"

/* Producers implement it at this path of their own connection. */
#define TRACING_PRODUCER_INTERFACE "org.desktrace.Tracing1.Producer"
#define TRACING_PRODUCER_OBJECT    "/org/desktrace/Tracing1/Producer"

/* The data source that shows what the service itself does. */
#define TRACING_SERVICE_PRODUCER "desktraced" /* the producer's name in the service's own notes */
#define TRACING_SELF_SOURCE      "desktrace.self"

/* The data source that records the kernel's events; its producer lists the names of these events. */
#define TRACING_EVENTS_SOURCE "linux.ftrace"

/* The data source of programs' events, which Desktrace's library offers, and Perfetto's. */
#define TRACING_TRACK_EVENT_SOURCE "track_event"

/* The data source for programs that know nothing about tracing, by points in their libraries. */
#define TRACING_POINTS_SOURCE "linux.program_points"

/* The group of programs whose names cannot be found: they have ended, or are in another pid namespace. */
#define TRACING_NAMELESS_TRACK "Programs without a name"

/* The data source of call stacks of a user's own programs, which asks for no privilege. */
#define TRACING_OWN_STACKS_SOURCE "cpu.stacks"

/* The data source of a program's heap, and the name that it has in Perfetto's configs. */
#define TRACING_HEAP_SOURCE          "heap.malloc"
#define TRACING_PERFETTO_HEAP_SOURCE "android.heapprofd"

/* The name of the track on which producers report about their own recording, and the category of its events. */
#define TRACING_NOTES_TRACK    "Desktrace notes"
#define TRACING_NOTES_CATEGORY "desktrace.notes"

#define TRACING_ERROR_PREFIX "org.desktrace.Tracing1.Error."

/* Root's permission to connect to the probes while the service asks them on root's behalf. */
#define TRACING_ERROR_ROOT_IS_SILENT TRACING_ERROR_PREFIX "RootIsSilent"
#define TRACING_ERROR_WRONG_STATE    TRACING_ERROR_PREFIX "WrongState"

/* The probes' own socket: the interface through which the service tells them who wants to record what. */
#define TRACING_PROBES_SOCKET    "/run/desktrace/probes.sock"
#define TRACING_PROBES_PATH      "/org/desktrace/Probes1"
#define TRACING_PROBES_INTERFACE "org.desktrace.Probes1"

/* Events whose formats one call of GetEventFormats() may ask for. */
#define TRACING_FORMATS_MAX 256u

#define TRACING_ACTION_TRACE_SYSTEM  "org.desktrace.tracing1.trace-system"
#define TRACING_ACTION_TRACE_DYNAMIC "org.desktrace.tracing1.trace-dynamic"
#define TRACING_ACTION_PROFILE_OWN   "org.desktrace.tracing1.profile-own"
#define TRACING_ACTION_TRACE_SANDBOX "org.desktrace.tracing1.trace-from-sandbox"
#define TRACING_ACTION_MANAGE        "org.desktrace.tracing1.manage-sessions"
#define TRACING_ACTION_DETACH        "org.desktrace.tracing1.detach"

/* The native socket of desktraced.socket: the same interfaces, point to point. */
#define TRACING_SOCKET_SYSTEM "/run/desktrace/native.sock"

/* FileDescriptorName= of the sockets where Perfetto's protocols are spoken. */
#define TRACING_PRODUCER_SOCKET "perfetto-producer"
#define TRACING_CONSUMER_SOCKET "perfetto-consumer"

/* Their file names in a directory of sockets: Perfetto's own. */
#define TRACING_PERFETTO_PRODUCER_NAME "traced-producer.sock"
#define TRACING_PERFETTO_CONSUMER_NAME "traced-consumer.sock"

/* The name that starts the bridges on the session bus. */
#define TRACING_BRIDGES_BUS_NAME "org.desktrace.Bridges1"

/* Environment: where programs with Perfetto's SDK look for the service. */
#define TRACING_ENV_PERFETTO_PRODUCER "PERFETTO_PRODUCER_SOCK_NAME"

/* Environment: where a private (--standalone) service listens. Makes the library and the client
 * use only that service. */
#define TRACING_ENV_SOCKET "DESKTRACE_SOCKET"

/* Environment of a program that is started to be recorded: how many ms its dt_init() may wait for the recording. */
#define TRACING_ENV_WAIT "DESKTRACE_WAIT"

/* Likewise: the categories whose events the program keeps until a session starts, how much memory they may take, and
 * for how long. */
#define TRACING_ENV_STARTUP         "DESKTRACE_STARTUP"
#define TRACING_ENV_STARTUP_KIB     "DESKTRACE_STARTUP_KIB"
#define TRACING_ENV_STARTUP_SECONDS "DESKTRACE_STARTUP_SECONDS"

/* Likewise: the interval, in bytes, at which its allocations are sampled from its start on. */
#define TRACING_ENV_HEAP "DESKTRACE_HEAP"

/* Environment: the libraries that the dynamic linker loads before a program's own. */
#define TRACING_ENV_PRELOAD "LD_PRELOAD"

/* Environment: how glibc sets up its allocator in a program. */
#define TRACING_ENV_TUNABLES "GLIBC_TUNABLES"
