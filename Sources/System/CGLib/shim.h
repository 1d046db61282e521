// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_CGLib_H
#define NACRE_CGLib_H

#include <gio/gio.h>

#endif
