import AgentConfiguration
import FileAccess
import Logging
import Phrases
import Selection
import Synchronization

/// A folder's settings, and where it is on this disk, as the runner saw it last. Anyone may read it; nobody waits for the disk.
package final class FolderPlaces: Sendable {
    private struct State {
        var configuration: FolderConfiguration
        var place: Result<FolderPlace, FolderHalt>
        var claim: RootClaim?
        /// The process of another user that has locked the root, as it was logged.
        var lockedBy: Int32?
    }

    private let state: Mutex<State>
    private let interposer: (any DiskInterposer)?
    private let isExclusive: Bool
    private let logger: Logger?

    /// Opens the folder's root. Blocks its thread.
    ///
    /// - Parameters:
    ///   - isExclusive: whether a root that another agent works in is refused.
    ///   - interposer: asked before anything in the folder is changed; for simulations.
    init(
        _ configuration: FolderConfiguration, isExclusive: Bool = false, interposer: (any DiskInterposer)? = nil,
        logger: Logger? = nil
    ) {
        self.logger = logger
        self.interposer = interposer
        self.isExclusive = isExclusive
        state = Mutex(
            State(configuration: configuration, place: FolderPlace.open(configuration, interposer: interposer)))
        let place = claimed(state.withLock { $0.place }, configuration)
        state.withLock { $0.place = place }
    }

    package var configuration: FolderConfiguration { state.withLock { $0.configuration } }

    /// The folder on this disk, as it was seen last; why it cannot be worked on otherwise.
    package var current: Result<FolderPlace, FolderHalt> { state.withLock { $0.place } }

    /// Which names are not wanted. Without a readable selection nothing is: nothing is fetched by mistake, and nothing
    /// is lost, because what is ignored is only announced as not selected.
    package var ignores: @Sendable (String) -> Bool {
        switch current {
        case .success(let place): { place.selection.isLeftOut($0) }
        case .failure: { _ in true }
        }
    }

    /// Whether something below a directory may be selected.
    package func mayContainSelected(_ directory: String) -> Bool {
        (try? current.get())?.selection.mayContainSelected(directory) ?? false
    }

    /// Whether changes in a directory are of interest: something below may be selected; or nothing is, because the rule for
    /// what nobody named excludes it: what appears there is on this disk by accident, and people are to be told. What a line
    /// of its own excludes (`node_modules`) is not watched.
    package func isWatched(_ directory: String) -> Bool {
        guard let selection = try? current.get().selection else { return false }
        if selection.mayContainSelected(directory) { return true }
        return selection.explain(directory).pattern?.matchesEverything ?? false
    }

    /// Whether the disk of the path is a share that another machine serves.
    func isOnShare(_ path: RelativePath) -> Bool {
        (try? current.get())?.root.traits(at: path.text).touchesOnClose ?? false
    }

    // MARK: for the runner

    /// The folder with other settings than its own. Blocks its thread.
    package func open(with configuration: FolderConfiguration) -> Result<FolderPlace, FolderHalt> {
        if case .success(let known) = current, known.root.isInPlace { return known.reread(configuration) }
        return FolderPlace.open(configuration, interposer: interposer)
    }

    package func set(_ configuration: FolderConfiguration) { state.withLock { $0.configuration = configuration } }

    package func set(_ place: FolderPlace) { state.withLock { $0.place = .success(place) } }

    /// Looks whether the folder is still where it was, and opens or reads again what is not as it was. Blocks its thread.
    @discardableResult
    package func refresh() -> Result<FolderPlace, FolderHalt> {
        let (configuration, known) = state.withLock { ($0.configuration, $0.place) }
        let place: Result<FolderPlace, FolderHalt>
        if case .success(let known) = known, known.root.path == configuration.path, known.root.isInPlace {
            place = known.isCurrent(for: configuration) ? .success(known) : known.reread(configuration)
        } else {
            place = FolderPlace.open(configuration, interposer: interposer)
        }
        let claimed = claimed(place, configuration)
        state.withLock { $0.place = claimed }
        return claimed
    }

    /// Lets other agents work in the root.
    package func giveUpClaim() { state.withLock { $0.claim = nil } }

    /// The same, if no other agent works there. Blocks its thread.
    private func claimed(
        _ place: Result<FolderPlace, FolderHalt>, _ configuration: FolderConfiguration
    ) -> Result<FolderPlace, FolderHalt> {
        guard isExclusive, !configuration.isPaused, case .success(let found) = place else { return place }
        if let claim = state.withLock({ $0.claim }), claim.isOf(found.root) { return place }
        switch RootClaim.take(found.root) {
        case .granted(let claim):
            state.withLock { ($0.claim, $0.lockedBy) = (claim, nil) }
            return place
        case .lockedByOther(let process):
            let isKnown = state.withLock { state in
                defer { state.lockedBy = process }
                return state.lockedBy == process
            }
            if !isKnown {
                logger?.warning(
                    "process \(process), not an agent of this user, has locked \(configuration.path); the folder is synced anyway"
                )
            }
            return place
        case .unsupported: return place
        case .held(let process):
            return .failure(
                FolderHalt(
                    reason: .error,
                    message: process.map {
                        Phrase(
                            "another synctrain agent (process \($0)) works in \(configuration.path); stop it, or pause the folder there"
                        )
                    }
                        ?? Phrase(
                            "another synctrain agent works in \(configuration.path); stop it, or pause the folder there"
                        )))
        }
    }
}

extension Result {
    package var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
