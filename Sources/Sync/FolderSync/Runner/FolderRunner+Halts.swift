import AgentConfiguration
import AgentContext
import ControlAPI
import FileAccess

/// What a person says of a folder that has halted.
extension FolderRunner {
    /// What is gone, or what other devices deleted, was meant to go. Throws `FolderError.notHaltedOverDeletions`.
    package func confirm(isDryRun: Bool) async throws -> FolderActionOutcome {
        let outcome = try await perform(
            ConfirmStep(heldDeletions: boards.status.snapshot.heldDeletions, isDryRun: isDryRun))
        if !isDryRun { pullNow() }
        return outcome
    }

    /// What is gone was not meant to go: it is needed again. Throws `FolderError.notHalted`, and `FolderHalt` for a person to end.
    package func repair(isDryRun: Bool) async throws -> FolderActionOutcome {
        guard let halt = boards.status.snapshot.halt ?? boards.places.current.failure else {
            throw FolderError.notHalted
        }
        if [.rootMissing, .markerMissing].contains(halt.reason) {
            let configuration = boards.places.configuration
            guard !isDryRun else { return try await plannedRepair(of: configuration, halt) }
            try await tools.threads.runIfActive {
                _ = try RootDirectory(creating: configuration.path)
                try FolderPreparation.makeMarker(configuration)
            }
        }
        guard isDryRun || halt.reason != .selection else { throw halt }
        return try await perform(RepairStep(isDryRun: isDryRun))
    }
    /// What a repair would do in a folder that cannot be opened yet.
    private func plannedRepair(
        of configuration: FolderConfiguration, _ halt: FolderHalt
    ) async throws -> FolderActionOutcome {
        let isGone = halt.reason == .rootMissing
        // Its lines are gone with it, and the folder waits for them then.
        if isGone, configuration.mode != .full { throw FolderPlace.withoutLines(configuration) }
        let root = isGone ? nil : try await tools.threads.runIfActive { try RootDirectory(path: configuration.path) }
        return try await MissingNames(folder: id, root: root, store: store, tools: tools).plan()
    }
}
