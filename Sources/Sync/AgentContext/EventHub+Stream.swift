import ControlAPI

extension EventHub {
    /// Hands out what happens behind an event, or from now on, until cancelled; with an event `gap` where some are missing.
    ///
    /// - Parameter begin: Is told, before the first event, the id to come back with.
    /// - Throws: what `begin` and `emit` throw. A cancellation ends it without an error.
    package func stream(
        after id: String?, begin: @Sendable (_ id: String) async throws -> Void,
        emit: @Sendable (AgentEvent) async throws -> Void
    ) async throws {
        let beginning = listen(after: id)
        var last = (beginning.missed.first?.number ?? beginning.last + 1) - 1
        try await begin(self.id(last))
        if beginning.hasGap { try await emit(gap(before: last)) }
        for missed in beginning.missed {
            try await emit(missed.event)
            last = missed.number
        }
        for await next in beginning.stream {
            if next.number > last + 1 { try await emit(gap(before: next.number - 1)) }
            try await emit(next.event)
            last = next.number
        }
    }

    private func gap(before number: Int) -> AgentEvent {
        var event = AgentEvent(
            type: "gap", time: now.rfc3339, message: "Events were lost: reload everything.")
        event.id = self.id(number)
        return event
    }
}
