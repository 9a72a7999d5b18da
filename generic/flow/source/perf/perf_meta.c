/*
 * flow/source/perf/perf_meta.c --
 *
 *	What describes the records: attributes and their ids, features (of a file at its end, of a pipe in
 *	records), the tracing data with the formats of tracepoints, build ids.
 */
#include "flow/source/perf/perf_int.h"
#include <stdio.h>

enum { NAME_MAX = 200 /* bytes of the name of an event or of a system of tracepoints */ };

/* ---- Attributes ------------------------------------------------------------------------------ */

/* size: at least ATTR_LEAST. */
static PerfAttr *addAttr(EtwPerfReader *r, const uint8_t *data, uint64_t size)
{
    PerfAttr *attr = EtwAlloc(sizeof *attr);
    uint64_t flags = EtwLoad64(data + ATTR_FLAGS);
    attr->type = EtwLoad32(data + ATTR_TYPE);
    attr->config = EtwLoad64(data + ATTR_CONFIG);
    attr->period = EtwLoad64(data + ATTR_PERIOD);
    attr->sampleType = EtwLoad64(data + ATTR_SAMPLE_TYPE);
    attr->readFormat = EtwLoad64(data + ATTR_READ_FORMAT);
    attr->branches = size >= ATTR_BRANCHES + 8 ? EtwLoad64(data + ATTR_BRANCHES) : 0;
    attr->registers = size >= ATTR_REGISTERS + 8 ? EtwLoad64(data + ATTR_REGISTERS) : 0;
    attr->freq = (flags & ATTR_FREQ) != 0;
    attr->sampleIdAll = (flags & ATTR_SAMPLE_ID_ALL) != 0;
    if (r->attrCount == r->attrCapacity) {
        r->attrCapacity = r->attrCapacity != 0 ? 2 * r->attrCapacity : 8;
        r->attrs = (PerfAttr **)EtwRealloc(r->attrs, (size_t)r->attrCapacity * sizeof *r->attrs);
    }
    r->attrs[r->attrCount++] = attr;
    return attr;
}

PerfAttr *PerfAttrOf(EtwPerfReader *r, uint64_t id)
{
    EtwTableNode *n = EtwTableFirst(&r->ids, EtwHashNumber(id));
    while (n != NULL && ((PerfId *)n)->id != id) {
        n = n->next;
    }
    return n != NULL ? ((PerfId *)n)->attr : NULL;
}

static void addIds(EtwPerfReader *r, PerfAttr *attr, const uint8_t *data, size_t size)
{
    for (size_t at = 0; size - at >= 8; at += 8) {
        uint64_t id = EtwLoad64(data + at);
        if (PerfAttrOf(r, id) == NULL) {
            PerfId *entry = EtwAlloc(sizeof *entry);
            entry->id = id;
            entry->attr = attr;
            EtwTableAdd(&r->ids, &entry->node, EtwHashNumber(id));
        }
    }
}

static void nameAttr(PerfAttr *attr, const uint8_t *name, size_t size)
{
    const uint8_t *nul = size != 0 ? memchr(name, 0, size) : NULL;
    size = nul != NULL ? (size_t)(nul - name) : size;
    size = size > NAME_MAX ? NAME_MAX : size;
    if (attr->name == NULL && size != 0) {
        attr->name = EtwAlloc(size + 1);
        memcpy(attr->name, name, size);
    }
}

/* ---- Tracing data ---------------------------------------------------------------------------- */

static char *takeText(EtwBytes *b)
{
    const uint8_t *nul = EtwBytesLeft(b) != 0 ? memchr(b->at, 0, EtwBytesLeft(b)) : NULL;
    if (nul == NULL) {
        b->failed = true;
        return NULL;
    }
    return (char *)EtwTake(b, (size_t)(nul - b->at) + 1);
}

/* A u64 size and as many bytes. */
static const uint8_t *takeSized(EtwBytes *b, size_t *sizePtr)
{
    uint64_t size = EtwTake64(b);
    *sizePtr = size <= EtwBytesLeft(b) ? (size_t)size : 0;
    b->failed |= size > EtwBytesLeft(b);
    return EtwTake(b, *sizePtr);
}

