/*
 * unix/kernel/transport/tracepoint_format.c --
 *
 *	Loads tracepoint formats one by one on demand: loading all 2,500 takes a second, the system
 *	syscalls a tenth of a second.
 */
#define _GNU_SOURCE
#include "unix/kernel/transport/tracepoint_format.h"
#include "semantics/tracepoint_fields.h"
#include <errno.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <tracefs.h>
#include <unistd.h>

const char *kernelHidden;

struct tep_handle *KernelFormatsNew(EtwError *err)
{
    struct tep_handle *formats = tep_alloc();
    int size = 0;
    char *text = tracefs_instance_file_read(NULL, "events/header_page", &size);
    tep_set_loglevel(TEP_LOG_NONE);
    if (formats == NULL || text == NULL ||
            tep_parse_header_page(formats, text, (unsigned long)size, sizeof(long)) != 0) {
        EtwFail(err, ETW_E_UNSUPPORTED, "TRACEFS", "header_page",
                "cannot read the format of this kernel's trace pages (events/header_page)");
        tep_free(formats);
        formats = NULL;
    }
    free(text);
    return formats;
}

void KernelFormatsFree(struct tep_handle *formats)
{
    tep_free(formats);
}

size_t KernelFormatsPage(struct tep_handle *formats)
{
    int size = tep_get_sub_buffer_size(formats);
    long page = sysconf(_SC_PAGESIZE);
    return size > page ? (size_t)size : (size_t)page;
}

static bool commonAt(struct tep_event *event, const char *name, int offset)
{
    struct tep_format_field *f = tep_find_common_field(event, name);
    return f != NULL && f->offset == offset;
}

bool KernelIsHidden(const char *system, const char *name)
{
    char word[160];
    snprintf(word, sizeof word, " %s:%s", system, name);
    return kernelHidden != NULL && strstr(kernelHidden, word) != NULL;
}

struct tep_event *KernelFormatOf(struct tep_handle *formats, const char *system, const char *name)
{
    struct tep_event *event =
            KernelIsHidden(system, name) ? NULL : tep_find_event_by_name(formats, system, name);
    errno = 0;
    if (event == NULL && !KernelIsHidden(system, name)) {
        int size = 0;
        char *text = tracefs_event_file_read(NULL, system, name, "format", &size);
        if (text != NULL) {
            /*
             * The call fails if the library cannot parse the "print fmt", which is not needed here.
             */
            tep_parse_event(formats, text, (unsigned long)size, system);
            free(text);
            errno = 0;
            event = tep_find_event_by_name(formats, system, name);
        }
    }
    return event != NULL && commonAt(event, "common_type", KERNEL_COMMON_TYPE) &&
                           commonAt(event, "common_flags", KERNEL_COMMON_FLAGS) &&
                           commonAt(event, "common_pid", KERNEL_COMMON_PID)
                   ? event
                   : NULL;
}

KernelField KernelFieldOf(struct tep_event *event, const char *name)
{
    struct tep_format_field *f = tep_find_field(event, name);
    KernelField field = {0};
    if (f != NULL && f->offset >= 0 && f->size > 0 && f->offset + f->size <= UINT16_MAX) {
        field.offset = (uint16_t)f->offset;
        field.size = (uint16_t)f->size;
        field.isSigned = (f->flags & TEP_FIELD_IS_SIGNED) != 0;
    }
    return field;
}

EtwBytes KernelDynamic(KernelField f, bool relative, const uint8_t *data, uint32_t size)
{
    return f.size == 4 ? EtwTracepointDynamic(f.offset, relative, data, size) : EtwBytesOf(data, 0);
}

/* ---- Suggestions for misspelt names ---------------------------------------------------------- */

/* The edit distance of two short names, ignoring case. */
static int distance(const char *a, const char *b)
{
    int row[128], m = (int)strlen(b);
    if (m > 126) {
        return 1000;
    }
    for (int j = 0; j <= m; j++) {
        row[j] = j;
    }
    for (int i = 1; a[i - 1] != '\0'; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int above = row[j];
            int cost = tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]);
            int best = diagonal + cost;
            best = above + 1 < best ? above + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            row[j] = best;
            diagonal = above;
        }
    }
    return row[m];
}

char *KernelSuggest(char **names, const char *name)
{
    const char *best = NULL;
    int bestDistance = (int)strlen(name) / 2 + 1;
    for (int i = 0; names != NULL && names[i] != NULL; i++) {
        int d = strstr(names[i], name) != NULL ? 1 : distance(name, names[i]);
        if (d < bestDistance) {
            bestDistance = d;
            best = names[i];
        }
    }
    return best ? strdup(best) : NULL;
}
