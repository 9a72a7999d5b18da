/*
 * tests/semantics/test_semantics.c --
 *
 *	What events mean: each declared event, foreign events of the same names, and the Windows events
 *	that are interpreted.
 */
#include "tests/support/check.h"
#include "tests/support/sample_event.h"
#include "schema/kernel/kernel_classes.h"
#include "semantics/declared_events.h"

static Sample *DeclaredSample(const EtwDeclaredProvider *provider, const EtwDeclaredEvent *event)
{
    Etw_EventDesc desc;
    Etw_Field fields[ETW_DECLARED_FIELDS_MAX];
    int count = EtwDeclaredFields(event, &desc, fields);
    return SampleNew(provider->name, event->name, fields, count);
}

/* ---- Our events ------------------------------------------------------------------------------ */

static void CheckDeclared(EtwSchemaStore *store, const EtwDeclaredProvider *provider, int number)
{
    const EtwDeclaredEvent *event = &provider->events[number];
    Sample *s = DeclaredSample(provider, event);
    const EtwSchema *schema = EtwSchemaOf(store, SampleEvent(s));
    REQUIRE(schema != NULL);
    const EtwSemantics *semantics = EtwSemanticsOf(schema);
    uint64_t roles = 0;
    CHECK_STR(schema->provider, provider->name);
    CHECK_MSG(semantics->meaning == event->meaning, "%s %s has meaning %d", provider->name,
            event->name, semantics->meaning);
    CHECK_EQ(semantics->naming, event->naming);
    CHECK_STR(semantics->moves, event->moves);
    for (int i = 0; i < event->fieldCount; i++) {
        EtwRole role = event->fields[i].role;
        CHECK_STR(schema->fields[i].name, event->fields[i].name);
        CHECK_EQ(schema->fields[i].in, event->fields[i].in);
        CHECK_EQ(schema->fields[i].out, event->fields[i].out);
        if (role != ETW_ROLE_NONE) {
            roles |= ETW_ROLE_BIT(role);
            CHECK_MSG(semantics->field[role] == i, "%s %s: role %d is field %d, not %s",
                    provider->name, event->name, role, semantics->field[role],
                    event->fields[i].name);
        }
    }
    CHECK_EQ(semantics->roles, roles);
    CHECK(EtwSemanticsOf(schema) == semantics);
    SampleFree(s);
}

static void declared_1_1_meanings_and_roles(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    for (const EtwDeclaredProvider *p = etwDeclaredProviders; p->name != NULL; p++) {
        CHECK(EtwDeclaredFind(p->name) == p);
        for (int i = 0; i < p->eventCount; i++) {
            REQUIRE(p->events[i].name != NULL);
            CHECK(p->events[i].fieldCount <= ETW_DECLARED_FIELDS_MAX);
            CheckDeclared(store, p, i);
        }
    }
    CHECK(EtwDeclaredFind("Linux-none") == NULL);
    EtwSchemaStoreFree(store);
}

/* Two events of a name differ in the types of addresses only: what they mean is found by name. */
static void declared_1_2_events_of_a_name(void)
{
    for (const EtwDeclaredProvider *p = etwDeclaredProviders; p->name != NULL; p++) {
        for (int i = 1; i < p->eventCount; i++) {
            const EtwDeclaredEvent *a = &p->events[i - 1], *b = &p->events[i];
            if (strcmp(a->name, b->name) == 0) {
                CHECK_EQ(a->meaning, b->meaning);
                CHECK_EQ(a->fieldCount, b->fieldCount);
                for (int k = 0; k < a->fieldCount; k++) {
                    CHECK_STR(a->fields[k].name, b->fields[k].name);
                    CHECK_EQ(a->fields[k].role, b->fields[k].role);
                }
            }
        }
    }
}

