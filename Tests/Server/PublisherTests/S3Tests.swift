// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto
import NacreHTTP
import NacreReleases
import NacreTesting
import Synchronization
import Testing

@testable import NacrePublisher

@Suite("An S3 store as a bucket (UP-2, UP-12)")
struct S3Tests {
    private func bytes(_ text: String) -> BucketContent { .bytes(Array(text.utf8)) }

    struct Fact: Sendable {
        var method: HTTPMethod = .get
        var path = "/"
        var query: [(String, String)] = []
        var fields: HTTPFields = [:]
        var payload = ""
        let signature: String
    }

    @Test(
        "Signatures are those of the examples that AWS publishes for S3",
        arguments: [
            Fact(
                path: "/test.txt", fields: ["Range": "bytes=0-9"],
                signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
            Fact(
                method: .put, path: "/test$file.text",
                fields: ["Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"],
                payload: "Welcome to Amazon S3.",
                signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
            Fact(
                query: [("lifecycle", "")],
                signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
            Fact(
                query: [("prefix", "J"), ("max-keys", "2")],
                signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
        ])
    func signatures(fact: Fact) {
        let signer = S3Signer(
            credentials: S3Credentials(
                accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                sessionToken: nil), region: "us-east-1")
        let request = HTTPRequest(
            method: fact.method, scheme: "https", authority: "examplebucket.s3.amazonaws.com", target: "/",
            fields: fact.fields)
        let signed = signer.sign(
            request, path: fact.path, query: fact.query, payload: Hex.encode(SHA256.hash(fact.payload)),
            now: Instant(seconds: 1_369_353_600))
        #expect(signed.fields["Authorization"]?.hasSuffix("Signature=\(fact.signature)") == true)
    }

    @Test("A channel lives in a store, with conditional puts and without", arguments: [true, false])
    func wholeChannel(keeps: Bool) async throws {
        let world = try World()
        let store = MemoryStore(keeps: keeps)
        let bucket = try store.bucket()
        #expect(try await bucket.keepsConditions("prod") == keeps)
        let publisher = try ReleasePublisher(
            app: "org.example.app", channel: "prod", bucket: bucket, source: BucketSource(bucket), publicBase: base,
            keys: TestKeys.all, roots: try TestKeys.roots, time: world.time, random: SystemRandom(),
            threads: world.threads,
            workParent: world.folder.path, report: PublishReport(say: { _ in }))
        _ = try await publisher.put(keySet: world.keySet())
        try await world.publish("1.0", by: publisher)
        #expect(try await world.publish("1.1", by: publisher).patches.count == 1)
        #expect(try await publisher.rollback(to: "1.0").what == .announced)
        let ways = try await publisher.verify(world.trust, builtIns: [], previous: 3, platform: "linux")
        #expect(ways.compactMap(\.fault) == [])
        let manifest = try #require(store.objects["mobile/app/channels/prod/manifest.json"])
        #expect(manifest.fields == ["Content-Type": "application/json", "Cache-Control": "no-cache"])
        #expect(
            store.objects["mobile/app/channels/prod/bundles/1.0.zip"]?.fields["Cache-Control"]?.contains("immutable")
                == true)
        // No secret but its signature ever leaves.
        #expect(!store.requests.contains { "\($0.fields)\($0.target)".contains("very-secret-value") })
    }

    @Test("Conditions: what is absent, and what still has its tag", arguments: [true, false])
    func conditions(keeps: Bool) async throws {
        let bucket = try MemoryStore(keeps: keeps).bucket()
        let key = "channels/prod/x"
        #expect(try await bucket.put(key, bytes("1"), .ifAbsent))
        #expect(try await !bucket.put(key, bytes("2"), .ifAbsent))
        let tag = try #require(try await bucket.get(key, upTo: 10)).tag
        #expect(try await bucket.put(key, bytes("3"), .ifTag(tag)))
        #expect(try await !bucket.put(key, bytes("4"), .ifTag(tag)))
        #expect(try await bucket.get(key, upTo: 10)?.bytes == Array("3".utf8))
        #expect(try await bucket.size(key) == 1)
        #expect(try await bucket.size(key + "y") == nil)
        try await bucket.remove(key)
        #expect(try await bucket.get(key, upTo: 10) == nil)
    }

    @Test("A store that does not know conditions may refuse them; it counts as one that does not keep them")
    func notImplemented() async throws {
        let store = MemoryStore()
        store.change { state in
            state.fault = { request, _ in
                request.fields["If-None-Match"] == nil ? nil : MemoryStore.error(501, "NotImplemented")
            }
        }
        #expect(try await !store.bucket().keepsConditions("prod"))
    }

    @Test("Lists come in parts, and without the prefix")
    func list() async throws {
        let store = MemoryStore()
        let bucket = try store.bucket()
        for number in 0..<8 { _ = try await bucket.put("channels/prod/a/\(number)", bytes("x"), .always) }
        _ = try await bucket.put("channels/beta/a/0", bytes("x"), .always)
        #expect(try await bucket.list("channels/prod/a/") == (0..<8).map { "channels/prod/a/\($0)" })
        store.change { state in
            state.fault = { _, _ in
                HTTPResponse(
                    body: .text(
                        "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>"
                            + "</ListBucketResult>"))
            }
        }
        #expect(await code { try await bucket.list("") } == "bucket.answer")
    }

    @Test(
        "Refusals say what to do, and never the secret",
        arguments: [
            (403, "InvalidAccessKeyId", "bucket.credentials"), (403, "SignatureDoesNotMatch", "bucket.credentials"),
            (403, "RequestTimeTooSkewed", "bucket.clock"), (403, "AccessDenied", "bucket.denied"),
            (404, "NoSuchBucket", "bucket.missing"), (301, "PermanentRedirect", "bucket.region"),
            (400, "AuthorizationHeaderMalformed", "bucket.region"), (400, "Strange", "bucket.answer"),
            (503, "SlowDown", "transport.busy"), (500, "InternalError", "transport.busy"),
        ])
    func refusals(status: Int, s3: String, expected: String) async throws {
        let store = MemoryStore()
        store.change { state in
            state.fault = { _, _ in
                MemoryStore.error(
                    HTTPStatus(rawValue: status), s3, "<StringToSign>very-secret-value</StringToSign>")
            }
        }
        let bucket = try store.bucket()
        let fault = await #expect(throws: NacreError.self) { try await bucket.get("channels/prod/x", upTo: 10) }
        #expect(fault?.code.rawValue == expected)
        #expect(fault.map { "\($0)".contains("very-secret-value") } == false)
        // What another moment may mend is tried four times, the rest once.
        #expect(store.requests.count == (expected == "transport.busy" ? 4 : 1))
    }

    @Test("A connection that breaks is tried anew, each time with a new signature, and the put arrives")
    func cut() async throws {
        let store = MemoryStore()
        let bucket = try store.bucket()
        let world = try TemporaryFolder()
        let content = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let path = world.path + "/large"
        try Data(content).write(to: URL(filePath: path))
        store.change { state in
            state.fault = { _, number in
                if number < 3 { throw NacreError("transport.protocol", "Cut.") }
                return nil
            }
        }
        let file = BucketContent.file(path, size: content.count, sha256: SHA256.hash(content))
        #expect(try await bucket.put("channels/prod/large", file, .always))
        #expect(store.objects["mobile/app/channels/prod/large"]?.bytes == content)
        #expect(store.requests.last?.body.length == content.count)
        let copy = world.path + "/copy"
        #expect(try await bucket.download("channels/prod/large", to: copy, upTo: content.count))
        #expect(FileManager.default.contents(atPath: copy).map { Array($0) } == content)
    }

    @Test("An answer that is lost after the put has arrived is no refusal; another's put is")
    func lost() async throws {
        let store = MemoryStore()
        let bucket = try store.bucket()
        #expect(try await bucket.keepsConditions("prod"))
        let before = store.requests.count
        store.change { state in
            state.lose = { request, number in
                if number == before + 1 { throw NacreError("transport.protocol", "Cut.") }
            }
        }
        #expect(try await bucket.put("channels/prod/x", bytes("mine"), .ifAbsent))
        store.change { state in
            state.lose = nil
            let number = state.requests.count
            state.fault = { _, count in
                if count == number + 1 { throw NacreError("transport.timeout", "Cut.") }
                return nil
            }
        }
        #expect(try await !bucket.put("channels/prod/x", bytes("yours"), .ifAbsent))
    }

    @Test("UP-12: the bucket is made once, its objects are readable, what others wrote into the policy stays")
    func prepare() async throws {
        let store = MemoryStore()
        store.change { $0.exists = false }
        let bucket = try store.bucket()
        #expect(await code { try await bucket.list("") } == "bucket.missing")
        let first = try await bucket.prepare()
        #expect(
            first == ["made: updates", "readable by everybody: now", "listing by everybody: refused, as it should be"])
        let policy = try JSONParser.parse(try #require(store.state.withLock { $0.policy }))
        let statements = try #require(policy["Statement"]?.array)
        #expect(statements.count == 1 && statements[0]["Action"] == "s3:GetObject")
        #expect(statements[0]["Resource"] == "arn:aws:s3:::updates/mobile/app/*")
        let second = try await bucket.prepare()
        #expect(second.prefix(2) == ["there already: updates", "readable by everybody: already"])
        store.change { $0.policy = Array("{\"Statement\":{\"Effect\":\"Deny\",\"Sid\":\"theirs\"}}".utf8) }
        _ = try await bucket.prepare()
        let kept = try JSONParser.parse(try #require(store.state.withLock { $0.policy }))
        #expect(kept["Statement"]?.array?.map { $0["Sid"]?.string } == ["theirs", "NacrePublicRead"])
    }

    @Test(
        "The environment: what is missing is named, AWS's names are taken too, and nothing of a key is shown",
        arguments: ["MOBILE_OTA_S3_ACCESS_KEY", "MOBILE_OTA_S3_SECRET_KEY", "MOBILE_OTA_S3_BUCKET"])
    func environment(missing: String) throws {
        var environment = MemoryStore.environment
        environment[missing] = ""
        let fault = #expect(throws: NacreError.self) { try S3Configuration(bucket: nil, environment: environment) }
        #expect(fault?.message.contains(missing) == true)
        let aws = try S3Configuration(
            bucket: "one/a/b",
            environment: ["AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "very-secret", "AWS_REGION": "eu-west-3"])
        #expect(aws.endpoint.description == "https://s3.eu-west-3.amazonaws.com")
        #expect(aws.bucket == "one" && aws.prefix == "a/b/")
        var shown = "\(aws) \(String(reflecting: aws))"
        dump(aws, to: &shown)
        #expect(!shown.contains("very-secret"))
    }

    @Test("A key with a line end in it, or a bucket that climbs, is refused")
    func oddEnvironment() {
        for (name, value) in [
            ("MOBILE_OTA_S3_SECRET_KEY", "a\nb"), ("MOBILE_OTA_S3_REGION", "x/y"), ("MOBILE_OTA_S3_BUCKET", "../x"),
            ("MOBILE_OTA_S3_KEY_PREFIX", "a/../b"), ("MOBILE_OTA_S3_ENDPOINT", "ftp://x"),
        ] {
            var environment = MemoryStore.environment
            environment[name] = value
            #expect(throws: NacreError.self, "\(name)") { try S3Configuration(bucket: nil, environment: environment) }
        }
    }

    @Test("XML: what a store sends is read")
    func document() throws {
        let text = "<?xml version='1.0'?>\n<A xmlns=\"x\"><B>1 &amp; &#x41;&#66;</B><C/><B>2</B></A>\n"
        let document = try S3Document(Array(text.utf8))
        #expect(document["B"] == "1 & AB" && document.children.map(\.name) == ["B", "C", "B"])
    }

    @Test(
        "XML: anything else is refused",
        arguments: [
            "", "x", "<A>", "<A></B>", "<A></A>x", "<A></A><B></B>", "<!DOCTYPE A []><A></A>", "<A>&x;</A>",
            "<A>&#xD800;</A>",
            "<A b></A>", "<A b=\"></A>", "<A><![CDATA[x]]></A>", "<A", "<A>\u{FFFD}", "< A></A>",
            String(repeating: "<A>", count: 20) + String(repeating: "</A>", count: 20),
        ])
    func noDocument(text: String) {
        #expect(throws: NacreError.self) { try S3Document(Array(text.utf8)) }
    }

    @Test("A version with a plus keeps it in every address")
    func plus() async throws {
        #expect(PublicAddress.path(ReleaseStore.bundle("prod", "1.0+a")) == "channels/prod/bundles/1.0%2Ba.zip")
        let store = MemoryStore()
        _ = try await store.bucket().put("channels/prod/1.0+a", bytes("x"), .always)
        #expect(store.objects["mobile/app/channels/prod/1.0+a"] != nil)
    }
}
