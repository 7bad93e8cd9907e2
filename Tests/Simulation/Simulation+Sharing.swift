import AgentConfiguration
import BlockExchange
import SyncTestKit

@testable import FolderSync
@testable import SessionTestKit

/// What users have paused and do not share now.
struct Sharing {
    var pausedFolders: Set<Int> = []
    var pausedDevices: Set<Network.Pair> = []
    /// Who does not share the folder with whom.
    var withheld: Set<Network.Pair> = []
}

/// Folders and devices that are paused, folders that are shared no longer and again, and agents that are restarted.
extension Simulation {
    func changeSharing(of agent: SimulatedAgent) async throws {
        guard weather.sharing, agent.isUp else { return }
        let others = agents.filter { $0.number != agent.number }
        let other = generator.pick(others)
        let pair = Network.Pair(from: agent.number, to: other.number)
        switch generator.int(0...9) {
        case 0...2:
            let isPaused = sharing.pausedFolders.remove(agent.number) == nil
            if isPaused { sharing.pausedFolders.insert(agent.number) }
            trace.note("user \(agent.number): \(isPaused ? "pauses" : "resumes") the folder")
            try await configure(agent)
        case 3...5:
            let isWithheld = sharing.withheld.remove(pair) == nil
            if isWithheld { sharing.withheld.insert(pair) }
            trace.note("user \(agent.number): shares \(isWithheld ? "no longer" : "again") with \(other.number)")
            try await configure(agent)
        case 6...7:
            let isPaused = sharing.pausedDevices.remove(pair) == nil
            if isPaused { sharing.pausedDevices.insert(pair) }
            trace.note("user \(agent.number): \(isPaused ? "pauses" : "resumes") device \(other.number)")
            await configureDevices(of: agent)
        default:
            trace.note("user \(agent.number): restarts")
            await agent.drop()
            await executor.idle()
            try await start(agent)
        }
    }

    /// Everybody shares the folder with everybody, and nothing is paused.
    func shareAll() async throws {
        sharing = Sharing()
        for agent in agents where agent.isUp {
            try await configure(agent)
            await configureDevices(of: agent)
        }
    }

    /// Whom an agent shares the folder with.
    func sharers(of number: Int) -> [DeviceID] {
        agents.filter { !sharing.withheld.contains(.init(from: number, to: $0.number)) }.map(\.id)
            + [liar?.id].compactMap(\.self)
    }

    /// Gives an agent the settings that it would start with now, as a change of its configuration does.
    func configure(_ agent: SimulatedAgent) async throws {
        guard let process = agent.process else { return }
        var configuration = process.folder.configuration
        let wanted = rules(agent.number)
        configuration.devices = wanted.devices
        configuration.isPaused = wanted.isPaused
        configuration.mode = wanted.mode
        try await process.folder.exchange.applyRoles(configuration)
        await process.links.configure(process.folder, configuration)
        await executor.idle()
    }

    private func configureDevices(of agent: SimulatedAgent) async {
        for other in agents where other.number != agent.number {
            let isPaused = sharing.pausedDevices.contains(.init(from: agent.number, to: other.number))
            await agent.process?.links.device(other.id)?.configure(
                DeviceConfiguration(
                    id: other.id, name: "\(other.id.shortID)", addresses: [], isPaused: isPaused))
        }
        await executor.idle()
    }
}
