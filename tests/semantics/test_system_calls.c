/*
 * tests/semantics/test_system_calls.c --
 *
 *	System calls as text (semantics/system_calls.h). tests/unix/kernel_system_calls.test compares the same with strace.
 */
#include "tests/support/check.h"
#include "tests/support/sample_event.h"
#include "semantics/declared_events.h"
#include "semantics/system_calls.h"

static EtwSchemaStore *store;

/* The text of an event of Linux-systemcall with these numbers; "-": none. */
static const char *TextOf(const char *name, const uint64_t *numbers, int count)
{
    static EtwText text;
    Etw_EventDesc desc;
    Etw_Field fields[ETW_DECLARED_FIELDS_MAX];
    const EtwDeclaredProvider *provider = EtwDeclaredFind("Linux-systemcall");
    const EtwDeclaredEvent *event = &provider->events[strcmp(name, "Enter") == 0 ? 0 : 1];
    int fieldCount = EtwDeclaredFields(event, &desc, fields);
    Sample *s = SampleNew(provider->name, event->name, fields, fieldCount);
    EtwRoleValues values;
    SampleInt(s, numbers[0], 4);
    for (int i = 1; i < count; i++) {
        SampleInt(s, numbers[i], 8);
    }
    const EtwEvent *record = SampleEvent(s);
    EtwRoleValuesRead(&values, EtwSchemaOf(store, record), record);
    text.size = 0;
    bool shown = strcmp(name, "Enter") == 0 ? EtwSystemCallText(&text, &values)
                                            : EtwSystemCallResult(&text, &values);
    CHECK(shown || text.size == 0);
    EtwTextChar(&text, '\0');
    SampleFree(s);
    return shown ? text.data : "-";
}

#define ENTER(expected, ...)                                                                       \
    CHECK_STR(TextOf("Enter", (const uint64_t[7]){__VA_ARGS__}, 7), expected)
#define EXIT(expected, ...) CHECK_STR(TextOf("Exit", (const uint64_t[2]){__VA_ARGS__}, 2), expected)

static void enter_1_1_numbers(void)
{
    ENTER("read(3, 0x7ffe12, 4096)", 0, 3, 0x7ffe12, 4096);
    ENTER("close(-1)", 3, 0xffffffff);
    ENTER("close(-1)", 3, UINT64_MAX); /* the upper half of an int means nothing */
    ENTER("getpid()", 39, 1, 2, 3);
    ENTER("brk(NULL)", 12);
    ENTER("lseek(4, -10, SEEK_END)", 8, 4, (uint64_t)-10, 2);
    ENTER("chmod(0x10, 0644)", 90, 0x10, 0644);
    ENTER("umask(000)", 95);
}

static void enter_1_2_flags(void)
{
    ENTER("openat(AT_FDCWD, 0x10, O_RDONLY)", 257, 0xffffff9c, 0x10, 0, 0777);
    ENTER("openat(5, 0x10, O_WRONLY|O_CREAT|O_TRUNC, 0666)", 257, 5, 0x10, 01101, 0666);
    ENTER("openat(AT_FDCWD, 0x10, O_RDWR|O_SYNC|O_CLOEXEC)", 257, 0xffffff9c, 0x10, 06010002);
    ENTER("openat(AT_FDCWD, 0x10, O_RDONLY|0x80000000)", 257, 0xffffff9c, 0x10, 0x80000000);
    ENTER("openat(AT_FDCWD, 0x10, 0x3)", 257, 0xffffff9c, 0x10, 3); /* no choice has this value */
    ENTER("mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0)", 9, 0, 8192, 0, 0x22,
            0xffffffff, 0);
    ENTER("mprotect(0x1000, 4096, PROT_READ|PROT_EXEC)", 10, 0x1000, 4096, 5);
    ENTER("access(0x10, F_OK)", 21, 0x10, 0);
    ENTER("access(0x10, R_OK|W_OK)", 21, 0x10, 6);
    ENTER("socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP)", 41, 2, 02000001, 6);
    ENTER("socket(99, SOCK_STREAM, 0)", 41, 99, 1, 0);
    ENTER("kill(12, SIGTERM)", 62, 12, 15);
    ENTER("kill(12, 0)", 62, 12, 0);
    ENTER("kill(12, 34)", 62, 12, 34);
    ENTER("ioctl(1, TCGETS, 0x10)", 16, 1, 0x5401, 0x10);
    ENTER("ioctl(1, 0x89ab, 0x10)", 16, 1, 0x89ab, 0x10);
    ENTER("wait4(-1, NULL, WNOHANG, NULL)", 61, 0xffffffff, 0, 1);
    ENTER("sendto(3, 0x10, 5, MSG_NOSIGNAL, NULL, 0)", 44, 3, 0x10, 5, 0x4000);
    ENTER("recvfrom(3, 0x10, 5, 0, NULL, NULL)", 45, 3, 0x10, 5, 0);
}

static void enter_1_3_parameters_that_depend_on_others(void)
{
    ENTER("fcntl(3, F_GETFL)", 72, 3, 3, 99);
    ENTER("fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK)", 72, 3, 4, 04002);
    ENTER("fcntl(3, F_DUPFD, 10)", 72, 3, 0, 10);
    ENTER("fcntl(3, F_SETLK, 0x7ffe10)", 72, 3, 6, 0x7ffe10);
    ENTER("setsockopt(3, SOL_SOCKET, SO_REUSEADDR, 0x10, 4)", 54, 3, 1, 2, 0x10, 4);
    ENTER("setsockopt(3, SOL_TCP, TCP_NODELAY, 0x10, 4)", 54, 3, 6, 1, 0x10, 4);
    ENTER("setsockopt(3, SOL_IP, 1, 0x10, 4)", 54, 3, 0, 1, 0x10, 4);
    ENTER("futex(0x10, FUTEX_WAKE|FUTEX_PRIVATE_FLAG, 1)", 202, 0x10, 129, 1, 7, 7, 7);
    ENTER("futex(0x10, FUTEX_WAIT, 2, NULL)", 202, 0x10, 0, 2, 0, 7, 7);
}

static void enter_1_4_what_is_not_known(void)
{
    ENTER("-", 5000, 1, 2);
    ENTER("-", 0xffffffff);
    CHECK_STR(TextOf("Enter", (const uint64_t[7]){0, 3}, 2), "-"); /* the payload is cut */
}

static void exit_2_1_results(void)
{
    EXIT("read = 832", 0, 832);
    EXIT("access failed: ENOENT (-2)", 21, (uint64_t)-2);
    EXIT("futex failed: ERESTARTSYS (-512)", 202, (uint64_t)-512);
    EXIT("read failed: -4000", 0, (uint64_t)-4000);
    EXIT("mmap = 0x7ff000", 9, 0x7ff000);
    EXIT("lseek = -5000", 8, (uint64_t)-5000); /* not a number of an error */
    EXIT("5000 = 1", 5000, 1);
    CHECK_STR(TextOf("Exit", (const uint64_t[2]){0}, 1), "-");
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    store = EtwSchemaStoreNew();
    CHECK_RUN(enter_1_1_numbers);
    CHECK_RUN(enter_1_2_flags);
    CHECK_RUN(enter_1_3_parameters_that_depend_on_others);
    CHECK_RUN(enter_1_4_what_is_not_known);
    CHECK_RUN(exit_2_1_results);
    EtwSchemaStoreFree(store);
    return CHECK_DONE();
}