static PerfTracepoint *findTracepoint(EtwPerfReader *r, uint64_t id)
{
    EtwTableNode *n = EtwTableFirst(&r->tracepoints, EtwHashNumber(id));
    while (n != NULL && ((PerfTracepoint *)n)->id != id) {
        n = n->next;
    }
    return (PerfTracepoint *)n;
}

/* format: space for the largest one. */
static void addTracepoint(EtwPerfReader *r, const char *system, const uint8_t *text, size_t size,
        EtwTracepointFormat *format)
{
    char *copy = EtwAlloc(size + 1);
    if (size != 0) {
        memcpy(copy, text, size);
    }
    if (!EtwTracepointFormatParse(format, copy) || format->id > UINT16_MAX ||
            strlen(format->name) > NAME_MAX || findTracepoint(r, format->id) != NULL) {
        EtwFree(copy);
        return;
    }
    PerfTracepoint *t = EtwAlloc(sizeof *t);
    size_t bytes = offsetof(EtwTracepointFormat, fields) +
                   (size_t)format->count * sizeof format->fields[0];
    t->text = copy;
    t->format = EtwAlloc(bytes);
    memcpy(t->format, format, bytes);
    t->id = format->id;
    t->system = system;
    EtwTableAdd(&r->tracepoints, &t->node, EtwHashNumber(t->id));
}

static void takeFormats(
        EtwPerfReader *r, EtwBytes *b, const char *system, EtwTracepointFormat *format)
{
    size_t size;
    uint32_t count = EtwTake32(b);
    bool accepted = system != NULL && strlen(system) <= NAME_MAX;
    for (uint32_t i = 0; i < count && !b->failed; i++) {
        const uint8_t *text = takeSized(b, &size);
        if (text != NULL && accepted) {
            addTracepoint(r, system, text, size, format);
        }
    }
}

PerfTracepoint *PerfTracepointOf(EtwPerfReader *r, uint64_t id)
{
    return findTracepoint(r, id);
}

/* trace-cmd's form, version 0.6: "header_page", "header_event", ftrace's own formats, those of systems. */
void PerfMetaTracing(EtwPerfReader *r, const uint8_t *data, size_t size)
{
    static const uint8_t magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
    size_t textSize;
    if (r->tracing.size != 0 || size < sizeof magic || memcmp(data, magic, sizeof magic) != 0) {
        return;
    }
    EtwTextAdd(&r->tracing, data, size); /* names of systems stay in it */
    EtwBytes b = EtwBytesOf(r->tracing.data, r->tracing.size);
    EtwTake(&b, sizeof magic);
    takeText(&b);                  /* version */
    b.failed |= EtwTake8(&b) != 0; /* byte order */
    EtwTake(&b, 1 + 4);            /* size of long, size of a page */
    for (int i = 0; i < 2; i++) {
        takeText(&b);
        takeSized(&b, &textSize);
    }
    EtwTracepointFormat *format = EtwAlloc(sizeof *format);
    takeFormats(r, &b, "ftrace", format);
    uint32_t systems = EtwTake32(&b);
    for (uint32_t i = 0; i < systems && !b.failed; i++) {
        const char *system = takeText(&b);
        takeFormats(r, &b, system, format);
    }
    EtwFree(format);
}

/* ---- Features -------------------------------------------------------------------------------- */

/* u32 size, text with padding. Allocated; NULL: malformed. */
static char *takeString(EtwBytes *b)
{
    uint32_t size = EtwTake32(b);
    const uint8_t *text = EtwTake(b, size);
    char *copy = text != NULL ? EtwAlloc((size_t)size + 1) : NULL;
    if (copy != NULL && size != 0) {
        memcpy(copy, text, size);
    }
    return copy;
}

static void setString(char **to, EtwBytes *b)
{
    EtwFree(*to);
    *to = takeString(b);
}

