/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sessions in systemd's store of descriptors: put in, taken out, and found there. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "bus/bus.h"
#include "bus/session/bus-session-owner.h"
#include "bus/session/bus-session.h"
#include "keeper.h"
#include "kept-found.h"
#include "kept-session.h"
#include "listeners.h"
#include "shared/fd.h"
#include "shared/log-user.h"
#include "shared/log.h"

/* Of FileDescriptorStoreMax=; the rest is for programs' memory. */
#define KEEPER_DESCRIPTORS_MAX          1024
#define KEEPER_DESCRIPTORS_PER_USER_MAX 256

#define OUTPUT_NAME_BYTES 512

#define KEEPER_STEP_BYTES (4u << 20)                  /* copied in a turn of the main loop */
#define KEEPER_TRIES_MAX  3                           /* of processes that have ended soon */
#define KEEPER_SOUND_NS   (UINT64_C(10) * 1000000000) /* after this, one has not ended soon */

/* For one that sink_may_be_kept() was asked about. */
static bool fd_is_pipe(int fd) {
        struct stat st;

        return fstat(fd, &st) < 0 || S_ISFIFO(st.st_mode);
}

/*
 * Keeping
 */

static Leaving leaving_of_bus(BusSession *object) {
        return (Leaving){
                .owned = &object->owned,
                .is_public = object->is_public,
                .is_partial = object->is_partial,
                .owner = bus_session_owner_name(object),
                .key = "",
        };
}

static Leaving leaving_of_port(OwnedSession *owned, const char *key) {
        return (Leaving){ .owned = owned, .owner = "", .key = key };
}

/* systemd closes what is too much, so nobody is to take all of it, nor are a few together: each user leaves as many
 * free as he has. */
static bool keeper_has_room(const Keeper *keeper, const Kept *one) {
        size_t n = one->n_descriptors, n_of_user = n;
        const Kept *kept;

        list_for_each (kept, &keeper->kept, link) {
                n += kept->n_descriptors;
                n_of_user += kept->user == one->user ? kept->n_descriptors : 0;
        }
        return n + n_of_user <= KEEPER_DESCRIPTORS_MAX &&
               n_of_user <= KEEPER_DESCRIPTORS_PER_USER_MAX;
}

static uid_t keeper_user(const Keeper *keeper, const Session *session) {
        return service_user_of(keeper->bus->service, &session_options(session)->owner);
}

static int
keeper_add(Keeper *keeper, const Leaving *leaving, const KeptOutput *output, Kept **ret) {
        OwnedSession *owned = leaving->owned;
        _cleanup_(kept_freep) Kept *kept = NULL;
        int r;

        r = kept_new(&kept, leaving, output, keeper_user(keeper, owned->session));
        if (r == 0)
                r = keeper_has_room(keeper, kept) ? kept_store(kept, owned->session, output)
                                                  : -EDQUOT;
        if (r <= 0) {
                owned->cannot_be_kept = true;
                log_user(session_options(owned->session)->owner.uid,
                         LOG_NOTICE,
                         "session %" PRIu64 " would not survive the service: %s",
                         session_id(owned->session),
                         r == 0 ? "systemd keeps nothing" : strerror(-r));
                return r < 0 ? r : -EOPNOTSUPP;
        }
        list_append(&keeper->kept, &kept->link);
        owned->is_kept = true;
        *ret = TAKE(kept);
        return 0;
}

static Kept *keeper_find(const Keeper *keeper, uint64_t id) {
        Kept *kept;

        list_for_each (kept, &keeper->kept, link)
                if (kept->id == id)
                        return kept;
        return NULL;
}

/* Which is known only when a thread has looked at it. false: not yet, or its holder could make systemd wait. */
static bool find_output(const OwnedSession *owned, KeptOutput *ret) {
        const SessionStream *stream = &owned->stream;

        *ret = (KeptOutput){ .fd = -1 };
        if (!session_options(owned->session)->has_output)
                return true;
        if (!stream->output || !stream->pump->ops->files(stream->output, &ret->fd, &ret->outbox_fd))
                return false;
        ret->is_pipe = fd_is_pipe(ret->fd);
        return true;
}

