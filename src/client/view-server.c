/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* View server: one document, for a browser of the same user on this machine */

#include "client/view-server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/tcp-owner.h"
#include "shared/fd.h"
#include "shared/thread.h"

#define TOKEN_BYTES 16

typedef struct Connection {
        struct ViewServer *server;
        pthread_t thread;
        int fd;
        uint64_t number; /* in the order in which they came */
        /* Under the server's lock. */
        bool is_used, has_ended;
        bool has_asked; /* its request is whole */
} Connection;

struct ViewServer {
        int fd;
        int news; /* eventfd: a connection has ended */
        struct sockaddr_in own;
        TcpOwner owner; /* of peers */
        uint16_t port;
        const ViewDocument *document;
        char *path;    /* with the token */
        char *address; /* with the path */
        pthread_mutex_t lock;
        Connection connections[VIEW_CONNECTIONS_MAX];
        uint64_t n_connections; /* ever */
        bool is_fetched;        /* under the lock */
};

/*
 * Peers
 */

static bool is_ours(const ViewServer *server, const struct sockaddr_in *peer) {
        uid_t uid;

        return tcp_owner_find(&server->owner, &uid, peer, &server->own) && uid == getuid();
}

/*
 * Requests
 */

typedef struct Request {
        char method[8];
        char path[512];
        char host[64];
        char origin[128]; /* "": none */
} Request;

/* The value of a header, if this line is it and it fits. */
static void take_header(const char *line, const char *name, char *value, size_t n_max) {
        size_t n = strlen(name);

        if (strncasecmp(line, name, n) != 0 || line[n] != ':')
                return;
        line += n + 1;
        line += strspn(line, " \t");
        g_strlcpy(value, line, n_max);
        g_strchomp(value);
}

static bool parse_request(Request *ret, char *text) {
        char *rest = NULL, *line = strtok_r(text, "\r\n", &rest);

        *ret = (Request){ .method = "" };
        if (!line || sscanf(line, "%7[A-Z] %511s HTTP/1.", ret->method, ret->path) != 2)
                return false;
        while ((line = strtok_r(NULL, "\r\n", &rest))) {
                take_header(line, "Host", ret->host, sizeof(ret->host));
                take_header(line, "Origin", ret->origin, sizeof(ret->origin));
        }
        return true;
}

static bool is_own_host(const ViewServer *server, const char *host) {
        g_autofree char *number = g_strdup_printf("127.0.0.1:%u", server->port);
        g_autofree char *name = g_strdup_printf("localhost:%u", server->port);

        return streq(host, number) || streq(host, name);
}

/* The answer to a request: "200 OK", or why not. */
static const char *judge(const ViewServer *server, const Request *request) {
        if (!is_own_host(server, request->host))
                return "421 Misdirected Request";
        if (!streq(request->path, server->path))
                return "404 Not Found";
        if (*request->origin &&
            (!server->document->site || !streq(request->origin, server->document->site)))
                return "403 Forbidden";
        if (!streq(request->method, "GET") && !streq(request->method, "HEAD") &&
            !(streq(request->method, "OPTIONS") && server->document->site))
                return "405 Method Not Allowed";
        return "200 OK";
}

/* Checks the head of a whole request. Returns 0 or an HTTP status. */
static const char *read_request(int fd, char text[static VIEW_REQUEST_BYTES + 1]) {
        size_t n = 0;

        while (n < VIEW_REQUEST_BYTES) {
                ssize_t r = read(fd, text + n, VIEW_REQUEST_BYTES - n);

                if (r <= 0)
                        return "408 Request Timeout";
                if (memchr(text + n, '\0', (size_t)r))
                        return "400 Bad Request";
                n += (size_t)r;
                text[n] = '\0';
                if (strstr(text, "\r\n\r\n"))
                        return NULL;
        }
        return "431 Request Header Fields Too Large";
}

static bool send_all(int fd, const void *data, size_t n) {
        while (n > 0) {
                ssize_t r = send(fd, data, n, MSG_NOSIGNAL);

                if (r <= 0)
                        return false;
                data = (const char *)data + r;
                n -= (size_t)r;
        }
        return true;
}

