// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_CSQLite_H
#define NACRE_CSQLite_H

#include <sqlite3.h>

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

#endif
