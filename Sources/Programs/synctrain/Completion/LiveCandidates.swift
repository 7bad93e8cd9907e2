import AgentConfiguration
import ControlAPI
import Synchronization

/// Words that can stand at the cursor, from the agent: at most so many, and none if it does not answer soon.
struct LiveCandidates: Sendable {
    static let limit = 500
    static let patience = Duration.seconds(1)

    let agent: any AgentControl
    let place: CompletionPlace
    /// What of the word is there.
    let word: String

    /// Never fails: nobody wants to read an error while typing.
    func all() async -> [String] {
        let found = Gathered()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await find { word in
                    if found.add(word) >= Self.limit { throw CancellationError() }
                }
            }
            group.addTask { try? await Task.sleep(for: Self.patience) }
            await group.next()
            group.cancelAll()
        }
        return found.words
    }

    /// What was found until time was over.
    private final class Gathered: Sendable {
        private let list = Mutex<[String]>([])

        var words: [String] { list.withLock { $0 } }

        /// How many there are with this one.
        func add(_ word: String) -> Int {
            list.withLock { list in
                list.append(word)
                return list.count
            }
        }
    }

    private func find(_ emit: @escaping @Sendable (String) throws -> Void) async throws {
        switch place {
        case .settingValue(let key):
            guard let setting = SettingsSchema.declarations(.agent).first(where: { $0.key == key }) else { return }
            for text in setting.kind == .flag ? ["true", "false"] : setting.kind.words where matches(text) {
                try emit(text)
            }
        case .folder:
            for folder in try await folders() where matches(folder) { try emit(folder) }
        case .device:
            for device in try await agent.call(Endpoints.devices).devices {
                // A name that another device has, too, names neither.
                for text in [device.name, device.id] where !text.isEmpty && matches(text) {
                    try emit(text)
                    break
                }
            }
        case .path:
            let folders = try await folders()
            // An id may have a colon, so the longest that fits is meant.
            let inside = folders.filter { word.utf8.starts(with: ($0 + ":").utf8) }.max {
                $0.utf8.count < $1.utf8.count
            }
            guard let folder = inside else {
                for folder in folders where matches(folder + ":") { try emit(folder + ":") }
                return
            }
            try await list(folder, emit)
        }
    }

    private func folders() async throws -> [String] { try await agent.call(Endpoints.folders).folders.map(\.id) }

    private func list(_ folder: String, _ emit: @escaping @Sendable (String) throws -> Void) async throws {
        let path = word.utf8.dropFirst(folder.utf8.count + 1)
        let directory = path.lastIndex(of: UInt8(ascii: "/")).map { String(Substring(path[..<$0])) } ?? ""
        let reference = PathReference(text: "\(folder):\(directory)", workingDirectory: "/")
        try await agent.call(Endpoints.list, ListQuery(path: reference, isRecursive: false)) { entry in
            let text = "\(folder):\(entry.path)\(entry.kind == .directory ? "/" : "")"
            if entry.path != directory, matches(text) { try emit(text) }
        }
    }

    private func matches(_ text: String) -> Bool { text.utf8.starts(with: word.utf8) && !text.utf8.contains(0) }
}
