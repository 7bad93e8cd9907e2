import BlockExchange
import Reconciliation
import Testing

@Suite struct ConvergenceTests {
    /// Lets `body` run with many seeds; says with which one it failed, and what had happened.
    private func check(
        seeds: Range<UInt64> = 0..<200, _ make: (UInt64) -> Cluster, _ body: (inout Cluster) throws -> String?
    ) {
        for seed in seeds {
            var cluster = make(seed)
            guard let problem = outcome(&cluster, body) else { continue }
            // The same once more, told in full.
            var again = make(seed)
            again.isTracing = true
            _ = outcome(&again, body)
            Issue.record("seed \(seed): \(problem)\n\(again.log.joined(separator: "\n"))")
            return
        }
    }

    private func outcome(_ cluster: inout Cluster, _ body: (inout Cluster) throws -> String?) -> String? {
        do { return try body(&cluster) } catch { return "\(error)" }
    }

    private func live(_ cluster: inout Cluster, _ habits: Cluster.Habits = Cluster.Habits(), count: Int = 18) throws {
        for _ in 0..<count {
            try cluster.act(habits)
            for _ in 0..<cluster.random.int(0...3) { try cluster.step() }
        }
    }

    private func verdict(_ cluster: Cluster, _ indexes: [Int]) -> String? {
        if !cluster.lost.isEmpty { return "lost: \(cluster.lost)" }
        let differences = cluster.differences(indexes)
        guard differences.isEmpty else {
            return differences.map { name in
                let items = cluster.replicas.map {
                    String(describing: $0.disk[name]) + " \(String(describing: $0.rows[name]))"
                }
                return "\(name): " + items.joined(separator: "\n   ")
            }.joined(separator: "\n")
        }
        return nil
    }

    @Test func replicasConvergeAndNothingIsLost() {
        check({ Cluster(Int($0 % 3) + 2, seed: $0) }) { cluster in
            try live(&cluster)
            try cluster.settle()
            return verdict(cluster, Array(cluster.replicas.indices))
        }
    }

    @Test func replicasThatStartWithFilesOfTheirOwnConverge() {
        check({ Cluster(3, seed: $0) }) { cluster in
            // Nobody hears of anybody until all have much.
            for _ in 0..<20 { try cluster.act() }
            try cluster.settle()
            return verdict(cluster, Array(cluster.replicas.indices))
        }
    }

    @Test func devicesOfTheOtherRuleConvergeToo() {
        let make = { (seed: UInt64) in
            var cluster = Cluster(Int(seed % 2) + 2, seed: seed)
            cluster.replicas[0].isSyncthing2 = true
            return cluster
        }
        check(make) { cluster in
            try live(&cluster)
            try cluster.settle()
            return verdict(cluster, Array(cluster.replicas.indices))
        }
    }

    @Test func whatIsNotSelectedIsNeitherFetchedNorDeleted() {
        // That no step touches what is not kept is checked at every step.
        check({ Cluster(3, seed: $0) }) { cluster in
            var habits = Cluster.Habits()
            habits.selects = true
            try live(&cluster, habits, count: 30)
            try cluster.settle()
            return cluster.lost.isEmpty ? nil : "lost: \(cluster.lost)"
        }
    }

    @Test func selectingEverythingAgainConverges() {
        check({ Cluster(3, seed: $0) }) { cluster in
            var habits = Cluster.Habits()
            habits.selects = true
            try live(&cluster, habits, count: 30)
            try cluster.settle()
            for index in cluster.replicas.indices { cluster.replicas[index].select(leavingOut: []) }
            try cluster.settle()
            return verdict(cluster, Array(cluster.replicas.indices))
        }
    }

    @Test func theOrderOfNewsDoesNotMatter() {
        var habits = Cluster.Habits()
        habits.deletes = false
        habits.renames = false
        habits.shifts = false
        check({ Cluster(3, seed: $0) }) { cluster in
            try live(&cluster, habits, count: 8)
            try cluster.settle()
            for _ in 0..<10 { try cluster.act(habits) }
            var other = cluster
            for _ in 0..<7 { _ = other.random.next() }
            try cluster.settle()
            try other.settle()
            func summary(_ cluster: Cluster) -> [String: DiskItem] {
                cluster.replicas[0].disk.filter { !ConflictName.isCopy($0.key) && $0.value.kind == .file }
            }
            // Who makes a copy, and so how many there are of one content, may differ.
            func copies(_ cluster: Cluster) -> Set<String> {
                Set(cluster.replicas[0].disk.filter { ConflictName.isCopy($0.key) }.values.map(\.content))
            }
            if summary(cluster) != summary(other) { return "\(summary(cluster))\n\(summary(other))" }
            return copies(cluster) == copies(other) ? nil : "\(copies(cluster))\n\(copies(other))"
        }
    }

    @Test func aDeviceThatOnlyReceivesKeepsItsChangesToItself() {
        let make = { (seed: UInt64) in
            var cluster = Cluster(3, seed: seed)
            cluster.replicas[2].rules.kind = .receiveOnly
            return cluster
        }
        check(make) { cluster in
            try live(&cluster)
            try cluster.settle()
            if let problem = verdict(cluster, [0, 1]) { return problem }
            let counter = cluster.replicas[2].id
            for replica in cluster.replicas.dropLast() {
                for row in replica.rows.values where row.file.version.value(of: counter) > 0 {
                    return "\(row.file.name) came from the device that only receives"
                }
            }
            // Reverted, it is as the others are.
            let replica = cluster.replicas[2]
            let actions = replica.names.map {
                Reconciler.revert(
                    local: replica.rows[$0], global: replica.global($0), isKept: true, rules: replica.rules)
            }
            let plan = Plan(actions: actions, rules: replica.rules, unixSeconds: cluster.now)
            for step in plan.steps {
                _ = try cluster.replicas[2].apply(
                    step, contents: cluster.servedContents(besides: 2), forgets: false, now: cluster.now)
            }
            try cluster.settle()
            let differences = cluster.differences([0, 1, 2])
            return differences.isEmpty ? nil : "after revert: \(differences)"
        }
    }

    @Test func aDeviceThatOnlySendsIsNeverChangedAndCanOverride() {
        let make = { (seed: UInt64) in
            var cluster = Cluster(3, seed: seed)
            cluster.replicas[0].rules.kind = .sendOnly
            return cluster
        }
        check(make) { cluster in
            try live(&cluster)
            try cluster.settle()
            if let problem = verdict(cluster, [1, 2]) { return problem }
            let before = cluster.replicas[0].disk
            let replica = cluster.replicas[0]
            for name in replica.names {
                guard
                    let row = Reconciler.override(
                        local: replica.rows[name], global: replica.global(name), isKept: true, rules: replica.rules,
                        unixSeconds: cluster.now)
                else { continue }
                cluster.replicas[0].set(row, of: name)
            }
            try cluster.settle()
            if cluster.replicas[0].disk != before { return "its disk has changed" }
            let differences = cluster.differences([0, 1, 2])
            return differences.isEmpty ? nil : "after override: \(differences)"
        }
    }
}
