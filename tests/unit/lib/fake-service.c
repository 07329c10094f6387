/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "fake-service.h"
#include "shared/fd.h"
#include "shared/names.h"
#include "shared/text.h"
#include "wire/wire-writer.h"

#define WAIT_MS   10000
#define WAIT_USEC (WAIT_MS * UINT64_C(1000))

static char socket_dir[64], socket_path[80];

static void remove_socket(void) {
        unlink(socket_path);
        rmdir(socket_dir);
}

void fake_init(Fake *fake) {
        memset(fake, 0, sizeof(*fake));
        fake->listen_fd = fake->doorbell_fd = fake->bell_fd = fake->memory_fd = -1;
        if (socket_path[0]) /* one library, one path: tests that are not forked share it */
                return;
        strcpy(socket_dir, "/tmp/desktrace-test-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(socket_dir));
        snprintf(socket_path, sizeof(socket_path), "%s/a socket,%d", socket_dir, (int)getpid());
        setenv(TRACING_ENV_SOCKET, socket_path, 1);
        atexit(remove_socket);
}

void fake_listen(Fake *fake) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        strcpy(address.sun_path, socket_path);
        unlink(socket_path);
        fake->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_ge(fake->listen_fd, 0);
        ck_assert_int_eq(bind(fake->listen_fd, (struct sockaddr *)&address, sizeof(address)), 0);
        ck_assert_int_eq(listen(fake->listen_fd, 8), 0);
}

FakeSource *fake_source(Fake *fake, const char *name) {
        for (size_t i = 0; i < fake->n_sources; i++)
                if (streq(fake->sources[i].name, name))
                        return &fake->sources[i];
        return NULL;
}

static void read_categories(sd_bus_message *call, FakeSource *source) {
        const char *category;

        ck_assert_int_gt(sd_bus_message_enter_container(call, 'a', "s"), 0);
        while (sd_bus_message_read(call, "s", &category) > 0) {
                ck_assert_uint_lt(strlen(source->categories) + strlen(category) + 2,
                                  sizeof(source->categories));
                if (source->categories[0])
                        strcat(source->categories, ",");
                strcat(source->categories, category);
        }
        sd_bus_message_exit_container(call);
}

static void read_source_option(sd_bus_message *call, FakeSource *source) {
        const void *data;
        const char *key, *type;
        int flag;

        ck_assert_int_gt(sd_bus_message_read(call, "s", &key), 0);
        ck_assert_int_gt(sd_bus_message_peek_type(call, NULL, &type), 0);
        ck_assert_int_gt(sd_bus_message_enter_container(call, 'v', type), 0);
        if (streq(key, "descriptor")) {
                ck_assert_int_ge(sd_bus_message_read_array(call, 'y', &data, &source->n_descriptor),
                                 0);
                ck_assert_uint_le(source->n_descriptor, sizeof(source->descriptor));
                memcpy(source->descriptor, data, source->n_descriptor);
        } else if (streq(key, "packet-fields")) {
                size_t n_bytes;

                ck_assert_int_ge(sd_bus_message_read_array(call, 'u', &data, &n_bytes), 0);
                ck_assert_uint_le(n_bytes, sizeof(source->packet_fields));
                memcpy(source->packet_fields, data, n_bytes);
                source->n_packet_fields = n_bytes / sizeof(uint32_t);
        } else if (streq(key, "no-flush")) {
                ck_assert_int_gt(sd_bus_message_read(call, "b", &flag), 0);
                source->no_flush = flag;
        } else if (streq(key, "unavailable")) {
                ck_assert_int_gt(sd_bus_message_read(call, "s", &data), 0);
                snprintf(
                        source->unavailable, sizeof(source->unavailable), "%s", (const char *)data);
        } else {
                ck_assert_str_eq(key, "categories");
                read_categories(call, source);
        }
        sd_bus_message_exit_container(call);
}

static void read_source(sd_bus_message *call, Fake *fake) {
        FakeSource *source;
        const char *name;

        ck_assert_int_gt(sd_bus_message_read(call, "s", &name), 0);
        source = fake_source(fake, name);
        if (!source) {
                ck_assert_uint_lt(fake->n_sources, FAKE_SOURCES_MAX);
                source = &fake->sources[fake->n_sources++];
        }
        memset(source, 0, sizeof(*source));
        strcpy(source->name, name);
        ck_assert_int_gt(sd_bus_message_enter_container(call, 'a', "{sv}"), 0);
        while (sd_bus_message_enter_container(call, 'e', "sv") > 0) {
                read_source_option(call, source);
                sd_bus_message_exit_container(call);
        }
        sd_bus_message_exit_container(call);
}

