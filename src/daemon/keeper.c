/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sessions in systemd's store of descriptors: put in, taken out, and found there. */

#include <assert.h>
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
#include "core/session-restore.h"
#include "keep/kept-state.h"
#include "keeper.h"
#include "listeners.h"
#include "shared/fd.h"
#include "shared/hash.h"
#include "shared/log-user.h"
#include "shared/log.h"

static_assert(KEPT_OWNER_MAX == BUS_OWNER_NAME_MAX, "all of it is kept");
static_assert(SESSION_PAST_BYTES_MAX <= KEPT_STATE_PAST_BYTES_MAX, "all of it is kept");

/* Of FileDescriptorStoreMax=; the rest is for programs' memory. */
#define KEEPER_DESCRIPTORS_MAX          1024
#define KEEPER_DESCRIPTORS_PER_USER_MAX 256

#define OUTPUT_NAME_BYTES 512

#define KEEPER_STEP_BYTES (4u << 20)                  /* copied in a turn of the main loop */
#define KEEPER_TRIES_MAX  3                           /* of processes that have ended soon */
#define KEEPER_SOUND_NS   (UINT64_C(10) * 1000000000) /* after this, one has not ended soon */

typedef struct Kept {
        List link;
        uint64_t id;
        size_t n_buffers;
        KeptState state;
        uint64_t revision; /* of what is in there */
        uid_t user;
        size_t n_descriptors;
        bool has_output, is_pipe;
        bool has_spare; /* the output gives a descriptor once more than is needed */
        bool is_seen;
} Kept;

/* What was found of a session. */
typedef struct Found {
        List link;
        uint64_t id;
        int state_fd;
        int output_fd, outbox_fd;
        uint64_t left_at, n_lost; /* of one that goes on */
        FormerBuffer buffers[SESSION_BUFFERS_MAX];
} Found;

static void forget_all(uint64_t id, size_t n_buffers) {
        kept_store_drop(id, KEPT_STORE_SESSION, 0);
        kept_store_drop(id, KEPT_STORE_OUTPUT, 0);
        kept_store_drop(id, KEPT_STORE_OUTBOX, 0);
        for (size_t i = 0; i < n_buffers; i++) {
                kept_store_drop(id, KEPT_STORE_INDEX, i);
                kept_store_drop(id, KEPT_STORE_SEGMENTS, i);
        }
}

/* For one that sink_may_be_kept() was asked about. */
static bool fd_is_pipe(int fd) {
        struct stat st;

        return fstat(fd, &st) < 0 || S_ISFIFO(st.st_mode);
}

/*
 * Keeping
 */

/* An output as it is put into the store; fd -1: there is none. */
typedef struct KeptOutput {
        int fd, outbox_fd;
        bool is_pipe;
} KeptOutput;

static Kept *kept_free(Kept *kept) {
        if (!kept)
                return NULL;
        list_unlink(&kept->link);
        kept_state_deinit(&kept->state);
        free(kept);
        return NULL;
}
DEFINE_CLEANUP(Kept *, kept_free)

static int kept_write(Kept *kept, const BusSession *object) {
        const Session *session = object->owned.session;
        const SessionOptions *options = session_options(session);
        const Config *config = session_config(session);
        _cleanup_(bytes_deinit) Bytes past = {};
        KeptSession state = {
                .id = kept->id,
                .uuid = { session_uuid(session)[0], session_uuid(session)[1] },
                .started_at = session_started_at(session),
                .snapshot_before_ns = options->snapshot_before_ns,
                .uid = options->owner.uid,
                .pid = (uint32_t)options->owner.pid,
                .scope = options->scope,
                .is_public = object->is_public,
                .is_partial = object->is_partial,
                .allows_missing = options->allows_missing,
                .detached = options->detached,
                .has_output = options->has_output,
                .n_buffers = (uint32_t)session_n_buffers(session),
                .n_config = (uint32_t)config->n_bytes,
        };
        int r;

        snprintf(state.owner, sizeof(state.owner), "%s", bus_session_owner_name(object));
        r = session_put_past(session, &past);
        if (r < 0)
                return r;
        state.n_past = (uint32_t)past.n;
        return kept_state_write(&kept->state, &state, config->bytes, past.data);
}

static uint64_t revision_of(const BusSession *object) {
        const Session *session = object->owned.session;

        return hash_add_text(session_past_revision(session), bus_session_owner_name(object)) +
               session_options(session)->detached;
}

/* Without room for it the one before stays. */
static int kept_update(Kept *kept, const BusSession *object) {
        const uint64_t revision = revision_of(object);

        if (revision == kept->revision)
                return 0;
        kept->revision = revision;
        return kept_write(kept, object);
}

