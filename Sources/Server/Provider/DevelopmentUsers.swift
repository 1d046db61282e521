// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// People who exist only with `NACRE_ENV=development` (PV-5). Their passwords are no secret.
struct DevelopmentUser: Sendable {
    let username: String
    let givenName: String
    let familyName: String
    let locale: String

    var subject: String { "dev-\(username)" }
    var email: String { "\(username)@example.test" }
    var password: String { "\(username)-password-1" }
    var name: String { "\(givenName) \(familyName)" }

    static let all = [
        DevelopmentUser(username: "alice", givenName: "Alice", familyName: "Martin", locale: "en"),
        DevelopmentUser(username: "bruno", givenName: "Bruno", familyName: "Lefèvre", locale: "fr"),
        DevelopmentUser(username: "chloe", givenName: "Chloé", familyName: "Dubois", locale: "fr"),
        DevelopmentUser(username: "noor", givenName: "نور", familyName: "حداد", locale: "ar"),
    ]
}
