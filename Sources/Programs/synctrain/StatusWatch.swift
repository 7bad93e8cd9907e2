import ControlAPI

/// Looks at the agent's status whenever something has happened in it, and at least once a second.
struct StatusWatch: Sendable {
    let agent: any AgentControl
    /// At most one look in this time.
    var pause = Duration.milliseconds(100)

    /// Looks until `judge` gives a value, which is returned, or until the time is over: then nil, after one look at least.
    func first<Value: Sendable>(
        until deadline: ContinuousClock.Instant? = nil, _ judge: @Sendable (AgentStatus) async throws -> Value?
    ) async throws -> Value? {
        let (news, report) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                // Without events there is still the clock; what is wrong with the agent, its status says.
                try? await agent.call(Endpoints.events) { _ in report.yield() }
            }
            group.addTask {
                while true {
                    let tick = ContinuousClock.now + .seconds(1)
                    let isLast = deadline.map { (ContinuousClock.now..<tick).contains($0) } ?? false
                    try await Task.sleep(until: isLast ? deadline ?? tick : tick, clock: .continuous)
                    report.yield()
                }
            }
            var events = news.makeAsyncIterator()
            while true {
                if let value = try await judge(try await agent.call(Endpoints.status)) { return value }
                if let deadline, ContinuousClock.now >= deadline { return nil }
                guard await events.next() != nil else { throw CancellationError() }
                let next = ContinuousClock.now + pause
                try await Task.sleep(until: min(next, deadline ?? next), clock: .continuous)
            }
        }
    }
}
