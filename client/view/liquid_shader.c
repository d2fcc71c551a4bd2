/*
 * liquid_shader.c: the shaders of a liquid. Depths are metres along the view's axis, 0 where there
 * is no liquid. Buffers extend beyond the window by a margin (guard), so that the filter has
 * neighbours at its edges.
 */
#include "client/view/liquid_shader.h"

/* A triangle that faces the eye around the disc of a ball: half as many as a square has. */
static const char splat_vertex[] =
    "layout(location = 0) in vec4 i_position;\n" /* w: radius */
    "layout(location = 1) in vec4 i_optical;\n"  /* w: volume */
    "layout(location = 2) in vec4 i_scatter;\n"  /* w: foam */
    "uniform vec2 guard;\n"
    "uniform float grow;\n"
    "out vec2 v_corner;\n"
    "flat out vec2 v_ball;\n" /* depth of its centre, radius */
    "flat out vec4 v_optical, v_scatter;\n"
    "void main() {\n"
    "    v_corner = vec2((float(gl_VertexID) - 1.0) * 1.7320508, gl_VertexID == 1 ? 2.0 : -1.0);\n"
    "    vec3 to_eye = eye.xyz - i_position.xyz, v = normalize(to_eye);\n"
    "    vec3 r = normalize(cross(up.xyz, v)), u = cross(v, r);\n"
    "    vec3 p = i_position.xyz + grow * i_position.w * (v_corner.x * r + v_corner.y * u);\n"
    "    v_ball = vec2(-dot(to_eye, forward.xyz), grow * i_position.w);\n"
    "    v_optical = i_optical;\n"
    "    v_scatter = i_scatter;\n"
    "    gl_Position = view_proj * vec4(p, 1.0);\n"
    "    gl_Position.xy *= guard;\n"
    "}\n";

static const char depth_fragment[] = "uniform vec2 lens;\n"
                                     "in vec2 v_corner;\n"
                                     "flat in vec2 v_ball;\n"
                                     "out float o_depth;\n"
                                     "void main() {\n"
                                     "    float q = 1.0 - dot(v_corner, v_corner);\n"
                                     "    if (q < 0.0) discard;\n"
                                     "    float z = v_ball.x - v_ball.y * sqrt(q);\n"
                                     "    o_depth = z;\n"
                                     "    gl_FragDepth = 0.5 * (lens.x + lens.y / z) + 0.5;\n"
                                     "}\n";

static const char screen_vertex[] =
    "out vec2 v_screen;\n"
    "void main() {\n"
    "    v_screen = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);\n"
    "    gl_Position = vec4(v_screen, 0.0, 1.0);\n"
    "}\n";

/* Narrow-range filter (Truong, Yuksel 2018), one direction at a time: samples much farther away
 * belong to something behind and are ignored, as are those opposite to them, so that slopes are
 * preserved; much nearer ones are clamped to slightly nearer. The range follows the samples, so
 * that surfaces seen at a grazing angle are smoothed too. */
static const char smooth_fragment[] =
    "uniform sampler2D depths;\n"
    "uniform vec4 reach;\n"
    "uniform ivec2 way;\n"
    "out float o_depth;\n"
    "void main() {\n"
    "    ivec2 p = ivec2(gl_FragCoord.xy), size = textureSize(depths, 0);\n"
    "    float z = texelFetch(depths, p, 0).r;\n"
    "    o_depth = z;\n"
    "    if (z <= 0.0) return;\n"
    "    float wide = min(reach.x / z, reach.w * reach.z), stride = max(wide / reach.z, 1.0);\n"
    "    float low = z - reach.y, high = z + reach.y, sum = z, weights = 1.0;\n"
    "    float narrow = -2.0 / (wide * wide + 0.01);\n"
    "    for (float i = stride; i <= wide; i += stride) {\n"
    "        ivec2 o = way * int(i + 0.5), at = p + o, to = p - o;\n"
    "        if (any(lessThan(min(at, to), ivec2(0))) ||\n"
    "            any(greaterThanEqual(max(at, to), size))) break;\n"
    "        float a = texelFetch(depths, at, 0).r, b = texelFetch(depths, to, 0).r;\n"
    "        if (min(a, b) <= 0.0 || max(a, b) > high) continue;\n"
    "        float w = exp(narrow * i * i);\n"
    "        if (min(a, b) >= low) {\n"
    "            low = min(low, min(a, b) - reach.y);\n"
    "            high = max(high, max(a, b) + reach.y);\n"
    "        }\n"
    "        a = a < low ? z - 0.3 * reach.y : a;\n"
    "        b = b < low ? z - 0.3 * reach.y : b;\n"
    "        sum += w * (a + b);\n"
    "        weights += 2.0 * w;\n"
    "    }\n"
    "    o_depth = sum / weights;\n"
    "}\n";