static size_t read_variant_array(sd_bus_message *call, char type, void *ret, size_t n_max) {
        const char variant[] = { 'a', type, 0 };
        const void *data;
        size_t n_bytes;

        ck_assert_int_gt(sd_bus_message_enter_container(call, 'v', variant), 0);
        ck_assert_int_ge(sd_bus_message_read_array(call, type, &data, &n_bytes), 0);
        ck_assert_uint_le(n_bytes, n_max);
        if (n_bytes > 0)
                memcpy(ret, data, n_bytes);
        sd_bus_message_exit_container(call);
        return n_bytes;
}

static void read_producer_options(sd_bus_message *call, Fake *fake) {
        const char *key;

        fake->n_said_key = fake->n_said_instances = 0;
        ck_assert_int_gt(sd_bus_message_enter_container(call, 'a', "{sv}"), 0);
        while (sd_bus_message_enter_container(call, 'e', "sv") > 0) {
                ck_assert_int_gt(sd_bus_message_read(call, "s", &key), 0);
                if (streq(key, "memory-key"))
                        fake->n_said_key = read_variant_array(
                                call, 'y', fake->said_key, sizeof(fake->said_key));
                else if (streq(key, "instances"))
                        fake->n_said_instances = read_variant_array(call,
                                                                    't',
                                                                    fake->said_instances,
                                                                    sizeof(fake->said_instances)) /
                                                 sizeof(uint64_t);
                else if (streq(key, "page-kb"))
                        ck_assert_int_gt(sd_bus_message_read(call, "v", "u", &fake->page_kib), 0);
                else if (streq(key, "shared-memory-kb"))
                        ck_assert_int_gt(sd_bus_message_read(call, "v", "u", &fake->memory_kib), 0);
                else if (streq(key, "pid-namespace"))
                        ck_assert_int_gt(sd_bus_message_read(call, "v", "t", &fake->pid_namespace),
                                         0);
                else if (streq(key, "pid-proof"))
                        fake->has_proof = sd_bus_message_skip(call, "v") > 0;
                else
                        ck_abort_msg("no option of RegisterProducer(): %s", key);
                sd_bus_message_exit_container(call);
        }
        sd_bus_message_exit_container(call);
}

static void append_array(sd_bus_message *message,
                         const char *key,
                         char type,
                         const void *data,
                         size_t n_bytes) {
        const char variant[] = { 'a', type, 0 };

        ck_assert_int_ge(sd_bus_message_open_container(message, 'e', "sv"), 0);
        ck_assert_int_ge(sd_bus_message_append(message, "s", key), 0);
        ck_assert_int_ge(sd_bus_message_open_container(message, 'v', variant), 0);
        ck_assert_int_ge(sd_bus_message_append_array(message, type, data, n_bytes), 0);
        ck_assert_int_ge(sd_bus_message_close_container(message), 0);
        ck_assert_int_ge(sd_bus_message_close_container(message), 0);
}

static sd_bus_message *new_call(Fake *fake, const char *member) {
        sd_bus_message *message;

        ck_assert_int_ge(sd_bus_message_new_method_call(
                                 fake->bus,
                                 &message,
                                 fake->producer_address[0] ? fake->producer_address : NULL,
                                 TRACING_PRODUCER_OBJECT,
                                 TRACING_PRODUCER_INTERFACE,
                                 member),
                         0);
        return message;
}

static sd_bus_message *new_setup(Fake *fake, int memory_fd, const char *key) {
        sd_bus_message *message = new_call(fake, "SetupTracing");

        ck_assert_int_ge(sd_bus_message_append(message, "hh", memory_fd, fake->doorbell_fd), 0);
        ck_assert_int_ge(sd_bus_message_open_container(message, 'a', "{sv}"), 0);
        ck_assert_int_ge(
                sd_bus_message_append(
                        message, "{sv}{sv}", "unknown", "as", 0, "bell", "h", fake->bell_fd),
                0);
        if (key)
                append_array(message, "key", 'y', key, strlen(key));
        return message;
}

