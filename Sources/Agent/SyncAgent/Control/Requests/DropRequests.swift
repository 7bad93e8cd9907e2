import ControlAPI
import FileDrop
import PeerLinks
import Transport

/// Sends and receives files one by one.
struct DropRequests: RequestGroup {
    let environment: DropEnvironment
    let listeners: ListenerBoard

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.dropSend, inBrowser: { try $0.checkBrowser() }) { try await send($0, emit: $1) }
        table.on(Endpoints.provideDropPart) { try await provide($0) }
        table.on(Endpoints.dropReceive) { try await receive($0, emit: $1) }
        table.on(Endpoints.answerDrop) { try await answer($0) }
    }

    private func send(
        _ request: DropSendRequest, emit: @Sendable (DropNotice) async throws -> Void
    ) async throws {
        let conversation = try environment.registry.begin()
        defer { environment.registry.end(conversation) }
        let session = DropSendSession(
            request: request, conversation: conversation, environment: environment)
        try await converse(conversation, emit) { try await session.run() }
    }

    private func receive(
        _ request: DropReceiveRequest, emit: @Sendable (DropNotice) async throws -> Void
    ) async throws {
        let conversation = try environment.registry.begin()
        defer { environment.registry.end(conversation) }
        let session = try await DropReceiveSession(
            request, listening: listeners.addresses.map(\.description), conversation: conversation,
            environment: environment)
        guard environment.registry.receive(session) else {
            throw ControlError(
                .busy, "Files are being received already, by `synctrain drop receive` or a page. Stop that first.",
                isRetryable: true)
        }
        defer { environment.registry.endReceiving() }
        try await converse(conversation, emit) { try await session.run() }
    }

    private func answer(_ answer: DropAnswer) async throws {
        guard let conversation = environment.registry.conversation(answer.session) else {
            throw ControlError.nothingToAnswer
        }
        try conversation.put(answer)
    }

    private func provide(_ part: DropPart) async throws {
        guard let conversation = environment.registry.conversation(part.session) else {
            throw ControlError(.notFound, "The transfer has ended. Send the file again.")
        }
        try conversation.put(part)
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
}