/* Keywords of Tcl-Script have the numbers by which the provider asks for them. */
static void declared_1_3_keywords(void)
{
    const EtwDeclaredProvider *script = EtwDeclaredFind(ETW_SCRIPT_PROVIDER);
    uint64_t all = 0;
    CHECK_EQ(script->eventCount, ETW_SCRIPT_EVENTS);
    for (int i = 0; i < script->keywordCount; i++) {
        CHECK_EQ(script->keywords[i].mask, 1u << i);
        all |= script->keywords[i].mask;
    }
    for (int i = 0; i < script->eventCount; i++) {
        CHECK((script->events[i].keyword & all) != 0);
    }
    CHECK_STR(script->events[ETW_SCRIPT_LINE].name, "Line");
    CHECK_STR(EtwDeclaredFind(ETW_SESSION_PROVIDER)->events[ETW_SESSION_MARK].name, "Mark");
}

/* ---- Foreign events -------------------------------------------------------------------------- */

/* Events that have their meaning whatever their fields are. */
static bool IsByName(EtwMeaning meaning)
{
    return meaning == ETW_MEANS_HOST || meaning == ETW_MEANS_MARK || meaning == ETW_MEANS_PROGRAM ||
           meaning == ETW_MEANS_SYMBOL || meaning == ETW_MEANS_THREAD_END ||
           meaning == ETW_MEANS_PROCESS_END ||
           (meaning >= ETW_MEANS_SOCKET_CONNECT && meaning <= ETW_MEANS_SOCKET_RETRANSMIT);
}

/* The same names, all fields of another type. */
static void foreign_2_1_other_types(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    uint64_t untyped = ETW_ROLE_BIT(ETW_ROLE_NAME) | ETW_ROLE_BIT(ETW_ROLE_SOCKET) |
                       ETW_ROLE_BIT(ETW_ROLE_FAMILY);
    for (int role = ETW_ROLE_COMPUTER; role < ETW_ROLE_COUNT; role++) {
        untyped |= ETW_ROLE_BIT(role);
    }
    for (const EtwDeclaredProvider *p = etwDeclaredProviders; p->name != NULL; p++) {
        for (int i = 0; i < p->eventCount; i++) {
            Etw_EventDesc desc;
            Etw_Field fields[ETW_DECLARED_FIELDS_MAX];
            int count = EtwDeclaredFields(&p->events[i], &desc, fields);
            for (int k = 0; k < count; k++) {
                fields[k].in = ETW_IN_DOUBLE;
                fields[k].out = ETW_OUT_DEFAULT;
            }
            Sample *s = SampleNew(p->name, desc.name, fields, count);
            const EtwSchema *schema = EtwSchemaOf(store, SampleEvent(s));
            REQUIRE(schema != NULL);
            const EtwSemantics *semantics = EtwSemanticsOf(schema);
            CHECK_EQ(semantics->roles & ~untyped, 0);
            CHECK_MSG(semantics->meaning == ETW_MEANS_OTHER || IsByName(semantics->meaning),
                    "%s %s has meaning %d", p->name, desc.name, semantics->meaning);
            CHECK(semantics->moves == NULL);
            SampleFree(s);
        }
    }
    EtwSchemaStoreFree(store);
}

/* A field that is missing, an array in its place, and another provider. */
static void foreign_2_2_other_fields(void)
{
    static const char *const providers[] = {ETW_SCRIPT_PROVIDER, ETW_SCRIPT_PROVIDER, "Someone"};
    const EtwDeclaredEvent *enter = &EtwDeclaredFind(ETW_SCRIPT_PROVIDER)->events[ETW_SCRIPT_ENTER];
    EtwSchemaStore *store = EtwSchemaStoreNew();
    for (int i = 0; i < 3; i++) {
        Etw_EventDesc desc;
        Etw_Field fields[ETW_DECLARED_FIELDS_MAX];
        int count = EtwDeclaredFields(enter, &desc, fields);
        fields[0].array = i == 1 ? ETW_ARRAY_COUNTED : ETW_SCALAR;
        Sample *s = SampleNew(providers[i], desc.name, fields + (i == 0), count - (i == 0));
        const EtwSchema *schema = EtwSchemaOf(store, SampleEvent(s));
        REQUIRE(schema != NULL);
        CHECK_EQ(EtwMeaningOf(schema), ETW_MEANS_OTHER);
        CHECK_EQ(EtwSemanticsOf(schema)->field[ETW_ROLE_CALL_ID], -1);
        SampleFree(s);
    }
    EtwSchemaStoreFree(store);
}

