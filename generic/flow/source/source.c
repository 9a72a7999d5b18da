/*
 * flow/source/source.c --
 *
 *	Single sources: a file (also in an archive) and a live session. Also the functions that work
 *	on every kind of source. source_merge.c merges sources.
 */
#include "base/text.h"
#include "engine/engine.h"
#include "etl/compress/pack.h"
#include "etl/read/trace_losses.h"
#include "flow/source/zip_archive.h"
#include "flow/source/zst_file.h"
#include "flow/source/source_int.h"
#include "flow/source/source_perf.h"

/* ---- A file ---------------------------------------------------------------------------------- */

enum { FILE_MAX_WARNINGS = 100 }; /* stored; a damaged file may have one for each of its buffers */
enum { ALSO_MAX = 32 };           /* providers that pass regardless of a filter */

typedef struct FileSource {
    EtwSource base;
    EtlReader *reader;
    char *path;
    OsMap unpacked; /* of an archive's member; owned by the reader that opened it first */
    uint64_t packed;
    char *warnings[FILE_MAX_WARNINGS + 1]; /* the last one says how many were omitted */
    int warningCount;
    uint64_t unkept;
} FileSource;

/* The text is "PATH: MESSAGE". It is the warning's from now on. */
static void addWarning(FileSource *f, EtwText *text)
{
    if (f->warningCount >= FILE_MAX_WARNINGS) {
        f->unkept++;
        f->warningCount = FILE_MAX_WARNINGS + 1;
        text->size = 0;
        EtwTextPrintf(text, "%s: %llu more warnings", f->path, (unsigned long long)f->unkept);
    } else {
        f->warningCount++;
    }
    EtwTextChar(text, 0);
    EtwFree(f->warnings[f->warningCount - 1]);
    f->warnings[f->warningCount - 1] = text->data;
}

static void keepWarning(void *ctx, uint64_t where, const char *message)
{
    FileSource *f = ctx;
    EtwText text = {0};
    EtwTextPrintf(&text, "%s: at byte %llu: %s", f->path, (unsigned long long)where, message);
    addWarning(f, &text);
}

/* What the file lacks is known before the first event. */
static void keepLoss(void *ctx, const char *sentence)
{
    FileSource *f = ctx;
    EtwText text = {0};
    EtwTextPrintf(&text, "%s: %s", f->path, sentence);
    addWarning(f, &text);
}

static EtwStatus fileNext(EtwSource *source, EtwEvent *event)
{
    return EtlReaderNext(((FileSource *)source)->reader, event);
}

static void fileClose(EtwSource *source)
{
    FileSource *f = (FileSource *)source;
    if (f->reader != NULL) {
        EtlReaderClose(f->reader);
    }
    for (int i = 0; i < f->warningCount; i++) {
        EtwFree(f->warnings[i]);
    }
    EtwFree(f->path);
    EtwFree(f);
}

static int fileFileCount(const EtwSource *source)
{
    (void)source;
    return 1;
}

static const EtlInfo *fileFileInfo(const EtwSource *source, int index, const char **pathPtr)
{
    const FileSource *f = (const FileSource *)source;
    (void)index;
    *pathPtr = f->path;
    return EtlReaderInfo(f->reader);
}

static uint64_t fileLost(const EtwSource *source)
{
    const EtlInfo *info = EtlReaderInfo(((const FileSource *)source)->reader);
    return (uint64_t)info->eventsLost + info->buffersLost;
}

static int fileWarningCount(const EtwSource *source)
{
    return ((const FileSource *)source)->warningCount;
}

static const char *fileWarning(const EtwSource *source, int index)
{
    return ((const FileSource *)source)->warnings[index];
}

static double fileProgress(const EtwSource *source)
{
    return EtlReaderProgress(((const FileSource *)source)->reader);
}

/* Schema events pass every filter, because the store needs them. */
static void filePushFilter(EtwSource *source, const EtlFilter *filter)
{
    EtlFilter more = *filter;
    EtwGuid also[ALSO_MAX];
    size_t count = filter->alsoProviderCount;
    for (size_t i = 0; i < count && i < ALSO_MAX; i++) {
        also[i] = filter->alsoProviders[i];
    }
    for (size_t i = 0; i < ETW_SCHEMA_EVENT_PROVIDERS && count < ALSO_MAX; i++) {
        also[count++] = etwSchemaEventProviders[i];
    }
    more.alsoProviders = also;
    more.alsoProviderCount = count;
    more.alsoIds = &etwSchemaEventId;
    more.alsoIdCount = 1;
    if (count < ALSO_MAX) {
        EtlReaderPushFilter(((FileSource *)source)->reader, &more);
    }
}

