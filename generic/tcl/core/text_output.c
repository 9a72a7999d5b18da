/*
 * tcl/core/text_output.c --
 *
 *	Channels and files for text output (tcl/core/text_output.h).
 */
#include "tcl/core/text_output.h"

enum { PIECE = 64 * 1024 }; /* also the size of writes, which are 4 KB by default */

static bool takesUtf8(Tcl_Channel channel)
{
    Tcl_DString encoding;

    Tcl_DStringInit(&encoding);
    bool known = Tcl_GetChannelOption(NULL, channel, "-encoding", &encoding) == TCL_OK;
    const char *name = Tcl_DStringValue(&encoding);
    bool raw = known && (strcmp(name, "utf-8") == 0 || strcmp(name, "binary") == 0);
    Tcl_DStringFree(&encoding);
    return raw;
}

/* Opening a file for writing would destroy a source before it is read. */
int EtwOutputCheck(Tcl_Interp *interp, Tcl_Obj *name, const EtwSource *source, const char *option)
{
    for (int i = 0; i < EtwSourceFileCount(source); i++) {
        const char *path;
        EtwSourceFileInfo(source, i, &path);
        Tcl_Obj *file = EtwStringObj(path);
        Tcl_IncrRefCount(file);
        bool same = EtwSameFile(name, file);
        Tcl_DecrRefCount(file);
        if (same) {
            return EtwTclFail(interp, ETW_E_ARG, "OUTPUT", path,
                    "\"%.200s\" is one of the sources: give another file to \"%s\"", path, option);
        }
    }
    return TCL_OK;
}

Tcl_Obj *EtwOutputTempName(Tcl_Obj *path)
{
    Tcl_Obj *name = NULL;
    Tcl_Time now;

    do {
        if (name != NULL) {
            Tcl_DecrRefCount(name);
        }
        Tcl_GetTime(&now);
        name = Tcl_ObjPrintf("%s.%lx-%lx.part", Tcl_GetString(path), (unsigned long)now.sec,
                (unsigned long)now.usec);
        Tcl_IncrRefCount(name);
    } while (Tcl_FSAccess(name, 0) == 0);
    return name;
}

/* True for a regular or a new file. A device, a pipe or a link is not replaced, but written to. */
static bool isPlain(Tcl_Obj *path)
{
    Tcl_StatBuf *stat = Tcl_AllocStatBuf();
    bool plain = Tcl_FSLstat(path, stat) != 0 || (Tcl_GetModeFromStat(stat) & 0170000) == 0100000;

    ckfree((void *)stat);
    return plain;
}

static int openFile(EtwOutput *output, Tcl_Obj *name, bool tempPath)
{
    tempPath = tempPath && isPlain(name);
    if (tempPath) {
        output->path = name;
        Tcl_IncrRefCount(name);
        output->tempPath = EtwOutputTempName(name);
    }
    output->own = true;
    output->channel =
            Tcl_FSOpenFileChannel(output->interp, tempPath ? output->tempPath : name, "w", 0600);
    if (output->channel != NULL) {
        Tcl_SetChannelOption(NULL, output->channel, "-translation", "binary");
        Tcl_SetChannelBufferSize(output->channel, PIECE);
        return TCL_OK;
    }
    if (tempPath) { /* the error refers to the user's name of the file */
        Tcl_SetObjResult(
                output->interp, Tcl_ObjPrintf("couldn't open \"%s\": %s", Tcl_GetString(name),
                                        Tcl_PosixError(output->interp)));
        Tcl_DecrRefCount(output->path);
        Tcl_DecrRefCount(output->tempPath);
    }
    return TCL_ERROR;
}

