/*
 * etl/write/synthetic_header.c --
 *
 *	Builds a header buffer and parses it (etl/write/synthetic_header.h).
 */
#include "etl/write/synthetic_header.h"
#include "base/os.h"
#include "etl/format.h"
#include "etl/read/file_header.h"

enum { MODEL_BUFFER = 64 * 1024 };

EtwStatus EtlSyntheticHeaderInit(
        EtlSyntheticHeader *synthetic, const char *loggerName, EtwError *errPtr)
{
    EtlClock clock;
    EtlHeader header = {.loggerName = loggerName,
            .path = "",
            .bufferSize = MODEL_BUFFER,
            .cpus = (uint32_t)OsCpuCount(),
            .mode = ETL_MODE_SEQUENTIAL,
            .buffers = 1,
            .cpuMHz = OsCpuMHz(),
            .pid = OsPid(),
            .tid = OsTid(),
            .boot = EtlFiletimeOfWall(OsBootTime()),
            .zoneBias = OsTimeZoneBias()};
    EtwTextReserve(&synthetic->header, MODEL_BUFFER);
    uint8_t *data = (uint8_t *)synthetic->header.data;
    size_t used = EtlHeaderBuild(&header, data);
    memset(data + used, 0xFF, MODEL_BUFFER - used);
    synthetic->header.size = used;
    return EtlHeaderParse(data, MODEL_BUFFER, loggerName, &synthetic->info, &clock, errPtr);
}

void EtlSyntheticHeaderFree(EtlSyntheticHeader *synthetic)
{
    EtwTextFree(&synthetic->header);
}
