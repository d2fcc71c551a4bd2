/*
 * main.c: plenum-bench: measures rows whose names start with one of the prefixes given (all
 * without), and prints each as one line of JSON.
 */
#include "shared/base/options.h"
#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Suite {
    const char *name; /* of the row, or the start of the names of its rows */
    const char *about;
    void (*run)(Bench *bench);
} Suite;

static const Suite suites[] = {
    {"calibrate/fma", "multiply-adds out of registers, 1 and 2 threads", bench_calibrate_fma},
    {"calibrate/l2", "triad out of L2, 1 and 2 threads", bench_calibrate_l2},
    {"calibrate/dram", "triad out of memory, 1 and 2 threads", bench_calibrate_dram},
    {"calibrate/line", "a cache line from one core to another, one way", bench_calibrate_line},
    {"world/playground", "one tick with its frame", bench_world_playground},
    {"world/boxes1000", "one tick of 1000 awake boxes", bench_world_boxes1000},
    {"world/paced1000", "the same 60 times a second, with sleep between", bench_world_paced1000},
    {"world/cloth", "one tick of a cloth", bench_world_cloth},
    {"rigid/wall20", "one step of a wall of 210 boxes", bench_rigid_wall20},
    {"rigid/wall100", "of a wall of 5050 boxes", bench_rigid_wall100},
    {"rigid/pyr15", "of a pyramid of 1240 boxes", bench_rigid_pyr15},
    {"rigid/pyr22", "of a pyramid of 3795 boxes", bench_rigid_pyr22},
    {"rigid/drop1000", "of 1000 bodies that fall into a bin", bench_rigid_drop1000},
    {"rigid/drop5000", "of 5000", bench_rigid_drop5000},
    {"rigid/ragdoll200", "of 200 ragdolls", bench_rigid_ragdoll200},
    {"rigid/net50", "of a net of 50 x 50 balls", bench_rigid_net50},
    {"rigid/chain1000", "of 10 chains of 100 links", bench_rigid_chain1000},
    {"rigid/hulls500", "of 500 hulls, cylinders and cones in a bin", bench_rigid_hulls500},
    {"rigid/mesh300", "of 300 bodies of all shapes on a mesh of 8192 triangles",
     bench_rigid_mesh300},
    {"rigid/sleeping_pyr22", "of a pyramid that sleeps", bench_rigid_sleeping},
    {"rigid/memory_drop5000", "bytes a body of the pile of 5000", bench_rigid_memory},
    {"rigid/save_drop5000", "saving the pile; also rigid/load_", bench_rigid_save},
    {"rigid/ray_drop5000", "a ray from above into the pile", bench_rigid_ray},
    {"rigid/quality", "what stacks, walls, slopes and chains of joints hold; other columns",
     bench_rigid_quality},
    {"liquid/pbf5k", "5 ms of a dam break of 5120 particles", bench_liquid_pbf5k},
    {"liquid/pbf20k", "of 20 160", bench_liquid_pbf20k},
    {"liquid/grains20k", "of 20 160 grains, 4 steps", bench_liquid_grains20k},
    {"liquid/pbf100k", "of 100 800", bench_liquid_pbf100k},
    {"liquid/tick20k", "a tick of 1/60 s of 20 160", bench_liquid_tick20k},
    {"liquid/asleep20k", "of 20 160 that sleep; _share: of what it cost while it moved",
     bench_liquid_asleep20k},
    {"liquid/plain20k", "a plain scalar PBF of 4 iterations, 20 160", bench_liquid_plain20k},
    {"grid/smoke2d256", "a step of a plume in 256 x 256 cells to a residual of 1e-3",
     bench_grid_smoke2d},
    {"grid/smoke64", "the same in 64 x 64 x 64; also its share of bandwidth", bench_grid_smoke64},
    {"grid/smoke_sparse128", "a plume in 128 x 128 x 128 cells, a part of its bricks awake",
     bench_grid_sparse},
    {"grid/smoke_plain", "a plain scalar step of 40 Jacobi iterations in 2-D and 3-D",
     bench_grid_plain},
    {"grid/wave512", "a step of the wave equation on 512 x 512 cells; also its share of bandwidth",
     bench_wave512},
    {"grid/wave_plain512", "the same by a plain scalar loop", bench_wave_plain512},
    {"grid/shallow512", "a step of shallow water over hills on 512 x 512 cells; also its share",
     bench_shallow512},
    {"grid/shallow_plain512", "a plain scalar MUSCL-Heun step of the same", bench_shallow_plain512},
    {"soft/cloth50", "a tick of 10 steps of a cloth of 50 x 50 points", bench_soft_cloth50},
    {"soft/cloth100", "of 100 x 100", bench_soft_cloth100},
    {"soft/tets5k", "of a block of 5000 tetrahedra", bench_soft_tets5k},
    {"soft/bodies16", "of 16 blocks of 1080", bench_soft_bodies16},
    {"soft/rope", "of 10 ropes of 1000 points", bench_soft_rope},
    {"soft/heap100", "of a cloth of 100 x 100 points in folds upon itself", bench_soft_heap100},
    {"soft/quality", "drop of a cantilever by stiffness and steps a tick; other columns",
     bench_soft_quality},
    {"particles/free100k", "a tick of 100 000 particles over boxes; _plain: one after the other",
     bench_particles_free100k},
    {"particles/nbody10k", "forces among 10 000 bodies by a tree; _direct: by all pairs",
     bench_particles_nbody10k},
    {"particles/boids10k", "steering of 10 000 boids; _plain: one neighbour after the other",
     bench_particles_boids10k},
    {"net/encode_playground", "a snapshot for 1 and 64 clients; also net/bytes_, net/encoded_once_",
     bench_encode_playground},
    {"net/encode_boxes1000", "the same with 1000 awake boxes", bench_encode_boxes1000},
    {"net/bits", "bits a point in packets of liquids and sand, first and after 6 s", bench_bits},
    {"net/encode64x901",
     "a tick of 901 cubes for 64 clients: acks, encoding, sealing; _mixed: acks of 12 ages, "
     "_details: four lines",
     bench_encode64x901},
    {"net/bots64", "a server and 64 clients that play, a process each; also _client, _rtt",
     bench_bots64},
    {"net/hop", "a relay with one client: _hop is how much later a tick is there", bench_hop},
    {"net/nats1",
     "a world that is published to NATS and followed: _lag behind the root, beside a plain "
     "relay's; _follower, _broker",
     bench_nats1},
    {"net/nats64", "the same with 64 small worlds on this machine, one of them followed",
     bench_nats64},
    {"net/relays1", "a relay of a server, with 64 clients that play; also _viewer, _hop, _joins",
     bench_relays1},
    {"net/relays4", "the same with four, each with its 64", bench_relays4},
    {"net/relays16", "sixteen of four of a server, 1024 clients at 5 snapshots a second; _between",
     bench_relays16},
    {"net/join10M", "a join with 10 MB at 50 Mbit/s, 100 ms, loss 0, 1, 5 %; also _cpu",
     bench_join10M},
    {"net/join_cpu", "what a join costs the host's main thread, beyond having the client there",
     bench_join_cpu},
    {"net/join64k", "until the picture is whole, at 64 kbit/s: 50 ms; 400 ms and 30 % loss",
     bench_join_narrow},
    {"client/show20k", "one picture of 20 000 points on their way", bench_client_show},
    {"client/liquid20k", "a picture of 20 000 points as a liquid; also _without them",
     bench_client_liquid},
    {"client/grains20k", "the same as grains", bench_client_grains},
    {"client/sprites20k", "the same as billboards", bench_client_sprites},
    {"client/judder", "evenness and delay of the shown motion over bad networks; other columns",
     bench_client_judder},
    {"record/write", "recording one tick of playground", bench_record_write},
    {"record/seek", "a jump in a minute of playground; _smoke in ten seconds of smoke",
     bench_record_seek},
    {"record/hour",
     "a jump in an hour of playground with three people, its size, and a minute at 60 to 15 Hz",
     bench_record_hour},
    {"record/cubes901", "recording 901 cubes, the file's bytes a frame; _push, _roll",
     bench_record_cubes},
    {"record/liquid20k",
     "recording 20 000 points of liquid at 1 mm, the file's bits a point and frame; _20 as servers "
     "do; _deltas without keys",
     bench_record_liquid},
};