static void make_bells(Fake *fake) {
        fake->doorbell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        fake->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/* Before the reply to its registration. */
static void tell_known_memory(Fake *fake) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;

        make_bells(fake);
        message = new_setup(fake, fake->memory_fd, fake->known_key);
        append_array(message,
                     "instances",
                     't',
                     fake->known_instances,
                     fake->n_known_instances * sizeof(uint64_t));
        ck_assert_int_ge(sd_bus_message_close_container(message), 0);
        ck_assert_int_ge(sd_bus_message_set_expect_reply(message, false), 0);
        ck_assert_int_ge(sd_bus_send(fake->bus, message, NULL), 0);
}

static int on_register(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        Fake *fake = userdata;
        const char *name;

        ck_assert_int_gt(sd_bus_message_read(call, "s", &name), 0);
        strcpy(fake->producer, name);
        ck_assert_int_gt(sd_bus_message_enter_container(call, 'a', "(sa{sv})"), 0);
        while (sd_bus_message_enter_container(call, 'r', "sa{sv}") > 0) {
                read_source(call, fake);
                sd_bus_message_exit_container(call);
        }
        sd_bus_message_exit_container(call);
        read_producer_options(call, fake);
        snprintf(fake->producer_address,
                 sizeof(fake->producer_address),
                 "%s",
                 sd_bus_message_get_sender(call) ?: "");
        fake->n_registered++;
        if (fake->n_refusals > 0 && fake->n_refusals-- > 0)
                return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED, "Not now.");
        if (fake->known_key)
                tell_known_memory(fake);
        return sd_bus_reply_method_return(call, "o", TRACING_PRODUCER_PATH "/1");
}

static int on_register_source(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        read_source(call, userdata);
        return sd_bus_reply_method_return(call, NULL);
}

static int on_unregister_source(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        Fake *fake = userdata;

        fake->n_unregistered++;
        return sd_bus_reply_method_return(call, NULL);
}

static int on_triggers(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *trigger, *key, *name;
        Fake *fake = userdata;

        ck_assert_int_eq(sd_bus_message_get_expect_reply(call), 0);
        ck_assert_int_gt(sd_bus_message_enter_container(call, 'a', "s"), 0);
        while (sd_bus_message_read(call, "s", &trigger) > 0) {
                ck_assert_uint_lt(strlen(fake->triggers) + strlen(trigger) + 2,
                                  sizeof(fake->triggers));
                if (fake->n_triggers++ > 0)
                        strcat(fake->triggers, ",");
                strcat(fake->triggers, trigger);
        }
        sd_bus_message_exit_container(call);
        ck_assert_int_gt(sd_bus_message_read(call, "a{sv}", 1, &key, "s", &name), 0);
        ck_assert_str_eq(key, "producer");
        snprintf(fake->triggered_by, sizeof(fake->triggered_by), "%s", name);
        return 1;
}

static int on_notes(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        Fake *fake = userdata;
        const char *note;

        ck_assert_int_eq(sd_bus_message_get_expect_reply(call), 0);
        ck_assert_int_gt(sd_bus_message_read(call, "t", &fake->noted_instance), 0);
        ck_assert_int_gt(sd_bus_message_enter_container(call, 'a', "s"), 0);
        while (sd_bus_message_read(call, "s", &note) > 0) {
                snprintf(fake->note, sizeof(fake->note), "%s", note);
                fake->n_notes++;
        }
        return 1;
}

