/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Gecko profile: the markers of all threads of a browser, as its profiler writes them when it ends */

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bridges/firefox/gecko-profile.h"
#include "bridges/firefox/json-stream.h"
#include "shared/macro.h"
#include "shared/utf8.h"

#define NS_PER_MS   1e6
#define NS_MAX      9e18 /* later times are nonsense */
#define COLUMNS_MAX 16
#define OWN_MARKER  "UserTiming"

/* One process of the profile; its child processes have structures of their own. */
typedef struct Process {
        char categories[GECKO_CATEGORIES_MAX][GECKO_NAME_BYTES];
        size_t n_categories;
        double start_ms; /* by the time of day */
        double start_ns; /* by CLOCK_MONOTONIC; 0: not given */
} Process;

/* One marker, as it is read. */
typedef struct Fields {
        double name, begin_ms, end_ms, phase, category;
        bool is_own;
        char own[GECKO_TEXT_BYTES_MAX];
} Fields;

typedef struct Reader {
        const GeckoReading *reading;
        JsonStream json;
        Process *process;
        GeckoThread thread;
        const struct Member *columns[COLUMNS_MAX]; /* of the thread's markers; NULL: passed over */
        Fields fields;
        unsigned n_processes;
} Reader;

/* A member of an object, and the function that reads it: its first token has been read, and it reads to the member's
 * end. */
typedef struct Member {
        const char *name;
        void (*read)(Reader *reader, void *into, JsonToken token);
        size_t offset; /* within the structure that the object is read into */
} Member;

/* The table ends with an entry without a name. */
static const Member *find_member(const Member *members, const char *name) {
        for (; members->name; members++)
                if (strcmp(members->name, name) == 0)
                        return members;
        return NULL;
}

/* Skips a value that is no object. */
static void read_object(Reader *reader, JsonToken token, const Member *members, void *into) {
        if (token != JSON_OBJECT) {
                json_skip(&reader->json, token);
                return;
        }
        while (json_next(&reader->json) == JSON_NAME) {
                const Member *member = find_member(members, reader->json.text);

                token = json_next(&reader->json);
                if (member)
                        member->read(reader, (uint8_t *)into + member->offset, token);
                else
                        json_skip(&reader->json, token);
        }
}

/* Skips a value that is no array. `index` counts the elements. */
static void read_array(Reader *reader,
                       JsonToken token,
                       void (*read)(Reader *reader, size_t index, JsonToken token)) {
        if (token != JSON_ARRAY) {
                json_skip(&reader->json, token);
                return;
        }
        for (size_t i = 0;; i++) {
                token = json_next(&reader->json);
                if (token == JSON_ARRAY_END || token == JSON_END)
                        return;
                read(reader, i, token);
        }
}

/*
 * Texts and numbers
 */

/* One line that viewers can show, of at most `n_ret` bytes with the NUL, and no more of an address than its host. */
static void copy_text(char *ret, size_t n_ret, const char *text) {
        char *host;

        snprintf(ret, n_ret, "%s", text);
        for (char *c = ret; *c; c++)
                if ((unsigned char)*c < ' ' || *c == 127)
                        *c = ' ';
        host = strstr(ret, "://");
        if (host)
                host[3 + strcspn(host + 3, "/?# ")] = '\0';
        utf8_clean(ret);
}

static size_t texts_count(const GeckoTexts *texts) {
        return texts->places.n / sizeof(uint32_t);
}

/* Returns the text's number, or GECKO_NO_TEXT. */
static uint32_t texts_add(GeckoTexts *texts, const char *text) {
        const uint32_t place = (uint32_t)texts->bytes.n, n = (uint32_t)texts_count(texts);
        char line[GECKO_TEXT_BYTES_MAX];

        copy_text(line, sizeof(line), text);
        if (n == GECKO_TEXTS_MAX || bytes_reserve(&texts->places, sizeof(place)) < 0 ||
            bytes_append(&texts->bytes, line, strlen(line) + 1) < 0)
                return GECKO_NO_TEXT;
        (void)bytes_append(&texts->places, &place, sizeof(place));
        return n;
}

static const char *texts_get(const GeckoTexts *texts, uint32_t text) {
        uint32_t place;

        if (text >= texts_count(texts))
                return "";
        memcpy(&place, texts->places.data + text * sizeof(place), sizeof(place));
        return (const char *)texts->bytes.data + place;
}

const char *gecko_marker_name(const GeckoThread *thread, const GeckoMarker *marker) {
        return marker->own != GECKO_NO_TEXT ? texts_get(&thread->own_texts, marker->own)
                                            : texts_get(&thread->texts, marker->name);
}

const char *gecko_marker_category(const GeckoThread *thread, const GeckoMarker *marker) {
        if (marker->own != GECKO_NO_TEXT)
                return OWN_MARKER;
        return marker->category < thread->n_categories ? thread->categories[marker->category] : "";
}

static void read_number(Reader *reader, void *into, JsonToken token) {
        if (token == JSON_NUMBER)
                *(double *)into = reader->json.number;
        json_skip(&reader->json, token);
}

