/*
 * shader.c: the per-frame uniform block, lighting and patterns in GLSL, and shader compilation.
 */
#include "client/view/shader.h"

static const char shader_version[] = "#version 330 core\n";

static const char shader_frame[] =
    "layout(std140) uniform Frame {\n"
    "    mat4 view_proj, sun_map, zenith_map;\n"
    "    vec4 eye, sun, sun_color, sky_top, sky_horizon, forward, right, up;\n"
    "};\n";

static const char shader_tone[] =
    "vec3 tone(vec3 c) {\n" /* Narkowicz's fit of the ACES curve, then gamma */
    "    c *= 0.52;\n"
    "    c = clamp(c * (2.51 * c + 0.03) / (c * (2.43 * c + 0.59) + 0.14), 0.0, 1.0);\n"
    "    c = max(mix(vec3(dot(c, vec3(0.21, 0.72, 0.07))), c, 1.12), 0.0);\n"
    "    return pow(c, vec3(1.0 / 2.2));\n"
    "}\n"
    /* Its inverse, for backgrounds seen through something; white is limited to a finite
     * brightness. */
    "vec3 untone(vec3 c) {\n"
    "    c = pow(c, vec3(2.2));\n"
    "    c = mix(vec3(dot(c, vec3(0.21, 0.72, 0.07))), c, 1.0 / 1.12);\n"
    "    c = clamp(c, 0.0, 0.97);\n"
    "    vec3 a = 2.51 - 2.43 * c, b = 0.03 - 0.59 * c;\n"
    "    return (sqrt(b * b + 0.56 * a * c) - b) / (1.04 * a);\n"
    "}\n";

/* Sun with filtered shadows, sky light by normal and by nearby occlusion of the sky (sampled in
 * a height map from the zenith), bounce light from below, a specular lobe by roughness, a cheap
 * sky reflection, fog, tone mapping. */
