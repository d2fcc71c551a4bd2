/* link_thread.c: see link_thread.h. One lock protects the inner link and the queue of events. */
#include "client/link/link_thread.h"
#include "shared/base/thread.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MS 1000000ull

typedef struct WaitingEvent {
    struct WaitingEvent *next;
    LinkEvent event; /* its data are `data` */
    u8 data[];
} WaitingEvent;

typedef struct LinkThread {
    Link base;
    Link *inner;
    u64 (*now_ns)(void);
    pthread_t thread;
    int fd;                 /* of inner */
    int news;               /* eventfd, readable while events wait for the owner; −1: none */
    WaitingEvent *borrowed; /* event lent to the owner by its last poll */

    pthread_mutex_t lock; /* protects all members below and inner */
    bool stop;
    WaitingEvent *first, **end;
    u64 bytes;
} LinkThread;

/* Signals whether events wait. Called with the lock held. */
static void notify(LinkThread *link, bool waits)
{
    u64 count = 1;
    if (link->news >= 0) {
        ssize_t done = waits ? write(link->news, &count, sizeof count)
                             : read(link->news, &count, sizeof count);
        PL_UNUSED(done); /* it would block: already signalled */
    }
}

/* Receives all available packets and timestamps them. Called with the lock held. */
static void receive(LinkThread *link)
{
    LinkEvent event;
    bool waited = link->first != NULL;
    while (link->bytes < LINK_THREAD_BYTES_MAX &&
           link->inner->ops->poll(link->inner, link->now_ns() / MS, &event)) {
        WaitingEvent *waiting = malloc(sizeof *waiting + event.bytes);
        if (waiting == NULL) {
            continue; /* dropped, like a lost packet */
        }
        waiting->next = NULL;
        waiting->event = event;
        waiting->event.arrived_ns = link->now_ns();
        if (event.bytes > 0) {
            memcpy(waiting->data, event.data, event.bytes);
        }
        waiting->event.data = waiting->data;
        link->bytes += sizeof *waiting + event.bytes;
        *link->end = waiting;
        link->end = &waiting->next;
    }
    if (!waited && link->first != NULL) {
        notify(link, true);
    }
}

static void *run(void *context)
{
    LinkThread *link = context;
    struct pollfd wait = {.fd = link->fd, .events = POLLIN};
    thread_name("plenum-link");
    for (bool stop = false, full = false; !stop;) {
        /* When full, the socket stays readable: wait for the timeout only. */
        (void)poll(&wait, full ? 0 : 1, LINK_THREAD_WAIT_MS);
        pthread_mutex_lock(&link->lock);
        stop = link->stop;
        if (!stop) {
            receive(link);
        }
        full = link->bytes >= LINK_THREAD_BYTES_MAX;
        pthread_mutex_unlock(&link->lock);
    }
    return NULL;
}

static void finish(LinkThread *link)
{
    if (link->news >= 0) {
        close(link->news);
    }
    pthread_mutex_destroy(&link->lock);
    free(link);
}

/* ---- operations ---- */

static bool thread_poll(Link *base, u64 now_ms, LinkEvent *event)
{
    PL_UNUSED(now_ms); /* the thread uses its own clock */
    LinkThread *link = (LinkThread *)base;
    free(link->borrowed);
    link->borrowed = NULL;
    pthread_mutex_lock(&link->lock);
    if (link->first == NULL) {
        receive(link);
    }
    WaitingEvent *waiting = link->first;
    if (waiting != NULL) {
        link->first = waiting->next;
        if (link->first == NULL) {
            link->end = &link->first;
            notify(link, false);
        }
        link->bytes -= sizeof *waiting + waiting->event.bytes;
    }
    pthread_mutex_unlock(&link->lock);
    if (waiting == NULL) {
        return false;
    }
    link->borrowed = waiting;
    *event = waiting->event;
    return true;
}

static int thread_send(Link *base, u32 peer, u32 channel, const void *data, u32 bytes)
{
    LinkThread *link = (LinkThread *)base;
    pthread_mutex_lock(&link->lock);
    int result = link->inner->ops->send(link->inner, peer, channel, data, bytes);
    pthread_mutex_unlock(&link->lock);
    return result;
}

static void thread_disconnect(Link *base, u32 peer, u32 reason)
{
    LinkThread *link = (LinkThread *)base;
    pthread_mutex_lock(&link->lock);
    link->inner->ops->disconnect(link->inner, peer, reason);
    pthread_mutex_unlock(&link->lock);
}

static void thread_flush(Link *base)
{
    LinkThread *link = (LinkThread *)base;
    pthread_mutex_lock(&link->lock);
    link->inner->ops->flush(link->inner);
    pthread_mutex_unlock(&link->lock);
}

static bool thread_stats(Link *base, u32 peer, LinkStats *stats)
{
    LinkThread *link = (LinkThread *)base;
    pthread_mutex_lock(&link->lock);
    bool known = link->inner->ops->stats(link->inner, peer, stats);
    pthread_mutex_unlock(&link->lock);
    return known;
}

static int thread_fd(Link *base)
{
    return ((LinkThread *)base)->news;
}

static bool thread_binding(Link *base, u32 peer, u8 out[BINDING_BYTES])
{
    LinkThread *link = (LinkThread *)base;
    pthread_mutex_lock(&link->lock);
    bool known =
        link->inner->ops->binding != NULL && link->inner->ops->binding(link->inner, peer, out);
    pthread_mutex_unlock(&link->lock);
    return known;
}

static void thread_destroy(Link *base)
{
    LinkThread *link = (LinkThread *)base;
    if (link == NULL) {
        return;
    }
    pthread_mutex_lock(&link->lock);
    link->stop = true;
    pthread_mutex_unlock(&link->lock);
    pthread_join(link->thread, NULL);
    link->inner->ops->destroy(link->inner);
    while (link->first != NULL) {
        WaitingEvent *next = link->first->next;
        free(link->first);
        link->first = next;
    }
    free(link->borrowed);
    finish(link);
}

static const LinkOps thread_ops = {.destroy = thread_destroy,
                                   .poll = thread_poll,
                                   .send = thread_send,
                                   .disconnect = thread_disconnect,
                                   .flush = thread_flush,
                                   .stats = thread_stats,
                                   .fd = thread_fd,
                                   .binding = thread_binding};

Link *link_thread_create(Link *inner, u64 (*now_ns)(void), ErrorText *error)
{
    LinkThread *link = inner != NULL ? calloc(1, sizeof *link) : NULL;
    if (inner == NULL) {
        return NULL;
    }
    if (link == NULL || pthread_mutex_init(&link->lock, NULL) != 0) {
        error_set(error, ERROR_MEMORY, "out of memory for the connection");
        free(link);
        inner->ops->destroy(inner);
        return NULL;
    }
    link->base.ops = &thread_ops;
    link->inner = inner;
    link->now_ns = now_ns;
    link->fd = inner->ops->fd(inner);
    link->end = &link->first;
    link->news = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (pthread_create(&link->thread, NULL, run, link) != 0) {
        error_set(error, ERROR_MEMORY, "cannot start the connection's thread");
        finish(link);
        inner->ops->destroy(inner);
        return NULL;
    }
    return &link->base;
}
