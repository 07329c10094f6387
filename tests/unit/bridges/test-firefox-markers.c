/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From a profile's text to slices. */

#include <unistd.h>

#include "bridges/firefox/gecko-recorder.h"
#include "bridges/firefox/json-stream.h"
#include "managers/slice-list.h"
#include "test.h"

#define S INT64_C(1000000000)

#define META                                                                \
        "\"meta\": {\"startTime\": 5000, "                                  \
        "\"startTimeAsClockMonotonicNanosecondsSinceBoot\": 990000000000, " \
        "\"categories\": [{\"name\": \"Idle\"}, {\"name\": \"DOM\", \"color\": \"blue\"}]}, "
#define SCHEMA                                                                       \
        "\"schema\": {\"name\": 0, \"startTime\": 1, \"endTime\": 2, \"phase\": 3, " \
        "\"category\": 4, \"data\": 5}, "
#define TEXTS                                                                        \
        "\"stringTable\": [\"Reflow\", \"Load 1: https://secret.example:8/a?b#c\", " \
        "\"UserTiming\"]"

/* One thread of a process that the test knows, with these markers. */
#define THREAD(markers)                                                                        \
        "{\"name\": \"GeckoMain\", \"processName\": \"Web Content\", \"pid\": \"999999999\", " \
        "\"tid\": 7, \"samples\": {\"data\": [[1, [2, {}]]]}, \"markers\": {" SCHEMA           \
        "\"data\": [" markers "]}, " TEXTS "}"
#define PROFILE(markers) "{" META "\"threads\": [" THREAD(markers) "], \"processes\": []}"

typedef struct Fixture {
        PacketList packets;
        PacketWriter writer;
        TrackWriter tracks;
        ProgramNames names;
        GeckoRecorder recorder;
        bool is_whole;
} Fixture;

/* What is recorded of the text, at 1000 s; the recording has begun at 980 s. */
static void fixture_init(Fixture *fixture, const char *text) {
        GeckoReading reading = {
                .time_of_day_ns = 4 * S, /* the browser began at 1 s, if nothing else is said */
                .thread = gecko_recorder_take,
                .userdata = &fixture->recorder,
        };

        *fixture = (Fixture){ .packets = PACKET_LIST_INIT };
        packet_writer_init(&fixture->writer, &fixture->packets.sink);
        track_writer_init(&fixture->tracks, &fixture->writer, "org.mozilla.firefox");
        ck_assert_int_eq(program_names_init(&fixture->names), 0);
        fixture->recorder = (GeckoRecorder){
                .tracks = &fixture->tracks,
                .names = &fixture->names,
                .since_ns = 980 * S,
                .now_ns = 1000 * S,
        };
        reading.file = fmemopen((void *)text, strlen(text), "r");
        ck_assert_ptr_nonnull(reading.file);
        fixture->is_whole = gecko_profile_read(&reading);
        fclose(reading.file);
}

static void fixture_deinit(Fixture *fixture) {
        gecko_recorder_deinit(&fixture->recorder);
        program_names_deinit(&fixture->names);
        track_writer_deinit(&fixture->tracks);
        packet_writer_deinit(&fixture->writer);
        packet_list_deinit(&fixture->packets);
}

#define AT(us) (UINT64_C(990000000) + (us))

