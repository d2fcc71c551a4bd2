/* picture.c: see picture.h. */
#include "client/view/picture.h"

#include <string.h>

const f32 highlight_held[3] = {1.0f, 0.62f, 0.12f}, highlight_hovered[3] = {0.95f, 0.97f, 1.0f};

void picture_colors(const Picture *picture, u32 entity, f32 color[3], f32 color2[3])
{
    const Appearance *appearance = &picture->entities[entity].appearance;
    memcpy(color, appearance->color, 3 * sizeof *color);
    memcpy(color2, appearance->color2, 3 * sizeof *color2);
    u32 tint = picture->tints ? picture->tints[entity] : 0;
    for (u32 i = 0; tint != 0 && i < 3; i++) {
        f32 c = (f32)(tint >> (16 - 8 * i) & 255) / 255.0f;
        color[i] = c * c; /* near enough to linear */
        color2[i] = 0.7f * color[i];
    }
}

bool picture_points(const Picture *picture, const Entity *entity)
{
    return entity->field < picture->fields->count && picture->points[entity->field] != NULL &&
           (u64)entity->first + entity->count <= picture->fields->fields[entity->field].capacity;
}