static void setCommand(EtwPerfReader *r, EtwBytes *b)
{
    EtwText text = {0};
    uint32_t count = EtwTake32(b);
    for (uint32_t i = 0; i < count && !b->failed && EtwBytesLeft(b) != 0; i++) {
        char *word = takeString(b);
        if (word != NULL) {
            EtwTextAdd(&text, " ", i != 0);
            EtwTextStr(&text, word);
        }
        EtwFree(word);
    }
    EtwTextChar(&text, 0);
    EtwFree(r->command);
    r->command = text.data;
}

static void setNames(EtwPerfReader *r, EtwBytes *b)
{
    uint32_t count = EtwTake32(b), attrSize = EtwTake32(b);
    for (uint32_t i = 0; i < count && !b->failed && EtwBytesLeft(b) != 0; i++) {
        EtwTake(b, attrSize);
        uint32_t ids = EtwTake32(b), size = EtwTake32(b);
        const uint8_t *name = EtwTake(b, size);
        const uint8_t *first = EtwBytesLeft(b) / 8 >= ids ? EtwTake(b, (size_t)ids * 8) : NULL;
        PerfAttr *attr = first != NULL && ids != 0    ? PerfAttrOf(r, EtwLoad64(first))
                         : i < (uint32_t)r->attrCount ? r->attrs[i]
                                                      : NULL;
        if (first == NULL || name == NULL) {
            break;
        }
        if (attr != NULL) {
            nameAttr(attr, name, size);
        }
    }
}

/* The wall time and perf's at one moment. */
static void setClock(EtwPerfReader *r, EtwBytes *b)
{
    uint32_t version = EtwTake32(b);
    EtwTake32(b); /* which clock */
    uint64_t wall = EtwTake64(b), perf = EtwTake64(b);
    if (version == 1 && !b->failed && wall != 0) {
        r->hasWall = true;
        r->wallOffset = wall - perf;
    }
}

static void setFeature(EtwPerfReader *r, uint64_t feature, const uint8_t *data, size_t size)
{
    EtwBytes b = EtwBytesOf(data, size);
    switch (feature) {
    case FEATURE_TRACING_DATA:
        PerfMetaTracing(r, data, size);
        break;
    case FEATURE_HOSTNAME:
        setString(&r->host, &b);
        break;
    case FEATURE_OSRELEASE:
        setString(&r->release, &b);
        break;
    case FEATURE_ARCH:
        setString(&r->machine, &b);
        break;
    case FEATURE_NRCPUS:
        r->cpus = EtwTake32(&b);
        break;
    case FEATURE_CMDLINE:
        setCommand(r, &b);
        break;
    case FEATURE_EVENT_DESC:
        setNames(r, &b);
        break;
    case FEATURE_CLOCK_DATA:
        setClock(r, &b);
        break;
    case FEATURE_SAMPLE_TIME: {
        uint64_t first = EtwTake64(&b), last = EtwTake64(&b);
        if (!b.failed && first != 0 && first <= last) {
            r->firstTime = first < r->firstTime ? first : r->firstTime;
            r->info->endTime = (int64_t)last; /* perf's time until the first event */
        }
        break;
    }
    default:
        break;
    }
}

/* ---- Build ids ------------------------------------------------------------------------------- */

static PerfBuildId *findBuildId(const EtwPerfReader *r, const char *path, size_t size)
{
    EtwTableNode *n = EtwTableFirst(&r->buildIds, EtwHashBytes(0, (const uint8_t *)path, size));
    for (; n != NULL; n = n->next) {
        PerfBuildId *id = (PerfBuildId *)n;
        if (strlen(id->path) == size && memcmp(id->path, path, size) == 0) {
            break;
        }
    }
    return (PerfBuildId *)n;
}

const PerfBuildId *PerfBuildIdOf(const EtwPerfReader *r, const char *path, size_t size)
{
    return findBuildId(r, path, size);
}

