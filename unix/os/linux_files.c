/*
 * unix/os/linux_files.c --
 *
 *	base/os.h for Linux: the runtime directory, shared mappings, positional files, file locks.
 *	Everything is created for this user only: directories 0700, files 0600. Files of other users
 *	are refused.
 */
#define _GNU_SOURCE
#include "base/os.h"
#include "base/alloc.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- Runtime directory ----------------------------------------------------------------------- */

static EtwStatus checkDir(const char *path, EtwError *err)
{
    struct stat st;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return EtwFailOs(err, ETW_E_IO, errno, "RUNTIME", path,
                "cannot make the runtime directory \"%s\": set ETW_RUNTIME_DIR to another "
                "directory",
                path);
    }
    if (lstat(path, &st) != 0) {
        return EtwFailOs(err, ETW_E_IO, errno, "RUNTIME", path,
                "cannot read the attributes of \"%s\"", path);
    }
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
        return EtwFail(err, ETW_E_ACCESS, "RUNTIME", path,
                "\"%s\" is not a directory that only this user can access (mode 0700): remove it, "
                "or set ETW_RUNTIME_DIR to another directory",
                path);
    }
    return ETW_OK;
}

EtwStatus OsRuntimeDir(char *path, size_t size, EtwError *err)
{
    /* NULL in a setuid program: the variables are those of another user. */
    const char *own = secure_getenv("ETW_RUNTIME_DIR");
    const char *xdg = secure_getenv("XDG_RUNTIME_DIR");
    if (own != NULL && *own != '\0') {
        snprintf(path, size, "%s", own);
    } else if (xdg != NULL && *xdg != '\0' && access(xdg, W_OK) == 0) {
        snprintf(path, size, "%s/etw", xdg);
    } else {
        snprintf(path, size, "/dev/shm/etw-%u", (unsigned)geteuid());
    }
    return checkDir(path, err);
}

/* ---- Mappings -------------------------------------------------------------------------------- */

static EtwStatus checkOurs(int fd, const char *path, struct stat *st, EtwError *err)
{
    if (fstat(fd, st) != 0) {
        return EtwFailOs(
                err, ETW_E_IO, errno, "STAT", path, "cannot read the attributes of \"%s\"", path);
    }
    if (!S_ISREG(st->st_mode) || st->st_uid != geteuid() || (st->st_mode & 077) != 0) {
        return EtwFail(err, ETW_E_ACCESS, "FOREIGN", path,
                "\"%s\" is not a regular file that only this user can access: another user or "
                "program has made it; remove it",
                path);
    }
    return ETW_OK;
}

/* A file of this process may not have a byte there (ulimit -f): trying would raise SIGXFSZ. */
static bool isBeyondLimit(uint64_t offset)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           offset >= limit.rlim_cur;
}

/* Not in the headers of older systems. Since Linux 5.14. */
enum { POPULATE_WRITE = 23 };

static EtwStatus noRoom(const char *path, size_t size, int osError, EtwError *err)
{
    return EtwFailOs(err, ETW_E_IO, osError, "MAP", path,
            "no room for %zu KB of shared memory in \"%s\": use fewer or smaller buffers, or set "
            "ETW_RUNTIME_DIR to another directory",
            size / 1024, path);
}

/* The file is sparse, unless the kernel cannot reserve parts of a mapping. */
static EtwStatus setSize(int fd, const char *path, size_t size, EtwError *err)
{
    if (isBeyondLimit(size - 1)) {
        return noRoom(path, size, EFBIG, err);
    }
    if (ftruncate(fd, (off_t)size) != 0) {
        return EtwFailOs(err, ETW_E_IO, errno, "MAP", path,
                "cannot set the size of \"%s\" to %zu bytes", path, size);
    }
    int osError = madvise(NULL, 0, POPULATE_WRITE) == 0 ? 0 : posix_fallocate(fd, 0, (off_t)size);
    return osError == 0 ? ETW_OK : noRoom(path, size, osError, err);
}

EtwStatus OsMapReserve(
        const OsMap *map, size_t offset, size_t size, const char *path, EtwError *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = offset % page;
    if (madvise(map->base + offset - before, size + before, POPULATE_WRITE) == 0 ||
            errno == EINVAL) {
        return ETW_OK;
    }
    return noRoom(path, size, errno == EFAULT ? ENOSPC : errno, err);
}

