// swift-tools-version: 6.2
// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import PackageDescription

/// Settings of every Swift target: Swift 6 mode, the upcoming features, warnings as errors.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .treatAllWarnings(as: .error),
]

/// A layer-0 module: names a C library of the system.
func system(_ name: String, pkgConfig: String? = nil, apt: [String] = []) -> Target {
    .systemLibrary(
        name: name, path: "Sources/System/\(name)", pkgConfig: pkgConfig,
        providers: apt.isEmpty ? nil : [.apt(apt)])
}

/// A Swift module `Nacre<name>` in `Sources/<folder>/<name>`, with its unit tests where it has any.
func module(
    _ name: String, in folder: String, _ dependencies: [Target.Dependency],
    tests: [Target.Dependency]? = [], resources: [Resource] = []
) -> [Target] {
    var targets: [Target] = [
        .target(
            name: "Nacre\(name)", dependencies: dependencies, path: "Sources/\(folder)/\(name)",
            resources: resources, swiftSettings: strict)
    ]
    if let tests {
        targets.append(
            .testTarget(
                name: "Nacre\(name)Tests",
                dependencies: [.byName(name: "Nacre\(name)"), "NacreTesting"] + dependencies + tests,
                path: "Tests/\(folder)/\(name)Tests", swiftSettings: strict))
    }
    return targets
}

let systemLibraries: [Target] = [
    system("CLinux"),
    system("COpenSSL", pkgConfig: "openssl", apt: ["libssl-dev"]),
    system("CSodium", pkgConfig: "libsodium", apt: ["libsodium-dev"]),
    system("CSQLite", pkgConfig: "sqlite3", apt: ["libsqlite3-dev"]),
    system("CPostgres", pkgConfig: "libpq", apt: ["libpq-dev"]),
    system("CCurl", pkgConfig: "libcurl", apt: ["libcurl4-openssl-dev"]),
    system("CPSL", pkgConfig: "libpsl", apt: ["libpsl-dev"]),
    system("CZlib", pkgConfig: "zlib", apt: ["zlib1g-dev"]),
    system("CZstd", pkgConfig: "libzstd", apt: ["libzstd-dev"]),
    system("CZip", pkgConfig: "libzip", apt: ["libzip-dev"]),
    system("CGLib", pkgConfig: "gio-unix-2.0", apt: ["libglib2.0-dev"]),
    system("CSecret", pkgConfig: "libsecret-1", apt: ["libsecret-1-dev"]),
    system("CWebKitGTK", pkgConfig: "webkitgtk-6.0", apt: ["libwebkitgtk-6.0-dev"]),
]

let shared: [Target] =
    module("Core", in: "Shared", ["CLinux"])
    + module("Wire", in: "Shared", ["NacreCore"])
    + module("Crypto", in: "Shared", ["NacreCore", "COpenSSL", "CSodium"])
    + module("JOSE", in: "Shared", ["NacreCore", "NacreCrypto", "NacreHTTP"])
    + module("SQLite", in: "Shared", ["NacreCore", "CSQLite"])
    + module("HTTP", in: "Shared", ["NacreCore", "CPSL"])
    + module("Routing", in: "Shared", ["NacreCore", "NacreHTTP"])
    + module("Releases", in: "Shared", ["NacreCore", "NacreCrypto", "CZlib", "CZstd", "CZip", "CLinux"])
    + module("Ports", in: "Shared", ["NacreCore", "NacreHTTP"], tests: nil)
    + module("Curl", in: "Shared", ["NacreCore", "NacreHTTP", "CCurl", "CLinux"])
    + module("Listener", in: "Shared", ["NacreCore", "NacreHTTP", "NacreRouting", "COpenSSL", "CLinux"])

let appHalf: [Target] =
    module("Secrets", in: "App", ["NacreCore", "NacrePorts", "NacreCrypto"])
    + module("Links", in: "App", ["NacreCore", "NacrePorts", "NacreSQLite", "NacreCrypto"])
    + module(
        "SignIn", in: "App",
        ["NacreCore", "NacreWire", "NacrePorts", "NacreCrypto", "NacreHTTP", "NacreSQLite"])
    + module(
        "Updates", in: "App",
        ["NacreCore", "NacreHTTP", "NacrePorts", "NacreCrypto", "NacreReleases", "CLinux"],
        tests: ["NacreUpdatesTesting"])
    + module(
        "Bridge", in: "App", ["NacreCore", "NacrePorts"],
        resources: ["bridge", "isolated", "page_fetch", "page_streams", "page_media"].map {
            .embedInCode("Resources/\($0).js")
        })
    + module(
        "Page", in: "App",
        ["NacreCore", "NacreHTTP", "NacreRouting", "NacrePorts", "NacreListener", "NacreCrypto", "COpenSSL", "CLinux"])
    + module(
        "Plugins", in: "App",
        ["NacreCore", "NacreHTTP", "NacrePorts", "NacreBridge", "NacreSQLite", "CLinux"])
    + module(
        "Project", in: "App", ["NacreCore", "NacreHTTP", "NacrePorts", "NacrePage"], tests: ["NacreApp"])
    + module(
        "App", in: "App",
        [
            "NacreCore", "NacreWire", "NacreCrypto", "NacreSQLite", "NacreHTTP", "NacreRouting", "NacrePorts",
            "NacreCurl", "NacreListener", "NacreSecrets", "NacreLinks", "NacreSignIn", "NacreUpdates", "NacreBridge",
            "NacrePage", "NacrePlugins", "NacreReleases",
        ],
        resources: ["html", "css", "js"].map { .embedInCode("Resources/server.\($0)") })