/* record: with its header. */
static void addBuildId(EtwPerfReader *r, const uint8_t *record, PerfHeader head)
{
    enum { ID = 12, ID_SIZE = 32, PATH = 36 };
    if (head.size <= PATH) {
        return;
    }
    size_t size = strnlen((const char *)record + PATH, head.size - PATH);
    const char *path = (const char *)record + PATH;
    if (size == 0 || findBuildId(r, path, size) != NULL) {
        return;
    }
    PerfBuildId *id = EtwAlloc(sizeof *id + size + 1);
    id->size = head.misc & MISC_BUILD_ID_SIZE ? record[ID_SIZE] : ETW_BUILD_ID_MAX;
    id->size = id->size <= ETW_BUILD_ID_MAX ? id->size : 0;
    memcpy(id->id, record + ID, ETW_BUILD_ID_MAX);
    memcpy(id->path, path, size);
    EtwTableAdd(&r->buildIds, &id->node, EtwHashBytes(0, (const uint8_t *)path, size));
}

static void addBuildIds(EtwPerfReader *r, const uint8_t *data, size_t size)
{
    for (size_t at = 0; size - at >= PERF_RECORD_HEADER;) {
        PerfHeader head = PerfHeaderOf(data + at);
        if (head.size < PERF_RECORD_HEADER || head.size > size - at) {
            break;
        }
        addBuildId(r, data + at, head);
        at += head.size;
    }
}

/* ---- Records --------------------------------------------------------------------------------- */

static void onAttr(EtwPerfReader *r, const uint8_t *record, PerfHeader head)
{
    size_t left = head.size - PERF_RECORD_HEADER;
    const uint8_t *data = record + PERF_RECORD_HEADER;
    uint32_t size = left >= ATTR_LEAST ? EtwLoad32(data + ATTR_SIZE) : 0;
    if (size < ATTR_LEAST || size > left) {
        r->malformed++;
        return;
    }
    addIds(r, addAttr(r, data, size), data + size, left - size);
}

static void onUpdate(EtwPerfReader *r, const uint8_t *record, PerfHeader head)
{
    enum { TYPE = 8, ID = 16, TEXT = 24, UPDATE_NAME = 2 };
    PerfAttr *attr = head.size > TEXT && EtwLoad64(record + TYPE) == UPDATE_NAME
                             ? PerfAttrOf(r, EtwLoad64(record + ID))
                             : NULL;
    if (attr != NULL) {
        nameAttr(attr, record + TEXT, head.size - TEXT);
    }
}

