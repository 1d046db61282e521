// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// A level of authentication and what it takes (PV-2): one entry of the `acr` map.
public struct AuthenticationLevel: Sendable {
    /// What a person can prove themselves with.
    public enum Factor: String, Sendable {
        /// A password; `amr` says `pwd`.
        case password
        /// A one-time code; `amr` says `otp`.
        case oneTimeCode
    }

    /// The `acr` value.
    public let name: String
    /// The factors it takes, all of them.
    public let factors: Set<Factor>

    /// A level of this name.
    public init(_ name: String, factors: Set<Factor>) {
        self.name = name
        self.factors = factors
    }

    /// `eidas1` takes a password; `eidas2` a second factor too.
    public static let standard = [
        AuthenticationLevel("eidas1", factors: [.password]),
        AuthenticationLevel("eidas2", factors: [.password, .oneTimeCode]),
    ]
}

/// What a request asks of the level, measured against what this provider can reach.
enum LevelDemand: Equatable {
    /// Nothing, or only levels nobody here has heard of (`acr_values` is a wish: OpenID Connect Core section 3.1.2.1).
    case none
    /// Any of these, all reachable.
    case anyOf([String])
    /// Known levels, none of which can be reached here.
    case unreachable(String)
}

extension [AuthenticationLevel] {
    /// What can be reached today: passwords alone.
    private static var available: Set<AuthenticationLevel.Factor> { [.password] }

    /// The levels that can be reached today: `eidas2` is not among them as long as there is no second factor.
    var reachable: [AuthenticationLevel] { filter { $0.factors.isSubset(of: Self.available) } }

    /// What `acr_values` demands. A higher level meets a lower one.
    func demand(_ values: [String]) -> LevelDemand {
        let known = indices.filter { values.contains(self[$0].name) }
        guard let lowest = known.first else { return .none }
        let sufficient = self[lowest...].filter { $0.factors.isSubset(of: Self.available) }
        // A level between two asked ones meets the lower: everything from the lowest asked one upwards counts.
        guard !sufficient.isEmpty else { return .unreachable(self[lowest].name) }
        return .anyOf(sufficient.map(\.name))
    }

    /// The highest level that these factors reach.
    func reached(by factors: Set<AuthenticationLevel.Factor>) -> String? {
        last { $0.factors.isSubset(of: factors) }?.name
    }
}

extension AuthenticationLevel.Factor {
    /// The `amr` value (RFC 8176).
    var methodReference: String {
        switch self {
        case .password: "pwd"
        case .oneTimeCode: "otp"
        }
    }
}