let serverHalf: [Target] =
    module("Database", in: "Server", ["NacreCore", "NacreSQLite", "CPostgres"], tests: ["NacreDatabaseTesting"])
    + module(
        "Keys", in: "Server", ["NacreCore", "NacreCrypto", "NacreJOSE", "NacreDatabase"],
        tests: ["NacreDatabaseTesting"])
    + module("Limits", in: "Server", ["NacreCore", "NacreCrypto", "NacreDatabase"], tests: ["NacreDatabaseTesting"])
    + module(
        "Sessions", in: "Server", ["NacreCore", "NacreCrypto", "NacreJOSE", "NacreDatabase", "NacreKeys"],
        tests: ["NacreDatabaseTesting"])
    + module(
        "Gateway", in: "Server",
        [
            "NacreCore", "NacreWire", "NacreCrypto", "NacreJOSE", "NacreHTTP", "NacreRouting", "NacreDatabase",
            "NacreKeys", "NacreLimits", "NacreSessions",
        ], tests: ["NacreDatabaseTesting"], resources: [.embedInCode("OpenAPI/openapi.json")])
    + module(
        "Provider", in: "Server",
        [
            "NacreCore", "NacreWire", "NacreCrypto", "NacreJOSE", "NacreHTTP", "NacreRouting", "NacreDatabase",
            "NacreKeys", "NacreLimits",
        ], tests: ["NacreDatabaseTesting"])
    + module(
        "Publisher", in: "Server",
        ["NacreCore", "NacreCrypto", "NacreHTTP", "NacreReleases", "CLinux"],
        tests: ["NacreUpdates", "NacreUpdatesTesting"])
    + module(
        "Server", in: "Server",
        [
            "CLinux", "NacreCore", "NacreCrypto", "NacreJOSE", "NacreHTTP", "NacreRouting", "NacreDatabase",
            "NacreSessions",
            "NacreCurl", "NacreListener", "NacreGateway", "NacreProvider",
        ], tests: ["NacreDatabaseTesting"])

let linux = TargetDependencyCondition.when(platforms: [.linux])
let gtk = TargetDependencyCondition.when(platforms: [.linux], traits: ["GTKShell"])

let platforms: [Target] =
    module(
        "Linux", in: "Platforms",
        [
            "NacreCore", "NacreHTTP", "NacrePorts", "NacreSecrets",
            .target(name: "CGLib", condition: gtk), .target(name: "CSecret", condition: gtk),
        ])
    + module(
        "GTKShell", in: "Platforms",
        [
            "NacreCore", "NacreApp", "NacreBridge", "NacrePage", "NacreLinks", "NacrePorts", "NacreLinux",
            .target(name: "CWebKitGTK", condition: gtk), .target(name: "CGLib", condition: gtk),
        ])

let commands: [Target] = [
    // What the programs share: signals and the terminal.
    .target(
        name: "NacreCommands", dependencies: ["NacreCore"], path: "Sources/Commands/NacreCommands",
        swiftSettings: strict),
    .executableTarget(
        name: "nacre",
        dependencies: [
            "NacreCommands", "NacreCore", "NacreHTTP", "NacrePorts", "NacreCurl", "NacreServer", "NacreApp",
            "NacreSecrets", "NacrePage",
            "NacrePlugins", "NacreProject", "NacrePublisher", "NacreReleases", "NacreCrypto",
            .target(name: "NacreGTKShell", condition: gtk),
            .target(name: "NacreLinux", condition: linux),
        ],
        path: "Sources/Commands/nacre", swiftSettings: strict),
    .executableTarget(
        name: "nacre-demo",
        dependencies: [
            "NacreCommands", "NacreCore", "NacreHTTP", "NacreJOSE", "NacreCurl", "NacreListener", "MessagesBackend",
        ],
        path: "Sources/Commands/nacre-demo", swiftSettings: strict),
]

/// The shell around a page of the tests' own; `Tests/Platforms/ShellProbe/run` drives it.
let probes: [Target] = [
    .executableTarget(
        name: "shell-probe",
        dependencies: ["NacreCore", "NacrePorts", "NacreLinux", .target(name: "NacreGTKShell", condition: gtk)],
        path: "Tests/Platforms/ShellProbe",
        exclude: ["run", "frames", "desktop", "display.py", "endpoint.py", "inspector.py"], swiftSettings: strict)
]