static EtwSource *fileReopen(const EtwSource *source, const EtlFilter *filter);
static bool fileHarvest(EtwSource *source, EtwSchemaStore *store)
{
    const FileSource *f = (const FileSource *)source;
    return f->unpacked.base ? EtwHarvestMemory(f->unpacked.base, f->unpacked.size, store)
                            : EtwHarvestFile(f->path, EtlReaderInfo(f->reader), store);
}

static const EtwSourceOps fileOps = {.next = fileNext,
        .close = fileClose,
        .fileCount = fileFileCount,
        .fileInfo = fileFileInfo,
        .lost = fileLost,
        .warningCount = fileWarningCount,
        .warning = fileWarning,
        .progress = fileProgress,
        .harvest = fileHarvest,
        .pushFilter = filePushFilter,
        .reopen = fileReopen};

/*
 * Takes ownership of map, the file's content. packed: its size in an archive, 0: not in an archive.
 */
static EtwStatus openTrace(
        EtwSource **sourcePtr, const char *path, OsMap *map, uint64_t packed, EtwError *errPtr)
{
    FileSource *f = EtwAlloc(sizeof *f);
    f->base.ops = &fileOps;
    f->path = EtwStrdup(path);
    f->unpacked = packed != 0 ? *map : (OsMap){0};
    f->packed = packed;
    EtwStatus status = EtlReaderOpenMap(&f->reader, map, packed, path, keepWarning, f, errPtr);
    if (status != ETW_OK) {
        f->reader = NULL;
        fileClose(&f->base);
        return status;
    }
    EtlLossesVisit(EtlReaderInfo(f->reader), keepLoss, f);
    *sourcePtr = &f->base;
    return ETW_OK;
}

/* ---- An archive ------------------------------------------------------------------------------ */

static EtwStatus openMember(EtwSource **sourcePtr, const EtwArchive *archive, int index,
        const char *path, EtwError *errPtr)
{
    OsMap map;
    EtwText name = {0};
    EtwStatus status = EtwArchiveUnpack(archive, index, &map, errPtr);
    if (status == ETW_OK) {
        EtwTextPrintf(&name, "%s::%s", path, EtwArchiveName(archive, index));
        EtwTextChar(&name, 0);
        status = openTrace(sourcePtr, name.data, &map, EtwArchiveShare(archive, index), errPtr);
        EtwTextFree(&name);
    }
    return status;
}

/* Open all traces of the archive, merged by time, or the one with that name. */
static EtwStatus openMembers(EtwSource **sourcePtr, const EtwArchive *archive, const char *path,
        const char *member, EtwError *errPtr)
{
    int count = EtwArchiveCount(archive), opened = 0;
    if (member != NULL) {
        int index = EtwArchiveFind(archive, member);
        return index >= 0 ? openMember(sourcePtr, archive, index, path, errPtr)
                          : EtwFail(errPtr, ETW_E_LOOKUP, "MEMBER", member,
                                    "archive \"%s\" has no trace \"%s\", or several with that "
                                    "name: it has %d traces, for example \"%s\"",
                                    path, member, count, EtwArchiveName(archive, 0));
    }
    EtwSource **sources = EtwAlloc(sizeof *sources * (size_t)count);
    EtwStatus status = ETW_OK;
    while (opened < count && status == ETW_OK) {
        status = openMember(&sources[opened], archive, opened, path, errPtr);
        opened += status == ETW_OK;
    }
    if (status == ETW_OK) {
        *sourcePtr = EtwSourceMerge(sources, count);
    }
    while (status != ETW_OK && opened > 0) {
        EtwSourceClose(sources[--opened]);
    }
    EtwFree(sources);
    return status;
}

static EtwStatus openArchive(EtwSource **sourcePtr, const OsMap *map, const char *path,
        const char *member, EtwError *errPtr)
{
    EtwArchive *archive;
    EtwStatus status = EtwArchiveOpen(&archive, map->base, map->size, path, errPtr);
    if (status == ETW_OK) {
        status = openMembers(sourcePtr, archive, path, member, errPtr);
        EtwArchiveClose(archive);
    }
    return status;
}

/* Open a file of zstd that is not a packed trace of ours. */
static EtwStatus openUnpacked(
        EtwSource **sourcePtr, const OsMap *packed, const char *path, EtwError *errPtr)
{
    OsMap map;
    EtwStatus status = EtwZstUnpack(packed->base, packed->size, path, &map, errPtr);
    return status == ETW_OK ? openTrace(sourcePtr, path, &map, EtwZstShare(packed->size), errPtr)
                            : status;
}

