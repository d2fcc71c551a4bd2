/*
 * message_storage.h: the memory of a decoded message; C++, for message.cpp.
 * Layer: protocol/session, private.
 */
#ifndef PLENUM_PROTOCOL_SESSION_MESSAGE_STORAGE_H
#define PLENUM_PROTOCOL_SESSION_MESSAGE_STORAGE_H

#include "shared/base/base.h"

#include <cstdlib>

// One allocation holds all arrays of a message; pieces are handed out front to back.
class Storage
{
  public:
    bool allocate(size_t bytes)
    {
        memory_ = static_cast<u8 *>(calloc(1, bytes != 0 ? bytes : 1));
        return memory_ != nullptr;
    }
    template <typename Item> Item *take(size_t count)
    {
        Item *items = static_cast<Item *>(static_cast<void *>(memory_ + used_));
        used_ += bytes_for<Item>(count);
        return items;
    }
    template <typename Item> static size_t bytes_for(size_t count)
    {
        return (count * sizeof(Item) + 15) / 16 * 16;
    }
    u8 *release()
    {
        u8 *memory = memory_;
        memory_ = nullptr;
        return memory;
    }
    ~Storage()
    {
        free(memory_);
    }

  private:
    u8 *memory_ = nullptr;
    size_t used_ = 0;
};

#endif
