/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Profile: the counts of the program's heap, for up to eight recordings at a time */

#include <errno.h>
#include <pthread.h>

#include "heap/chance.h"
#include "heap/memory.h"
#include "heap/profile.h"
#include "heap/thread-names.h"
#include "shared/monotonic.h"
#include "shared/siphash.h"

#define NEVER    INT64_MAX
#define OWN_PAGE 4096u

/* `walking` guards the walker and the sites; `counting` guards the sessions and addresses. No thread holds both. */
static pthread_mutex_t walking = PTHREAD_MUTEX_INITIALIZER, counting = PTHREAD_MUTEX_INITIALIZER;
static Walker walker;
static Sites sites;
static SiteFrame frames[SITE_STACK_FRAMES_MAX + 1]; /* and the thread */
static ProfileSession sessions[PROFILE_SESSIONS_MAX];

static _Atomic uint64_t interval_least; /* 0: no session */

_Thread_local HeapThread heap_thread __attribute__((__tls_model__("initial-exec")));
_Atomic uint32_t profile_epoch;
bool *profile_is_ours;
Addresses profile_addresses;

static Maps maps;
static char heap_names[SITE_HEAPS_MAX][PROFILE_HEAP_NAME_MAX + 1] = {
        [PROFILE_HEAP_MALLOC] = "libc.malloc",
        [PROFILE_HEAP_MMAP] = "mmap",
};
static _Atomic unsigned n_heaps = _PROFILE_HEAPS_N;

int profile_init(void) {
        int r;

        if (profile_is_ours)
                return *profile_is_ours ? 0 : -ECANCELED;
        r = sites_init(&sites, siphash_secret(0));
        if (r < 0)
                return r;
        r = walker_init(&walker);
        if (r < 0)
                return r;
        profile_is_ours = heap_memory_map_own(OWN_PAGE);
        if (!profile_is_ours)
                return -ENOSYS;
        *profile_is_ours = true;
        return 0;
}

static bool is_ours(void) {
        return profile_is_ours && *(volatile bool *)profile_is_ours;
}

/*
 * Sessions
 */

/* Makes each thread draw again at its next allocation. */
static void choose_interval(void) {
        uint64_t least = 0;

        for (unsigned i = 0; i < PROFILE_SESSIONS_MAX; i++)
                if (sessions[i].interval > 0 && (least == 0 || sessions[i].interval < least))
                        least = sessions[i].interval;
        if (atomic_exchange(&interval_least, least) != least)
                atomic_fetch_add(&profile_epoch, 1);
}

int profile_start(unsigned *ret_session, uint64_t interval) {
        int r = -EBUSY;

        pthread_mutex_lock(&counting);
        for (unsigned i = 0; i < PROFILE_SESSIONS_MAX && r == -EBUSY; i++) {
                if (sessions[i].interval > 0)
                        continue;
                r = site_totals_init(&sessions[i].totals);
                if (r < 0)
                        break;
                sessions[i].interval = interval;
                sessions[i].started_ns = monotonic_ns();
                *ret_session = i;
                choose_interval();
        }
        pthread_mutex_unlock(&counting);
        return r;
}

void profile_stop(unsigned session) {
        pthread_mutex_lock(&counting);
        sessions[session].interval = 0;
        addresses_forget_session(&profile_addresses, session);
        maps_forget_session(&maps, session);
        site_totals_deinit(&sessions[session].totals);
        choose_interval();
        pthread_mutex_unlock(&counting);
}

uint64_t profile_started_ns(unsigned session) {
        return sessions[session].started_ns;
}

/*
 * Heaps
 */

static int find_heap(const char *name) {
        const unsigned n = n_heaps;

        for (unsigned i = 0; i < n; i++)
                if (streq(heap_names[i], name))
                        return (int)i;
        if (n == SITE_HEAPS_MAX)
                return -ENOBUFS;
        memcpy(heap_names[n], name, strlen(name) + 1);
        n_heaps = n + 1;
        return (int)n;
}

int profile_heap_find(const char *name) {
        HeapThread *thread = &heap_thread;
        const bool was_inside = thread->is_inside;
        const size_t n = name ? strlen(name) : 0;
        int r;

        if (n == 0 || n > PROFILE_HEAP_NAME_MAX)
                return -EINVAL;
        if (!is_ours())
                return -ECANCELED;
        thread->is_inside = true;
        pthread_mutex_lock(&counting);
        r = find_heap(name);
        pthread_mutex_unlock(&counting);
        thread->is_inside = was_inside;
        return r;
}

unsigned profile_n_heaps(void) {
        return n_heaps;
}

