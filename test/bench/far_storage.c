/*
 * Simulates storage far away. Preloaded into a server, it makes each read of a large table wait for a millisecond;
 * reads that posix_fadvise() has announced wait together. FAR_STORAGE_US is the wait in microseconds.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* When announced pages will have arrived. A hash of file and page is the place, so a page may replace another one. */
static struct { long page; long when; } announced[65536];

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static long delay(void)
{
    static long us;
    const char *given = getenv("FAR_STORAGE_US");
    return us ? us : (us = given ? atol(given) : 1000);
}

/* The page of a file that is a table of at least 16 MB and no temporary file; else -1. */
static long page_of(int fd, off_t offset)
{
    char link[32], path[512] = "";
    struct stat file;
    if (fstat(fd, &file) != 0 || file.st_size < 16 << 20)
        return -1;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    (void) !readlink(link, path, sizeof(path) - 1);
    return strstr(path, "/base/") && !strstr(path, "pgsql_tmp") ? (long) (file.st_ino << 20) + offset / 8192 : -1;
}

int posix_fadvise(int fd, off_t offset, off_t length, int advice)
{
    long page = advice == POSIX_FADV_WILLNEED ? page_of(fd, offset) : -1;
    (void) length;
    if (page >= 0)
        announced[page % 65536].page = page, announced[page % 65536].when = now() + delay();
    return 0;
}

ssize_t pread(int fd, void *to, size_t count, off_t offset)
{
    static ssize_t (*real)(int, void *, size_t, off_t);
    long page = page_of(fd, offset);
    if (!real)
        real = (ssize_t (*)(int, void *, size_t, off_t)) dlsym(RTLD_NEXT, "pread64");
    if (page >= 0)
    {
        long wait = announced[page % 65536].page == page ? announced[page % 65536].when - now() : delay();
        announced[page % 65536].page = -1;
        if (wait > 0)
            usleep(wait);
    }
    return real(fd, to, count, offset);
}

ssize_t pread64(int fd, void *to, size_t count, off_t offset) { return pread(fd, to, count, offset); }
int posix_fadvise64(int fd, off_t offset, off_t length, int advice) { return posix_fadvise(fd, offset, length, advice); }
