// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// What a request may use. The one result of the access table.
package enum PageAccess: Hashable, Sendable {
    /// The page itself: session, native powers, bundle.
    case full
    /// A picture, sound or film of the API for any frame: the session is used, nothing can be read back (NB-12).
    case media
    /// Files of the bundle and nothing else.
    case files
    /// A CORS preflight of the page, answered here.
    case preflight
    /// Nothing; the reason is for the log.
    case refused(PageRefusal)
}

/// Why a request was refused. Stands in the log and in `X-Nacre-Reason`.
package enum PageRefusal: String, Sendable, CaseIterable {
    /// No `Sec-Fetch-Site`, where only a browser's request with one may pass.
    case unmarked = "no-fetch-metadata"
    /// A sandboxed or foreign frame.
    case foreign = "foreign-frame"
    /// `Origin` names somebody else.
    case origin = "foreign-origin"
    /// An API path as a document or frame.
    case document = "api-as-document"
    /// A picture, sound or film outside `api.media`.
    case mediaPath = "not-a-media-path"
    /// The media proxy was asked for an origin that the configuration does not name.
    case proxyOrigin = "not-an-api-origin"
    /// A service worker, which the configuration does not allow.
    case serviceWorker = "service-worker-off"
    /// A header that decides who asks came twice.
    case ambiguous = "ambiguous-header"
}
