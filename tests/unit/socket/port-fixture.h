/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A service of a few methods behind one end of a socket pair, and a client that speaks bytes at the other
 */

#include "shared/bytes.h"
#include "socket/link/port.h"
#include "socket/ports.h"
#include "test.h"
#include "wire/ipc-frame.h"

/* Of the service, "FakePort". */
enum {
        METHOD_ECHO = 1,
        METHOD_TAKE_FD,
        METHOD_MISSING,
        METHOD_FLOOD,
        METHOD_BREAK,
        METHOD_SLOW,
        METHOD_LONG,
};

extern Ports *ports;
extern PortConnection *connection; /* the last that was opened */
extern size_t n_open, n_calls, n_drained, n_works;
extern size_t n_slow,
        n_slow_before;  /* the latter when an echo that begins with "?" was called for */
extern int taken_fd;    /* by METHOD_TAKE_FD */
extern int open_answer; /* of PortService.open() */
extern int break_error; /* of METHOD_BREAK */

void port_setup(void);
void port_teardown(void);

/* A test with the service. */
#define PORT_TEST(name)                \
        static void name##_body(void); \
        START_TEST(name) {             \
                port_setup();          \
                name##_body();         \
                port_teardown();       \
        }                              \
        END_TEST                       \
        static void name##_body(void)

int connect_client(void);
int bound_client(void);

/* Lets the service do what there is to do. */
void run(void);

/* The frame that is being written; begin() starts it. */
extern WireWriter writer;
extern uint8_t frame_memory[];

WireWriter *begin(void);
void send_bytes(int client, const void *data, size_t n);
void send_frame(int client);
void send_with_fds(int client, const int *fds, size_t n_fds);
void call(int client, uint32_t method, const char *text);

/* What came back, until nothing does. */
extern Bytes received;

void receive_all(int client);
bool next_frame(IpcFrame *ret);     /* takes the first of them */
IpcFrame receive_frame(int client); /* there is one */
bool is_disconnected(int client);
void assert_is_served(int client);
