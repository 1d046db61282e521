// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_CSodium_H
#define NACRE_CSodium_H

#include <sodium.h>

#endif
