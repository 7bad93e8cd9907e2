import BlockExchange
import FileAccess
import IndexStore
import Reconciliation
import Selection

/// Files that belong together.
extension FolderEngine {
    var groupPatterns: GroupPatterns {
        do {
            return try GroupPatterns(session.configuration.groups)
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
        return try await facts(names).filter { $0.local != nil || $0.global != nil }
    }

    /// Whether `versions` is all that is to be done about a group, by what is known of its names.
    func isWhole(_ versions: [String: VersionVector], _ facts: [NameFacts], _ isIgnored: (String) -> Bool) -> Bool {
        let items = facts.map {
            PlanItem(local: $0.localVersion, global: $0.global, isKept: !isIgnored($0.name))
        }
        let now = environment.time.wall().seconds
        return GroupChange.pending(items, rules: rules, unixSeconds: now) == versions
    }

    /// Finishes or undoes what a process that died, or a call that failed, has left of groups. Within the engine's turn, and
    /// before anything is made of what is on the disk.
    func settleGroups(_ place: FolderPlace) async throws {
        guard state.withLock({ $0.hasUnsettledGroups }) else { return }
        let groups = try await index.placingGroups(in: folder)
        var settled: [[GroupPlacing]] = []
        for group in groups {
            let steps = group.compactMap { placing in
                RelativePath(placing.name).map {
                    GroupStep(
                        target: $0, source: placing.source, sealed: placing.sealed, expected: placing.expected)
                }
            }
            let root = place.root
            do {
                _ = try await environment.fetching.threads.runIfActive { try root.settle(steps) }
                settled.append(group)
                scanSoon(steps.map(\.target))
            } catch let error as FileAccessError {
                for placing in group {
                    activity.note(
                        "its group could be neither completed nor undone, which is tried again: \(error.message)",
                        at: placing.name)
                }
            }
        }
        try await index.endPlacing(settled, in: folder)
        state.withLock { $0.hasUnsettledGroups = settled.count < groups.count }
    }

    static func groupMessage(_ name: String) -> String {
        "waits for \(name), which is in one group with it (`groups` in config.toml) and cannot come into its place yet; "
            + "`synctrain fetch` reads it meanwhile"
    }
}
