/*
 * bench.h: the framework of plenum-bench: a row is a function that is measured at least five times
 * and printed as one line of JSON.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_BENCH_BENCH_H
#define PLENUM_TESTS_BENCH_BENCH_H

#include "protocol/field/frame.h"
#include "server/world/world.h"

enum {
    /* Runs of a row unless told: its figures are over the samples of all of them. */
    BENCH_RUNS = 5,
    BENCH_SAMPLES_MAX = 1 << 20,
};

typedef struct Bench {
    u32 threads;      /* --threads */
    f64 seconds;      /* a row continues until it has taken that long (and at least its runs) */
    u32 runs;         /* of a row, at least */
    f64 fma_gflops;   /* of one thread in this run, for per_fma */
    Jobs *jobs;       /* of --threads */
    f64 *samples;     /* [BENCH_SAMPLES_MAX] */
    u32 sample_count; /* of the row being measured */
    u64 row_began_ns;
    u32 row_runs;
    f64 best; /* least median of a run, in the unit of the samples; 0: not known */
} Bench;

/* A measured figure and the corresponding throughput. */
typedef struct BenchRow {
    const char *name;
    u64 n; /* size of the work: bodies, clients, bytes, ... */
    u32 threads;
    const char *unit;      /* of the samples */
    f64 rate;              /* 0: none */
    const char *rate_unit; /* "" where there is none */
} BenchRow;

/* Starts a row: no samples yet. */
void bench_begin(Bench *bench);
void bench_sample(Bench *bench, f64 value);
/* True while the row needs another run; counts the runs. */
bool bench_again(Bench *bench);
/* Median of the samples so far. */
f64 bench_median(Bench *bench);
/* Prints the row of the samples. */
void bench_print(Bench *bench, const BenchRow *row);
/* After a row in ms of a step over that many cells: prints another row: the memory traffic,
 * bytes_of_cell, as a fraction of the bandwidth of a copy of the same size in this run. */
void bench_bandwidth(Bench *bench, const char *name, u64 cells, u64 bytes_of_cell);

/* Loads a scene of shared/scenes; stops the program with a text if it cannot. */
Scene *bench_scene(const char *name);
/* A fresh world of it on the bench's pool. */
World *bench_world(Bench *bench, const Scene *scene);
/* Ticks of a fresh world, recorded as frames [count]; the caller releases each and frees. */
Frame **bench_frames(Bench *bench, const Scene *scene, u32 count);
void bench_frames_free(Frame **frames, u32 count);
/* The memory; out of it, the program ends. */
void *bench_must(void *memory);
/* Zeros from calloc; out of memory, the program ends. */
void *bench_get(size_t count, size_t bytes);
/* Writes a file; false, having said so, if it cannot or size is 0. */
bool bench_write(const char *path, const u8 *content, size_t size);

/* `plenum-bench codec ...`: returns the exit code. */
int bench_codec_command(int argc, char **argv);
/* `plenum-bench net-matrix ...`: the same. */
int bench_net_matrix_command(int argc, char **argv);
/* `plenum-bench truth ...`: the same. */
int bench_truth_command(int argc, char **argv);

/* The rows, by file. */
f64 bench_fma_gflops(void);
void bench_calibrate_fma(Bench *bench);
void bench_calibrate_l2(Bench *bench);
void bench_calibrate_dram(Bench *bench);
void bench_calibrate_line(Bench *bench);
void bench_world_playground(Bench *bench);
void bench_world_boxes1000(Bench *bench);
void bench_world_paced1000(Bench *bench);
void bench_world_cloth(Bench *bench);
void bench_encode_playground(Bench *bench);
void bench_encode_boxes1000(Bench *bench);
void bench_bits(Bench *bench);
void bench_encode64x901(Bench *bench);
void bench_bots64(Bench *bench);
void bench_hop(Bench *bench);
void bench_relays1(Bench *bench);
void bench_relays4(Bench *bench);
void bench_relays16(Bench *bench);
void bench_nats1(Bench *bench);
void bench_nats64(Bench *bench);
void bench_join10M(Bench *bench);
void bench_join_cpu(Bench *bench);
void bench_join_narrow(Bench *bench);
void bench_client_judder(Bench *bench);
void bench_client_show(Bench *bench);
void bench_client_liquid(Bench *bench);
void bench_client_grains(Bench *bench);
void bench_client_sprites(Bench *bench);
void bench_record_write(Bench *bench);
void bench_record_seek(Bench *bench);
void bench_record_hour(Bench *bench);
void bench_record_cubes(Bench *bench);
void bench_record_liquid(Bench *bench);
void bench_rigid_wall20(Bench *bench);
void bench_rigid_wall100(Bench *bench);
void bench_rigid_pyr15(Bench *bench);
void bench_rigid_pyr22(Bench *bench);
void bench_rigid_drop1000(Bench *bench);
void bench_rigid_drop5000(Bench *bench);
void bench_rigid_ragdoll200(Bench *bench);
void bench_rigid_net50(Bench *bench);
void bench_rigid_chain1000(Bench *bench);
void bench_rigid_hulls500(Bench *bench);
void bench_rigid_mesh300(Bench *bench);
void bench_rigid_memory(Bench *bench);
void bench_rigid_save(Bench *bench);
void bench_rigid_ray(Bench *bench);
void bench_rigid_sleeping(Bench *bench);
void bench_rigid_quality(Bench *bench);
void bench_liquid_pbf5k(Bench *bench);
void bench_liquid_pbf20k(Bench *bench);
void bench_liquid_grains20k(Bench *bench);
void bench_liquid_pbf100k(Bench *bench);
void bench_liquid_tick20k(Bench *bench);
void bench_liquid_asleep20k(Bench *bench);
void bench_liquid_plain20k(Bench *bench);
void bench_wave512(Bench *bench);
void bench_wave_plain512(Bench *bench);
void bench_shallow512(Bench *bench);
void bench_shallow_plain512(Bench *bench);
void bench_grid_smoke2d(Bench *bench);
void bench_grid_smoke64(Bench *bench);
void bench_grid_sparse(Bench *bench);
void bench_grid_plain(Bench *bench);
void bench_soft_cloth50(Bench *bench);
void bench_soft_cloth100(Bench *bench);
void bench_soft_tets5k(Bench *bench);
void bench_soft_bodies16(Bench *bench);
void bench_soft_rope(Bench *bench);
void bench_soft_heap100(Bench *bench);
void bench_soft_quality(Bench *bench);
void bench_particles_free100k(Bench *bench);
void bench_particles_nbody10k(Bench *bench);
void bench_particles_boids10k(Bench *bench);

#endif
