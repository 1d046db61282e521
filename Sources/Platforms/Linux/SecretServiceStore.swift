// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CSecret
    package import NacreCore
    package import NacrePorts

    /// Secrets in the desktop's keyring (SE-1): the Secret Service, in its default collection.
    ///
    /// A locked keyring is told from a missing one and from a missing secret, and nothing but `unlock` ever raises a
    /// prompt. An item carries the application id and the secret's name as attributes, so that apps do not meet.
    package actor SecretServiceStore: SecretStore {
        package nonisolated let kind = SecretStoreKind.secretService
        private nonisolated let thread = GLibThread(name: "nacre-secrets")
        private nonisolated let applicationID: String
        private nonisolated let label: String
        private let schema: UnsafeMutablePointer<SecretSchema>

        package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        /// - Parameter label: what the person reads in the keyring's own window, such as the app's name.
        package init(applicationID: String, label: String) {
            self.applicationID = applicationID
            self.label = label
            let types = g_hash_table_new(g_str_hash, g_str_equal)
            for attribute in Attribute.names {
                g_hash_table_insert(
                    types, UnsafeMutableRawPointer(mutating: attribute.utf8Start),
                    UnsafeMutableRawPointer(bitPattern: Int(SECRET_SCHEMA_ATTRIBUTE_STRING.rawValue)))
            }
            schema = secret_schema_newv("org.nacre.Secret", SECRET_SCHEMA_NONE, types)
            g_hash_table_unref(types)
        }

        isolated deinit { secret_schema_unref(schema) }

        package func availability() async -> SecretStoreAvailability {
            do {
                return try await open().locked ? .locked : .available
            } catch {
                return error.code == "secrets.locked" ? .locked : .absent
            }
        }

        package func read(_ name: String) async throws(NacreError) -> [UInt8]? {
            let keyring = try await open()
            guard let item = try await find(name, keyring.service) else {
                // A locked keyring may hide what it holds: not to be found is no answer then.
                if keyring.locked { throw Self.locked() }  // guard: locked-is-not-missing
                return nil
            }
            if secret_item_get_locked(item.secretItem) != 0 { throw Self.locked() }
            let loaded = await awaitGIO { callback, data in
                secret_item_load_secret(item.secretItem, nil, callback, data)
            } finish: { result -> Result<Void, GLibFailure> in
                var failure: UnsafeMutablePointer<GError>?
                let done = secret_item_load_secret_finish(item.secretItem, result, &failure) != 0
                return done ? .success(()) : .failure(GLibFailure(taking: failure))
            }
            if case .failure(let failure) = loaded { throw Self.error(failure, else: "secrets.damaged", "be read") }
            guard let value = secret_item_get_secret(item.secretItem) else {
                throw NacreError("secrets.damaged", "The keyring holds \(name) without a value; remove it there.")
            }
            defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
            var length: gsize = 0
            guard let bytes = secret_value_get(value, &length) else { return [] }
            return bytes.withMemoryRebound(to: UInt8.self, capacity: Int(length)) {
                Array(UnsafeBufferPointer(start: $0, count: Int(length)))
            }
        }

        package func write(_ name: String, _ value: [UInt8]) async throws(NacreError) {
            let keyring = try await open()
            if keyring.locked { throw Self.locked() }  // guard: locked-raises-no-prompt
            let stored = await awaitGIO { callback, data in
                let attributes = attributes(of: name)
                // One byte more, so that an empty value too has an address.
                let bytes = value.map { CChar(bitPattern: $0) } + [0]
                let secret = secret_value_new(bytes, gssize(value.count), "application/octet-stream")
                secret_service_store(
                    keyring.service.secretService, schema, attributes, SECRET_COLLECTION_DEFAULT, label, secret, nil,
                    callback, data)
                secret_value_unref(UnsafeMutableRawPointer(secret))
                g_hash_table_unref(attributes)
            } finish: { result -> Result<Void, GLibFailure> in
                var failure: UnsafeMutablePointer<GError>?
                let done = secret_service_store_finish(keyring.service.secretService, result, &failure) != 0
                return done ? .success(()) : .failure(GLibFailure(taking: failure))
            }
            if case .failure(let failure) = stored { throw Self.error(failure, else: "secrets.write_failed", "store") }
        }

        package func remove(_ name: String) async throws(NacreError) {
            let keyring = try await open()
            guard let item = try await find(name, keyring.service) else {
                if keyring.locked { throw Self.locked() }
                return
            }
            if secret_item_get_locked(item.secretItem) != 0 { throw Self.locked() }
            let removed = await awaitGIO { callback, data in
                secret_item_delete(item.secretItem, nil, callback, data)
            } finish: { result -> Result<Void, GLibFailure> in
                var failure: UnsafeMutablePointer<GError>?
                let done = secret_item_delete_finish(item.secretItem, result, &failure) != 0
                return done ? .success(()) : .failure(GLibFailure(taking: failure))
            }
            if case .failure(let failure) = removed {
                throw Self.error(failure, else: "secrets.write_failed", "remove")
            }
        }

        package func unlock() async -> Bool {
            guard let keyring = try? await open() else { return false }
            guard keyring.locked else { return true }
            let list = g_list_append(nil, keyring.collection.pointer)
            defer { g_list_free(list) }
            let count = await awaitGIO { callback, data in
                secret_service_unlock(keyring.service.secretService, list, nil, callback, data)
            } finish: { result in
                secret_service_unlock_finish(keyring.service.secretService, result, nil, nil)
            }
            return count > 0
        }

        private struct Keyring: Sendable {
            let service: GLibReference
            let collection: GLibReference
            let locked: Bool
        }

        /// The service and its default collection, as they are now.
        private func open() async throws(NacreError) -> Keyring {
            let service = await awaitGIO { callback, data in
                secret_service_get(SECRET_SERVICE_NONE, nil, callback, data)
            } finish: { result -> Result<GLibReference, GLibFailure> in
                var failure: UnsafeMutablePointer<GError>?
                let service = secret_service_get_finish(result, &failure)
                return GLibReference(service.map { UnsafeMutableRawPointer($0) }).map { .success($0) }
                    ?? .failure(GLibFailure(taking: failure))
            }
            let opened: GLibReference
            switch service {
            case .success(let service): opened = service
            case .failure(let failure): throw Self.absent(failure)
            }
            let collection = await awaitGIO { callback, data in
                secret_collection_for_alias(
                    opened.secretService, SECRET_COLLECTION_DEFAULT, SECRET_COLLECTION_NONE, nil, callback, data)
            } finish: { result -> Result<GLibReference?, GLibFailure> in
                var failure: UnsafeMutablePointer<GError>?
                let collection = secret_collection_for_alias_finish(result, &failure)
                if failure != nil { return .failure(GLibFailure(taking: failure)) }
                return .success(GLibReference(collection.map { UnsafeMutableRawPointer($0) }))
            }
            switch collection {
            case .success(let collection?):
                return Keyring(
                    service: opened, collection: collection,
                    locked: secret_collection_get_locked(collection.secretCollection) != 0)
            case .success(nil): throw Self.absent(nil)
            case .failure(let failure): throw Self.absent(failure)
            }
        }

        private func find(_ name: String, _ service: GLibReference) async throws(NacreError) -> GLibReference? {
            let found = await awaitGIO { callback, data in
                let attributes = attributes(of: name)
                secret_service_search(
                    service.secretService, schema, attributes, SECRET_SEARCH_NONE, nil, callback, data)
                g_hash_table_unref(attributes)
            } finish: { result -> Result<GLibReference?, GLibFailure> in
                var failure: UnsafeMutablePointer<GError>?
                let list = secret_service_search_finish(service.secretService, result, &failure)
                if failure != nil { return .failure(GLibFailure(taking: failure)) }
                let first = list?.pointee.data.map { g_object_ref($0) }
                g_list_free_full(list, g_object_unref)
                return .success(GLibReference(first ?? nil))
            }
            switch found {
            case .success(let item): return item
            case .failure(let failure): throw Self.error(failure, else: "secrets.absent", "be searched")
            }
        }

        private enum Attribute {
            static let application: StaticString = "application"
            static let name: StaticString = "name"
            static let names = [application, name]
        }

        private nonisolated func attributes(of name: String) -> OpaquePointer? {
            let table = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free)
            g_hash_table_insert(table, g_strdup("application"), g_strdup(applicationID))
            g_hash_table_insert(table, g_strdup("name"), g_strdup(name))
            return table
        }

        private static func locked() -> NacreError {
            NacreError("secrets.locked", "The keyring is locked; unlock it with its password to go on.")
        }

        private static func absent(_ cause: GLibFailure?) -> NacreError {
            NacreError(
                "secrets.absent",
                "No keyring answers; install and start one (gnome-keyring or KWallet) to keep signed in.", cause: cause)
        }

        private static func error(_ failure: GLibFailure, else code: NacreError.Code, _ what: String) -> NacreError {
            if failure.domain == secret_error_get_quark() && failure.code == Int32(SECRET_ERROR_IS_LOCKED.rawValue) {
                return locked()
            }
            return NacreError(
                code, "The keyring could not \(what); look at it in the desktop's settings.", cause: failure)
        }
    }

    extension GLibReference {
        fileprivate var secretService: UnsafeMutablePointer<SecretService> {
            pointer.assumingMemoryBound(to: SecretService.self)
        }
        fileprivate var secretCollection: UnsafeMutablePointer<SecretCollection> {
            pointer.assumingMemoryBound(to: SecretCollection.self)
        }
        fileprivate var secretItem: UnsafeMutablePointer<SecretItem> {
            pointer.assumingMemoryBound(to: SecretItem.self)
        }
    }
#endif