START_TEST(test_intervals_are_slices) {
        Fixture fixture;

        fixture_init(&fixture,
                     PROFILE("[0, 2, 3.5, 1, 1], [0, 1, 9, 1, 1], [0, 4, null, 0, 1], [0, 20, 30, "
                             "1, 9]"));
        ck_assert(fixture.is_whole);
        ck_assert(slice_list_is(&fixture.packets, "markers", 0, SLICE_BEGIN, "Reflow", AT(1000)));
        ck_assert(slice_list_is(&fixture.packets, "markers", 1, SLICE_BEGIN, "Reflow", AT(2000)));
        ck_assert(slice_list_is(&fixture.packets, "markers", 2, SLICE_END, NULL, AT(3500)));
        ck_assert(slice_list_is(&fixture.packets, "markers", 3, SLICE_INSTANT, "Reflow", AT(4000)));
        ck_assert(slice_list_is(&fixture.packets, "markers", 4, SLICE_END, NULL, AT(9000)));
        ck_assert(slice_list_is(&fixture.packets, "markers", 5, SLICE_BEGIN, "Reflow", AT(20000)));
        ck_assert(slice_list_is(&fixture.packets, "markers", 6, SLICE_END, NULL, AT(30000)));
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "markers"), 7);
        ck_assert_uint_ne(slice_list_track(&fixture.packets, "Web Content (999999999)"), 0);
        ck_assert_uint_ne(slice_list_track(&fixture.packets, "Firefox GeckoMain (7)"), 0);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_beginnings_and_ends_are_paired) {
        Fixture fixture;

        /* One has no end, and one end no beginning. */
        fixture_init(&fixture,
                     PROFILE("[0, 1, 0, 2, 1], [1, 2, 0, 2, 1], [0, 3, 0, 2, 1], [0, 0, 4, 3, 1], "
                             "[0, 0, 8, 3, 1], [2, 0, 9, 3, 1]"));
        ck_assert(slice_list_is(&fixture.packets, "markers", 0, SLICE_BEGIN, "Reflow", AT(1000)));
        ck_assert(slice_list_is(&fixture.packets, "markers", 1, SLICE_INSTANT, NULL, AT(2000)));
        ck_assert(slice_list_is(&fixture.packets, "markers", 2, SLICE_BEGIN, "Reflow", AT(3000)));
        ck_assert(slice_list_is(&fixture.packets, "markers", 3, SLICE_END, NULL, AT(4000)));
        ck_assert(slice_list_is(&fixture.packets, "markers", 4, SLICE_END, NULL, AT(8000)));
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "markers"), 5);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_intervals_that_cross_are_on_other_tracks) {
        Fixture fixture;

        fixture_init(&fixture, PROFILE("[0, 1, 5, 1, 1], [0, 4, 6, 1, 1], [0, 5, 7, 1, 1]"));
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "markers"), 4);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "markers 2"), 2);
        fixture_deinit(&fixture);
}
END_TEST

/* Whether a text is anywhere in what was written. */
static bool has_text(const Fixture *fixture, const char *text) {
        for (size_t i = 0; i < fixture->packets.n; i++)
                if (memmem(fixture->packets.packets[i].data,
                           fixture->packets.packets[i].n,
                           text,
                           strlen(text)))
                        return true;
        return false;
}

START_TEST(test_only_names_and_hosts_stay) {
        Fixture fixture;

        fixture_init(&fixture,
                     PROFILE("[1, 1, 2, 1, 1, {\"type\": \"Network\", \"name\": \"hidden\"}], "
                             "[2, 3, 4, 1, 1, {\"name\": \"a page's \\u00fc\", \"type\": "
                             "\"UserTiming\"}]"));
        ck_assert(slice_list_is(&fixture.packets,
                                "markers",
                                0,
                                SLICE_BEGIN,
                                "Load 1: https://secret.example:8",
                                AT(1000)));
        ck_assert(
                slice_list_is(&fixture.packets, "markers", 2, SLICE_BEGIN, "a page's ü", AT(3000)));
        ck_assert(has_text(&fixture, "UserTiming")); /* as its category */
        ck_assert(!has_text(&fixture, "hidden"));
        ck_assert(!has_text(&fixture, "?b"));
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_times_that_cannot_be_are_passed_over) {
        Fixture fixture;

        fixture_init(&fixture,
                     PROFILE("[0, -20000, 1, 1, 1], [0, 1, 20000, 1, 1], [0, 1e300, 1e301, 1, 1], "
                             "[0, 5, 4, 1, 1], [9e9, 1, 2, 1, 1], [0, 1, 2, 7, 1], [], {}, 7, [0, "
                             "1, 2, 1, 1]"));
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "markers"), 2);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_the_time_of_day_serves_as_well) {
        static const char text[] = "{\"meta\": {\"startTime\": 994000.0}, \"threads\": [" THREAD(
                "[0, 1, 2, 1, 0]") "]}";
        Fixture fixture;

        fixture_init(&fixture, text);
        ck_assert(slice_list_is(&fixture.packets, "markers", 0, SLICE_BEGIN, "Reflow", AT(1000)));
        fixture_deinit(&fixture);
}
END_TEST