/*
 * The roles without which an event has no meaning, because its readers could do nothing with it; a meaning that is not here
 * needs none.
 */
#define NEED(role) ETW_ROLE_BIT(ETW_ROLE_##role)
#define NEED_ENTER NEED(CALL_ID) | NEED(DEPTH) | NEED(COMMAND) | NEED(CONTEXT)
static const struct {
    EtwMeaning meaning;
    uint64_t roles;
} needed[] = {{ETW_MEANS_CALL_ENTER, NEED_ENTER}, {ETW_MEANS_STEP_ENTER, NEED_ENTER},
        {ETW_MEANS_PACKAGE_ENTER, NEED_ENTER},
        {ETW_MEANS_CALLBACK_ENTER, NEED_ENTER | NEED(KIND) | NEED(QUEUED)},
        {ETW_MEANS_CALL_LEAVE, NEED(CALL_ID) | NEED(CODE)},
        {ETW_MEANS_STEP_LEAVE, NEED(CALL_ID) | NEED(CODE)},
        {ETW_MEANS_CALLBACK_LEAVE, NEED(CALL_ID) | NEED(CODE)},
        {ETW_MEANS_PACKAGE_LEAVE, NEED(CALL_ID) | NEED(CODE)},
        {ETW_MEANS_LINE, NEED_ENTER | NEED(FILE) | NEED(LINE)},
        {ETW_MEANS_CHANNEL, NEED(OPERATION) | NEED(CHANNEL) | NEED(BYTES) | NEED(DURATION) |
                                    NEED(CODE) | NEED(DETAIL)},
        {ETW_MEANS_WAIT, NEED(OPERATION) | NEED(DURATION) | NEED(CODE) | NEED(DETAIL)},
        {ETW_MEANS_SCHEDULE, NEED(ORIGIN) | NEED(KIND)},
        {ETW_MEANS_SAMPLE, NEED(WEIGHT) | NEED(STACK)}, {ETW_MEANS_CPU_SAMPLE, NEED(WEIGHT)},
        {ETW_MEANS_SWITCH, NEED(TID) | NEED(OLD_TID) | NEED(OLD_STATE)},
        {ETW_MEANS_PROCESS_START, NEED(PID)}, {ETW_MEANS_THREAD_START, NEED(PID) | NEED(TID)},
        {ETW_MEANS_DISK_DONE, NEED(TID)},
        {ETW_MEANS_READY, NEED(TID) | NEED(OLD_TID) | NEED(INTERRUPT)},
        {ETW_MEANS_SYSCALL_ENTER, NEED(SYSCALL)}, {ETW_MEANS_SYSCALL_EXIT, NEED(SYSCALL)},
        {ETW_MEANS_SOCKET_SEND, NEED(SIZE)}, {ETW_MEANS_SOCKET_RECEIVE, NEED(SIZE)},
        {ETW_MEANS_ALLOC, NEED(SIZE)}, {ETW_MEANS_FILE_OPEN, NEED(NAME) | NEED(OUTCOME)},
        {ETW_MEANS_FILE, NEED(NAME) | NEED(OUTCOME)}};

/* Each field in turn has another name: the meaning is lost when it is needed, and stays when it is not. */
static void foreign_2_3_needed_fields(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    for (const EtwDeclaredProvider *p = etwDeclaredProviders; p->name != NULL; p++) {
        for (int i = 0; i < p->eventCount; i++) {
            const EtwDeclaredEvent *event = &p->events[i];
            uint64_t needs = 0;
            for (size_t n = 0; n < sizeof needed / sizeof *needed; n++) {
                needs |= needed[n].meaning == (EtwMeaning)event->meaning ? needed[n].roles : 0;
            }
            for (int k = 0; k < event->fieldCount; k++) {
                Etw_EventDesc desc;
                Etw_Field fields[ETW_DECLARED_FIELDS_MAX];
                int count = EtwDeclaredFields(event, &desc, fields);
                bool isNeeded = event->fields[k].role != ETW_ROLE_NONE &&
                                (needs >> event->fields[k].role & 1) != 0;
                fields[k].name = "SomethingElse";
                Sample *s = SampleNew(p->name, desc.name, fields, count);
                const EtwSchema *schema = EtwSchemaOf(store, SampleEvent(s));
                REQUIRE(schema != NULL);
                CHECK_MSG((int)EtwMeaningOf(schema) ==
                                  (isNeeded ? (int)ETW_MEANS_OTHER : event->meaning),
                        "%s %s without %s", p->name, desc.name, event->fields[k].name);
                SampleFree(s);
            }
        }
    }
    EtwSchemaStoreFree(store);
}

