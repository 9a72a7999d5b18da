/*
 * tcl/query/channel_source.c --
 *
 *	A Tcl channel as a source: "-" (stdin) and "channel:NAME". flow/source/source_pipe.h reads
 *	the data.
 */
#include "tcl/query/query.h"
#include "flow/source/source_pipe.h"

static const char prefix[] = "channel:";

bool EtwIsChannelSource(const char *word)
{
    return strcmp(word, "-") == 0 || strncmp(word, prefix, sizeof prefix - 1) == 0;
}

/* Blocks, because the channel is blocking. */
static int64_t readChannel(void *ctx, void *to, size_t size, EtwError *errPtr)
{
    Tcl_Size got = Tcl_Read(ctx, to, (Tcl_Size)size);

    if (got < 0) {
        EtwFail(errPtr, ETW_E_IO, "CHANNEL", Tcl_GetChannelName(ctx), "error reading \"%s\": %s",
                Tcl_GetChannelName(ctx), Tcl_ErrnoMsg(Tcl_GetErrno()));
    }
    return got;
}

/* Drop the reference that kept the channel from being closed while it was read. */
static void releaseChannel(void *ctx)
{
    Tcl_UnregisterChannel(NULL, ctx);
}

int EtwChannelSourceOpen(Tcl_Interp *interp, const char *word, EtwSource **sourcePtr)
{
    const char *name = strcmp(word, "-") == 0 ? "stdin" : word + sizeof prefix - 1;
    EtwError err = {0};
    int mode;
    Tcl_Channel channel = Tcl_GetChannel(interp, name, &mode);

    if (channel == NULL) {
        return TCL_ERROR;
    }
    if (!(mode & TCL_READABLE)) {
        return EtwTclFail(interp, ETW_E_ARG, "CHANNEL", name,
                "channel \"%.100s\" is not open for reading", name);
    }
    if (Tcl_SetChannelOption(interp, channel, "-translation", "binary") != TCL_OK ||
            Tcl_SetChannelOption(interp, channel, "-blocking", "1") != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_RegisterChannel(NULL, channel);
    EtwPipe pipe = {readChannel, releaseChannel, channel};
    return EtwSourcePipe(sourcePtr, &pipe, name, &err) == ETW_OK ? TCL_OK
                                                                 : EtwTclError(interp, &err);
}
