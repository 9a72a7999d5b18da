/*
 * flow/source/zip_archive.c --
 *
 *	Zip archives, documented in PKWARE's APPNOTE.TXT: the directory at the end (also zip64),
 *	members that are stored or deflated. Encrypted or split archives and other methods are
 *	rejected with the reason.
 */
#include "flow/source/zip_archive.h"
#include "base/unicode.h"
#include <stdio.h>
#include <zlib.h>

enum {
    END_SIZE = 22,
    LOCATOR_SIZE = 20,
    END64_SIZE = 56,
    ENTRY_SIZE = 46,
    LOCAL_SIZE = 30,
    MAX_COMMENT = 65535,
    STORED = 0,
    DEFLATED = 8,
    FLAG_ENCRYPTED = 1,
    EXTRA_ZIP64 = 1,
    CHUNK = 256 << 10
};
enum { SIGNATURE_ENTRY = 0x02014b50, SIGNATURE_LOCAL = 0x04034b50, SIGNATURE_END = 0x06054b50 };
enum { SIGNATURE_END64 = 0x06064b50, SIGNATURE_LOCATOR = 0x07064b50 };
#define FREE_SHARE (1ull << 20) /* total exemption for small members */

typedef struct Member {
    char *name;
    uint16_t flags, method;
    uint32_t crc;
    uint64_t packed, size, header; /* header: offset of its local header */
} Member;

struct EtwArchive {
    const uint8_t *data;
    size_t size;
    char *path;
    uint64_t shift; /* bytes before the archive, which offsets do not count */
    int count;
    Member members[ETW_ARCHIVE_MEMBERS];
};

EtwPacking EtwPackingOf(const uint8_t *data, size_t size, const char **namePtr)
{
    static const struct {
        const char *magic, *name;
        uint8_t length, packing;
    } kinds[] = {{"PK\3\4", "zip", 4, ETW_PACKING_ZIP}, {"PK\5\6", "zip", 4, ETW_PACKING_ZIP},
            {"7z\xBC\xAF\x27\x1C", "7-Zip", 6, ETW_PACKING_OTHER},
            {"MSCF\0\0\0\0", "cabinet", 8, ETW_PACKING_OTHER},
            {"Rar!\x1A\x07", "RAR", 6, ETW_PACKING_OTHER},
            {"\x1F\x8B\x08", "gzip", 3, ETW_PACKING_OTHER},
            {"\xFD"
             "7zXZ",
                    "xz", 5, ETW_PACKING_OTHER},
            {"\x28\xB5\x2F\xFD", "zstd", 4, ETW_PACKING_ZSTD}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (size >= kinds[i].length && memcmp(data, kinds[i].magic, kinds[i].length) == 0) {
            *namePtr = kinds[i].name;
            return (EtwPacking)kinds[i].packing;
        }
    }
    return ETW_PACKING_NONE;
}

static EtwStatus damaged(const EtwArchive *a, EtwError *errPtr, const char *what)
{
    return EtwFail(errPtr, ETW_E_FORMAT, "ZIP", a->path, "\"%s\" is damaged: %s", a->path, what);
}

/* ---- The directory ---------------------------------------------------------------------------- */

typedef struct Directory {
    uint64_t entries, size, offset;
    uint64_t end; /* offset of the record after it */
} Directory;

/* The end record: the last one whose comment extends to the end of the file. NULL: none. */
static const uint8_t *findEnd(const EtwArchive *a)
{
    if (a->size < END_SIZE) {
        return NULL;
    }
    size_t most = a->size - END_SIZE < MAX_COMMENT ? a->size - END_SIZE : MAX_COMMENT;
    for (size_t comment = 0; comment <= most; comment++) {
        const uint8_t *at = a->data + a->size - END_SIZE - comment;
        if (EtwLoad32(at) == SIGNATURE_END && EtwLoad16(at + 20) <= comment) {
            return at;
        }
    }
    return NULL;
}

/* Replace values that exceed the end record, if there is a zip64 record. */
static bool readEnd64(const EtwArchive *a, Directory *d)
{
    if (d->end < LOCATOR_SIZE) {
        return true;
    }
    const uint8_t *locator = a->data + d->end - LOCATOR_SIZE;
    if (EtwLoad32(locator) != SIGNATURE_LOCATOR) {
        return true;
    }
    uint64_t at = EtwLoad64(locator + 8), limit = d->end - LOCATOR_SIZE;
    if (limit < END64_SIZE || at > limit - END64_SIZE) {
        return false;
    }
    const uint8_t *end = a->data + at;
    if (EtwLoad32(end) != SIGNATURE_END64) {
        return false;
    }
    d->entries = EtwLoad64(end + 32);
    d->size = EtwLoad64(end + 40);
    d->offset = EtwLoad64(end + 48);
    d->end = at;
    return true;
}

