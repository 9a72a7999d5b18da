/*
 * flow/track/track_layout.c --
 *
 *	Finds the fields of a schema that name_tracker.c needs, by the names that Windows' kernel classes, the
 *	providers Microsoft-Windows-Kernel-Process and -File and our own kernel groups have for them.
 */
#include "flow/track/track_layout.h"
#include "schema/model/tdh_types.h"

enum { MAX_PAYLOAD = UINT16_MAX };

/* Bytes of a scalar, 0 when it has no fixed size. */
static int scalarSize(const EtwField *f, int pointer)
{
    if (f->sized == ETW_SIZE_FIXED && f->in == ETW_IN_BINARY) {
        return f->length;
    }
    if (f->in == ETW_IN_SKIP) {
        return f->length ? f->length : pointer;
    }
    return EtwFixedSize(f, pointer);
}

static bool isNumber(const EtwField *f)
{
    return f->array == ETW_SCALAR &&
           (f->in == ETW_IN_UINT32 || f->in == ETW_IN_UINT64 || f->in == ETW_IN_HEX32 ||
                   f->in == ETW_IN_HEX64 || f->in == ETW_IN_POINTER);
}

/* The role that a field's name gives it, TRACK_ROLES: none. */
static TrackRole roleOf(const EtwField *f)
{
    static const struct {
        const char *name;
        TrackRole role;
    } names[] = {{"ProcessId", TRACK_PID}, {"ProcessID", TRACK_PID}, {"PID", TRACK_PID},
            {"StackProcess", TRACK_PID}, {"ThreadId", TRACK_TID}, {"ThreadID", TRACK_TID},
            {"TThreadId", TRACK_TID}, {"IssuingThreadId", TRACK_TID}, {"StackThread", TRACK_TID},
            {"TTID", TRACK_TID}, {"NewThreadId", TRACK_TID}, {"OldThreadId", TRACK_OLD_TID},
            {"FileKey", TRACK_FILE_KEY}, {"KeyHandle", TRACK_FILE_KEY}, {"FileObject", TRACK_FILE},
            {"ImageBase", TRACK_BASE}, {"ImageSize", TRACK_SIZE}, {"ImageFileName", TRACK_NAME},
            {"ImageName", TRACK_NAME}, {"FileName", TRACK_NAME}, {"OpenPath", TRACK_NAME},
            {"KeyName", TRACK_NAME}, {"Command", TRACK_NAME}, {"OldCommand", TRACK_NAME},
            {"Program", TRACK_NAME}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].name, f->name) == 0) {
            return names[i].role;
        }
    }
    return TRACK_ROLES;
}

static TrackAction actionOf(const EtwSchema *schema)
{
    static const struct {
        const char *provider, *event; /* event: the name's beginning */
        TrackAction action;
    } events[] = {{"Process", "Start", TRACK_PROCESS}, {"Process", "End", TRACK_PROCESS},
            {"Process", "DC", TRACK_PROCESS}, {"Process", "Defunct", TRACK_PROCESS},
            {"Thread", "Start", TRACK_THREAD}, {"Thread", "DC", TRACK_THREAD},
            {"Thread", "CSwitch", TRACK_SWITCH}, {"Image", "Load", TRACK_LOAD},
            {"Image", "DC", TRACK_LOAD}, {"Image", "UnLoad", TRACK_UNLOAD},
            {"FileIo", "Name", TRACK_OBJECT}, {"FileIo", "File", TRACK_OBJECT},
            {"FileIo", "Create", TRACK_OBJECT}, {"Registry", "KCB", TRACK_OBJECT},
            {"Registry", "RunDown", TRACK_OBJECT},
            {"Microsoft-Windows-Kernel-Process", "ProcessStart", TRACK_PROCESS},
            {"Microsoft-Windows-Kernel-Process", "ProcessRundown", TRACK_PROCESS},
            {"Microsoft-Windows-Kernel-Process", "ThreadStart", TRACK_THREAD},
            {"Microsoft-Windows-Kernel-Process", "ImageLoad", TRACK_LOAD},
            {"Microsoft-Windows-Kernel-Process", "ImageUnload", TRACK_UNLOAD},
            {"Microsoft-Windows-Kernel-File", "NameCreate", TRACK_OBJECT},
            {"Microsoft-Windows-Kernel-File", "Create", TRACK_OBJECT},
            {"Linux-process", "Start", TRACK_PROCESS}, {"Linux-process", "Exec", TRACK_PROCESS},
            {"Linux-process", "Stop", TRACK_PROCESS_NAME},
            {"Linux-contextswitch", "Switch", TRACK_PROCESS_NAME},
            {"Etw-Session", "Host", TRACK_PROCESS_NAME}};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (strcmp(events[i].provider, schema->provider) == 0 &&
                strncmp(events[i].event, schema->event, strlen(events[i].event)) == 0) {
            return events[i].action;
        }
    }
    return TRACK_NOTHING;
}

static void takeRole(
        TrackLayout *layout, TrackRole role, int index, const int at[2], const EtwField *f)
{
    bool fits = role == TRACK_NAME ? f->array == ETW_SCALAR : isNumber(f);
    if (role == TRACK_ROLES || layout->index[role] >= 0 || !fits) {
        return;
    }
    layout->index[role] = (int16_t)index;
    for (int wide = 0; wide < 2; wide++) {
        layout->offset[role][wide] = at[wide];
        layout->width[role][wide] = (uint8_t)scalarSize(f, wide ? 8 : 4);
    }
}

void EtwTrackLayoutInit(TrackLayout *layout, const EtwSchema *schema)
{
    int at[2] = {0, 0}; /* -1 behind a field whose size varies */
    memset(layout, 0, sizeof *layout);
    memset(layout->index, 0xFF, sizeof layout->index);
    memset(layout->offset, 0xFF, sizeof layout->offset);
    layout->schema = schema;
    layout->action = actionOf(schema);
    for (int i = 0; i < schema->fieldCount; i += schema->fields[i].span) {
        const EtwField *f = &schema->fields[i];
        int times = f->array == ETW_SCALAR ? 1 : f->array == ETW_ARRAY_FIXED ? f->count : 0;
        takeRole(layout, roleOf(f), i, at, f);
        for (int wide = 0; wide < 2; wide++) {
            int64_t size = (int64_t)times * scalarSize(f, wide ? 8 : 4);
            at[wide] = at[wide] < 0 || size == 0 || size > MAX_PAYLOAD - at[wide]
                               ? -1
                               : at[wide] + (int)size;
        }
    }
}