static const char shader_light[] =
    "uniform sampler2DShadow sun_depth, zenith_depth;\n"
    "vec3 sky(vec3 d) {\n"
    "    float h = clamp(d.y, 0.0, 1.0);\n"
    "    h = 1.0 - h;\n"
    "    vec3 c = 1.25 * mix(sky_horizon.rgb, sky_top.rgb, 1.0 - h * h * h * h);\n"
    "    return c;\n"
    "}\n"
    "vec3 ground_light() {\n"
    "    return vec3(0.36, 0.33, 0.30) * (0.35 + 0.30 * max(sun.y, 0.0));\n"
    "}\n"
    /* The reflection in a mirror: the sky, and below the horizon the ground. */
    "vec3 surroundings(vec3 d) {\n"
    "    return mix(0.6 * ground_light(), sky(d), smoothstep(-0.25, 0.15, d.y));\n"
    "}\n"
    "float sun_light(vec3 p, vec3 n) {\n"
    "    vec3 q = (sun_map * vec4(p + n * (1.6 * sun.w), 1.0)).xyz;\n"
    "    vec2 edge = abs(q.xy - 0.5);\n"
    "    float outside = smoothstep(0.44, 0.5, max(edge.x, edge.y));\n"
    "    if (outside >= 1.0 || q.z >= 1.0) return 1.0;\n"
    "    float s = sun_color.w, lit = 0.0;\n"
    "#ifdef LEAN\n"
    "    lit += texture(sun_depth, q + vec3(-0.75 * s, -0.25 * s, 0.0));\n"
    "    lit += texture(sun_depth, q + vec3(0.25 * s, -0.75 * s, 0.0));\n"
    "    lit += texture(sun_depth, q + vec3(0.75 * s, 0.25 * s, 0.0));\n"
    "    lit += texture(sun_depth, q + vec3(-0.25 * s, 0.75 * s, 0.0));\n"
    "    lit *= 0.25;\n"
    "#else\n"
    "    for (int y = -1; y <= 1; y++)\n"
    "        for (int x = -1; x <= 1; x++)\n"
    "            lit += texture(sun_depth, q + vec3(float(x) * s, float(y) * s, 0.0));\n"
    "    lit *= 1.0 / 9.0;\n"
    "#endif\n"
    "    return mix(lit, 1.0, outside);\n"
    "}\n"
    "float sky_light(vec3 p, vec3 n) {\n"
    "    const float reach = 0.34;\n"
    "    vec3 o = p + vec3(n.x * reach, 0.05 + 0.05 * n.y, n.z * reach);\n"
    "    vec3 q = (zenith_map * vec4(o, 1.0)).xyz;\n"
    "    vec2 edge = abs(q.xy - 0.5);\n"
    "    float outside = smoothstep(0.42, 0.5, max(edge.x, edge.y));\n"
    "    if (outside >= 1.0) return 1.0;\n"
    "    float r = reach * sky_top.w, open = 0.0;\n"
    "    open += texture(zenith_depth, q + vec3(r, 0.3 * r, 0.0));\n"
    "    open += texture(zenith_depth, q + vec3(-0.3 * r, r, 0.0));\n"
    "    open += texture(zenith_depth, q + vec3(-r, -0.3 * r, 0.0));\n"
    "    open += texture(zenith_depth, q + vec3(0.3 * r, -r, 0.0));\n"
    "#ifdef LEAN\n"
    "    open *= 0.25;\n"
    "#else\n"
    "    open += texture(zenith_depth, q + vec3(0.35 * r, 0.35 * r, 0.0));\n"
    "    open += texture(zenith_depth, q + vec3(-0.35 * r, 0.35 * r, 0.0));\n"
    "    open += texture(zenith_depth, q + vec3(-0.35 * r, -0.35 * r, 0.0));\n"
    "    open += texture(zenith_depth, q + vec3(0.35 * r, -0.35 * r, 0.0));\n"
    "    open *= 0.125;\n"
    "#endif\n"
    "    return mix(0.34 + 0.66 * open, 1.0, outside);\n"
    "}\n"
    /* The same with one sample each: for small or moving things. */
    "float sun_glance(vec3 p) {\n"
    "    vec3 q = (sun_map * vec4(p, 1.0)).xyz;\n"
    "    vec2 edge = abs(q.xy - 0.5);\n"
    "    return max(edge.x, edge.y) >= 0.5 || q.z >= 1.0 ? 1.0 : texture(sun_depth, q);\n"
    "}\n"
    "float sky_glance(vec3 p) {\n"
    "    vec3 q = (zenith_map * vec4(p, 1.0)).xyz;\n"
    "    vec2 edge = abs(q.xy - 0.5);\n"
    "    bool outside = max(edge.x, edge.y) >= 0.5;\n"
    "    return outside ? 1.0 : 0.34 + 0.66 * texture(zenith_depth, q);\n"
    "}\n"
    /* through: fraction of the light transmitted from behind (cloth). */
    "vec3 lit(vec3 p, vec3 n, vec3 albedo, float roughness, float through) {\n"
    "    vec3 to_eye = eye.xyz - p;\n"
    "    float away = length(to_eye);\n"
    "    vec3 v = to_eye / max(away, 1e-4);\n"
    "    float nl = dot(n, sun.xyz), nv = max(dot(n, v), 0.0);\n"
    "    float direct = max(nl, 0.0) + through * max(-nl, 0.0);\n"
    "    if (direct > 0.0) direct *= sun_light(p, nl >= 0.0 ? n : -n);\n"
    "    float open = sky_light(p, n);\n"
    "    vec3 ambient = mix(ground_light(), 0.82 * mix(sky_horizon.rgb, sky_top.rgb, 0.4), 0.5 + "
    "0.5 * "
    "n.y);\n"
    "    vec3 c = albedo * (sun_color.rgb * direct + ambient * open);\n"
    "    vec3 h = normalize(v + sun.xyz);\n"
    "    float a = max(roughness * roughness, 0.02), power = 2.0 / (a * a) - 1.0;\n"
    "    power = clamp(power, 1.0, 900.0);\n"
    "    float fresnel = 0.04 + 0.96 * pow(1.0 - nv, 5.0) * (1.0 - roughness);\n"
    "    float lobe = (power + 2.0) * 0.125 * pow(max(dot(n, h), 0.0), power);\n"
    "    c += sun_color.rgb * (min(direct, 1.0) * lobe * 0.04);\n"
    "    c += surroundings(reflect(-v, n)) * (fresnel * open * (1.0 - 0.75 * roughness));\n"
    "    float fog = 1.0 - exp(-away * eye.w);\n"
    "    return mix(c, 1.25 * sky_horizon.rgb, fog);\n"
    "}\n"
    /* Box-filtered square wave of period 2 (Quilez): no aliasing at any distance. */
    "vec2 wave(vec2 x, vec2 w) {\n"
    "    return 2.0 * (abs(fract((x - 0.5 * w) * 0.5) - 0.5) -\n"
    "                  abs(fract((x + 0.5 * w) * 0.5) - 0.5)) / w;\n"
    "}\n"
    "float checker(vec2 x, vec2 w) {\n"
    "    vec2 s = wave(x, w);\n"
    "    return 0.5 - 0.5 * s.x * s.y;\n"
    "}\n"
    "float stripes(float x, float w) {\n"
    "    return 0.5 + 0.5 * wave(vec2(x), vec2(w)).x;\n"
    "}\n"
    /* Pixel coverage of a line of half width `half_m` at integer coordinates. */
    "float lines(vec2 x, vec2 w, vec2 half_width) {\n"
    "    vec2 d = abs(fract(x + 0.5) - 0.5);\n"
    "    vec2 draw = max(half_width, w * 0.5);\n"
    "    vec2 cover = (1.0 - smoothstep(draw - w, draw + w, d)) * clamp(half_width / draw, 0.0, "
    "1.0);\n"
    "    cover *= 1.0 - smoothstep(vec2(0.25), vec2(0.6), w);\n"
    "    return max(cover.x, cover.y);\n"
    "}\n";

