// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_CLinux_H
#define NACRE_CLinux_H

// Without _GNU_SOURCE: Swift's Glibc module is built so, and types that differ by it cannot meet. What only it
// declares stands here.
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int accept4(int, struct sockaddr *, socklen_t *, int);
int pthread_setname_np(pthread_t, const char *);
int syncfs(int);

// `struct epoll_event` is packed and holds a union; Swift sees this plain pair instead.
struct nacre_event {
    uint64_t token;
    uint32_t events;
};

// `errno` is a macro over a call, which Swift sees only through Glibc's module.
static inline int nacre_errno(void) { return errno; }

// Variadic, which Swift does not import.
static inline int nacre_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }

static inline const char *nacre_error_text(int code) { return strerror(code); }

// Under a name of its own, since Swift types with a method `close` hide the function.
static inline void nacre_close(int fd) { (void)close(fd); }

static inline int nacre_connect(int fd, const struct sockaddr *address, socklen_t length) {
    return connect(fd, address, length) == 0 ? 0 : errno;
}

static inline int nacre_bind(int fd, const struct sockaddr *address, socklen_t length) {
    return bind(fd, address, length);
}

static inline int nacre_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

static inline int nacre_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

static inline int nacre_epoll_add(int poll, int fd, uint32_t events, uint64_t token) {
    struct epoll_event event;
    event.events = events;
    event.data.u64 = token;
    return epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
}

static inline int nacre_epoll_remove(int poll, int fd) {
    struct epoll_event event = {0};
    return epoll_ctl(poll, EPOLL_CTL_DEL, fd, &event);
}

// Waits for at most 128 events and copies them out.
static inline int nacre_epoll_wait(int poll, struct nacre_event *out, int capacity, int timeout) {
    struct epoll_event events[128];
    int count = epoll_wait(poll, events, capacity < 128 ? capacity : 128, timeout);
    for (int i = 0; i < count; i++) {
        out[i].token = events[i].data.u64;
        out[i].events = events[i].events;
    }
    return count;
}

// The masks as numbers: enumerators and bit 31 arrive in Swift as differing types.
static inline uint32_t nacre_epoll_in(void) { return EPOLLIN; }
static inline uint32_t nacre_epoll_out(void) { return EPOLLOUT; }
static inline uint32_t nacre_epoll_peer_ended(void) { return EPOLLRDHUP; }
static inline uint32_t nacre_epoll_broken(void) { return EPOLLHUP | EPOLLERR; }
static inline uint32_t nacre_epoll_edge(void) { return EPOLLET; }

static inline int nacre_stream_socket(int family) {
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static inline int nacre_accept(int fd, struct sockaddr_storage *address, socklen_t *length) {
    return accept4(fd, (struct sockaddr *)address, length, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static inline int nacre_set_nonblocking(int fd) {
    int flags = fcntl(fd, F_GETFL, 0);
    return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static inline int nacre_open_null(void) { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

static inline ssize_t nacre_receive(int fd, void *into, size_t count, int peek) {
    return recv(fd, into, count, peek ? MSG_PEEK : 0);
}

// A peer that has left must not end the process: no SIGPIPE.
static inline ssize_t nacre_send(int fd, const void *from, size_t count) {
    return send(fd, from, count, MSG_NOSIGNAL);
}

static inline int nacre_socket_option(int fd, int level, int name, int value) {
    return setsockopt(fd, level, name, &value, sizeof value);
}

static inline int nacre_socket_error(int fd) {
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

// Whether a connect that was begun has come to an end, well or not.
static inline int nacre_connect_finished(int fd) {
    struct pollfd entry = {.fd = fd, .events = POLLOUT};
    return poll(&entry, 1, 0) > 0;
}

static inline void nacre_no_delay(int fd) { nacre_socket_option(fd, IPPROTO_TCP, TCP_NODELAY, 1); }

// Notices peers that vanished without a word after about two minutes.
static inline void nacre_keep_alive(int fd) {
    nacre_socket_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    nacre_socket_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 60);
    nacre_socket_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 15);
    nacre_socket_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

static inline int nacre_reuse_address(int fd) { return nacre_socket_option(fd, SOL_SOCKET, SO_REUSEADDR, 1); }

static inline int nacre_only_ipv6(int fd) { return nacre_socket_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1); }

static inline uint64_t nacre_monotonic_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Signals belong to the program's other threads.
static inline void nacre_block_signals(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, 0);
}

static inline void nacre_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

// Resolves on the calling thread, which may block for long. `code` 0 is success; free with freeaddrinfo.
static inline int nacre_resolve(const char *host, const char *port, int passive, struct addrinfo **result) {
    struct addrinfo hints = {0};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
    int code = getaddrinfo(host, port, &hints, result);
    if (code == 0) return 0;
    hints.ai_flags &= ~AI_ADDRCONFIG; // loopback alone does not count as configured
    return getaddrinfo(host, port, &hints, result);
}

/// Opens one component below a directory without following a link; openat is variadic.
static inline int nacre_open_at(int directory, const char *name, int is_directory) {
    return openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (is_directory ? O_DIRECTORY : O_NONBLOCK));
}

/// Makes or opens one component below a directory for writing, without following a link; openat is variadic.
static inline int nacre_write_at(int directory, const char *name, int flags, mode_t mode) {
    return openat(directory, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, mode);
}

// Whether a descriptor that was handed over is a TCP socket that listens.
static inline int nacre_is_listening(int fd) {
    int listening = 0, domain = 0;
    socklen_t length = sizeof listening;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) != 0 || !listening) return 0;
    length = sizeof domain;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && (domain == AF_INET || domain == AF_INET6);
}