/*
 * The thread sanitizer knows memory by its address: it would see neither races nor order between two mappings of a file. In its
 * builds a process maps a file once, so that a logger, a writer and a live consumer in one process are checked as if they were in
 * several.
 */
#ifdef __SANITIZE_THREAD__
static struct SharedMap {
    dev_t device;
    ino_t inode;
    void *base; /* NULL: free */
    size_t size;
    int users;
} sharedMaps[256];
static pthread_mutex_t sharedMutex = PTHREAD_MUTEX_INITIALIZER;

static void *mapFile(int fd, size_t size)
{
    struct stat st;
    struct SharedMap *m = sharedMaps, *end = sharedMaps + 256, *empty = NULL;
    void *base = MAP_FAILED;
    fstat(fd, &st);
    pthread_mutex_lock(&sharedMutex);
    while (m < end && (m->base == NULL || m->device != st.st_dev || m->inode != st.st_ino ||
                              m->size != size)) {
        empty = m->base == NULL ? m : empty;
        m++;
    }
    if (m < end) {
        m->users++;
        base = m->base;
    } else {
        base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (base != MAP_FAILED && empty != NULL) {
            *empty = (struct SharedMap){st.st_dev, st.st_ino, base, size, 1};
        }
    }
    pthread_mutex_unlock(&sharedMutex);
    return base;
}

static void unmapFile(void *base, size_t size)
{
    struct SharedMap *m = sharedMaps, *end = sharedMaps + 256;
    pthread_mutex_lock(&sharedMutex);
    while (m < end && m->base != base) {
        m++;
    }
    if (m == end || --m->users == 0) {
        munmap(base, size);
        if (m < end) {
            m->base = NULL;
        }
    }
    pthread_mutex_unlock(&sharedMutex);
}
#else
static void *mapFile(int fd, size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static void unmapFile(void *base, size_t size)
{
    munmap(base, size);
}
#endif

EtwStatus OsMapShared(OsMap *map, const char *path, bool create, size_t size, EtwError *err)
{
    struct stat st;
    EtwStatus status;
    int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT | O_EXCL : 0);
    int fd = open(path, flags, 0600);
    void *base;
    if (fd < 0) {
        return EtwFailOs(err,
                errno == EEXIST   ? ETW_E_STATE
                : errno == ENOENT ? ETW_E_LOOKUP
                                  : ETW_E_IO,
                errno, "MAP", path, "cannot %s \"%s\"", create ? "make" : "open", path);
    }
    status = checkOurs(fd, path, &st, err);
    if (status == ETW_OK && create) {
        status = setSize(fd, path, size, err);
    }
    if (status == ETW_OK && !create) {
        size = (size_t)st.st_size;
        if (size == 0) {
            status = EtwFail(err, ETW_E_FORMAT, "EMPTY", path, "\"%s\" is empty", path);
        }
    }
    if (status == ETW_OK) {
        base = mapFile(fd, size);
        if (base == MAP_FAILED) {
            status = EtwFailOs(err, ETW_E_MEMORY, errno, "MAP", path, "cannot map \"%s\"", path);
        } else {
            map->base = base;
            map->size = size;
            map->handle = NULL;
        }
    }
    close(fd);
    if (status != ETW_OK && create) {
        unlink(path);
    }
    return status;
}

/* The file has parts that take no space. */
static bool hasHoles(int fd, off_t size)
{
    off_t hole = lseek(fd, 0, SEEK_HOLE);
    return hole >= 0 && hole < size;
}

/* Reading a mapped hole of a tmpfs takes space there, and ends the process with SIGBUS when there is none. */
static bool mayFault(int fd, off_t size)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC && hasHoles(fd, size);
}

/* The parts of a file that are not holes. -1: see errno. */
static int copyParts(int fd, uint8_t *to, off_t size)
{
    off_t at = lseek(fd, 0, SEEK_DATA);
    while (at >= 0 && at < size) {
        off_t end = lseek(fd, at, SEEK_HOLE);
        ssize_t n = end < 0 ? -1 : pread(fd, to + at, (size_t)((end < size ? end : size) - at), at);
        if (n < 0) {
            return -1;
        }
        at = n == 0 ? size : lseek(fd, at + n, SEEK_DATA);
    }
    return at < 0 && errno != ENXIO ? -1 : 0; /* ENXIO: no more parts */
}

