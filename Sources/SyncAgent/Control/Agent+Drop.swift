import ControlAPI
import Transport

/// Sending and receiving files one by one, as clients ask for it.
extension Agent {
    public func dropSend(
        _ request: DropSendRequest, emit: @Sendable (DropNotice) async throws -> Void
    ) async throws {
        try await answering {
            let conversation = try drops.begin()
            defer { drops.end(conversation) }
            let session = DropSendSession(
                request: request, conversation: conversation, environment: dropEnvironment)
            try await converse(conversation, emit) { try await session.run() }
        }
    }

    public func dropReceive(
        _ request: DropReceiveRequest, emit: @Sendable (DropNotice) async throws -> Void
    ) async throws {
        try await answering {
            let conversation = try drops.begin()
            defer { drops.end(conversation) }
            let session = try await DropReceiveSession(
                request, listening: listeningAddresses.map(\.description), conversation: conversation,
                environment: dropEnvironment)
            guard drops.receive(session) else {
                throw ControlError(
                    .busy, "Another `synctrain drop receive` is already running. Stop it first.",
                    isRetryable: true)
            }
            defer { drops.endReceiving() }
            try await converse(conversation, emit) { try await session.run() }
        }
    }

    public func answerDrop(_ answer: DropAnswer) async throws {
        try await answering {
            guard let conversation = drops.conversation(answer.session) else { throw ControlError.nothingToAnswer }
            try conversation.put(answer)
        }
    }

    /// Runs `work` and passes on what it tells, all of it, before its error.
    private func converse(
        _ conversation: DropConversation, _ emit: @Sendable (DropNotice) async throws -> Void,
        _ work: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { conversation.finish() }
                try await work()
            }
            defer { group.cancelAll() }
            for await notice in conversation.notices { try await emit(notice) }
            try await group.waitForAll()
        }
    }

    private var dropEnvironment: DropEnvironment {
        DropEnvironment(
            registry: drops, devices: devices, known: { self.configuration.withLock { $0.devices } },
            transports: setup.transports.compactMap { $0 as? any LegacyTransport }, nearby: setup.nearby,
            start: { self.start(.drop($0)) }, threads: threads, time: setup.time, logger: setup.logger)
    }
}
