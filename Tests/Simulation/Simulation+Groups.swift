import BlockExchange
import Names
import Reconciliation
import Selection

@testable import FolderSync

/// Files that belong together change together.
extension Simulation {
    /// What is to be done about each group by what the agent's index says; groups that something is wrong with are left out.
    private func pending(_ agent: SimulatedAgent) async -> [FileGroup: [NameKey: VersionVector]] {
        guard !weather.groups.isEmpty, let folder = try? agent.process?.folder.runner.reading()
        else { return [:] }
        var pending: [FileGroup: [NameKey: VersionVector]] = [:]
        let patterns = folder.groupPatterns
        for group in Set(Self.names.compactMap { patterns.group(of: $0) }) {
            guard let facts = try? await folder.index.facts(group.names) else { continue }
            let items = facts.map {
                PlanItem(
                    local: $0.localVersion, global: $0.global, isKept: !folder.selection.isLeftOut($0.name))
            }
            pending[group] = GroupChange.pending(items, rules: folder.rules, unixSeconds: agent.wall.seconds)
        }
        return pending
    }

    /// Called before an agent does something.
    func noteGroups(_ agent: SimulatedAgent) async {
        guard agent.groupsBefore == nil else { return }
        agent.filled = []
        agent.groupsBefore = await pending(agent)
    }

    /// What the agent has put into its place since then must have come together with all that was to be done about its group
    /// all that time. After a death that is to be so once the next process has looked.
    func checkGroups(_ agent: SimulatedAgent) async {
        guard let before = agent.groupsBefore, let folder = agent.process?.folder,
            folder.boards.status.snapshot.hasScanned
        else { return }
        agent.groupsBefore = nil
        let after = await pending(agent)
        let problems = folder.boards.status.snapshot.problems
        for (group, versions) in before {
            guard let left = after[group], let facts = try? await folder.runner.reading().index.facts(group.names)
            else { continue }
            let placed = facts.filter { facts in
                agent.filled.contains(facts.name) && facts.local?.status != nil && versions[facts.name] != nil
                    && left[facts.name] == nil && facts.local?.file.version == versions[facts.name]
            }
            let waiting = left.filter { versions[$0.key] == $0.value }.keys.map(\.text)
            for name in placed.map(\.name) {
                for other in waiting where problems[name] == nil && problems[other] == nil {
                    trace.violate("agent \(agent.number) placed \(name) without \(other), which was needed as well")
                }
            }
            if placed.count > 1 { trace.note("agent \(agent.number) placed \(placed.count) files of a group") }
        }
    }
}