/* Each has its own time and categories, whatever those above it have. */
START_TEST(test_processes_are_in_each_other) {
        static const char text[] =
                "{" META "\"processes\": [{\"meta\": "
                "{\"startTimeAsClockMonotonicNanosecondsSinceBoot\": 991000000000}, "
                "\"threads\": [" THREAD("[0, 1, 2, 1, 1]") "]}]}";
        Fixture fixture;

        fixture_init(&fixture, text);
        ck_assert(fixture.is_whole);
        ck_assert(
                slice_list_is(&fixture.packets, "markers", 0, SLICE_BEGIN, "Reflow", AT(1001000)));
        ck_assert(!has_text(&fixture, "DOM"));
        fixture_deinit(&fixture);
}
END_TEST

/* A browser that was killed while it wrote: whole threads count. */
START_TEST(test_a_text_that_ends_early_is_told) {
        static const char text[] =
                "{" META "\"threads\": [" THREAD("[0, 1, 2, 1, 1]") ", {\"markers\": ";
        Fixture fixture;

        fixture_init(&fixture, text);
        ck_assert(!fixture.is_whole);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "markers"), 2);
        fixture_deinit(&fixture);
        fixture_init(&fixture, "");
        ck_assert(!fixture.is_whole);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_too_many_markers_are_counted) {
        const size_t n = GECKO_MARKERS_MAX + 3;
        char *text = malloc(sizeof(PROFILE("")) + n * 16), *at = text;
        Fixture fixture;

        ck_assert_ptr_nonnull(text);
        at += sprintf(at,
                      "{" META "\"threads\": [{\"pid\": 5, \"markers\": {" SCHEMA "\"data\": [");
        for (size_t i = 0; i < n; i++)
                at += sprintf(at, "[0,-2e4,0,0,1],"); /* before the recording */
        sprintf(at, "]}}]}");
        fixture_init(&fixture, text);
        ck_assert(fixture.is_whole);
        ck_assert_uint_eq(fixture.recorder.n_lost, 3);
        fixture_deinit(&fixture);
        free(text);
}
END_TEST

typedef struct Text {
        char data[GECKO_PROCESSES_MAX * 256 + 65536], *at;
} Text;

static Text *text_begin(void) {
        static Text text;

        text.at = text.data;
        return &text;
}

/* A marker of the text "Reflow", from and to in milliseconds. */
static void put_marker(Text *text, int from, int to, int phase) {
        text->at += sprintf(
                text->at, "%s[0, %d, %d, %d, 1]", text->at[-1] == '[' ? "" : ", ", from, to, phase);
}

static void begin_markers(Text *text) {
        text->at +=
                sprintf(text->at,
                        "{" META "\"threads\": [{\"pid\": 5, \"markers\": {" SCHEMA "\"data\": [");
}

static const char *end_markers(Text *text) {
        strcpy(text->at, "]}, " TEXTS "}]}");
        return text->data;
}

