/* test_script.c: what --do files may contain, and where the error is reported if they are
 * invalid. */
#include "client/hand/script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static Script *parse(const char *text, ErrorText *error)
{
    return script_parse(text, strlen(text), "test.jsonl", error);
}

static void test_contract(void **state)
{
    (void)state;
    ErrorText error = {0};
    Script *script = parse("{\"t\":1.0,\"grab\":\"box-1\"}\n"
                           "{\"t\":1.2,\"move\":[0,2,0]}\r\n"
                           "\n"
                           "{\"t\":3,\"release\":true}\n"
                           "{\"t\":4,\"push\":\"box-1\",\"impulse\":[0,5,0]}\n"
                           "{\"t\":5,\"control\":\"pause\"}\n"
                           "{\"t\":5,\"control\":\"speed\",\"value\":0.25}\n"
                           "{\"t\":6,\"set\":\"gravity\",\"value\":[0,-1.6,0]}\n"
                           "  {\"t\": 7, \"spawn\" : \"ball\", \"position\": [0, 5, 0]}\n"
                           "{\"t\":8,\"look_from\":[4,3,6],\"look_at\":[0,1,0]}\n"
                           "{\"t\":8,\"grab\":{\"origin\":[0,1,2],\"direction\":[0,0,-2]}}\n"
                           "{\"t\":9,\"dye\":[1,0.25,0]}\n"
                           "{\"t\":9,\"chat\":\"hello\"}",
                           &error);
    if (script == NULL) {
        fail_msg("%s", error.text);
    }
    Script *copy = script_copy(script);
    assert_non_null(copy);
    script_destroy(script);
    Vec3 eye, target;
    assert_false(script_camera(copy, &eye, &target));
    script_destroy(copy);
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *what;
    } wrong[] = {
        {"{\"t\":1,\"grab\":\"a\"}\n{\"t\":2,\"grip\":\"a\"}", "test.jsonl:2:8:", "unknown member"},
        {"{\"t\":1,\"t\":2,\"release\":true}", "test.jsonl:1:8:", "repeated member"},
        {"{\"grab\":\"a\"}", "test.jsonl:1:", "missing member \"t\""},
        {"{\"t\":1,\"move\":[1,2]}", "test.jsonl:1:15:", "[x, y, z]"},
        {"{\"t\":1,\"move\":[1,2,3,4,5]}", "test.jsonl:1:", "more than 4"},
        {"{\"t\":1,\"move\":[1,2,nan]}", "test.jsonl:1:", "expected a number"},
        {"{\"t\":1,\"move\":[1,2,1e30]}", "test.jsonl:1:", "out of range"},
        {"{\"t\":1,\"dye\":[1,2,0]}", "test.jsonl:1:", "dye is out of range"},
        {"{\"t\":1,\"grab\":7}", "test.jsonl:1:15:", "a name or a ray"},
        {"{\"t\":-1,\"release\":true}", "test.jsonl:1:", "negative"},
        {"{\"t\":2,\"release\":true}\n{\"t\":1,\"release\":true}", "test.jsonl:2:", "t decreases"},
        {"{\"t\":1,\"release\":true,\"grab\":\"a\"}", "test.jsonl:1:", "one action"},
        {"{\"t\":1,\"push\":\"a\"}", "test.jsonl:1:", "impulse"},
        {"{\"t\":1,\"control\":\"explode\"}", "test.jsonl:1:", "unknown control"},
        {"{\"t\":1,\"control\":\"speed\"}", "test.jsonl:1:", "need a value"},
        {"{\"t\":1,\"grab\":{\"origin\":[0,0,0],\"direction\":[0,0,0]}}",
         "test.jsonl:1:", "not zero"},
        {"{\"t\":1,\"grab\":\"a\"} x", "test.jsonl:1:", "after the object"},
        {"{\"t\":1,\"grab\":\"a\"", "test.jsonl:1:", "expected '}'"},
        {"{\"t\":1,\"grab\":\"a", "test.jsonl:1:", "expected '\"'"},
        {"{\"t\":1,\"grab\":\"\\u0041\"}", "test.jsonl:1:", "escape"},
        {"[1]", "test.jsonl:1:1:", "expected '{'"},
    };
    for (u32 i = 0; i < PL_COUNT(wrong); i++) {
        ErrorText error = {0};
        Script *script = parse(wrong[i].text, &error);
        if (script != NULL) {
            fail_msg("accepted: %s", wrong[i].text);
        }
        if (strncmp(error.text, wrong[i].where, strlen(wrong[i].where)) != 0 ||
            strstr(error.text, wrong[i].what) == NULL) {
            fail_msg("%s: expected \"%s ... %s\", got \"%s\"", wrong[i].text, wrong[i].where,
                     wrong[i].what, error.text);
        }
    }
}

/* Every prefix of a valid file is read or refused, never read beyond its end. */
static void test_truncated(void **state)
{
    (void)state;
    static const char whole[] = "{\"t\":1,\"push\":{\"origin\":[0,1,2],\"direction\":[0,0,-2]},"
                                "\"impulse\":[0,5e1,0]}\n{\"t\":9,\"chat\":\"\\\"hello\\\"\"}";
    for (size_t bytes = 0; bytes < sizeof whole; bytes++) {
        char *torn = test_malloc(bytes + 1);
        memcpy(torn, whole, bytes);
        ErrorText error = {0};
        Script *script = script_parse(torn, bytes, "torn", &error);
        assert_true((script != NULL) == (error.text[0] == 0));
        script_destroy(script);
        test_free(torn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contract),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_truncated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
