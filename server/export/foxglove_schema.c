/* foxglove_schema.c: the messages as rows, and from them a FileDescriptorSet (descriptor.proto). */
#include "server/export/foxglove.h"

#include <string.h>

/* FieldDescriptorProto.Type */
enum {
    TYPE_DOUBLE = 1,
    TYPE_INT64 = 3,
    TYPE_INT32 = 5,
    TYPE_FIXED32 = 7,
    TYPE_BOOL = 8,
    TYPE_STRING = 9,
    TYPE_MESSAGE = 11,
    TYPE_BYTES = 12,
    TYPE_ENUM = 14,
    FIELDS_OF_MESSAGE_MAX = 14,
    REPEATED = 3,
    SINGLE = 1,
};

typedef struct FieldRow {
    const char *name;
    u32 type;
    const char *of; /* MESSAGE, ENUM: full name */
    bool repeated;
} FieldRow;

/* Fields have the numbers 1, 2, ... */
typedef struct MessageRow {
    const char *name;
    FieldRow fields[FIELDS_OF_MESSAGE_MAX];
    const char *enum_name; /* a nested enum, or NULL */
    const char *enum_values[9];
} MessageRow;

#define TIME ".google.protobuf.Timestamp"
#define POSE                                                                                       \
    {                                                                                              \
        "pose", TYPE_MESSAGE, ".foxglove.Pose", false                                              \
    }
#define COLOR                                                                                      \
    {                                                                                              \
        "color", TYPE_MESSAGE, ".foxglove.Color", false                                            \
    }
#define DOUBLE(name)                                                                               \
    {                                                                                              \
        name, TYPE_DOUBLE, NULL, false                                                             \
    }
#define STRING(name)                                                                               \
    {                                                                                              \
        name, TYPE_STRING, NULL, false                                                             \
    }
#define FLAG(name)                                                                                 \
    {                                                                                              \
        name, TYPE_BOOL, NULL, false                                                               \
    }
#define ONE(name, of)                                                                              \
    {                                                                                              \
        name, TYPE_MESSAGE, of, false                                                              \
    }
#define MANY(name, of)                                                                             \
    {                                                                                              \
        name, TYPE_MESSAGE, of, true                                                               \
    }

static const MessageRow timestamp_rows[] = {
    {.name = "Timestamp",
     .fields = {{"seconds", TYPE_INT64, NULL, false}, {"nanos", TYPE_INT32, NULL, false}}},
};

static const MessageRow duration_rows[] = {
    {.name = "Duration",
     .fields = {{"seconds", TYPE_INT64, NULL, false}, {"nanos", TYPE_INT32, NULL, false}}},
};

static const MessageRow foxglove_rows[] = {
    {.name = "Vector3", .fields = {DOUBLE("x"), DOUBLE("y"), DOUBLE("z")}},
    {.name = "Point3", .fields = {DOUBLE("x"), DOUBLE("y"), DOUBLE("z")}},
    {.name = "Quaternion", .fields = {DOUBLE("x"), DOUBLE("y"), DOUBLE("z"), DOUBLE("w")}},
    {.name = "Color", .fields = {DOUBLE("r"), DOUBLE("g"), DOUBLE("b"), DOUBLE("a")}},
    {.name = "Pose",
     .fields = {ONE("position", ".foxglove.Vector3"), ONE("orientation", ".foxglove.Quaternion")}},
    {.name = "KeyValuePair", .fields = {STRING("key"), STRING("value")}},
    {.name = "FrameTransform",
     .fields = {ONE("timestamp", TIME), STRING("parent_frame_id"), STRING("child_frame_id"),
                ONE("translation", ".foxglove.Vector3"), ONE("rotation", ".foxglove.Quaternion")}},
    {.name = "FrameTransforms", .fields = {MANY("transforms", ".foxglove.FrameTransform")}},
    {.name = "ArrowPrimitive",
     .fields = {POSE, DOUBLE("shaft_length"), DOUBLE("shaft_diameter"), DOUBLE("head_length"),
                DOUBLE("head_diameter"), COLOR}},
    {.name = "CubePrimitive", .fields = {POSE, ONE("size", ".foxglove.Vector3"), COLOR}},
    {.name = "SpherePrimitive", .fields = {POSE, ONE("size", ".foxglove.Vector3"), COLOR}},
    {.name = "CylinderPrimitive",
     .fields = {POSE, ONE("size", ".foxglove.Vector3"), DOUBLE("bottom_scale"), DOUBLE("top_scale"),
                COLOR}},
    {.name = "LinePrimitive",
     .fields = {{"type", TYPE_ENUM, ".foxglove.LinePrimitive.Type", false},
                POSE,
                DOUBLE("thickness"),
                FLAG("scale_invariant"),
                MANY("points", ".foxglove.Point3"),
                COLOR,
                MANY("colors", ".foxglove.Color"),
                {"indices", TYPE_FIXED32, NULL, true}},
     .enum_name = "Type",
     .enum_values = {"LINE_STRIP", "LINE_LOOP", "LINE_LIST"}},
    {.name = "TriangleListPrimitive",
     .fields = {POSE,
                MANY("points", ".foxglove.Point3"),
                COLOR,
                MANY("colors", ".foxglove.Color"),
                {"indices", TYPE_FIXED32, NULL, true}}},
    {.name = "TextPrimitive",
     .fields = {POSE, FLAG("billboard"), DOUBLE("font_size"), FLAG("scale_invariant"), COLOR,
                STRING("text")}},
    {.name = "ModelPrimitive",
     .fields = {POSE,
                ONE("scale", ".foxglove.Vector3"),
                COLOR,
                FLAG("override_color"),
                STRING("url"),
                STRING("media_type"),
                {"data", TYPE_BYTES, NULL, false}}},
    {.name = "SceneEntityDeletion",
     .fields = {ONE("timestamp", TIME),
                {"type", TYPE_ENUM, ".foxglove.SceneEntityDeletion.Type", false},
                STRING("id")},
     .enum_name = "Type",
     .enum_values = {"MATCHING_ID", "ALL"}},
    {.name = "SceneEntity",
     .fields =
         {ONE("timestamp", TIME), STRING("frame_id"), STRING("id"),
          ONE("lifetime", ".google.protobuf.Duration"), FLAG("frame_locked"),
          MANY("metadata", ".foxglove.KeyValuePair"), MANY("arrows", ".foxglove.ArrowPrimitive"),
          MANY("cubes", ".foxglove.CubePrimitive"), MANY("spheres", ".foxglove.SpherePrimitive"),
          MANY("cylinders", ".foxglove.CylinderPrimitive"),
          MANY("lines", ".foxglove.LinePrimitive"),
          MANY("triangles", ".foxglove.TriangleListPrimitive"),
          MANY("texts", ".foxglove.TextPrimitive"), MANY("models", ".foxglove.ModelPrimitive")}},
    {.name = "SceneUpdate",
     .fields = {MANY("deletions", ".foxglove.SceneEntityDeletion"),
                MANY("entities", ".foxglove.SceneEntity")}},
    {.name = "PackedElementField",
     .fields = {STRING("name"),
                {"offset", TYPE_FIXED32, NULL, false},
                {"type", TYPE_ENUM, ".foxglove.PackedElementField.NumericType", false}},
     .enum_name = "NumericType",
     .enum_values = {"UNKNOWN", "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "FLOAT32",
                     "FLOAT64"}},
    {.name = "PointCloud",
     .fields = {ONE("timestamp", TIME),
                STRING("frame_id"),
                POSE,
                {"point_stride", TYPE_FIXED32, NULL, false},
                MANY("fields", ".foxglove.PackedElementField"),
                {"data", TYPE_BYTES, NULL, false}}},
};

