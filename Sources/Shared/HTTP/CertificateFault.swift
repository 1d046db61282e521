// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore

/// Why a server's certificate was not accepted, in words for a person.
package enum CertificateFault: String, Sendable, CaseIterable {
    case expired = "tls.expired"
    case notYetValid = "tls.not_yet_valid"
    case selfSigned = "tls.self_signed"
    case unknownAuthority = "tls.unknown_authority"
    case wrongHost = "tls.wrong_host"
    case revoked = "tls.revoked"
    case other = "tls.other"

    /// By the number that OpenSSL's verification has for it (X509_V_ERR_…).
    package init(verification code: Int) {
        switch code {
        case 9: self = .notYetValid
        case 10: self = .expired
        case 18, 19: self = .selfSigned
        case 2, 20, 21, 27: self = .unknownAuthority
        case 23: self = .revoked
        case 62, 63, 64: self = .wrongHost
        default: self = .other
        }
    }

    /// What a person is told: what is wrong and what to do. The connection was not used in any case.
    package func message(host: String) -> String {
        switch self {
        case .expired:
            "The certificate of \(host) has expired, so it proves nothing any more. Tell its operator; also check that "
                + "this device's date is right."
        case .notYetValid:
            "The certificate of \(host) is not valid yet. Check this device's date; if it is right, tell the operator."
        case .selfSigned:
            "\(host) vouches for itself only (its certificate is self-signed), so anybody could be answering. If it is "
                + "your organisation's, add its authority to this device or to api.authorities."
        case .unknownAuthority:
            "The certificate of \(host) comes from an authority that this device does not know. If it is your "
                + "organisation's, add it to this device or to api.authorities; else the server leaves out a part of it."
        case .wrongHost:
            "The server that answered for \(host) has the certificate of another name. The address may be wrong, or "
                + "somebody stands between; tell the operator."
        case .revoked: "The certificate of \(host) has been withdrawn by its authority. Tell its operator."
        case .other: "The secure connection to \(host) could not be made. Tell its operator if it stays so."
        }
    }

    /// The error of a connection that failed by it: `transport.tls`, with this as its cause.
    package func error(host: String) -> NacreError {
        let message = message(host: host)
        return NacreError(
            "transport.tls", message, cause: NacreError(NacreError.Code(rawValue: rawValue), message))
    }

    /// Which one an error is about, if any.
    package init?(_ error: NacreError) {
        guard error.code == "transport.tls", let cause = error.cause as? NacreError else { return nil }
        self.init(rawValue: cause.code.rawValue)
    }
}
