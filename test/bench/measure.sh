# The benchmarks in SQL source this file. With it, they query the server and print what they found, one line per figure,
# with the figure's bound in brackets. Two statements that are compared run in turns. Their figures are the medians of
# their times, the ratio of the medians, and the range of the first statement's times.
# shellcheck shell=bash

# on_server OPTIONS ARG...: runs the script that calls it, with its arguments, on a throw-away server of its own.
on_server() {
    [[ ${ON_SERVER:-} != yes ]] || return 0
    rm -rf "$work"
    export ON_SERVER=yes SERVER_OPTS=$1
    exec "${BASH_SOURCE[0]%/*}/../tools/with_server.sh" "$(realpath "$0")" "${@:2}"
}

runs=${runs:-5}
export PGOPTIONS='-c client_min_messages=warning'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() { psql -XqAt -v ON_ERROR_STOP=1 "$@"; }

# The milliseconds of a query under some settings. With `warm=yes`, the same query runs first in the same session, so
# that its memory has already been touched. (A virtual machine that gives free memory back to its host takes 2.3 s to
# touch a new GB, and 0.1 s for one that was in use just before.)
time_of() {
    run -c "$1" ${warm:+-c "$2"} -c '\timing on' -c "$2" | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p'
}

# A query that returns the CPU seconds its session has used.
# shellcheck disable=SC2034  # for whoever sources this
ticks=$(getconf CLK_TCK)
cpu="SELECT (f[1]::float8 + f[2]::float8) / $ticks FROM (SELECT (regexp_split_to_array(regexp_replace(
    pg_read_file(format('/proc/%s/stat', pg_backend_pid())), '^.*\) ', ''), ' '))[12:13] AS f) AS times"

# peak_of SETTINGS SEE QUERY: the peak of a session's private memory, in MB. The query SEE touches all shared memory
# first.
peak_of() {
    run -c "$1" -c "$2" -c "$3" -c "SELECT pg_read_file(format('/proc/%s/status', pg_backend_pid()))" |
        awk '/^VmHWM/ { all = $2 } /^RssShmem/ { shared = $2 } END { printf "%.0f", (all - shared) / 1024 }'
}

# Whether a figure meets its bound, such as "<= 4" or ">= 1000".
verdict() {
    awk -v value="$1" -v sign="${2%% *}" -v bound="${2##* }" 'BEGIN {
        if (sign == "") exit
        met = sign == "<=" ? value + 0 <= bound + 0 : value + 0 >= bound + 0
        printf "  [%s %s: %s]", sign, bound, met ? "met" : "MISSED"
    }'
}

# The median of numbers, one per line.
middle() { sort -n | awk '{ line[NR] = $0 } END { print line[int((NR + 1) / 2)] }'; }

# figure LABEL VALUE UNIT [BOUND]
figure() {
    printf '%-58s %12s %s%s\n' "$1" "$2" "$3" "$(verdict "$2" "${4:-}")"
}

# compare LABEL SETTINGS QUERY BASE_SETTINGS BASE [BOUND]: runs two queries in turns; prints the medians,
# their ratio and the spread of the first. They stay in $median, $second and $ratio.
compare() {
    local label=$1 settings=$2 query=$3 base_settings=$4 base=$5 bound=${6:-}
    : >"$work/first"
    : >"$work/second"
    for ((turn = 0; turn < runs; turn++)); do
        time_of "$settings" "$query" >>"$work/first"
        time_of "$base_settings" "$base" >>"$work/second"
    done
    paste <(sort -n "$work/first") <(sort -n "$work/second") | awk '
        { a[NR] = $1; b[NR] = $2 }
        END {
            m = int((NR + 1) / 2)
            printf "%.1f %.1f %.2f %.0f %.0f\n", a[m], b[m], a[m] / b[m], a[1], a[NR]
        }' >"$work/medians"
    local least most
    read -r median second ratio least most <"$work/medians"
    printf '%-58s %9.0f ms %9.0f ms  ratio %6.2f  (%s to %s ms)%s\n' \
        "$label" "$median" "$second" "$ratio" "$least" "$most" "$(verdict "$ratio" "$bound")"
}

# latencies ROUNDS CALLS TEXTS SQL...: runs the program $latency, and prints lines of PLACE STATEMENT P50 P99
# P50_OVER_FIRST P99_OVER_P50 LEAST MOST, with medians over the rounds and the spread of P50.
# shellcheck disable=SC2154  # whoever sources this says where it is
latencies() {
    "$latency" "$@" | awk '
        { place[$1]; statement[$3]; rounds = $2; p50[$1, $3, $2] = $4; p99[$1, $3, $2] = $5 }
        function median(values, n,    i, j, t) {
            for (i = 2; i <= n; i++)
                for (j = i; j > 1 && values[j] < values[j - 1]; j--) {
                    t = values[j]; values[j] = values[j - 1]; values[j - 1] = t
                }
            return values[int((n + 1) / 2)]
        }
        END {
            for (p in place) for (s in statement) {
                for (r = 0; r <= rounds; r++) {
                    a[r + 1] = p50[p, s, r]; b[r + 1] = p99[p, s, r]
                    c[r + 1] = p50[p, s, r] / p50[p, 0, r]; d[r + 1] = p99[p, s, r] / p50[p, s, r]
                }
                n = rounds + 1
                m = median(a, n)
                printf "%s %d %.1f %.1f %.2f %.2f %.1f %.1f\n",
                    p, s, m, median(b, n), median(c, n), median(d, n), a[1], a[n]
            }
        }' | sort -k1,1 -k2,2n
}
