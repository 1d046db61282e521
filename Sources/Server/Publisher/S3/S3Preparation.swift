// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP

/// Makes a bucket whose objects everybody may read and nobody may list (UP-12); a second time it changes nothing.
struct S3Preparation: Sendable {
    let client: S3Client
    private var configuration: S3Configuration { client.configuration }

    func run() async throws -> [String] {
        var lines: [String] = []
        let head = try await client.send(.head, nil, what: "look")
        if head.status == 404 {
            try await create()
            lines.append("made: \(configuration.bucket)")
        } else {
            lines.append("there already: \(configuration.bucket)")
        }
        lines.append(try await allowReading())
        lines.append(try await listing())
        return lines
    }

    private func create() async throws {
        // The first region has no name here.
        let body =
            configuration.region == "us-east-1"
            ? nil
            : BucketContent.bytes(
                Array(
                    ("<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><LocationConstraint>"
                        + configuration.region + "</LocationConstraint></CreateBucketConfiguration>").utf8))
        do { _ = try await client.send(.put, nil, what: "make", content: body) } catch let error as NacreError
            where error.message.contains("BucketAlreadyOwnedByYou")
        { return }
    }

    private var statement: JSONValue {
        [
            "Sid": "NacrePublicRead", "Effect": "Allow", "Principal": "*", "Action": "s3:GetObject",
            "Resource": .string("arn:aws:s3:::\(configuration.bucket)/\(configuration.prefix)*"),
        ]
    }

    /// Adds our statement to the bucket's policy, and leaves what others wrote there.
    private func allowReading() async throws -> String {
        let present = try await client.send(.get, nil, query: [("policy", "")], what: "read the policy")
        var policy: JSONValue = ["Version": "2012-10-17", "Statement": []]
        if present.status != 404, !present.body.isEmpty {
            policy = try JSONParser.parse(present.body)
        }
        var statements = policy["Statement"]?.array ?? [policy["Statement"]].compactMap { $0 }
        let isThere = statements.contains { one in
            let principal = one["Principal"]
            let isForAll = principal == "*" || principal?["AWS"] == "*" || principal?["AWS"]?.array == ["*"]
            let action = one["Action"]
            let reads = action == "s3:GetObject" || action?.array?.contains("s3:GetObject") == true
            let resource = one["Resource"]
            let wanted = statement["Resource"]
            let isHere = resource == wanted || wanted.map { resource?.array?.contains($0) == true } == true
            return one["Effect"] == "Allow" && isForAll && reads && isHere
        }
        if isThere { return "readable by everybody: already" }
        statements.append(statement)
        var members = policy.object ?? [:]
        members["Statement"] = .array(statements)
        let body = JSONValue.object(members).bytes
        do {
            _ = try await client.send(
                .put, nil, query: [("policy", "")], what: "set the policy", content: .bytes(body))
        } catch let error as NacreError where error.code == "bucket.denied" {
            throw NacreError(
                "bucket.policy",
                "\(configuration.endpoint) does not let this key make objects readable by everybody. Let somebody allow "
                    + "s3:PutBucketPolicy (on AWS, also switch off the bucket's block of public policies), or serve it by a CDN.",
                cause: error)
        } catch let error as NacreError where error.code == "bucket.answer" {
            return "NOT readable by everybody: the store has no policies; allow it in its own way. (\(error.message))"
        }
        return "readable by everybody: now"
    }

    /// Whether somebody without a key can list what is there.
    private func listing() async throws -> String {
        do {
            let answer = try await client.send(
                .get, nil, query: [("list-type", "2"), ("max-keys", "1")], what: "list", isSigned: false)
            return answer.status.isSuccess
                ? "WARNING: everybody can list the bucket; take s3:ListBucket away from the public"
                : "listing: \(answer.status.rawValue)"
        } catch let error as NacreError where error.code == "bucket.denied" || error.code == "bucket.answer" {
            return "listing by everybody: refused, as it should be"
        }
    }
}
