# PostgreSQL 17 with minhash_lsh, from Debian's packages only.
#
#   docker build -t minhash_lsh .
#   docker run -d --name lsh -e POSTGRES_PASSWORD=secret -p 5432:5432 -v lsh:/var/lib/postgresql/data minhash_lsh
#   docker exec -it lsh psql -c 'CREATE EXTENSION minhash_lsh'
#
# The extension alone, as an image that CloudNativePG mounts beside PostgreSQL 18 or later; BASE is what it is mounted
# beside, or has the same C library:
#
#   docker build --target extension --build-arg BASE=IMAGE --build-arg PG_MAJOR=18 -t minhash_lsh-18 .
ARG BASE=debian:trixie-slim
FROM $BASE AS build
ARG PG_MAJOR=17
USER root
RUN apt-get update && apt-get install -y --no-install-recommends g++ libxxhash-dev make postgresql-server-dev-$PG_MAJOR
COPY . /minhash_lsh
RUN make -s -C /minhash_lsh -j"$(nproc)" PG_CONFIG=/usr/lib/postgresql/$PG_MAJOR/bin/pg_config \
    && make -s -C /minhash_lsh install PG_CONFIG=/usr/lib/postgresql/$PG_MAJOR/bin/pg_config DESTDIR=/installed

FROM scratch AS extension
ARG PG_MAJOR=17
COPY --from=build /installed/usr/lib/postgresql/$PG_MAJOR/lib/ /lib/
COPY --from=build /installed/usr/share/postgresql/$PG_MAJOR/extension/ /share/extension/
COPY LICENSE /licenses/minhash_lsh/
USER 65532:65532

FROM debian:trixie-slim AS server
# No cluster "main": the server's data is on the volume.
RUN mkdir -p /etc/postgresql-common \
    && echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf \
    && apt-get update && apt-get install -y --no-install-recommends postgresql-17 \
    && rm -rf /var/lib/apt/lists/* \
    && install -d -o postgres -g postgres -m 700 /var/lib/postgresql/data
COPY --from=build /installed /

ENV PATH=/usr/lib/postgresql/17/bin:$PATH PGDATA=/var/lib/postgresql/data LANG=C.UTF-8
VOLUME /var/lib/postgresql/data
EXPOSE 5432
USER postgres
STOPSIGNAL SIGINT
# The first start makes the data directory: programs in the container need no password, others
# that of POSTGRES_PASSWORD.
ENTRYPOINT ["/bin/sh", "-ec", "\
    if [ ! -s \"$PGDATA/PG_VERSION\" ]; then \
        umask 077; \
        printf '%s\\n' \"${POSTGRES_PASSWORD:?set it to the password of the database user postgres}\" >/tmp/password; \
        initdb --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256; \
        rm /tmp/password; \
        echo 'host all all all scram-sha-256' >>\"$PGDATA/pg_hba.conf\"; \
    fi; \
    unset POSTGRES_PASSWORD; \
    exec postgres -c listen_addresses='*' \"$@\"", "minhash_lsh"]
