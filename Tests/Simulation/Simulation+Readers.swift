import BlockExchange
import ControlAPI

@testable import FolderSync

/// Agents that may only read: what they change is nowhere else, until the others let it in.
extension Simulation {
    /// Checks that nothing came from the readers, and then lets all of it in: by accepting it for half of the seeds, and by
    /// making writers of them for all.
    func releaseReaders() async throws -> [String] {
        var problems: [String] = []
        for agent in agents where !weather.readers.contains(agent.number) {
            for (name, item) in agent.files.tree().sorted(by: { $0.key < $1.key }) {
                guard let content = item.content, let author = ledger.writings[content]?.author,
                    weather.readers.contains(author)
                else { continue }
                problems.append("agent \(agent.number): \(name) has what agent \(author) wrote, who may only read")
            }
        }
        guard problems.isEmpty else { return problems }
        for agent in agents where !weather.readers.contains(agent.number) {
            let count = try await agent.process?.index.refusedCount(in: SimulatedAgent.folder, limit: 1000).count ?? 0
            if count > 0 { trace.note("agent \(agent.number) refuses \(count)") }
        }
        if seed % 2 == 0 {
            for agent in agents where !weather.readers.contains(agent.number) {
                await inProcess(of: agent) { process in
                    // There may be nothing to accept.
                    _ = try? await process.folder.runner.perform(SettleRefusedStep(paths: [""], action: .accept))
                }
            }
            problems += try await settle()
        }
        hasReleasedReaders = true
        for agent in agents {
            guard let process = agent.process else { continue }
            var configuration = process.folder.configuration
            configuration.readers = []
            try await process.folder.exchange.applyRoles(configuration)
            process.folder.configure(configuration)
            let refused = try await process.index.refusedCount(in: SimulatedAgent.folder, limit: 10).count
            if refused > 0 { problems.append("agent \(agent.number): \(refused) are refused though all may write") }
        }
        return problems + (try await settle())
    }
}
