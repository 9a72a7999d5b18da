/*
 * tests/support/kerneltrace.h --
 *
 *	Shared by the kernel tests: a session of kernel events, its file as a list of events with
 *	their fields as text, and sockets to trace. Linux only; included once.
 */
#ifndef ETW_TESTS_KERNELTRACE_H
#define ETW_TESTS_KERNELTRACE_H

#include "base/text.h"
#include "base/os.h"
#include "tests/support/check.h"
#include "engine/engine.h"
#include "etl/read/reader.h"
#include "schema/model/decode.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <errno.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRACEFS "/sys/kernel/tracing"

static char dir[512];
static char path[600];

/* ---- A trace as a list ----------------------------------------------------------------------- */

typedef struct Seen {
    char provider[64], event[64];
    uint32_t pid, tid;
    int64_t time;
    uint64_t stack[128];
    int stackCount;
    char fields[900]; /* " Name=value Name=value " */
} Seen;

static Seen *seen;
static int seenCount, seenCapacity;
static bool wantStacks;  /* startTrace requests them */
static uint32_t seenPid; /* only use the events of this process; 0: of all */

typedef struct Line {
    EtwText text;
    bool inArray;
} Line;

static void addValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    Line *line = ctx;
    if (!line->inArray) {
        EtwTextPrintf(&line->text, " %s=", field->name);
    } else {
        EtwTextChar(&line->text, ',');
    }
    EtwFormatValue(&line->text, field, value);
}

static void beginArray(void *ctx, const EtwField *field, bool isStruct, int count)
{
    Line *line = ctx;
    (void)isStruct;
    EtwTextPrintf(&line->text, " %s=[%d]", field->name, count);
    line->inArray = true;
}

static void endArray(void *ctx, const EtwField *field, bool isStruct)
{
    (void)field;
    (void)isStruct;
    ((Line *)ctx)->inArray = false;
}

static void onRest(void *ctx, const uint8_t *data, size_t size)
{
    Line *line = ctx;
    (void)data;
    CHECK_MSG(false, "%zu bytes behind the last field:%.*s", size, (int)line->text.size,
            line->text.data);
}

static void keep(const EtwSchema *schema, const EtwEvent *event)
{
    static const EtwVisitor visitor = {addValue, beginArray, endArray, onRest};
    Line line = {0};
    Seen *s;
    if (strcmp(schema->provider, "Linux-imageload") == 0) {
        return; /* stacks enable them; they have none, and tests of their own (kernel_images.test) */
    }
    if (strncmp(schema->provider, "Linux-", 6) != 0 || (seenPid != 0 && event->pid != seenPid)) {
        return;
    }
    if (seenCount == seenCapacity) {
        seenCapacity = seenCapacity ? 2 * seenCapacity : 1024;
        seen = EtwRealloc(seen, (size_t)seenCapacity * sizeof *seen);
    }
    s = &seen[seenCount++];
    memset(s, 0, sizeof *s);
    snprintf(s->provider, sizeof s->provider, "%s", schema->provider + 6);
    snprintf(s->event, sizeof s->event, "%s", schema->event);
    s->pid = event->pid;
    s->tid = event->tid;
    s->time = event->time;
    for (uint32_t i = 0; i < event->stackCount && i < 128; i++) {
        s->stack[s->stackCount++] = EtwLoad64(event->stack + 8 * i);
    }
    CHECK_MSG(EtwDecode(schema, event, &visitor, &line) == ETW_OK, "%s/%s does not decode",
            schema->provider, schema->event);
    snprintf(s->fields, sizeof s->fields, "%.*s ", (int)line.text.size, line.text.data);
    EtwTextFree(&line.text);
}

static void readTrace(void)
{
    EtlReader *reader;
    EtwEvent event;
    EtwError err;
    EtwSchemaStore *store = EtwSchemaStoreNew();
    int64_t last = 0;
    seenCount = 0;
    REQUIRE(EtlReaderOpen(&reader, path, NULL, NULL, &err) == ETW_OK);
    while (EtlReaderNext(reader, &event) == ETW_OK) {
        const EtwSchema *schema = EtwSchemaOf(store, &event);
        CHECK(event.time >= last);
        last = event.time;
        if (schema != NULL) {
            keep(schema, &event);
        }
    }
    EtlReaderClose(reader);
    EtwSchemaStoreFree(store);
    if (getenv("KERNEL_SHOW") != NULL) {
        for (int i = 0; i < seenCount; i++) {
            printf("    %12.3f %u/%u %s %s%s\n", (double)(seen[i].time - seen[0].time) / 1000,
                    seen[i].pid, seen[i].tid, seen[i].provider, seen[i].event, seen[i].fields);
        }
    }
}

/* A field's text, in a few rotating buffers. */
static const char *field(const Seen *s, const char *name)
{
    static char text[8][256];
    static int turn;
    char key[80], *out = text[turn++ % 8];
    const char *p;
    snprintf(key, sizeof key, " %s=", name);
    p = strstr(s->fields, key);
    out[0] = '\0';
    if (p != NULL) {
        p += strlen(key);
        snprintf(out, 256, "%.*s", (int)strcspn(p, " "), p);
    }
    return out;
}

/* The nth event (from 0) of a kind whose fields contain text; NULL text: any. */
static const Seen *find(const char *provider, const char *event, const char *text, int nth)
{
    for (int i = 0; i < seenCount; i++) {
        if (strcmp(seen[i].provider, provider) == 0 && strcmp(seen[i].event, event) == 0 &&
                (text == NULL || strstr(seen[i].fields, text) != NULL) && nth-- == 0) {
            return &seen[i];
        }
    }
    return NULL;
}