static const sd_bus_vtable manager_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("AddNotes", "tas", "", on_notes, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("ActivateTriggers", "asa{sv}", "u", on_triggers, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("RegisterProducer",
                      "sa(sa{sv})a{sv}",
                      "o",
                      on_register,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("RegisterDataSource",
                      "sa{sv}",
                      "",
                      on_register_source,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("UnregisterDataSource",
                      "s",
                      "",
                      on_unregister_source,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

static void run_once(Fake *fake) {
        int r = sd_bus_process(fake->bus, NULL);

        ck_assert_int_ge(r, 0);
        if (r == 0)
                ck_assert_int_gt(sd_bus_wait(fake->bus, WAIT_USEC), 0);
}

void fake_run(Fake *fake, size_t n_sources, unsigned n_unregistered) {
        while (fake->n_sources < n_sources || fake->n_unregistered < n_unregistered)
                run_once(fake);
}

void fake_run_triggers(Fake *fake, unsigned n_triggers) {
        while (fake->n_triggers < n_triggers)
                run_once(fake);
}

void fake_run_notes(Fake *fake, unsigned n_notes) {
        while (fake->n_notes < n_notes)
                run_once(fake);
}

void fake_run_offered(Fake *fake, const char *source, const char *category) {
        while (!strstr(fake_source(fake, source)->categories, category))
                run_once(fake);
}

void fake_run_on(Fake *fake) {
        while (sd_bus_process(fake->bus, NULL) > 0)
                ;
}

static void serve(Fake *fake) {
        ck_assert_int_ge(sd_bus_add_object_vtable(fake->bus,
                                                  NULL,
                                                  TRACING_PATH,
                                                  TRACING_MANAGER_INTERFACE,
                                                  manager_vtable,
                                                  fake),
                         0);
}

void fake_await(Fake *fake) {
        fake->n_registered = 0;
        while (fake->n_registered == 0)
                run_once(fake);
}

void fake_accept(Fake *fake) {
        fake_accept_silent(fake);
        fake_await(fake);
}

void fake_accept_silent(Fake *fake) {
        struct pollfd listener = { .fd = fake->listen_fd, .events = POLLIN };
        sd_id128_t id = { .bytes = { 1 } };
        int fd;

        ck_assert_int_eq(poll(&listener, 1, WAIT_MS), 1);
        fd = accept4(fake->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_ge(sd_bus_new(&fake->bus), 0);
        ck_assert_int_ge(sd_bus_set_fd(fake->bus, fd, fd), 0);
        ck_assert_int_ge(sd_bus_set_server(fake->bus, true, id), 0);
        ck_assert_int_ge(sd_bus_start(fake->bus), 0);
        serve(fake);
}

void fake_own_name(Fake *fake, const char *bus_address) {
        memset(fake, 0, sizeof(*fake));
        fake->listen_fd = fake->doorbell_fd = fake->bell_fd = fake->memory_fd = -1;
        ck_assert_int_ge(sd_bus_new(&fake->bus), 0);
        ck_assert_int_ge(sd_bus_set_address(fake->bus, bus_address), 0);
        ck_assert_int_ge(sd_bus_set_bus_client(fake->bus, true), 0);
        ck_assert_int_ge(sd_bus_start(fake->bus), 0);
        serve(fake);
        ck_assert_int_ge(sd_bus_request_name(fake->bus, TRACING_BUS_NAME, 0), 0);
}

void fake_disconnect(Fake *fake) {
        fake->bus = sd_bus_close_unref(fake->bus);
        fake->n_sources = 0;
        if (fake->memory && !fake->key) {
                munmap(fake->memory, fake->n_memory);
                fake->memory = NULL;
        }
        fake->doorbell_fd = fd_close(fake->doorbell_fd);
        fake->bell_fd = fd_close(fake->bell_fd);
        for (size_t i = 0; !fake->key && i < SMB_NATIVE_WRITERS_MAX; i++)
                bytes_deinit(&fake->streams[i].packet);
        if (!fake->key)
                memset(fake->streams, 0, sizeof(fake->streams));
}

void fake_deinit(Fake *fake) {
        if (fake->key)
                fake->memory_fd = fd_close(fake->memory_fd);
        fake->key = NULL;
        fake_disconnect(fake);
        fake->listen_fd = fd_close(fake->listen_fd);
        unlink(socket_path);
}

/*
 * The service's calls
 */

static int call(Fake *fake, sd_bus_message *message) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message, *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = sd_bus_call(fake->bus, m, WAIT_USEC, &error, &reply);
        snprintf(fake->error, sizeof(fake->error), "%s", error.message ?: "");
        return r < 0 ? r : 0;
}

int fake_pass_memory(Fake *fake, int memory_fd) {
        sd_bus_message *message = new_setup(fake, memory_fd, fake->key);

        ck_assert_int_ge(sd_bus_message_close_container(message), 0);
        return call(fake, message);
}

static void ring_bell(const Fake *fake) {
        const uint64_t one = 1;

        ck_assert_int_eq(write(fake->bell_fd, &one, sizeof(one)), sizeof(one));
}

bool fake_was_rung(const Fake *fake) {
        uint64_t n;

        return read(fake->doorbell_fd, &n, sizeof(n)) == sizeof(n);
}

void fake_request(Fake *fake, SmbRequestKind kind, uint64_t id) {
        unsigned place;

        ck_assert_int_eq(smb_ask(&fake->area, kind, &id, 1, &place), 0);
        ring_bell(fake);
        for (unsigned i = 0; kind != SMB_REQUEST_RELEASE && !smb_take_answer(&fake->area, place);
             i++) {
                struct pollfd doorbell = { .fd = fake->doorbell_fd, .events = POLLIN };
                uint64_t n;

                ck_assert_uint_lt(i, 1000);
                ck_assert_int_eq(poll(&doorbell, 1, WAIT_MS), 1);
                ck_assert_int_eq(read(fake->doorbell_fd, &n, sizeof(n)), sizeof(n));
        }
}

void fake_setup_memory(Fake *fake, size_t pages_bytes, uint32_t page_bytes) {
        _cleanup_(fd_closep) int fd = -1;

        fake->n_memory = smb_native_bytes(pages_bytes, page_bytes);
        ck_assert_int_eq(fd_new_sealed_memfd(&fd, "test", fake->n_memory), 0);
        fake->memory = mmap(NULL, fake->n_memory, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ck_assert(fake->memory != MAP_FAILED);
        smb_area_create(&fake->area, fake->memory, pages_bytes, page_bytes);
        make_bells(fake);
        ck_assert_int_eq(fake_pass_memory(fake, fd), 0);
        if (fake->key)
                fake->memory_fd = TAKE_FD(fd);
}

int fake_setup(Fake *fake, uint64_t id, const char *name, const void *config, size_t n_config) {
        sd_bus_message *message = new_call(fake, "SetupDataSource");

        ck_assert_int_ge(sd_bus_message_append(message, "ts", id, name), 0);
        ck_assert_int_ge(sd_bus_message_append_array(message, 'y', config, n_config), 0);
        if (fake->starts)
                ck_assert_int_ge(sd_bus_message_append(message, "a{sv}", 1, "start", "b", 1), 0);
        else /* as the service does it */
                ck_assert_int_ge(sd_bus_message_append(message, "a{sv}", 0), 0);
        return call(fake, message);
}

int fake_setup_buffer(Fake *fake, uint64_t id, const char *name, uint16_t buffer) {
        uint8_t config[128];
        WireWriter writer;

        wire_writer_init(&writer, config, sizeof(config));
        wire_put_string(&writer, 1, name);
        wire_put_uint(&writer, 2, buffer);
        return fake_setup(fake, id, name, config, wire_writer_size(&writer));
}

static int call_with_id(Fake *fake, const char *member, uint64_t id) {
        sd_bus_message *message = new_call(fake, member);

        ck_assert_int_ge(sd_bus_message_append(message, "t", id), 0);
        return call(fake, message);
}

int fake_start(Fake *fake, uint64_t id) {
        return call_with_id(fake, "StartDataSource", id);
}

int fake_stop(Fake *fake, uint64_t id) {
        return call_with_id(fake, "StopDataSource", id);
}

int fake_flush(Fake *fake, uint64_t id) {
        sd_bus_message *message = new_call(fake, "Flush");

        ck_assert_int_ge(sd_bus_message_append(message, "att", 2, id, UINT64_C(4711), UINT64_C(0)),
                         0);
        return call(fake, message);
}

int fake_clear(Fake *fake, uint64_t id) {
        sd_bus_message *message = new_call(fake, "ClearIncrementalState");

        ck_assert_int_ge(sd_bus_message_append(message, "at", 1, id), 0);
        return call(fake, message);
}

void fake_drain(Fake *fake) {
        SmbChunk *chunks;
        size_t n = take_all_chunks(&fake->area, &chunks, fake->streams);

        for (size_t i = 0; i < n; i++) {
                Stream *stream = &fake->streams[chunks[i].writer_id];

                stream->user = stream->target;
                stream_chunk(stream, &chunks[i]);
                smb_release_chunk(&fake->area, &chunks[i]);
        }
}

unsigned fake_n_packets(const Fake *fake) {
        unsigned n = 0;

        for (size_t i = 0; i < SMB_NATIVE_WRITERS_MAX; i++)
                n += fake->streams[i].n_packets;
        return n;
}
