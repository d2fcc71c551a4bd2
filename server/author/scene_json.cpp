// scene_json.cpp: FlatBuffers' JSON parser behind scene_json.h. The parser knows the schema; its
// errors know a line and a column but not the field, so a small scanner finds the field's path.
#include "server/author/scene_json.h"

#include "scene_schema.h"
#include "shared/base/limits.h"

#include <flatbuffers/idl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace
{

// Scans possibly invalid JSON and tracks the current path. It never validates:
// it only has to agree with the parser on text that the parser accepted so far.
class Scanner
{
  public:
    Scanner(const char *json, size_t bytes) : at_(json), start_(json), end_(json + bytes)
    {
    }

    // Stops at the first token that starts at or after `offset`.
    void run_to(size_t offset)
    {
        while (next() && (size_t)(token_ - start_) < offset) {
            consume();
        }
    }
    // Stops at the value whose path is `path`; afterwards found() is the offset of it, or of the
    // innermost container on the way.
    void run_to_path(const std::string &path)
    {
        while (next()) {
            bool value = is_value();
            consume();
            if (!value) {
                continue;
            }
            bool exact = last_value_ == path;
            bool outer = path.compare(0, last_value_.size(), last_value_) == 0 &&
                         (path[last_value_.size()] == '.' || path[last_value_.size()] == '[');
            if (exact || outer) {
                found_ = last_key_;
            }
            if (exact) {
                return;
            }
        }
    }
    size_t found() const
    {
        return found_;
    }
    // Path of the last value or key begun.
    const std::string &value_path() const
    {
        return last_value_;
    }
    // Path of the innermost object or array that is open.
    std::string container_path() const
    {
        return stack_.empty() ? std::string() : stack_.back().path;
    }
    // Path of the object or array closed last, not counting the newest token: the parser looks one
    // token ahead.
    const std::string &closed_path() const
    {
        return at_ < end_ ? closed_before_ : closed_;
    }

  private:
    struct Level {
        std::string path;
        bool array;
        u32 index;
        std::string key; // of the value that comes next, if have_key
        bool have_key;
        size_t key_offset;
    };

    bool next()
    {
        for (;;) {
            while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) {
                at_++;
            }
            // The parser accepts comments, so the scanner must.
            if (end_ - at_ >= 2 && at_[0] == '/' && at_[1] == '/') {
                at_ = std::find(at_, end_, '\n');
            } else if (end_ - at_ >= 2 && at_[0] == '/' && at_[1] == '*') {
                static const char close[] = {'*', '/'};
                const char *stop = std::search(at_ + 2, end_, close, close + 2);
                at_ = stop == end_ ? end_ : stop + 2;
            } else {
                break;
            }
        }
        token_ = at_;
        return at_ < end_;
    }
    bool is_value() const
    {
        bool key = !stack_.empty() && !stack_.back().array && !stack_.back().have_key;
        return !key && strchr("}],:", *token_) == nullptr;
    }
    void begin_value()
    {
        if (stack_.empty()) {
            last_value_.clear();
            last_key_ = (size_t)(token_ - start_);
            return;
        }
        Level &level = stack_.back();
        if (level.array) {
            last_value_ = level.path + "[" + std::to_string(level.index) + "]";
            last_key_ = (size_t)(token_ - start_);
        } else {
            last_value_ = level.path.empty() ? level.key : level.path + "." + level.key;
            last_key_ = level.key_offset;
        }
    }
    std::string scan_string()
    {
        const char *first = ++at_;
        while (at_ < end_ && *at_ != '"' && *at_ != '\n') {
            at_ += *at_ == '\\' && end_ - at_ > 1 ? 2 : 1;
        }
        std::string text(first, (size_t)(at_ - first));
        at_ += at_ < end_ ? 1 : 0;
        return text;
    }
    void consume()
    {
        char c = *at_;
        bool value = is_value();
        closed_before_ = closed_;
        if (value) {
            begin_value();
        }
        if (c == '{' || c == '[') {
            // Deeper than the parser allows: it has stopped before.
            if (stack_.size() >= 2 * FLATBUFFERS_MAX_PARSING_DEPTH) {
                at_ = end_;
                return;
            }
            stack_.push_back(Level{last_value_, c == '[', 0, std::string(), false, 0});
            at_++;
        } else if (c == '}' || c == ']') {
            if (!stack_.empty()) {
                closed_ = stack_.back().path;
                stack_.pop_back();
            }
            at_++;
        } else if (c == ',') {
            if (!stack_.empty()) {
                stack_.back().index++;
                stack_.back().have_key = false;
            }
            at_++;
        } else if (c == ':') {
            at_++;
        } else if (c == '"' && !value) {
            Level &level = stack_.back();
            level.key_offset = (size_t)(token_ - start_);
            level.key = scan_string();
            level.have_key = true;
            last_value_ = level.path.empty() ? level.key : level.path + "." + level.key;
        } else if (c == '"') {
            scan_string();
        } else {
            do {
                at_++;
            } while (at_ < end_ && strchr(" \t\r\n{}[],:\"", *at_) == nullptr);
        }
    }

    const char *at_;
    const char *start_;
    const char *end_;
    const char *token_ = nullptr;
    size_t found_ = 0;
    size_t last_key_ = 0;
    std::string last_value_;
    std::string closed_, closed_before_;
    std::vector<Level> stack_;
};