/* ---- Windows --------------------------------------------------------------------------------- */

#define BIT(role) ETW_ROLE_BIT(ETW_ROLE_##role)
#define PROCESS "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"
#define THREAD "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c"
#define IMAGE "2cb15d1d-5fc1-11d2-abe1-00a0c911f518"
#define FILEIO "90cbdc39-4a3e-11d1-84f4-0000f80464e3"
#define REGISTRY "ae53722e-c863-11d2-8659-00c04fa321a1"
#define TCPIP "9a280ac0-c8e0-11d1-84e2-00c04fb998a2"
#define UDPIP "bf3a50c5-a9c9-4988-a005-2df0b7c80f80"
#define CONFIG "01853a65-418f-4f36-aefc-dc0f1d2fd235"
#define CONFIGEX "9b79ee91-b5fd-41c0-a243-4248e266e9d0"
#define TRACE "68fdd900-4a3e-11d1-84f4-0000f80464e3"
#define LOST "6a399ae0-4bc6-4de9-870b-3657f8947e7e"

static const struct {
    const char *guid;
    uint8_t opcode, version;
    EtwMeaning meaning;
    EtwNaming naming;
    uint64_t roles; /* at least */
} windows[] = {
        {PROCESS, 1, 4, ETW_MEANS_OTHER, ETW_NAMES_PROCESS, BIT(PID) | BIT(NAME)},
        {PROCESS, 2, 4, ETW_MEANS_PROCESS_END, ETW_NAMES_PROCESS, BIT(PID) | BIT(NAME)},
        {PROCESS, 3, 1, ETW_MEANS_OTHER, ETW_NAMES_PROCESS, BIT(PID) | BIT(NAME)},
        {PROCESS, 39, 5, ETW_MEANS_OTHER, ETW_NAMES_PROCESS, BIT(PID) | BIT(NAME)},
        {THREAD, 1, 3, ETW_MEANS_OTHER, ETW_NAMES_THREAD, BIT(PID) | BIT(TID)},
        {THREAD, 3, 3, ETW_MEANS_OTHER, ETW_NAMES_THREAD, BIT(PID) | BIT(TID)},
        {THREAD, 2, 3, ETW_MEANS_THREAD_END, ETW_NAMES_NOTHING, BIT(TID)},
        {THREAD, 36, 2, ETW_MEANS_SWITCH, ETW_NAMES_RUNNING,
                BIT(TID) | BIT(OLD_TID) | BIT(OLD_STATE) | BIT(WAIT_REASON)},
        {IMAGE, 10, 2, ETW_MEANS_OTHER, ETW_NAMES_MODULE,
                BIT(PID) | BIT(BASE) | BIT(MODULE_SIZE) | BIT(NAME)},
        {IMAGE, 2, 2, ETW_MEANS_OTHER, ETW_NAMES_MODULE_GONE, BIT(PID) | BIT(BASE)},
        {IMAGE, 3, 2, ETW_MEANS_OTHER, ETW_NAMES_MODULE, BIT(PID) | BIT(BASE)},
        {FILEIO, 0, 2, ETW_MEANS_OTHER, ETW_NAMES_OBJECT, BIT(FILE_OBJECT) | BIT(NAME)},
        {FILEIO, 36, 2, ETW_MEANS_OTHER, ETW_NAMES_OBJECT, BIT(FILE_OBJECT) | BIT(NAME)},
        {FILEIO, 64, 2, ETW_MEANS_OTHER, ETW_NAMES_OBJECT, BIT(FILE_OBJECT) | BIT(NAME)},
        {FILEIO, 67, 2, ETW_MEANS_OTHER, ETW_NAMES_NOTHING, BIT(FILE_OBJECT) | BIT(FILE_KEY)},
        {REGISTRY, 22, 2, ETW_MEANS_OTHER, ETW_NAMES_OBJECT, BIT(FILE_KEY) | BIT(NAME)},
        {TCPIP, 10, 2, ETW_MEANS_SOCKET_SEND, ETW_NAMES_NOTHING, BIT(SIZE) | BIT(PID)},
        {TCPIP, 11, 2, ETW_MEANS_SOCKET_RECEIVE, ETW_NAMES_NOTHING, BIT(SIZE) | BIT(PID)},
        {UDPIP, 10, 2, ETW_MEANS_SOCKET_SEND, ETW_NAMES_NOTHING, BIT(SIZE)},
        {UDPIP, 11, 2, ETW_MEANS_SOCKET_RECEIVE, ETW_NAMES_NOTHING, BIT(SIZE)},
        {CONFIG, 10, 2, ETW_MEANS_MACHINE, ETW_NAMES_NOTHING,
                BIT(COMPUTER) | BIT(PROCESSORS) | BIT(MHZ) | BIT(MEMORY)},
        {CONFIG, 25, 2, ETW_MEANS_MACHINE, ETW_NAMES_NOTHING, BIT(MANUFACTURER) | BIT(MODEL)},
        {CONFIG, 35, 2, ETW_MEANS_MACHINE, ETW_NAMES_NOTHING, BIT(PROCESSOR)},
        {CONFIGEX, 32, 0, ETW_MEANS_MACHINE, ETW_NAMES_NOTHING, BIT(PRODUCT) | BIT(BUILD)},
        {TRACE, 0, 2, ETW_MEANS_TRACE, ETW_NAMES_NOTHING, 0},
        {LOST, 32, 0, ETW_MEANS_LOSS, ETW_NAMES_NOTHING, 0},
};

