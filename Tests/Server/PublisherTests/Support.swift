// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
