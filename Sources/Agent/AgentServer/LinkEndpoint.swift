import ControlAPI
import Cryptography
import LinkSecurity
import Logging
import NIOCore
import Synchronization

/// Where links to files and the page lead: what is to be listened on for HTTP, the key that links are signed with, who is
/// logged in, and what became of it. The server listens on it; the agent makes links with it.
package final class LinkEndpoint: Sendable {
    private enum State {
        /// Nothing is to be listened on, or nothing is yet.
        case closed
        case open(port: Int, remark: Phrase?)
        case failed(Phrase)
    }

    /// In numbers, without brackets; nil for nowhere.
    let host: String?
    /// 0 for any that is free.
    let port: Int
    let hosts: [String]
    let key: [UInt8]
    let now: @Sendable () -> Int64
    let sessions: SessionRegistry
    /// What other machines reach is encrypted with it; nil for what only this machine reaches.
    let tls: ServerTLS?
    private let gate: PasswordGate
    private let state = Mutex(State.closed)

    /// - Parameters:
    ///   - address: the host in numbers, without brackets, and the port, 0 for any; nil to listen nowhere.
    ///   - hosts: names besides `localhost` and addresses in numbers that a request may have in its `Host`.
    ///   - key: a secret, not empty.
    ///   - stored: what `store` was given in an earlier run; nil for nothing.
    ///   - now: seconds since 1970.
    ///   - store: keeps who is logged in and where, for its user alone; durable on return. It may block.
    ///   - tls: for an address that other machines reach.
    ///   - password: what `storePassword` was given last; nil for no password.
    ///   - storePassword: keeps what the password is checked with, for its user alone; durable on return. It may block.
    ///   - uptime: seconds of a clock that is never set back.
    ///   - refusal: why nothing is listened on although the configuration says so; nil for no such reason.
    package init(
        address: (host: String, port: Int)?, hosts: [String] = [], key: [UInt8], stored: [UInt8]? = nil,
        now: @escaping @Sendable () -> Int64, store: @escaping @Sendable ([UInt8]) throws -> Void = { _ in },
        tls: ServerTLS? = nil, password: [UInt8]? = nil,
        storePassword: @escaping @Sendable ([UInt8]) throws -> Void = { _ in },
        passwordCost: Scrypt.Parameters = .usual,
        uptime: @escaping @Sendable () -> Int64 = { 0 }, refusal: Phrase? = nil
    ) {
        host = address?.host
        port = address?.port ?? 0
        self.hosts = hosts
        self.key = key
        self.now = now
        self.tls = tls
        sessions = SessionRegistry(stored: stored, now: now, store: store)
        gate = PasswordGate(stored: password, parameters: passwordCost, uptime: uptime, store: storePassword)
        if let refusal { state.withLock { $0 = .failed(refusal) } }
    }

    /// Whether no other machine reaches it.
    var isThisMachine: Bool { host.map { $0.hasPrefix("127.") || $0 == "::1" } ?? false }

    /// Whether it has what an address needs that other machines reach.
    var isSecured: Bool { tls != nil && gate.hasPassword }

    var scheme: String { tls == nil ? "http" : "https" }

    /// The SHA-256 of the certificate as browsers show it; nil where there is none.
    package var fingerprint: String? {
        tls.map { tls in
            let digits = Array(tls.fingerprint.description.uppercased())
            return stride(from: 0, to: digits.count, by: 2).map { String(digits[$0..<min($0 + 2, digits.count)]) }
                .joined(separator: ":")
        }
    }

    /// Sets the password and logs all browsers out; how many there were.
    ///
    /// - Throws: `ControlError` `failed` if it cannot be stored.
    package func setPassword(_ password: String) async throws(ControlError) -> Int {
        try await gate.set(password)
        return try await logOut()
    }

    /// The secret of a new session for who has the password.
    ///
    /// - Throws: `ControlError`: `noPermission`, `loginBlocked`, `busy`, `failed`.
    func logIn(_ password: String, from source: SocketAddress?) async throws(ControlError) -> String {
        let address: [UInt8] =
            switch source {
            case .v4(let address): withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
            case .v6(let address): withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
            default: []
            }
        return try await gate.check(password, from: LoginLimiter.Source(address: address)) { sessions.open() }
    }

    /// The ports to try, in this order. What only this machine reaches is rather at another port than nowhere, if possible
    /// at that of the last time, so that open pages find it; what others reach is where the user said.
    var candidates: [Int] {
        var ports = port == 0 ? [sessions.port, 0] : isThisMachine ? [port, sessions.port, 0] : [port]
        if ports.first == 0 { ports.removeFirst() }
        return ports.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// `http://host:port`, or `https://`; nil while nothing is listened on.
    package var address: String? {
        guard case .open(let port, _) = state.withLock({ $0 }), let host else { return nil }
        if host == "0.0.0.0" || host == "::" { return "\(scheme)://\(hosts.first ?? "127.0.0.1"):\(port)" }
        return "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }

    /// Why it is at another port than the configuration says; nil if it is not.
    package var remark: Phrase? {
        guard case .open(_, let remark) = state.withLock({ $0 }) else { return nil }
        return remark
    }

    /// What is the matter, with what to do; nil if nothing is.
    package var problem: Phrase? {
        guard case .failed(let problem) = state.withLock({ $0 }) else { return nil }
        return problem
    }

    /// A link to a file, good until `expires`, in seconds since 1970. Throws `failed` if nothing is listened on.
    ///
    /// - Parameter path: relative to the folder's root, as in its index.
    package func link(folder: String, path: String, expires: Int64) throws(ControlError) -> String {
        try reachable() + LinkTarget(folder: folder, file: path, expires: expires).signed(with: key)
    }

    /// A link that logs one browser in to the page. Throws `failed` if nothing is listened on.
    ///
    /// - Parameter used: called once when a browser has logged in with it.
    package func loginLink(used: @escaping @Sendable () -> Void = {}) throws(ControlError) -> LoginLink {
        let address = try reachable()
        let token = sessions.makeToken(used: used)
        return LoginLink(
            url: "\(address)/login?token=\(token)", seconds: Int(sessions.tokenTime), remark: remark,
            fingerprint: fingerprint)
    }

    /// Ends what all browsers were logged in for; how many there were.
    ///
    /// - Throws: `ControlError` `failed` if that cannot be stored: they are logged out until the agent is started again.
    package func logOut() async throws(ControlError) -> Int {
        do {
            return try await sessions.removeAll()
        } catch {
            throw ControlError(
                .failed,
                "The browsers were logged out, but may be logged in again when the agent is restarted: http.sessions "
                    + "cannot be written (\(error)). Delete that file.")
        }
    }

    private func reachable() throws(ControlError) -> String {
        if let address { return address }
        if let problem { throw ControlError(.failed, problem) }
        throw ControlError(
            .failed,
            "The agent does not listen for HTTP. Set `listen` in [http] of the configuration and start the agent again."
        )
    }

    /// The cookie of who is logged in here; nil while nothing is listened on.
    var cookie: SessionCookie? {
        guard case .open(let port, _) = state.withLock({ $0 }) else { return nil }
        return SessionCookie(port: port, isSecure: tls != nil)
    }

    /// The cookie that replaces the one of a session; nil if that stays.
    func newCookie(of session: SessionTable.ID) -> String? {
        guard let cookie, let secret = sessions.newSecret(of: session) else { return nil }
        return cookie.setting(secret, for: sessions.idleTime)
    }

    /// Stores who is logged in, if that has changed; logs if it cannot be.
    func save(_ logger: Logger) async {
        do {
            try await sessions.saveIfChanged()
        } catch {
            logger.warning("\(Self.notStored(error))")
        }
    }

    /// - Parameter obstacle: why the port of the configuration could not be used; nil if it was.
    func opened(port: Int, obstacle: Phrase? = nil, _ logger: Logger) async {
        do {
            try await sessions.begin(port: port)
        } catch {
            logger.warning("\(Self.notStored(error))")
        }
        let remark = obstacle.map {
            Phrase("Port \(self.port) cannot be used (\($0)), so the page is at port \(port).")
        }
        state.withLock { $0 = .open(port: port, remark: remark) }
    }

    private static func notStored(_ error: any Error) -> String {
        "Logins of browsers will end when the agent stops: http.sessions cannot be written: \(error)"
    }

    func failed(_ problem: Phrase) { state.withLock { $0 = .failed(problem) } }
    func closed() { state.withLock { $0 = .closed } }
}
