import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import ControlAPI

/// Why a configuration is applied.
enum ConfigurationReason: Equatable, Sendable {
    /// The agent starts.
    case start
    /// It was changed; these folders were added.
    case change(added: Set<FolderID>)
    /// The file was read again, and it was confirmed that whatever it does not name is to go.
    case confirmed

    var added: Set<FolderID> {
        guard case .change(let added) = self else { return [] }
        return added
    }
}

/// Changes the configuration, one change at a time: first the file, then what runs by it.
struct ConfigurationChanges: Sendable {
    /// One change, while no other is made.
    struct Turn: Sendable {
        fileprivate let file: ConfigurationFile
        fileprivate let running: RunningConfiguration
        fileprivate let apply: @Sendable (Configuration, ConfigurationReason) async throws -> Void

        var current: Configuration { running.current }

        /// Makes what runs what the configuration says, and `running` as well; the file is left alone.
        func apply(_ configuration: Configuration) async throws {
            try await apply(configuration, .change(added: []))
        }

        /// Edits the file and applies what it then says. Throws, and changes nothing, if the file was emptied meanwhile: an
        /// edit of something else would drop all devices or folders.
        func edit(_ edits: [ConfigurationEdit]) async throws {
            let current = current
            let edited = try file.apply(edits) { (found) throws(ConfigurationError) in
                guard let loss = current.loss(in: found) else { return }
                throw ConfigurationError(
                    .invalidValue,
                    "it names \(loss.none) any more, and nothing was changed; restore it, or remove the \(loss.all) with "
                        + "`synctrain reload`", file: file.path)
            }
            let added = edits.compactMap { if case .addFolder(let folder) = $0 { folder.id } else { nil } }
            try await apply(edited, .change(added: Set(added)))
        }

        /// Applies what the file says. Throws `confirmationNeeded`, and changes nothing, if it names no device or no folder
        /// any more and that is not confirmed.
        func reload(isConfirmed: Bool) async throws -> Configuration {
            let new = try file.load()
            if !isConfirmed, let loss = current.loss(in: new) {
                throw ControlError(
                    .confirmationNeeded,
                    "`config.toml` names \(loss.none) any more. Remove the \(loss.all) that there are? Files stay.",
                    path: file.path)
            }
            try await apply(new, isConfirmed ? .confirmed : .change(added: []))
            return new
        }
    }

    private let turn: Turn
    private let gate = Budget(limit: 1)

    /// - Parameter apply: Makes what runs, and `running`, what the configuration says; called once at a time, and to its end
    ///   although who asked for the change may have gone.
    init(
        file: ConfigurationFile, running: RunningConfiguration,
        apply: @escaping @Sendable (Configuration, ConfigurationReason) async throws -> Void
    ) {
        turn = Turn(file: file, running: running) { new, reason in
            // Half of a change would leave folders and devices that nobody syncs until the agent is started again.
            try await uncancelled { try await apply(new, reason) }
        }
    }

    /// Runs `body` while nobody else changes the configuration.
    func inTurn<Result>(_ body: (Turn) async throws -> Result) async throws -> Result {
        try await gate.withUnits(1) { try await body(turn) }
    }

    /// Edits the file and applies it.
    /// - Parameter edits: Makes the edits from the configuration as it is then.
    /// - Throws: `ControlError` or `CancellationError`.
    func edit(_ edits: (Configuration) throws -> [ConfigurationEdit]) async throws {
        do {
            try await inTurn { try await $0.edit(try edits($0.current)) }
        } catch let error as CancellationError {
            throw error
        } catch {
            throw ControlError(describing: error)
        }
    }

    /// Applies what the file says other than what runs: what commands wrote into it that found no agent, because it was starting.
    ///
    /// - Throws: what `Turn.reload` throws; nothing is changed then. `CancellationError`.
    func catchUp() async throws {
        try await inTurn { turn in
            guard try turn.file.load() != turn.current else { return }
            _ = try await turn.reload(isConfirmed: false)
        }
    }

    /// Ends the pauses that are over. One that is given another end while this waits for its turn goes on until then.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Throws: `ControlError` or `CancellationError`.
    func endPauses(at now: Int64) async throws { try await edit { $0.pausesOver(at: now).edits } }
}
