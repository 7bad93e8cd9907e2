import AgentContext
import BlockExchange
import ControlAPI
import PeerLinks
import Phrases
import Transport

/// Says how this device is reached from elsewhere, and what was tried to reach others; has others test the former.
struct ReachRequests: RequestGroup {
    let reach: (any WideReach)?
    let devices: DeviceRegistry
    let listeners: ListenerBoard
    let time: AgentTime

    /// How long a device has to answer; it needs 10 s at most for its dials.
    private static let answerLimit: Duration = .seconds(15)

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.reach) { await report }
        table.on(Endpoints.testReach) { await test() }
    }

    var report: ReachReport {
        get async {
            var report = await reach?.report ?? ReachReport()
            report.devices = devices.all.map(\.reachReport)
            return report
        }
    }

    /// As people know a device that has no name.
    private static func name(_ device: DeviceSession) -> String {
        let name = device.state.name
        return name.isEmpty ? "\(device.id.shortID)" : name
    }

    // MARK: testing

    private typealias Connected = (name: String, session: PeerSession, candidate: ReachTestPlan.Candidate)

    private func test() async -> ReachTest {
        let report = await reach?.report ?? ReachReport()
        let relay = ReachTestWords.relay(report.relays)
        let connected = devices.all.compactMap { device -> Connected? in
            guard let session = device.session else { return nil }
            let candidate = ReachTestPlan.Candidate(
                kind: session.kind, isLocal: session.route == .localNetwork, takesTests: session.takesReachTests)
            return (Self.name(device), session, candidate)
        }
        let listening = listeners.addresses.filter { if case .tcp = $0 { true } else { false } }
        let chosen = listening.isEmpty ? [] : ReachTestPlan.chosen(connected.map(\.candidate)).map { connected[$0] }
        guard !chosen.isEmpty else {
            return ReachTest(
                devices: [], relay: relay,
                advice: ReachTestWords.nobody(connected: connected.map(\.name), isListening: !listening.isEmpty))
        }
        let own = OwnAddresses.all().compactMap { IPAddress($0) }
        let mapped = reach?.mappedAddresses ?? []
        let tested = await withTaskGroup(of: (Int, ReachTest.Device).self) { group in
            for (index, device) in chosen.enumerated() {
                let addresses = ReachTestPlan.addresses(
                    listening: listening, mapped: mapped, announced: report.announcedAddresses, own: own,
                    for: device.candidate)
                group.addTask { (index, await ask(device, addresses)) }
            }
            var all: [(Int, ReachTest.Device)] = []
            for await one in group { all.append(one) }
            return all.sorted { $0.0 < $1.0 }.map(\.1)
        }
        let port: UInt16? = if case .tcp(_, let port)? = listening.first { port } else { nil }
        return ReachTest(
            devices: tested, relay: relay,
            advice: ReachTestWords.advice(tested, isRelayed: relay.isReachable, port: port))
    }

    /// Has one device test these addresses.
    private func ask(_ device: Connected, _ addresses: [String]) async -> ReachTest.Device {
        var result = ReachTest.Device(
            id: device.session.device.description, name: device.name, transport: device.session.kind.rawValue,
            isLocal: device.candidate.isLocal)
        guard !addresses.isEmpty else {
            result.problemPhrase = Phrase("no address of this device is known that it could test")
            return result
        }
        let answer = await withTaskGroup(of: Result<ReachAnswer, any Error>?.self) { group in
            group.addTask {
                do { return .success(try await device.session.test(ReachRequest(addresses: addresses))) } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                try? await time.clock.sleep(for: Self.answerLimit)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        switch answer {
        case .success(let answer):
            result.problemPhrase = answer.refusal.map(ReachTestWords.problem)
            result.results = ReachTestPlan.results(of: answer, to: addresses)
        case .failure: result.problemPhrase = ReachTestWords.linkLost
        case nil: result.problemPhrase = ReachTestWords.noAnswer
        }
        return result
    }
}
