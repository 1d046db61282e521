// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_CZlib_H
#define NACRE_CZlib_H

#include <zlib.h>

/// A raw deflate stream, as zip holds it; a macro in zlib. Z_OK when it can be read from.
static inline int nacre_inflate_raw(z_stream *stream) { return inflateInit2(stream, -MAX_WBITS); }

#endif