START_TEST(test_tracks_beside_each_other_are_limited) {
        Text *text = text_begin();
        Fixture fixture;

        begin_markers(text);
        for (int i = 0; i <= GECKO_LANES_MAX; i++)
                put_marker(text, 1 + i, 101 + i, 1);
        fixture_init(&fixture, end_markers(text));
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "markers 16"), 2);
        ck_assert_uint_eq(slice_list_track(&fixture.packets, "markers 17"), 0);
        ck_assert(slice_list_is(&fixture.packets,
                                "markers",
                                1,
                                SLICE_INSTANT,
                                "Reflow",
                                AT(1000 + 1000 * GECKO_LANES_MAX)));
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_slices_in_each_other_are_limited) {
        Text *text = text_begin();
        Fixture fixture;

        begin_markers(text);
        for (int i = 0; i <= GECKO_NESTED; i++)
                put_marker(text, 1 + i, 1000 - i, 1);
        fixture_init(&fixture, end_markers(text));
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "markers"), 2 * GECKO_NESTED);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "markers 2"), 2);
        fixture_deinit(&fixture);
}
END_TEST

/* The one that is not remembered is an instant, and its end that of another one. */
START_TEST(test_beginnings_that_wait_for_their_ends_are_limited) {
        Text *text = text_begin();
        Fixture fixture;

        begin_markers(text);
        for (int i = 0; i <= GECKO_OPEN_MAX; i++)
                put_marker(text, 1 + i, 0, 2);
        for (int i = 0; i <= GECKO_OPEN_MAX; i++)
                put_marker(text, 0, 1000 + i, 3);
        fixture_init(&fixture, end_markers(text));
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "markers"), 2 * GECKO_OPEN_MAX + 1);
        ck_assert(slice_list_is(&fixture.packets,
                                "markers",
                                GECKO_OPEN_MAX,
                                SLICE_INSTANT,
                                "Reflow",
                                AT(1000 + 1000 * GECKO_OPEN_MAX)));
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_processes_of_a_profile_are_limited) {
        Text *text = text_begin();
        Fixture fixture;

        text->at += sprintf(text->at, "{" META "\"processes\": [");
        for (int i = 0; i < GECKO_PROCESSES_MAX + 2; i++)
                text->at += sprintf(text->at,
                                    "%s{" META "\"threads\": [{\"pid\": %d, \"markers\": {" SCHEMA
                                    "\"data\": [[0, 1, 0, 0, 1]]}}]}",
                                    i > 0 ? ", " : "",
                                    1000 + i);
        strcpy(text->at, "]}");
        fixture_init(&fixture, text->data);
        ck_assert(fixture.is_whole);
        /* The outermost one is one of them, and has no threads. */
        ck_assert_uint_eq(fixture.recorder.n_threads, GECKO_PROCESSES_MAX - 1);
        fixture_deinit(&fixture);
}
END_TEST

static void count_texts(void *userdata, const GeckoThread *thread) {
        *(size_t *)userdata = thread->texts.places.n / sizeof(uint32_t);
}

START_TEST(test_texts_of_a_thread_are_limited) {
        const size_t n = GECKO_TEXTS_MAX + 3;
        char *text = malloc(n * 3 + 128), *at = text;
        size_t n_texts = 0;
        GeckoReading reading = { .thread = count_texts, .userdata = &n_texts };

        ck_assert_ptr_nonnull(text);
        at += sprintf(at, "{\"threads\": [{\"pid\": 5, \"stringTable\": [\"\"");
        for (size_t i = 1; i < n; i++)
                at = stpcpy(at, ",\"\"");
        strcpy(at, "]}]}");
        reading.file = fmemopen(text, strlen(text), "r");
        ck_assert_ptr_nonnull(reading.file);
        ck_assert(gecko_profile_read(&reading));
        ck_assert_uint_eq(n_texts, GECKO_TEXTS_MAX);
        fclose(reading.file);
        free(text);
}
END_TEST

/*
 * JSON
 */

/* Its tokens, one letter each. */
static const char *tokens_of(const char *text) {
        static const char letters[] = ".{}[]nt0w";
        static char ret[256];
        JsonStream *stream = malloc(sizeof(*stream));
        FILE *file = fmemopen((void *)text, strlen(text), "r");
        size_t n = 0;
        JsonToken token;

        ck_assert_ptr_nonnull(stream);
        ck_assert_ptr_nonnull(file);
        json_stream_init(stream, file);
        do {
                token = json_next(stream);
                ret[n++] = letters[token];
        } while (token != JSON_END && n < sizeof(ret) - 1);
        ret[n] = '\0';
        fclose(file);
        free(stream);
        return ret;
}

