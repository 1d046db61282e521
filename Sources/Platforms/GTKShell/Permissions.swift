// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Something a page must ask a person for (SH-7).
enum PermissionKind: String, Sendable, CaseIterable {
    case camera, microphone, geolocation, notifications, clipboard

    /// The names of the Permissions API.
    init?(name: String) {
        switch name {
        case "camera": self = .camera
        case "microphone": self = .microphone
        case "geolocation": self = .geolocation
        case "notifications": self = .notifications
        case "clipboard-read": self = .clipboard
        default: return nil
        }
    }
}

/// What a person has answered since the app was started: a yes is not asked for again, a no holds for the document.
struct PermissionMemory: Sendable, Equatable {
    enum State: Sendable, Equatable { case granted, denied, prompt }

    private var granted: Set<PermissionKind> = []
    private var denied: [PermissionKind: UInt64] = [:]

    func state(of kind: PermissionKind, load: UInt64) -> State {
        if granted.contains(kind) { return .granted }
        return denied[kind] == load ? .denied : .prompt
    }

    /// What holds for all of them together.
    func state(of kinds: [PermissionKind], load: UInt64) -> State {
        let states = kinds.map { state(of: $0, load: load) }
        if states.contains(.denied) { return .denied }
        return states.contains(.prompt) ? .prompt : .granted
    }

    mutating func note(_ kinds: [PermissionKind], granted yes: Bool, load: UInt64) {
        for kind in kinds {
            if yes { granted.insert(kind) } else { denied[kind] = load }
        }
    }
}

/// The question before a page may use something.
struct PermissionQuestion: Equatable {
    let title: String
    let body: String
    let accept: String
    let refuse: String

    init(appName: String, kinds: [PermissionKind], french: Bool) {
        let thing = kinds.map { Self.name($0, french) }.joined(separator: french ? " et " : " and ")
        title = french ? "Autoriser \(thing) ?" : "Allow \(thing)?"
        body =
            french
            ? "\(appName) veut utiliser \(thing) pour la page ouverte."
            : "\(appName) wants to use \(thing) for the page you have open."
        accept = french ? "Autoriser" : "Allow"
        refuse = french ? "Refuser" : "Don’t allow"
    }

    private static func name(_ kind: PermissionKind, _ french: Bool) -> String {
        switch kind {
        case .camera: french ? "la caméra" : "the camera"
        case .microphone: french ? "le micro" : "the microphone"
        case .geolocation: french ? "votre position" : "your location"
        case .notifications: french ? "les notifications" : "notifications"
        case .clipboard: french ? "le presse-papiers" : "the clipboard"
        }
    }
}
