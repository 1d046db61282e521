// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_CPOSTGRES_H
#define NACRE_CPOSTGRES_H

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdlib.h>

static inline void nacre_pg_ignore_notice(void *context, const PGresult *result) { (void)context; (void)result; }
/// Notices would go to standard error, past the log.
static inline void nacre_pg_be_quiet(PGconn *connection) {
    PQsetNoticeReceiver(connection, nacre_pg_ignore_notice, NULL);
}
/// The field codes are character literals, which Swift does not import.
static inline const char *nacre_pg_sqlstate(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}
static inline const char *nacre_pg_message(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}
static inline const char *nacre_pg_constraint(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
}
/// Waits until the socket can be read; 1 yes, 0 time is up, -1 the socket is broken. Without a socket (-1) it only waits.
static inline int nacre_pg_wait(int socket, int milliseconds) {
    struct pollfd place = {socket, POLLIN, 0};
    int result = poll(&place, socket < 0 ? 0 : 1, milliseconds);
    if (result < 0) return errno == EINTR ? 1 : -1;
    return result;
}
static inline const char *nacre_pg_environment(const char *name) { return getenv(name); }

#endif
