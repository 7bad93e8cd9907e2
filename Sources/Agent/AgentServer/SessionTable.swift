import Cryptography

/// Who is logged in: one-time tokens that links bring, and the sessions that they become. Pure: who calls has the clock
/// and the secrets.
///
/// Only digests of secrets are kept, and found by their hash: how long that takes says nothing about a secret.
struct SessionTable: Sendable {
    /// Names a session to the server; no secret.
    typealias ID = Int

    struct Limits: Sendable {
        /// Tokens that are waiting; beyond, the oldest is no longer good.
        var tokens = 16
        /// Sessions at once; beyond, the one that was unused for longest ends.
        var sessions = 32
        /// Seconds that a token is good for.
        var tokenTime: Int64 = 60
        /// Seconds without a request after which a session is over.
        var idleTime: Int64 = 30 * 86_400
    }

    private struct Session: Sendable {
        var id: ID
        var lastUsed: Int64
    }

    let limits: Limits
    private var tokens: [SHA256Digest: Int64] = [:]
    private var sessions: [SHA256Digest: Session] = [:]
    private var nextID = 1

    init(limits: Limits = Limits()) { self.limits = limits }

    /// - Parameter now: seconds; only differences count.
    mutating func addToken(_ token: String, now: Int64) {
        tokens = tokens.filter { isGood($0.value, now) }
        while tokens.count >= limits.tokens, let oldest = tokens.min(by: { $0.value < $1.value }) {
            tokens[oldest.key] = nil
        }
        tokens[Self.digest(token)] = now
    }

    /// Makes a session of a token; false, and nothing changes, for one that is used, too old or none. The ids of sessions
    /// that had to end for it are in `ended`.
    mutating func redeem(_ token: String, for secret: String, now: Int64, ended: inout [ID]) -> Bool {
        guard let made = tokens.removeValue(forKey: Self.digest(token)), isGood(made, now) else { return false }
        endIdle(now: now, &ended)
        while sessions.count >= limits.sessions,
            let oldest = sessions.min(by: { $0.value.lastUsed < $1.value.lastUsed })
        {
            sessions[oldest.key] = nil
            ended.append(oldest.value.id)
        }
        sessions[Self.digest(secret)] = Session(id: nextID, lastUsed: now)
        nextID += 1
        return true
    }

    /// The session of a secret, which counts as used; nil if there is none.
    mutating func session(of secret: String, now: Int64) -> ID? {
        let digest = Self.digest(secret)
        guard let session = sessions[digest] else { return nil }
        guard now - session.lastUsed < limits.idleTime else {
            sessions[digest] = nil
            return nil
        }
        sessions[digest]?.lastUsed = now
        return session.id
    }

    /// Ends all sessions and forgets all tokens; how many sessions there were.
    mutating func removeAll(now: Int64) -> Int {
        var ended: [ID] = []
        endIdle(now: now, &ended)
        defer {
            tokens = [:]
            sessions = [:]
        }
        return sessions.count
    }

    private mutating func endIdle(now: Int64, _ ended: inout [ID]) {
        for (secret, session) in sessions where now - session.lastUsed >= limits.idleTime {
            sessions[secret] = nil
            ended.append(session.id)
        }
    }

    /// A clock that was set back makes no token younger than it is.
    private func isGood(_ made: Int64, _ now: Int64) -> Bool { (0..<limits.tokenTime).contains(now - made) }

    /// Whether a token of this digest is waiting.
    func hasToken(_ digest: SHA256Digest) -> Bool { tokens[digest] != nil }

    static func digest(_ secret: String) -> SHA256Digest { SHA256.digest(secret.utf8) }
}
