/*
 * draw_sky.c: one triangle at the far plane.
 */
#include "client/view/draw_sky.h"

static const char sky_vertex[] =
    "out vec3 v_direction;\n"
    "void main() {\n"
    "    vec2 p = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);\n"
    "    v_direction = forward.xyz + right.xyz * (p.x + right.w) + up.xyz * p.y;\n"
    "    gl_Position = vec4(p, 1.0, 1.0);\n"
    "}\n";

static const char sky_fragment[] =
    "in vec3 v_direction;\n"
    "out vec4 o_color;\n"
    "void main() {\n"
    "    vec3 d = normalize(v_direction);\n"
    "    float s = max(dot(d, sun.xyz), 0.0);\n"
    "    vec3 c = sky(d);\n"
    "    c += sun_color.rgb * (0.10 * pow(s, 24.0) + 0.35 * pow(s, 400.0));\n"
    "    c += sun_color.rgb * 6.0 * smoothstep(0.99985, 0.99995, s);\n"
    "    o_color = vec4(tone(c), 1.0);\n"
    "}\n";

int draw_sky_init(DrawSky *draw, u32 chunks, ErrorText *error)
{
    draw->program = shader_create("sky", chunks | SHADER_LIT, sky_vertex, sky_fragment, error);
    if (!draw->program) {
        return ERROR_UNSUPPORTED;
    }
    glGenVertexArrays(1, &draw->vao);
    return 0;
}

void draw_sky_finish(DrawSky *draw)
{
    glDeleteVertexArrays(1, &draw->vao);
    glDeleteProgram(draw->program);
}

void draw_sky_show(const DrawSky *draw)
{
    glDepthFunc(GL_LEQUAL);
    glDepthMask(GL_FALSE);
    glUseProgram(draw->program);
    glBindVertexArray(draw->vao);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    glBindVertexArray(0);
    glDepthMask(GL_TRUE);
    gl_check("draw_sky_show");
}
