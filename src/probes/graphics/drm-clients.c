/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* DRM clients: which programs have a GPU open, and how much of its time and memory they use */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/graphics/drm-clients.h"
#include "probes/system/sysfs.h"
#include "shared/fd.h"

#define CLIENT_PATH_BYTES 64

enum {
        DEVICE_MAJOR_DRM = 226,
        DEVICE_MAJOR_ACCEL = 261, /* compute accelerators: the same files */
};

/* These open devices on behalf of others, who then do the work. */
static const char *const brokers[] = { "systemd-logind", "elogind-daemon", "elogind", "seatd" };

void drm_clients_init(DrmClients *clients, DrmCards *cards, int root, bool any_file) {
        memset(clients, 0, sizeof(*clients));
        clients->cards = cards;
        clients->any_file = any_file;
        clients->proc = openat(root, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        list_init(&clients->clients);
        list_init(&clients->processes);
}

static bool is_broker(const DrmProcess *process) {
        for (size_t i = 0; i < ARRAY_SIZE(brokers); i++)
                if (streq(process->comm, brokers[i]))
                        return true;
        return false;
}

/* An entry without clients stays for one more sample, to show that nothing is used. */
static void free_idle_processes(DrmClients *clients) {
        DrmProcess *process;

        list_for_each (process, &clients->processes, processes)
                if (process->n_clients == 0) {
                        list_unlink(&process->processes);
                        free(process);
                }
}

static void client_remove(DrmClients *clients, DrmClient *client) {
        list_unlink(&client->clients);
        client->process->n_clients--;
        free(client);
        clients->n_clients--;
}

static void walk_end(DrmClients *clients) {
        if (clients->walk)
                closedir(clients->walk);
        clients->walk = NULL;
        clients->n_left_out = clients->n_walk_left_out;
        clients->n_walk_left_out = 0;
}

void drm_clients_deinit(DrmClients *clients) {
        DrmClient *client;

        list_for_each (client, &clients->clients, clients)
                client_remove(clients, client);
        free_idle_processes(clients);
        assert(clients->n_clients == 0 && list_is_empty(&clients->processes));
        walk_end(clients);
        clients->proc = fd_close(clients->proc);
}

bool drm_clients_may_look(const DrmClients *clients) {
        _cleanup_(fd_closep) int fd = -1;

        fd = openat(clients->proc, "1/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd >= 0 || (errno != EACCES && errno != EPERM);
}

static void read_comm(const DrmClients *clients, pid_t pid, char ret[static DRM_COMM_BYTES]) {
        char path[CLIENT_PATH_BYTES];

        snprintf(path, sizeof(path), "%d/comm", pid);
        (void)sysfs_read(ret, DRM_COMM_BYTES, clients->proc, path);
}

/* The process's entry for that card. Returns NULL if memory has run out. An entry without clients may belong to an
 * earlier process. */
static DrmProcess *get_process(DrmClients *clients, pid_t pid, DrmCard *card) {
        DrmProcess *process;

        list_for_each (process, &clients->processes, processes)
                if (process->pid == pid && process->card == card && process->n_clients > 0)
                        return process;
        process = calloc(1, sizeof(*process));
        if (!process)
                return NULL;
        process->pid = pid;
        process->card = card;
        read_comm(clients, pid, process->comm);
        list_append(&clients->processes, &process->processes);
        return process;
}

/* Returns 0 if clients->info is what the kernel says about the descriptor, or DRM_FDINFO_E_OTHER, also if it is
 * gone. */
static int read_fdinfo(DrmClients *clients, pid_t pid, int fd) {
        _cleanup_(fd_closep) int file = -1;
        char path[CLIENT_PATH_BYTES];
        size_t n = 0;
        ssize_t r = 1;

        snprintf(path, sizeof(path), "%d/fdinfo/%d", pid, fd);
        file = openat(clients->proc, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (file < 0)
                return DRM_FDINFO_E_OTHER;
        while (r > 0 && n < sizeof(clients->text)) {
                r = read(file, clients->text + n, sizeof(clients->text) - n);
                if (r < 0 && errno == EINTR)
                        r = 1;
                else if (r > 0)
                        n += (size_t)r;
        }
        return r < 0 ? DRM_FDINFO_E_OTHER : drm_fdinfo_parse(&clients->info, clients->text, n);
}

static DrmClient *find_client(DrmClients *clients, const DrmCard *card, uint64_t id) {
        DrmClient *client;

        list_for_each (client, &clients->clients, clients)
                if (client->id == id && client->process->card == card)
                        return client;
        return NULL;
}

static bool is_known(const DrmClients *clients, pid_t pid, int fd) {
        DrmClient *client;

        list_for_each (client, &clients->clients, clients)
                if (client->process->pid == pid && client->fd == fd)
                        return true;
        return false;
}

/* If a process that works with the client has it as well, the client counts for that process from now on. */
static void client_move(DrmClients *clients, DrmClient *client, pid_t pid, int fd) {
        DrmProcess *process = get_process(clients, pid, client->process->card);

        if (!process)
                return;
        process->n_clients++;
        client->process->n_clients--;
        client->process = process;
        client->fd = fd;
}

static void client_add(DrmClients *clients, DrmCard *card, pid_t pid, int fd) {
        DrmProcess *process;
        DrmClient *client;

        if (clients->n_clients == DRM_CLIENTS_MAX) {
                clients->n_walk_left_out++;
                return;
        }
        client = calloc(1, sizeof(*client));
        if (!client)
                return;
        process = get_process(clients, pid, card);
        if (!process) {
                free(client);
                return;
        }
        process->n_clients++;
        client->process = process;
        client->fd = fd;
        client->id = clients->info.client_id;
        list_append(&clients->clients, &client->clients);
        clients->n_clients++;
}

static void look_at_fdinfo(DrmClients *clients, pid_t pid, int fd) {
        DrmClient *client;
        DrmCard *card;

        if (is_known(clients, pid, fd) || read_fdinfo(clients, pid, fd) != 0)
                return;
        card = drm_cards_find(clients->cards, &clients->info);
        if (!card)
                return;
        client = find_client(clients, card, clients->info.client_id);
        if (!client)
                client_add(clients, card, pid, fd);
        else if (client->process->pid != pid && is_broker(client->process))
                client_move(clients, client, pid, fd);
}

/* Uses only what the kernel itself knows: a descriptor may belong to a file on a server that is down. */
static bool is_gpu_device(int dir_fd, const char *name) {
        struct statx status;

        if (statx(dir_fd, name, AT_STATX_DONT_SYNC, STATX_TYPE, &status) < 0)
                return false;
        return S_ISCHR(status.stx_mode) && (status.stx_rdev_major == DEVICE_MAJOR_DRM ||
                                            status.stx_rdev_major == DEVICE_MAJOR_ACCEL);
}

typedef struct ProcessLook {
        DrmClients *clients;
        pid_t pid;
        int dir_fd;
        size_t n;
} ProcessLook;

static bool look_at_descriptor(const char *name, void *userdata) {
        ProcessLook *look = userdata;
        char *end;
        long fd;

        fd = strtol(name, &end, 10);
        if (*end == '\0' && fd >= 0 && fd <= INT_MAX &&
            (look->clients->any_file || is_gpu_device(look->dir_fd, name)))
                look_at_fdinfo(look->clients, look->pid, (int)fd);
        return ++look->n < DRM_FDS_MAX;
}

/* Returns how many descriptors it looked at. */
static size_t look_at_process(DrmClients *clients, pid_t pid) {
        _cleanup_(fd_closep) int dir_fd = -1;
        ProcessLook look = { .clients = clients, .pid = pid };
        char path[CLIENT_PATH_BYTES];

        snprintf(path, sizeof(path), "%d/fd", pid);
        dir_fd = openat(clients->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd < 0)
                return 1;
        look.dir_fd = dir_fd;
        (void)sysfs_list(dir_fd, ".", look_at_descriptor, &look);
        return look.n + 1;
}

static bool walk_begin(DrmClients *clients, uint64_t now_ns) {
        int fd;

        if (clients->proc < 0)
                return false;
        fd = openat(clients->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        clients->walk = fd < 0 ? NULL : fdopendir(fd);
        if (!clients->walk)
                fd_close(fd);
        clients->walk_begin_ns = now_ns;
        return clients->walk;
}

void drm_clients_walk(DrmClients *clients, uint64_t now_ns, bool whole) {
        size_t n_looked = 0;

        if (!clients->walk && (!whole && now_ns - clients->walk_begin_ns < DRM_WALK_PERIOD_NS))
                return;
        if (!clients->walk && !walk_begin(clients, now_ns))
                return;
        while (whole || n_looked < DRM_WALK_FDS) {
                const struct dirent *entry = readdir(clients->walk);
                long pid;

                if (!entry) {
                        walk_end(clients);
                        return;
                }
                pid = strtol(entry->d_name, NULL, 10);
                if (pid > 0 && pid <= INT_MAX)
                        n_looked += look_at_process(clients, (pid_t)pid);
        }
}

static void sample_engine(DrmClient *client, const DrmEngine *engine, uint64_t passed_ns) {
        DrmProcess *process = client->process;
        DrmCard *card = process->card;
        size_t i = drm_card_engine(card, engine->name);
        uint64_t busy_ns;

        if (i == DRM_ENGINES_MAX)
                return;
        card->capacity[i] = MAX(engine->capacity, (uint64_t)1);
        if (*client->before[i].name) {
                busy_ns = drm_engine_busy_ns(&client->before[i], engine, passed_ns);
                busy_ns = MIN(busy_ns, DRM_BUSY_MAX_NS - process->busy_ns[i]);
                process->busy_ns[i] += busy_ns;
                card->busy_ns[i] += MIN(busy_ns, DRM_BUSY_MAX_NS - card->busy_ns[i]);
        }
        client->before[i] = *engine;
}

static void sample_region(DrmProcess *process, const DrmRegion *region) {
        size_t i = drm_card_region(process->card, region->name);

        if (i < DRM_REGIONS_MAX &&
            __builtin_add_overflow(process->bytes[i], drm_region_bytes(region), &process->bytes[i]))
                process->bytes[i] = UINT64_MAX;
}

/* Returns false if the descriptor no longer belongs to this client. */
static bool sample_client(DrmClients *clients, DrmClient *client, uint64_t passed_ns) {
        const DrmFdinfo *info = &clients->info;

        if (read_fdinfo(clients, client->process->pid, client->fd) != 0 ||
            info->client_id != client->id ||
            drm_cards_find(clients->cards, info) != client->process->card)
                return false;
        for (size_t i = 0; i < info->n_engines; i++)
                sample_engine(client, &info->engines[i], passed_ns);
        for (size_t i = 0; i < info->n_regions; i++)
                sample_region(client->process, &info->regions[i]);
        return true;
}

void drm_clients_sample(DrmClients *clients, uint64_t now_ns) {
        uint64_t passed_ns = now_ns - clients->sampled_ns;
        DrmProcess *process;
        DrmClient *client;

        free_idle_processes(clients);
        for (size_t i = 0; i < clients->cards->n; i++)
                memset(clients->cards->table[i].busy_ns,
                       0,
                       sizeof(clients->cards->table[i].busy_ns));
        list_for_each (process, &clients->processes, processes)
                memset(process->bytes, 0, sizeof(process->bytes));
        list_for_each (client, &clients->clients, clients)
                if (!sample_client(clients, client, passed_ns))
                        client_remove(clients, client);
        clients->sampled_ns = now_ns;
}
