// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import NacreHTTP

/// Signs requests as S3 wants them (AWS Signature Version 4): a chain of HMAC-SHA-256 over a canonical form of the request,
/// the digest of its body included.
struct S3Signer: Sendable {
    let credentials: S3Credentials
    let region: String
    var service = "s3"

    /// Adds the fields of a signature.
    ///
    /// - Parameters:
    ///   - path: the decoded path; S3 encodes each of its parts once.
    ///   - query: names and values, decoded.
    ///   - payload: SHA-256 of the body in hexadecimal.
    /// - Returns: the request with its target encoded as it was signed.
    func sign(
        _ request: HTTPRequest, path: String, query: [(String, String)], payload: String, now: Instant
    ) -> HTTPRequest {
        var request = request
        let encodedPath = path.split(separator: "/", omittingEmptySubsequences: false)
            .map { PercentEncoding.encode($0) }.joined(separator: "/")
        let pairs = query.map { (name: PercentEncoding.encode($0.0), value: PercentEncoding.encode($0.1)) }
        let sorted = pairs.sorted { a, b in a.name == b.name ? a.value < b.value : a.name < b.name }
        let encodedQuery = sorted.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        request.target = encodedPath + (encodedQuery.isEmpty ? "" : "?" + encodedQuery)
        let moment = now.basicTime
        request.fields["x-amz-date"] = moment
        request.fields["x-amz-content-sha256"] = payload
        request.fields["x-amz-security-token"] = credentials.sessionToken

        let signed = (request.fields.fields.map { ($0.name.lowercased(), $0.value) } + [("host", request.authority)])
            .sorted { $0.0 < $1.0 }
        let names = signed.map(\.0).joined(separator: ";")
        let canonical =
            "\(request.method.rawValue)\n\(encodedPath)\n\(encodedQuery)\n"
            + signed.map { "\($0.0):\($0.1)\n" }.joined() + "\n\(names)\n\(payload)"
        let day = String(moment.prefix(8))
        let scope = "\(day)/\(region)/\(service)/aws4_request"
        let text = "AWS4-HMAC-SHA256\n\(moment)\n\(scope)\n\(Hex.encode(SHA256.hash(canonical)))"
        var key = Array("AWS4\(credentials.secretKey)".utf8)
        for part in [day, region, service, "aws4_request"] {
            key = HMACSHA256.authenticate(Array(part.utf8), key: key)
        }
        let signature = Hex.encode(HMACSHA256.authenticate(Array(text.utf8), key: key))
        request.fields["Authorization"] =
            "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
        return request
    }
}
