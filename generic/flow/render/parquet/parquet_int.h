/*
 * flow/render/parquet/parquet_int.h --
 *
 *	A column of the row group that is collected. parquet_column.c encodes its pages, parquet_file.c writes them.
 */
#ifndef ETW_PARQUET_INT_H
#define ETW_PARQUET_INT_H

#include "etl/compress/zstd_pages.h"
#include "flow/render/parquet/parquet.h"

/* Values of the format. */
enum {
    PQ_BOOLEAN = 0,
    PQ_INT64 = 2,
    PQ_DOUBLE = 5,
    PQ_BYTE_ARRAY = 6,
    PQ_PLAIN = 0,
    PQ_RLE = 3,
    PQ_DELTA_BINARY = 5,
    PQ_DELTA_LENGTH = 6,
    PQ_RLE_DICTIONARY = 8,
    PQ_UNCOMPRESSED = 0,
    PQ_ZSTD = 6,
    PQ_DATA_PAGE = 0,
    PQ_DICTIONARY_PAGE = 2
};

enum {
    PQ_GROUP_ROWS = 1 << 20,
    PQ_GROUP_BYTES = 48 << 20,     /* the rest of 64 MB: buffers that grow */
    PQ_PAGE_BYTES = 1 << 20,       /* of values */
    PQ_DICTIONARY_BYTES = 1 << 20, /* then the texts are no longer in the dictionary */
    PQ_DICTIONARY_COUNT = 1 << 16,
    PQ_STATISTICS_BYTES = 64 /* of the smallest and the largest text */
};

typedef struct PqText { /* in the dictionary's page */
    uint32_t at, size;
    uint64_t hash;
} PqText;

struct EtwPqColumn {
    EtwPqColumn *next;
    char *group; /* NULL: none */
    char *name;
    EtwPqType type;
    bool required;
    /* The page. */
    uint32_t rows;   /* of the row group, until the end of the page so far */
    uint32_t levels; /* rows of the page: bits in `present`, unless it is required */
    uint32_t values; /* not NULL, of the page */
    EtwText present;
    EtwText data;    /* numbers; bits; indexes into the dictionary; texts without it */
    EtwText lengths; /* of these texts */
    /* The row group. */
    bool plain; /* the dictionary is full */
    EtwText dictionary;
    PqText *texts;
    uint32_t textCount, textCapacity, lastText;
    uint32_t *slots; /* numbers of texts plus 1 */
    uint32_t slotMask;
    uint64_t total;             /* values, not NULL */
    EtwText pages;              /* complete ones, with their headers */
    uint64_t rawBytes;          /* of these pages before compression */
    unsigned encodings;         /* a bit for each */
    uint64_t low, high;         /* numbers: the smallest and the largest one */
    uint32_t lowText, highText; /* the same of texts, of a column with a dictionary */
};

struct EtwPqFile {
    EtwPqWrite *write;
    void *ctx;
    EtwPqColumn *columns, **end;
    uint32_t columnCount;
    const char *group;    /* of the columns that are added; a copy is in each */
    EtlZstdPages *zstd;   /* NULL: pages are not compressed */
    EtwText body, packed; /* of the page that is made */
    uint64_t offset;      /* bytes written */
    uint32_t rows;        /* of the row group */
    uint64_t bytes;       /* of its columns */
    uint64_t allRows;
    struct PqGroup *groups; /* row groups that are written */
    size_t groupCount, groupCapacity;
};

static inline bool PqIsText(const EtwPqColumn *column)
{
    return column->type >= ETW_PQ_TEXT;
}

/* ---- parquet_column.c ------------------------------------------------------------------------ */

/* Fill up with NULLs to this number of rows of the row group. */
void PqPad(EtwPqFile *file, EtwPqColumn *column, uint32_t rows);
/* Complete the page, and begin a new one. */
void PqPageEnd(EtwPqFile *file, EtwPqColumn *column);
/* The page of `rows` NULLs. Returns its size. */
size_t PqNullPage(EtwText *out, uint32_t rows);
/* The dictionary's page of a row group. Returns its size before compression; 0: there is none. */
size_t PqDictionaryPage(EtwPqFile *file, EtwPqColumn *column, EtwText *out);
/* Forget the row group. */
void PqColumnReset(EtwPqColumn *column);
void PqColumnFree(EtwPqColumn *column);

#endif