static void *mapOrCopy(int fd, off_t size, bool copy)
{
    void *base;
    if (!copy) {
        return mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    base = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base != MAP_FAILED && copyParts(fd, base, size) != 0) {
        int e = errno;
        munmap(base, (size_t)size);
        errno = e;
        base = MAP_FAILED;
    }
    return base;
}

EtwStatus OsMapFile(OsMap *map, const char *path, EtwError *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    map->base = NULL;
    map->size = 0;
    map->handle = NULL;
    if (fd < 0) {
        return EtwFailOs(err, ETW_E_IO, errno, "OPEN", path, "cannot open \"%s\"", path);
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        int e = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        close(fd);
        return EtwFailOs(err, ETW_E_IO, e, "OPEN", path, "\"%s\" is not a regular file", path);
    }
    if (st.st_size > 0) {
        bool copy = mayFault(fd, st.st_size);
        void *base = mapOrCopy(fd, st.st_size, copy);
        if (base == MAP_FAILED) {
            int e = errno;
            close(fd);
            return EtwFailOs(err, ETW_E_MEMORY, e, "MAP", path, "cannot map \"%s\"", path);
        }
        madvise(base, (size_t)st.st_size, MADV_SEQUENTIAL);
        map->base = base;
        map->size = (size_t)st.st_size;
        map->handle = copy ? NULL : (void *)((intptr_t)fd + 1);
    }
    if (map->handle == NULL) {
        close(fd);
    }
    return ETW_OK;
}

void OsMapRead(const OsMap *map, uint64_t at, void *to, size_t size)
{
    int fd = (int)((intptr_t)map->handle - 1);
    if (map->handle == NULL || pread(fd, to, size, (off_t)at) != (ssize_t)size) {
        memcpy(to, map->base + at, size);
    }
}

void OsMapEvict(OsMap *map)
{
    if (map->handle != NULL) { /* a copy cannot be read again */
        madvise(map->base, map->size, MADV_DONTNEED);
    }
}

void OsUnmap(OsMap *map)
{
    if (map->base != NULL) {
        unmapFile(map->base, map->size);
    }
    if (map->handle != NULL) {
        close((int)((intptr_t)map->handle - 1));
    }
    map->handle = NULL;
    map->base = NULL;
    map->size = 0;
}

/* ---- Files ----------------------------------------------------------------------------------- */

struct OsFile {
    int fd;
};

/*
 * A new file gets a new inode where the directory allows it. A process that has mapped the old file
 * keeps it (truncating would kill that process), and the new file has mode 0600 regardless of the
 * old mode.
 */
static void removeExisting(const char *path)
{
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        unlink(path);
    }
}

/* No other user can have put a symbolic link there. */
static bool isInOwnDir(const char *path)
{
    char dir[PATH_MAX];
    const char *end = strrchr(path, '/');
    struct stat st;
    snprintf(dir, sizeof dir, "%.*s/", end != NULL ? (int)(end - path) : 1,
            end != NULL ? path : ".");
    return stat(dir, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & S_IWOTH) == 0 &&
           ((st.st_mode & S_IWGRP) == 0 || st.st_gid == getegid());
}

EtwStatus OsFileCreate(OsFile **filePtr, const char *path, bool keepContent, EtwError *err)
{
    struct stat st;
    int fd, how = (keepContent ? 0 : O_TRUNC) | (isInOwnDir(path) ? 0 : O_NOFOLLOW);
    if (!keepContent) {
        removeExisting(path);
    }
    /* O_NONBLOCK: opening a FIFO without a reader must not block the controller. */
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | how, 0600);
    if (fd < 0 && errno == ELOOP) {
        return EtwFailOs(err, ETW_E_ACCESS, errno, "SYMLINK", path,
                "cannot write \"%s\": it is a symbolic link in a directory that another user can "
                "write; give the path of the file itself",
                path);
    }
    if (fd < 0) {
        return EtwFailOs(err, ETW_E_IO, errno, "OPEN", path, "cannot write \"%s\"", path);
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return EtwFail(
                err, ETW_E_IO, "OPEN", path, "cannot write \"%s\": it is not a regular file", path);
    }
    *filePtr = EtwAlloc(sizeof **filePtr);
    (*filePtr)->fd = fd;
    return ETW_OK;
}

