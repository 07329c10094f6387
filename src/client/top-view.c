/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Top view: one screen of `desktrace top`, or one object of its JSON */

#include "client/top-view.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "client/answer-output.h"
#include "client/answer-text.h"
#include "client/charset.h"
#include "client/say.h"

#define HOME        "\033[H"
#define ERASE_LINE  "\033[K"
#define ERASE_BELOW "\033[J"
#define GAP         2
#define WIDTH_MIN   8u /* of a column of figures, so that they do not jump */

/* Used without a terminal, or if it does not say how large it is. */
#define COLUMNS_DEFAULT 80u
#define LINES_DEFAULT   24u

typedef struct Column {
        const char *title; /* untranslated */
        bool is_number;
} Column;

static const Column load_columns[] = {
        { N_("CPU"), true },
        { N_("WAITED"), true },
        { N_("THREADS"), true },
        { N_("WHO"), false },
};
static const Column ended_columns[] = {
        { N_("PER SECOND"), true },
        { N_("MEAN"), true },
        { N_("LONGEST"), true },
        { N_("SLICE"), false },
};

/* Lines of text, and how many of them there may be. */
typedef struct Page {
        GPtrArray *lines; /* of char *, owned; without styles */
        GArray *styles;   /* of Style, by line */
        size_t width;     /* 0: any */
} Page;

void top_view_deinit(TopView *view) {
        answer_free(view->load);
        answer_free(view->ended);
        g_free(view->when);
        *view = (TopView){ 0 };
}

static int64_t span_ns(const TopView *view) {
        return MAX(view->to - view->from, INT64_C(1));
}

/*
 * JSON
 */

void top_view_print_json(const TopView *view, JsonMode mode, size_t n_rows_max) {
        _cleanup_(json_writer_deinit) JsonWriter writer = { 0 };

        json_writer_init(&writer, mode);
        json_begin_object(&writer, NULL);
        json_int(&writer, "trace_start_ns", view->zero);
        json_int(&writer, "from_ns", view->from);
        json_int(&writer, "to_ns", view->to);
        answer_json_facts(&writer, view->load);
        answer_json_rows(&writer, "rows", view->load, n_rows_max);
        if (view->ended)
                answer_json_rows(&writer, "slices", view->ended, n_rows_max);
        else
                json_string(&writer, "slices", NULL);
        json_uint(&writer, "lost", view->n_lost);
        json_end_object(&writer);
        json_writer_print(&writer);
}

/*
 * Lines
 */

static void page_init(Page *page, size_t width) {
        *page = (Page){ .lines = g_ptr_array_new_with_free_func(g_free),
                        .styles = g_array_new(FALSE, FALSE, sizeof(Style)),
                        .width = width };
}

static void page_deinit(Page *page) {
        g_ptr_array_unref(page->lines);
        g_array_unref(page->styles);
}

/* Takes ownership. What does not fit is cut off. */
static void page_add(Page *page, Style style, char *line) {
        char *text = charset_reduce(line);
        size_t n = strlen(text);

        while (page->width && n && charset_width(text) > page->width) {
                n = (size_t)(g_utf8_find_prev_char(text, text + n) - text);
                text[n] = '\0';
        }
        g_ptr_array_add(page->lines, text);
        g_array_append_val(page->styles, style);
}

static size_t column_width(const Column *column) {
        g_autofree char *title = charset_reduce(g_strdup(_(column->title)));

        return MAX(charset_width(title), WIDTH_MIN);
}

static void append_cell(GString *line, const Column *column, const char *text) {
        g_autofree char *shown = charset_reduce(g_strdup(text));
        size_t width = charset_width(shown), n = column_width(column);

        if (line->len)
                g_string_append_printf(line, "%*s", GAP, "");
        if (column->is_number && width < n)
                g_string_append_printf(line, "%*s", (int)(n - width), "");
        g_string_append(line, shown);
}

static void add_row(Page *page, Style style, const Column *columns, const char *const cells[4]) {
        GString *line = g_string_new(NULL);

        for (size_t i = 0; i < 4; i++)
                append_cell(line, &columns[i], cells[i]);
        page_add(page, style, g_string_free(line, FALSE));
}

static void add_titles(Page *page, const Column *columns) {
        const char *const titles[] = {
                _(columns[0].title),
                _(columns[1].title),
                _(columns[2].title),
                _(columns[3].title),
        };

        add_row(page, STYLE_BOLD, columns, titles);
}

