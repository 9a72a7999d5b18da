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
    Tcl_Obj *path; /* where the file has to be at the end; NULL: a channel, or written in place */
    Tcl_Obj *tempPath; /* what it is called until then */
    bool own;          /* we opened the channel */
    bool raw;          /* accepts UTF-8 bytes without conversion */
    bool failed;
    EtwText text; /* not written yet */
} EtwOutput;

/*
 * A channel of that name (NULL: stdout), else a file, made 0600: traces hold secrets. A file that
 * `source` reads is refused: the error names `option`. beside: it gets its name when it is complete.
 */
int EtwOutputOpen(Tcl_Interp *interp, Tcl_Obj *name, const EtwSource *source, const char *option,
        bool tempPath, EtwOutput *output);
/* Parts of that, for whoever writes several files: is the name none that `source` reads; a name that
 * nobody has, in the directory where the file is to be (one reference, the caller's). */
int EtwOutputCheck(Tcl_Interp *interp, Tcl_Obj *name, const EtwSource *source, const char *option);
Tcl_Obj *EtwOutputTempName(Tcl_Obj *path);
/* The text is emptied into the channel when there is enough of it (Full), in any case (Drain), and
 * the channel flushed, too (Flush, with EtwQuery.onIdle's shape). */
int EtwOutputFull(EtwOutput *output);
int EtwOutputDrain(EtwOutput *output);
void EtwOutputFlush(void *output);
/* result: of what was done with it; accepts one that could not be opened, or is zeroed. A file that failed leaves nothing behind where it was to appear
 * when complete. Returns TCL_OK only when all is written. */
int EtwOutputClose(EtwOutput *output, int result);

#endif
