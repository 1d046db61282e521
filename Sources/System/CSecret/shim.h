// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// libsecret; only its functions without variable arguments are used.
#ifndef NACRE_CSECRET_SHIM_H
#define NACRE_CSECRET_SHIM_H

#include <libsecret/secret.h>

static inline gboolean nacre_secret_error_is(const GError *error, gint code) {
    return g_error_matches(error, SECRET_ERROR, code);
}

#endif