static char *real_text(double value, AnswerKind kind) {
        AnswerValue cell;

        answer_set_real(&cell, value);
        return answer_value_text(&cell, kind);
}

static char *ns_text(int64_t ns) {
        AnswerValue cell;

        answer_set(&cell, ns);
        return answer_value_text(&cell, ANSWER_NS);
}

/* In parts of one CPU, as other programs of this kind show it: two busy CPUs are 200 %. */
static char *cpu_text(const TopView *view, int64_t ns) {
        return real_text((double)ns / (double)span_ns(view), ANSWER_SHARE);
}

static char *stalled_text(const TopView *view, unsigned fact) {
        const AnswerValue *value = &view->load->facts[fact];

        return value->is_there ? cpu_text(view, value->number) : g_strdup("-");
}

static void add_head(Page *page, const TopView *view) {
        const AnswerValue *facts = view->load->facts;
        g_autofree char *share = answer_value_text(&facts[LOAD_FACT_SHARE], ANSWER_SHARE);
        g_autofree char *cpu = stalled_text(view, LOAD_FACT_STALLED_CPU),
                        *memory = stalled_text(view, LOAD_FACT_STALLED_MEMORY),
                        *io = stalled_text(view, LOAD_FACT_STALLED_IO);

        if (!facts[LOAD_FACT_CPUS].is_there)
                page_add(page, STYLE_BOLD, g_strdup(view->when));
        else if (facts[LOAD_FACT_STALLED_CPU].is_there)
                page_add(page,
                         STYLE_BOLD,
                         g_strdup_printf(_("%s  %s of %" PRId64
                                           " CPUs; stalled for CPU %s, memory %s, IO %s"),
                                         view->when,
                                         share,
                                         facts[LOAD_FACT_CPUS].number,
                                         cpu,
                                         memory,
                                         io));
        else
                page_add(page,
                         STYLE_BOLD,
                         g_strdup_printf(_("%s  %s of %" PRId64 " CPUs"),
                                         view->when,
                                         share,
                                         facts[LOAD_FACT_CPUS].number));
}

static void add_load_row(Page *page, const TopView *view, size_t row) {
        const AnswerValue *cells = answer_cell(view->load, row, 0);
        g_autofree char *cpu = cpu_text(view, cells[LOAD_COLUMN_NS].number);
        g_autofree char *waited = answer_value_text(&cells[LOAD_COLUMN_WAITED], ANSWER_NS);
        g_autofree char *threads = answer_value_text(&cells[LOAD_COLUMN_THREADS], ANSWER_COUNT);
        g_autofree char *who = answer_value_text(&cells[LOAD_COLUMN_WHO], ANSWER_TEXT);
        const char *const texts[] = { cpu, waited, threads, who };

        add_row(page, STYLE_NORMAL, load_columns, texts);
}

/* A last row for what ended between two looks, and what /proc hides, so that the rows add up to all that was used. */
static void add_others(Page *page, const TopView *view) {
        const AnswerValue *others = &view->load->facts[LOAD_FACT_OTHERS];
        g_autofree char *cpu = others->is_there ? cpu_text(view, others->number) : NULL;
        const char *const texts[] = { cpu, "-", "-", _("(in no row: ended, or hidden)") };

        if (others->is_there && others->number > 0)
                add_row(page, STYLE_DIM, load_columns, texts);
}

static void add_ended_row(Page *page, const TopView *view, size_t row) {
        const AnswerValue *cells = answer_cell(view->ended, row, 0);
        int64_t n = MAX(cells[ENDED_COLUMN_N].number, INT64_C(1));
        g_autofree char *rate = real_text((double)n * 1e9 / (double)span_ns(view), ANSWER_REAL);
        g_autofree char *mean = ns_text(cells[ENDED_COLUMN_NS].number / n);
        g_autofree char *longest = ns_text(cells[ENDED_COLUMN_MAX].number);
        g_autofree char *name = answer_value_text(&cells[ENDED_COLUMN_NAME], ANSWER_TEXT);
        const char *const texts[] = { rate, mean, longest, name };

        add_row(page, STYLE_NORMAL, ended_columns, texts);
}

