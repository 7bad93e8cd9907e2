import AgentContext
import BlockExchange
import Fetching
import LinkRules
import LinkSecurity
import Transport

/// Dials the addresses that a connected device wants tested, and says what came of each. What it dials is closed as soon as it is known
/// who is there.
struct ReachTester: Sendable {
    /// How long one dial may take, with its TLS handshake.
    static let dialLimit: Duration = .seconds(5)
    /// Dials at a time: sixteen addresses take 10 s at most.
    static let dialsAtOnce = 8

    let asker: DeviceID
    let rule: ReachTestRule
    let environment: LinkEnvironment

    /// - Returns: an answer with a result for each address, in their order.
    func answer(_ request: ReachRequest) async -> ReachAnswer {
        guard environment.dialTest != nil else { return ReachAnswer(refusal: .unavailable) }
        let decisions = request.addresses.map(rule.decision)
        var results = decisions.map { decision -> ReachAnswer.Result in
            switch decision {
            case .leave(let outcome): ReachAnswer.Result(outcome)
            case .dial(let address, let isSeen): ReachAnswer.Result(.busy, address: isSeen ? "\(address)" : nil)
            }
        }
        await withTaskGroup(of: (Int, ReachAnswer.Outcome).self) { group in
            var running = 0
            for (index, decision) in decisions.enumerated() {
                guard case .dial(let address, _) = decision else { continue }
                if running == Self.dialsAtOnce, let (index, outcome) = await group.next() {
                    results[index].outcome = outcome
                    running -= 1
                }
                group.addTask { (index, await dial(address)) }
                running += 1
            }
            for await (index, outcome) in group { results[index].outcome = outcome }
        }
        return ReachAnswer(results: results)
    }

    private func dial(_ address: LinkAddress) async -> ReachAnswer.Outcome {
        guard environment.dialBudget.take() else { return .busy }
        defer { environment.dialBudget.give() }
        return await withTaskGroup(of: ReachAnswer.Outcome.self) { group in
            group.addTask { await outcome(of: address) }
            group.addTask {
                try? await environment.time.clock.sleep(for: Self.dialLimit)
                return .timedOut
            }
            let first = await group.next() ?? .timedOut
            group.cancelAll()
            return first
        }
    }

    private func outcome(of address: LinkAddress) async -> ReachAnswer.Outcome {
        guard let dialTest = environment.dialTest else { return .notTried }
        do {
            return try await dialTest(address, Self.dialLimit, asker) == asker ? .reached : .otherDevice
        } catch {
            return Self.outcome(of: error)
        }
    }

    /// What a dial came to that led to no link.
    static func outcome(of error: any Error) -> ReachAnswer.Outcome {
        switch error {
        case is CancellationError: .timedOut
        case let error as LinkError:
            switch error.code {
            case .refused: .refused
            case .timedOut: .timedOut
            default: .unreachable
            }
        case let error as LinkSecurityError: error.code == .handshakeTimeout ? .timedOut : .otherDevice
        // The connection was made and broke before anybody showed a certificate.
        default: .otherDevice
        }
    }
}

extension DeviceLinkOwner {
    /// Tests addresses for the device, one request at a time and one each 10 s.
    func answer(_ request: ReachRequest, _ session: PeerSession) async -> ReachAnswer {
        let now = environment.time.monotonic()
        if let refusal = device.reachQuota.withLock({ $0.begin(at: now) }) { return ReachAnswer(refusal: refusal) }
        defer { device.reachQuota.withLock { $0.end() } }
        let known = environment.knownDevices().first { $0.id == device.id }
        let policy = environment.dialPolicy()
        let rule = ReachTestRule(
            link: session.information, networks: environment.networks().prefixes,
            // The configuration was checked when it was read; a list that cannot be read opens nothing.
            allowed: (try? AllowedNetworks(parsing: known?.allowedNetworks ?? [])) ?? .nothing,
            hasProxy: policy.hasProxy || !policy.allowsDirect)
        return await ReachTester(asker: device.id, rule: rule, environment: environment).answer(request)
    }
}
