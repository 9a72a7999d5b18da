/*
 * tests/flow/relog/test_rename.c --
 *
 *	flow/relog/rename.c: which name is replaced in which event, and that all other bytes of its metadata stay. Metadata with
 *	tags before the name, which our own encoder does not write, is changed byte by byte.
 */
#include "tests/support/check.h"
#include "tests/support/sample_event.h"
#include "flow/relog/rename.h"

/* An event with these bytes as tags in place of the one that our encoder writes. */
static Sample *tagged(const char *provider, const char *name, const char *tags)
{
    static const Etw_Field fields[] = {{"Count", ETW_IN_INT32, 0, 0, 0}};
    Sample *s = SampleNew(provider, name, fields, 1);
    EtwText meta = {0};
    EtwTextAdd(&meta, s->meta.data, 2);
    EtwTextAdd(&meta, tags, strlen(tags));
    EtwTextAdd(&meta, s->meta.data + 3, s->meta.size - 3);
    EtwStore16(meta.data, (uint16_t)meta.size);
    EtwTextFree(&s->meta);
    s->meta = meta;
    SampleInt(s, 5, 4);
    return s;
}

/* "PROVIDER/EVENT" after the pairs; the rest of the event is checked to be as before. */
static const char *renamed(const char *const *pairs, int count, const char *provider,
        const char *name, const char *tags)
{
    static char result[200];
    EtwRename *rename;
    EtwError err;
    EtlRebuild rebuild = {.current = 0};
    Sample *s = tagged(provider, name, tags);
    EtwEvent event = *SampleEvent(s);
    size_t head = 2 + strlen(tags), traits = strlen(provider) + 3;
    if (!CHECK(EtwRenameNew(&rename, pairs, count, &err) == ETW_OK) ||
            !CHECK(EtlRebuildWhole(&rebuild, &event))) {
        return "";
    }
    bool done = EtwRenameEvent(rename, &rebuild, &event);
    const char *newName = (const char *)event.meta + head,
               *newProvider = (const char *)event.traits + 2;
    snprintf(result, sizeof result, "%s%s/%s", done ? "" : "=", newProvider, newName);
    CHECK_EQ(EtwLoad16(event.meta), event.metaSize);
    CHECK_EQ(EtwLoad16(event.traits), event.traitsSize);
    CHECK_MEM(event.meta + 2, strlen(tags), tags, strlen(tags));
    size_t from = head + strlen(newName), fromOld = head + strlen(name);
    CHECK_MEM(event.meta + from, event.metaSize - from, s->meta.data + fromOld,
            s->meta.size - fromOld);
    CHECK_EQ(event.traitsSize - strlen(newProvider), s->traits.size - (traits - 3));
    CHECK_MEM(event.payload, event.payloadSize, s->payload.data, s->payload.size);
    EtwGuid guid;
    EtwGuidFromName(newProvider, &guid);
    CHECK(EtwGuidEqual(&guid, &event.provider));
    EtwRenameFree(rename);
    EtlRebuildFree(&rebuild);
    SampleFree(s);
    return result;
}

static void names_1_1_which(void)
{
    static const char *const pairs[] = {"P", "New", "P/E", "First", "P/E", "Never", "*/Any", "All",
            "Q/E", "Longer-Than-Before"};
    CHECK_STR(renamed(pairs, 2, "P", "E", "\1"), "New/E");
    CHECK_STR(renamed(pairs, 2, "Q", "E", "\1"), "=Q/E");
    CHECK_STR(renamed(pairs, 2, "PP", "P", "\1"), "=PP/P");
    CHECK_STR(renamed(pairs, 10, "P", "E", "\1"), "New/First"); /* the provider's old name counts */
    CHECK_STR(renamed(pairs, 10, "P", "F", "\1"), "New/F");
    CHECK_STR(renamed(pairs, 10, "P", "e", "\1"), "New/e");
    CHECK_STR(renamed(pairs, 10, "P", "Any", "\1"), "New/All");
    CHECK_STR(renamed(pairs, 10, "R", "Any", "\1"), "R/All");
    CHECK_STR(renamed(pairs, 10, "Q", "E", "\1"), "Q/Longer-Than-Before");
    CHECK_STR(renamed(pairs, 10, "New", "First", "\1"), "=New/First");
    CHECK_STR(renamed(pairs, 0, "P", "E", "\1"), "=P/E");
}

/* Tags continue while their highest bit is set. */
static void names_1_2_tags(void)
{
    static const char *const pairs[] = {"P/E", "Renamed"};
    static const char *const tags[] = {
            "\1", "\x7f", "\x80\1", "\x81\x01", "\xff\xfe\x02", "\x82\x80\x7f"};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        CHECK_STR(renamed(pairs, 2, "P", "E", tags[i]), "P/Renamed");
    }
}

/* Metadata that ends within the name or the tags has no name. */
static void names_1_3_cut(void)
{
    static const char *const pairs[] = {"P/E", "Renamed"};
    EtwRename *rename;
    EtwError err;
    Sample *s = tagged("P", "E", "\x80\1");
    REQUIRE(EtwRenameNew(&rename, pairs, 2, &err) == ETW_OK);
    for (size_t size = 0; size < 6; size++) { /* size, tags, E without its NUL */
        EtlRebuild rebuild = {.current = 0};
        s->meta.size = size;
        EtwEvent event = *SampleEvent(s);
        event.traits = NULL;
        CHECK(!EtwRenameEvent(rename, &rebuild, &event));
        EtlRebuildFree(&rebuild);
    }
    EtwRenameFree(rename);
    SampleFree(s);
}

static void names_1_4_refused(void)
{
    static const char *const cases[][2] = {
            {"", "x"}, {"P", ""}, {"/E", "x"}, {"P/", "x"}, {"P/E", ""}};
    for (int i = 0; i < 5; i++) {
        EtwRename *rename;
        EtwError err;
        CHECK_EQ(EtwRenameNew(&rename, cases[i], 2, &err), ETW_E_ARG);
        CHECK_STR(err.detail, "RENAME");
        CHECK(rename == NULL);
    }
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(names_1_1_which);
    CHECK_RUN(names_1_2_tags);
    CHECK_RUN(names_1_3_cut);
    CHECK_RUN(names_1_4_refused);
    return CHECK_DONE();
}
