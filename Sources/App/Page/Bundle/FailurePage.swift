// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreCore
import NacreHTTP
import NacreRouting

/// What a document is replaced by that cannot be had: address, reason, what to do; never a blank.
enum FailurePage {
    /// A 502 that comes back by itself, or, where a certificate is at fault, waits for a person.
    static func response(_ error: NacreError, address: String) -> HTTPResponse {
        let address = HTMLText.escape(address)
        let reason = HTMLText.escape((error.cause as? NacreError)?.message ?? error.message)
        if error.code == "transport.tls" {
            return page(
                title: "Connection not secure", refresh: "",
                body: """
                    <h1>The connection to the server is not secure</h1>
                    <p><code>\(address)</code></p><p>\(reason)</p>
                    <p>Nothing was sent. There is no way around this here: a connection that cannot be checked is not used.</p>
                    """)
        }
        return page(
            title: "Development server not reachable", refresh: "<meta http-equiv=\"refresh\" content=\"2\">",
            body: """
                <h1>Waiting for the development server</h1>
                <p><code>\(address)</code> does not answer.</p><p>\(reason)</p>
                <p>Start it, or correct <code>--dev-server</code>. This page tries again every two seconds.</p>
                """)
    }

    private static func page(title: String, refresh: String, body: String) -> HTTPResponse {
        .html(
            """
            <!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            \(refresh)<title>\(title)</title>
            <style>body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1rem}
            :root{color-scheme:light dark}code{overflow-wrap:anywhere}</style>
            \(body)
            <p><a href="">Try again now</a></p></html>
            """, status: .badGateway, policy: "default-src 'none'; style-src 'unsafe-inline'")
    }
}
