import ControlAPI
import Cryptography
import Logging
import NIOPosix
import Synchronization

/// The page's password: who tries it how often, and what happens when it is changed.
///
/// A digest takes memory and time, so it is made on a thread of the pool, and at most two at once.
final class PasswordGate: Sendable {
    /// Keeps what a password is checked with, for its user alone; durable on return. It may block.
    typealias Store = @Sendable ([UInt8]) throws -> Void

    private struct State {
        var password: StoredPassword?
        /// Counts changes, so that what was checked with an earlier password lets nobody in.
        var changes = 0
        var limiter: LoginLimiter
        var running = 0
    }

    private static let concurrency = 2

    private let state: Mutex<State>
    private let parameters: Scrypt.Parameters
    private let uptime: @Sendable () -> Int64
    private let store: Store

    /// - Parameters:
    ///   - stored: what was given to `store` last; treated as no password if it cannot be read.
    ///   - uptime: seconds of a clock that is never set back.
    init(
        stored: [UInt8]?, limits: LoginLimiter.Limits = .init(), parameters: Scrypt.Parameters = .usual,
        uptime: @escaping @Sendable () -> Int64, store: @escaping Store
    ) {
        state = Mutex(
            State(
                password: stored.flatMap { StoredPassword(json: $0) }, limiter: LoginLimiter(limits: limits)))
        (self.parameters, self.uptime, self.store) = (parameters, uptime, store)
    }

    var hasPassword: Bool { state.withLock { $0.password != nil } }

    /// Lets `source` in if it has the password.
    ///
    /// - Parameter enter: called while the password cannot be changed.
    /// - Throws: `ControlError`: `noPermission` for a wrong password, `loginBlocked` for too many attempts, `busy`, `failed`.
    func check<Result: Sendable>(
        _ password: String, from source: LoginLimiter.Source, enter: @Sendable () -> Result
    ) async throws(ControlError) -> Result {
        let (stored, changes) = try begin(source)
        let isRight = try await digesting { try stored.isRight(password) }
        let now = uptime()
        let entered: Result? = state.withLock { state in
            guard isRight, state.changes == changes else { return nil }
            state.limiter.succeeded(source, now: now)
            return enter()
        }
        guard let entered else { throw ControlError(.noPermission, "Wrong password.") }
        return entered
    }

    /// Sets the password; durable on return.
    ///
    /// - Throws: `ControlError` `failed` if it cannot be stored: then the one before is still good.
    func set(_ password: String) async throws(ControlError) {
        state.withLock { $0.running += 1 }
        let (parameters, store) = (parameters, store)
        let salt = SecureRandom.bytes(count: StoredPassword.saltByteCount)
        let new = try await digesting {
            let new = try StoredPassword(password: password, salt: salt, parameters: parameters)
            try store(try new.json())
            return new
        }
        state.withLock { state in
            state.password = new
            state.changes += 1
        }
    }

    private func begin(_ source: LoginLimiter.Source) throws(ControlError) -> (StoredPassword, Int) {
        let found = state.withLock { state -> Result<(StoredPassword, Int), ControlError> in
            guard let password = state.password else {
                return .failure(ControlError(.noPermission, "No password is set. \(ControlError.setPassword)"))
            }
            guard state.running < Self.concurrency else {
                return .failure(
                    ControlError(.busy, "The agent checks other passwords. Try again.", isRetryable: true))
            }
            if case .wait(let seconds) = state.limiter.begin(source, now: uptime()) {
                return .failure(
                    ControlError(
                        .loginBlocked, "Too many wrong passwords. Try again in \(Self.words(seconds)).",
                        isRetryable: true))
            }
            state.running += 1
            return .success((password, state.changes))
        }
        return try found.get()
    }

    /// Runs what takes long on a thread that may; one less is running then.
    private func digesting<Made: Sendable>(_ make: @escaping @Sendable () throws -> Made) async throws(ControlError)
        -> Made
    {
        defer { state.withLock { $0.running -= 1 } }
        do {
            return try await NIOThreadPool.singleton.runIfActive(make)
        } catch {
            throw ControlError(asControl: error)
        }
    }

    /// At which level a refused login is logged; nil for none. Attempts are bounded. What comes too soon for one is not, and would
    /// fill the disk.
    static func logLevel(of error: ControlError) -> Logger.Level? {
        switch error.code {
        case .noPermission: .warning
        case .loginBlocked: .debug
        default: nil
        }
    }

    private static func words(_ seconds: Int64) -> String {
        seconds < 120 ? "\(seconds) s" : "\((seconds + 59) / 60) min"
    }
}

extension ControlError {
    static let setPassword = Phrase("Run `synctrain ui --set-password` on that machine.")
}