static GLuint shader_compile(GLenum stage, const char *name, u32 chunks, const char *source,
                             ErrorText *error)
{
    bool light = (chunks & (stage == GL_FRAGMENT_SHADER ? SHADER_LIT : SHADER_LIT_VERTEX)) != 0;
    bool toned = light || (stage == GL_VERTEX_SHADER && (chunks & SHADER_TONE));
    const char *parts[6] = {shader_version,
                            chunks & SHADER_LEAN ? "#define LEAN\n" : "",
                            shader_frame,
                            toned ? shader_tone : "",
                            light ? shader_light : "",
                            source};
    GLuint shader = glCreateShader(stage);
    glShaderSource(shader, 6, parts, NULL);
    glCompileShader(shader);
    GLint good = 0;
    glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
    if (!good) {
        char words[360] = "";
        glGetShaderInfoLog(shader, sizeof words, NULL, words);
        error_set(error, ERROR_UNSUPPORTED, "shader %s does not compile: %s", name, words);
        glDeleteShader(shader);
        return 0;
    }
    return shader;
}

GLuint shader_create(const char *name, u32 chunks, const char *vertex, const char *fragment,
                     ErrorText *error)
{
    GLuint v = shader_compile(GL_VERTEX_SHADER, name, chunks, vertex, error);
    GLuint f = v ? shader_compile(GL_FRAGMENT_SHADER, name, chunks, fragment, error) : 0;
    if (!f) {
        glDeleteShader(v);
        return 0;
    }
    GLuint program = glCreateProgram();
    glAttachShader(program, v);
    glAttachShader(program, f);
    glLinkProgram(program);
    glDeleteShader(v);
    glDeleteShader(f);
    GLint good = 0;
    glGetProgramiv(program, GL_LINK_STATUS, &good);
    if (!good) {
        char words[360] = "";
        glGetProgramInfoLog(program, sizeof words, NULL, words);
        error_set(error, ERROR_UNSUPPORTED, "shader %s does not link: %s", name, words);
        glDeleteProgram(program);
        return 0;
    }
    GLuint block = glGetUniformBlockIndex(program, "Frame");
    if (block != GL_INVALID_INDEX) {
        glUniformBlockBinding(program, block, FRAME_BINDING);
    }
    glUseProgram(program);
    glUniform1i(glGetUniformLocation(program, "sun_depth"), SUN_UNIT);
    glUniform1i(glGetUniformLocation(program, "zenith_depth"), ZENITH_UNIT);
    glUseProgram(0);
    gl_check("shader_create");
    return program;
}
