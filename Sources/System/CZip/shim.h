// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_CZip_H
#define NACRE_CZip_H

#include <zip.h>

#endif