static EtwStatus findDirectory(EtwArchive *a, Directory *d, EtwError *errPtr)
{
    const uint8_t *end = findEnd(a);
    if (end == NULL) {
        return damaged(
                a, errPtr, "it has no directory at its end: the archive is probably incomplete");
    }
    d->end = (uint64_t)(end - a->data);
    d->entries = EtwLoad16(end + 10);
    d->size = EtwLoad32(end + 12);
    d->offset = EtwLoad32(end + 16);
    if (!readEnd64(a, d)) {
        return damaged(a, errPtr, "its zip64 record is not at the offset that the archive states");
    }
    if (d->size > d->end || d->offset > d->end - d->size) {
        return damaged(a, errPtr, "its directory reaches beyond the file");
    }
    a->shift = d->end - d->size - d->offset;
    return ETW_OK;
}

/* Read sizes and offset from the zip64 extra field, in this order, where the entry has -1. */
static bool readExtra(const uint8_t *extra, size_t size, Member *m)
{
    EtwBytes b = EtwBytesOf(extra, size);
    while (EtwBytesLeft(&b) >= 4) {
        uint16_t id = EtwTake16(&b), length = EtwTake16(&b);
        const uint8_t *data = EtwTake(&b, length);
        if (data == NULL) {
            return false;
        }
        if (id == EXTRA_ZIP64) {
            EtwBytes v = EtwBytesOf(data, length);
            m->size = m->size == UINT32_MAX ? EtwTake64(&v) : m->size;
            m->packed = m->packed == UINT32_MAX ? EtwTake64(&v) : m->packed;
            m->header = m->header == UINT32_MAX ? EtwTake64(&v) : m->header;
            return !v.failed;
        }
    }
    return true;
}

/*
 * Excludes the entries that macOS' Finder adds for the attributes of each file, under the file's
 * name.
 */
static bool isTrace(const uint8_t *name, size_t size)
{
    static const char suffix[] = ".etl", attributes[] = "__MACOSX/";
    if (size >= sizeof attributes - 1 && memcmp(name, attributes, sizeof attributes - 1) == 0) {
        return false;
    }
    for (size_t i = 0; i < 4; i++) {
        if (size <= 4 || (name[size - 4 + i] | (i != 0 ? 32 : 0)) != suffix[i]) {
            return false;
        }
    }
    return true;
}

static char *nameOf(const uint8_t *name, size_t size)
{
    EtwText text = {0};
    EtwTextUtf8(&text, name, size);
    EtwTextChar(&text, 0);
    for (size_t i = 0; i + 1 < text.size; i++) {
        text.data[i] = (uint8_t)text.data[i] < ' ' ? '_' : text.data[i];
    }
    return text.data;
}

static EtwStatus addMember(EtwArchive *a, const uint8_t *entry, const uint8_t *name,
        size_t nameSize, size_t extraSize, EtwError *errPtr)
{
    Member m = {.flags = EtwLoad16(entry + 8),
            .method = EtwLoad16(entry + 10),
            .crc = EtwLoad32(entry + 16),
            .packed = EtwLoad32(entry + 20),
            .size = EtwLoad32(entry + 24),
            .header = EtwLoad32(entry + 42)};
    if (!readExtra(name + nameSize, extraSize, &m)) {
        return damaged(a, errPtr, "an extra field of its directory is cut");
    }
    if (a->count == ETW_ARCHIVE_MEMBERS) {
        return EtwFail(errPtr, ETW_E_LIMIT, "ZIP", a->path,
                "\"%s\" has more than %d traces, which is the maximum: unpack those that you want "
                "to read",
                a->path, ETW_ARCHIVE_MEMBERS);
    }
    m.name = nameOf(name, nameSize);
    a->members[a->count++] = m;
    return ETW_OK;
}

