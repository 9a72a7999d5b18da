/*
 * tcl/core/text_output.h --
 *
 *	Output of text in large pieces, to an open channel or a file. A file that must be complete or absent
 *	is written under a temporary name in the same directory and renamed at the end.
 */
#ifndef ETW_TEXT_OUTPUT_H
#define ETW_TEXT_OUTPUT_H

#include "tcl/core/tclglue.h"
#include "flow/source/source.h"

typedef struct EtwOutput {
    Tcl_Interp *interp;
    Tcl_Channel channel;
    Tcl_Obj *name;     /* as the user wrote it, for errors: a reference; NULL: stdout */
    Tcl_Obj *path;     /* the final path; NULL: a channel, or written in place */
    Tcl_Obj *tempPath; /* its name until it is complete */
    bool own;          /* we opened the channel */
    bool raw;          /* accepts UTF-8 bytes without conversion */
    bool failed;
    EtwText text; /* not written yet */
} EtwOutput;

/*
 * A channel with that name (NULL: stdout), otherwise a file with mode 0600, because traces contain
 * secrets. A file that `source` reads is an error, which names `option`. tempPath: the file gets
 * its name when it is complete.
 */
int EtwOutputOpen(Tcl_Interp *interp, Tcl_Obj *name, const EtwSource *source, const char *option,
        bool tempPath, EtwOutput *output);
/* The output is bytes, not text: a channel is switched to binary. */
int EtwOutputBinary(EtwOutput *output);
/*
 * Parts of EtwOutputOpen for callers that write several files: check that `source` does not read
 * the file; an unused name in the directory of the file (one reference, owned by the caller).
 */
int EtwOutputCheck(Tcl_Interp *interp, Tcl_Obj *name, const EtwSource *source, const char *option);
Tcl_Obj *EtwOutputTempName(Tcl_Obj *path);
/*
 * Write the text to the channel when there is enough of it (Full), always (Drain), and also flush
 * the channel (Flush, usable as EtwQuery.onIdle).
 */
int EtwOutputFull(EtwOutput *output);
int EtwOutputDrain(EtwOutput *output);
void EtwOutputFlush(void *output);
/* The error after a failed write: names the file and the reason. TCL_ERROR. */
int EtwOutputError(EtwOutput *output);
/*
 * result: that of the command. Accepts an output that could not be opened, or is zeroed. After a
 * failure, a file that would appear when complete is deleted. Returns TCL_OK only if everything was
 * written.
 */
int EtwOutputClose(EtwOutput *output, int result);

#endif
