import ControlAPI
import Cryptography
import NIOPosix
import Synchronization

/// The sessions of an agent that runs, and those that it had before: they are stored, as digests, with the port that they
/// belong to.
final class SessionRegistry: Sendable {
    /// Writes what is to be there at the next start, for its user alone and durable on return.
    typealias Store = @Sendable ([UInt8]) throws -> Void

    private struct State {
        var table: SessionTable
        /// The port that the sessions are of; 0 while nothing has been listened on.
        var port: Int
        /// What ends the answers that are under way, by session.
        var answers: [SessionTable.ID: [Int: @Sendable () -> Void]] = [:]
        var nextAnswer = 0
        /// Who is to be told that a token was used, by its digest.
        var users: [SHA256Digest: @Sendable () -> Void] = [:]
    }

    private let state: Mutex<State>
    /// Held while what is stored is written, so that the latest is written last.
    private let storing = Mutex(())
    private let limits: SessionTable.Limits
    private let now: @Sendable () -> Int64
    private let random: @Sendable (Int) -> [UInt8]
    private let store: Store

    /// - Parameters:
    ///   - stored: what was given to `store` last; what cannot be read of it is no session.
    ///   - now: seconds since 1970.
    ///   - random: so many bytes that nobody can guess.
    init(
        limits: SessionTable.Limits = .init(), stored: [UInt8]? = nil, now: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable (Int) -> [UInt8] = { SecureRandom.bytes(count: $0) },
        store: @escaping Store = { _ in }
    ) {
        let earlier = stored.flatMap { StoredSessions(json: $0) }
        state = Mutex(
            State(
                table: SessionTable(restoring: earlier?.sessions ?? [], limits: limits), port: earlier?.port ?? 0))
        (self.limits, self.now, self.random, self.store) = (limits, now, random, store)
    }

    var tokenTime: Int64 { limits.tokenTime }
    var idleTime: Int64 { limits.idleTime }

    /// The port that was listened on last; 0 for none.
    var port: Int { state.withLock(\.port) }

    /// Says where the sessions are from now on. At another port than before all end: at the old one anybody may answer now,
    /// and gets the cookies of browsers that still ask there.
    ///
    /// - Throws: what `store` throws; the sessions have ended all the same.
    func begin(port: Int) async throws {
        let isOther = state.withLock { state in
            guard state.port != port else { return false }
            _ = state.table.removeAll(now: now())
            state.port = port
            return true
        }
        if isOther { try await save() }
    }

    /// - Parameter used: called once if the token is redeemed.
    func makeToken(used: @escaping @Sendable () -> Void = {}) -> String {
        let token = secret()
        state.withLock { state in
            state.table.addToken(token, now: now())
            // Those of tokens that are no longer good go.
            state.users = state.users.filter { state.table.hasToken($0.key) }
            state.users[SessionTable.digest(token)] = used
        }
        return token
    }

    /// The secret of a new session; nil for a token that is not good.
    func redeem(_ token: String) -> String? {
        let secret = secret()
        let endings: [@Sendable () -> Void]? = state.withLock { state in
            var ended: [SessionTable.ID] = []
            guard state.table.redeem(token, for: secret, now: now(), ended: &ended) else { return nil }
            let used = state.users.removeValue(forKey: SessionTable.digest(token))
            return ended.flatMap { state.answers.removeValue(forKey: $0)?.values.map { $0 } ?? [] }
                + (used.map { [$0] } ?? [])
        }
        guard let endings else { return nil }
        for end in endings { end() }
        return secret
    }

    /// The secret of a new session for who has shown the password.
    func open() -> String {
        let secret = secret()
        let endings = state.withLock { state in
            var ended: [SessionTable.ID] = []
            state.table.begin(secret, now: now(), ended: &ended)
            return ended.flatMap { state.answers.removeValue(forKey: $0)?.values.map { $0 } ?? [] }
        }
        for end in endings { end() }
        return secret
    }

    /// The session of a secret; nil if there is none, or none any more.
    func session(of secret: some StringProtocol) -> SessionTable.ID? {
        let (found, endings) = state.withLock { state in
            switch state.table.use(String(secret), now: now()) {
            case .nothing: (SessionTable.ID?.none, [@Sendable () -> Void]())
            case .session(let id): (id, [])
            case .ended(let id): (nil, state.answers.removeValue(forKey: id)?.values.map { $0 } ?? [])
            }
        }
        for end in endings { end() }
        return found
    }

    /// What a session is called, also after a restart; no secret. Nil for one that is over.
    func name(of session: SessionTable.ID) -> String? { state.withLock { $0.table.name(of: session)?.description } }

    /// The secret that replaces a session's; nil if it keeps the one that it has.
    func newSecret(of session: SessionTable.ID) -> String? {
        let secret = secret()
        return state.withLock { state in
            guard state.table.needsSecret(session, now: now()) else { return nil }
            state.table.replaceSecret(session, by: secret, now: now())
            return secret
        }
    }

    /// Ends all sessions and the answers that are under way for them.
    ///
    /// - Throws: what `store` throws: the sessions have ended, but may be there again when the agent is started again.
    func removeAll() async throws -> Int {
        let (count, endings) = state.withLock { state in
            defer { state.answers = [:] }
            return (state.table.removeAll(now: now()), state.answers.values.flatMap { $0.values.map { $0 } })
        }
        defer { for end in endings { end() } }
        try await save()
        return count
    }

    /// Stores the sessions if they are not as they were stored last.
    ///
    /// - Throws: what `store` throws.
    func saveIfChanged() async throws {
        guard state.withLock(\.table.hasChanged) else { return }
        try await save()
    }

    private func save() async throws {
        // Not cancelled with the request: what was ended must not come back.
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            NIOThreadPool.singleton.submit { [self] _ in continuation.resume(with: Result { try write() }) }
        }
    }

    private func write() throws {
        try storing.withLock { _ in
            let stored = state.withLock { StoredSessions(port: $0.port, sessions: $0.table.storable()) }
            do {
                try store(stored.json())
            } catch {
                state.withLock { $0.table.storingFailed() }
                throw error
            }
        }
    }

    /// Runs `work`, and `end` when the session ends before it has. False, and nothing runs, if the session has ended: a request
    /// is admitted when its head has come, and all of it may come later.
    func during(
        _ session: SessionTable.ID, end: @escaping @Sendable () -> Void, _ work: () async -> Void
    ) async -> Bool {
        let answer: Int? = state.withLock { state in
            guard state.table.name(of: session) != nil else { return nil }
            defer { state.nextAnswer += 1 }
            state.answers[session, default: [:]][state.nextAnswer] = end
            return state.nextAnswer
        }
        guard let answer else { return false }
        await work()
        state.withLock { state in
            state.answers[session]?[answer] = nil
            if state.answers[session]?.isEmpty == true { state.answers[session] = nil }
        }
        return true
    }

    private func secret() -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: random(32).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