static EtwStatus readDirectory(EtwArchive *a, EtwError *errPtr)
{
    Directory d = {0};
    EtwStatus status = findDirectory(a, &d, errPtr);
    if (status != ETW_OK) {
        return status;
    }
    EtwBytes b = EtwBytesOf(a->data + (d.end - d.size), (size_t)d.size);
    for (uint64_t i = 0; i < d.entries && status == ETW_OK; i++) {
        const uint8_t *entry = EtwTake(&b, ENTRY_SIZE);
        if (entry == NULL || EtwLoad32(entry) != SIGNATURE_ENTRY) {
            return damaged(a, errPtr, "its directory has fewer entries than the archive states");
        }
        size_t nameSize = EtwLoad16(entry + 28), extraSize = EtwLoad16(entry + 30);
        const uint8_t *name = EtwTake(&b, nameSize + extraSize + EtwLoad16(entry + 32));
        if (name == NULL) {
            return damaged(a, errPtr, "an entry of its directory is cut");
        }
        if (isTrace(name, nameSize)) {
            status = addMember(a, entry, name, nameSize, extraSize, errPtr);
        }
    }
    return status;
}

/* The members' total size must not exceed a multiple of the archive's size. */
static EtwStatus checkTotal(const EtwArchive *a, EtwError *errPtr)
{
    uint64_t total = 0, packed = 0,
             most = ((uint64_t)ETW_ARCHIVE_FREE_MB << 20) + ETW_ARCHIVE_RATIO * a->size;
    for (int i = 0; i < a->count; i++) {
        if (a->members[i].packed > a->size - packed) {
            return damaged(a, errPtr, "its members are larger than the archive");
        }
        packed += a->members[i].packed;
        total = a->members[i].size > most - total ? most + 1 : total + a->members[i].size;
        if (total > most) {
            return EtwFail(errPtr, ETW_E_LIMIT, "ZIP", a->path,
                    "the traces in \"%s\" would have more than %d times its size and %d MB more: "
                    "if you trust the archive, unpack it and read the files",
                    a->path, ETW_ARCHIVE_RATIO, ETW_ARCHIVE_FREE_MB);
        }
    }
    return ETW_OK;
}

EtwStatus EtwArchiveOpen(EtwArchive **archivePtr, const uint8_t *data, size_t size,
        const char *name, EtwError *errPtr)
{
    EtwArchive *a = EtwAlloc(sizeof *a);
    a->data = data;
    a->size = size;
    a->path = EtwStrdup(name);
    EtwStatus status = readDirectory(a, errPtr);
    if (status == ETW_OK && a->count == 0) {
        status = EtwFail(
                errPtr, ETW_E_LOOKUP, "MEMBER", name, "archive \"%s\" has no .etl file", name);
    }
    if (status == ETW_OK) {
        status = checkTotal(a, errPtr);
    }
    if (status != ETW_OK) {
        EtwArchiveClose(a);
        return status;
    }
    *archivePtr = a;
    return ETW_OK;
}

void EtwArchiveClose(EtwArchive *a)
{
    for (int i = 0; i < a->count; i++) {
        EtwFree(a->members[i].name);
    }
    EtwFree(a->path);
    EtwFree(a);
}

int EtwArchiveCount(const EtwArchive *archive)
{
    return archive->count;
}

const char *EtwArchiveName(const EtwArchive *archive, int index)
{
    return archive->members[index].name;
}

int EtwArchiveFind(const EtwArchive *archive, const char *name)
{
    size_t wanted = strlen(name);
    int found = -1, tails = 0;
    for (int i = 0; i < archive->count; i++) {
        const char *member = archive->members[i].name;
        size_t size = strlen(member);
        if (strcmp(member, name) == 0) {
            return i;
        }
        if (size > wanted && strcmp(member + size - wanted, name) == 0 &&
                strchr("/\\", member[size - wanted - 1]) != NULL) {
            found = i;
            tails++;
        }
    }
    return tails == 1 ? found : -1;
}

uint64_t EtwArchiveShare(const EtwArchive *archive, int index)
{
    uint64_t least = FREE_SHARE / (uint64_t)archive->count, packed = archive->members[index].packed;
    return packed > least ? packed : least;
}

/* ---- Unpacking -------------------------------------------------------------------------------- */

typedef struct Unpacking {
    const EtwArchive *archive;
    const Member *member;
    OsFile *file;
    uint64_t written;
    uint32_t crc;
    EtwError *errPtr;
} Unpacking;

static EtwStatus badMember(const Unpacking *u, EtwStatus status, const char *what)
{
    return EtwFail(u->errPtr, status, "ZIP", u->archive->path, "\"%s\": member \"%.150s\" %s",
            u->archive->path, u->member->name, what);
}

