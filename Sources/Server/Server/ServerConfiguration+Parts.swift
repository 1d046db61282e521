// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import Foundation
import NacreCore
import NacreCrypto
import NacreGateway
import NacreHTTP
import NacreListener
import NacreProvider
import NacreRouting
import NacreSessions

/// What each part is told.
extension ServerConfiguration {
    /// The version of the server half.
    public static let version = "0.1.0"
    /// The gateway's identifier at the embedded provider.
    static let embeddedClientID = "nacre"

    var gateway: GatewayConfiguration {
        var oidc = OIDCConfiguration(
            issuer: provider.enabled ? provider.issuer : openID.issuer ?? "", clientID: openID.clientID ?? "",
            clientSecret: openID.clientSecret)
        oidc.clientAuthentication = .init(rawValue: openID.clientAuthentication) ?? .discovered
        oidc.scopes = openID.scopes
        oidc.extraParameters = openID.extraParameters
        oidc.essentialContexts = openID.essentialLevels
        oidc.signatureAlgorithm = openID.signAlgorithm
        oidc.acceptsUntypedLogoutTokens = openID.untypedLogoutTokens
        var result = GatewayConfiguration(
            publicOrigin: origin, name: name, environment: isDevelopment ? "development" : "production",
            version: Self.version, callbackSchemes: schemes, oidc: oidc)
        // Checked when the settings were read.
        result.claimedLinks = (try? claimedLinks()) ?? ClaimedLinks()
        result.tokenLifetime = tokenLifetime
        result.exchangesPerMinute = exchangesPerMinute
        result.departuresPerMinute = departuresPerMinute
        result.tokensPerMinute = tokensPerMinute
        result.tokens.presentations = Set(tokens.presentations.compactMap(SessionPresentation.init(rawValue:)))
        result.tokens.bearerIsJWT = tokens.bearer == "jwt"
        result.tokens.bearerAge = tokens.bearerAge
        result.tokens.accessAge = tokens.accessAge
        result.tokens.retryWindow = tokens.retryWindow
        result.tokens.fromCookie = tokens.fromCookie
        result.webOrigins = webOrigins
        result.trustedProxies = trustedProxies
        result.updateManifest = updateManifest
        result.sessions = SessionPolicy(
            idle: cookieAge, absolute: absoluteAge, revalidateAge: revalidateAge, grace: graceAge)
        result.sessions.perPerson = sessionsPerPerson
        result.identityKeyAge = identityKeyAge
        result.upstream = upstream.map { upstream in
            var result = UpstreamConfiguration(origin: upstream.origin, audience: upstream.audience)
            result.prefixes = upstream.prefixes
            result.anonymousPrefixes = upstream.anonymous
            result.preservesHost = upstream.preserveHost
            result.csrf = CSRFStyle(rawValue: upstream.csrf) ?? .gateway
            result.requestLimit = upstream.maximumRequest
            result.responseLimit = upstream.maximumResponse
            result.liveLimit = upstream.maximumLive
            result.webSocketIdle = upstream.webSocketIdle
            return result
        }
        return result
    }

    /// How the upstream is spoken to.
    var upstreamTransport: LoopTransport.Configuration {
        var result = LoopTransport.Configuration()
        guard let upstream else { return result }
        result.connectTime = upstream.connectTimeout
        result.headTime = upstream.timeout
        result.stall = upstream.stall
        result.kept = upstream.keepAlive
        result.limits.headBytes = upstream.maximumHead
        result.authorities = upstream.authorities
        return result
    }

    func embedded(_ keys: ServerKeys) -> ProviderConfiguration {
        var client = ProviderClient(
            id: Self.embeddedClientID, secret: keys.embeddedClientSecret, name: name,
            redirectURIs: [gateway.redirectURI])
        client.postLogoutRedirectURIs = [gateway.logoutReturnURI]
        client.backchannelLogoutURI = "\(origin)/api/v1.0/backchannel-logout/"
        client.idTokenAlgorithm = embeddedAlgorithm ?? .es256
        var result = ProviderConfiguration(clients: [client] + provider.clients)
        result.levels = provider.levels
        result.issuer = provider.issuer
        result.isDevelopment = isDevelopment
        result.throttle.silentPerMinute = silentPerMinute
        result.secret = keys.provider
        return result
    }

    /// A listener that anybody may reach.
    func publicListener(_ place: Address) -> ListenerConfiguration {
        var result = ListenerConfiguration(host: place.host, port: place.port)
        result.connectionsPerClient = connectionsPerClient == 0 ? nil : connectionsPerClient
        result.trustedProxies = trustedProxies.compactMap { AddressRange($0) }
        result.bodyPace = bodyRate == 0 ? nil : BodyPace(bytesPerSecond: bodyRate, window: bodyWindow)
        return result
    }

    func listener() throws(NacreError) -> ListenerConfiguration {
        var result = publicListener(listen)
        // A loop is a thread; beyond a few of them the database is what everybody waits for.
        result.loops = min(4, ProcessInfo.processInfo.activeProcessorCount)
        if let certificate {
            func pem(_ path: String, _ key: String) throws(NacreError) -> String {
                do { return try String(contentsOfFile: path, encoding: .utf8) } catch {
                    throw NacreError(
                        "configuration.value",
                        "\"\(key)\": the file \(path) cannot be read; check the path and who may read it.",
                        cause: error)
                }
            }
            result.tls = try TLSServerIdentity(
                certificatePEM: pem(certificate.certificate, "listen.tls.certificate"),
                privateKeyPEM: pem(certificate.key, "listen.tls.key"))
        }
        return result
    }
}