/* Differences towards the neighbour that is nearer in depth, so that edges stay sharp. */
static const char normal_fragment[] =
    "uniform sampler2D depths;\n"
    "uniform vec2 guard;\n"
    "out vec4 o_form;\n"
    "vec3 place(ivec2 p, float z) {\n"
    "    vec2 n = ((vec2(p) + 0.5) / vec2(textureSize(depths, 0)) * 2.0 - 1.0) / guard;\n"
    "    return (forward.xyz + right.xyz * (n.x + right.w) + up.xyz * n.y) * z;\n"
    "}\n"
    "vec3 slope(ivec2 p, vec3 here, float z, ivec2 o) {\n"
    "    ivec2 most = textureSize(depths, 0) - 1;\n"
    "    ivec2 at = clamp(p + o, ivec2(0), most), to = clamp(p - o, ivec2(0), most);\n"
    "    float a = texelFetch(depths, at, 0).r, b = texelFetch(depths, to, 0).r;\n"
    "    float da = a > 0.0 && at != p ? abs(a - z) : 1e9;\n"
    "    float db = b > 0.0 && to != p ? abs(b - z) : 1e9;\n"
    "    if (min(da, db) > 1e8) return vec3(0.0);\n"
    "    if (max(da, db) < 2.0 * min(da, db) + 1e-4) return place(at, a) - place(to, b);\n"
    "    return da <= db ? place(at, a) - here : here - place(to, b);\n"
    "}\n"
    "void main() {\n"
    "    ivec2 p = ivec2(gl_FragCoord.xy);\n"
    "    float z = texelFetch(depths, p, 0).r;\n"
    "    o_form = vec4(0.0);\n"
    "    if (z <= 0.0) return;\n"
    "    vec3 here = place(p, z);\n"
    "    vec3 n = cross(slope(p, here, z, ivec2(1, 0)), slope(p, here, z, ivec2(0, 1)));\n"
    "    float l = length(n);\n"
    "    n = l > 0.0 ? n / l : -normalize(here);\n"
    "    o_form = vec4(dot(n, here) > 0.0 ? -n : n, z);\n"
    "}\n";

/* The volume of each ball spread over its disc (3 / 2π is the mean of a half ball's height), unless
 * an object is in front of it. Foam below the surface fades. */
static const char thickness_fragment[] =
    "uniform sampler2D depths, scene_depths;\n"
    "uniform vec2 guard, lens, texel;\n"
    "uniform float size, weight;\n"
    "in vec2 v_corner;\n"
    "flat in vec2 v_ball;\n"
    "flat in vec4 v_optical, v_scatter;\n"
    "layout(location = 0) out vec4 o_sums;\n"
    "layout(location = 1) out vec4 o_colors;\n"
    "void main() {\n"
    "    float q = 1.0 - dot(v_corner, v_corner);\n"
    "    if (q < 0.0) discard;\n"
    "    float h = sqrt(q), high = v_ball.y * h;\n"
    "    vec2 at = gl_FragCoord.xy * texel;\n"
    "    float scene = texture(scene_depths, ((at * 2.0 - 1.0) / guard) * 0.5 + 0.5).r;\n"
    "    float z = lens.y / (scene * 2.0 - 1.0 - lens.x);\n"
    "    float front = texture(depths, at).r;\n"
    "    float share = clamp((z - v_ball.x + high) / (2.0 * high + 1e-6), 0.0, 1.0);\n"
    /* Objects in front of the liquid must not bleed into its edges. */
    "    if (z < front) share = 1.0;\n"
    "    float long_m = weight * share * h * v_optical.w * 0.47746 / (v_ball.y * v_ball.y);\n"
    "    float below = max(v_ball.x - front - v_ball.y, 0.0);\n"
    "    o_sums = vec4(v_optical.rgb * long_m, long_m / size);\n"
    "    o_colors = vec4(v_scatter.rgb * (long_m / size),\n"
    "                    1.4 * weight * v_scatter.a * share * q * q * exp(-below / (2.0 * "
    "size)));\n"
    "}\n";

/* Fresnel's share of the sky, the sun's glint, and the scene behind where the refracted ray leaves
 * the liquid, dimmed by Beer's law; what is absorbed comes back in the liquid's own colour. */
