// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_CLinux_H
#define NACRE_CLinux_H

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

/// Opens one component below a directory without following a link; openat is variadic.
static inline int nacre_open_at(int directory, const char *name, int is_directory) {
    return openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (is_directory ? O_DIRECTORY : O_NONBLOCK));
}

#endif
