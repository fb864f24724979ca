/* The process that keeps a pod's namespaces: waits, takes over orphans as PID 1, ends when told. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

int main(void) {
	sigset_t awaited;
	int caught;

	sigemptyset(&awaited);
	sigaddset(&awaited, SIGINT);
	sigaddset(&awaited, SIGTERM);
	sigaddset(&awaited, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &awaited, NULL) != 0) {
		perror("pause");
		return 1;
	}
	for (;;) {
		if (sigwait(&awaited, &caught) != 0)
			continue;
		if (caught != SIGCHLD)
			return 0;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}