/* The packed bytes of the member; NULL: not all present. */
static const uint8_t *packedBytes(const EtwArchive *a, const Member *m)
{
    uint64_t at = m->header;
    if (at > a->size || a->shift > a->size - at || a->size - at - a->shift < LOCAL_SIZE) {
        return NULL;
    }
    at += a->shift;
    const uint8_t *local = a->data + at;
    if (EtwLoad32(local) != SIGNATURE_LOCAL) {
        return NULL;
    }
    at += LOCAL_SIZE + EtwLoad16(local + 26) + EtwLoad16(local + 28);
    return at <= a->size && m->packed <= a->size - at ? a->data + at : NULL;
}

static EtwStatus put(Unpacking *u, const uint8_t *data, size_t size)
{
    int osError = 0;
    if (size > u->member->size - u->written) {
        return badMember(u, ETW_E_FORMAT, "is larger than the archive states");
    }
    EtwStatus status = OsFileWriteAt(u->file, u->written, data, size, &osError);
    if (status != ETW_OK) {
        return EtwFailOs(u->errPtr, status, osError, "WRITE", u->archive->path,
                "cannot unpack \"%s\" into a temporary file", u->archive->path);
    }
    u->written += size;
    u->crc = (uint32_t)crc32(u->crc, data, (uInt)size);
    return ETW_OK;
}

static EtwStatus copyStored(Unpacking *u, const uint8_t *data)
{
    uint64_t left = u->member->packed;
    EtwStatus status = ETW_OK;
    while (left != 0 && status == ETW_OK) {
        size_t n = left < CHUNK ? (size_t)left : CHUNK;
        status = put(u, data, n);
        data += n;
        left -= n;
    }
    return status;
}

static EtwStatus inflateMember(Unpacking *u, const uint8_t *data)
{
    z_stream z = {0};
    uint64_t left = u->member->packed;
    uint8_t *out = EtwAlloc(CHUNK);
    EtwStatus status = ETW_OK;
    int result = inflateInit2(&z, -MAX_WBITS);
    while (result == Z_OK && status == ETW_OK) {
        if (z.avail_in == 0 && left != 0) {
            z.avail_in = left < CHUNK ? (uInt)left : CHUNK;
            z.next_in = (Bytef *)data; /* zlib only reads it */
            data += z.avail_in;
            left -= z.avail_in;
        }
        z.next_out = out;
        z.avail_out = CHUNK;
        result = inflate(&z, Z_NO_FLUSH);
        status = put(u, out, CHUNK - z.avail_out);
    }
    inflateEnd(&z);
    EtwFree(out);
    if (status == ETW_OK && result != Z_STREAM_END) {
        status = badMember(u, ETW_E_FORMAT, "is damaged: its compressed data is invalid");
    }
    return status;
}

static EtwStatus unpack(Unpacking *u)
{
    const Member *m = u->member;
    char what[120];
    if (m->flags & FLAG_ENCRYPTED) {
        return badMember(u, ETW_E_UNSUPPORTED,
                "is encrypted, which is not supported: unpack the archive with another program");
    }
    if (m->method != STORED && m->method != DEFLATED) {
        snprintf(what, sizeof what,
                "is packed by method %u, which is not supported: unpack the archive with another "
                "program",
                m->method);
        return badMember(u, ETW_E_UNSUPPORTED, what);
    }
    const uint8_t *data = packedBytes(u->archive, m);
    if (data == NULL) {
        return badMember(u, ETW_E_FORMAT, "is incomplete: the archive ends before it");
    }
    EtwStatus status = m->method == STORED ? copyStored(u, data) : inflateMember(u, data);
    if (status == ETW_OK && (u->written != m->size || u->crc != m->crc)) {
        status = badMember(u, ETW_E_FORMAT,
                u->written != m->size ? "is smaller than the archive states"
                                      : "is damaged: its checksum is wrong");
    }
    return status;
}

EtwStatus EtwArchiveUnpack(const EtwArchive *archive, int index, OsMap *map, EtwError *errPtr)
{
    Unpacking u = {.archive = archive, .member = &archive->members[index], .errPtr = errPtr};
    EtwStatus status = OsFileTemp(&u.file, errPtr);
    if (status != ETW_OK) {
        return status;
    }
    status = unpack(&u);
    if (status != ETW_OK) {
        OsFileClose(u.file);
        return status;
    }
    return OsFileTempMap(u.file, map, errPtr);
}
