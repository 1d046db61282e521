// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreApp
import NacreCore
import NacreProject

/// `nacre init`: a `nacre.json` from an existing project.
struct InitCommand {
    static let usage = "usage: nacre init [--api ORIGIN] [--choose-server] [--force] [--print] [FOLDER]"

    private let folder: String
    private let api: String?
    private let choosesServer: Bool
    private let overwrites: Bool
    private let printsOnly: Bool
    private let environment: [String: String]

    /// Reads the arguments.
    ///
    /// - Throws: `usage`.
    init(arguments: [String], environment: [String: String]) throws(NacreError) {
        var folders: [String] = []
        var (api, overwrites, printsOnly): (String?, Bool, Bool) = (nil, false, false)
        var choosesServer = false
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--api":
                guard let value = rest.popFirst() else {
                    throw NacreError("usage", "--api needs an origin such as https://mail.example.org. \(Self.usage)")
                }
                api = value
            case "--choose-server": choosesServer = true
            case "--force": overwrites = true
            case "--print": printsOnly = true
            case _ where argument.hasPrefix("-"):
                throw NacreError("usage", "\(argument) is not an option of init. \(Self.usage)")
            default: folders.append(argument)
            }
        }
        guard folders.count <= 1 else { throw NacreError("usage", "init takes one folder. \(Self.usage)") }
        folder = URL(fileURLWithPath: folders.first ?? ".").standardizedFileURL.path
        (self.api, self.overwrites, self.printsOnly) = (api, overwrites, printsOnly)
        self.choosesServer = choosesServer
        self.environment = environment
    }

    /// Writes the file and says what became of what.
    func run() throws {
        let files = FolderFiles(folder: folder)
        guard files.names(in: ".") != nil else {
            throw NacreError("init.folder", "There is no folder \(folder); name the one that holds the project.")
        }
        let path = folder + "/nacre.json"
        let exists = (try? FileManager.default.attributesOfItem(atPath: path)) != nil
        guard !exists || overwrites || printsOnly else {
            throw NacreError(
                "init.exists",
                "\(path) is there already and was left as it is; --print shows what would be written, --force keeps a copy of "
                    + "the old file and writes a new one.")
        }
        let project = try ProjectInit(
            files, folderName: URL(fileURLWithPath: folder).lastPathComponent, api: api, environment: environment,
            choosesServer: choosesServer, plugins: NacreApplication.pluginNames)
        let text = project.draft.text
        // What is written is what `nacre run` reads; cleartext is for development alone, and that is said.
        let isCleartext = project.draft.api.hasPrefix("http://")
        _ = try AppConfiguration(parsing: text, environment: [:], isDevelopment: isCleartext)
        let report =
            ProjectReport.text(project)
            + (isCleartext
                ? "\nThe backend is named without TLS: that works in development, and a release refuses it (NB-8).\n"
                : "")
        if printsOnly {
            print(text, terminator: "")
            FileHandle.standardError.write(Data(report.utf8))
            return
        }
        print(report)
        if exists { print("kept: \(try keepCopy(of: path))") }
        try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        print("wrote: \(path)\nnext: nacre run \(folder)")
    }

    /// A copy under a name that nothing has yet.
    private func keepCopy(of path: String) throws -> String {
        var copy = path + ".old"
        var number = 1
        while (try? FileManager.default.attributesOfItem(atPath: copy)) != nil {
            number += 1
            copy = path + ".old.\(number)"
        }
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        return copy
    }
}

/// A project's folder on the disk.
private struct FolderFiles: ProjectFiles {
    let folder: String

    func read(_ path: String, upTo limit: Int) throws(NacreError) -> [UInt8]? {
        let whole = folder + "/" + path
        guard let facts = try? FileManager.default.attributesOfItem(atPath: resolved(whole)),
            facts[.type] as? FileAttributeType == .typeRegular
        else { return nil }
        guard let size = number(facts[.size]), size <= limit else {
            throw NacreError("init.file_too_large", "\(whole) is larger than \(limit) bytes and was not read.")
        }
        return FileManager.default.contents(atPath: whole).map { [UInt8]($0) }
    }

    func names(in folder: String) -> [String]? {
        let whole = self.folder + "/" + folder
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: whole) else { return nil }
        return names.compactMap { name in
            guard
                let type = try? FileManager.default.attributesOfItem(atPath: whole + "/" + name)[.type]
                    as? FileAttributeType
            else { return nil }
            if type == .typeDirectory { return name + "/" }
            let target = try? FileManager.default.attributesOfItem(atPath: resolved(whole + "/" + name))
            return target?[.type] as? FileAttributeType == .typeRegular ? name : nil
        }
    }

    /// A number as Foundation gives it: of another type on each platform.
    private func number(_ value: Any?) -> Int? {
        if let value = value as? any BinaryInteger { return Int(clamping: value) }
        return (value as? NSNumber)?.intValue
    }

    private func resolved(_ path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }
}
