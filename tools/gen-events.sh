#!/bin/sh
# gen-events.sh --
#
#	Writes the tables of events and fields in doc/internals/EVENTS.md from the declaration of our events
#	(generic/semantics/declared_events.c). Run it in the source tree; argument: the build directory (build).

set -e
cd "$(dirname "$0")/.."
make -C "${1:-build}" ctests >/dev/null
cd "${1:-build}"
ETW_EVENTS_WRITE=1 tests/semantics/test_event_doc document_1_1