/* Newer profiles have pids as texts, as browsers may run in several machines. */
static void read_pid(Reader *reader, void *into, JsonToken token) {
        double pid = 0;

        if (token == JSON_NUMBER)
                pid = reader->json.number;
        else if (token == JSON_TEXT)
                pid = (double)strtol(reader->json.text, NULL, 10);
        *(pid_t *)into = pid >= 1 && pid <= INT_MAX ? (pid_t)pid : 0;
        json_skip(&reader->json, token);
}

static void read_name(Reader *reader, void *into, JsonToken token) {
        if (token == JSON_TEXT)
                copy_text(into, GECKO_NAME_BYTES, reader->json.text);
        json_skip(&reader->json, token);
}

/*
 * Markers
 */

static void read_kind(Reader *reader, void *into, JsonToken token) {
        if (token == JSON_TEXT)
                *(bool *)into = strcmp(reader->json.text, OWN_MARKER) == 0;
        json_skip(&reader->json, token);
}

static void read_own(Reader *reader, void *into, JsonToken token) {
        if (token == JSON_TEXT)
                copy_text(into, GECKO_TEXT_BYTES_MAX, reader->json.text);
        json_skip(&reader->json, token);
}

static void read_data(Reader *reader, void *into, JsonToken token) {
        static const Member members[] = {
                { "type", read_kind, offsetof(Fields, is_own) },
                { "name", read_own, offsetof(Fields, own) },
                { 0 },
        };

        read_object(reader, token, members, into);
}

/* The profile says itself which column is which. */
static const Member columns[] = {
        { "name", read_number, offsetof(Fields, name) },
        { "startTime", read_number, offsetof(Fields, begin_ms) },
        { "endTime", read_number, offsetof(Fields, end_ms) },
        { "phase", read_number, offsetof(Fields, phase) },
        { "category", read_number, offsetof(Fields, category) },
        { "data", read_data, 0 },
        { 0 },
};

static void read_schema(Reader *reader, void *into, JsonToken token) {
        memset(reader->columns, 0, sizeof(reader->columns));
        if (token != JSON_OBJECT) {
                json_skip(&reader->json, token);
                return;
        }
        while (json_next(&reader->json) == JSON_NAME) {
                const Member *column = find_member(columns, reader->json.text);

                token = json_next(&reader->json);
                if (token == JSON_NUMBER && reader->json.number >= 0 &&
                    reader->json.number < COLUMNS_MAX)
                        reader->columns[(size_t)reader->json.number] = column;
                json_skip(&reader->json, token);
        }
}

/* By CLOCK_MONOTONIC; negative: nonsense. */
static int64_t to_ns(const Reader *reader, double ms) {
        const Process *process = reader->process;
        double zero = process->start_ns;

        if (zero <= 0)
                zero = process->start_ms * NS_PER_MS - (double)reader->reading->time_of_day_ns;
        zero += ms * NS_PER_MS;
        return isfinite(zero) && zero >= 0 && zero < NS_MAX ? (int64_t)zero : -1;
}

static bool fields_to_marker(Reader *reader, GeckoMarker *marker) {
        const Fields *fields = &reader->fields;
        const bool has_begin = fields->phase != GECKO_INTERVAL_END;
        const bool has_end = fields->phase == GECKO_INTERVAL || fields->phase == GECKO_INTERVAL_END;

        if (!(fields->name >= 0 && fields->name < GECKO_TEXTS_MAX) ||
            !(fields->phase >= 0 && fields->phase < _GECKO_PHASES))
                return false;
        marker->begin_ns = to_ns(reader, has_begin ? fields->begin_ms : fields->end_ms);
        marker->end_ns = to_ns(reader, has_end ? fields->end_ms : fields->begin_ms);
        marker->name = (uint32_t)fields->name;
        marker->phase = (uint8_t)fields->phase;
        marker->category = fields->category >= 0 && fields->category < GECKO_CATEGORIES_MAX
                                   ? (uint8_t)fields->category
                                   : 0;
        marker->own = GECKO_NO_TEXT;
        if (fields->is_own && fields->own[0])
                marker->own = texts_add(&reader->thread.own_texts, fields->own);
        return marker->begin_ns >= 0 && marker->end_ns >= marker->begin_ns;
}

static bool has_room(GeckoThread *thread) {
        size_t n = thread->n_allocated ? 2 * thread->n_allocated : 1024;
        GeckoMarker *grown;

        if (thread->n_markers < thread->n_allocated)
                return true;
        grown = thread->n_markers < GECKO_MARKERS_MAX
                        ? reallocarray(thread->markers, n, sizeof(*grown))
                        : NULL;
        if (!grown)
                return false;
        thread->markers = grown;
        thread->n_allocated = n;
        return true;
}

static void read_column(Reader *reader, size_t index, JsonToken token) {
        const Member *column = index < COLUMNS_MAX ? reader->columns[index] : NULL;

        if (column)
                column->read(reader, (uint8_t *)&reader->fields + column->offset, token);
        else
                json_skip(&reader->json, token);
}

