/*
 * flow/render/parquet/parquet.h --
 *
 *	Writes Apache Parquet files (https://parquet.apache.org/docs/file-format): flat columns, of which some are in
 *	named groups. Texts have a dictionary as long as it is small, integers are encoded as differences, pages are compressed
 *	by zstd. Row groups have statistics. A file is written from its begin to its end, with a bounded memory: at most
 *	about 64 MB of a row group. Columns may be added at any time; they are NULL in the rows before.
 */
#ifndef ETW_PARQUET_H
#define ETW_PARQUET_H

#include "base/text.h"
#include <stdbool.h>

typedef enum EtwPqType {
    ETW_PQ_BOOL,
    ETW_PQ_INT,  /* 64 bits, signed */
    ETW_PQ_UINT, /* 64 bits */
    ETW_PQ_TIME, /* ns since 1970, UTC */
    ETW_PQ_DOUBLE,
    ETW_PQ_TEXT, /* valid UTF-8 */
    ETW_PQ_JSON  /* valid JSON in UTF-8 */
} EtwPqType;

typedef struct EtwPqFile EtwPqFile;
typedef struct EtwPqColumn EtwPqColumn;
/* Takes the bytes of the file in their order. */
typedef void EtwPqWrite(void *ctx, const void *data, size_t size);

EtwPqFile *EtwPqNew(EtwPqWrite *write, void *ctx);
void EtwPqFree(EtwPqFile *file);
/*
 * A group of the columns that are added until the next group or column without a group. Names must differ from those of
 * other groups and of columns without a group.
 */
void EtwPqGroup(EtwPqFile *file, const char *name);
void EtwPqGroupEnd(EtwPqFile *file);
/* required: it has a value in each row; all required columns come before the first row. */
EtwPqColumn *EtwPqAddColumn(EtwPqFile *file, const char *name, EtwPqType type, bool required);
EtwPqType EtwPqTypeOf(const EtwPqColumn *column);
/* The value of a column in this row, at most one. */
void EtwPqNumber(EtwPqFile *file, EtwPqColumn *column, uint64_t v); /* or BOOL, TIME */
void EtwPqDouble(EtwPqFile *file, EtwPqColumn *column, double v);
void EtwPqText(EtwPqFile *file, EtwPqColumn *column, const void *text, size_t size);
/* The row is complete. Columns without a value are NULL in it. */
void EtwPqRowEnd(EtwPqFile *file);
/* The rest of the file. key and value: metadata. */
void EtwPqEnd(EtwPqFile *file, const char *key, const char *value);

#endif
