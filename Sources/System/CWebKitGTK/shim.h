// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_CWebKitGTK_H
#define NACRE_CWebKitGTK_H

#include <webkit/webkit.h>

#endif
