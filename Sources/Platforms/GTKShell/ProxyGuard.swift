// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    import CGLib
    import CWebKitGTK

    /// Answers the page channel's 407, and nothing else that asks for a password.
    ///
    /// A restarted network process keeps the proxy but forgets the accepted certificate; its first tunnel raises the
    /// same question again, so the certificate is allowed again right there.
    @MainActor
    final class ProxyGuard {
        enum Verdict: Equatable { case answer, cancel, ignore }

        private let proxy: ShellProxy
        private let session: OpaquePointer
        private let certificate: UnsafeMutablePointer<GTlsCertificate>
        private var answered = 0

        /// Fails when the certificate is no PEM certificate.
        init(proxy: ShellProxy, session: OpaquePointer) throws {
            var failure: UnsafeMutablePointer<GError>?
            guard let certificate = g_tls_certificate_new_from_pem(proxy.certificatePEM, -1, &failure) else {
                throw ShellGLibError(taking: failure)
            }
            self.proxy = proxy
            self.session = session
            self.certificate = certificate
            allowCertificate()
            let settings = webkit_network_proxy_settings_new("http://127.0.0.1:\(proxy.port)", nil)
            webkit_network_session_set_proxy_settings(session, WEBKIT_NETWORK_PROXY_MODE_CUSTOM, settings)
            webkit_network_proxy_settings_free(settings)
        }

        /// Exactly this certificate, for exactly these hosts.
        func allowCertificate() {
            for host in proxy.certificateHosts {
                webkit_network_session_allow_tls_certificate_for_host(session, certificate, host)
            }
        }

        /// Answers an `authenticate` signal; `restarted` is called when this is not the launch's first question, that is
        /// when a new network process asks. False leaves the question to WebKit.
        func answer(_ request: OpaquePointer, restarted: @MainActor () -> Void) -> Bool {
            let host = webkit_authentication_request_get_host(request).map { String(cString: $0) } ?? ""
            let verdict = Self.verdict(
                isForProxy: webkit_authentication_request_is_for_proxy(request) != 0, host: host,
                port: webkit_authentication_request_get_port(request),
                isRetry: webkit_authentication_request_is_retry(request) != 0, ours: proxy.port)
            switch verdict {
            case .ignore: return false
            case .cancel:
                webkit_authentication_request_cancel(request)
                return true
            case .answer:
                allowCertificate()
                let credential = webkit_credential_new(
                    proxy.user, proxy.secret, WEBKIT_CREDENTIAL_PERSISTENCE_FOR_SESSION)
                webkit_authentication_request_authenticate(request, credential)
                webkit_credential_free(credential)
                answered += 1
                if answered > 1 { restarted() }
                return true
            }
        }

        /// The secret goes to our own endpoint, once per question: a refused secret is not sent again.
        nonisolated static func verdict(
            isForProxy: Bool, host: String, port: UInt32, isRetry: Bool, ours: UInt16
        ) -> Verdict {
            guard isForProxy else { return .ignore }  // guard: authenticate-proxy-only
            guard host == "127.0.0.1", port == UInt32(ours) else { return .cancel }  // guard: authenticate-own-endpoint
            guard !isRetry else { return .cancel }  // guard: authenticate-no-retry
            return .answer
        }
    }
#endif
