import BlockExchange
import Names
import Selection

/// Brings decisions about single names together.
struct PlanBuilder {
    /// In the order of their names.
    private(set) var items: [Decided]
    /// The directories above everything that is there afterwards.
    private let neededDirectories: Set<NameKey>
    /// Files that become something else under another name, and are not deleted for that.
    private var isRenamed: [Bool]
    /// The group of each item that changes one.
    private let groups: [FileGroup?]

    init(_ items: [Decided], groups: GroupPatterns) {
        self.items = items
        isRenamed = items.map { _ in false }
        self.groups = items.map { item in
            if case .blocked = item.action { return groups.group(of: item.name) }
            return item.action.isGroupChange ? groups.group(of: item.name) : nil
        }
        var needed: Set<NameKey> = []
        for item in items where Self.needsItsDirectory(item.action) {
            for ancestor in PathOrder.ancestors(of: item.name) {
                // What is above this one was put in with it.
                guard needed.insert(ancestor) else { break }
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
        var leaves: Set<NameKey> = []
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

    /// Holds back a whole group if one of its files is not available.
    mutating func blockGroups() {
        var obstacles: [FileGroup: String] = [:]
        for (index, item) in items.enumerated() {
            guard let group = groups[index], case .blocked = item.action, obstacles[group] == nil else { continue }
            obstacles[group] = item.name
        }
        guard !obstacles.isEmpty else { return }
        for index in items.indices {
            guard let group = groups[index], let name = obstacles[group], items[index].action.isGroupChange else {
                continue
            }
            items[index].action = .blocked(.groupMember(name))
        }
    }

    /// Lets files that are to go become those to be fetched that have the same content. Not files of
    /// groups: what is done about a group is done at once.
    mutating func matchRenames() {
        var sources = RenameSources()
        for (index, item) in items.enumerated() {
            guard case .delete(let local, .some, keepsCopy: false) = item.action, local.isValid,
                groups[index] == nil, !neededDirectories.contains(item.name)
            else { continue }
            sources.add(local.file, index)
        }
        for index in items.indices {
            guard groups[index] == nil, case .fetch(let file, let occupant) = items[index].action,
                !Self.replacesDirectory(items[index].action), let source = sources.take(for: file),
                case .delete(let local, .some(let tombstone), _) = items[source].action
            else { continue }
            items[index].action = .rename(from: local, tombstone: tombstone, to: file, replacing: occupant)
            isRenamed[source] = true
        }
    }

    // MARK: order

    struct Steps {
        var all: [Action]
        var fetchPosition: Int
        var groups: [GroupChange]
    }

    /// The steps of one kind come together; see `Plan.steps`.
    func steps(deletesFirst: Bool, options: PlanOptions) -> Steps {
        var changesOfGroup: [FileGroup: Int] = [:]
        for (index, item) in items.enumerated() where item.action.isGroupChange {
            if let group = groups[index] { changesOfGroup[group, default: 0] += 1 }
        }
        let replaced = Set(items.lazy.filter { Self.replacesDirectory($0.action) }.map(\.name))
        var records: [Action] = []
        var clearings: [Action] = []
        var directories: [Action] = []
        var renames: [Action] = []
        var removals: (files: [Action], directories: [Action]) = ([], [])
        var links: [Action] = []
        var adoptions: [Action] = []
        var fetches: [Fetch] = []
        var grouped: [FileGroup: [Action]] = [:]
        var firstFetches: [FileGroup: Fetch] = [:]
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
                let fetch = Fetch(rank: options.priorities.rank(of: item.name), file: file, action: item.action)
                guard let group = groups[index] else {
                    fetches.append(fetch)
                    continue
                }
                grouped[group, default: []].append(item.action)
                if firstFetches[group].map({ fetch.precedes($0, options.order) }) ?? true {
                    firstFetches[group] = fetch
                }
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
                let mustGoFirst = makesRoom || neededDirectories.contains(item.name)
                if let group = groups[index], !mustGoFirst, changesOfGroup[group, default: 0] > 1 {
                    grouped[group, default: []].append(item.action)
                } else if !isDirectory, deletesFirst || neededDirectories.contains(item.name) {
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
        fetches.sort { $0.precedes($1, options.order) }
        let before =
            records + clearings + directories + renames + removals.files + removals.directories.reversed() + links
            + adoptions
        // Children come after their directory in the order of names, so they go first in its reverse.
        let after = deletions.files + deletions.directories.reversed() + directoryAdoptions.reversed()
        return Steps(
            all: before + fetches.map(\.action) + after, fetchPosition: before.count,
            groups: Self.changes(grouped, firstFetches, among: fetches, deletesFirst: deletesFirst, options.order))
    }

    /// What is done about groups, in the order in which it comes among single files.
    private static func changes(
        _ grouped: [FileGroup: [Action]], _ firstFetches: [FileGroup: Fetch], among fetches: [Fetch],
        deletesFirst: Bool, _ order: PullOrder
    ) -> [GroupChange] {
        var (changes, removals): ([(first: Fetch, change: GroupChange)], [GroupChange]) = ([], [])
        for (group, actions) in grouped {
            let position = deletesFirst ? 0 : fetches.count
            let change = GroupChange(group: group, actions: actions, precedingFetches: position)
            if let first = firstFetches[group] { changes.append((first, change)) } else { removals.append(change) }
        }
        changes.sort { $0.first.precedes($1.first, order) }
        removals.sort { $0.group.names.lexicographicallyPrecedes($1.group.names) }
        var position = 0
        for index in changes.indices {
            while position < fetches.count, fetches[position].precedes(changes[index].first, order) { position += 1 }
            changes[index].change.precedingFetches = position
        }
        return deletesFirst ? removals + changes.map(\.change) : changes.map(\.change) + removals
    }
}

/// A file to be fetched, with what its place among others depends on.
private struct Fetch {
    var rank: Int
    var file: FileInfo
    var action: Action

    func precedes(_ other: Fetch, _ order: PullOrder) -> Bool {
        rank != other.rank ? rank < other.rank : order.precedes(file, other.file)
    }
}
