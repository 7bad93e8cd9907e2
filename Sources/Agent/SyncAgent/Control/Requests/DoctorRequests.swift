import AgentContext
import AsyncTools
import ControlAPI
import Diagnosis
import IndexStore
import PeerLinks
import ThumbnailService

/// Examines this device: gathers what is known and says what follows from it.
struct DoctorRequests: RequestGroup {
    let status: StatusRequests
    let reach: ReachRequests
    /// Nil where nobody knows the machine.
    let examine: (@Sendable () -> MachineFacts)?
    let devices: DeviceRegistry
    let index: IndexStore
    let thumbnails: ThumbnailBoard
    let threads: any DiskThreads
    let time: AgentTime

    /// How long the index is checked for damage: a reader beside others, which others hardly wait for.
    private static let checkLimit: Duration = .seconds(2)

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.doctor) { try await report() }
    }

    private func report() async throws -> DoctorReport {
        let machine = try await threads.runIfActive { [examine] in examine?() }
        let agent = AgentFacts(
            program: machine?.program ?? "synctrain", status: try await status.status(), reach: await reach.report,
            pending: try await status.pendingList(), database: await database(), skews: skews,
            inotify: machine?.inotify, thumbnailProblems: thumbnails.problems)
        let own = DoctorFinding(.agent, "agent", .ok, Phrase("The agent \(AgentVersion.current) runs."))
        return DoctorReport(findings: [own] + (machine?.findings ?? []) + agent.findings)
    }

    private var skews: [AgentFacts.Skew] {
        devices.all.compactMap { device in
            let state = device.state
            guard state.session != nil, let seconds = state.clockSkew else { return nil }
            return AgentFacts.Skew(device: device.id.description, seconds: seconds)
        }
    }

    // MARK: the index

    private func database() async -> AgentFacts.Database {
        do {
            let extent = try await index.extent()
            guard let damage = try await damage() else {
                return .sound(bytes: extent.bytes, schema: extent.schema, isWhole: false)
            }
            return damage.isEmpty
                ? .sound(bytes: extent.bytes, schema: extent.schema, isWhole: true)
                : .damaged(damage.joined(separator: "; "))
        } catch {
            return .unreadable("\(error)")
        }
    }

    /// What is wrong with the index; nil if the time did not suffice to say.
    private func damage() async throws -> [String]? {
        try await withThrowingTaskGroup(of: [String]?.self) { group in
            group.addTask {
                do { return try await index.damage() } catch is CancellationError { return nil }
            }
            group.addTask {
                try? await time.clock.sleep(for: Self.checkLimit)
                return nil
            }
            let first = try await group.next() ?? nil
            group.cancelAll()
            return first
        }
    }
}
