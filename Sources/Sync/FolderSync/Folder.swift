import AgentConfiguration
import AgentContext
import BlockExchange
import FileAccess
import IndexStore
import Logging

/// One folder of the agent: what works on it, what links talk to, and what others may read of it.
package final class Folder: Sendable {
    package let id: FolderID
    package let boards: FolderBoards
    package let runner: FolderRunner
    package let exchange: FolderExchange
    package let server: BlockServer
    package let keeping: FolderKeeping

    /// The folder's index must exist in `index`. Opens the folder's root; blocks its thread.
    ///
    /// - Parameters:
    ///   - watchProgram: the program that watches directories; nil for none.
    ///   - isExclusive: whether a root that another agent works in is refused.
    ///   - interposer: asked before anything in the folder is changed; for simulations.
    package init(
        _ configuration: FolderConfiguration, index: IndexStore, tools: FolderTools, events: EventHub,
        watchProgram: String?, isExclusive: Bool = false, interposer: (any DiskInterposer)? = nil
    ) {
        id = configuration.id
        boards = FolderBoards(configuration, isExclusive: isExclusive, interposer: interposer, logger: tools.logger)
        runner = FolderRunner(
            boards: boards, store: index, tools: tools, events: events, watchProgram: watchProgram)
        exchange = FolderExchange(
            boards: boards, index: index, events: events, time: tools.time, logger: tools.logger)
        keeping = FolderKeeping(boards: boards, store: index, tools: tools)
        server = BlockServer(
            places: boards.places, index: index, threads: tools.threads, downloads: tools.fetching.downloads?.board,
            scrub: boards.scrub, logger: tools.logger)
    }

    package var configuration: FolderConfiguration { boards.places.configuration }

    /// Whether something that this device keeps is missing here.
    package var needsAnything: Bool { boards.status.snapshot.need != NeededTotals() }

    /// Takes new settings. Blocks its thread.
    package func configure(_ configuration: FolderConfiguration) {
        let old = self.configuration
        exchange.configure(from: old, to: configuration)
        runner.configure(configuration)
        // Mounts are to say whether they take changes.
        if old.kind != configuration.kind || old.devices != configuration.devices { boards.changes.everythingChanged() }
    }
}
