// schema.cpp: reads scene.fbs with FlatBuffers' parser. See schema.h.
#include "server/author/schema.h"

#include "scene_schema.h"

#include <flatbuffers/idl.h>

#include <string>

static const char *type_name(const flatbuffers::Type &type)
{
    if (type.enum_def != nullptr) {
        return "enum";
    }
    if (type.base_type == flatbuffers::BASE_TYPE_BOOL) {
        return "bool";
    }
    return flatbuffers::IsScalar(type.base_type) ? "number" : "other";
}

extern "C" bool schema_walk(const char *name,
                            void (*callback)(void *context, const SchemaField *field),
                            void *context)
{
    flatbuffers::Parser parser;
    std::string full = std::string("plenum.scene.") + name;
    if (!parser.Parse(reinterpret_cast<const char *>(scene_schema), nullptr, "scene.fbs")) {
        return false;
    }
    const flatbuffers::StructDef *table = parser.structs_.Lookup(full);
    const flatbuffers::EnumDef *values = parser.enums_.Lookup(full);
    if (table != nullptr) {
        for (const flatbuffers::FieldDef *field : table->fields.vec) {
            SchemaField entry = {field->name.c_str(), type_name(field->value.type),
                                 field->value.constant.c_str()};
            callback(context, &entry);
        }
    } else if (values != nullptr) {
        for (const flatbuffers::EnumVal *value : values->Vals()) {
            std::string number = std::to_string(value->GetAsInt64());
            SchemaField entry = {value->name.c_str(), "enum", number.c_str()};
            callback(context, &entry);
        }
    }
    return table != nullptr || values != nullptr;
}