static const MessageRow plenum_rows[] = {
    {.name = "Probe", .fields = {STRING("name"), DOUBLE("value"), STRING("unit")}},
    {.name = "Probes", .fields = {ONE("timestamp", TIME), MANY("probes", ".plenum.Probe")}},
};

static void describe_field(Proto *out, const FieldRow *row, u32 number)
{
    size_t field = proto_open(out, 2);
    proto_string(out, 1, row->name);
    proto_uint(out, 3, number);
    proto_uint(out, 4, row->repeated ? REPEATED : SINGLE);
    proto_uint(out, 5, row->type);
    if (row->of != NULL) {
        proto_string(out, 6, row->of);
    }
    proto_close(out, field);
}

static void describe_message(Proto *out, const MessageRow *row)
{
    size_t message = proto_open(out, 4);
    proto_string(out, 1, row->name);
    for (u32 i = 0; i < FIELDS_OF_MESSAGE_MAX && row->fields[i].name != NULL; i++) {
        describe_field(out, &row->fields[i], i + 1);
    }
    if (row->enum_name != NULL) {
        size_t nested = proto_open(out, 4);
        proto_string(out, 1, row->enum_name);
        for (u32 i = 0; i < PL_COUNT(row->enum_values) && row->enum_values[i] != NULL; i++) {
            size_t value = proto_open(out, 2);
            proto_string(out, 1, row->enum_values[i]);
            proto_uint(out, 2, i);
            proto_close(out, value);
        }
        proto_close(out, nested);
    }
    proto_close(out, message);
}

typedef struct FileRow {
    const char *name, *package;
    const char *needs[2];
    const MessageRow *messages;
    u32 count;
} FileRow;

static const FileRow file_rows[] = {
    {"google/protobuf/timestamp.proto", "google.protobuf", {NULL, NULL}, timestamp_rows, 1},
    {"google/protobuf/duration.proto", "google.protobuf", {NULL, NULL}, duration_rows, 1},
    {"foxglove/messages.proto",
     "foxglove",
     {"google/protobuf/timestamp.proto", "google/protobuf/duration.proto"},
     foxglove_rows,
     PL_COUNT(foxglove_rows)},
    {"plenum/probes.proto",
     "plenum",
     {"google/protobuf/timestamp.proto", NULL},
     plenum_rows,
     PL_COUNT(plenum_rows)},
};

void foxglove_describe(Proto *out)
{
    for (u32 i = 0; i < PL_COUNT(file_rows); i++) {
        const FileRow *row = &file_rows[i];
        size_t file = proto_open(out, 1);
        proto_string(out, 1, row->name);
        proto_string(out, 2, row->package);
        for (u32 k = 0; k < PL_COUNT(row->needs) && row->needs[k] != NULL; k++) {
            proto_string(out, 3, row->needs[k]);
        }
        for (u32 k = 0; k < row->count; k++) {
            describe_message(out, &row->messages[k]);
        }
        proto_string(out, 12, "proto3");
        proto_close(out, file);
    }
}
