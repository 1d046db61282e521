// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import NacreRouting

/// An error that the client made and may read.
struct APIFailure: Error {
    let status: HTTPStatus
    let code: String
    let message: String

    static func badRequest(_ code: String, _ message: String) -> APIFailure {
        APIFailure(status: .badRequest, code: code, message: message)
    }

    static let noThread = APIFailure(
        status: .notFound, code: "not_found", message: "This conversation is not in your mailbox.")

    static let noBlob = APIFailure(
        status: .notFound, code: "not_found", message: "This attachment is not in your mailbox.")

    var response: HTTPResponse { .failure(status, code: code, message: message) }
}
