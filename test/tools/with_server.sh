#!/usr/bin/env bash
# Runs a command with a throw-away PostgreSQL server.
#
#   with_server.sh COMMAND [ARG...]
#
# COMMAND finds the server through PGHOST, PGPORT, PGUSER and PGDATABASE, so that plain `psql` reaches it. The exit
# status is COMMAND's. The server and all of its files are removed afterwards, even after an error, Ctrl-C or a TERM.
#
# Environment: PG_CONFIG    pg_config of the PostgreSQL to use
#              INITDB_OPTS  further options of initdb, e.g. "--locale=C"
#              SERVER_OPTS  further settings, e.g. "-c shared_buffers=1GB"
#              SERVER_ENV   environment of the server, e.g. "TZ=UTC LC_MESSAGES=C"
#              SERVER_PROGRAM  what to start instead of postgres, e.g. a script that runs it in a debugger
set -euo pipefail

if (($# == 0)); then
    echo "usage: $0 COMMAND [ARG...]" >&2
    exit 2
fi

bindir=$("${PG_CONFIG:-pg_config}" --bindir)
if [[ ! -x $bindir/initdb || ! -x $bindir/pg_ctl ]]; then
    echo "$0: no PostgreSQL server in $bindir (set PG_CONFIG)" >&2
    exit 1
fi

# PostgreSQL refuses to run as root.
server_user=
if ((EUID == 0)); then
    server_user=postgres
    id -u postgres >/dev/null 2>&1 || server_user=nobody
fi

# Runs a program as the server's user, in a directory that user may enter.
as_server() {
    if [[ -n $server_user ]]; then
        (cd / && exec runuser -u "$server_user" -- "$@")
    else
        (cd / && exec "$@")
    fi
}

dir=
child=

# Stops a process and all of its descendants: a shell that receives a signal does not pass it on to the program it is
# waiting for.
# shellcheck disable=SC2317,SC2329  # called by clean_up
kill_tree() {
    local pid children
    children=$(cat "/proc/$1/task/$1/children" 2>/dev/null) || true
    # The parent is stopped first, or it might start its next command.
    kill -TERM "$1" 2>/dev/null || true
    for pid in $children; do
        kill_tree "$pid"
    done
}

# shellcheck disable=SC2317,SC2329  # called by the traps below
clean_up() {
    # A second Ctrl-C must not interrupt the clean-up.
    trap '' INT TERM HUP
    if [[ -n $child ]]; then
        kill_tree "$child"
    fi
    if [[ -z $dir ]]; then
        return
    fi
    if [[ -e $dir/data/postmaster.pid ]]; then
        # The mode is "immediate", because nothing of the server is kept. If the server has been killed, this fails at
        # once; if it hangs, after the timeout.
        as_server "$bindir/pg_ctl" -D "$dir/data" -m immediate -t 20 stop \
            >/dev/null 2>&1 || true
    fi
    local crash='was terminated by signal|PANIC:|TRAP:|runtime error:|AddressSanitizer:|Assertion '
    if grep -qsE "$crash" "$dir/server.log"; then
        echo "$0: the server crashed; its log from there on:" >&2
        grep -m 1 -A 30 -E "$crash" "$dir/server.log" >&2
    fi
    # A process of a killed server may still be writing: try twice.
    rm -rf "$dir" 2>/dev/null || { sleep 2 && rm -rf "$dir"; } || true
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

make_dir() {
    dir=$(mktemp -d "$1/pg.XXXXXX") || return 1
    if [[ -n $server_user ]]; then
        # Root and the server can reach the socket, but nobody else can: every client that reaches it is let in as a
        # superuser.
        chgrp "$(id -g "$server_user")" "$dir"
        chmod 0770 "$dir"
    fi
    as_server test -w "$dir" 2>/dev/null
}

# A socket's path is limited to about 107 bytes, and the server must be able to enter the directory; /tmp works if
# $TMPDIR does not.
parent=${TMPDIR:-/tmp}
if [[ ! $parent =~ ^/[A-Za-z0-9/._+-]{0,70}$ ]] || ! make_dir "$parent" 2>/dev/null; then
    rm -rf "$dir"
    make_dir /tmp || { echo "$0: cannot use /tmp" >&2; exit 1; }
fi

failed() {
    cat "$dir/setup.log" "$dir/server.log" >&2 2>/dev/null || true
    echo "$0: $1 failed" >&2
    exit 1
}

# The superuser is not called postgres, because no test may depend on the name.
superuser=tester

# Not quoted, so that the options are split at blanks, as make does with its variables.
read -r -a initdb_opts <<<"${INITDB_OPTS:-}"
as_server "$bindir/initdb" -D "$dir/data" -U "$superuser" --no-sync --auth=trust \
    --encoding=UTF8 --locale=C.UTF-8 "${initdb_opts[@]}" >"$dir/setup.log" 2>&1 ||
    failed initdb

# A throw-away server need not survive a crash of the machine.
cat >>"$dir/data/postgresql.conf" <<CONF
listen_addresses = ''
port = 5432
unix_socket_directories = '$dir'
fsync = off
synchronous_commit = off
full_page_writes = off
max_wal_size = 8GB
CONF

read -r -d '' -a server_env <<<"${SERVER_ENV:-}" || true
as_server env "${server_env[@]}" "$bindir/pg_ctl" -D "$dir/data" -l "$dir/server.log" -w -t 60 \
    ${SERVER_PROGRAM:+-p "$SERVER_PROGRAM"} -o "${SERVER_OPTS:-}" start >"$dir/setup.log" 2>&1 </dev/null ||
    failed "starting the server"

# The user's own connection settings would lead elsewhere.
unset PGSERVICE PGHOSTADDR PGREQUIREPEER PGCHANNELBINDING PGTARGETSESSIONATTRS
export PGHOST=$dir PGPORT=5432 PGUSER=$superuser PGDATABASE=postgres

# COMMAND runs in the background, because bash answers a signal at once only while it
# is in `wait`. A background command would have no standard input and ignore
# Ctrl-C, hence the `<&0` and, where env knows how, the default signals.
plain=()
if env --default-signal=INT --default-signal=QUIT true 2>/dev/null; then
    plain=(env --default-signal=INT --default-signal=QUIT)
fi
"${plain[@]}" "$@" <&0 &
child=$!
status=0
wait "$child" || status=$?
child=
exit "$status"