int EtwOutputOpen(Tcl_Interp *interp, Tcl_Obj *name, const EtwSource *source, const char *option,
        bool tempPath, EtwOutput *output)
{
    int mode;
    const char *channel = name ? Tcl_GetString(name) : "stdout";

    memset(output, 0, sizeof *output);
    output->interp = interp;
    output->channel = Tcl_GetChannel(interp, channel, &mode);
    if (output->channel == NULL && name != NULL) {
        Tcl_ResetResult(interp);
        output->raw = true;
        if (EtwOutputCheck(interp, name, source, option) != TCL_OK ||
                openFile(output, name, tempPath) != TCL_OK) {
            return TCL_ERROR;
        }
        output->name = name;
        Tcl_IncrRefCount(name);
        return TCL_OK;
    }
    if (output->channel == NULL) {
        return TCL_ERROR;
    }
    if (!(mode & TCL_WRITABLE)) {
        return EtwTclFail(interp, ETW_E_ARG, "CHANNEL", channel,
                "channel \"%.100s\" is not open for writing", channel);
    }
    output->raw = takesUtf8(output->channel);
    output->name = name;
    if (name != NULL) {
        Tcl_IncrRefCount(name);
    }
    return TCL_OK;
}

int EtwOutputBinary(EtwOutput *output)
{
    output->raw = true;
    return Tcl_SetChannelOption(output->interp, output->channel, "-translation", "binary");
}

int EtwOutputError(EtwOutput *output)
{
    output->failed = true;
    Tcl_SetObjResult(output->interp, Tcl_ObjPrintf("error writing \"%s\": %s",
                                             output->name ? Tcl_GetString(output->name) : "stdout",
                                             Tcl_PosixError(output->interp)));
    return TCL_ERROR;
}

int EtwOutputDrain(EtwOutput *output)
{
    Tcl_Size written;

    if (output->text.size == 0 || output->failed) {
        return output->failed ? TCL_ERROR : TCL_OK;
    }
    if (output->raw) {
        written = Tcl_Write(output->channel, output->text.data, (Tcl_Size)output->text.size);
    } else {
        Tcl_Obj *obj = EtwTextObj(output->text.data, output->text.size);
        Tcl_IncrRefCount(obj);
        written = Tcl_WriteObj(output->channel, obj);
        Tcl_DecrRefCount(obj);
    }
    output->text.size = 0;
    return written < 0 ? EtwOutputError(output) : TCL_OK;
}

int EtwOutputFull(EtwOutput *output)
{
    return output->text.size >= PIECE || output->failed ? EtwOutputDrain(output) : TCL_OK;
}

/* A live listing is read while it is written, so it is flushed. */
void EtwOutputFlush(void *clientData)
{
    EtwOutput *output = clientData;

    if (!output->failed && EtwOutputDrain(output) == TCL_OK &&
            Tcl_Flush(output->channel) != TCL_OK) {
        EtwOutputError(output);
    }
}

/* Rename the complete file, or delete a partial one. */
static int settle(EtwOutput *output, int result)
{
    if (result == TCL_OK && Tcl_FSRenameFile(output->tempPath, output->path) != TCL_OK) {
        result = EtwOutputError(output);
    }
    if (result != TCL_OK) {
        Tcl_FSDeleteFile(output->tempPath);
    }
    Tcl_DecrRefCount(output->path);
    Tcl_DecrRefCount(output->tempPath);
    output->path = NULL;
    return result;
}

int EtwOutputClose(EtwOutput *output, int result)
{
    if (output->channel == NULL) {
        EtwTextFree(&output->text);
        return result;
    }
    if (result == TCL_OK) {
        result = EtwOutputDrain(output);
    }
    EtwTextFree(&output->text);
    if (output->own) {
        if (Tcl_Close(NULL, output->channel) != TCL_OK) {
            result = result == TCL_OK ? EtwOutputError(output) : result;
        }
    } else if (result == TCL_OK && Tcl_Flush(output->channel) != TCL_OK) {
        result = EtwOutputError(output);
    }
    result = output->path != NULL ? settle(output, result) : result;
    if (output->name != NULL) {
        Tcl_DecrRefCount(output->name);
        output->name = NULL;
    }
    return result;
}
