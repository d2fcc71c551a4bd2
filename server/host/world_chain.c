/* world_chain.c: see world_chain.h. */
#include "server/host/world_chain.h"

void world_chain_add(WorldChain *chain, WorldCopy *world, pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    if (chain->newest == NULL) {
        chain->taken = world;
    } else {
        chain->newest->next = world;
    }
    pthread_mutex_unlock(mutex);
    chain->newest = world;
}

/* Finds the frame's world and frees those before it. */
static void go_to(WorldChain *chain, const Frame *frame, pthread_mutex_t *mutex)
{
    while (chain->taken->fields != frame->fields) {
        pthread_mutex_lock(mutex);
        WorldCopy *next = chain->taken->next;
        pthread_mutex_unlock(mutex);
        if (next == NULL) {
            return;
        }
        entity_list_clear(&chain->entities); /* its shapes point into the scene */
        world_copy_destroy(chain->taken);
        chain->taken = next;
    }
    chain->entities.scene = chain->taken->scene;
}

void world_chain_take(WorldChain *chain, const Frame *frame, pthread_mutex_t *mutex)
{
    if (frame != NULL) {
        go_to(chain, frame, mutex);
        chain->tick = frame->tick;
        (void)entity_list_frame(&chain->entities, frame);
    }
}

void world_chain_describe(const WorldChain *chain, MessageWorld *out)
{
    *out = chain->taken->message;
    out->tick = chain->tick;
    out->entities = chain->entities.items;
    out->entity_count = chain->entities.count;
}

void world_chain_finish(WorldChain *chain)
{
    entity_list_finish(&chain->entities);
    while (chain->taken != NULL) {
        WorldCopy *next = chain->taken->next;
        world_copy_destroy(chain->taken);
        chain->taken = next;
    }
    *chain = (WorldChain){0};
}