static const char surface_fragment[] =
    "uniform sampler2D form, sums, colors, scene, scene_depths;\n"
    "uniform vec2 guard, lens, zoom;\n"
    "uniform float size, dive;\n"
    "in vec2 v_screen;\n"
    "out vec4 o_color;\n"
    "float scene_at(vec2 uv) {\n"
    "    return lens.y / (texture(scene_depths, uv).r * 2.0 - 1.0 - lens.x);\n"
    "}\n"
    /* Normal and depth between texels, of the nearest surface only. */
    "vec4 form_at(vec2 uv) {\n"
    "    vec2 t = uv * vec2(textureSize(form, 0)) - 0.5, f = fract(t);\n"
    "    ivec2 p = ivec2(floor(t)), most = textureSize(form, 0) - 1;\n"
    "    vec4 c[4];\n"
    "    float near = 1e9;\n"
    "    for (int i = 0; i < 4; i++) {\n"
    "        c[i] = texelFetch(form, clamp(p + ivec2(i & 1, i >> 1), ivec2(0), most), 0);\n"
    "        if (c[i].w > 0.0) near = min(near, c[i].w);\n"
    "    }\n"
    "    vec4 sum = vec4(0.0);\n"
    "    float weights = 0.0;\n"
    "    for (int i = 0; i < 4; i++) {\n"
    "        if (c[i].w <= 0.0 || c[i].w > near + 6.0 * size) continue;\n"
    "        float w = ((i & 1) == 1 ? f.x : 1.0 - f.x) * (i > 1 ? f.y : 1.0 - f.y) + 1e-3;\n"
    "        sum += w * c[i];\n"
    "        weights += w;\n"
    "    }\n"
    "    return weights > 0.0 ? sum / weights : vec4(0.0);\n"
    "}\n"
    /* The volume is that along the visible ray. */
    "vec3 behind(vec2 uv, vec3 p, vec3 n, vec3 v, float z, inout vec4 sum) {\n"
    "    vec3 q = p + refract(-v, n, 0.75) * min(sum.a * size, 1.5);\n"
    "    vec4 clip = view_proj * vec4(q, 1.0);\n"
    "    vec2 to = clip.xy / max(clip.w, 1e-3) * 0.5 + 0.5;\n"
    "    vec2 edge = min(to, 1.0 - to);\n"
    "    to = mix(uv, to, smoothstep(0.0, 0.06, min(edge.x, edge.y)));\n"
    "    vec2 o = 1.5 / vec2(textureSize(scene, 0)), p2 = vec2(o.x, -o.y);\n"
    "    float near = min(min(scene_at(to + o), scene_at(to - o)),\n"
    "                     min(scene_at(to + p2), scene_at(to - p2)));\n"
    "    if (near < z) to = uv;\n"
    "    sum = max(texture(sums, (to * 2.0 - 1.0) * guard * 0.5 + 0.5), 0.5 * sum);\n"
    "    return untone(texture(scene, to).rgb);\n"
    "}\n"
    "void main() {\n"
    "    vec2 window = v_screen * zoom, at = window * guard * 0.5 + 0.5, uv = window * 0.5 + 0.5;\n"
    "    vec4 sum = texture(sums, at);\n"
    "    float cover = smoothstep(0.04, 0.5, sum.a);\n"
    "    if (cover < 0.02) discard;\n"
    "    vec4 f = form_at(at);\n"
    "    if (f.w <= 0.0) discard;\n"
    "    gl_FragDepth = 0.5 * (lens.x + lens.y / f.w) + 0.5;\n"
    "    vec4 color = texture(colors, at);\n"
    "    vec3 n = normalize(f.xyz);\n"
    "    vec3 d = forward.xyz + right.xyz * (window.x + right.w) + up.xyz * window.y;\n"
    "    vec3 p = eye.xyz + d * f.w, v = -normalize(d);\n"
    "    n = mix(n, v, dive);\n" /* there is no surface in front of an eye inside */
    "#ifdef LEAN\n"
    "    float shade = sun_glance(p + n * (1.6 * sun.w)), open = sky_glance(p + n * 0.1);\n"
    "#else\n"
    "    float shade = sun_light(p, n), open = sky_light(p, n);\n"
    "#endif\n"
    "    float nv = max(dot(n, v), 0.0);\n"
    "    vec3 ambient = 0.82 * mix(sky_horizon.rgb, sky_top.rgb, 0.4) * open;\n"
    "    vec3 light = sun_color.rgb * (shade * (0.25 + 0.75 * max(dot(n, sun.xyz), 0.0)));\n"
    "    vec3 scatter = color.rgb / max(sum.a, 1e-4);\n"
    "    vec3 c = behind(uv, p, n, v, f.w, sum), pass = exp(-sum.rgb);\n"
    "    c *= pass;\n"
    "    c += scatter * (0.45 * light + ambient) * (1.0 - 0.94 * pass);\n"
    "    float away = 1.0 - nv, fresnel = 0.03 + 0.97 * away * away * away * away;\n"
    "    vec3 r = reflect(-v, n);\n"
    "    vec3 ground = vec3(0.36, 0.33, 0.30) * (0.35 + 0.30 * max(sun.y, 0.0));\n"
    "    vec3 mirror = mix(0.6 * ground, sky(r), smoothstep(-0.25, 0.15, r.y)) * open;\n"
    "    c = mix(c, mirror, fresnel);\n"
    "    float nh = max(dot(n, normalize(v + sun.xyz)), 0.0), glint = pow(nh, 60.0);\n"
    "    c += sun_color.rgb * (shade * glint * (0.08 + 2.2 * glint * glint * glint * glint * "
    "glint));\n"
    "    float foam = 1.0 - exp(-1.3 * color.a);\n"
    "    c = mix(c, vec3(0.92, 0.95, 0.96) * (0.8 * light + ambient), foam);\n"
    "    c = mix(c, 1.25 * sky_horizon.rgb, 1.0 - exp(-length(d) * f.w * eye.w));\n"
    "    o_color = vec4(tone(c), 1.0) * cover;\n"
    "}\n";