const char *profile_heap_name(unsigned heap) {
        return heap_names[heap];
}

/*
 * Copies
 */

#define COPY_BYTES(copy) (SITES_MAX * sizeof(*(copy)))

static int copy_init(ProfileCopy *copy) {
        if (copy->counts)
                return 0;
        copy->counts = heap_memory_map(COPY_BYTES(copy->counts));
        copy->at_peak = heap_memory_map(COPY_BYTES(copy->at_peak));
        copy->n_at_peak = heap_memory_map(COPY_BYTES(copy->n_at_peak));
        if (copy->counts && copy->at_peak && copy->n_at_peak)
                return 0;
        profile_copy_deinit(copy);
        return -ENOMEM;
}

void profile_copy_deinit(ProfileCopy *copy) {
        heap_memory_unmap(copy->counts, COPY_BYTES(copy->counts));
        heap_memory_unmap(copy->at_peak, COPY_BYTES(copy->at_peak));
        heap_memory_unmap(copy->n_at_peak, COPY_BYTES(copy->n_at_peak));
        *copy = (ProfileCopy){};
}

/* A site that has not changed since the last peak may still have had other values at that one, so a new peak reports
 * it again. */
static void copy_totals(ProfileCopy *copy, SiteTotals *totals) {
        for (uint32_t i = 0; i < copy->n_sites; i++) {
                const uint64_t at_peak =
                        site_totals_at_peak(totals, sites.sites[i].heap, i, &copy->n_at_peak[i]);

                copy->counts[i] = totals->counts[i];
                copy->counts[i].is_changed |= copy->at_peak[i] != at_peak;
                copy->at_peak[i] = at_peak;
                totals->counts[i].is_changed = false;
        }
        memcpy(copy->heaps, totals->heaps, sizeof(copy->heaps));
}

/* A site that is added between the two locks has to wait for the next copy. */
int profile_copy(ProfileCopy *copy, unsigned session) {
        if (copy_init(copy) < 0)
                return -ENOMEM;
        pthread_mutex_lock(&walking);
        copy->n_sites = sites.n_sites;
        pthread_mutex_unlock(&walking);
        pthread_mutex_lock(&counting);
        copy_totals(copy, &sessions[session].totals);
        pthread_mutex_unlock(&counting);
        return 0;
}

void profile_losses(ProfileLosses *ret) {
        pthread_mutex_lock(&walking);
        ret->n_without_site = sites.n_refused;
        ret->n_complete = walker.n_complete;
        ret->n_incomplete = walker.n_incomplete;
        pthread_mutex_unlock(&walking);
        pthread_mutex_lock(&counting);
        ret->n_without_address = profile_addresses.n_refused + maps.n_refused;
        ret->n_missed_frees = profile_addresses.n_missed;
        pthread_mutex_unlock(&counting);
}

const Sites *profile_sites(void) {
        return &sites;
}

const Walker *profile_walker(void) {
        return &walker;
}

/*
 * What threads do
 */

static uint32_t now_ms(void) {
        return (uint32_t)(monotonic_ns() / 1000000);
}

/* How many bytes and allocations a sample of n_bytes stands for. */
static void weigh(uint64_t *ret_bytes, uint64_t *ret_n, uint64_t n_bytes, uint64_t interval) {
        const double chance = chance_of(n_bytes, interval);

        *ret_bytes = (uint64_t)((double)n_bytes / chance + 0.5);
        *ret_n = (uint64_t)((1u << SITE_N_BITS) / chance + 0.5);
}

static void count_freed(const AddressEntry *entry) {
        const bool is_soon = now_ms() - entry->at_ms <= SITE_SOON_MS;

        for (unsigned i = 0; i < PROFILE_SESSIONS_MAX; i++) {
                uint64_t n_bytes, n;

                if (!(entry->sessions & 1u << i))
                        continue;
                weigh(&n_bytes, &n, entry->n_bytes, sessions[i].interval);
                site_totals_freed(
                        &sessions[i].totals, entry->heap, entry->site, n_bytes, n, is_soon);
        }
}

/* The sessions that would have taken this sample on their own. */
static uint8_t choose_sessions(HeapThread *thread, uint64_t n_bytes, uint64_t least) {
        const double taken = chance_of(n_bytes, least);
        uint8_t chosen = 0;

        for (unsigned i = 0; i < PROFILE_SESSIONS_MAX; i++) {
                const uint64_t interval = sessions[i].interval;

                if (interval == 0)
                        continue;
                if (interval <= least ||
                    chance_take(&thread->random, chance_of(n_bytes, interval) / taken))
                        chosen |= (uint8_t)(1u << i);
        }
        return chosen;
}