EtwStatus OsFileWriteAt(
        OsFile *file, uint64_t offset, const void *data, size_t size, int *osErrorPtr)
{
    const char *p = data;
    while (size > 0) {
        if (isBeyondLimit(offset)) {
            *osErrorPtr = EFBIG;
            return ETW_E_IO;
        }
        ssize_t n = pwrite(file->fd, p, size, (off_t)offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            *osErrorPtr = n < 0 ? errno : ENOSPC;
            return ETW_E_IO;
        }
        p += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return ETW_OK;
}

EtwStatus OsFileReadAt(OsFile *file, uint64_t offset, void *data, size_t size, int *osErrorPtr)
{
    char *p = data;
    while (size > 0) {
        ssize_t n = pread(file->fd, p, size, (off_t)offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            *osErrorPtr = n < 0 ? errno : EIO;
            return n == 0 ? ETW_END : ETW_E_IO;
        }
        p += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return ETW_OK;
}

uint64_t OsFileSize(OsFile *file)
{
    struct stat st;
    return fstat(file->fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

EtwStatus OsFileTruncate(OsFile *file, uint64_t size, int *osErrorPtr)
{
    if (ftruncate(file->fd, (off_t)size) != 0) {
        *osErrorPtr = errno;
        return ETW_E_IO;
    }
    return ETW_OK;
}

void OsFileClose(OsFile *file)
{
    if (file != NULL) {
        close(file->fd);
        EtwFree(file);
    }
}

/* /var/tmp before /tmp, which is often in memory. */
EtwStatus OsFileTemp(OsFile **filePtr, EtwError *err)
{
    const char *dirs[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
    char path[PATH_MAX];
    int fd = -1;
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs && fd < 0; i++) {
        if (dirs[i] == NULL || strlen(dirs[i]) > sizeof path - 20) {
            continue;
        }
        snprintf(path, sizeof path, "%s/etw-XXXXXX", dirs[i]);
        fd = mkostemp(path, O_CLOEXEC);
    }
    if (fd < 0) {
        return EtwFailOs(err, ETW_E_IO, errno, "OPEN", path,
                "cannot make a temporary file in \"%.*s\": set TMPDIR to another directory",
                (int)(strlen(path) - strlen("/etw-XXXXXX")), path);
    }
    unlink(path);
    *filePtr = EtwAlloc(sizeof **filePtr);
    (*filePtr)->fd = fd;
    return ETW_OK;
}

EtwStatus OsFileTempMap(OsFile *file, OsMap *map, EtwError *err)
{
    size_t size = (size_t)OsFileSize(file);
    EtwStatus status = ETW_OK;
    *map = (OsMap){0};
    if (size != 0) {
        void *base = mmap(NULL, size, PROT_READ, MAP_SHARED, file->fd, 0);
        if (base == MAP_FAILED) {
            status = EtwFailOs(err, ETW_E_MEMORY, errno, "MAP", "", "cannot map a temporary file");
        } else {
            map->base = base;
            map->size = size;
        }
    }
    OsFileClose(file);
    return status;
}

uint64_t OsFreeSpace(const char *path)
{
    struct statvfs fs;
    char dir[PATH_MAX];
    const char *end = strrchr(path, '/');
    snprintf(dir, sizeof dir, "%.*s/", end != NULL ? (int)(end - path) : 1,
            end != NULL ? path : ".");
    return statvfs(dir, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : UINT64_MAX;
}

bool OsFileRemove(const char *path)
{
    return unlink(path) == 0;
}

bool OsFileExists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool OsFullPath(const char *path, char *full, size_t size)
{
    bool absolute = path[0] == '/';
    char *cwd = absolute ? NULL : getcwd(NULL, 0); /* of any length */
    int need = cwd == NULL ? (int)strlen(path)
                           : snprintf(full, size, "%s/%s", strcmp(cwd, "/") == 0 ? "" : cwd, path);
    bool fits = (absolute || cwd != NULL) && need >= 0 && (size_t)need < size;
    if (cwd == NULL || !fits) {
        snprintf(full, size, "%s", path);
    }
    free(cwd);
    return fits;
}

/* ---- Locks ----------------------------------------------------------------------------------- */

struct OsFileLock {
    int fd;
};

/*
 * The lock file that this process opened first, without access rights. If the file is removed,
 * processes that had it continue to lock the same inode. The program may close the descriptor and
 * reuse its number.
 */
static _Atomic int firstLock = -1;
static struct stat firstStat;

/* A descriptor that stays open gets a high number: the program's own files keep the numbers that they have without it. */
static int raised(int fd)
{
    for (int least = 200; fd >= 0 && least > 10; least /= 2) {
        int high = fcntl(fd, F_DUPFD_CLOEXEC, least); /* fails above the limit of descriptors */
        if (high >= 0) {
            close(fd);
            return high;
        }
    }
    return fd;
}

static void keepFirst(const char *path)
{
    int none = -1, fd = raised(open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW));
    if (fd >= 0 && (fstat(fd, &firstStat) != 0 ||
                           !atomic_compare_exchange_strong(&firstLock, &none, fd))) {
        close(fd);
    }
}

static int openLock(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int first = atomic_load(&firstLock);
    struct stat st;
    char same[40];
    if (fd >= 0 && first < 0) {
        keepFirst(path);
    }
    if (fd < 0 && errno == ENOENT && first >= 0 && fstat(first, &st) == 0 &&
            st.st_ino == firstStat.st_ino && st.st_dev == firstStat.st_dev) {
        snprintf(same, sizeof same, "/proc/self/fd/%d", first);
        fd = open(same, O_RDWR | O_CLOEXEC);
    }
    return fd;
}

EtwStatus OsFileLockTry(OsFileLock **lockPtr, const char *path, EtwError *err)
{
    int fd = openLock(path);
    struct stat st;
    EtwStatus status;
    if (fd < 0) {
        return EtwFailOs(err, ETW_E_IO, errno, "LOCK", path, "cannot open the lock \"%s\"", path);
    }
    status = checkOurs(fd, path, &st, err);
    while (status == ETW_OK && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            status = ETW_AGAIN;
        } else if (errno != EINTR) {
            status = EtwFailOs(err, ETW_E_IO, errno, "LOCK", path, "cannot lock \"%s\"", path);
        }
    }
    if (status != ETW_OK) {
        close(fd);
        return status;
    }
    *lockPtr = EtwAlloc(sizeof **lockPtr);
    (*lockPtr)->fd = fd;
    return ETW_OK;
}

static bool hasOpen(uint32_t pid, const struct stat *file)
{
    char path[40];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%u/fd", pid);
    DIR *fds = opendir(path);
    for (struct dirent *e; fds != NULL && !found && (e = readdir(fds)) != NULL;) {
        struct stat st;
        found = fstatat(dirfd(fds), e->d_name, &st, 0) == 0 && st.st_ino == file->st_ino &&
                st.st_dev == file->st_dev;
    }
    if (fds != NULL) {
        closedir(fds);
    }
    return found;
}

/*
 * The process that took the lock; 0: unknown. The kernel lists the number of the inode. The device that it lists is not
 * always that of stat(2) (btrfs), so the process must have the file open.
 */
static uint32_t holderOf(const char *path)
{
    struct stat st;
    char line[200];
    int fd = openLock(path);
    uint32_t holder = 0;
    bool known = fd >= 0 && fstat(fd, &st) == 0;
    if (fd >= 0) {
        close(fd);
    }
    FILE *locks = known ? fopen("/proc/locks", "re") : NULL;
    while (locks != NULL && holder == 0 && fgets(line, sizeof line, locks) != NULL) {
        unsigned long long inode;
        int pid; /* 0: in another pid namespace */
        if (sscanf(line, "%*d: FLOCK %*s WRITE %d %*x:%*x:%llu", &pid, &inode) == 2 && pid > 0 &&
                inode == st.st_ino && hasOpen((uint32_t)pid, &st)) {
            holder = (uint32_t)pid;
        }
    }
    if (locks != NULL) {
        fclose(locks);
    }
    return holder;
}

/* Reads the name and the state from /proc/PID/stat: "PID (NAME) STATE ...". */
bool OsFileLockHolder(const char *path, OsLockHolder *holder)
{
    char line[400] = "", file[40];
    holder->pid = holderOf(path);
    snprintf(file, sizeof file, "/proc/%u/stat", holder->pid);
    FILE *f = holder->pid != 0 ? fopen(file, "re") : NULL;
    char *name = f != NULL && fgets(line, sizeof line, f) != NULL ? strchr(line, '(') : NULL;
    char *end = name != NULL ? strrchr(name, ')') : NULL;
    if (f != NULL) {
        fclose(f);
    }
    if (end == NULL || end[1] != ' ') {
        return false; /* it has ended */
    }
    *end = '\0';
    holder->stopped = end[2] == 'T' || end[2] == 't';
    snprintf(holder->name, sizeof holder->name, "%s", name + 1);
    for (char *c = holder->name; *c != '\0'; c++) {
        *c = (unsigned char)*c < ' ' || *c == 127 ? '?' : *c;
    }
    return true;
}

void OsFileLockRelease(OsFileLock *lock)
{
    if (lock != NULL) {
        /* Closing alone would leave it locked while a forked child has the descriptor. */
        flock(lock->fd, LOCK_UN);
        close(lock->fd);
        EtwFree(lock);
    }
}

/* ---- Slots ----------------------------------------------------------------------------------- */

/*
 * A slot is two locks of open file descriptions, on bytes that the file does not have. A page of the file
 * is mapped through each description, then the descriptor is closed: the description, and with it the lock,
 * lasts as long as the mapping. So the program cannot close it, and exec and the process's end release it,
 * also when only the main thread has ended or when the process is a zombie. The first mapping is inherited
 * by forked children, the second is not.
 */
enum { SLOT_PAGE = 4096, SLOT_LOCKS = 2 };
static struct stat slotFile; /* of the slot that this process holds */

static struct flock slotLock(uint32_t number, int which)
{
    return (struct flock){.l_type = F_WRLCK,
            .l_whence = SEEK_SET,
            .l_start = (off_t)(1ll << 40) + SLOT_LOCKS * (off_t)number + which,
            .l_len = 1};
}

static EtwStatus holdLock(
        void **mappingPtr, const char *path, uint32_t number, int which, EtwError *err)
{
    struct flock lock = slotLock(number, which);
    EtwStatus status = ETW_OK;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return EtwFailOs(err, ETW_E_IO, errno, "LOCK", path, "cannot open \"%s\"", path);
    }
    if (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
        status = errno == EAGAIN || errno == EACCES
                         ? ETW_AGAIN
                         : EtwFailOs(err, ETW_E_IO, errno, "LOCK", path,
                                   "cannot lock \"%s\": set ETW_RUNTIME_DIR to a directory of a "
                                   "local file system",
                                   path);
    } else {
        *mappingPtr = mmap(NULL, SLOT_PAGE, PROT_NONE, MAP_SHARED, fd, 0);
        if (*mappingPtr == MAP_FAILED) {
            status = EtwFailOs(err, ETW_E_MEMORY, errno, "MAP", path, "cannot map \"%s\"", path);
        }
        fstat(fd, &slotFile);
    }
    close(fd);
    return status;
}

EtwStatus OsSlotHold(OsSlot *slot, const char *path, uint32_t number, EtwError *err)
{
    void *own;
    EtwStatus status = holdLock(&slot->kept, path, number, 0, err);
    if (status != ETW_OK) {
        return status;
    }
    status = holdLock(&own, path, number, 1, err);
    if (status == ETW_OK && madvise(own, SLOT_PAGE, MADV_DONTFORK) != 0) {
        munmap(own, SLOT_PAGE);
        status = EtwFailOs(err, ETW_E_MEMORY, errno, "MAP", path, "cannot map \"%s\"", path);
    }
    if (status != ETW_OK) {
        munmap(slot->kept, SLOT_PAGE);
    }
    return status;
}

void OsSlotLeave(OsSlot *slot)
{
    if (slot->kept != NULL) {
        munmap(slot->kept, SLOT_PAGE);
        slot->kept = NULL;
    }
}

OsSlotState OsSlotCheck(const char *path, uint32_t number, uint32_t pid, uint64_t start)
{
    static const OsSlotState states[SLOT_LOCKS] = {OS_SLOT_LEFT, OS_SLOT_HELD};
    OsSlotState state = OS_SLOT_FREE;
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    (void)pid;
    (void)start;
    if (fd < 0) {
        return OS_SLOT_UNKNOWN;
    }
    if (slotFile.st_ino != 0 &&
            (fstat(fd, &st) != 0 || st.st_ino != slotFile.st_ino || st.st_dev != slotFile.st_dev)) {
        state = OS_SLOT_UNKNOWN;
    }
    for (int i = 0; i < SLOT_LOCKS && state != OS_SLOT_UNKNOWN; i++) {
        struct flock lock = slotLock(number, i);
        if (fcntl(fd, F_OFD_GETLK, &lock) != 0) {
            state = OS_SLOT_UNKNOWN;
        } else if (lock.l_type != F_UNLCK) {
            state = states[i];
        }
    }
    close(fd);
    return state;
}
