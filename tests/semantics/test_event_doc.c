/*
 * tests/semantics/test_event_doc.c --
 *
 *	The tables in doc/internals/EVENTS.md are those that this program makes of the declaration of
 *	our events. tools/gen-events.sh sets ETW_EVENTS_WRITE: then the file is brought up to date.
 *
 *	A generated part stands between <!-- events PROVIDER --> and <!-- end of events -->; PROVIDER is
 *	a name, or Linux-* for all others of the kernel's.
 */
#include "tests/support/check.h"
#include "semantics/declared_events.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- Tables ---------------------------------------------------------------------------------- */

static const char *TypeName(const EtwDeclaredField *f)
{
    static const struct {
        uint8_t in, out;
        const char *name;
    } types[] = {{ETW_IN_UINT8, 0, "u8"}, {ETW_IN_UINT16, 0, "u16"}, {ETW_IN_UINT32, 0, "u32"},
            {ETW_IN_UINT64, 0, "u64"}, {ETW_IN_INT32, 0, "i32"}, {ETW_IN_INT64, 0, "i64"},
            {ETW_IN_HEX32, 0, "hex32"}, {ETW_IN_HEX64, 0, "hex64"},
            {ETW_IN_UINT32, ETW_OUT_PID, "u32, pid"}, {ETW_IN_UINT32, ETW_OUT_TID, "u32, tid"},
            {ETW_IN_UINT16, ETW_OUT_PORT, "u16, port"}, {ETW_IN_UINT32, ETW_OUT_IPV4, "u32, ipv4"},
            {ETW_IN_BINARY, ETW_OUT_IPV6, "binary, ipv6"},
            {ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, "text"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].in == f->in && types[i].out == f->out) {
            return types[i].name;
        }
    }
    CheckThat(false, __FILE__, __LINE__, "%s: in-type %d, out-type %d have no name", f->name, f->in,
            f->out);
    return "?";
}

static bool IsSecond(const EtwDeclaredProvider *p, int event)
{
    return event > 0 && strcmp(p->events[event].name, p->events[event - 1].name) == 0;
}

static const char *KeywordName(const EtwDeclaredProvider *p, uint64_t mask)
{
    for (int i = 0; i < p->keywordCount; i++) {
        if (p->keywords[i].mask == mask) {
            return p->keywords[i].name;
        }
    }
    return "";
}

static void AddEvents(EtwText *out, const EtwDeclaredProvider *p)
{
    static const char *const opcodes[] = {"info", "start", "stop"};
    bool keywords = p->keywordCount > 0;
    EtwTextPrintf(out, "| event | opcode |%s when | fields |\n|---|---|%s---|---|\n",
            keywords ? " keyword |" : "", keywords ? "---|" : "");
    for (int i = 0; i < p->eventCount; i++) {
        const EtwDeclaredEvent *e = &p->events[i];
        if (IsSecond(p, i)) {
            continue;
        }
        EtwTextPrintf(out, "| %s | %s |", e->name, opcodes[e->opcode]);
        if (keywords) {
            EtwTextPrintf(out, " %s |", KeywordName(p, e->keyword));
        }
        EtwTextPrintf(out, " %s |", e->text);
        for (int k = 0; k < e->fieldCount; k++) {
            EtwTextPrintf(out, "%s%s", k > 0 ? ", " : " ", e->fields[k].name);
        }
        EtwTextStr(out, " |\n");
    }
}

static bool Same(const EtwDeclaredField *a, const EtwDeclaredField *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->text, b->text) == 0;
}

/* What the field is in the first event that has it so; false: this is a later one. */
static bool IsFirst(const EtwDeclaredProvider *p, int event, int field)
{
    for (int i = 0; i < event; i++) {
        for (int k = 0; k < p->events[i].fieldCount; k++) {
            if (Same(&p->events[i].fields[k], &p->events[event].fields[field])) {
                return false;
            }
        }
    }
    return true;
}

/* The type that it has in an event of the same name: IPv4 and IPv6 addresses. */
static const char *OtherType(const EtwDeclaredProvider *p, int event, int field)
{
    const EtwDeclaredEvent *e = &p->events[event];
    if (event + 1 == p->eventCount || !IsSecond(p, event + 1)) {
        return NULL;
    }
    const EtwDeclaredField *other = &p->events[event + 1].fields[field];
    return other->in != e->fields[field].in ? TypeName(other) : NULL;
}

/* Does a field of that name mean something else in another event? */
static bool IsAmbiguous(const EtwDeclaredProvider *p, const EtwDeclaredField *f)
{
    for (int i = 0; i < p->eventCount; i++) {
        for (int k = 0; k < p->events[i].fieldCount; k++) {
            const EtwDeclaredField *other = &p->events[i].fields[k];
            if (strcmp(other->name, f->name) == 0 && !Same(other, f)) {
                return true;
            }
        }
    }
    return false;
}

