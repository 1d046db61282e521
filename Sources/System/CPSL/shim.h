// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_CPSL_H
#define NACRE_CPSL_H

#include <libpsl.h>

#endif
