// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_CLinux_H
#define NACRE_CLinux_H

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#endif
