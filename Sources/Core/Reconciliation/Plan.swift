import BlockExchange
import Selection

/// One name, for a plan.
package struct PlanItem: Equatable, Sendable {
    package var local: LocalVersion?
    /// The winner of all announcements, those of this device included.
    package var global: FileInfo?
    package var isKept: Bool

    package init(local: LocalVersion?, global: FileInfo?, isKept: Bool) {
        self.local = local
        self.global = global
        self.isKept = isKept
    }
}

/// What the order of a plan depends on.
package struct PlanOptions: Equatable, Sendable {
    package var order: PullOrder
    package var priorities: PriorityPatterns
    /// Bytes that may be used on this disk; nil if that is not known, and taken for enough.
    package var freeByteCount: Int64?
    /// Bytes needed before deletions; nil for the sum of the files to be fetched.
    package var neededByteCount: Int64?
    /// Files that change together. Of each group that something is to be done about, all names that are needed are in the
    /// plan.
    package var groups: GroupPatterns

    package init(
        order: PullOrder = .alphabetic, priorities: PriorityPatterns = .none, freeByteCount: Int64? = nil,
        neededByteCount: Int64? = nil, groups: GroupPatterns = .none
    ) {
        self.groups = groups
        self.order = order
        self.priorities = priorities
        self.freeByteCount = freeByteCount
        self.neededByteCount = neededByteCount
    }
}

/// What to do in one pass over a folder, in an order in which it can be done.
///
/// It depends on the names given, not on their order. Carried out as a whole it leaves nothing to plan with the same
/// global versions. (That this device then has another version may make another one the global version.)
package struct Plan: Equatable, Sendable {
    /// A name about which nothing can be done.
    package struct Blocked: Equatable, Sendable {
        package var name: String
        package var obstacle: Obstacle
    }

    /// In this order: files in the way of directories go; directories come, parents first; files are renamed; what is
    /// below directories that give way to something else goes; symbolic links come, files are fetched in the order
    /// asked for; files go; directories go, deepest first; directories that stay get their permissions.
    package let steps: [Action]
    /// How many of the steps come before the first file, or group, that is to be fetched.
    package let fetchPosition: Int
    /// What is done about each group, at once; in the order in which it comes among the files to be fetched, groups of
    /// which all goes at the end, or first where space is short.
    package let groups: [GroupChange]
    /// In the order of their names.
    package let blocked: [Blocked]
    /// Whether space is short, so that files go before others come.
    package let deletesFirst: Bool
    /// Bytes of the files to be fetched.
    package let fetchedByteCount: Int64

    /// Decides about each of `items` and orders what is to be done.
    ///
    /// - parameter unixSeconds: now, for directories that are announced again because something in them is needed.
    package init(items: [PlanItem], rules: FolderRules, options: PlanOptions = PlanOptions(), unixSeconds: Int64) {
        let decided = items.map { item in
            Decided(
                name: item.global?.name ?? item.local?.file.name ?? "",
                action: Reconciler.decide(
                    local: item.local, global: item.global, isKept: item.isKept, rules: rules,
                    unixSeconds: unixSeconds))
        }
        self.init(decided, rules: rules, options: options, unixSeconds: unixSeconds)
    }

    /// Orders `actions`, each about another name.
    package init(actions: [Action], rules: FolderRules, options: PlanOptions = PlanOptions(), unixSeconds: Int64) {
        let decided = actions.compactMap { action in action.name.map { Decided(name: $0, action: action) } }
        self.init(decided, rules: rules, options: options, unixSeconds: unixSeconds)
    }

    private init(_ decided: [Decided], rules: FolderRules, options: PlanOptions, unixSeconds: Int64) {
        let sorted = decided.filter { $0.action != .nothing }.sorted { PathOrder.precedes($0.name, $1.name) }
        var builder = PlanBuilder(sorted, groups: options.groups)
        builder.block()
        builder.retainDirectories(rules: rules, unixSeconds: unixSeconds)
        builder.blockGroups()
        builder.matchRenames()

        var needed: Int64 = 0
        for item in builder.items {
            guard case .fetch(let file, _) = item.action else { continue }
            let sum = needed.addingReportingOverflow(max(0, file.size))
            needed = sum.overflow ? .max : sum.partialValue
        }
        fetchedByteCount = needed
        deletesFirst = options.freeByteCount.map { $0 < options.neededByteCount ?? needed } ?? false
        let ordered = builder.steps(deletesFirst: deletesFirst, options: options)
        (steps, fetchPosition, groups) = (ordered.all, ordered.fetchPosition, ordered.groups)
        blocked = builder.items.compactMap { item in
            guard case .blocked(let obstacle) = item.action else { return nil }
            return Blocked(name: item.name, obstacle: obstacle)
        }
    }

    package var isEmpty: Bool { steps.isEmpty && groups.isEmpty }
}

/// What was decided about one name.
struct Decided {
    var name: String
    var action: Action
}
