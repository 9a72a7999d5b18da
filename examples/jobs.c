/*
 * examples/jobs.c --
 *
 *	A job queue that traces its work. Each argument is a job: a number, whose prime factors it prints.
 *	A job has an activity id of its own, which its events carry. Compiles as C99 and as C++11.
 *
 *	Build it with `make examples`. doc/capi_etw.man shows how to record its events: those of provider
 *	Example-Jobs, while it runs as `examples/jobs 42 97 fish`.
 */
#include "etw.h"
#include <stdio.h>
#include <stdlib.h>

enum { KEYWORD_QUEUE = 1, KEYWORD_WORK = 2 };

typedef struct Job {
    const char *text;
    Etw_Guid activity;
} Job;

static Etw_Provider *provider;
static Job queue[100];
static int queued;

static void enqueue(const char *text)
{
    Job *job = &queue[queued++];
    job->text = text;
    Etw_ActivityCreate(&job->activity);
    ETW_WRITE(provider, "Queued", ETW_KEYWORD(KEYWORD_QUEUE), ETW_ACTIVITY(&job->activity),
            ETW_STR("Job", text), ETW_I32("Waiting", queued));
}

/* The number of prime factors; -1: not a number. */
static int factorize(const char *text)
{
    char *end;
    int count = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (end == text || *end != '\0') {
        ETW_WRITE(provider, "Invalid", ETW_LEVEL(ETW_LEVEL_ERROR), ETW_KEYWORD(KEYWORD_WORK),
                ETW_STR("Job", text), ETW_U32("Position", (uint32_t)(end - text)));
        return -1;
    }
    for (unsigned long factor = 2; factor * factor <= number || number > 1; factor++) {
        while (number > 1 && (number % factor == 0 || factor * factor > number)) {
            factor = number % factor == 0 ? factor : number;
            ETW_WRITE(provider, "Factor", ETW_LEVEL(ETW_LEVEL_VERBOSE), ETW_KEYWORD(KEYWORD_WORK),
                    ETW_U64("Factor", factor));
            printf("%lu ", factor);
            number /= factor;
            count++;
        }
    }
    printf("\n");
    return count;
}

/* The thread's current activity is the job's: events without ETW_ACTIVITY carry it as well. */
static void run(Job *job)
{
    int count;
    Etw_ActivitySet(&job->activity);
    ETW_WRITE(provider, "Run", ETW_KEYWORD(KEYWORD_WORK), ETW_OPCODE(ETW_OPCODE_START),
            ETW_STR("Job", job->text));
    count = factorize(job->text);
    ETW_WRITE(provider, "Run", ETW_KEYWORD(KEYWORD_WORK), ETW_OPCODE(ETW_OPCODE_STOP),
            ETW_BOOL("Success", count >= 0), ETW_I32("Factors", count));
    Etw_ActivitySet(NULL);
}

int main(int argc, char **argv)
{
    provider = Etw_Register("Example-Jobs", NULL);
    for (int i = 1; i < argc && i <= 100; i++) {
        enqueue(argv[i]);
    }
    for (int i = 0; i < queued; i++) {
        run(&queue[i]);
    }
    Etw_Unregister(provider);
    return 0;
}
