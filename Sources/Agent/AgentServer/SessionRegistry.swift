import Cryptography
import Synchronization

/// The sessions of an agent that runs: in memory only, since they end with it.
final class SessionRegistry: Sendable {
    private struct State {
        var table: SessionTable
        /// What ends the answers that are under way, by session.
        var answers: [SessionTable.ID: [Int: @Sendable () -> Void]] = [:]
        var nextAnswer = 0
        /// Who is to be told that a token was used, by its digest.
        var users: [SHA256Digest: @Sendable () -> Void] = [:]
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> Int64
    private let random: @Sendable (Int) -> [UInt8]

    init(
        limits: SessionTable.Limits = .init(), now: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable (Int) -> [UInt8] = { SecureRandom.bytes(count: $0) }
    ) {
        state = Mutex(State(table: SessionTable(limits: limits)))
        self.now = now
        self.random = random
    }

    var tokenTime: Int64 { state.withLock { $0.table.limits.tokenTime } }

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

    func session(of secret: some StringProtocol) -> SessionTable.ID? {
        state.withLock { $0.table.session(of: String(secret), now: now()) }
    }

    /// Ends all sessions and the answers that are under way for them.
    func removeAll() -> Int {
        let (count, endings) = state.withLock { state in
            defer { state.answers = [:] }
            return (state.table.removeAll(now: now()), state.answers.values.flatMap { $0.values.map { $0 } })
        }
        for end in endings { end() }
        return count
    }

    /// Runs `work`, and `end` when the session ends before it has.
    func during(
        _ session: SessionTable.ID, end: @escaping @Sendable () -> Void, _ work: () async -> Void
    ) async {
        let answer = state.withLock { state in
            defer { state.nextAnswer += 1 }
            state.answers[session, default: [:]][state.nextAnswer] = end
            return state.nextAnswer
        }
        await work()
        state.withLock { state in
            state.answers[session]?[answer] = nil
            if state.answers[session]?.isEmpty == true { state.answers[session] = nil }
        }
    }

    private func secret() -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: random(32).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
