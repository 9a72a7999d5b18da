/*
 * tests/engine/model/model.h --
 *
 *	What a scenario (ring_model.c) and the adapter to Relacy (relacy_model.cc) share. A scenario is
 *	executed many times, each time with another interleaving of its threads' atomic operations and
 *	another choice of the older values that C11 permits a load to return.
 */
#ifndef ETW_MODEL_H
#define ETW_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ModelScenario {
    const char *name;
    int threads; /* 2, 3 or 4 */
    void (*before)(void);
    void (*thread)(int index); /* each is a process of its own: ModelPid is index + 1 */
    void (*after)(void);       /* when all threads have ended: the checks */
} ModelScenario;

extern const ModelScenario modelScenarios[];
extern const int modelScenarioCount;
extern int modelEvents; /* that each writer writes */

/* True in some executions: rarely when they are random, both ways when all are tried. */
bool ModelRarely(void);
void ModelYield(void);
/* Ends the execution as failed, with its history. */
void ModelCheck(bool isTrue, const char *what);
/* Thread index, or -1 in before and after. */
int ModelThread(void);
/* Called before each atomic operation of a thread. The scenario may end the thread there. */
void ModelStep(void);
/* An atomic word with its value from before the threads start. Each word that they use must be published. */
void ModelPublish(const void *at, unsigned size);

#ifdef __cplusplus
}
#endif
#endif
