import AgentConfiguration
import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Reconciliation
import Selection

/// Bringing this disk to the global version of what is kept.
extension FolderEngine {
    /// Names that one plan is made of: renames are found within a plan.
    private static let planLimit = 10_000
    private static let pageLimit = 1000

    /// Does what is needed, window by window. Throws `FolderHalt` or what the index says.
    func pull() async throws {
        let place = try await currentPlace()
        var isComplete = true
        var cursor: String?
        var isFirst = true
        repeat {
            let window = try await needed(place, after: cursor)
            cursor = window.next
            if window.facts.isEmpty { continue }
            if isFirst {
                isFirst = false
                activity.set(phase: .syncing)
                try await countNeed()
                session.engineChanged()
            }
            let options = PlanOptions(
                order: PullOrder(session.configuration.order), priorities: try priorities(),
                freeByteCount: Int64(clamping: try freeBytes(place)), neededByteCount: nil)
            let plan = Plan(
                items: window.facts.map {
                    PlanItem(
                        local: $0.localVersion, global: $0.global, isKept: !place.selection.isLeftOut($0.name))
                }, rules: rules, options: options, unixSeconds: environment.time.wall().seconds)
            for blocked in plan.blocked { note(blocked, place) }
            var performer = PlanPerformer(engine: self, place: place, facts: window.facts)
            let isDone = try await performer.perform(plan)
            isComplete = isComplete && isDone && plan.blocked.isEmpty
        } while cursor != nil
        try await countNeed()
        let now = environment.time.monotonic()
        state.withLock { isComplete ? $0.agenda.succeeded() : $0.agenda.retryLater(at: now) }
        if isComplete { activity.set(isShortOfSpace: false) }
        activity.finishedRound()
        if !isFirst { session.engineChanged() }
    }

    /// The next names of which this device has not what it should have.
    private func needed(
        _ place: FolderPlace, after: String?
    ) async throws -> (facts: [NameFacts], next: String?) {
        let selection = place.selection
        var facts: [NameFacts] = []
        var cursor = after
        repeat {
            let page = try await index.needed(
                in: folder, after: cursor, limit: Self.pageLimit, isKept: { !selection.isLeftOut($0) },
                mayContain: { selection.mayContainSelected($0) })
            facts += page.entries.map { NameFacts($0) }
            cursor = page.next
        } while cursor != nil && facts.count < Self.planLimit
        return (facts, cursor)
    }

    /// What the index knows of these names, in their order.
    func facts(_ names: [String]) async throws -> [NameFacts] {
        try await index.facts(in: folder, names: names)
    }

    /// Brings `status` in line with what is needed now.
    func countNeed() async throws {
        guard case .success(let place) = session.place() else { return }
        let selection = place.selection
        let need = try await index.neededTotals(
            in: folder, isKept: { !selection.isLeftOut($0) }, mayContain: { selection.mayContainSelected($0) })
        activity.set(need: need)
    }

    private func note(_ blocked: Plan.Blocked, _ place: FolderPlace) {
        switch blocked.obstacle {
        case .mustRescan: if let path = RelativePath(blocked.name) { scanSoon([path]) }
        case .unsupported:
            activity.note(
                "something that cannot be synced is in its place; move it away", at: blocked.name)
        case .directoryNotEmpty:
            activity.note(
                "a directory with files that are needed is in its place; move them away", at: blocked.name)
        case .parentNotDirectory:
            activity.note("a file is where its directory would be; move that file away", at: blocked.name)
        }
    }

    private func priorities() throws -> PriorityPatterns {
        do {
            return try PriorityPatterns(session.configuration.priority)
        } catch {
            logger.warning("the priorities of the folder are not used: \(error)")
            return .none
        }
    }

    /// Bytes that may still be used.
    private func freeBytes(_ place: FolderPlace) throws -> UInt64 {
        let space = try place.root.freeSpace()
        let floor = freeSpaceFloor(of: space)
        return space.available > floor ? space.available - floor : 0
    }

    func freeSpaceFloor(of space: FreeSpace) -> UInt64 {
        UInt64(clamping: session.configuration.minimumFree.byteCount(ofDisk: Int64(clamping: space.total)))
    }

    /// Writes changes of what this device has into the index, and tells those who send it on.
    func apply(_ changes: [LocalChange], _ place: FolderPlace) async throws {
        guard !changes.isEmpty else { return }
        let selection = place.selection
        let result = try await index.applyLocal(in: folder, changes, isIgnored: { selection.isLeftOut($0) })
        session.ownIndexChanged()
        if result.changedCount > 0 { indexChanged() }
    }
}

extension PullOrder {
    init(_ order: FolderConfiguration.Order) {
        self =
            switch order {
            case .smallFirst: .smallestFirst
            case .newest: .newestFirst
            case .alphabetic: .alphabetic
            }
    }
}
