import ControlAPI
import Synchronization

/// Where links to files and the page lead: what is to be listened on for HTTP, the key that links are signed with, who is
/// logged in, and what became of it. The server listens on it; the agent makes links with it.
package final class LinkEndpoint: Sendable {
    private enum State {
        /// Nothing is to be listened on, or nothing is yet.
        case closed
        case open(port: Int)
        case failed(String)
    }

    /// In numbers, without brackets; nil for nowhere.
    let host: String?
    /// 0 for any that is free.
    let port: Int
    let hosts: [String]
    let key: [UInt8]
    let now: @Sendable () -> Int64
    let sessions: SessionRegistry
    private let state = Mutex(State.closed)

    /// - Parameters:
    ///   - address: the host in numbers, without brackets, and the port, 0 for any; nil to listen nowhere.
    ///   - hosts: names besides `localhost` and addresses in numbers that a request may have in its `Host`.
    ///   - key: a secret, not empty.
    ///   - now: seconds since 1970.
    package init(
        address: (host: String, port: Int)?, hosts: [String] = [], key: [UInt8],
        now: @escaping @Sendable () -> Int64
    ) {
        host = address?.host
        port = address?.port ?? 0
        self.hosts = hosts
        self.key = key
        self.now = now
        sessions = SessionRegistry(now: now)
    }

    /// `http://host:port`; nil while nothing is listened on.
    package var address: String? {
        guard case .open(let port) = state.withLock({ $0 }), let host else { return nil }
        if host == "0.0.0.0" || host == "::" { return "http://\(hosts.first ?? "127.0.0.1"):\(port)" }
        return "http://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }

    /// What is the matter, with what to do; nil if nothing is.
    package var problem: String? {
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
        return LoginLink(url: "\(address)/login?token=\(token)", seconds: Int(sessions.tokenTime))
    }

    /// Ends what all browsers were logged in for; how many there were.
    package func logOut() -> Int { sessions.removeAll() }

    private func reachable() throws(ControlError) -> String {
        if let address { return address }
        throw ControlError(
            .failed,
            problem
                ?? "The agent does not listen for HTTP. Set `listen` in [http] of the configuration and start the "
                + "agent again.")
    }

    /// The cookie of who is logged in here; nil while nothing is listened on.
    var cookie: SessionCookie? {
        guard case .open(let port) = state.withLock({ $0 }) else { return nil }
        return SessionCookie(port: port)
    }

    func opened(port: Int) { state.withLock { $0 = .open(port: port) } }
    func failed(_ problem: String) { state.withLock { $0 = .failed(problem) } }
    func closed() { state.withLock { $0 = .closed } }
}