/* Open a file of any kind. member: the part of an archive to open, or NULL. */
static EtwStatus openPath(
        EtwSource **sourcePtr, const char *path, const char *member, EtwError *errPtr)
{
    OsMap map;
    const char *kind = "";
    EtwStatus status = OsMapFile(&map, path, errPtr);
    if (status != ETW_OK) {
        return status;
    }
    if (member == NULL && EtwPerfIs(map.base, map.size)) {
        return EtwSourcePerf(sourcePtr, path, &map, errPtr);
    }
    EtwPacking packing = EtwPackingOf(map.base, map.size, &kind);
    bool plain = packing == ETW_PACKING_NONE || EtlPackIs(map.base, map.size);
    if (plain && member == NULL) {
        return openTrace(sourcePtr, path, &map, 0, errPtr);
    }
    if (packing == ETW_PACKING_ZIP) {
        status = openArchive(sourcePtr, &map, path, member, errPtr);
    } else if (packing == ETW_PACKING_ZSTD && member == NULL) {
        status = openUnpacked(sourcePtr, &map, path, errPtr);
    } else if (packing == ETW_PACKING_OTHER) {
        status = EtwFail(errPtr, ETW_E_UNSUPPORTED, "PACKED", path,
                "\"%s\" is a %s archive, which cannot be read: unpack it first, or make it a zip "
                "archive",
                path, kind);
    } else {
        status = EtwFail(errPtr, ETW_E_FORMAT, "ZIP", path, "\"%s\" is not a zip archive", path);
    }
    OsUnmap(&map);
    return status;
}

/* Open "PATH", or, if there is no such file, "PATH::MEMBER" of an archive. */
static EtwStatus openFile(EtwSource **sourcePtr, const char *spec, EtwError *errPtr)
{
    const char *colons = OsFileExists(spec) ? NULL : strstr(spec, "::");
    char *path = colons ? EtwStrdup(spec) : NULL;
    if (path != NULL) {
        path[colons - spec] = 0;
    }
    bool member = path != NULL && OsFileExists(path);
    EtwStatus status = member ? openPath(sourcePtr, path, colons + 2, errPtr)
                              : openPath(sourcePtr, spec, NULL, errPtr);
    EtwFree(path);
    return status;
}

/* ---- A live session -------------------------------------------------------------------------- */

typedef struct LiveSource {
    EtwSource base;
    EtwLive *live;
    char *name;
    uint64_t instance; /* another session may reuse the name later */
} LiveSource;

static EtwStatus liveNext(EtwSource *source, EtwEvent *event)
{
    return EtwLiveNext(((LiveSource *)source)->live, event);
}

static void liveWait(EtwSource *source, int64_t timeoutNs)
{
    EtwLiveWait(((LiveSource *)source)->live, timeoutNs);
}

static void liveWake(EtwSource *source)
{
    EtwLiveWake(((LiveSource *)source)->live);
}

static void liveClose(EtwSource *source)
{
    LiveSource *l = (LiveSource *)source;
    EtwLiveClose(l->live);
    EtwFree(l->name);
    EtwFree(l);
}

static uint64_t liveLost(const EtwSource *source)
{
    return EtwLiveLost(((const LiveSource *)source)->live);
}

static EtwStatus liveSession(const EtwSource *source, int index, EtwSessionInfo *info)
{
    const LiveSource *l = (const LiveSource *)source;
    if (index > 0) {
        return ETW_END;
    }
    EtwStatus status = EtwSessionQuery(l->name, info, NULL);
    return status == ETW_OK && info->instance != l->instance ? ETW_E_STATE : status;
}

static const EtwSourceOps liveOps = {.next = liveNext,
        .wait = liveWait,
        .wake = liveWake,
        .close = liveClose,
        .lost = liveLost,
        .session = liveSession};

static EtwStatus openLive(EtwSource **sourcePtr, const char *session, EtwError *errPtr)
{
    EtwLive *live;
    EtwSessionInfo info;
    EtwStatus status = EtwLiveOpen(session, &live, errPtr);
    if (status == ETW_OK) {
        LiveSource *l = EtwAlloc(sizeof *l);
        l->base.ops = &liveOps;
        l->live = live;
        l->name = EtwStrdup(session);
        l->instance = EtwSessionQuery(session, &info, NULL) == ETW_OK ? info.instance : 0;
        *sourcePtr = &l->base;
    }
    return status;
}

/* ---- Any source ------------------------------------------------------------------------------ */

EtwStatus EtwSourceOpen(EtwSource **sourcePtr, const char *spec, EtwError *errPtr)
{
    static const char session[] = "session:";
    *sourcePtr = NULL;
    if (strncmp(spec, session, sizeof session - 1) == 0) {
        return openLive(sourcePtr, spec + sizeof session - 1, errPtr);
    }
    return openFile(sourcePtr, spec, errPtr);
}

EtwStatus EtwSourceNext(EtwSource *source, EtwEvent *event)
{
    EtwStatus status = source->ops->next(source, event);
    if (status == ETW_OK && source->schemaSink != NULL && EtwEventIsSchema(event)) {
        EtwSchemaHarvest(source->schemaSink, event);
    }
    return status;
}

