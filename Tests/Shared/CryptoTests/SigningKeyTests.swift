// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreCrypto
import Testing

@Suite("Signing keys")
struct SigningKeyTests {
    private let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

    @Test("ES256 signature of RFC 7515 appendix A.3")
    func es256() throws {
        let key = try PublicKey(
            .p256(
                x: try #require(Base64URL.decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU")),
                y: try #require(Base64URL.decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))))
        let message = Array("eyJhbGciOiJFUzI1NiJ9.\(payload)".utf8)
        let signature = try #require(
            Base64URL.decode(
                "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"))
        #expect(key.algorithm == .es256)
        #expect(key.isValid(signature, for: message))
        #expect(!key.isValid(signature, for: message + [0]))
        #expect(!key.isValid(signature.dropLast(), for: message))
        #expect(!key.isValid([UInt8](repeating: 0, count: 64), for: message))
        #expect(!key.isValid([], for: message))
    }

    @Test("RS256 signature of RFC 7515 appendix A.2")
    func rs256() throws {
        let modulus = try #require(
            Base64URL.decode(
                "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT"
                    + "-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-"
                    + "KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAc"
                    + "o9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"))
        let key = try PublicKey(.rsa(modulus: modulus, exponent: [1, 0, 1]))
        let signature = try #require(
            Base64URL.decode(
                "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJ"
                    + "dbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZR"
                    + "mB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9"
                    + "Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"))
        let message = Array("eyJhbGciOiJSUzI1NiJ9.\(payload)".utf8)
        #expect(key.isValid(signature, for: message))
        #expect(!key.isValid(signature, for: message.dropLast()))
        #expect(key.components == .rsa(modulus: modulus, exponent: [1, 0, 1]))
    }

    @Test(
        "Ed25519 (RFC 8032 section 7.1, tests 1 and 2)",
        arguments: [
            (
                "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0"
                    + "595bbe24655141438e7a100b"
            ),
            (
                "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
                "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eae"
                    + "b4302aeeb00d291612bb0c00"
            ),
        ])
    func ed25519(seed: String, publicKey: String, message: String, signature: String) throws {
        let key = try PrivateKey(ed25519Seed: try #require(Hex.decode(seed)))
        let message = try #require(Hex.decode(message))
        #expect(key.publicKey.components == .ed25519(try #require(Hex.decode(publicKey))))
        #expect(Hex.encode(try key.signature(of: message)) == signature)
        #expect(key.publicKey.isValid(try #require(Hex.decode(signature)), for: message))
        #expect(!key.publicKey.isValid(try #require(Hex.decode(signature)), for: message + [1]))
    }

    @Test("A key survives PEM and its numbers, and signs what only it verifies", arguments: SignatureAlgorithm.allCases)
    func roundTrip(algorithm: SignatureAlgorithm) throws {
        let made = try PrivateKey.generate(algorithm)
        let key = try PrivateKey(pem: made.pem)
        #expect(made.pem.hasPrefix("-----BEGIN PRIVATE KEY-----"))
        let publicKey = try PublicKey(pem: made.publicKey.pem)
        #expect(made.publicKey.pem.hasPrefix("-----BEGIN PUBLIC KEY-----"))
        #expect(try PublicKey(publicKey.components).components == publicKey.components)
        let signature = try key.signature(of: [1, 2, 3])
        #expect(publicKey.isValid(signature, for: [1, 2, 3]))
        #expect(!publicKey.isValid(signature, for: [1, 2, 4]))
        let other = try PrivateKey.generate(algorithm == .rs256 ? .edDSA : algorithm).publicKey
        #expect(!other.isValid(signature, for: [1, 2, 3]))
    }

    @Test("ECDSA signatures are always 64 bytes")
    func fixedLength() throws {
        let key = try PrivateKey.generate(.es256)
        for number in UInt8(0)..<100 { #expect(try key.signature(of: [number]).count == 64) }
    }

    @Test("Small RSA keys, other curves and what is no key are refused", arguments: Refused.allCases)
    func refusals(refused: Refused) {
        let error = #expect(throws: NacreError.self) { try PublicKey(pem: refused.pem) }
        #expect(error?.code == refused.code)
    }

    @Test("A point off the curve, a short coordinate and an RSA key of 512 bits make no key")
    func badNumbers() {
        let one = [UInt8](repeating: 1, count: 32)
        #expect(throws: NacreError.self) { try PublicKey(.p256(x: one, y: one)) }
        #expect(throws: NacreError.self) { try PublicKey(.p256(x: [1], y: one)) }
        #expect(throws: NacreError.self) { try PublicKey(.ed25519([1])) }
        #expect(throws: NacreError.self) {
            try PublicKey(.rsa(modulus: [UInt8](repeating: 0xFF, count: 64), exponent: [3]))
        }
        #expect(throws: NacreError.self) { try PrivateKey(pem: "nothing") }
        #expect(throws: NacreError.self) { try PrivateKey(ed25519Seed: [1]) }
    }

    @Test(
        "A point of small order is no Ed25519 key: it takes one signature for many messages",
        arguments: [
            "0100000000000000000000000000000000000000000000000000000000000000",
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0000000000000000000000000000000000000000000000000000000000000080",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        ])
    func smallOrder(point: String) throws {
        let bytes = try #require(Hex.decode(point))
        let error = #expect(throws: NacreError.self) { try PublicKey(.ed25519(bytes)) }
        #expect(error?.code == "crypto.key_kind")
    }

    enum Refused: CaseIterable {
        case smallRSA, p384, text, empty
        var code: NacreError.Code {
            switch self {
            case .smallRSA, .p384: "crypto.key_kind"
            case .text, .empty: "crypto.pem"
            }
        }
        var pem: String {
            switch self {
            case .smallRSA:
                """
                -----BEGIN PUBLIC KEY-----
                MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCgPpGq33PzTOEOP6yv5hKqd34F
                96kWMoDO3QLdb3ZGu9muSoLH/+nI+1VdVl93NxxPqUae/BtDYmdWV95EVPk5h/tI
                JeKXAGlwAiQANLM3bnSaoSkD9ezLAn8OzhKq8JbE+meYoPKjjOGmx5kd4GGazg0I
                PImvj+7VzUVGODiHfQIDAQAB
                -----END PUBLIC KEY-----
                """
            case .p384:
                """
                -----BEGIN PUBLIC KEY-----
                MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEZgWB9GO+A5EuFz3k6F9xPduuWzCBjSzM
                PInkNOxdPZp91se9MZYe+qoH585t6Hqlj0AN4s8LAhZzRS3FupeCW1NTfR9OTJO2
                1P9Pmw8ODY6j8WVEzPrnNUTonWh0DNVX
                -----END PUBLIC KEY-----
                """
            case .text: "hello"
            case .empty: ""
            }
        }
    }
}
