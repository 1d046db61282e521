// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

package import NacreCore
import NacreHTTP

/// A `nacre.json` made from what a project's folder holds, with a note for everything that was found.
package struct ProjectInit: Sendable {
    package private(set) var draft = ProjectDraft()
    package private(set) var notes: [ProjectNote] = []
    /// What was read: `capacitor.config.ts`, `package.json`, `dist (149 files)`.
    package private(set) var sources: [String] = []

    /// Reads the folder and proposes.
    ///
    /// - Parameters:
    ///   - folderName: the folder's own name, for want of a better one.
    ///   - api: the backend's origin as asked for; nil to take the environment's.
    ///   - choosesServer: whether a person chooses the server (`api.choose`); `api` is then what is proposed, if anything.
    ///   - plugins: the names of the plugins that the shell has.
    /// - Throws: `init.*`, `json.malformed`, `usage` for an origin that is none.
    package init(
        _ files: some ProjectFiles, folderName: String, api: String?, environment: [String: String],
        choosesServer: Bool = false, plugins: Set<String>
    ) throws(NacreError) {
        let source = try ConfigurationSource(files)
        let package = files.json("package.json")
        var mapping = SettingMapping(source, environment: environment)
        let backend =
            choosesServer && api == nil ? nil : try Self.backend(api, environment, mapping.candidates)

        let built = mapping.bundle(files)
        let survey = BundleSurvey(built, files, plugins: plugins)
        if let file = source.file { sources.append(file) }
        if package != nil { sources.append("package.json") }
        if survey.fileCount > 0 { sources.append("\(built) (\(survey.fileCount) files)") }

        let manifest =
            files.json((built == "." ? "" : built + "/") + "manifest.webmanifest")
            ?? files.json((built == "." ? "" : built + "/") + "manifest.json")
        let names = ProjectNames(
            folder: folderName, package: package, manifest: manifest, title: survey.title, api: backend)
        draft.bundlePath = built
        draft.api = backend?.description ?? ""
        draft.choosesServer = choosesServer
        draft.name = mapping.name(names)
        draft.id = mapping.id(names)
        draft.version = mapping.version(names)
        draft.scheme = mapping.scheme(for: draft.id)
        draft.origin = mapping.origin(for: choosesServer ? nil : backend)
        draft.publicKey = mapping.publicKey()
        mapping.rest(plugins: plugins)
        notes = source.notes + mapping.notes
        notes += PackageDependencies.notes(package, plugins: plugins)
        notes += survey.notes
    }

    private static func backend(
        _ asked: String?, _ environment: [String: String], _ candidates: [String]
    ) throws(NacreError) -> Origin {
        let named = ["NEXT_PUBLIC_API_ORIGIN", "CAP_API_URL"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        guard let text = asked ?? named else {
            let hint =
                candidates.isEmpty
                ? "" : " The configuration mentions \(candidates.joined(separator: ", ")): is it one of these?"
            throw NacreError(
                "init.api",
                "Say where the app's backend is: nacre init --api https://mail.example.org (or set CAP_API_URL); where each person chooses the server: nacre init --choose-server."
                    + hint
            )
        }
        do throws(NacreError) { return try Origin(text) } catch {
            throw NacreError(
                "usage", "--api needs scheme, host and port alone, such as https://mail.example.org. \(error.message)")
        }
    }
}
