// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_CSecret_H
#define NACRE_CSecret_H

#include <libsecret/secret.h>

#endif