static void windows_3_1_kernel_classes(void)
{
    static const uint8_t payload[2048];
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        EtwEvent event = {.classic = true,
                .kind = ETL_PERFINFO64,
                .pointerSize = 8,
                .desc = {.opcode = windows[i].opcode, .version = windows[i].version},
                .payload = payload,
                .payloadSize = sizeof payload};
        EtwGuidParse(windows[i].guid, &event.provider);
        const EtwSchema *schema = EtwKernelSchema(&event);
        if (!CHECK_MSG(schema != NULL, "%s opcode %d: no schema", windows[i].guid,
                    windows[i].opcode)) {
            continue;
        }
        const EtwSemantics *semantics = EtwSemanticsOf(schema);
        CHECK_MSG(semantics->meaning == windows[i].meaning &&
                          semantics->naming == windows[i].naming &&
                          (windows[i].roles & ~semantics->roles) == 0,
                "%s %s: meaning %d, naming %d, roles %llx of %llx", schema->provider, schema->event,
                semantics->meaning, semantics->naming, (unsigned long long)semantics->roles,
                (unsigned long long)windows[i].roles);
        for (int role = 0; role < ETW_ROLE_COUNT; role++) {
            CHECK_EQ(semantics->field[role] >= 0, semantics->roles >> role & 1);
        }
    }
}