u32 line_of(const char *json, size_t bytes, size_t offset)
{
    return 1 + (u32)std::count(json, json + std::min(bytes, offset), '\n');
}

// The definition of the table at a path, or nullptr; if the path ends at a scalar, its field.
const flatbuffers::StructDef *table_at(const flatbuffers::Parser &parser, const std::string &path,
                                       const flatbuffers::FieldDef **field)
{
    const flatbuffers::StructDef *table = parser.root_struct_def_;
    *field = nullptr;
    size_t at = 0;
    while (table != nullptr && at < path.size()) {
        size_t stop = std::min(path.find_first_of(".[", at), path.size());
        *field = table->fields.Lookup(path.substr(at, stop - at));
        if (*field == nullptr) {
            return nullptr;
        }
        const flatbuffers::Type &type = (*field)->value.type;
        table = type.struct_def;
        at = path.find('.', stop);
        at = at == std::string::npos ? path.size() : at + 1;
    }
    return table;
}

// Levenshtein distance, for "did you mean".
size_t distance(const std::string &a, const std::string &b)
{
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a.size(); i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); j++) {
            size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

// Keys of older versions.
const struct {
    const char *before, *now;
} renamed[] = {{"softs", "soft_bodies"}, {"spin", "angular_velocity"}, {"look", "appearance"}};

std::string known_fields(const flatbuffers::StructDef *table, const std::string &wrong)
{
    if (table == nullptr) {
        return "see protocol/scene/scene.fbs";
    }
    for (const auto &key : renamed) {
        if (wrong == key.before && table->fields.Lookup(key.now) != nullptr) {
            return "it is now \"" + std::string(key.now) + "\"";
        }
    }
    std::string all;
    for (const flatbuffers::FieldDef *field : table->fields.vec) {
        if (wrong.size() < 64 && distance(field->name, wrong) <= (wrong.size() < 4 ? 1u : 2u)) {
            return "did you mean \"" + field->name + "\"?";
        }
        all += (all.empty() ? "" : ", ") + field->name;
    }
    return table->name + " has " + all;
}

std::string starts_of_enum(const flatbuffers::FieldDef *field)
{
    if (field == nullptr || field->value.type.enum_def == nullptr) {
        return std::string();
    }
    std::string all;
    for (const flatbuffers::EnumVal *value : field->value.type.enum_def->Vals()) {
        all += (all.empty() ? "" : ", ") + ("\"" + value->name + "\"");
    }
    return "; one of " + all;
}

// Text after the first occurrence of `mark`, or an empty string.
std::string after(const std::string &text, const char *mark)
{
    size_t at = text.find(mark);
    return at == std::string::npos ? std::string() : text.substr(at + strlen(mark));
}

// Names appear in one-line errors; a scene is untrusted.
std::string printable(std::string text)
{
    for (char &c : text) {
        c = (unsigned char)c < 0x20 || c == 0x7F ? '?' : c;
    }
    return text.substr(0, 160);
}

// "LINE: COLUMN: error: what" -> "name:LINE: field: what; what would be right".
void explain(const flatbuffers::Parser &parser, const char *json, size_t bytes, const char *name,
             ErrorText *error)
{
    const std::string &raw = parser.error_;
    std::string what = after(raw, "error: ");
    what = what.substr(0, what.find('\n'));
    unsigned long line = 0, column = 0;
    sscanf(raw.c_str(), "%lu: %lu", &line, &column);
    line = line == 0 ? 1 : line;
    size_t offset = 0;
    for (unsigned long i = 1; i < line && offset < bytes; i++) {
        const void *newline = memchr(json + offset, '\n', bytes - offset);
        offset = newline != nullptr ? (size_t)((const char *)newline - json) + 1 : bytes;
    }
    Scanner scanner(json, bytes);
    scanner.run_to(offset + column);

    std::string field = scanner.value_path();
    std::string right;
    const flatbuffers::FieldDef *definition = nullptr;
    std::string unknown = after(what, "unknown field: ");
    std::string missing = after(what, "required field is missing: ");
    if (!unknown.empty()) {
        std::string container = scanner.container_path();
        const flatbuffers::StructDef *table = table_at(parser, container, &definition);
        // The parser reads one token ahead: the bracket of a list or object that is the value.
        size_t cut = container.size() > unknown.size() ? container.size() - unknown.size() - 1 : 0;
        if (table == nullptr &&
            container.compare(cut + (cut != 0), std::string::npos, unknown) == 0) {
            container.resize(cut);
            table = table_at(parser, container, &definition);
        }
        field = container.empty() ? unknown : container + "." + unknown;
        what = "unknown field";
        right = "; " + known_fields(table, unknown);
    } else if (!missing.empty()) {
        std::string member = missing.substr(0, missing.find(' '));
        std::string closed = scanner.closed_path();
        field = closed.empty() ? member : closed + "." + member;
        line = scene_json_line(json, bytes, closed.c_str());
        what = "missing";
        right = "; every " + after(missing, " in ") + " needs one";
    } else {
        table_at(parser, field, &definition);
        right = starts_of_enum(definition);
    }
    field = field.empty() ? "scene" : field;
    error_set(error, ERROR_FORMAT, "%s:%lu: %s: %s%s", name, line, printable(field).c_str(),
              printable(what).c_str(), right.c_str());
}

u8 *encode(const char *json, size_t bytes, const char *name, u32 *encoded_bytes, ErrorText *error)
{
    const void *zero = memchr(json, 0, bytes);
    if (zero != nullptr) {
        u32 line = line_of(json, bytes, (size_t)((const char *)zero - json));
        error_set(error, ERROR_FORMAT, "%s:%u: scene: a zero byte in the text; JSON is plain text",
                  name, line);
        return nullptr;
    }
    flatbuffers::IDLOptions options;
    options.strict_json = true;
    options.skip_unexpected_fields_in_json = false;
    options.allow_non_utf8 = false;
    flatbuffers::Parser parser(options);
    std::string schema(reinterpret_cast<const char *>(scene_schema));
    std::string text(json, bytes);
    if (!parser.Parse(schema.c_str(), nullptr, "scene.fbs")) {
        error_set(error, ERROR_FORMAT, "scene.fbs: %s", printable(parser.error_).c_str());
        return nullptr;
    }
    // Without a name, which the parser would turn into an absolute path and open.
    if (!parser.ParseJson(text.c_str(), nullptr)) {
        explain(parser, json, bytes, name, error);
        return nullptr;
    }
    u32 size = parser.builder_.GetSize();
    u8 *copy = (u8 *)malloc(size);
    if (copy == nullptr) {
        error_set(error, ERROR_MEMORY, "%s: out of memory", name);
        return nullptr;
    }
    memcpy(copy, parser.builder_.GetBufferPointer(), size);
    *encoded_bytes = size;
    return copy;
}

} // namespace

extern "C" u8 *scene_json_encode(const char *json, size_t bytes, const char *name,
                                 u32 *encoded_bytes, ErrorText *error)
{
    try {
        return encode(json, bytes, name, encoded_bytes, error);
    } catch (const std::bad_alloc &) {
        error_set(error, ERROR_MEMORY, "%s: out of memory", name);
        return nullptr;
    }
}

extern "C" u32 scene_json_line(const char *json, size_t bytes, const char *path)
{
    try {
        Scanner scanner(json, bytes);
        scanner.run_to_path(path);
        return line_of(json, bytes, scanner.found());
    } catch (const std::bad_alloc &) {
        return 1;
    }
}
