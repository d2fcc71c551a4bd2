/* ball_cast.c: see ball_cast.h. */
#include "client/view/ball_cast.h"

/* Maps are orthographic: in their clip space a disc is an ellipse of the map's scale. */
static const char cast_vertex[] =
    "layout(location = 0) in vec4 i_ball;\n"
    "uniform mat4 to_clip;\n"
    "out vec2 v_corner;\n"
    "void main() {\n"
    "    v_corner = vec2((float(gl_VertexID) - 1.0) * 1.7320508, gl_VertexID == 1 ? 2.0 : -1.0);\n"
    "    gl_Position = to_clip * vec4(i_ball.xyz, 1.0);\n"
    "    float scale = length(vec3(to_clip[0].x, to_clip[1].x, to_clip[2].x));\n"
    "    gl_Position.xy += v_corner * (scale * i_ball.w);\n"
    "}\n";

static const char cast_fragment[] = "in vec2 v_corner;\n"
                                    "void main() {\n"
                                    "    if (dot(v_corner, v_corner) > 1.0) discard;\n"
                                    "}\n";

int ball_cast_init(BallCast *cast, ErrorText *error)
{
    cast->program = shader_create("shadows of balls", 0, cast_vertex, cast_fragment, error);
    if (!cast->program) {
        return ERROR_UNSUPPORTED;
    }
    cast->to_clip = glGetUniformLocation(cast->program, "to_clip");
    glGenVertexArrays(1, &cast->vao);
    glBindVertexArray(cast->vao);
    glEnableVertexAttribArray(0);
    glVertexAttribDivisor(0, 1);
    glBindVertexArray(0);
    return 0;
}

void ball_cast_finish(BallCast *cast)
{
    glDeleteVertexArrays(1, &cast->vao);
    glDeleteProgram(cast->program);
}

void ball_cast_show(const BallCast *cast, const Mat4 *to_clip, GLuint buffer, size_t offset,
                    u32 stride, u32 count)
{
    if (count == 0) {
        return;
    }
    glUseProgram(cast->program);
    glUniformMatrix4fv(cast->to_clip, 1, GL_FALSE, to_clip->m);
    glBindVertexArray(cast->vao);
    glBindBuffer(GL_ARRAY_BUFFER, buffer);
    glVertexAttribPointer(0, 4, GL_FLOAT, GL_FALSE, (GLsizei)stride, (const void *)offset);
    glDrawArraysInstanced(GL_TRIANGLES, 0, 3, (GLsizei)count);
    glBindVertexArray(0);
    gl_check("ball_cast_show");
}
