// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// What the shell says about downloads.
struct DownloadWording: Sendable {
    let french: Bool

    var title: String { french ? "Enregistrer le fichier" : "Save file" }
    var save: String { french ? "Enregistrer" : "Save" }
    var cancel: String { french ? "Annuler" : "Cancel" }
    var close: String { french ? "Fermer" : "Close" }
    var retry: String { french ? "Réessayer" : "Try again" }
    var elsewhere: String { french ? "Choisir un autre emplacement" : "Choose another place" }
    var notSaved: String { french ? "Le fichier n’a pas été enregistré" : "The file was not saved" }
    var full: String {
        french
            ? "Il n’y a plus de place à cet endroit ; libérez-en ou choisissez-en un autre."
            : "There is no room left there; free some or choose another place."
    }
    var file: String { french ? "fichier" : "file" }

    func saved(_ name: String) -> String { french ? "\(name) est enregistré" : "\(name) is saved" }
    func waiting(_ name: String) -> String { french ? "Où enregistrer \(name) ?" : "Where should \(name) be saved?" }
    func failed(_ name: String, _ reason: String) -> String { "\(name): \(reason)" }

    /// Such as `report.pdf · 1.2 of 3.4 MB`.
    func progress(_ progress: ShellDownloadProgress) -> String {
        let received = Self.megabytes(progress.received)
        guard let size = progress.size else { return "\(progress.name) · \(received) \(french ? "Mo" : "MB")" }
        return french
            ? "\(progress.name) · \(received) sur \(Self.megabytes(size)) Mo"
            : "\(progress.name) · \(received) of \(Self.megabytes(size)) MB"
    }

    private static func megabytes(_ bytes: Int) -> String {
        let tenths = (bytes + 50_000) / 100_000
        return "\(tenths / 10).\(tenths % 10)"
    }
}