/* "Command", or, where it is not the same in all events, "Command (Leave, StepLeave)" */
static void AddName(EtwText *out, const EtwDeclaredProvider *p, const EtwDeclaredField *f)
{
    const char *before = " (";
    EtwTextStr(out, f->name);
    if (!IsAmbiguous(p, f)) {
        return;
    }
    for (int i = 0; i < p->eventCount; i++) {
        for (int k = 0; k < p->events[i].fieldCount; k++) {
            if (Same(&p->events[i].fields[k], f)) {
                EtwTextPrintf(out, "%s%s", before, p->events[i].name);
                before = ", ";
            }
        }
    }
    EtwTextChar(out, ')');
}

static void AddFields(EtwText *out, const EtwDeclaredProvider *p)
{
    const EtwDeclaredField *last = NULL;
    EtwTextStr(out, "\n| field | type | what it is |\n|---|---|---|\n");
    for (int i = 0; i < p->eventCount; i++) {
        for (int k = 0; k < p->events[i].fieldCount; k++) {
            const EtwDeclaredField *f = &p->events[i].fields[k];
            if (!IsFirst(p, i, k) || (last != NULL && Same(last, f))) {
                continue;
            }
            const char *other = OtherType(p, i, k);
            EtwTextStr(out, "| ");
            AddName(out, p, f);
            EtwTextPrintf(out, " | %s%s%s | %s |\n", TypeName(f), other ? ", or " : "",
                    other ? other : "", f->text);
            last = f;
        }
    }
}

static void AddProvider(EtwText *out, const EtwDeclaredProvider *p)
{
    AddEvents(out, p);
    AddFields(out, p);
}

/* What stands between the marks of `name`. */
static void AddPart(EtwText *out, const char *name)
{
    bool all = strcmp(name, "Linux-*") == 0, any = false;
    for (const EtwDeclaredProvider *p = etwDeclaredProviders; p->name != NULL; p++) {
        if (all && strncmp(p->name, "Linux-", 6) == 0) {
            EtwTextPrintf(out, "%s### Provider `%s`\n\n", any ? "\n" : "", p->name);
            AddProvider(out, p);
            any = true;
        } else if (strcmp(p->name, name) == 0) {
            AddProvider(out, p);
            any = true;
        }
    }
    CHECK_MSG(any, "no provider is called %s", name);
}

/* ---- The file -------------------------------------------------------------------------------- */

static char path[1200];

static const char *PathOf(const char *name)
{
    const char *cut = strstr(__FILE__, "tests/semantics/");
    snprintf(path, sizeof path, "%.*s%s", cut ? (int)(cut - __FILE__) : 0, __FILE__, name);
    return path;
}

static bool ReadFile(const char *name, EtwText *out)
{
    char block[4096];
    size_t n;
    FILE *file = fopen(name, "rb");
    if (file == NULL) {
        return false;
    }
    while ((n = fread(block, 1, sizeof block, file)) > 0) {
        EtwTextAdd(out, block, n);
    }
    EtwTextChar(out, 0);
    fclose(file);
    return true;
}

/* The text with each generated part made anew; returns how many providers it has parts of. */
static int Regenerate(const char *text, EtwText *out)
{
    static const char begin[] = "<!-- events ", mark[] = " -->\n", end[] = "<!-- end of events -->";
    int parts = 0;
    for (const char *at; (at = strstr(text, begin)) != NULL; parts++) {
        const char *name = at + sizeof begin - 1, *close = strstr(name, mark);
        const char *next = close ? strstr(close, end) : NULL;
        char provider[100];
        if (!CHECK_MSG(next != NULL, "a part that does not end")) {
            break;
        }
        snprintf(provider, sizeof provider, "%.*s", (int)(close - name), name);
        EtwTextAdd(out, text, (size_t)(close + sizeof mark - 1 - text));
        EtwTextChar(out, '\n');
        AddPart(out, provider);
        EtwTextChar(out, '\n');
        text = next;
    }
    EtwTextAdd(out, text, strlen(text) + 1);
    return parts;
}

static void document_1_1_tables(void)
{
    EtwText file = {0}, made = {0};
    const char *name = PathOf("doc/internals/EVENTS.md");
    if (!ReadFile(name, &file)) {
        SKIP("no %s", name);
    }
    CHECK_EQ(Regenerate(file.data, &made), 3); /* Tcl-Script, Etw-Session, Linux-* */
    if (getenv("ETW_EVENTS_WRITE") != NULL) {
        FILE *out = fopen(name, "wb");
        REQUIRE(out != NULL);
        CHECK_EQ(fwrite(made.data, 1, made.size - 1, out), made.size - 1);
        CHECK_EQ(fclose(out), 0);
    } else {
        CHECK_MSG(strcmp(file.data, made.data) == 0,
                "%s differs from the declaration of the events: run tools/gen-events.sh", name);
    }
    EtwTextFree(&file);
    EtwTextFree(&made);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(document_1_1_tables);
    return CHECK_DONE();
}