/* Events of providers with a manifest are called "Task/Opcode". */
static void windows_3_2_manifests(void)
{
    static const EtwField fields[] = {{.name = "ProcessID", .in = ETW_IN_UINT32, .span = 1},
            {.name = "ImageName", .in = ETW_IN_UTF16Z, .span = 1},
            {.name = "FileKey", .in = ETW_IN_POINTER, .span = 1}};
    static const struct {
        const char *provider, *event;
        EtwNaming naming;
    } rows[] = {{"Microsoft-Windows-Kernel-Process", "ProcessStart/Start", ETW_NAMES_PROCESS},
            {"Microsoft-Windows-Kernel-Process", "ProcessRundown/Info", ETW_NAMES_PROCESS},
            {"Microsoft-Windows-Kernel-Process", "ThreadStart/Start", ETW_NAMES_THREAD},
            {"Microsoft-Windows-Kernel-Process", "ImageLoad", ETW_NAMES_MODULE},
            {"Microsoft-Windows-Kernel-Process", "ImageUnload", ETW_NAMES_MODULE_GONE},
            {"Microsoft-Windows-Kernel-Process", "ProcessStop/Stop", ETW_NAMES_NOTHING},
            {"Microsoft-Windows-Kernel-File", "NameCreate", ETW_NAMES_OBJECT},
            {"Microsoft-Windows-Kernel-File", "Create", ETW_NAMES_OBJECT},
            {"Microsoft-Windows-Kernel-File", "Cleanup", ETW_NAMES_NOTHING}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        EtwSchema schema = {.provider = rows[i].provider,
                .event = rows[i].event,
                .fields = fields,
                .fieldCount = 3};
        const EtwSemantics *semantics = EtwSemanticsOf(&schema);
        CHECK_MSG(semantics->naming == rows[i].naming, "%s: naming %d", rows[i].event,
                semantics->naming);
        CHECK_EQ(semantics->meaning, ETW_MEANS_OTHER);
        CHECK_EQ(semantics->field[ETW_ROLE_PID], 0);
        CHECK_EQ(semantics->field[ETW_ROLE_NAME], 1);
        CHECK_EQ(semantics->field[ETW_ROLE_FILE_KEY], 2);
        EtwFree(schema.semantics);
    }
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void values_4_1_by_role(void)
{
    const EtwDeclaredProvider *script = EtwDeclaredFind(ETW_SCRIPT_PROVIDER);
    EtwSchemaStore *store = EtwSchemaStoreNew();
    Sample *s = DeclaredSample(script, &script->events[ETW_SCRIPT_LEAVE]);
    EtwRoleValues v;
    size_t size;
    SampleInt(s, 7, 8);
    SampleInt(s, 3, 2);
    SampleInt(s, 1, 4);
    SampleInt(s, 1234, 8);
    SampleInt(s, 4, 2);
    EtwTextAdd(&s->payload, "proc", 4);
    const EtwEvent *event = SampleEvent(s);
    CHECK(!EtwRoleValuesRead(&v, EtwSchemaOf(store, event), event)); /* Result is missing */
    CHECK_EQ(EtwRoleNumber(&v, ETW_ROLE_CALL_ID), 7);
    CHECK_EQ(EtwRoleNumber(&v, ETW_ROLE_DEPTH), 3);
    CHECK_EQ(EtwRoleNumber(&v, ETW_ROLE_CODE), 1);
    CHECK_EQ(EtwRoleNumber(&v, ETW_ROLE_DURATION), 1234);
    const char *command = EtwRoleText(&v, ETW_ROLE_COMMAND, &size);
    CHECK_MEM(command, size, "proc", 4);
    CHECK(EtwRoleValue(&v, ETW_ROLE_RESULT) == NULL);
    CHECK_STR(EtwRoleText(&v, ETW_ROLE_RESULT, &size), "");
    CHECK_EQ(size, 0);
    CHECK_EQ(EtwRoleNumber(&v, ETW_ROLE_LINE), 0);
    /* An event without its payload has no values, also not those of the event before. */
    s->payload.size = 0;
    event = SampleEvent(s);
    CHECK(!EtwRoleValuesRead(&v, EtwSchemaOf(store, event), event));
    CHECK(EtwRoleValue(&v, ETW_ROLE_CALL_ID) == NULL);
    CHECK_EQ(EtwRoleNumber(&v, ETW_ROLE_DEPTH), 0);
    SampleFree(s);
    EtwSchemaStoreFree(store);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(declared_1_1_meanings_and_roles);
    CHECK_RUN(declared_1_2_events_of_a_name);
    CHECK_RUN(declared_1_3_keywords);
    CHECK_RUN(foreign_2_1_other_types);
    CHECK_RUN(foreign_2_2_other_fields);
    CHECK_RUN(foreign_2_3_needed_fields);
    CHECK_RUN(windows_3_1_kernel_classes);
    CHECK_RUN(windows_3_2_manifests);
    CHECK_RUN(values_4_1_by_role);
    return CHECK_DONE();
}
