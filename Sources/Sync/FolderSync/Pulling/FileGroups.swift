import BlockExchange
import FileAccess
import IndexStore
import Phrases
import Reconciliation
import Selection

/// Finishes or undoes what a process that died, or a call that failed, has left of groups of files. Before anything is made
/// of what is on the disk.
struct SettleGroupsStep: FolderStep {
    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        guard work.memory.hasUnsettledGroups else { return }
        let groups = try await folder.index.store.placingGroups(in: folder.id)
        var settled: [[GroupPlacing]] = []
        for group in groups {
            let steps = group.compactMap { placing in
                RelativePath(placing.name).map {
                    GroupStep(target: $0, source: placing.source, sealed: placing.sealed, expected: placing.expected)
                }
            }
            let root = folder.root
            do {
                _ = try await folder.onDisk { try root.settle(steps) }
                settled.append(group)
                work.effects.rescans.formUnion(steps.map(\.target))
            } catch let error as FileAccessError {
                for placing in group {
                    work.effects.problems.noteFound(
                        Phrase("its group could be neither completed nor undone; retrying: \(error.text)"),
                        at: placing.name)
                }
            }
        }
        try await folder.index.store.endPlacing(settled, in: folder.id)
        work.memory.hasUnsettledGroups = settled.count < groups.count
    }
}

/// Files that belong together, as the folder's settings say.
extension FolderContext {
    var groupPatterns: GroupPatterns {
        do {
            return try GroupPatterns(settings.groups)
        } catch {
            logger.warning("the groups of the folder are not used: \(error)")
            return .none
        }
    }

    /// What the index knows of the other names of the groups that these are in.
    func partners(of known: [NameFacts], _ groups: GroupPatterns) async throws -> [NameFacts] {
        guard !groups.isEmpty else { return [] }
        var seen = Set(known.map(\.name))
        var names: [String] = []
        for facts in known {
            for name in groups.group(of: facts.name)?.names ?? [] where seen.insert(name).inserted {
                names.append(name)
            }
        }
        guard !names.isEmpty else { return [] }
        return try await index.facts(names).filter { $0.local != nil || $0.global != nil }
    }

    static func groupMessage(_ name: String) -> Phrase {
        Phrase(
            "waiting for \(name), which is in the same group (`groups` in config.toml) and cannot be placed yet; "
                + "`synctrain fetch` downloads it meanwhile")
    }
}
