#!/usr/bin/env bash
# Runs the built test programs below BUILD/tests, and fuzz targets over their corpora, and adds up
# their results.
# usage: tests/run.sh [--list] BUILD [NAME...]     NAME: only programs whose path contains one of them
# --list: prints the programs that would run.
# Programs without a source file (left from a former build) are not run. Tests of worlds,
# determinism, accuracy and units run side by side, one on each core. As many net and end-to-end
# tests, which mostly wait, run beside them, and twice as many once those are done. The longest
# come first, so that no core idles at the end.
# TEST_TIMEOUT: seconds a program may take (600).
# The last line is "N passed, N failed", counted in test cases; exit 1 if any failed.
set -u
list=
[ "${1:-}" != --list ] || { list=1 && shift; }
[ $# -ge 1 ] || { echo "usage: tests/run.sh [--list] BUILD [NAME...]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 2
build=${1%/}
filters=()
for name in "${@:2}"; do
    filters+=(-e "$name")
done
[ ${#filters[@]} -gt 0 ] || filters=(-e '')
logs=$build/tests/logs
[ -n "$list" ] || mkdir -p "$logs"
log_file="$build/tests/tests.log"
times=$build/tests/times # a line for each program that ran here: seconds, path

# ASan needs no leak report of what a killed child left; all else stops at the first finding.
export ASAN_OPTIONS="halt_on_error=1:abort_on_error=0:detect_leaks=1:strict_string_checks=1:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1:${UBSAN_OPTIONS:-}"
export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1:history_size=7:suppressions=$root/tests/tidy/tsan.txt:${TSAN_OPTIONS:-}"
export CMOCKA_MESSAGE_OUTPUT=stdout
[ -z "${CMOCKA_TEST_FILTER:-}" ] || export CMOCKA_TEST_FILTER

# Under the thread sanitizer, which makes a program ten times slower, those that start no thread have
# nothing to show.
has_threads() {
    case $build in
        *tsan) sed -e 's,/\*.*,,' -e '/^ \*/d' "$1" |
            grep -qE 'jobs_create|threads|pthread_|uv_|source_world|source_recording|survey_|link_thread|process_|app_|private_server' ;;
    esac
}

# Paths such as tests/unit/shared/test_trig, one a line.
list_programs() {
    find "$@" -name 'test_*.c' -o -name 'fuzz_*.c' 2>/dev/null | sort | while read -r source; do
        if has_threads "$source"; then
            echo "${source%.c}"
        fi
    done | grep -F "${filters[@]}" || true
}

if [ -n "$list" ]; then
    for folder in worlds determinism accuracy unit fuzz e2e net; do
        list_programs "tests/$folder"
    done
    exit
fi
rm -f "$logs"/*.log "$logs"/*.code "$logs"/*.time
: > "$log_file"
touch "$times"
: > "$times.now"

# Of the paths on its input: those that never ran here in the order given, then the others, longest
# first.
longest_first() {
    awk -v times="$times" 'BEGIN { while ((getline line < times) > 0) { split(line, of); took[of[2]] = of[1] } }
        { print ($1 in took ? took[$1] : 1e6), $1 }' | sort -s -k1,1nr | cut -d' ' -f2
}

# Runs one program; its output and exit code go to files, so that parallel ones do not mix.
run_one() {
    program=$1
    limit=$2
    name=${program#tests/}
    name=${name//\//.}
    began=$EPOCHSECONDS
    # Mesa's drivers keep memory when they are unloaded, and then have no name to suppress them by.
    leaks=1
    case $program in
        */client/view/* | */client/hand/test_app | */client/hand/test_chooser | tests/net/test_matter | tests/e2e/test_share | tests/e2e/test_film) leaks=0 ;;
    esac
    # Only the cases about threads: the others run none.
    cases=${CMOCKA_TEST_FILTER:-}
    case $build/$program in
        *tsan/tests/accuracy/*) cases=${cases:-*thread*} ;;
        *tsan/tests/determinism/test_branch) cases=${cases:-*goes_on*} ;;
        *tsan/tests/determinism/* | *tsan/tests/unit/server/physics/*)
            ! grep -q 'cmocka_unit_test([a-z_]*thread' "$program.c" || cases=${cases:-*thread*}
            ;;
        *tsan/tests/net/test_fields) cases=${cases:-*playback*} ;;
    esac
    TIMEFORMAT='%3U %3S %3R'
    { time env ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=$leaks" ${cases:+"CMOCKA_TEST_FILTER=$cases"} \
        timeout --kill-after=10 "$limit" "$build/$program" > "$logs/$name.log" 2>&1 < /dev/null
        echo $? > "$logs/$name.code"; } 2> "$logs/$name.time"
    code=$(< "$logs/$name.code")
    read -r user system real < <(tail -n 1 "$logs/$name.time") # after what bash says of a crash
    echo "$real $program" >> "$times.now"
    cpu=$(((10#${user/./} + 10#${system/./} + 500) / 1000)) # from milliseconds
    seconds=$((EPOCHSECONDS - began))
    if [ "$code" -eq 0 ]; then
        echo "ok    $name (${seconds} s, CPU ${cpu} s)"
    else
        echo "FAIL  $name (${seconds} s, CPU ${cpu} s, exit $code)"
    fi
}
export -f run_one
export build logs times

run_list() { # LIMIT PARALLEL PROGRAMS...
    limit=$1
    parallel=$2
    shift 2
    [ $# -gt 0 ] || return 0
    printf '%s\n' "$@" | xargs -P "$parallel" -I{} bash -c 'run_one "$1" "$2"' run {} "$limit"
}

# Takes the first line off the file $waiting and prints it; fails when none is left.
take_waiting() {
    (
        flock 9
        IFS= read -r program < "$waiting" || exit 1
        sed -i 1d "$waiting"
        echo "$program"
    ) 9> "$waiting.lock"
}

run_waiting() { # LIMIT: runs what waits, one after the other
    while program=$(take_waiting); do
        run_one "$program" "$1"
    done
}

missing=0
keep_built() { # prints those of its arguments that are built
    for program in "$@"; do
        if [ -x "$build/$program" ]; then
            echo "$program"
        else
            echo "FAIL  $program is not built in $build" >&2
        fi
    done
}
busy=$(for folder in worlds determinism accuracy unit fuzz; do list_programs "tests/$folder"; done | longest_first)
idle=$(for folder in e2e net; do list_programs "tests/$folder"; done | longest_first)
for program in $busy $idle; do
    [ -x "$build/$program" ] || missing=$((missing + 1))
done
limit=${TEST_TIMEOUT:-600}
waiting=$logs/waiting
# Always in the background: `time` counts all children that its shell reaps meanwhile, so in this
# shell it would count those of the other runners as well.
start_runners() {
    for _ in $(seq "$(nproc)"); do
        run_waiting "$limit" &
    done
}
# shellcheck disable=SC2086  # paths of tests have no blanks
{
    keep_built $idle > "$waiting"
    start_runners
    # shellcheck disable=SC2046
    run_list "$limit" "$(nproc)" $(keep_built $busy)
    start_runners
    wait
}
rm -f "$waiting" "$waiting.lock"
# Of those that did not run now the times stay.
awk '{ took[$2] = $1 } END { for (path in took) print took[path], path }' "$times" "$times.now" > "$times.new"
mv "$times.new" "$times"
rm -f "$times.now"

# cmocka prints "[       OK ] name" and "[  FAILED  ] name" for each case, and the failed ones
# again in its summary; a program that ends badly without a failed case counts as one failed.
count_cases() { # prints "passed failed" of all programs
    for log in "$logs"/*.log; do
        [ -e "$log" ] || continue
        code=1
        [ ! -e "${log%.log}.code" ] || code=$(< "${log%.log}.code")
        echo "$code $log"
    done | awk '{
        code = $1; log_path = $2; ok = 0; bad = 0
        while ((getline line < log_path) > 0) {
            ok += line ~ /^\[       OK \]/
            if (line ~ /^ *[0-9]+ FAILED TEST\(S\)/) { split(line, word); bad += word[1] }
        }
        close(log_path)
        passed += ok; failed += bad > 0 || code == 0 ? bad : 1
    } END { print passed + 0, failed + 0 }'
}
read -r passed failed < <(count_cases)
failed=$((failed + missing))
for log in "$logs"/*.log; do
    [ -e "$log" ] || continue
    code=1
    [ ! -e "${log%.log}.code" ] || code=$(< "${log%.log}.code")
    { echo "==== ${log##*/}: exit $code"; cat "$log"; } >> "$log_file"
    if [ "$code" -ne 0 ]; then
        echo
        echo "---- $(basename "$log" .log): exit $code$([ "$code" -eq 124 ] && echo ' (time-out)')"
        if [ "$(wc -l < "$log")" -gt 200 ]; then
            echo "(the last 200 lines; all are in $log)"
        fi
        tail -n 200 "$log"
    fi
done
echo
echo "log: $log_file"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
