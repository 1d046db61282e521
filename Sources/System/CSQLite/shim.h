// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_CSQLite_H
#define NACRE_CSQLite_H

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

/// SQLITE_TRANSIENT is a cast macro, which Swift does not import: SQLite copies the bytes before the call returns.
static inline int nacre_sqlite_bind_text(sqlite3_stmt *s, int i, const char *p, int n) {
    return sqlite3_bind_text(s, i, p, n, SQLITE_TRANSIENT);
}
static inline int nacre_sqlite_bind_blob(sqlite3_stmt *s, int i, const void *p, int n) {
    return sqlite3_bind_blob(s, i, p, n, SQLITE_TRANSIENT);
}
/// sqlite3_db_config is variadic.
static inline int nacre_sqlite_config_flag(sqlite3 *db, int option, int value) {
    return sqlite3_db_config(db, option, value, (int *)0);
}
/// Creates an empty database file that only this user may read; SQLite gives its journals the same mode.
/// Does nothing when the file is there already (O_EXCL: no descriptor is opened, so no lock of this process is lost).
static inline int nacre_sqlite_create_private(const char *path) {
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return errno == EEXIST ? 0 : errno;
    return close(fd) == 0 ? 0 : errno;
}

#endif
