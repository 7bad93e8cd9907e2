import AgentConfiguration

/// The settings by which `FolderRunner.run` is set up: another value ends it, and it begins again.
struct RunnerSetup: Equatable, Sendable {
    private var isPaused: Bool
    private var isWatched: Bool
    private var path: String
    private var versions: FolderVersions
    private var scrubInterval: Int?
    private var attributes: FolderAttributes

    init(_ configuration: FolderConfiguration) {
        (isPaused, isWatched) = (configuration.isPaused, configuration.isWatched)
        (path, versions) = (configuration.path, configuration.versions)
        (scrubInterval, attributes) = (configuration.scrubInterval, configuration.attributes)
    }
}