/* The caller holds `counting`. Counts a sample only if it can be found again when it is freed. */
static void count_allocated(HeapThread *thread, AddressEntry *entry, uint64_t least) {
        AddressEntry old;
        bool has_old;
        int r;

        entry->sessions = choose_sessions(thread, entry->n_bytes, least);
        if (entry->sessions == 0)
                return;
        r = addresses_add(&profile_addresses, entry, &old, &has_old);
        if (has_old)
                count_freed(&old);
        for (unsigned i = 0; r == 0 && i < PROFILE_SESSIONS_MAX; i++) {
                uint64_t n_bytes, n;

                if (!(entry->sessions & 1u << i))
                        continue;
                weigh(&n_bytes, &n, entry->n_bytes, sessions[i].interval);
                site_totals_allocated(&sessions[i].totals, entry->heap, entry->site, n_bytes, n);
        }
}

static uint32_t find_site(HeapThread *thread, uint8_t heap, const WalkStart *start) {
        uint32_t site;
        size_t n;

        pthread_mutex_lock(&walking);
        n = walker_run(&walker, frames, start, thread);
        frames[n++] = thread_names_frame(thread);
        site = sites_find(&sites, heap, frames, n);
        pthread_mutex_unlock(&walking);
        return site;
}

static void take_sample(HeapThread *thread,
                        uint8_t heap,
                        const void *memory,
                        size_t n_bytes,
                        const WalkStart *start,
                        uint64_t least) {
        AddressEntry entry = {
                .address = addresses_key(memory, heap),
                .n_bytes = n_bytes,
                .site = find_site(thread, heap, start),
                .at_ms = now_ms(),
        };

        entry.heap = site_heap(entry.site, heap);

        pthread_mutex_lock(&counting);
        /* If the settings have changed in the meantime, this draw was made for the old ones. */
        if (thread->epoch == atomic_load(&profile_epoch))
                count_allocated(thread, &entry, least);
        pthread_mutex_unlock(&counting);
}

static void draw(HeapThread *thread, uint64_t least) {
        if (thread->random == 0)
                thread->random = siphash_secret(1) ^ (uint64_t)(uintptr_t)thread ^ monotonic_ns();
        thread->left = least > 0 ? (int64_t)chance_draw(&thread->random, least) : NEVER;
}

/* New settings make void what was drawn for the old ones. Returns true if this allocation is a sample. */
static bool begin_epoch(HeapThread *thread, size_t n_bytes) {
        thread->epoch = atomic_load(&profile_epoch);
        draw(thread, atomic_load(&interval_least));
        thread->left -= (int64_t)n_bytes;
        return thread->left < 0;
}

static bool is_sample(HeapThread *thread, size_t n_bytes) {
        if (thread->epoch != atomic_load_explicit(&profile_epoch, memory_order_relaxed))
                return begin_epoch(thread, n_bytes);
        return thread->left < 0;
}

/* An allocation of no bytes has the same chance as one of one byte. */
void profile_allocated(uint8_t heap, const void *memory, size_t n_bytes, const WalkStart *start) {
        HeapThread *thread = &heap_thread;
        const int saved_errno = errno;
        uint64_t least;

        if (!is_ours()) {
                thread->left = NEVER;
                return;
        }
        if (thread->is_inside)
                return;
        thread->is_inside = true;
        if (is_sample(thread, n_bytes)) {
                least = atomic_load(&interval_least);
                draw(thread, least);
                if (least > 0 && memory)
                        take_sample(thread, heap, memory, MAX(n_bytes, (size_t)1), start, least);
        }
        thread->is_inside = false;
        errno = saved_errno;
}

static bool take_address(uint64_t address, AddressEntry *ret) {
        HeapThread *thread = &heap_thread;
        bool is_there;

        if (!is_ours() || thread->is_inside)
                return false;
        thread->is_inside = true;
        pthread_mutex_lock(&counting);
        is_there = addresses_take(&profile_addresses, address, ret);
        pthread_mutex_unlock(&counting);
        thread->is_inside = false;
        return is_there;
}

bool profile_take(void *memory, AddressEntry *ret) {
        return take_address(addresses_key(memory, PROFILE_HEAP_MALLOC), ret);
}

/* The sessions that are still running: an address is not put back for a session that has ended. */
static uint8_t sessions_still_there(void) {
        uint8_t there = 0;

        for (unsigned i = 0; i < PROFILE_SESSIONS_MAX; i++)
                if (sessions[i].interval > 0)
                        there |= (uint8_t)(1u << i);
        return there;
}

