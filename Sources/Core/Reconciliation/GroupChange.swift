import BlockExchange
import Names
import Selection

/// What is done about the files of one group, all at once.
package struct GroupChange: Equatable, Sendable {
    package var group: FileGroup
    /// Files that are fetched and files that are deleted.
    package var actions: [Action]
    /// How many of the plan's single files come before it.
    package var precedingFetches: Int

    /// The names of a group that differ here from the winners of their announcements by what is in them, and are kept, with
    /// the version that each is to get; nil if nothing can be done about one of them.
    ///
    /// - parameter items: of all names of the group.
    package static func pending(
        _ items: [PlanItem], rules: FolderRules, unixSeconds: Int64
    ) -> [NameKey: VersionVector]? {
        var versions: [NameKey: VersionVector] = [:]
        for item in items {
            let action = Reconciler.decide(
                local: item.local, global: item.global, isKept: item.isKept, rules: rules, unixSeconds: unixSeconds)
            if case .blocked = action { return nil }
            guard action.isGroupChange, let name = action.name else { continue }
            versions[name] = version(of: item)
        }
        return versions
    }

    /// The version that a name of the group is to get.
    package static func version(of item: PlanItem) -> VersionVector {
        item.global?.version ?? item.local?.file.version ?? VersionVector([])
    }
}
