import BlockExchange

/// Brings decisions about single names together.
struct PlanBuilder {
    /// In the order of their names.
    private(set) var items: [Decided]
    /// The directories above everything that is there afterwards.
    private let neededDirectories: Set<String>
    /// Files that become something else under another name, and are not deleted for that.
    private var isRenamed: [Bool]

    init(_ items: [Decided]) {
        self.items = items
        isRenamed = items.map { _ in false }
        var needed: Set<String> = []
        for item in items where Self.needsItsDirectory(item.action) {
            for ancestor in PathOrder.ancestors(of: item.name) {
                // What is above this one was put in with it.
                guard needed.insert(ancestor).inserted else { break }
            }
        }
        neededDirectories = needed
    }

    private static func needsItsDirectory(_ action: Action) -> Bool {
        if case .delete(_, _, let keepsCopy) = action { return keepsCopy }
        return action.leavesSomething
    }

    /// The file or symbolic link that the action puts under its name.
    private static func isLeaf(_ action: Action) -> Bool {
        switch action {
        case .fetch, .makeSymlink, .rename: true
        case .nothing, .blocked, .record, .forget, .adopt, .makeDirectory, .delete: false
        }
    }

    private static func replacesDirectory(_ action: Action) -> Bool {
        isLeaf(action) && action.occupant?.local?.file.kind == .directory
    }

    /// Holds back what cannot be: a file and something below it. What is on this disk already stays.
    mutating func block() {
        var leaves: Set<String> = []
        for index in items.indices where Self.isLeaf(items[index].action) {
            if Self.replacesDirectory(items[index].action), neededDirectories.contains(items[index].name) {
                items[index].action = .blocked(.directoryNotEmpty)
            } else {
                leaves.insert(items[index].name)
            }
        }
        guard !leaves.isDisjoint(with: neededDirectories) else { return }
        for index in items.indices where Self.needsItsDirectory(items[index].action) {
            if PathOrder.ancestors(of: items[index].name).contains(where: leaves.contains) {
                items[index].action = .blocked(.parentNotDirectory)
            }
        }
    }

    /// Keeps directories that were to go but are needed for what is in them.
    mutating func retainDirectories(rules: FolderRules, unixSeconds: Int64) {
        for index in items.indices where neededDirectories.contains(items[index].name) {
            guard case .delete(let local, let tombstone, _) = items[index].action, local.file.kind == .directory
            else { continue }
            let retained = tombstone.flatMap {
                LocalChanges.retaining(local, over: $0, rules: rules, unixSeconds: unixSeconds)
            }
            items[index].action = retained.map { .record($0) } ?? .blocked(.directoryNotEmpty)
        }
    }

    /// Lets files that are to go become those to be fetched that have the same content.
    mutating func matchRenames() {
        var sources = RenameSources()
        for (index, item) in items.enumerated() {
            guard case .delete(let local, .some, keepsCopy: false) = item.action, local.isValid,
                !neededDirectories.contains(item.name)
            else { continue }
            sources.add(local.file, index)
        }
        for index in items.indices {
            guard case .fetch(let file, let occupant) = items[index].action,
                !Self.replacesDirectory(items[index].action), let source = sources.take(for: file),
                case .delete(let local, .some(let tombstone), _) = items[source].action
            else { continue }
            items[index].action = .rename(from: local, tombstone: tombstone, to: file, replacing: occupant)
            isRenamed[source] = true
        }
    }

    // MARK: order

    /// The steps of one kind come together; see `Plan.steps`.
    func steps(deletesFirst: Bool, options: PlanOptions) -> [Action] {
        let replaced = Set(items.lazy.filter { Self.replacesDirectory($0.action) }.map(\.name))
        var records: [Action] = []
        var clearings: [Action] = []
        var directories: [Action] = []
        var renames: [Action] = []
        var removals: (files: [Action], directories: [Action]) = ([], [])
        var links: [Action] = []
        var adoptions: [Action] = []
        var fetches: [(rank: Int, file: FileInfo, action: Action)] = []
        var deletions: (files: [Action], directories: [Action]) = ([], [])
        var directoryAdoptions: [Action] = []
        for (index, item) in items.enumerated() where !isRenamed[index] {
            switch item.action {
            case .nothing, .blocked: break
            case .record, .forget: records.append(item.action)
            case .makeDirectory: directories.append(item.action)
            case .rename: renames.append(item.action)
            case .makeSymlink: links.append(item.action)
            case .fetch(let file, _):
                fetches.append((options.priorities.rank(of: item.name), file, item.action))
            case .adopt(let file, _, _):
                // A directory that is not to be written is written to first.
                if file.kind == .directory {
                    directoryAdoptions.append(item.action)
                } else {
                    adoptions.append(item.action)
                }
            case .delete(let local, _, _):
                let isDirectory = local.file.kind == .directory
                let makesRoom =
                    !replaced.isEmpty && PathOrder.ancestors(of: item.name).contains(where: replaced.contains)
                if !isDirectory, deletesFirst || neededDirectories.contains(item.name) {
                    clearings.append(item.action)
                } else if makesRoom {
                    if isDirectory {
                        removals.directories.append(item.action)
                    } else {
                        removals.files.append(item.action)
                    }
                } else {
                    if isDirectory {
                        deletions.directories.append(item.action)
                    } else {
                        deletions.files.append(item.action)
                    }
                }
            }
        }
        fetches.sort { $0.rank != $1.rank ? $0.rank < $1.rank : options.order.precedes($0.file, $1.file) }
        // Children come after their directory in the order of names, so they go first in its reverse.
        return records + clearings + directories + renames + removals.files + removals.directories.reversed() + links
            + adoptions + fetches.map(\.action) + deletions.files + deletions.directories.reversed()
            + directoryAdoptions.reversed()
    }
}
