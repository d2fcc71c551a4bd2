/* netsim.c: a binary heap of packets by due time, and counter-based random numbers. */
#include "tests/support/netsim.h"

#include "shared/base/check.h"
#include "shared/math/random.h"

#include <stdlib.h>
#include <string.h>

typedef struct Flight {
    u64 due_us;
    u64 order; /* breaks ties, so that equal delays preserve order */
    u8 *data;
    u32 bytes;
} Flight;

struct Netsim {
    NetsimOptions options;
    Flight *heap; /* [count], smallest (due, order) first */
    u32 count, capacity;
    u64 order;
    u64 dice;         /* number of random numbers drawn */
    u64 line_free_us; /* when the rate-limited link has sent its queue */
    u64 last_us;      /* latest arrival so far */
    u32 burst_left;
};

Netsim *netsim_create(const NetsimOptions *options)
{
    Netsim *netsim = calloc(1, sizeof *netsim);
    if (netsim != NULL) {
        netsim->options = *options;
    }
    return netsim;
}

void netsim_destroy(Netsim *netsim)
{
    if (netsim == NULL) {
        return;
    }
    for (u32 i = 0; i < netsim->count; i++) {
        free(netsim->heap[i].data);
    }
    free(netsim->heap);
    free(netsim);
}

void netsim_set(Netsim *netsim, const NetsimOptions *options)
{
    netsim->options = *options;
}

static f64 roll(Netsim *netsim)
{
    u64 bits = random_u64(netsim->options.seed, netsim->dice++);
    return (f64)(bits >> 11) * (1.0 / 9007199254740992.0);
}

static bool before(const Flight *a, const Flight *b)
{
    return a->due_us != b->due_us ? a->due_us < b->due_us : a->order < b->order;
}

static void swap(Flight *a, Flight *b)
{
    Flight t = *a;
    *a = *b;
    *b = t;
}

/* Out of memory, the packet is lost: a bad network. */
static void push(Netsim *netsim, const void *data, u32 bytes, u64 due_us)
{
    if (netsim->count == netsim->capacity) {
        u32 capacity = netsim->capacity != 0 ? netsim->capacity * 2 : 64;
        Flight *heap = realloc(netsim->heap, capacity * sizeof *heap);
        if (heap == NULL) {
            return;
        }
        netsim->heap = heap;
        netsim->capacity = capacity;
    }
    CHECK(bytes <= NETSIM_PACKET_BYTES_MAX && netsim->count < netsim->capacity);
    u8 *copy = malloc(bytes != 0 ? bytes : 1);
    if (copy == NULL) {
        return;
    }
    memcpy(copy, data, bytes);
    u32 i = netsim->count++;
    Flight flight = {due_us, netsim->order++, copy, bytes};
    netsim->heap[i] = flight;
    while (i > 0 && before(&netsim->heap[i], &netsim->heap[(i - 1) / 2])) {
        swap(&netsim->heap[i], &netsim->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

static Flight pop(Netsim *netsim)
{
    CHECK(netsim->count > 0);
    Flight first = netsim->heap[0];
    netsim->heap[0] = netsim->heap[--netsim->count];
    for (u32 i = 0;;) {
        u32 child = 2 * i + 1;
        if (child >= netsim->count) {
            break;
        }
        if (child + 1 < netsim->count && before(&netsim->heap[child + 1], &netsim->heap[child])) {
            child++;
        }
        if (!before(&netsim->heap[child], &netsim->heap[i])) {
            break;
        }
        swap(&netsim->heap[child], &netsim->heap[i]);
        i = child;
    }
    return first;
}

/* Every packet draws the same number of random numbers, so that changing one condition does not
 * change the others. */
static bool is_lost(Netsim *netsim)
{
    f64 single = roll(netsim), burst = roll(netsim), length = roll(netsim);
    if (netsim->burst_left > 0) {
        netsim->burst_left--;
        return true;
    }
    if (burst < netsim->options.burst) {
        netsim->burst_left = (u32)(length * 2.0 * netsim->options.burst_packets);
        return true;
    }
    return single < netsim->options.loss;
}

/* Time at which a packet leaves a rate-limited link; 0 if the queue is full. */
static u64 line_leave_us(Netsim *netsim, u32 bytes, u64 now_us)
{
    if (netsim->options.rate_bytes_s == 0) {
        return now_us;
    }
    u32 queue_ms = netsim->options.queue_ms != 0 ? netsim->options.queue_ms : 200;
    u64 start = u64_max(now_us, netsim->line_free_us);
    if (start - now_us > (u64)queue_ms * 1000) {
        return 0;
    }
    netsim->line_free_us = start + (u64)bytes * 1000000u / netsim->options.rate_bytes_s;
    return netsim->line_free_us;
}

void netsim_send(Netsim *netsim, const void *data, u32 bytes, u64 now_us)
{
    bool lost = is_lost(netsim);
    f64 jitter[2] = {roll(netsim), roll(netsim)};
    bool twice = roll(netsim) < netsim->options.duplicate;
    u64 leave = bytes <= NETSIM_PACKET_BYTES_MAX ? line_leave_us(netsim, bytes, now_us) : 0;
    if (lost || (leave == 0 && now_us != 0) || bytes > NETSIM_PACKET_BYTES_MAX) {
        return;
    }
    for (u32 copy = 0; copy < (twice ? 2u : 1u); copy++) {
        f64 delay_ms = netsim->options.delay_ms + jitter[copy] * netsim->options.jitter_ms;
        u64 due_us = leave + (u64)(delay_ms * 1000.0);
        if (netsim->options.ordered) {
            due_us = u64_max(due_us, netsim->last_us);
        }
        netsim->last_us = u64_max(netsim->last_us, due_us);
        push(netsim, data, bytes, due_us);
    }
}

u32 netsim_receive(Netsim *netsim, u64 now_us, u8 *out)
{
    if (netsim->count == 0 || netsim->heap[0].due_us > now_us) {
        return 0;
    }
    Flight flight = pop(netsim);
    memcpy(out, flight.data, flight.bytes);
    free(flight.data);
    return flight.bytes;
}

u64 netsim_next_us(const Netsim *netsim)
{
    return netsim->count != 0 ? netsim->heap[0].due_us : UINT64_MAX;
}

u64 netsim_queue_us(const Netsim *netsim, u64 now_us)
{
    return netsim->line_free_us > now_us ? netsim->line_free_us - now_us : 0;
}
