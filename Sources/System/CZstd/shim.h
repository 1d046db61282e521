// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_CZstd_H
#define NACRE_CZstd_H

#include <zstd.h>
#include <zstd_errors.h>

#endif