void PerfMetaRecord(EtwPerfReader *r, const uint8_t *record, PerfHeader head)
{
    enum { FEATURE = 8, DATA = 16 };
    switch (head.type) {
    case RECORD_HEADER_ATTR:
        onAttr(r, record, head);
        break;
    case RECORD_EVENT_UPDATE:
        onUpdate(r, record, head);
        break;
    case RECORD_BUILD_ID:
        addBuildId(r, record, head);
        break;
    case RECORD_HEADER_FEATURE:
        if (head.size >= DATA) {
            setFeature(r, EtwLoad64(record + FEATURE), record + DATA, head.size - DATA);
        }
        break;
    default:
        break;
    }
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* A section of the file that begins at `at`. False: not in the file. */
static bool section(const PerfInput *in, uint64_t at, const uint8_t **dataPtr, size_t *sizePtr)
{
    if (at > in->fileSize || in->fileSize - at < PERF_SECTION) {
        return false;
    }
    uint64_t offset = EtwLoad64(in->base + at), size = EtwLoad64(in->base + at + 8);
    if (offset > in->fileSize || size > in->fileSize - offset) {
        return false;
    }
    *dataPtr = in->base + offset;
    *sizePtr = (size_t)size;
    return true;
}

/* Attributes may name the same ids: together not more are read than the file has bytes for. */
static void readAttrs(EtwPerfReader *r)
{
    const uint8_t *data, *ids;
    size_t size, idsSize;
    uint64_t budget = r->in.fileSize; /* bytes of ids */
    uint64_t entry = EtwLoad64(r->in.base + FILE_ATTR_SIZE);
    if (!section(&r->in, FILE_ATTRS, &data, &size) || entry < ATTR_LEAST + PERF_SECTION) {
        return;
    }
    for (size_t at = 0; size - at >= entry; at += (size_t)entry) {
        PerfAttr *attr = addAttr(r, data + at, entry - PERF_SECTION);
        uint64_t idsAt = (uint64_t)(data - r->in.base) + at + entry - PERF_SECTION;
        if (!section(&r->in, idsAt, &ids, &idsSize)) {
            continue;
        }
        if (idsSize > budget) {
            r->warn(r->warnCtx,
                    "it has more ids of events than fit into it: the others are not read", false);
            r->info->damages++;
            break;
        }
        budget -= idsSize;
        addIds(r, attr, ids, idsSize);
    }
}

/* The sections of the features follow the records, in the order of the features' numbers. */
static void readFeatures(EtwPerfReader *r, uint64_t at)
{
    const uint8_t *data;
    size_t size;
    bool cut = false;
    for (unsigned bit = 0; bit < FEATURE_BITS; bit++) {
        if ((r->in.base[FILE_FEATURES + bit / 8] >> bit % 8 & 1) == 0) {
            continue;
        }
        if (section(&r->in, at, &data, &size)) {
            if (bit == FEATURE_BUILD_ID) {
                addBuildIds(r, data, size);
            } else {
                setFeature(r, bit, data, size);
            }
        } else {
            cut = true;
        }
        at += PERF_SECTION;
    }
    if (cut) {
        r->warn(r->warnCtx, "the file is cut: what describes its events is missing", false);
        r->info->damages++;
    }
}

EtwStatus PerfMetaFile(EtwPerfReader *r, const char *path, EtwError *errPtr)
{
    PerfInput *in = &r->in;
    if (in->fileSize < PERF_FILE_HEADER) {
        return EtwFail(errPtr, ETW_E_FORMAT, "PERF", path,
                "\"%s\" is cut in the header of its format, perf.data: nothing of it can be read",
                path);
    }
    uint64_t offset = EtwLoad64(in->base + FILE_DATA), size = EtwLoad64(in->base + FILE_DATA + 8);
    if (offset > in->fileSize) {
        offset = in->fileSize;
    }
    uint64_t left = in->fileSize - offset;
    readAttrs(r);
    in->at = offset;
    in->end = size != 0 && size <= left ? offset + size : in->fileSize;
    r->info->closed = size != 0 && size <= left;
    if (size == 0) {
        r->warn(r->warnCtx,
                "perf did not close the file: the formats of its tracepoints and the names of its "
                "host and events are missing",
                false);
    } else if (size > left) {
        char text[160];
        snprintf(text, sizeof text,
                "the file is cut: %llu of %llu bytes of records are missing, and what describes "
                "them",
                (unsigned long long)(size - left), (unsigned long long)size);
        r->warn(r->warnCtx, text, false);
        r->info->damages++;
    } else {
        readFeatures(r, in->end);
    }
    return ETW_OK;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void freeNode(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

static void freeTracepoint(void *ctx, EtwTableNode *node)
{
    PerfTracepoint *t = (PerfTracepoint *)node;
    (void)ctx;
    PerfClassFree(t->class);
    EtwFree(t->parts);
    EtwFree(t->format);
    EtwFree(t->text);
    EtwFree(t);
}

void PerfMetaFree(EtwPerfReader *r)
{
    for (int i = 0; i < r->attrCount; i++) {
        PerfClassFree(r->attrs[i]->class);
        EtwFree(r->attrs[i]->name);
        EtwFree(r->attrs[i]);
    }
    EtwFree(r->attrs);
    EtwTableFree(&r->ids, freeNode);
    EtwTableFree(&r->buildIds, freeNode);
    EtwTableFree(&r->tracepoints, freeTracepoint);
    EtwTextFree(&r->tracing);
    EtwFree(r->host);
    EtwFree(r->release);
    EtwFree(r->machine);
    EtwFree(r->command);
}