static void add_load(Page *page, const TopView *view, size_t n_max, bool has_legend) {
        size_t n = n_max ? MIN(n_max, view->load->n_rows) : view->load->n_rows;

        if (has_legend)
                add_titles(page, load_columns);
        for (size_t row = 0; row < n; row++)
                add_load_row(page, view, row);
        add_others(page, view);
}

static void add_ended(Page *page, const TopView *view, size_t n_max, bool has_legend) {
        size_t n = view->ended ? view->ended->n_rows : 0;

        if (n == 0)
                return;
        if (has_legend) {
                page_add(page, STYLE_NORMAL, g_strdup(""));
                add_titles(page, ended_columns);
        }
        for (size_t row = 0; row < (n_max ? MIN(n_max, n) : n); row++)
                add_ended_row(page, view, row);
}

static void add_troubles(Page *page, const TopView *view) {
        if (view->n_lost)
                page_add(page,
                         STYLE_BAD,
                         g_strdup_printf(_("Lost: %" PRIu64 " pieces of what programs reported"),
                                         view->n_lost));
        if (view->trouble) {
                g_autofree char *why = say_clean(view->trouble, strlen(view->trouble));

                page_add(page, STYLE_DIM, g_strdup_printf(_("No slices of programs: %s"), why));
        }
}

/*
 * Both forms
 */

static void put_line(const Page *page, guint i) {
        Style line_style = g_array_index(page->styles, Style, i);

        if (line_style != STYLE_NORMAL)
                fputs(style(stdout, line_style), stdout);
        fputs(g_ptr_array_index(page->lines, i), stdout);
        if (line_style != STYLE_NORMAL)
                fputs(style(stdout, STYLE_NORMAL), stdout);
}

void top_view_print(const TopView *view, size_t n_rows_max, bool has_legend) {
        _cleanup_(page_deinit) Page page = { 0 };

        page_init(&page, 0);
        if (has_legend)
                add_head(&page, view);
        add_load(&page, view, n_rows_max, has_legend);
        add_ended(&page, view, n_rows_max, has_legend);
        add_troubles(&page, view);
        for (guint i = 0; i < page.lines->len; i++) {
                put_line(&page, i);
                putchar('\n');
        }
        putchar('\n');
}

/* Slices get a third of the rows, and whatever the other table does not need. */
static void share_rows(const TopView *view, size_t n, size_t *ret_load, size_t *ret_ended) {
        size_t n_load = view->load->n_rows, n_ended = view->ended ? view->ended->n_rows : 0;

        *ret_ended = MIN(n_ended, MAX(n / 3, n > n_load ? n - n_load : 0));
        *ret_load = MAX(MIN(n_load, n - MIN(*ret_ended, n)), (size_t)1);
        *ret_ended = MAX(*ret_ended, (size_t)1);
}

static struct winsize terminal_size(void) {
        struct winsize size;

        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
                size = (struct winsize){ .ws_row = LINES_DEFAULT, .ws_col = COLUMNS_DEFAULT };
        return size;
}

/* Lines besides the rows of both tables. */
static size_t count_other_lines(const TopView *view, const char *keys) {
        return 2 + (view->load->facts[LOAD_FACT_OTHERS].number > 0) +
               (view->ended && view->ended->n_rows ? 2 : 0) + (view->n_lost > 0) +
               (view->trouble != NULL) + (keys ? 2 : 0);
}

void top_view_draw(const TopView *view, const char *keys) {
        const struct winsize size = terminal_size();
        size_t n_others = count_other_lines(view, keys), n_load, n_ended;
        _cleanup_(page_deinit) Page page = { 0 };

        page_init(&page, size.ws_col);
        share_rows(view, size.ws_row > n_others ? size.ws_row - n_others : 1, &n_load, &n_ended);
        add_head(&page, view);
        add_load(&page, view, n_load, true);
        add_ended(&page, view, n_ended, true);
        add_troubles(&page, view);
        if (keys) {
                page_add(&page, STYLE_NORMAL, g_strdup(""));
                page_add(&page, STYLE_DIM, g_strdup(keys));
        }
        fputs(HOME, stdout);
        for (guint i = 0; i < MIN(page.lines->len, (guint)size.ws_row); i++) {
                fputs(i ? "\n" : "", stdout);
                put_line(&page, i);
                fputs(ERASE_LINE, stdout);
        }
        fputs(ERASE_BELOW, stdout);
}
