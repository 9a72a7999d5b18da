/*
 * flow/calls/call_channels.c --
 *
 *	The costs of operations on channels are named by what was opened ("read config.txt"), not by
 *	the channel ("read file5"): a file that is opened a thousand times is one cost.
 */
#include "flow/calls/call_tree_int.h"
#include <stdio.h>

enum { CHANNELS_MAX = 10000 }; /* open ones; further ones keep their own names */

/* An open channel of a process. */
typedef struct CallChannel {
    EtwTableNode node;
    uint32_t pid;
    char *channel, *opened;
} CallChannel;

static uint64_t hashOf(uint32_t pid, const char *channel)
{
    return EtwHashBytes(pid, (const uint8_t *)channel, strlen(channel));
}

static CallChannel *find(const Calls *c, uint32_t pid, const char *channel)
{
    CallChannel *k = (CallChannel *)EtwTableFirst(&c->channels, hashOf(pid, channel));
    while (k != NULL && (k->pid != pid || strcmp(k->channel, channel) != 0)) {
        k = (CallChannel *)k->node.next;
    }
    return k;
}

static void freeChannel(void *ctx, EtwTableNode *node)
{
    CallChannel *k = (CallChannel *)node;
    (void)ctx;
    EtwFree(k->channel);
    EtwFree(k->opened);
    EtwFree(k);
}

static void add(Calls *c, uint32_t pid, const char *channel, const char *opened)
{
    CallChannel *k = find(c, pid, channel);
    if (k == NULL && c->channels.count < CHANNELS_MAX) {
        k = EtwAlloc(sizeof *k);
        k->pid = pid;
        k->channel = EtwStrdup(channel);
        EtwTableAdd(&c->channels, &k->node, hashOf(pid, channel));
    }
    if (k != NULL) {
        EtwFree(k->opened);
        k->opened = EtwStrdup(opened);
    }
}

/* The end of the file's name in the words of an `open`; *fromPtr: its start. */
static size_t fileEnd(const char *words, size_t *fromPtr)
{
    bool braced = *words == '{';
    const char *end = strchr(words, braced ? '}' : ' ');
    *fromPtr = braced;
    return end != NULL ? (size_t)(end - words) : strlen(words);
}

void EtwCallChannelName(Calls *c, uint32_t pid, const char *operation, const char *channel,
        const char *detail, char *out, size_t capacity)
{
    const char *what = channel;
    CallChannel *known = NULL;
    size_t from, end = fileEnd(detail, &from);
    if (*detail != '\0' && strcmp(operation, "open") == 0 && detail[from] != '|') {
        char name[CALL_CHANNEL_NAME];
        size_t size = end - from < sizeof name - 1 ? end - from : sizeof name - 1;
        memcpy(name, detail + from, size);
        name[size] = '\0';
        add(c, pid, channel, name);
        known = find(c, pid, channel);
        what = known != NULL ? known->opened : channel;
    } else if (*detail != '\0') { /* socket, exec, a pipeline */
        add(c, pid, channel, detail);
        what = detail;
    } else if ((known = find(c, pid, channel)) != NULL) {
        what = known->opened;
    }
    snprintf(out, capacity, "%.20s%s%s", operation, *what ? " " : "", what);
    if (known != NULL && strcmp(operation, "close") == 0) {
        EtwTableRemove(&c->channels, &known->node);
        freeChannel(NULL, &known->node);
    }
}

void EtwCallChannelsFree(Calls *c)
{
    EtwTableFree(&c->channels, freeChannel);
}
