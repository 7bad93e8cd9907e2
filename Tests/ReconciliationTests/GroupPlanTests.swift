import BlockExchange
import Names
import Reconciliation
import Selection
import Testing

/// What a plan does about files that belong together.
@Suite struct GroupPlanTests {
    typealias S = Sample

    private static let old = S.version((S.other, 1))
    private static let new = S.version((S.other, 2))

    private func item(
        _ name: String, old: String? = nil, new: String? = nil, isKept: Bool = true, isDoubted: Bool = false
    ) -> PlanItem {
        let local = old.map {
            LocalVersion(
                file: S.file($0, Self.old, name: name), flags: isDoubted ? .mustRescan : [], isOnDisk: true)
        }
        let global = new.map { S.file($0, Self.new, name: name) } ?? S.tombstone(Self.new, name: name)
        return PlanItem(local: local, global: global, isKept: isKept)
    }

    private func plan(_ items: [PlanItem], free: Int64? = nil) throws -> Plan {
        let groups = try GroupPatterns(["*.{a,b,c}"])
        return Plan(
            items: items, rules: S.rules(),
            options: PlanOptions(order: .alphabetic, freeByteCount: free, groups: groups), unixSeconds: S.now)
    }

    /// The names of single steps, and those of groups with how many single files come before.
    private func words(_ plan: Plan) -> [String] {
        plan.steps.compactMap(\.name)
            + plan.groups.map { "\($0.precedingFetches): " + $0.actions.compactMap(\.name).joined(separator: " ") }
    }

    @Test func whatChangesTogether() throws {
        // One is fetched, one goes, and one is as it should be; single files come in their order.
        let items = [
            item("m.a", old: "1", new: "2"), item("m.b", old: "3"), item("z", new: "z"), item("b", new: "b"),
            item("gone", old: "gone"), item("unkept.a", new: "x", isKept: false),
        ]
        #expect(words(try plan(items)) == ["b", "z", "gone", "1: m.a m.b"])
        #expect(try plan(items).fetchPosition == 0)
        #expect(try plan(items.reversed()) == (try plan(items)))
        // A group that goes as a whole, at the end, or first where space is short.
        let going = [item("m.a", old: "1"), item("m.b", old: "3"), item("z", new: "z")]
        #expect(words(try plan(going)) == ["z", "1: m.a m.b"])
        #expect(words(try plan(going, free: 0)) == ["z", "0: m.a m.b"])
        // One file of a group that goes is like any other; one that comes is looked at again before it is placed.
        #expect(words(try plan([item("m.a", old: "1")])) == ["m.a"])
        #expect(words(try plan([item("m.a", new: "1")])) == ["0: m.a"])
    }

    @Test func noRenameTakesAFileOutOfItsGroup() throws {
        let items = [item("m.a", old: "1"), item("n.a", new: "1"), item("n.b", new: "2"), item("x", new: "1")]
        #expect(words(try plan(items)) == ["x", "m.a", "0: n.a n.b"])
        #expect(try plan(items).steps.contains { if case .rename = $0 { true } else { false } } == false)
    }

    @Test func oneThatIsInDoubtHoldsTheOthersBack() throws {
        let plan = try plan([
            item("m.a", old: "1", new: "2", isDoubted: true), item("m.b", new: "3"), item("m.c", old: "4"),
            item("n.a", new: "5"),
        ])
        #expect(words(plan) == ["0: n.a"])
        #expect(
            plan.blocked.map(\.obstacle) == [.mustRescan, .groupMember("m.a"), .groupMember("m.a")])
    }

    @Test func whatIsPending() {
        func pending(_ items: PlanItem...) -> [NameKey: VersionVector]? {
            GroupChange.pending(items, rules: S.rules(), unixSeconds: S.now)
        }
        #expect(pending(item("m.a", old: "1", new: "2"), item("m.b", old: "3")) == ["m.a": Self.new, "m.b": Self.new])
        // The same contents in a newer version, what is not kept, and what nobody knows.
        #expect(
            pending(
                item("m.a", old: "1", new: "1"), item("m.b", new: "2", isKept: false),
                PlanItem(local: nil, global: nil, isKept: true)) == [:])
        #expect(pending(item("m.a", old: "1", new: "2", isDoubted: true), item("m.b", new: "3")) == nil)
    }
}