/* The end of a pipe is seen when no process has it open for writing, which systemd must not either. */
static bool kept_is_over(const Kept *kept, const OwnedSession *owned) {
        return kept->is_pipe && owned->is_finished;
}

/* Returns another number when something has changed. */
static uint64_t keeper_see(Keeper *keeper, const Leaving *leaving, uint64_t now) {
        OwnedSession *owned = leaving->owned;
        Kept *kept = keeper_find(keeper, session_id(owned->session));
        KeptOutput output;

        if (!kept) {
                int r = -ENOENT;

                if (!owned->cannot_be_kept && find_output(owned, &output)) {
                        r = keeper_add(keeper, leaving, &output, &kept);
                        fd_close(output.fd);
                }
                if (r < 0)
                        return 0;
        }
        if (kept_is_over(kept, owned)) {
                owned->is_kept = false;
                owned->cannot_be_kept = true;
                return 0;
        }
        if (kept->has_spare && find_output(owned, &output)) {
                kept->has_spare = false;
                fd_close(output.fd);
        }
        kept->is_seen = true;
        kept_update(kept, leaving);
        kept_state_set_alive(&kept->state, now);
        if (now - keeper->began_at > KEEPER_SOUND_NS)
                kept_state_succeed(&kept->state);
        return kept->id ^ kept->revision;
}

/* One session in a turn: others have theirs in between. */
static void keeper_move(Keeper *keeper, const OwnedSession *owned, uint64_t now) {
        Session *session = owned->session;
        const uint64_t from = session_keep_from(session);

        if (keeper->deadline == 0 || owned->is_leaving || !session_awaits_keeping(session))
                return;
        if (now < from) {
                keeper->deadline = MIN(keeper->deadline, from);
                return;
        }
        session_keep(session, KEEPER_STEP_BYTES);
        if (session_awaits_keeping(session))
                keeper->deadline = 0;
}

/* Whatever was taken has not killed it. */
static void keeper_note_sound(Keeper *keeper, uint64_t now) {
        if (keeper->is_sound || now - keeper->began_at <= KEEPER_SOUND_NS)
                return;
        keeper->is_sound = true;
        kept_producers_succeed(&keeper->producers);
}

static uint64_t keeper_see_bus(Keeper *keeper, uint64_t state, uint64_t now) {
        BusSession *object;

        list_for_each (object, &keeper->bus->sessions.all, owned.link) {
                const Leaving leaving = leaving_of_bus(object);

                if (!object->owned.session || object->owned.foreign)
                        continue;
                keeper_move(keeper, &object->owned, now);
                if (session_can_be_left(object->owned.session))
                        state = state * 31 + keeper_see(keeper, &leaving, now);
        }
        return state;
}

/* Without a key nobody could find it again. */
static uint64_t keeper_see_ports(Keeper *keeper, uint64_t state, uint64_t now) {
        OwnedSession *owned;

        list_for_each (owned, &ports_sessions(keeper->ports)->all, link) {
                const char *key = ports_session_key(owned);
                const Leaving leaving = leaving_of_port(owned, key);

                owned->is_kept &= key != NULL;
                if (!key)
                        continue;
                keeper_move(keeper, owned, now);
                if (session_can_be_left(owned->session))
                        state = state * 31 + keeper_see(keeper, &leaving, now);
        }
        return state;
}

/* What has gone from the sessions, or is not to be kept any longer. */
static void keeper_forget_unseen(Keeper *keeper) {
        Kept *kept;

        list_for_each (kept, &keeper->kept, link) {
                if (!kept->is_seen) {
                        kept_forget(kept->id, kept->n_buffers);
                        kept_free(kept);
                        continue;
                }
                kept->is_seen = false;
        }
}