static void read_marker(Reader *reader, size_t index, JsonToken token) {
        GeckoThread *thread = &reader->thread;

        reader->fields = (Fields){ .name = -1 };
        read_array(reader, token, read_column);
        if (!has_room(thread))
                thread->n_lost++;
        else if (fields_to_marker(reader, &thread->markers[thread->n_markers]))
                thread->n_markers++;
}

static void read_markers(Reader *reader, void *into, JsonToken token) {
        read_array(reader, token, read_marker);
}

static void read_table(Reader *reader, void *into, JsonToken token) {
        static const Member members[] = {
                { "schema", read_schema, 0 },
                { "data", read_markers, 0 },
                { 0 },
        };

        read_object(reader, token, members, into);
}

/*
 * Threads
 */

static void read_text(Reader *reader, size_t index, JsonToken token) {
        (void)texts_add(&reader->thread.texts, token == JSON_TEXT ? reader->json.text : "");
        json_skip(&reader->json, token);
}

static void read_texts(Reader *reader, void *into, JsonToken token) {
        read_array(reader, token, read_text);
}

static void texts_clear(GeckoTexts *texts) {
        bytes_clear(&texts->bytes);
        bytes_clear(&texts->places);
}

/* The next thread uses the same memory. */
static void begin_thread(Reader *reader) {
        GeckoThread *thread = &reader->thread;

        thread->pid = thread->tid = 0;
        thread->name[0] = thread->process[0] = '\0';
        thread->n_markers = 0;
        thread->n_lost = 0;
        texts_clear(&thread->texts);
        texts_clear(&thread->own_texts);
        thread->categories = (const char(*)[GECKO_NAME_BYTES])reader->process->categories;
        thread->n_categories = reader->process->n_categories;
}

static void read_thread(Reader *reader, size_t index, JsonToken token) {
        static const Member members[] = {
                { "name", read_name, offsetof(GeckoThread, name) },
                { "processName", read_name, offsetof(GeckoThread, process) },
                { "pid", read_pid, offsetof(GeckoThread, pid) },
                { "tid", read_pid, offsetof(GeckoThread, tid) },
                { "markers", read_table, 0 },
                { "stringTable", read_texts, 0 },
                { 0 },
        };

        begin_thread(reader);
        read_object(reader, token, members, &reader->thread);
        /* A thread whose text ends in the middle has no names. */
        if (!reader->json.has_ended && reader->thread.pid > 0)
                reader->reading->thread(reader->reading->userdata, &reader->thread);
}

static void read_threads(Reader *reader, void *into, JsonToken token) {
        read_array(reader, token, read_thread);
}

/*
 * Processes
 */

static void read_category(Reader *reader, size_t index, JsonToken token) {
        static const Member members[] = { { "name", read_name, 0 }, { 0 } };
        Process *process = reader->process;
        char *name = process->n_categories < GECKO_CATEGORIES_MAX
                             ? process->categories[process->n_categories++]
                             : NULL;

        if (name)
                read_object(reader, token, members, name);
        else
                json_skip(&reader->json, token);
}

static void read_categories(Reader *reader, void *into, JsonToken token) {
        reader->process->n_categories = 0;
        read_array(reader, token, read_category);
}

static void read_meta(Reader *reader, void *into, JsonToken token) {
        static const Member members[] = {
                { "startTime", read_number, offsetof(Process, start_ms) },
                { "startTimeAsClockMonotonicNanosecondsSinceBoot",
                  read_number,
                  offsetof(Process, start_ns) },
                { "categories", read_categories, 0 },
                { 0 },
        };

        read_object(reader, token, members, reader->process);
}

static void read_process(Reader *reader, size_t index, JsonToken token);

static void read_processes(Reader *reader, void *into, JsonToken token) {
        read_array(reader, token, read_process);
}

/* The limit for the depth of the text also bounds how deep processes are nested. */
static void read_process(Reader *reader, size_t index, JsonToken token) {
        static const Member members[] = {
                { "meta", read_meta, 0 },
                { "threads", read_threads, 0 },
                { "processes", read_processes, 0 },
                { 0 },
        };
        Process *outer = reader->process, *process = NULL;

        if (reader->n_processes++ < GECKO_PROCESSES_MAX)
                process = calloc(1, sizeof(*process));
        if (!process) {
                json_skip(&reader->json, token);
                return;
        }
        reader->process = process;
        read_object(reader, token, members, process);
        reader->process = outer;
        free(process);
}

bool gecko_profile_read(const GeckoReading *reading) {
        Reader *reader = calloc(1, sizeof(*reader));
        bool is_whole;

        if (!reader)
                return false;
        reader->reading = reading;
        json_stream_init(&reader->json, reading->file);
        read_process(reader, 0, json_next(&reader->json));
        is_whole = !reader->json.has_ended;
        free(reader->thread.markers);
        bytes_deinit(&reader->thread.texts.bytes);
        bytes_deinit(&reader->thread.texts.places);
        bytes_deinit(&reader->thread.own_texts.bytes);
        bytes_deinit(&reader->thread.own_texts.places);
        free(reader);
        return is_whole;
}
