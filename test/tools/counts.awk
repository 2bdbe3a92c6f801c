#!/usr/bin/awk -f
# Passes on what pg_regress, the isolation tester or prove prints, and appends to the file that the environment variable
# COUNTS names how many tests passed and failed, and which failed (test/check.sh says how).

# name_failure(WHAT): a line about a failure; failed(N): so many tests failed.
function name_failure(what) { lines[++names] = "FAILED " what }
function failed(count) { failures += count }

{
    print
    fflush()
}

# "test bands ... ok    9 ms", in parallel groups without "test"; "ok 3     - bands    9 ms" since PostgreSQL 16.
/^(test)? +[[:alnum:]_-]+ +\.\.\. ok/ || /^ok [0-9]+ / { passes++ }
/^(test)? +[[:alnum:]_-]+ +\.\.\. FAILED/ {
    name_failure($1 == "test" ? $2 : $1)
    failed(1)
}
/^not ok [0-9]+ / {
    name_failure($5)
    failed(1)
}

# prove: "Files=41, Tests=1200, ...", and "tap/140_cancel.pl (Wstat: 256 (exited 1) Tests: 9 Failed: 1)" if a test of
# the file failed. A script that dies runs fewer tests than planned, perhaps without a failed test.
!again && sub(/^Files=[0-9]+, Tests=/, "") { passes += $0 }
/^#   Failed test / { name_failure(substr($0, 12)) }
/^tap.*\.pl +\(Wstat: [^0].* Failed: [0-9]+\)$/ {
    name_failure($1)
    failed($NF + 0 > 0 ? $NF + 0 : 1)
    passes -= $NF
}
# The files in which some failed run again. What passes then counts as passed, but has to be mended.
/^=== again/ {
    again = 1
    passes += failures
    failures = 0
    for (i = 1; i <= names; i++)
        sub(/^FAILED/, "UNSTABLE", lines[i])
}

END {
    if (ENVIRON["COUNTS"] == "")
        exit
    printf "passed %d\nfailed %d\n", passes, failures >>ENVIRON["COUNTS"]
    for (i = 1; i <= names; i++)
        is_there[lines[i]]
    for (i = 1; i <= names; i++)
        if (!("FAILED" substr(lines[i], 9) in is_there)) # failed again
            print lines[i] >>ENVIRON["COUNTS"]
}