static bool send_head(const ViewServer *server, int fd, const char *status, size_t n_bytes) {
        const ViewDocument *document = server->document;
        g_autoptr(GString) head = g_string_new(NULL);

        g_string_append_printf(head,
                               "HTTP/1.1 %s\r\nContent-Length: %zu\r\nContent-Type: %s\r\n"
                               "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                               "Referrer-Policy: no-referrer\r\nConnection: close\r\n",
                               status,
                               n_bytes,
                               n_bytes > 0 ? document->type : "text/plain");
        if (document->site)
                g_string_append_printf(head,
                                       "Access-Control-Allow-Origin: %s\r\n"
                                       "Access-Control-Allow-Private-Network: true\r\n"
                                       "Vary: Origin\r\n",
                                       document->site);
        g_string_append(head, "\r\n");
        return send_all(fd, head->str, head->len);
}

static void answer(Connection *connection) {
        ViewServer *server = connection->server;
        const int fd = connection->fd;
        char text[VIEW_REQUEST_BYTES + 1] = "";
        const char *status = read_request(fd, text);
        const ViewDocument *document = server->document;
        Request request;
        bool is_got;

        pthread_mutex_lock(&server->lock);
        connection->has_asked = true;
        pthread_mutex_unlock(&server->lock);
        if (!status)
                status =
                        parse_request(&request, text) ? judge(server, &request) : "400 Bad Request";
        if (!streq(status, "200 OK") || streq(request.method, "OPTIONS")) {
                send_head(server, fd, status, 0);
                return;
        }
        is_got = streq(request.method, "GET");
        if (!send_head(server, fd, status, document->n) || !is_got ||
            !send_all(fd, document->data, document->n))
                return;
        shutdown(fd, SHUT_WR);
        pthread_mutex_lock(&server->lock);
        server->is_fetched = true;
        pthread_mutex_unlock(&server->lock);
}

/*
 * Connections
 */

static void *run_connection(void *userdata) {
        Connection *connection = userdata;
        ViewServer *server = connection->server;

        answer(connection);
        pthread_mutex_lock(&server->lock);
        connection->has_ended = true;
        pthread_mutex_unlock(&server->lock);
        eventfd_write(server->news, 1);
        return NULL;
}

static void join_connection(Connection *connection) {
        pthread_join(connection->thread, NULL);
        connection->fd = fd_close(connection->fd);
        connection->is_used = connection->has_ended = false;
}

static void join_ended(ViewServer *server) {
        for (size_t i = 0; i < VIEW_CONNECTIONS_MAX; i++) {
                Connection *connection = &server->connections[i];
                bool has_ended;

                pthread_mutex_lock(&server->lock);
                has_ended = connection->is_used && connection->has_ended;
                pthread_mutex_unlock(&server->lock);
                if (has_ended)
                        join_connection(connection);
        }
}

/* One that is free, or else that of the peer who has taken the longest to ask: a browser asks at once. NULL: all have
 * asked, and are being answered. */
static Connection *free_connection(ViewServer *server) {
        Connection *slowest = NULL, *unused = NULL;

        pthread_mutex_lock(&server->lock);
        for (size_t i = 0; !unused && i < VIEW_CONNECTIONS_MAX; i++) {
                Connection *connection = &server->connections[i];

                if (!connection->is_used)
                        unused = connection;
                else if (!connection->has_asked &&
                         (!slowest || connection->number < slowest->number))
                        slowest = connection;
        }
        pthread_mutex_unlock(&server->lock);
        if (unused)
                return unused;
        if (slowest) {
                shutdown(slowest->fd, SHUT_RDWR);
                join_connection(slowest);
        }
        return slowest;
}

static void start_connection(ViewServer *server, int fd) {
        const struct timeval patience = { .tv_sec = VIEW_PATIENCE_S };
        Connection *connection = free_connection(server);

        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        if (connection) {
                *connection = (Connection){ .server = server,
                                            .fd = fd,
                                            .number = server->n_connections++,
                                            .is_used = true };
                if (thread_start(&connection->thread, NULL, run_connection, connection) == 0)
                        return;
                connection->is_used = false;
        }
        close(fd);
}

/* Without a farewell, so that the kernel need not remember it for a minute. */
static void refuse_connection(int fd) {
        const struct linger at_once = { .l_onoff = 1 };

        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        close(fd);
}

