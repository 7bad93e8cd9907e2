import AgentConfiguration
import FileAccess
import Selection
import Synchronization

/// A folder's settings, and where it is on this disk, as the runner saw it last. Anyone may read it; nobody waits for the disk.
package final class FolderPlaces: Sendable {
    private struct State {
        var configuration: FolderConfiguration
        var place: Result<FolderPlace, FolderHalt>
    }

    private let state: Mutex<State>
    private let interposer: (any DiskInterposer)?

    /// Opens the folder's root. Blocks its thread.
    ///
    /// - Parameter interposer: asked before anything in the folder is changed; for simulations.
    init(_ configuration: FolderConfiguration, interposer: (any DiskInterposer)? = nil) {
        self.interposer = interposer
        state = Mutex(
            State(configuration: configuration, place: FolderPlace.open(configuration, interposer: interposer)))
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

    // MARK: for the runner

    /// The folder with other settings than its own. Blocks its thread.
    package func open(with configuration: FolderConfiguration) -> Result<FolderPlace, FolderHalt> {
        if case .success(let known) = current, known.root.isInPlace { return known.reread(configuration) }
        return FolderPlace.open(configuration, interposer: interposer)
    }

    package func set(_ configuration: FolderConfiguration) { state.withLock { $0.configuration = configuration } }

    package func set(_ place: FolderPlace) { state.withLock { $0.place = .success(place) } }

    /// Looks whether the folder is still where it was, and opens or reads anew what is not as it was. Blocks its thread.
    @discardableResult
    package func refresh() -> Result<FolderPlace, FolderHalt> {
        let (configuration, known) = state.withLock { ($0.configuration, $0.place) }
        let place: Result<FolderPlace, FolderHalt>
        if case .success(let known) = known, known.root.path == configuration.path, known.root.isInPlace {
            place = known.isCurrent(for: configuration) ? .success(known) : known.reread(configuration)
        } else {
            place = FolderPlace.open(configuration, interposer: interposer)
        }
        state.withLock { $0.place = place }
        return place
    }
}

extension Result {
    package var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