let examples: [Target] = [
    .target(
        name: "MessagesBackend",
        dependencies: [
            "NacreCore", "NacreHTTP", "NacreRouting", "NacreListener", "NacreJOSE", "NacreCrypto", "NacreDatabase",
        ],
        path: "examples/messages/Backend", exclude: ["Seed", "README.md"], swiftSettings: strict),
    .testTarget(
        name: "MessagesBackendTests",
        dependencies: [
            "MessagesBackend", "NacreCore", "NacreHTTP", "NacreRouting", "NacreDatabase", "NacreTesting", "NacreCrypto",
            "NacreJOSE", "NacreDatabaseTesting",
        ],
        path: "Tests/Examples/MessagesBackendTests", swiftSettings: strict),
]

let testing: [Target] =
    module(
        "Testing", in: "Testing",
        [
            "NacreCore", "NacreHTTP", "NacreRouting", "NacrePorts", "NacreCrypto", "NacreJOSE",
        ], tests: nil)
    + module("DatabaseTesting", in: "Testing", ["NacreCore", "NacreDatabase"], tests: nil)
    + module(
        "UpdatesTesting", in: "Testing",
        ["NacreCore", "NacreHTTP", "NacreCrypto", "NacreReleases", "NacreUpdates", "NacreTesting"], tests: nil)
    + [
        // Ends the updater after each step that it makes on the disk; `scripts/journey update-crash` runs it.
        .executableTarget(
            name: "update-crash",
            dependencies: ["NacreCore", "NacreReleases", "NacreUpdates", "NacreTesting", "NacreUpdatesTesting"],
            path: "Tests/App/UpdateCrash", swiftSettings: strict),
        .executableTarget(
            name: "database-probe", dependencies: ["NacreCore", "NacreDatabase"],
            path: "Tests/Server/DatabaseProbe", swiftSettings: strict),
        .executableTarget(
            name: "release-probe", dependencies: ["NacreCore", "NacreReleases", "CLinux"],
            path: "Tests/Shared/ReleaseProbe", swiftSettings: strict),
        .testTarget(
            name: "ContractTests",
            dependencies: ["NacreCore", "NacreWire", "NacreTesting"],
            path: "Tests/ContractTests", resources: [.copy("Fixtures")], swiftSettings: strict),
        .testTarget(
            name: "SocketTests",
            dependencies: [
                "NacreCore", "NacreHTTP", "NacreRouting", "NacreListener", "NacreCurl", "NacrePage", "NacrePorts",
                "NacreTesting", "NacreCrypto", "CLinux", "COpenSSL", "NacreServer", "NacreDatabase", "NacreSessions",
                "NacreGateway", "NacreProvider", "NacreJOSE", "NacreDatabaseTesting", "database-probe",
            ],
            path: "Tests/SocketTests", swiftSettings: strict),
    ]

/// What must hold for any bytes, and its corpus; `scripts/fuzz` sets the switch that adds the fuzzer itself, whose
/// `main` is libFuzzer's.
let fuzzing: [Target] =
    [
        .target(
            name: "NacreFuzzProperties",
            dependencies: [
                "NacreCore", "NacreCrypto", "NacreHTTP", "NacreJOSE", "NacreListener", "NacrePorts", "NacreBridge",
                "NacreSecrets", "NacreServer", "NacreProject", "NacreReleases", "NacreUpdates", "CZip", "CZstd",
            ],
            path: "Tests/Fuzz/Properties", swiftSettings: strict),
        .testTarget(
            name: "NacreFuzzCorpusTests", dependencies: ["NacreFuzzProperties"], path: "Tests/Fuzz/CorpusTests",
            swiftSettings: strict),
    ]
    + (Context.environment["NACRE_FUZZ"] == nil
        ? []
        : [
            .executableTarget(
                name: "nacre-fuzz", dependencies: ["NacreFuzzProperties"], path: "Tests/Fuzz/Runner",
                swiftSettings: strict)
        ])

let package = Package(
    name: "nacre",
    platforms: [.iOS(.v18), .macOS(.v15)],
    products: [
        .executable(name: "nacre", targets: ["nacre"]),
        .executable(name: "nacre-demo", targets: ["nacre-demo"]),
        .library(name: "NacreServer", targets: ["NacreServer"]),
        .library(name: "NacreApp", targets: ["NacreApp"]),
        .library(name: "NacreRouting", targets: ["NacreRouting"]),
        .library(name: "NacreTesting", targets: ["NacreTesting"]),
    ],
    traits: [
        .default(enabledTraits: ["GTKShell"]),
        .trait(name: "GTKShell", description: "The Linux shell: needs GTK 4, WebKitGTK and GLib."),
    ],
    targets: systemLibraries + shared + appHalf + serverHalf + platforms + commands + probes + examples + testing
        + fuzzing
)
