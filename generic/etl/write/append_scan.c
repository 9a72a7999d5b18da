/*
 * etl/write/append_scan.c --
 *
 *	Examines an existing file that is to be continued: whether this writer has written it, its
 *	end and its counters. Changes nothing.
 */
#include "etl/write/append_scan.h"
#include "base/bytes.h"
#include "base/os.h"
#include "etl/format.h"
#include "etl/read/buffer_index.h"

enum { NS_A_SECOND = 1000000000, LEAST_HEADER = 512 /* of a compressed file */ };

static EtwStatus checkOurs(
        const EtlInfo *info, const char *path, uint32_t bufferSize, bool circular, EtwError *errPtr)
{
    if (info->clock != 1 || info->frequency != NS_A_SECOND) {
        return EtwFail(errPtr, ETW_E_UNSUPPORTED, "APPEND", path,
                "cannot append to \"%s\": it was not written by etw; use a new file", path);
    }
    if (info->mode & ETL_MODE_CIRCULAR && !circular) {
        return EtwFail(errPtr, ETW_E_STATE, "APPEND", path,
                "cannot append to \"%s\": it is a circular file; use a new file", path);
    }
    if (info->bufferSize != bufferSize) {
        return EtwFail(errPtr, ETW_E_STATE, "BUFFERSIZE", path,
                "cannot append to \"%s\": its buffers have %lu KB, the session's %lu KB; use its "
                "buffer "
                "size or a new file",
                path, (unsigned long)(info->bufferSize / 1024), (unsigned long)(bufferSize / 1024));
    }
    return ETW_OK;
}

/* Complete buffers count. Damaged ones are kept if complete ones follow. */
static void walkSlots(EtlAppend *a, const OsMap *map, uint32_t bufferSize)
{
    uint32_t slot = 1;
    for (uint64_t at = bufferSize; at + bufferSize <= map->size; at += bufferSize, slot++) {
        const uint8_t *head = map->base + at;
        if (EtwLoad32(head + ETL_BUF_SIZE) != bufferSize) {
            continue;
        }
        int64_t sequence = (int64_t)EtwLoad64(head + ETL_BUF_SEQUENCE);
        a->slots = slot;
        a->sequence = sequence > a->sequence ? sequence : a->sequence;
    }
}

static EtwStatus checkHeaderSize(
        const OsMap *map, const char *path, uint32_t bufferSize, EtwError *errPtr)
{
    uint32_t size = EtwLoad32(map->base + ETL_BUF_SIZE);
    if (size >= LEAST_HEADER && size <= bufferSize && size <= map->size) {
        return ETW_OK;
    }
    return EtwFail(errPtr, ETW_E_FORMAT, "APPEND", path,
            "cannot append to \"%s\": the size of its header buffer, %lu bytes, is damaged; use a "
            "new "
            "file",
            path, (unsigned long)size);
}

/* Find the end of the last complete buffer of a compressed file; damage before it is kept. */
static void walkCompressed(EtlAppend *a, OsMap *map, EtlClock *clock)
{
    EtlIndex index;
    a->info.handedBytes = map->size;
    EtlIndexBuild(&index, map, map->base, map->size, NULL, &a->info, clock);
    a->headerSize = EtwLoad32(map->base + ETL_BUF_SIZE);
    a->end = index.end;
    a->slots = index.complete;
    a->sequence = index.sequence;
    EtlIndexFree(&index);
}

EtwStatus EtlAppendScan(
        EtlAppend *a, const char *path, uint32_t bufferSize, bool circular, EtwError *errPtr)
{
    OsMap map = {0};
    EtlClock clock;
    memset(a, 0, sizeof *a);
    if (!OsFileExists(path)) {
        return ETW_OK;
    }
    EtwStatus status = OsMapFile(&map, path, errPtr);
    if (status != ETW_OK) {
        return status;
    }
    if (map.size != 0) {
        status = EtlHeaderParse(map.base, map.size, path, &a->info, &clock, errPtr);
        if (status == ETW_OK) {
            status = checkOurs(&a->info, path, bufferSize, circular, errPtr);
        }
        if (status == ETW_OK) {
            a->found = true;
            a->loggerId = EtwLoad16(map.base + ETL_BUF_LOGGER);
            a->compressed = (a->info.mode & ETL_MODE_COMPRESSED) != 0;
            if (a->compressed) {
                status = checkHeaderSize(&map, path, bufferSize, errPtr);
                if (status == ETW_OK) {
                    walkCompressed(a, &map, &clock);
                }
            } else {
                walkSlots(a, &map, bufferSize);
            }
        }
        OsUnmap(&map);
    }
    return status;
}
