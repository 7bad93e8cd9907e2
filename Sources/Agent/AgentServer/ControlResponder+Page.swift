import ControlAPI
import Cryptography

extension ControlRequest {
    /// Reads a file, for as long as somebody plays it.
    var isForFile: Bool { [LinkTarget.path, Endpoints.file.id.path, Endpoints.member.id.path].contains(String(path)) }

    /// The signature of the link that it came by, which nobody has checked yet; nil if it came otherwise.
    var linkSignature: SHA256Digest? {
        guard admission == .link else { return nil }
        return (try? query())?["signature"].flatMap { SHA256Digest(hex: $0) }
    }

    /// Ends all sessions.
    var isLogOut: Bool { method == "DELETE" && path == Endpoints.logOut.id.path }
}

extension LinkEndpoint {
    /// What a request that came over TCP is let in for.
    ///
    /// - Parameter isPlain: it came without TLS.
    func admission(of request: ControlRequest, isPlain: Bool) throws(ControlError) -> Admission {
        guard let cookie else {
            throw ControlError(.stopping, "The agent is stopping. Start it again and repeat this.", isRetryable: true)
        }
        let guardian = NetworkGuard(
            hosts: RequestGuard(hosts: hosts, scheme: scheme), cookie: cookie, takesPassword: tls != nil)
        if isPlain, tls != nil { return try guardian.plainAdmission(of: request) }
        return try guardian.admission(of: request) { sessions.session(of: $0) }
    }
}

/// What browsers ask besides the API.
extension ControlResponder {
    func answerPage(_ name: String, _ request: ControlRequest, through sink: ResponseSink) async throws {
        guard request.method == "GET" || request.method == "HEAD" else {
            throw ControlError(.methodNotAllowed, "The page's files do not support \(request.method).")
        }
        guard let file = PageFile.named(name) else {
            throw ControlError(.notFound, "The page has no file \(name.prefix(80)).")
        }
        let headers = [
            ("content-security-policy", PageFile.policy), ("cross-origin-opener-policy", "same-origin"),
            ("etag", file.entityTag), ("cache-control", "no-cache"),
        ]
        guard !request.entityTags.contains(file.entityTag) else {
            try await sink.begin(status: 304, contentType: file.contentType, headers: headers)
            return try await sink.end()
        }
        try await sink.begin(
            status: 200, contentType: file.contentType, contentLength: Int64(file.bytes.count), headers: headers)
        try await sink.write(file.bytes)
        try await sink.end()
    }

    /// Makes a session of a link's token. Only `GET`: whoever only looks at links does not use them up.
    func answerLogin(_ request: ControlRequest, through sink: ResponseSink) async throws {
        guard request.method == "GET" else {
            throw ControlError(.methodNotAllowed, "The login link does not support \(request.method).")
        }
        guard let links, let cookie = links.cookie else {
            throw ControlError(.stopping, "The agent is stopping. Start it again and repeat this.", isRetryable: true)
        }
        let token = try request.query()["token"] ?? ""
        var headers = [("location", "/")]
        if let secret = links.sessions.redeem(token) {
            headers.append(("set-cookie", cookie.setting(secret, for: links.sessions.idleTime)))
            await links.save(logger)
        } else if !cookie.values(in: request.cookies).contains(where: { links.sessions.session(of: $0) != nil }) {
            throw ControlError(
                .gone, "This login link has been used, or is older than a minute. Run `synctrain ui` again.")
        }
        try await sink.begin(status: 303, contentType: "text/plain; charset=utf-8", contentLength: 0, headers: headers)
        try await sink.end()
    }

    /// Makes a session for who has the password.
    func answerPassword(_ request: ControlRequest, through sink: ResponseSink) async throws {
        guard let links, let cookie = links.cookie else {
            throw ControlError(.stopping, "The agent is stopping. Start it again and repeat this.", isRetryable: true)
        }
        guard let login = try? ControlJSON.decode(PasswordLogin.self, from: request.body),
            login.password.utf8.count <= PasswordChange.longest
        else {
            throw ControlError(.invalidRequest, "A login has a JSON body with `password`.")
        }
        let from = request.source?.ipAddress ?? "an unknown address"
        let secret: String
        do throws(ControlError) {
            secret = try await links.logIn(login.password, from: request.source)
        } catch {
            if let level = PasswordGate.logLevel(of: error) {
                logger.log(level: level, "A login with the password from \(from) was refused: \(error)")
            }
            throw error
        }
        logger.notice("A browser at \(from) has logged in with the password.")
        await links.save(logger)
        try await sink.answer(
            json: try ControlJSON.encode(Done()),
            headers: [("set-cookie", cookie.setting(secret, for: links.sessions.idleTime))])
    }

    /// Over TCP a browser may show the file, and it goes at the pace of links.
    func fileResponse(to request: ControlRequest, through sink: ResponseSink) throws(ControlError) -> FileResponse {
        guard case .session = request.admission else { return FileResponse(control: handlers, sink: sink) }
        let isDownload = try request.query().flag("download")
        return FileResponse(
            control: handlers, sink: sink, presentation: { .link(path: $0.path, isDownload: isDownload) }, pace: pace)
    }
}