static int kept_store_buffers(const Kept *kept, const Session *session) {
        int r = 1;

        for (size_t i = 0; r > 0 && i < kept->n_buffers; i++) {
                int index_fd, segments_fd;

                if (!session_buffer_files(session, i, &index_fd, &segments_fd))
                        return -EINVAL;
                r = kept_store_put(index_fd, kept->id, KEPT_STORE_INDEX, i);
                if (r > 0)
                        r = kept_store_put(segments_fd, kept->id, KEPT_STORE_SEGMENTS, i);
        }
        return r;
}

/* What has a state is whole, so that is last. */
static int kept_store(const Kept *kept, const Session *session, const KeptOutput *output) {
        int r;

        r = kept_store_buffers(kept, session);
        if (r > 0 && output->fd >= 0)
                r = kept_store_put(output->fd, kept->id, KEPT_STORE_OUTPUT, 0);
        if (r > 0 && output->fd >= 0)
                r = kept_store_put(output->outbox_fd, kept->id, KEPT_STORE_OUTBOX, 0);
        return r > 0 ? kept_store_put(kept->state.fd, kept->id, KEPT_STORE_SESSION, 0) : r;
}

/* systemd closes what is too much, so nobody is to take all of it. */
static bool keeper_has_room(const Keeper *keeper, const Kept *one) {
        size_t n = one->n_descriptors, n_of_user = n;
        const Kept *kept;

        list_for_each (kept, &keeper->kept, link) {
                n += kept->n_descriptors;
                n_of_user += kept->user == one->user ? kept->n_descriptors : 0;
        }
        return n <= KEEPER_DESCRIPTORS_MAX && n_of_user <= KEEPER_DESCRIPTORS_PER_USER_MAX;
}

static int kept_new(Kept **ret, const BusSession *object, const KeptOutput *output) {
        _cleanup_(kept_freep) Kept *kept = NULL;
        int r;

        kept = calloc(1, sizeof(*kept));
        if (!kept)
                return -ENOMEM;
        list_init(&kept->link);
        kept->state.fd = -1;
        kept->id = session_id(object->owned.session);
        kept->user = service_user_of(object->bus->service,
                                     &session_options(object->owned.session)->owner);
        kept->n_buffers = session_n_buffers(object->owned.session);
        kept->has_output = output->fd >= 0;
        kept->is_pipe = output->is_pipe;
        kept->n_descriptors = 1 + 2 * kept->n_buffers + 2 * kept->has_output;
        r = kept_state_new(&kept->state);
        if (r == 0)
                r = kept_update(kept, object);
        if (r == 0)
                *ret = TAKE(kept);
        return r;
}

