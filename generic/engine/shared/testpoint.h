/*
 * engine/shared/testpoint.h --
 *
 *	Named places at which a test can stop or kill the process: each step of the record protocol
 *	that another thread or process can observe. Compiled out unless ETW_TEST_POINTS is defined. At run
 *	time ETW_TEST_POINT=NAME:ACTION[:N] acts at the Nth passage (default 1): kill (SIGKILL), stop
 *	(SIGSTOP), sleep (forever).
 */
#ifndef ETW_TESTPOINT_H
#define ETW_TESTPOINT_H

#ifdef ETW_TEST_POINTS
void EtwTestPoint(const char *name);
#define ETW_TEST_POINT(name) EtwTestPoint(name)
#else
#define ETW_TEST_POINT(name) ((void)0)
#endif

#endif