void EtwSourceHarvest(EtwSource *source, EtwSchemaStore *store)
{
    bool done = source->ops->harvest != NULL && source->ops->harvest(source, store);
    source->schemaSink = done ? NULL : store;
}

bool EtwSourceIsLive(const EtwSource *source)
{
    return source->ops->wait != NULL;
}

void EtwSourceWait(EtwSource *source, int64_t timeoutNs)
{
    if (source->ops->wait != NULL) {
        source->ops->wait(source, timeoutNs);
    }
}

void EtwSourceWake(EtwSource *source)
{
    if (source->ops->wake != NULL) {
        source->ops->wake(source);
    }
}

void EtwSourceClose(EtwSource *source)
{
    if (source != NULL) {
        source->ops->close(source);
    }
}

int EtwSourceFileCount(const EtwSource *source)
{
    return source->ops->fileCount ? source->ops->fileCount(source) : 0;
}

const EtlInfo *EtwSourceFileInfo(const EtwSource *source, int index, const char **pathPtr)
{
    if (index < 0 || index >= EtwSourceFileCount(source)) {
        return NULL;
    }
    const char *path;
    return source->ops->fileInfo(source, index, pathPtr ? pathPtr : &path);
}

uint64_t EtwSourceLost(const EtwSource *source)
{
    return source->ops->lost ? source->ops->lost(source) : 0;
}

uint64_t EtwSourceLostLive(const EtwSource *source)
{
    uint64_t ofFiles = 0;
    for (int i = 0; i < EtwSourceFileCount(source); i++) {
        const EtlInfo *info = EtwSourceFileInfo(source, i, NULL);
        ofFiles += (uint64_t)info->eventsLost + info->buffersLost;
    }
    uint64_t lost = EtwSourceLost(source);
    return lost > ofFiles ? lost - ofFiles : 0;
}

bool EtwSourceIsWhole(const EtwSource *source)
{
    bool whole = EtwSourceWarningCount(source) == EtwSourceNoticeCount(source);
    for (int i = 0; i < EtwSourceFileCount(source); i++) {
        const EtlInfo *info = EtwSourceFileInfo(source, i, NULL);
        whole = whole && info->closed && EtlLossesNone(info);
    }
    return whole;
}

EtwStatus EtwSourceSession(const EtwSource *source, int index, EtwSessionInfo *info)
{
    return source->ops->session != NULL ? source->ops->session(source, index, info) : ETW_END;
}

int EtwSourceWarningCount(const EtwSource *source)
{
    return source->ops->warningCount ? source->ops->warningCount(source) : 0;
}

int EtwSourceNoticeCount(const EtwSource *source)
{
    return source->ops->noticeCount ? source->ops->noticeCount(source) : 0;
}

const char *EtwSourceWarning(const EtwSource *source, int index)
{
    return index >= 0 && index < EtwSourceWarningCount(source) ? source->ops->warning(source, index)
                                                               : NULL;
}

/* A second reader of the unpacked data. */
static EtwSource *reopenMember(const FileSource *member)
{
    FileSource *f = EtwAlloc(sizeof *f);
    f->base.ops = &fileOps;
    f->path = EtwStrdup(member->path);
    f->unpacked = member->unpacked;
    f->packed = member->packed;
    EtwStatus status = EtlReaderOpenMemory(&f->reader, member->unpacked.base, member->unpacked.size,
            member->packed, NULL, NULL, NULL);
    if (status != ETW_OK) {
        f->reader = NULL;
        fileClose(&f->base);
    }
    return status == ETW_OK ? &f->base : NULL;
}

static EtwSource *reopenPath(const char *path)
{
    EtwSource *other;
    EtwError error;
    if (EtwSourceOpen(&other, path, &error) != ETW_OK) {
        return NULL;
    }
    if (other->ops != &fileOps) { /* the file has been replaced */
        EtwSourceClose(other);
        return NULL;
    }
    return other;
}

static EtwSource *fileReopen(const EtwSource *source, const EtlFilter *filter)
{
    const FileSource *f = (const FileSource *)source;
    EtwSource *other = f->unpacked.base ? reopenMember(f) : reopenPath(f->path);
    if (other != NULL) {
        EtlReaderSetFilter(((FileSource *)other)->reader, filter);
    }
    return other;
}

EtwSource *EtwSourceReopen(const EtwSource *source, const EtlFilter *filter)
{
    return source->ops->reopen ? source->ops->reopen(source, filter) : NULL;
}

void EtwSourcePushFilter(EtwSource *source, const EtlFilter *filter)
{
    if (source->ops->pushFilter != NULL) {
        source->ops->pushFilter(source, filter);
    }
}

double EtwSourceProgress(const EtwSource *source)
{
    return source->ops->progress ? source->ops->progress(source) : 0.0;
}
