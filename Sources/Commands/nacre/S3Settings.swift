// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacrePublisher

/// An S3 store as the environment names it.
enum S3Settings {
    static func bucket(
        _ named: String?, _ environment: [String: String], transport: any HTTPTransport, threads: WorkThreads
    ) throws(NacreError) -> any ReleaseBucket {
        throw NacreError(
            "configuration.bucket", "Into which bucket? Use --bucket FOLDER or NACRE_OTA_BUCKET.")
    }
}