void keeper_settle(Keeper *keeper, uint64_t now) {
        uint64_t state;

        if (!keeper->bus)
                return;
        keeper->deadline = UINT64_MAX;
        state = keeper_see_bus(keeper, 1, now);
        state = keeper_see_ports(keeper, state, now);
        kept_producers_settle(&keeper->producers, state);
        keeper_note_sound(keeper, now);
        keeper_forget_unseen(keeper);
}

uint64_t keeper_deadline(const Keeper *keeper) {
        return keeper->bus ? keeper->deadline : UINT64_MAX;
}

/*
 * Finding
 */

/* Takes the descriptor over. */
static void keeper_sort_in(Keeper *keeper, List *all, const char *name, int fd) {
        uint64_t id;
        unsigned i;
        char what;

        if (sscanf(name, KEPT_STORE_PREFIX "%" SCNu64 "-%c%u", &id, &what, &i) != 3 ||
            i >= SESSION_BUFFERS_MAX)
                fd_close(fd);
        else if (what == KEPT_STORE_PRODUCER || what == KEPT_STORE_MEMORY)
                kept_producers_add(&keeper->producers, id, what, fd);
        else if (!found_add(all, id, what, i, fd))
                fd_close(fd);
}

static SessionOptions options_of(const KeptSession *state) {
        return (SessionOptions){
                .owner = { .uid = state->uid, .pid = (pid_t)state->pid },
                .scope = state->scope == SESSION_SCOPE_SYSTEM ? SESSION_SCOPE_SYSTEM
                                                              : SESSION_SCOPE_OWN,
                .detached = state->detached,
                .has_output = state->has_output,
                .is_kept = true,
                .allows_missing = state->allows_missing,
                .snapshot_before_ns = state->snapshot_before_ns,
        };
}

static int keeper_open_output(const Keeper *keeper,
                              OwnedSession *owned,
                              const SessionOptions *options,
                              const Config *config,
                              Found *found) {
        const char *why;
        int r;

        if (!options->has_output)
                return 0;
        if (found->output_fd < 0 || found->outbox_fd < 0)
                return KEPT_STATE_E_BROKEN;
        r = session_stream_open_kept(&owned->stream,
                                     service_user_of(keeper->bus->service, &options->owner),
                                     config,
                                     &found->output_fd,
                                     &found->outbox_fd,
                                     &why);
        return r > 0 ? -EMFILE : r;
}

static OwnedSession *owned_free(OwnedSession *owned) {
        if (owned)
                owned->sessions->ops->free(owned);
        return NULL;
}
DEFINE_CLEANUP(OwnedSession *, owned_free)

static int keeper_allocate(Keeper *keeper, const KeptSession *state, OwnedSession **ret) {
        BusSession *object;
        int r;

        if (state->key[0])
                return ports_session_allocate(keeper->ports, ret);
        r = bus_session_allocate(&object, keeper->bus);
        if (r < 0)
                return r;
        object->is_public = state->is_public;
        object->is_partial = state->is_partial;
        *ret = &object->owned;
        return 0;
}

static int keeper_show(OwnedSession *owned, const KeptSession *state) {
        BusSession *object;
        int r;

        if (state->key[0])
                return ports_session_publish(owned, state->key, !state->detached);
        object = container_of(owned, BusSession, owned);
        r = bus_session_publish(object, NULL);
        if (r == 0 && !state->detached)
                bus_session_await(object, state->owner);
        return r;
}

