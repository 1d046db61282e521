// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// What a store's refusal means for the person who publishes.
enum S3Fault {
    /// The error for an answer that is no success.
    ///
    /// - Parameters:
    ///   - what: what was tried, such as `put channels/prod/manifest.json`.
    ///   - date: the store's own clock, as it says.
    static func error(
        _ status: HTTPStatus, _ body: [UInt8], _ configuration: S3Configuration, what: String, date: String?,
        now: Instant
    ) -> NacreError {
        let document = try? S3Document(body)
        let code = document?.name == "Error" ? document?["Code"] ?? "" : ""
        // The store's own words may repeat the request; a part of them is enough, and a signature is not among it.
        let words = (document?["Message"] ?? "").prefix(160)
        let place = "\(configuration.endpoint)"
        switch (status.rawValue, code) {
        case (_, "InvalidAccessKeyId"), (_, "SignatureDoesNotMatch"), (_, "InvalidToken"), (_, "ExpiredToken"):
            return NacreError(
                "bucket.credentials",
                "\(place) does not accept the key (\(code)); check MOBILE_OTA_S3_ACCESS_KEY and MOBILE_OTA_S3_SECRET_KEY, and "
                    + "MOBILE_OTA_S3_REGION, which is \(configuration.region) here.")
        case (_, "RequestTimeTooSkewed"), (_, "RequestExpired"):
            return NacreError(
                "bucket.clock",
                "This machine's clock says \(now.iso8601)\(date.map { ", the store's \($0)" } ?? ""); set it right: a store "
                    + "takes nothing that is signed more than 15 minutes off.")
        case (_, "AuthorizationHeaderMalformed"), (301, _), (307, _):
            return NacreError(
                "bucket.region",
                "\(place) wants to be asked otherwise (\(status.rawValue) \(code)); set MOBILE_OTA_S3_REGION"
                    + "\(document?["Region"].map { " to \($0.prefix(40))" } ?? ", which is \(configuration.region) here")"
                    + ", or MOBILE_OTA_S3_ENDPOINT to the bucket's own.")
        case (_, "NoSuchBucket"):
            return NacreError(
                "bucket.missing",
                "There is no bucket \(configuration.bucket) at \(place); make it with: nacre ota bucket")
        case (403, _):
            return NacreError(
                "bucket.denied",
                "\(place) does not let this key \(what) in the bucket \(configuration.bucket)"
                    + "\(code.isEmpty ? "" : " (\(code.prefix(60)))"); check the key and its rights.")
        case (429, _),
            (500..., _) where status.rawValue != 501:
            return NacreError(
                "transport.busy", "\(place) answers \(status.rawValue) \(code.prefix(60)); try again in a while.")
        default:
            return NacreError(
                "bucket.answer",
                "\(place) answers \(status.rawValue)\(code.isEmpty ? "" : " \(code.prefix(60))") to \(what). \(words)")
        }
    }
}