/* A picture of less resolution over the window, at its depths. */
static const char spread_fragment[] =
    "uniform sampler2D form, colors;\n"
    "uniform vec2 guard, lens;\n"
    "in vec2 v_screen;\n"
    "out vec4 o_color;\n"
    "void main() {\n"
    "    vec2 at = v_screen * guard * 0.5 + 0.5;\n"
    "    o_color = texture(colors, at);\n"
    "    if (o_color.a < 0.02) discard;\n"
    "    float z = texture(form, at).w;\n"
    "    if (z <= 0.0) z = textureOffset(form, at, ivec2(1, 0)).w;\n"
    "    if (z <= 0.0) z = textureOffset(form, at, ivec2(-1, 0)).w;\n"
    "    if (z <= 0.0) z = textureOffset(form, at, ivec2(0, 1)).w;\n"
    "    if (z <= 0.0) z = textureOffset(form, at, ivec2(0, -1)).w;\n"
    "    if (z <= 0.0) discard;\n"
    "    gl_FragDepth = 0.5 * (lens.x + lens.y / z) + 0.5;\n"
    "}\n";

int liquid_shaders_init(LiquidShader shaders[LIQUID_PASS_COUNT], u32 chunks, ErrorText *error)
{
    static const struct {
        const char *name, *vertex, *fragment;
        u32 chunks;
    } rows[LIQUID_PASS_COUNT] = {
        [LIQUID_DEPTH] = {"liquid depth", splat_vertex, depth_fragment, 0},
        [LIQUID_SMOOTH] = {"liquid smoothing", screen_vertex, smooth_fragment, 0},
        [LIQUID_NORMAL] = {"liquid normals", screen_vertex, normal_fragment, 0},
        [LIQUID_THICKNESS] = {"liquid thickness", splat_vertex, thickness_fragment, 0},
        [LIQUID_SURFACE] = {"liquid surface", screen_vertex, surface_fragment, SHADER_LIT},
        [LIQUID_SPREAD] = {"liquid spread", screen_vertex, spread_fragment, 0},
    };
    static const struct {
        const char *name;
        GLint unit;
    } samplers[] = {{"depths", LIQUID_UNIT_DEPTH}, {"form", LIQUID_UNIT_FORM},
                    {"sums", LIQUID_UNIT_SUMS},    {"colors", LIQUID_UNIT_COLORS},
                    {"scene", LIQUID_UNIT_SCENE},  {"scene_depths", LIQUID_UNIT_SCENE_DEPTH}};
    for (u32 i = 0; i < LIQUID_PASS_COUNT; i++) {
        LiquidShader *shader = &shaders[i];
        shader->program = shader_create(rows[i].name, chunks | rows[i].chunks, rows[i].vertex,
                                        rows[i].fragment, error);
        if (!shader->program) {
            return ERROR_UNSUPPORTED;
        }
        glUseProgram(shader->program);
        for (u32 k = 0; k < PL_COUNT(samplers); k++) {
            glUniform1i(glGetUniformLocation(shader->program, samplers[k].name), samplers[k].unit);
        }
        shader->guard = glGetUniformLocation(shader->program, "guard");
        shader->lens = glGetUniformLocation(shader->program, "lens");
        shader->reach = glGetUniformLocation(shader->program, "reach");
        shader->way = glGetUniformLocation(shader->program, "way");
        shader->texel = glGetUniformLocation(shader->program, "texel");
        shader->dive = glGetUniformLocation(shader->program, "dive");
        shader->zoom = glGetUniformLocation(shader->program, "zoom");
        shader->grow = glGetUniformLocation(shader->program, "grow");
        shader->weight = glGetUniformLocation(shader->program, "weight");
        shader->size = glGetUniformLocation(shader->program, "size");
    }
    glUseProgram(0);
    return 0;
}

void liquid_shaders_finish(LiquidShader shaders[LIQUID_PASS_COUNT])
{
    for (u32 i = 0; i < LIQUID_PASS_COUNT; i++) {
        glDeleteProgram(shaders[i].program);
    }
}