static int keeper_publish(Keeper *keeper,
                          const KeptSession *state,
                          Config **config,
                          SessionFormer *former,
                          Found *found) {
        _cleanup_(owned_freep) OwnedSession *owned = NULL;
        const SessionOptions options = options_of(state);
        SessionError error = {};
        int r;

        r = keeper_allocate(keeper, state, &owned);
        if (r < 0)
                return r;
        r = keeper_open_output(keeper, owned, &options, *config, found);
        if (r != 0)
                return r;
        if (options.has_output) {
                former->n_packets_out = session_stream_n_packets(&owned->stream);
                former->said = session_stream_said(&owned->stream);
        }
        r = owned_session_restore(owned, keeper->bus->service, *config, &options, former, &error);
        if (r != 0)
                return r;
        *config = NULL;
        r = keeper_show(owned, state);
        if (r < 0)
                return r;
        owned->is_kept = true;
        owned->is_snapshot = state->is_snapshot != 0;
        if (state->has_output)
                session_stream_go_on(&owned->stream);
        TAKE(owned);
        return 0;
}

static int keeper_restore(Keeper *keeper, Found *found, Kept *kept) {
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_(freep) uint8_t *bytes = NULL;
        ConfigError error;
        KeptSession state;
        SessionFormer former;
        KeptOutput output;
        int r;

        r = kept_state_read(&kept->state, &state, &bytes);
        if (r != 0)
                return r;
        if (state.id != found->id || state.n_buffers > SESSION_BUFFERS_MAX)
                return KEPT_STATE_E_BROKEN;
        r = config_new_from_bytes(&config, bytes, state.n_config, &error);
        if (r != 0)
                return r < 0 ? r : KEPT_STATE_E_BROKEN;
        output = (KeptOutput){
                .fd = state.has_output ? found->output_fd : -1,
                .is_pipe = found->output_fd >= 0 && fd_is_pipe(found->output_fd),
        };
        former = (SessionFormer){
                .id = state.id,
                .uuid = { state.uuid[0], state.uuid[1] },
                .started_at = state.started_at,
                .cloned_from = state.cloned_from,
                .left_at = kept_state_alive(&kept->state),
                .buffers = found->buffers,
                .n_buffers = state.n_buffers,
                .past = bytes + state.n_config,
                .n_past = state.n_past,
                .producers = keeper->producers.origins,
                .n_producers = keeper->producers.n_origins,
        };
        kept_describe(kept,
                      service_user_of(keeper->bus->service,
                                      &(Identity){ .uid = state.uid, .pid = (pid_t)state.pid }),
                      state.n_buffers,
                      &output);
        kept->has_spare = state.has_output;
        r = keeper_publish(keeper, &state, &config, &former, found);
        found->left_at = former.left_at;
        found->n_lost = former.n_lost;
        return r;
}

/* What is in the store stays there, under the same names. */
static int keeper_go_on(Keeper *keeper, Found *found) {
        _cleanup_(kept_freep) Kept *kept = NULL;
        int r;

        r = kept_find(&kept, found->id, found->state_fd);
        if (r != 0)
                return r;
        found->state_fd = -1;
        /* Whatever it is that kills this process, it must not do so for ever. */
        if (kept_state_try(&kept->state) > KEEPER_TRIES_MAX)
                return -ELOOP;
        r = keeper_restore(keeper, found, kept);
        if (r == 0)
                list_append(&keeper->kept, &TAKE(kept)->link);
        return r;
}

/* The command that has started a private service says it. */
static void found_tell(const Found *found, uint64_t now, bool is_private) {
        log_at(is_private ? LOG_DEBUG : LOG_NOTICE,
               "session %" PRIu64 " of the process before goes on after %.3f s; packets lost "
               "of its output: %" PRIu64,
               found->id,
               now > found->left_at ? (double)(now - found->left_at) / 1e9 : 0,
               found->n_lost);
        for (size_t i = 0; i < SESSION_BUFFERS_MAX; i++)
                if (found->buffers[i].n_broken > 0)
                        log_warning("session %" PRIu64 ": %u pieces of buffer %zu are lost",
                                    found->id,
                                    found->buffers[i].n_broken,
                                    i);
}