static int countOf(const char *provider, const char *event, const char *text)
{
    int n = 0;
    while (find(provider, event, text, n) != NULL) {
        n++;
    }
    return n;
}

static long sizeSum(const char *provider, const char *event, const char *text)
{
    long sum = 0;
    const Seen *s;
    for (int n = 0; (s = find(provider, event, text, n)) != NULL; n++) {
        sum += atol(field(s, "Size"));
    }
    return sum;
}

/* ---- Sessions -------------------------------------------------------------------------------- */

static bool startTrace(const char *const *groups, const uint32_t *pids, int pidCount, bool all)
{
    EtwError err = {0};
    EtwSessionConfig config = {.name = "Kernel", .file = path, .mode = ETW_FILE_SEQUENTIAL};
    EtwKernelEnable enable = {.groups = groups,
            .pids = pids,
            .pidCount = pidCount,
            .allPids = all,
            .stacks = wantStacks};
    while (groups[enable.groupCount] != NULL) {
        enable.groupCount++;
    }
    snprintf(path, sizeof path, "%s/k.etl", dir);
    remove(path);
    if (!CHECK_MSG(EtwSessionStart(&config, &err) == ETW_OK, "%s", err.message)) {
        return false;
    }
    if (!CHECK_MSG(EtwSessionEnableKernel("Kernel", &enable, &err) == ETW_OK, "%s", err.message)) {
        EtwSessionStop("Kernel", NULL, NULL);
        return false;
    }
    return true;
}

static void stopTrace(void)
{
    EtwSessionInfo info;
    EtwError err = {0};
    CHECK_MSG(EtwSessionStop("Kernel", &info, &err) == ETW_OK, "%s", err.message);
    CHECK_EQ(info.lost.kernel, 0);
    CHECK_EQ(info.lost.noBuffer, 0);
    readTrace();
}

static int instanceCount(void)
{
    DIR *d = opendir(TRACEFS "/instances");
    struct dirent *e;
    char mine[32];
    int n = 0;
    snprintf(mine, sizeof mine, "etw-%u-", OsPid());
    while (d != NULL && (e = readdir(d)) != NULL) {
        n += strncmp(e->d_name, mine, strlen(mine)) == 0;
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

/* ---- Sockets to trace ------------------------------------------------------------------------ */

/* Loopback of a family; v6 socket with a mapped address when `mapped`. */
static socklen_t loopback(struct sockaddr_storage *s, int family, bool mapped, uint16_t port)
{
    memset(s, 0, sizeof *s);
    if (family == AF_INET) {
        struct sockaddr_in *a = (void *)s;
        a->sin_family = AF_INET;
        a->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        a->sin_port = htons(port);
        return sizeof *a;
    }
    struct sockaddr_in6 *a = (void *)s;
    a->sin6_family = AF_INET6;
    a->sin6_port = htons(port);
    if (mapped) {
        inet_pton(AF_INET6, "::ffff:127.0.0.1", &a->sin6_addr);
    } else {
        a->sin6_addr = in6addr_loopback;
    }
    return sizeof *a;
}

static uint16_t portOf(int fd)
{
    struct sockaddr_storage s;
    socklen_t size = sizeof s;
    memset(&s, 0, sizeof s);
    getsockname(fd, (struct sockaddr *)&s, &size);
    return ntohs(s.ss_family == AF_INET ? ((struct sockaddr_in *)(void *)&s)->sin_port
                                        : ((struct sockaddr_in6 *)(void *)&s)->sin6_port);
}

static int bound(int type, int family)
{
    struct sockaddr_storage s;
    int fd = socket(family, type | SOCK_CLOEXEC, 0);
    socklen_t size = loopback(&s, family, false, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&s, size) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int listener(int family)
{
    int fd = bound(SOCK_STREAM, family);
    if (fd >= 0) {
        listen(fd, 10);
    }
    return fd;
}

static int dial(int family, bool mapped, uint16_t port)
{
    struct sockaddr_storage s;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = loopback(&s, family, mapped, port);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&s, size) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static long readAll(int fd)
{
    char buffer[4096];
    long sum = 0;
    ssize_t n;
    while ((n = recv(fd, buffer, sizeof buffer, 0)) > 0) {
        sum += n;
    }
    return sum;
}

static void sendAll(int fd, size_t size)
{
    static const char zeros[100000];
    while (size > 0) {
        ssize_t n = send(fd, zeros, size > sizeof zeros ? sizeof zeros : size, MSG_NOSIGNAL);
        if (n <= 0) {
            return;
        }
        size -= (size_t)n;
    }
}

/* ---- Preconditions --------------------------------------------------------------------------- */

static void removeDir(void)
{
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    (void)!system(command);
}

static bool prepare(void)
{
    struct stat st;
    const char *base = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/etw-kernel-%u", base ? base : "/tmp", OsPid());
    if (geteuid() != 0) {
        printf("skip kernel: needs root\n");
        return false;
    }
    if (stat(TRACEFS "/instances", &st) != 0 && mount("nodev", TRACEFS, "tracefs", 0, NULL) != 0) {
        printf("skip kernel: no tracefs on this machine (%s)\n", strerror(errno));
        return false;
    }
    mkdir(dir, 0700);
    setenv("ETW_RUNTIME_DIR", dir, 1);
    return true;
}

#endif
