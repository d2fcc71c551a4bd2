/*
 * message_cpp.h: checks of the numbers and texts of a received message; C++, for message.cpp.
 * Layer: protocol/session, private.
 */
#ifndef PLENUM_PROTOCOL_SESSION_MESSAGE_CPP_H
#define PLENUM_PROTOCOL_SESSION_MESSAGE_CPP_H

#include "message_generated.h"
#include "shared/base/error.h"
#include "shared/base/text.h"
#include "shared/math/vec.h"

#include <cstring>

template <typename Vector> u32 size_of(const Vector *vector)
{
    return vector != nullptr ? vector->size() : 0;
}

// Refuses with the location; every function returns false after the first refusal.
class Checker
{
  public:
    explicit Checker(ErrorText *error) : error_(error)
    {
    }
    int code() const
    {
        return code_;
    }
    bool refuse(Error code, const char *what)
    {
        code_ = error_set(error_, code, "message: %s", what);
        return false;
    }
    bool number(f32 value, f32 min, f32 max, const char *what)
    {
        return (value >= min && value <= max) || refuse(ERROR_RANGE, what);
    }
    bool whole(u64 value, u64 min, u64 max, const char *what)
    {
        return (value >= min && value <= max) || refuse(ERROR_RANGE, what);
    }
    bool vector(const plenum::wire::Vec3 *v, f32 extent, Vec3 &out, const char *what)
    {
        out = v != nullptr ? vec3(v->x(), v->y(), v->z()) : vec3_zero();
        return number(out.x, -extent, extent, what) && number(out.y, -extent, extent, what) &&
               number(out.z, -extent, extent, what);
    }
    // `empty_ok` says whether the text may be missing.
    bool text(const flatbuffers::String *s, char *out, size_t bytes_max, bool empty_ok,
              const char *what)
    {
        size_t bytes = s != nullptr ? s->size() : 0;
        if (bytes >= bytes_max) {
            return refuse(ERROR_LIMIT, what);
        }
        if ((bytes == 0 && !empty_ok) || (bytes != 0 && !text_is_clean(s->c_str(), bytes))) {
            return refuse(ERROR_FORMAT, what);
        }
        memset(out, 0, bytes_max);
        if (bytes != 0) {
            memcpy(out, s->c_str(), bytes);
        }
        return true;
    }

  private:
    ErrorText *error_;
    int code_ = ERROR_FORMAT;
};

#endif
