/*
 * test_hud.c: readable quantities, and the range of a plot.
 */
#include "client/hand/hud.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void quantities_have_prefixes_where_the_unit_takes_one(void **state)
{
    (void)state;
    static const struct {
        f64 value;
        const char *unit, *text;
    } cases[] = {
        {850800.0, "J", "851 kJ"},   {3569.0, "J", "3.57 kJ"},  {-2.5e6, "J", "-2.5 MJ"},
        {0.732, "J", "732 mJ"},      {0.00078, "m", "0.78 mm"}, {2.398, "m", "2.4 m"},
        {12000.0, "m", "1.2e+04 m"}, {0.0, "m", "0 m"},         {0.5, "m", "0.5 m"},
        {1e-9, "J", "0 J"},          {42.0, "1", "42"},         {101.0, "", "101"},
        {0.5, "x", "0.5"},           {12.5, "kg", "12.5 kg"},   {-9.81, "m/s^2", "-9.81 m/s^2"},
    };
    for (u32 i = 0; i < PL_COUNT(cases); i++) {
        char text[48];
        hud_quantity(cases[i].value, cases[i].unit, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
    char tight[4];
    hud_quantity(123456.0, "J", tight, sizeof tight);
    assert_int_equal(tight[3], 0);
}

static void a_plot_spans_what_is_known(void **state)
{
    (void)state;
    HudProbe *probe = calloc(1, sizeof *probe);
    assert_non_null(probe);
    f32 low, high;
    /* Three values across the end of the ring; the other slots are undefined. */
    memset(probe->past, 0x7f, sizeof probe->past);
    probe->past[HUD_PLOT_POINTS - 2] = 3.0f;
    probe->past[HUD_PLOT_POINTS - 1] = 5.0f;
    probe->past[0] = 4.0f;
    probe->value = 4.0f;
    probe->count = 3;
    hud_probe_range(probe, 1, &low, &high);
    assert_true(low == 3.0f && high == 5.0f);
    free(probe);
}

static void noise_stays_flat_in_a_plot(void **state)
{
    (void)state;
    HudProbe *probe = calloc(1, sizeof *probe);
    assert_non_null(probe);
    f32 low, high;
    probe->past[0] = 100.0f;
    probe->past[1] = 100.01f;
    probe->value = 100.01f;
    probe->count = 2;
    hud_probe_range(probe, 2, &low, &high);
    assert_true(high - low > 1.9f && low < 100.0f && high > 100.01f);
    /* No values, or all zero: the range must still be positive. */
    memset(probe, 0, sizeof *probe);
    hud_probe_range(probe, 0, &low, &high);
    assert_true(high > low);
    free(probe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities_have_prefixes_where_the_unit_takes_one),
        cmocka_unit_test(a_plot_spans_what_is_known),
        cmocka_unit_test(noise_stays_flat_in_a_plot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