static void accept_connection(ViewServer *server) {
        struct sockaddr_in peer;
        socklen_t n_peer = sizeof(peer);
        int fd = accept4(server->fd, (struct sockaddr *)&peer, &n_peer, SOCK_CLOEXEC);

        if (fd < 0)
                return;
        if (is_ours(server, &peer))
                start_connection(server, fd);
        else
                refuse_connection(fd);
}

/*
 * Server
 */

/* Others' connections wait in the same queue as our browser's, so there has to be room for many. */
static int listen_on(ViewServer *server, uint16_t port) {
        struct sockaddr_in address = {
                .sin_family = AF_INET,
                .sin_port = htons(port),
                .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        };
        socklen_t n = sizeof(address);
        const int yes = 1; /* Connections of the last one may still be ending. */

        server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (server->fd < 0 ||
            setsockopt(server->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
            bind(server->fd, (struct sockaddr *)&address, n) < 0 ||
            listen(server->fd, SOMAXCONN) < 0 ||
            getsockname(server->fd, (struct sockaddr *)&address, &n) < 0)
                return -errno;
        server->own = address;
        server->port = ntohs(address.sin_port);
        tcp_owner_init(&server->owner, &address);
        return 0;
}

static int make_address(ViewServer *server) {
        g_autofree char *name = g_uri_escape_string(server->document->name, NULL, false);
        uint8_t random[TOKEN_BYTES];
        char token[2 * TOKEN_BYTES + 1];

        if (getrandom(random, sizeof(random), 0) != sizeof(random))
                return -errno;
        for (size_t i = 0; i < sizeof(random); i++)
                snprintf(token + 2 * i, 3, "%02x", random[i]);
        server->path = g_strdup_printf("/%s/%s", token, name);
        server->address = g_strdup_printf("http://127.0.0.1:%u%s", server->port, server->path);
        return 0;
}

int view_server_new(ViewServer **ret, const ViewDocument *document, uint16_t port) {
        _cleanup_(view_server_freep) ViewServer *server = g_new0(ViewServer, 1);
        int r;

        pthread_mutex_init(&server->lock, NULL);
        server->document = document;
        server->fd = server->owner.fd = -1;
        server->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (server->news < 0)
                return -errno;
        r = listen_on(server, port);
        if (r == 0)
                r = make_address(server);
        if (r == 0)
                *ret = TAKE(server);
        return r;
}

ViewServer *view_server_free(ViewServer *server) {
        if (!server)
                return NULL;
        for (size_t i = 0; i < VIEW_CONNECTIONS_MAX; i++)
                if (server->connections[i].is_used) {
                        shutdown(server->connections[i].fd, SHUT_RDWR);
                        join_connection(&server->connections[i]);
                }
        fd_close(server->fd);
        fd_close(server->news);
        tcp_owner_deinit(&server->owner);
        pthread_mutex_destroy(&server->lock);
        g_free(server->path);
        g_free(server->address);
        g_free(server);
        return NULL;
}

const char *view_server_address(const ViewServer *server) {
        return server->address;
}

uint16_t view_server_port(const ViewServer *server) {
        return server->port;
}

static bool is_fetched_now(ViewServer *server) {
        bool is_fetched;

        pthread_mutex_lock(&server->lock);
        is_fetched = server->is_fetched;
        pthread_mutex_unlock(&server->lock);
        return is_fetched;
}

/* Runs until the document has been fetched and the grace is over, or until the time is. */
int view_server_run(ViewServer *server, uint64_t timeout_ms) {
        int64_t end_us = g_get_monotonic_time() + (int64_t)timeout_ms * 1000;
        bool is_fetched = false;

        for (;;) {
                struct pollfd polls[] = { { .fd = server->fd, .events = POLLIN },
                                          { .fd = server->news, .events = POLLIN } };
                int64_t left_ms = (end_us - g_get_monotonic_time() + 999) / 1000;
                eventfd_t n;

                if (left_ms <= 0)
                        return is_fetched;
                if (poll(polls, ARRAY_SIZE(polls), (int)MIN(left_ms, (int64_t)INT32_MAX)) < 0 &&
                    errno != EINTR)
                        return -errno;
                eventfd_read(server->news, &n);
                join_ended(server);
                if (polls[0].revents)
                        accept_connection(server);
                if (!is_fetched && is_fetched_now(server)) {
                        is_fetched = true;
                        end_us = g_get_monotonic_time() + VIEW_GRACE_MS * 1000;
                }
        }
}
