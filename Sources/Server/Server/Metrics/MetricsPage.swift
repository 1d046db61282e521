// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreHTTP
import NacreRouting

/// `GET /metrics`, on a listener of its own: numbers about people's sign-ins are not for everybody.
struct MetricsPage: Sendable {
    let metrics: ServerMetrics

    var router: Router {
        Router { routes in
            routes.get("/metrics") { _, _ in
                HTTPResponse(
                    fields: [
                        "Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store",
                    ], body: .text(metrics.text))
            }
        }
    }
}
