/* hands.c: see hands.h. */
#include "server/world/hands.h"

HandSpring hand_spring(const SceneHands *hands, f32 mass_kg)
{
    f32 omega = 6.2831853f * hands->frequency;
    return (HandSpring){mass_kg * omega * omega, 2.0f * hands->damping * mass_kg * omega};
}

u32 hand_find_free(const Matter *matter, u32 first, u32 end)
{
    u32 constraint = first;
    while (constraint < end && matter->ops->grabs(matter, constraint)) {
        constraint++;
    }
    return constraint;
}