START_TEST(test_tokens) {
        ck_assert_str_eq(tokens_of("{\"a\": [1, -2.5e3, true, null, \"b\"], \"c\": {}}"),
                         "{n[00wwt]n{}}.");
        ck_assert_str_eq(tokens_of("[1}"), "[0.");
        ck_assert_str_eq(tokens_of("{1: 2}"), "{.");
        ck_assert_str_eq(tokens_of("[\"a"), "[.");
        ck_assert_str_eq(tokens_of("[\"\\x\"]"), "[.");
        ck_assert_str_eq(tokens_of("[\"\\ud800\\u0041\"]"), "[t].");
        ck_assert_str_eq(tokens_of("[nan]"), "[.");
        ck_assert_str_eq(tokens_of("[1.2.3]"), "[.");
        ck_assert_str_eq(tokens_of("]"), ".");
}
END_TEST

START_TEST(test_depth_is_bounded) {
        char text[JSON_DEPTH_MAX + 2];

        memset(text, '[', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        ck_assert_uint_eq(strlen(tokens_of(text)), JSON_DEPTH_MAX + 1);
}
END_TEST

/* Of a text that is longer nothing more is read, as if it ended there. */
START_TEST(test_size_is_bounded) {
        char text[] = "[1, 2, 3]";
        JsonStream stream;
        FILE *file = fmemopen(text, strlen(text), "r");

        ck_assert_ptr_nonnull(file);
        json_stream_init(&stream, file);
        ck_assert_uint_eq(stream.n_left, JSON_BYTES_MAX);
        stream.n_left = strlen("[1, 2");
        ck_assert_int_eq(json_next(&stream), JSON_ARRAY);
        ck_assert_int_eq(json_next(&stream), JSON_NUMBER);
        ck_assert_int_eq(json_next(&stream), JSON_NUMBER);
        ck_assert_int_eq(json_next(&stream), JSON_END);
        ck_assert_int_eq(json_next(&stream), JSON_END);
        fclose(file);
}
END_TEST

START_TEST(test_texts_are_decoded_and_cut) {
        static char text[JSON_TEXT_BYTES_MAX + 64];
        JsonStream stream;
        FILE *file;

        strcpy(text, "\"\\u0041\\n\\u00e4\\ud83d\\ude00\\ude00\\u0000\" \"");
        memset(text + strlen(text), 'x', JSON_TEXT_BYTES_MAX + 10);
        strcat(text, "\"");
        file = fmemopen(text, strlen(text), "r");
        ck_assert_ptr_nonnull(file);
        json_stream_init(&stream, file);
        ck_assert_int_eq(json_next(&stream), JSON_TEXT);
        ck_assert_str_eq(stream.text, "A\nä😀??");
        ck_assert_int_eq(json_next(&stream), JSON_TEXT);
        ck_assert_uint_eq(stream.n_text, JSON_TEXT_BYTES_MAX);
        fclose(file);
}
END_TEST

TEST_MAIN("bridges-firefox-markers",
          test_intervals_are_slices,
          test_beginnings_and_ends_are_paired,
          test_intervals_that_cross_are_on_other_tracks,
          test_only_names_and_hosts_stay,
          test_times_that_cannot_be_are_passed_over,
          test_the_time_of_day_serves_as_well,
          test_processes_are_in_each_other,
          test_a_text_that_ends_early_is_told,
          test_too_many_markers_are_counted,
          test_tracks_beside_each_other_are_limited,
          test_slices_in_each_other_are_limited,
          test_beginnings_that_wait_for_their_ends_are_limited,
          test_processes_of_a_profile_are_limited,
          test_texts_of_a_thread_are_limited,
          test_tokens,
          test_depth_is_bounded,
          test_size_is_bounded,
          test_texts_are_decoded_and_cut)
