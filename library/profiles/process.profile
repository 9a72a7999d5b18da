about {processes and threads: start, exec, stop with exit codes}
kernel {process thread}
