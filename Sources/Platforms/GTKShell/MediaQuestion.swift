// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// The question before a page may use the camera or the microphone.
struct MediaQuestion {
    let title: String
    let body: String
    let accept: String
    let refuse: String

    init(appName: String, camera: Bool, microphone: Bool, french: Bool) {
        let device =
            switch (camera, microphone) {
            case (true, true): french ? "la caméra et le micro" : "the camera and the microphone"
            case (true, false): french ? "la caméra" : "the camera"
            default: french ? "le micro" : "the microphone"
            }
        title = french ? "Autoriser \(device) ?" : "Allow \(device)?"
        body =
            french
            ? "\(appName) veut utiliser \(device) pour la page ouverte."
            : "\(appName) wants to use \(device) for the page you have open."
        accept = french ? "Autoriser" : "Allow"
        refuse = french ? "Refuser" : "Don’t allow"
    }
}
