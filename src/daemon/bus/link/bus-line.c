/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Before descriptors are taken out of a message, its sender's login user must be known. The gate's thread asks the bus
 * over a second connection, since the first is sd-bus's. That connection is made for each question: one that stayed
 * open would collect what anybody sends to it, and it accepts no descriptors. A bus never reuses a unique name, so
 * answers stay true.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "bus/link/bus-line.h"
#include "gate/gate-thread.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "shared/monotonic.h"

#define SYSTEM_ADDRESS   "unix:path=/run/dbus/system_bus_socket"
#define ASK_TIMEOUT_USEC UINT64_C(5000000)
#define SENDERS_KNOWN    32

/* How much is read from the message bus before others have their turn. */
#define LINE_TURN_NS UINT64_C(5000000)
#define LINE_AHEAD_BYTES \
        (16u << 10)          /* a dozen short replies, with what the kernel counts for each */
#define MESSAGES_PER_STEP 16 /* between two looks at the clock */

typedef struct Sender {
        char name[256];
        uid_t user;
} Sender;

struct BusLine {
        char *address;
        GateThread *thread;
        BusLineUserOf user_of;
        void *userdata;
        sd_bus *bus;                    /* NULL: it has no gate */
        sd_event_source *source, *more; /* of the main loop, while it is attached */
        Sender senders[SENDERS_KNOWN];  /* the thread's; "": unused */
        size_t next_sender;
        bool has_more; /* than the last turn has read */
};

/*
 * Addresses
 */

static bool hex_digit(char digit, unsigned *ret) {
        static const char digits[] = "0123456789abcdef";
        const char *at = digit ? strchr(digits, digit | 0x20) : NULL;

        *ret = at ? (unsigned)(at - digits) : 0;
        return at;
}

/* Copies a value, which ends at a comma or semicolon, and undoes its escapes. Returns its length; 0: it is missing
 * or too long. */
static size_t unescape(char *ret, size_t size, const char *value) {
        unsigned high, low;
        size_t n = 0;

        for (; *value && *value != ',' && *value != ';'; value++) {
                if (n + 1 >= size)
                        return 0;
                ret[n] = *value;
                if (*value == '%' && hex_digit(value[1], &high) && hex_digit(value[2], &low)) {
                        ret[n] = (char)(high << 4 | low);
                        value += 2;
                }
                n++;
        }
        ret[n] = '\0';
        return n;
}

/* The value of a key of the first address in the text. */
static const char *find_value(const char *text, const char *key) {
        const size_t n = strlen(key);

        for (; text; text = strpbrk(text, ",;")) {
                if (*text == ';')
                        return NULL;
                text += *text == ',';
                if (strncmp(text, key, n) == 0)
                        return text + n;
        }
        return NULL;
}

/* Returns 0, or -EPROTONOSUPPORT: not such a socket. */
static int read_address(struct sockaddr_un *ret, socklen_t *ret_n, const char *address) {
        const char *path, *name;
        size_t n;

        *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
        if (strncmp(address, "unix:", strlen("unix:")) != 0)
                return -EPROTONOSUPPORT;
        address += strlen("unix:");
        path = find_value(address, "path=");
        name = find_value(address, "abstract=");
        if (path)
                n = unescape(ret->sun_path, sizeof(ret->sun_path), path);
        else
                n = name ? unescape(ret->sun_path + 1, sizeof(ret->sun_path) - 1, name) : 0;
        *ret_n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + 1);
        return n > 0 ? 0 : -EPROTONOSUPPORT;
}

static int connect_to(int *ret, const char *address) {
        _cleanup_(fd_closep) int fd = -1;
        struct sockaddr_un name;
        socklen_t n;
        int r;

        r = read_address(&name, &n, address);
        if (r < 0)
                return r;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, (const struct sockaddr *)&name, n) < 0)
                return -errno;
        *ret = TAKE_FD(fd);
        return 0;
}

/* Where sd-bus looks for it. */
static char *default_address(bool is_system) {
        const char *address =
                secure_getenv(is_system ? "DBUS_SYSTEM_BUS_ADDRESS" : "DBUS_SESSION_BUS_ADDRESS");
        const char *directory = secure_getenv("XDG_RUNTIME_DIR");
        char *text = NULL;

        if (address)
                return strdup(address);
        if (is_system)
                return strdup(SYSTEM_ADDRESS);
        if (!directory || asprintf(&text, "unix:path=%s/bus", directory) < 0)
                return NULL;
        return text;
}

/*
 * Senders
 */

static int ask_who_it_is(const char *address, const char *sender, Identity *ret) {
        _cleanup_(sd_bus_creds_unrefp) sd_bus_creds *creds = NULL;
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
        int r;

        r = sd_bus_new(&bus);
        if (r >= 0)
                r = sd_bus_set_address(bus, address);
        if (r >= 0)
                r = sd_bus_set_bus_client(bus, true);
        if (r >= 0)
                r = sd_bus_negotiate_fds(bus, false);
        if (r >= 0)
                r = sd_bus_set_method_call_timeout(bus, ASK_TIMEOUT_USEC);
        if (r >= 0)
                r = sd_bus_start(bus);
        if (r >= 0)
                r = sd_bus_get_name_creds(
                        bus, sender, SD_BUS_CREDS_EUID | SD_BUS_CREDS_PID, &creds);
        if (r >= 0)
                r = sd_bus_creds_get_euid(creds, &ret->uid);
        if (r < 0)
                return r;
        if (sd_bus_creds_get_pid(creds, &ret->pid) < 0)
                ret->pid = 0; /* the peer is in another pid namespace, or not on this machine */
        return 0;
}

