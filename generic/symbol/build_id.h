/*
 * symbol/build_id.h --
 *
 *	The GNU build id of an ELF file: bytes that are different for each file that a linker has written.
 */
#ifndef ETW_BUILD_ID_H
#define ETW_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

enum { ETW_BUILD_ID_MAX = 20, ETW_BUILD_ID_TEXT = 2 * ETW_BUILD_ID_MAX + 1 };

/* In the contents of a note section or segment. Returns its size; 0: none. */
uint8_t EtwBuildIdInNotes(const uint8_t *notes, size_t size, uint8_t id[ETW_BUILD_ID_MAX]);
/* Of a file. The same. */
uint8_t EtwBuildIdOfFile(const char *path, uint8_t id[ETW_BUILD_ID_MAX]);
/* Of a file that has the notes alone, such as /sys/kernel/notes. */
uint8_t EtwBuildIdOfNotesFile(const char *path, uint8_t id[ETW_BUILD_ID_MAX]);
/* As lower-case hexadecimal digits; "" if size is 0. */
void EtwBuildIdText(const uint8_t *id, uint8_t size, char text[ETW_BUILD_ID_TEXT]);

#endif
