import ArgumentParser
import BlockExchange
import ControlAPI
import Names
import Phrases
import Synchronization

struct TreeCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "tree", abstract: translated("Show a directory of the global index as a tree."))
    }

    @Argument(help: ArgumentHelp(translated("Directory; the current directory if omitted.")), completion: .file())
    var path = "."

    @Option(
        name: [.customShort("L"), .long],
        help: ArgumentHelp(translated("Number of levels to show."), valueName: "levels"))
    var depth: Int?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if let depth, depth < 1 { throw ValidationError(translated("--depth must be at least 1.")) }
    }

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        let reference = context.path(path)
        if global.json {
            let printer = EntryPrinter(output: context.output)
            let limit = depth
            let base = try await agent.call(Endpoints.stat, reference).path
            try await agent.call(Endpoints.list, ListQuery(path: reference, isRecursive: true, sort: .natural)) {
                entry in
                if let limit, TreeDrawing.level(of: entry.path, below: base) > limit { return }
                try printer.printJSON(entry)
            }
            return
        }
        let root = try await agent.call(Endpoints.stat, reference)
        try await TreeDrawing(agent: agent, output: context.output, style: context.style, depth: depth).draw(root)
    }
}

/// Draws a tree level by level, so that no more than the directories on the way down are held at once.
struct TreeDrawing: Sendable {
    let agent: any AgentControl
    let output: Output
    let style: Style
    let depth: Int?

    func draw(_ root: Entry) async throws {
        try output.print(style.name(root.path.isEmpty ? "\(root.folder):" : root.path))
        if root.kind == .directory { try await drawContents(of: root, indent: "", level: 1) }
    }

    /// How many names `path` has below `base`.
    static func level(of path: String, below base: String) -> Int {
        path.pathComponents.count - base.pathComponents.count
    }

    private func drawContents(of directory: Entry, indent: String, level: Int) async throws {
        if let depth, level > depth { return }
        let collected = EntryCollection()
        let reference = PathReference(text: "\(directory.folder):\(directory.path)", workingDirectory: "/")
        try await agent.call(Endpoints.list, ListQuery(path: reference, sort: .natural)) { collected.add($0) }
        let entries = collected.entries
        let rendering = EntryRendering(style: style)
        for (index, entry) in entries.enumerated() {
            let isLast = index == entries.count - 1
            try output.print(indent + (isLast ? "└── " : "├── ") + rendering.displayName(entry))
            if entry.kind == .directory {
                try await drawContents(
                    of: entry, indent: indent + (isLast ? "    " : "│   "), level: level + 1)
            }
        }
    }
}

/// Entries that come one by one.
private final class EntryCollection: Sendable {
    private let list = Mutex<[Entry]>([])

    var entries: [Entry] { list.withLock { $0 } }

    func add(_ entry: Entry) { list.withLock { $0.append(entry) } }
}