static const char *words_of(int r) {
        if (r == -ELOOP)
                return "the processes before this one have ended soon after they had taken it, one "
                       "after "
                       "the other";
        if (r > 0 || r == -EBADMSG)
                return "another version has written it, or not all of it is there";
        return strerror(-r);
}

/* As its file was called when it was opened or last moved; the kernel knows that without asking the file system. */
static void find_output_name(const Found *found, char ret[static OUTPUT_NAME_BYTES]) {
        char link[64];
        ssize_t n = -1;

        if (found->output_fd >= 0) {
                snprintf(link, sizeof(link), "/proc/self/fd/%d", found->output_fd);
                n = readlink(link, ret, OUTPUT_NAME_BYTES - 1);
        }
        ret[MAX(n, (ssize_t)0)] = 0;
}

/* A session that cannot go on is removed from the store, or each new process would find it again. */
static void keeper_take(Keeper *keeper, Found *found) {
        char output[OUTPUT_NAME_BYTES];
        int r;

        find_output_name(found, output);
        r = keeper_go_on(keeper, found);
        if (r == 0) {
                found_tell(found, bus_now(keeper->bus), keeper->bus->info->is_private);
                return;
        }
        kept_forget(found->id, SESSION_BUFFERS_MAX);
        log_error("session %" PRIu64 " of the process before is lost%s%s: %s",
                  found->id,
                  output[0] ? ", but for what is in its output " : "",
                  output,
                  words_of(r));
}

/* Copies, as the list is read once more, for the sockets: by listeners_init(), which closes these. */
static void keeper_find_all(Keeper *keeper, List *all) {
        char **names = NULL;
        int n = sd_listen_fds_with_names(0, &names);

        for (int i = 0; i < n; i++) {
                if (strncmp(names[i], KEPT_STORE_PREFIX, strlen(KEPT_STORE_PREFIX)) == 0)
                        keeper_sort_in(keeper,
                                       all,
                                       names[i],
                                       fcntl(SD_LISTEN_FDS_START + i, F_DUPFD_CLOEXEC, 3));
                free(names[i]);
        }
        free(names);
}

void keeper_init(Keeper *keeper, Bus *bus, Ports *ports) {
        List all;
        Found *found;

        list_init(&keeper->kept);
        if (!getenv("NOTIFY_SOCKET") || !listeners_in_unit())
                return;
        keeper->bus = bus;
        keeper->began_at = bus_now(bus);
        keeper->deadline = UINT64_MAX;
        keeper->ports = ports;
        bus->keeps = true;
        ports_keep_sessions(ports);
        list_init(&all);
        kept_producers_init(&keeper->producers, bus);
        keeper_find_all(keeper, &all);
        kept_producers_prepare(&keeper->producers);
        while ((found = list_first(&all, Found, link))) {
                keeper_take(keeper, found);
                found_free(found);
        }
        kept_producers_take(&keeper->producers);
        bus_find_owners(bus);
}

void keeper_leave(Keeper *keeper) {
        Kept *kept;

        if (!keeper->bus)
                return;
        list_for_each (kept, &keeper->kept, link)
                kept_state_succeed(&kept->state);
        kept_producers_succeed(&keeper->producers);
}

static void keep_none(OwnedSessions *sessions) {
        OwnedSession *owned;

        list_for_each (owned, &sessions->all, link) {
                owned->is_kept = false;
                owned->cannot_be_kept = true;
        }
}

void keeper_end(Keeper *keeper) {
        if (!keeper->bus)
                return;
        keeper_leave(keeper);
        keep_none(&keeper->bus->sessions);
        keep_none(ports_sessions(keeper->ports));
}

void keeper_deinit(Keeper *keeper) {
        Kept *kept;

        if (!keeper->bus)
                return;
        while ((kept = list_first(&keeper->kept, Kept, link)))
                kept_free(kept);
        kept_producers_deinit(&keeper->producers);
        keeper->bus = NULL;
}
