/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A daemon with a poll() loop, and its clients, which are processes of their own: a request goes from the client to the
 * loop, to a worker thread, and back, and a number that it takes along connects it all.
 *
 *      daemon-desktrace [--seconds N]
 *
 * The number is dt_flow_id()'s of the client, unique among all programs. Nothing else has to be agreed upon: a client
 * that is built without Desktrace sends a 0, and has no arrows.
 */

#define _GNU_SOURCE 1 /* environ, pipe2() */

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <desktrace/track-event.h>

DT_CATEGORY(client, "client", "Requests, as who asks sees them");
DT_CATEGORY(server, "server", "The loop, and requests on their way through it");

#define N_CLIENTS       2
#define CLIENT_FD       3 /* a client's socket */
#define CLIENT_RESTS_US 2000

typedef struct Message {
        uint64_t number;
        uint64_t flow;
} Message;

static const dt_track in_work = DT_COUNTER_TRACK("requests in work", "requests");
/* Requests overlap, so each has a row for as long as it lasts. */
static dt_lanes requests = DT_LANES("request");
static atomic_int n_in_work;
static int pending[2]; /* a pipe of requests, from the loop to the worker */

typedef struct Request {
        Message message;
        int fd; /* where the answer goes */
        dt_track lane;
} Request;

static dt_arg arrow(uint64_t flow) {
        return flow != 0 ? DT_FLOW(flow) : dt_arg_none();
}

static void rest_us(long us) {
        const struct timespec rest = { .tv_nsec = us * 1000 };

        nanosleep(&rest, NULL);
}

/*
 * The client
 */

static bool ask(uint64_t number) {
        Message message = { number, dt_flow_id(number) };

        DT_SLICE(client, "request", DT_UINT("number", number), DT_FLOW(message.flow));
        if (send(CLIENT_FD, &message, sizeof(message), MSG_NOSIGNAL) != sizeof(message))
                return false;
        {
                DT_SLICE(client, "wait for answer");
                if (recv(CLIENT_FD, &message, sizeof(message), 0) != sizeof(message))
                        return false;
        }
        DT_INSTANT(client, "answer", DT_FLOW_END(message.flow));
        return true;
}

static int run_client(double seconds) {
        const uint64_t n = (uint64_t)(seconds * 1000000 / CLIENT_RESTS_US);

        dt_init(NULL);
        dt_thread_set_name("client");
        dt_process_set_name("daemon example's client");
        for (uint64_t number = 1; number <= n; number++) {
                if (!ask(number))
                        return EXIT_FAILURE;
                rest_us(CLIENT_RESTS_US);
        }
        return EXIT_SUCCESS;
}

static int start_client(const char *program, const char *seconds) {
        char *argv[] = { (char *)program, (char *)"--client", (char *)seconds, NULL };
        posix_spawn_file_actions_t actions;
        int fds[2], r;
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
                exit(EXIT_FAILURE);
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, fds[1], CLIENT_FD);
        r = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
        close(fds[1]);
        if (r != 0)
                exit(EXIT_FAILURE);
        return fds[0];
}

/*
 * The server
 */

/* What a macro is given is computed only while somebody records; so this is not done in there. */
static void count_in_work(int change) {
        int n = atomic_fetch_add(&n_in_work, change) + change;

        DT_COUNTER_ON(server, &in_work, n);
}

static void answer(const Request *request) {
        DT_SLICE(server, "answer", arrow(request->message.flow));
        {
                DT_SLICE(server, "look up");
                rest_us(500);
        }
        DT_SLICE(server, "send");
        DT_SLICE_END_ON_WITH(server, &request->lane, DT_INT("status", 200));
        dt_lane_return(&requests, &request->lane);
        if (send(request->fd, &request->message, sizeof(Message), MSG_NOSIGNAL) < 0)
                DT_INSTANT(server, "client has gone", DT_LOG(DT_LOG_WARNING, "nobody to answer"));
}

static void *work(void *userdata) {
        Request request;

        dt_thread_set_name("worker");
        while (read(pending[0], &request, sizeof(request)) == sizeof(request)) {
                answer(&request);
                count_in_work(-1);
        }
        return NULL;
}

/* Returns false when the client has gone. */
static bool take_request(int fd) {
        Request request = { .fd = fd };
        const Message *message = &request.message;

        if (recv(fd, &request.message, sizeof(Message), 0) != sizeof(Message))
                return false;
        request.lane = dt_lane_take(&requests);
        DT_SLICE(server, "take request", DT_UINT("number", message->number), arrow(message->flow));
        DT_SLICE_BEGIN_ON(server, &request.lane, "request", DT_UINT("number", message->number));
        count_in_work(1);
        return write(pending[1], &request, sizeof(request)) == sizeof(request);
}

static void run_loop(struct pollfd *clients) {
        for (unsigned n = N_CLIENTS; n > 0;) {
                DT_SLICE_BEGIN(server, "poll");
                poll(clients, N_CLIENTS, -1);
                DT_SLICE_END(server);

                DT_SLICE(server, "dispatch");
                for (unsigned i = 0; i < N_CLIENTS; i++)
                        if (clients[i].revents && !take_request(clients[i].fd)) {
                                clients[i].fd = ~clients[i].fd; /* poll() passes it over */
                                n--;
                        }
        }
}

int main(int argc, char **argv) {
        const char *seconds = argc == 3 ? argv[2] : "5";
        struct pollfd clients[N_CLIENTS];
        pthread_t worker;

        if (argc == 3 && strcmp(argv[1], "--client") == 0)
                return run_client(atof(seconds));
        for (unsigned i = 0; i < N_CLIENTS; i++)
                clients[i] = (struct pollfd){ start_client(argv[0], seconds), POLLIN, 0 };
        dt_init(NULL);
        dt_thread_set_name("event loop");
        dt_process_set_name("daemon example");
        if (pipe2(pending, O_CLOEXEC) < 0 || pthread_create(&worker, NULL, work, NULL) != 0)
                return EXIT_FAILURE;
        run_loop(clients);
        close(pending[1]);
        pthread_join(worker, NULL);
        while (wait(NULL) > 0)
                ;
        return EXIT_SUCCESS;
}