/* Takes minutes: only if asked for. */
static bool is_slow(const Suite *suite)
{
    return suite->run == bench_record_hour;
}

static bool wanted(const Suite *suite, char **prefixes, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        if (strncmp(suite->name, prefixes[i], strlen(prefixes[i])) == 0) {
            return true;
        }
    }
    return count == 0 && !is_slow(suite);
}

static void list_suites(void)
{
    for (u32 i = 0; i < PL_COUNT(suites); i++) {
        printf("%-24s %s\n", suites[i].name, suites[i].about);
    }
}

static int run_suites(Bench *bench, char **prefixes, u32 count)
{
    u32 ran = 0;
    bench->samples = malloc(BENCH_SAMPLES_MAX * sizeof *bench->samples);
    bench->jobs = jobs_create(bench->threads);
    if (bench->samples == NULL || bench->jobs == NULL) {
        fprintf(stderr, "plenum-bench: out of memory\n");
        return EXIT_CHECK_FAILED;
    }
    bench->fma_gflops = bench_fma_gflops();
    for (u32 i = 0; i < PL_COUNT(suites); i++) {
        if (wanted(&suites[i], prefixes, count)) {
            suites[i].run(bench);
            ran++;
        }
    }
    jobs_destroy(bench->jobs);
    free(bench->samples);
    if (ran == 0) {
        fprintf(stderr, "plenum-bench: no row starts with '%s'; --list shows all\n", prefixes[0]);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "codec") == 0) {
        return bench_codec_command(argc - 1, argv + 1);
    }
    if (argc > 1 && strcmp(argv[1], "net-matrix") == 0) {
        return bench_net_matrix_command(argc - 1, argv + 1);
    }
    if (argc > 1 && strcmp(argv[1], "truth") == 0) {
        return bench_truth_command(argc - 1, argv + 1);
    }
    Bench bench = {.threads = 1, .seconds = 1.0, .runs = BENCH_RUNS};
    bool list = false;
    const Option rows[] = {
        {"threads", 't', OPTION_U32, &bench.threads, 1, THREADS_MAX, "N",
         "workers of the world rows; rigid rows are measured with 1 and with N"},
        {"seconds", 's', OPTION_F64, &bench.seconds, 0, 3600, "S",
         "measure each row at least so long"},
        {"runs", 'r', OPTION_U32, &bench.runs, 1, 1000, "N", "runs of each row, at least"},
        {"list", 'l', OPTION_FLAG, &list, 0, 0, NULL, "list the rows"},
    };
    const OptionTable table = {
        .program = "plenum-bench",
        .synopsis = "[options] [PREFIX...]",
        .about = "Measures the rows whose names start with a PREFIX (without one all that "
                 "do not\ntake minutes) and prints "
                 "a line of\nJSON for each: name, n (size of the work), threads, median and p99 in "
                 "unit, rate in rate_unit,\nand per_fma: the rate for each GFLOP/s that one thread "
                 "of this machine reached in this run.",
        .rows = rows,
        .count = PL_COUNT(rows),
        .operands_max = 64,
    };
    ErrorText error = {0};
    char **prefixes = NULL;
    u32 count = 0;
    int result = options_parse(&table, argc, argv, &prefixes, &count, &error);
    if (result < 0) {
        fprintf(stderr, "plenum-bench: %s\n", error.text);
        return EXIT_USAGE;
    }
    if (result > 0) {
        return EXIT_OK;
    }
    if (list) {
        list_suites();
        return EXIT_OK;
    }
    return run_suites(&bench, prefixes, count);
}