static int keeper_add(Keeper *keeper, BusSession *object, const KeptOutput *output, Kept **ret) {
        _cleanup_(kept_freep) Kept *kept = NULL;
        int r;

        r = kept_new(&kept, object, output);
        if (r == 0)
                r = keeper_has_room(keeper, kept) ? kept_store(kept, object->owned.session, output)
                                                  : -EDQUOT;
        if (r <= 0) {
                object->owned.cannot_be_kept = true;
                log_user(session_options(object->owned.session)->owner.uid,
                         LOG_NOTICE,
                         "session %" PRIu64 " would not survive the service: %s",
                         session_id(object->owned.session),
                         r == 0 ? "systemd keeps nothing" : strerror(-r));
                return r < 0 ? r : -EOPNOTSUPP;
        }
        list_append(&keeper->kept, &kept->link);
        object->owned.is_kept = true;
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
static bool find_output(const BusSession *object, KeptOutput *ret) {
        const SessionStream *stream = &object->owned.stream;

        *ret = (KeptOutput){ .fd = -1 };
        if (!session_options(object->owned.session)->has_output)
                return true;
        if (!stream->output || !stream->pump->ops->files(stream->output, &ret->fd, &ret->outbox_fd))
                return false;
        ret->is_pipe = fd_is_pipe(ret->fd);
        return true;
}

/* The end of a pipe is seen when no process has it open for writing, which systemd must not either. */
static bool kept_is_over(const Kept *kept, const BusSession *object) {
        return kept->is_pipe && object->owned.is_finished;
}

/* Returns another number when something has changed. */
static uint64_t keeper_see(Keeper *keeper, BusSession *object, uint64_t now) {
        Kept *kept = keeper_find(keeper, session_id(object->owned.session));
        KeptOutput output;

        if (!kept) {
                int r = -ENOENT;

                if (!object->owned.cannot_be_kept && find_output(object, &output)) {
                        r = keeper_add(keeper, object, &output, &kept);
                        fd_close(output.fd);
                }
                if (r < 0)
                        return 0;
        }
        if (kept_is_over(kept, object)) {
                object->owned.is_kept = false;
                object->owned.cannot_be_kept = true;
                return 0;
        }
        if (kept->has_spare && find_output(object, &output)) {
                kept->has_spare = false;
                fd_close(output.fd);
        }
        kept->is_seen = true;
        kept_update(kept, object);
        kept_state_set_alive(&kept->state, now);
        if (now - keeper->began_at > KEEPER_SOUND_NS)
                kept_state_succeed(&kept->state);
        return kept->id ^ kept->revision;
}

/* One session in a turn: others have theirs in between. */
static void keeper_move(Keeper *keeper, const BusSession *object) {
        Session *session = object->owned.session;

        if (keeper->has_more || object->owned.is_leaving || !session_awaits_keeping(session))
                return;
        session_keep(session, KEEPER_STEP_BYTES);
        keeper->has_more = session_awaits_keeping(session);
}

/* Whatever was taken has not killed it. */
static void keeper_note_sound(Keeper *keeper, uint64_t now) {
        if (keeper->is_sound || now - keeper->began_at <= KEEPER_SOUND_NS)
                return;
        keeper->is_sound = true;
        kept_producers_succeed(&keeper->producers);
}

void keeper_settle(Keeper *keeper, uint64_t now) {
        BusSession *object;
        uint64_t state = 1;
        Kept *kept;

        if (!keeper->bus)
                return;
        keeper->has_more = false;
        list_for_each (object, &keeper->bus->sessions.all, owned.link) {
                if (!object->owned.session || object->owned.foreign)
                        continue;
                keeper_move(keeper, object);
                if (session_can_be_left(object->owned.session))
                        state = state * 31 + keeper_see(keeper, object, now);
        }
        kept_producers_settle(&keeper->producers, state);
        keeper_note_sound(keeper, now);
        list_for_each (kept, &keeper->kept, link) {
                if (!kept->is_seen) {
                        forget_all(kept->id, kept->n_buffers);
                        kept_free(kept);
                        continue;
                }
                kept->is_seen = false;
        }
}

uint64_t keeper_deadline(const Keeper *keeper) {
        return keeper->has_more ? 0 : UINT64_MAX;
}

/*
 * Finding
 */

static Found *found_get(List *all, uint64_t id) {
        Found *found;

        list_for_each (found, all, link)
                if (found->id == id)
                        return found;
        found = calloc(1, sizeof(*found));
        if (!found)
                return NULL;
        found->id = id;
        found->state_fd = found->output_fd = found->outbox_fd = -1;
        for (size_t i = 0; i < SESSION_BUFFERS_MAX; i++)
                found->buffers[i] = (FormerBuffer){ .index_fd = -1, .segments_fd = -1 };
        list_init(&found->link);
        list_append(all, &found->link);
        return found;
}

static Found *found_free(Found *found) {
        fd_close(found->state_fd);
        fd_close(found->output_fd);
        fd_close(found->outbox_fd);
        for (size_t i = 0; i < SESSION_BUFFERS_MAX; i++) {
                fd_close(found->buffers[i].index_fd);
                fd_close(found->buffers[i].segments_fd);
        }
        list_unlink(&found->link);
        free(found);
        return NULL;
}

static int *found_place(Found *found, char what, unsigned i) {
        switch (what) {
        case KEPT_STORE_SESSION:
                return &found->state_fd;
        case KEPT_STORE_OUTPUT:
                return &found->output_fd;
        case KEPT_STORE_OUTBOX:
                return &found->outbox_fd;
        case KEPT_STORE_INDEX:
                return &found->buffers[i].index_fd;
        case KEPT_STORE_SEGMENTS:
                return &found->buffers[i].segments_fd;
        default:
                return NULL;
        }
}

static void found_add(Keeper *keeper, List *all, const char *name, int fd) {
        uint64_t id;
        unsigned i;
        char what;
        Found *found;
        int *place = NULL;

        if (sscanf(name, KEPT_STORE_PREFIX "%" SCNu64 "-%c%u", &id, &what, &i) == 3 &&
            i < SESSION_BUFFERS_MAX) {
                if (what == KEPT_STORE_PRODUCER || what == KEPT_STORE_MEMORY) {
                        kept_producers_add(&keeper->producers, id, what, fd);
                        return;
                }
                found = found_get(all, id);
                place = found ? found_place(found, what, i) : NULL;
        }
        if (place && *place < 0)
                *place = fd;
        else
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
                              BusSession *object,
                              const SessionOptions *options,
                              const Config *config,
                              Found *found) {
        const char *why;
        int r;

        if (!options->has_output)
                return 0;
        if (found->output_fd < 0 || found->outbox_fd < 0)
                return KEPT_STATE_E_BROKEN;
        r = session_stream_open_kept(&object->owned.stream,
                                     service_user_of(keeper->bus->service, &options->owner),
                                     config,
                                     &found->output_fd,
                                     &found->outbox_fd,
                                     &why);
        return r > 0 ? -EMFILE : r;
}

static void keeper_go_on_with(BusSession *object, const KeptSession *state) {
        object->is_public = state->is_public;
        object->is_partial = state->is_partial;
        object->owned.is_kept = true;
        if (state->has_output)
                session_stream_go_on(&object->owned.stream);
        if (!state->detached)
                bus_session_await(object, state->owner);
}

static int keeper_publish(Keeper *keeper,
                          const KeptSession *state,
                          Config **config,
                          SessionFormer *former,
                          Found *found) {
        _cleanup_(bus_session_freep) BusSession *object = NULL;
        const SessionOptions options = options_of(state);
        SessionError error = {};
        int r;

        r = bus_session_allocate(&object, keeper->bus);
        if (r < 0)
                return r;
        r = keeper_open_output(keeper, object, &options, *config, found);
        if (r != 0)
                return r;
        if (options.has_output)
                former->n_packets_out = session_stream_n_packets(&object->owned.stream);
        r = owned_session_restore(
                &object->owned, keeper->bus->service, *config, &options, former, &error);
        if (r != 0)
                return r;
        *config = NULL;
        r = bus_session_publish(object, NULL);
        if (r < 0)
                return r;
        keeper_go_on_with(object, state);
        TAKE(object);
        return 0;
}

static int keeper_restore(Keeper *keeper, Found *found, Kept *kept) {
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_(freep) uint8_t *bytes = NULL;
        ConfigError error;
        KeptSession state;
        SessionFormer former;
        int r;

        r = kept_state_read(&kept->state, &state, &bytes);
        if (r != 0)
                return r;
        if (state.id != found->id || state.n_buffers > SESSION_BUFFERS_MAX)
                return KEPT_STATE_E_BROKEN;
        r = config_new_from_bytes(&config, bytes, state.n_config, &error);
        if (r != 0)
                return r < 0 ? r : KEPT_STATE_E_BROKEN;
        former = (SessionFormer){
                .id = state.id,
                .uuid = { state.uuid[0], state.uuid[1] },
                .started_at = state.started_at,
                .left_at = kept_state_alive(&kept->state),
                .buffers = found->buffers,
                .n_buffers = state.n_buffers,
                .past = bytes + state.n_config,
                .n_past = state.n_past,
                .producers = keeper->producers.origins,
                .n_producers = keeper->producers.n_origins,
        };
        kept->user = service_user_of(keeper->bus->service,
                                     &(Identity){ .uid = state.uid, .pid = (pid_t)state.pid });
        kept->n_buffers = state.n_buffers;
        kept->has_output = state.has_output;
        kept->has_spare = state.has_output;
        kept->is_pipe = found->output_fd >= 0 && fd_is_pipe(found->output_fd);
        kept->n_descriptors = 1 + 2 * kept->n_buffers + 2 * kept->has_output;
        r = keeper_publish(keeper, &state, &config, &former, found);
        found->left_at = former.left_at;
        found->n_lost = former.n_lost;
        return r;
}

/* What is in the store stays there, under the same names. */
static int keeper_go_on(Keeper *keeper, Found *found) {
        _cleanup_(kept_freep) Kept *kept = NULL;
        int r;

        kept = calloc(1, sizeof(*kept));
        if (!kept)
                return -ENOMEM;
        list_init(&kept->link);
        kept->id = found->id;
        r = kept_state_find(&kept->state, found->state_fd);
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

static void found_tell(const Found *found, uint64_t now) {
        log_notice("session %" PRIu64 " of the process before goes on after %.3f s; packets lost "
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

/* What cannot be gone on with would be found again and again. */
static void keeper_take(Keeper *keeper, Found *found) {
        char output[OUTPUT_NAME_BYTES];
        int r;

        find_output_name(found, output);
        r = keeper_go_on(keeper, found);
        if (r == 0) {
                found_tell(found, bus_now(keeper->bus));
                return;
        }
        forget_all(found->id, SESSION_BUFFERS_MAX);
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
                        found_add(keeper,
                                  all,
                                  names[i],
                                  fcntl(SD_LISTEN_FDS_START + i, F_DUPFD_CLOEXEC, 3));
                free(names[i]);
        }
        free(names);
}

void keeper_init(Keeper *keeper, Bus *bus) {
        List all;
        Found *found;

        list_init(&keeper->kept);
        if (!getenv("NOTIFY_SOCKET") || !listeners_in_unit())
                return;
        keeper->bus = bus;
        keeper->began_at = bus_now(bus);
        bus->keeps = true;
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

void keeper_deinit(Keeper *keeper) {
        Kept *kept;

        if (!keeper->bus)
                return;
        while ((kept = list_first(&keeper->kept, Kept, link)))
                kept_free(kept);
        kept_producers_deinit(&keeper->producers);
        keeper->bus = NULL;
}
