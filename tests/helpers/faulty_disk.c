/* Breaks the k-th system call that changes something below a folder. Preloaded; see faulty_disk.py.
 *
 * FAULTS_FOLDER is the folder, FAULTS_CONTROL a file that holds a `struct control`. It is shared by every
 * process that inherits the two: calls are counted in one row across them, and it can be armed anew while a
 * program runs. The calls themselves go straight to the kernel. Those that libc makes inside itself, for
 * stdio, are not seen.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { OPEN = 1, WRITE = 2, FSYNC = 4, RENAME = 8, UNLINK = 16, MKDIR = 32, TRUNCATE = 64, CHMOD = 128 };
enum mode { FAIL = 0, KILL = 1, SHORT = 2 };

struct control {
    long calls;   /* how many there were: counted here */
    long at;      /* the first one that is broken; 0 for none */
    long last;    /* the last one that is broken */
    long kinds;   /* which kinds of calls are counted */
    long mode;    /* how it is broken */
    long error;   /* the errno of one that fails */
};

static struct control *control;
static char folder[PATH_MAX];

__attribute__((constructor)) static void begin(void) {
    const char *below = getenv("FAULTS_FOLDER"), *name = getenv("FAULTS_CONTROL");
    if (!below || !name || strlen(below) >= sizeof folder)
        return;
    int file = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC, 0);
    if (file < 0)
        return;
    void *shared = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (shared == MAP_FAILED)
        return;
    strcpy(folder, below);
    control = shared;
}

static int inside(const char *path) {
    size_t length = strlen(folder);
    return !strncmp(path, folder, length) && (path[length] == '/' || path[length] == '\0');
}

static int fd_inside(int fd) {
    char link[64], path[PATH_MAX];
    if (fd == AT_FDCWD)
        strcpy(link, "/proc/self/cwd");
    else
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = '\0';
    return inside(path);
}

static int path_inside(int fd, const char *path) { return path[0] == '/' ? inside(path) : fd_inside(fd); }

/* True if this call is one to break; one that is to kill does not return. */
static int broken(enum kind kind) {
    if (!(control->kinds & kind))
        return 0;
    long call = __atomic_add_fetch(&control->calls, 1, __ATOMIC_SEQ_CST);
    if (!control->at || call < control->at || call > control->last)
        return 0;
    if (control->mode == KILL)
        kill(getpid(), SIGKILL);
    return 1;
}

#define FAILS(kind, found) \
    if (control && (found) && broken(kind) && control->mode == FAIL) { \
        errno = (int)control->error; \
        return -1; \
    }

/* How many bytes of a write are let through, or -1 if it fails. */
static ssize_t allowed(int fd, size_t size) {
    if (!control || !fd_inside(fd) || !broken(WRITE))
        return (ssize_t)size;
    if (control->mode == SHORT)
        return (ssize_t)(size > 1 ? size / 2 : size);
    errno = (int)control->error;
    return -1;
}

static int opened(int at, const char *path, int flags, mode_t mode) {
    int writes = flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC);
    FAILS(OPEN, writes && path_inside(at, path))
    return (int)syscall(SYS_openat, at, path, flags, mode);
}

static mode_t mode_of(int flags, va_list rest) {
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = mode_of(flags, rest); \
        va_end(rest); \
        return opened(AT_FDCWD, path, flags, mode); \
    }
#define OPENS_AT(name) \
    int name(int at, const char *path, int flags, ...) { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = mode_of(flags, rest); \
        va_end(rest); \
        return opened(at, path, flags, mode); \
    }
#define CREATES(name) \
    int name(const char *path, mode_t mode) { \
        return opened(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode); \
    }
OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)
CREATES(creat)
CREATES(creat64)

ssize_t write(int fd, const void *data, size_t size) {
    ssize_t some = allowed(fd, size);
    return some < 0 ? -1 : syscall(SYS_write, fd, data, (size_t)some);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    ssize_t some = allowed(fd, size);
    return some < 0 ? -1 : syscall(SYS_pwrite64, fd, data, (size_t)some, at);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) { return pwrite(fd, data, size, at); }

ssize_t writev(int fd, const struct iovec *pieces, int count) {
    size_t size = 0;
    for (int piece = 0; piece < count; piece++)
        size += pieces[piece].iov_len;
    ssize_t some = allowed(fd, size);
    if (some < 0)
        return -1;
    if ((size_t)some == size)
        return syscall(SYS_writev, fd, pieces, count);
    struct iovec first = pieces[0];
    if (first.iov_len > (size_t)some)
        first.iov_len = (size_t)some;
    return syscall(SYS_writev, fd, &first, 1);
}

int fsync(int fd) {
    FAILS(FSYNC, fd_inside(fd))
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
    FAILS(FSYNC, fd_inside(fd))
    return (int)syscall(SYS_fdatasync, fd);
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    FAILS(RENAME, path_inside(from, old) || path_inside(to, new))
    return (int)syscall(SYS_renameat2, from, old, to, new, flags);
}

int renameat(int from, const char *old, int to, const char *new) { return renameat2(from, old, to, new, 0); }

int rename(const char *old, const char *new) { return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0); }

int unlinkat(int at, const char *path, int flags) {
    FAILS(UNLINK, path_inside(at, path))
    return (int)syscall(SYS_unlinkat, at, path, flags);
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int at, const char *path, mode_t mode) {
    FAILS(MKDIR, path_inside(at, path))
    return (int)syscall(SYS_mkdirat, at, path, mode);
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

int ftruncate(int fd, off_t length) {
    FAILS(TRUNCATE, fd_inside(fd))
    return (int)syscall(SYS_ftruncate, fd, length);
}

int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }

int fchmod(int fd, mode_t mode) {
    FAILS(CHMOD, fd_inside(fd))
    return (int)syscall(SYS_fchmod, fd, mode);
}
