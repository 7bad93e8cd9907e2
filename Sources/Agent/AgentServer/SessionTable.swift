import Cryptography

/// Who is logged in: one-time tokens that links bring, and the sessions that they become. Pure: who calls has the clock
/// and the secrets.
///
/// Only digests of secrets are kept, and found by their hash: how long that takes says nothing about a secret.
///
/// A session's secret is replaced once a day and when the agent was started again. The one before stays good until the new
/// one was used and five minutes have passed, since the answer that brings the new one may be lost, and requests are under way. One
/// that comes later was copied, or the new one was: the session ends.
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
        /// Seconds after which a session is over, however it is used.
        var wholeTime: Int64 = 180 * 86_400
        /// Seconds after which a secret is replaced.
        var secretTime: Int64 = 86_400
        /// Seconds that a replaced secret stays good for, from the first use of the new one; and in which another new one is not made.
        var overlapTime: Int64 = 300
    }

    struct Session: Equatable, Sendable {
        /// Tells it from all others, also after a restart of the agent; no secret.
        var name: SHA256Digest
        var made: Int64
        var lastUsed: Int64
        /// The digest of the newest secret, and when it was made; nil for one that an earlier run of the agent made.
        var newest: SHA256Digest
        var newestMade: Int64?
        /// When the newest secret was first used; nil while none but the one before was.
        var newestUsed: Int64?
        /// The digest of the secret before.
        var replaced: SHA256Digest?
    }

    let limits: Limits
    private var tokens: [SHA256Digest: Int64] = [:]
    private var sessions: [ID: Session] = [:]
    private var owners: [SHA256Digest: ID] = [:]
    private var nextID = 1
    /// Whether what is to be stored is another than the last time it was asked for.
    private(set) var hasChanged = false

    init(limits: Limits = Limits()) { self.limits = limits }

    /// Sessions of an earlier run; those beyond the limit, and those whose secrets others have, are left out.
    init(restoring stored: [Session], limits: Limits = Limits()) {
        self.limits = limits
        for session in stored.sorted(by: { $0.lastUsed > $1.lastUsed }).prefix(limits.sessions) {
            let digests = [session.newest, session.replaced].compactMap { $0 }
            guard Set(digests).count == digests.count, digests.allSatisfy({ owners[$0] == nil }) else { continue }
            var session = session
            session.newestMade = nil
            for digest in digests { owners[digest] = nextID }
            sessions[nextID] = session
            nextID += 1
        }
    }

    /// What is to be stored, the oldest first.
    mutating func storable() -> [Session] {
        hasChanged = false
        return sessions.sorted { $0.key < $1.key }.map(\.value)
    }

    /// What `storable` gave is not stored.
    mutating func storingFailed() { hasChanged = true }

    /// - Parameter now: seconds since 1970.
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
        begin(secret, now: now, ended: &ended)
        return true
    }

    /// Makes a session. The ids of sessions that had to end for it are in `ended`.
    mutating func begin(_ secret: String, now: Int64, ended: inout [ID]) {
        endOld(now: now, &ended)
        while sessions.count >= limits.sessions,
            let oldest = sessions.min(by: { $0.value.lastUsed < $1.value.lastUsed })
        {
            remove(oldest.key)
            ended.append(oldest.key)
        }
        let digest = Self.digest(secret)
        sessions[nextID] = Session(
            name: Self.name(of: digest), made: now, lastUsed: now, newest: digest, newestMade: now, newestUsed: now)
        owners[digest] = nextID
        nextID += 1
        hasChanged = true
    }

    /// What a secret is good for.
    enum Found: Equatable, Sendable {
        case nothing
        /// A session, which counts as used.
        case session(ID)
        /// Nothing any more: the session was over, or it ended because the secret was replaced long ago.
        case ended(ID)
    }

    /// Finds the session of a secret.
    mutating func use(_ secret: String, now: Int64) -> Found {
        let digest = Self.digest(secret)
        guard let id = owners[digest], var session = sessions[id] else { return .nothing }
        guard !isOver(session, now) else { return end(id) }
        if digest == session.newest {
            if session.newestUsed == nil {
                session.newestUsed = now
                hasChanged = true
            }
        } else if let used = session.newestUsed, !isWithin(limits.overlapTime, used, now) {
            return end(id)
        }
        // Stored with the next secret, at most a day later.
        session.lastUsed = max(session.lastUsed, now)
        sessions[id] = session
        return .session(id)
    }

    func name(of id: ID) -> SHA256Digest? { sessions[id]?.name }

    /// The name of a session with such a first secret.
    static func name(of secret: SHA256Digest) -> SHA256Digest { digest("session " + secret.description) }

    /// Whether a session's secret is to be replaced now.
    func needsSecret(_ id: ID, now: Int64) -> Bool {
        guard let session = sessions[id] else { return false }
        guard let made = session.newestMade else { return true }
        // While nobody has used the new one, its answer may have been lost.
        let time = session.newestUsed == nil ? limits.overlapTime : limits.secretTime
        return !isWithin(time, made, now)
    }

    /// Replaces a session's secret.
    mutating func replaceSecret(_ id: ID, by secret: String, now: Int64) {
        guard var session = sessions[id] else { return }
        if session.newestUsed != nil {
            session.replaced.map { owners[$0] = nil }
            session.replaced = session.newest
        } else {
            // Only the one before is in use.
            owners[session.newest] = nil
        }
        session.newest = Self.digest(secret)
        (session.newestMade, session.newestUsed) = (now, nil)
        owners[session.newest] = id
        sessions[id] = session
        hasChanged = true
    }

    /// Ends all sessions and forgets all tokens; how many sessions there were.
    mutating func removeAll(now: Int64) -> Int {
        var ended: [ID] = []
        endOld(now: now, &ended)
        defer {
            tokens = [:]
            sessions = [:]
            owners = [:]
            hasChanged = true
        }
        return sessions.count
    }

    private mutating func end(_ id: ID) -> Found {
        remove(id)
        return .ended(id)
    }

    private mutating func remove(_ id: ID) {
        guard let session = sessions.removeValue(forKey: id) else { return }
        owners[session.newest] = nil
        session.replaced.map { owners[$0] = nil }
        hasChanged = true
    }

    private mutating func endOld(now: Int64, _ ended: inout [ID]) {
        for (id, session) in sessions where isOver(session, now) {
            remove(id)
            ended.append(id)
        }
    }

    private func isOver(_ session: Session, _ now: Int64) -> Bool {
        !isWithin(limits.idleTime, session.lastUsed, now) || !isWithin(limits.wholeTime, session.made, now)
    }

    /// Whether less than `time` has passed; a clock that was set back makes nothing older.
    private func isWithin(_ time: Int64, _ then: Int64, _ now: Int64) -> Bool {
        let (passed, isOverflown) = now.subtractingReportingOverflow(then)
        return isOverflown ? now < then : passed < time
    }

    /// A clock that was set back makes no token younger than it is.
    private func isGood(_ made: Int64, _ now: Int64) -> Bool { (0..<limits.tokenTime).contains(now - made) }

    /// Whether a token of this digest is waiting.
    func hasToken(_ digest: SHA256Digest) -> Bool { tokens[digest] != nil }

    static func digest(_ secret: String) -> SHA256Digest { SHA256.digest(secret.utf8) }
}
