// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_CLinux_H
#define NACRE_CLinux_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Swift imports neither variadic functions nor the errno macro. */
static inline int nacre_errno(void) { return errno; }
static inline int nacre_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }

#endif
