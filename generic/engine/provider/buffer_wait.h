/*
 * engine/provider/buffer_wait.h --
 *
 *	Writers of a lossless session wait until the logger has freed a buffer. The wait ends when the
 *	logger is dead or releases no buffer for bufferPatience: then the event is lost, and so is each
 *	later one that finds no buffer, without a wait, until the logger releases a buffer again. A write
 *	inside a write of the same thread does not wait, because the outer one may have an open record. The
 *	logger's own events (kernel, Host, Mark) are written by EtwProviderWriteTo, which never waits.
 */
#ifndef ETW_BUFFER_WAIT_H
#define ETW_BUFFER_WAIT_H

#include "engine/shared/ring.h"
#include "engine/shared/writer_threads.h"

extern int64_t bufferPatience; /* ns; tests change it */

/*
 * RingReserve has found no buffer: wait if the session is lossless. Called inside a write of the
 * thread. The record as RingReserve returns it, or NULL; the caller counts the loss.
 */
RingRecord *BufferWait(Ring *ring, uint32_t stream, uint32_t size, const EtwThread *thread);

#endif