static inline int nacre_close_on_exec(int fd) { return fcntl(fd, F_SETFD, FD_CLOEXEC); }

// Opens the file, which is made where it is missing, and locks it: the descriptor, or minus the error. Who does not wait
// hears EWOULDBLOCK when somebody else holds it. The lock ends with the descriptor.
static inline int nacre_lock_file(const char *path, int exclusive, int waits) {
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return -errno;
    int reason = 0;
    do {
        if (flock(fd, (exclusive ? LOCK_EX : LOCK_SH) | (waits ? 0 : LOCK_NB)) == 0) return fd;
        reason = errno;
    } while (reason == EINTR);
    close(fd);
    return -reason;
}

// Opens a name of a folder only to look at it and to change whose it is, never through a link. Unlike any other
// descriptor it can be closed without giving up the locks that SQLite has on the file. O_PATH is behind _GNU_SOURCE.
static inline int nacre_look_at(int directory, const char *name) {
    return openat(directory, name, __O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

// Gives what such a descriptor stands for to a user and a group: AT_EMPTY_PATH, which is behind _GNU_SOURCE too.
static inline int nacre_give_to(int fd, uid_t owner, gid_t group) {
    return fchownat(fd, "", owner, group, 0x1000) == 0 ? 0 : errno;
}

// Changes the mode of what such a descriptor stands for; fchmod(2) refuses it.
static inline int nacre_set_mode(int fd, mode_t mode) {
    char place[32];
    snprintf(place, sizeof place, "/proc/self/fd/%d", fd);
    return chmod(place, mode) == 0 ? 0 : errno;
}

// Under names of their own: `stat` is a function and a structure at once, and the kinds of files are macros.
static inline int nacre_describe(int fd, struct stat *into) { return fstat(fd, into) == 0 ? 0 : errno; }
static inline int nacre_is_plain_file(mode_t mode) { return S_ISREG(mode); }

// Sends one datagram to a service manager's socket (sd_notify(3)); "@" begins an abstract name. 0, or the error.
static inline int nacre_notify(const char *path, const char *text) {
    struct sockaddr_un address = {0};
    size_t length = strlen(path);
    if (length < 2 || length >= sizeof address.sun_path) return EINVAL;
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') address.sun_path[0] = 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return errno;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    ssize_t sent = sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address, size);
    int reason = sent < 0 ? errno : 0;
    close(fd);
    return reason;
}

// The next close breaks the connection: the other side gets an error in place of an end.
static inline void nacre_reset_on_close(int fd) {
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

// Bytes that an ordinary user may still write on the file system of `path`, or -1.
static inline int64_t nacre_free_bytes(const char *path) {
    struct statvfs status;
    if (statvfs(path, &status) != 0) return -1;
    return (int64_t)status.f_bavail * (int64_t)status.f_frsize;
}

#endif