void profile_put_back(const AddressEntry *entry) {
        AddressEntry again = *entry, old;
        bool has_old;

        heap_thread.is_inside = true;
        pthread_mutex_lock(&counting);
        again.sessions &= sessions_still_there();
        if (again.sessions)
                (void)addresses_add(&profile_addresses, &again, &old, &has_old);
        pthread_mutex_unlock(&counting);
        heap_thread.is_inside = false;
}

void profile_count_freed(const AddressEntry *entry) {
        AddressEntry freed = *entry;

        heap_thread.is_inside = true;
        pthread_mutex_lock(&counting);
        freed.sessions &= sessions_still_there();
        count_freed(&freed);
        pthread_mutex_unlock(&counting);
        heap_thread.is_inside = false;
}

void profile_freed(uint8_t heap, const void *memory) {
        const int saved_errno = errno;
        AddressEntry entry;

        if (take_address(addresses_key(memory, heap), &entry))
                profile_count_freed(&entry);
        errno = saved_errno;
}

void profile_freed_range(uint8_t heap, const void *start, size_t n_bytes) {
        const int saved_errno = errno;
        HeapThread *thread = &heap_thread;
        AddressEntry entry;

        if (!is_ours() || thread->is_inside || n_bytes == 0)
                return;
        thread->is_inside = true;
        pthread_mutex_lock(&counting);
        while (addresses_take_range(&profile_addresses,
                                    addresses_key(start, heap),
                                    addresses_key(start, heap) + n_bytes,
                                    &entry))
                count_freed(&entry);
        pthread_mutex_unlock(&counting);
        thread->is_inside = false;
        errno = saved_errno;
}

/*
 * Mapped memory
 */

bool profile_wants_maps(void) {
        return atomic_load_explicit(&interval_least, memory_order_relaxed) > 0;
}

/* The caller holds `counting`. Returns how many bytes of the range were counted. */
static uint64_t take_ranges(uint64_t start, uint64_t end) {
        uint64_t n_all = 0;
        MapRange range;
        bool is_whole;

        while (maps_take(&maps, start, end, &range, &is_whole)) {
                const bool is_soon = now_ms() - range.at_ms <= SITE_SOON_MS;
                const uint64_t n_bytes = range.end - range.start;

                n_all += n_bytes;
                for (unsigned i = 0; i < PROFILE_SESSIONS_MAX; i++)
                        if (range.sessions & 1u << i)
                                site_totals_freed(&sessions[i].totals,
                                                  range.heap,
                                                  range.site,
                                                  n_bytes,
                                                  is_whole ? 1u << SITE_N_BITS : 0,
                                                  is_soon);
        }
        return n_all;
}

/* With the lock. */
static void add_range(const MapRange *range) {
        if (range->sessions == 0 || maps_add(&maps, range) < 0)
                return;
        for (unsigned i = 0; i < PROFILE_SESSIONS_MAX; i++)
                if (range->sessions & 1u << i)
                        site_totals_allocated(&sessions[i].totals,
                                              range->heap,
                                              range->site,
                                              range->end - range->start,
                                              1u << SITE_N_BITS);
}

void profile_mapped(const void *memory, size_t n_bytes, const WalkStart *start) {
        HeapThread *thread = &heap_thread;
        const int saved_errno = errno;
        MapRange range = {
                .start = (uint64_t)(uintptr_t)memory,
                .end = (uint64_t)(uintptr_t)memory + n_bytes,
        };

        if (!is_ours() || thread->is_inside)
                return;
        thread->is_inside = true;
        range.site = find_site(thread, PROFILE_HEAP_MMAP, start);
        range.heap = site_heap(range.site, PROFILE_HEAP_MMAP);
        range.at_ms = now_ms();
        pthread_mutex_lock(&counting);
        range.sessions = sessions_still_there();
        (void)take_ranges(range.start, range.end);
        add_range(&range);
        pthread_mutex_unlock(&counting);
        thread->is_inside = false;
        errno = saved_errno;
}

uint64_t profile_unmapped(const void *memory, size_t n_bytes) {
        HeapThread *thread = &heap_thread;
        const int saved_errno = errno;
        const uint64_t start = (uint64_t)(uintptr_t)memory;
        uint64_t n_all;

        if (!is_ours() || thread->is_inside)
                return 0;
        thread->is_inside = true;
        pthread_mutex_lock(&counting);
        n_all = take_ranges(start, start + n_bytes);
        pthread_mutex_unlock(&counting);
        thread->is_inside = false;
        errno = saved_errno;
        return n_all;
}