static int find_user(void *userdata, const char *sender, uid_t *ret) {
        BusLine *line = userdata;
        Identity identity;
        Sender *known;
        int r;

        for (size_t i = 0; i < SENDERS_KNOWN; i++)
                if (sender[0] && streq(line->senders[i].name, sender)) {
                        *ret = line->senders[i].user;
                        return 0;
                }
        r = ask_who_it_is(line->address, sender, &identity);
        if (r < 0)
                return r;
        known = &line->senders[line->next_sender++ % SENDERS_KNOWN];
        snprintf(known->name, sizeof(known->name), "%s", sender);
        *ret = known->user = line->user_of(line->userdata, &identity);
        return 0;
}

/*
 * The line
 */

/* The same settings as those of sd_bus_open_system() and sd_bus_open_user(). */
static int start(sd_bus **ret, int *fd, bool is_system) {
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        int r;

        r = sd_bus_new(&bus);
        if (r >= 0)
                r = sd_bus_set_fd(bus, *fd, *fd);
        if (r < 0)
                return r;
        *fd = -1;
        r = sd_bus_set_bus_client(bus, true);
        if (r >= 0)
                r = sd_bus_set_trusted(bus, !is_system);
        if (r >= 0)
                r = sd_bus_start(bus);
        if (r >= 0)
                *ret = TAKE(bus);
        return r;
}

static int open_gated(BusLine *line, sd_bus **ret_bus, bool is_system) {
        GateThreadOptions options = { .find_user = find_user, .userdata = line };
        _cleanup_(fd_closep) int fd = -1;
        int r;

        r = connect_to(&options.fd, line->address);
        if (r < 0)
                return r;
        r = gate_thread_new(&line->thread, &fd, &options);
        if (r >= 0)
                r = start(ret_bus, &fd, is_system);
        if (r >= 0)
                line->bus = sd_bus_ref(*ret_bus);
        return r;
}

int bus_line_open(BusLine **ret,
                  sd_bus **ret_bus,
                  bool is_system,
                  BusLineUserOf user_of,
                  void *userdata) {
        BusLine *line = calloc(1, sizeof(*line));
        int r;

        if (!line)
                return -ENOMEM;
        line->user_of = user_of;
        line->userdata = userdata;
        line->address = default_address(is_system);
        r = line->address ? open_gated(line, ret_bus, is_system) : -EPROTONOSUPPORT;
        if (r == -EPROTONOSUPPORT) {
                log_debug("the message bus is not a local socket");
                r = is_system ? sd_bus_open_system(ret_bus) : sd_bus_open_user(ret_bus);
        }
        if (r < 0) {
                bus_line_free(line);
                return r;
        }
        *ret = line;
        return 0;
}

/*
 * In the main loop
 */

/* Messages are dispatched at once, and the replies leave in the same turn. */
static bool line_step(BusLine *line) {
        const bool has_more = gate_thread_turn(line->thread);
        unsigned n = 0;

        for (; n < MESSAGES_PER_STEP && sd_bus_process(line->bus, NULL) > 0; n++)
                gate_thread_pump(line->thread);
        return has_more || n == MESSAGES_PER_STEP;
}

/* Calls in the socket of the bus have no turns yet: those of all users stand in one line. So they are read before calls
 * that were set aside are carried out, as the replies to these only bring more calls. */
static bool line_turn(BusLine *line) {
        const uint64_t until = monotonic_ns() + LINE_TURN_NS;
        bool has_more;

        do
                has_more = line_step(line);
        while (has_more && monotonic_ns() < until);
        line->has_more = has_more;
        return has_more;
}

static int on_ready(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        BusLine *line = userdata;

        return line_turn(line) ? sd_event_source_set_enabled(line->more, SD_EVENT_ONESHOT) : 0;
}

static int on_more(sd_event_source *source, void *userdata) {
        return on_ready(source, -1, 0, userdata);
}

int bus_line_attach(BusLine *line, sd_event *event) {
        int r;

        if (!line || !line->bus || line->source)
                return 0;
        r = sd_event_add_io(
                event, &line->source, gate_thread_fd(line->thread), EPOLLIN, on_ready, line);
        if (r >= 0)
                r = sd_event_add_defer(event, &line->more, on_more, line);
        if (r < 0) {
                line->source = sd_event_source_disable_unref(line->source);
                return r;
        }
        gate_thread_hand_over(line->thread);
        return 0;
}

void bus_line_detach(BusLine *line) {
        if (!line || !line->source)
                return;
        line->source = sd_event_source_disable_unref(line->source);
        line->more = sd_event_source_disable_unref(line->more);
        gate_thread_take_back(line->thread);
}

void bus_line_pump(BusLine *line) {
        if (line && line->source)
                gate_thread_pump(line->thread);
}

bool bus_line_is_behind(const BusLine *line) {
        return line && line->source && gate_thread_n_unread(line->thread) > LINE_AHEAD_BYTES;
}

bool bus_line_has_more(const BusLine *line) {
        return line && line->source && line->has_more;
}

void bus_line_refuse_replies(BusLine *line, const GateRefusal *refusal) {
        if (line && line->source)
                gate_thread_refuse_replies(line->thread, refusal);
}

bool bus_line_has_taken(BusLine *line) {
        return line && line->source && gate_thread_has_taken(line->thread);
}

BusLine *bus_line_free(BusLine *line) {
        if (!line)
                return NULL;
        bus_line_detach(line);
        sd_bus_unref(line->bus);
        gate_thread_free(line->thread);
        free(line->address);
        free(line);
        return NULL;
}
