import LinkSecurity
import NIOCore
import Pairing

/// The messages of one link on which an invitation is redeemed.
struct InvitationTalk {
    private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private let outbound: LinkWriter
    private var reader = InvitationMessageReader()

    /// Longer than a dialogue of programs takes; a guest that was slowed down for wrong secrets waits as well.
    static let limit: Duration = .seconds(60)

    /// Runs a dialogue and closes the link. Throws `InvitationRefusal` for what the other end refuses or gets wrong and
    /// for the end of time, and what the link throws.
    static func run<Result: Sendable>(
        on link: SecureLink, clock: any Clock<Duration>,
        _ body: @escaping @Sendable (inout InvitationTalk) async throws -> Result
    ) async throws -> Result {
        try await link.executeThenClose { inbound, outbound in
            try await withThrowingTaskGroup(of: Result?.self) { group in
                group.addTask {
                    var talk = InvitationTalk(inbound: inbound.makeAsyncIterator(), outbound: outbound)
                    return try await body(&talk)
                }
                group.addTask {
                    try await clock.sleep(for: limit)
                    return nil
                }
                defer { group.cancelAll() }
                guard let first = try await group.next(), let result = first else { throw InvitationRefusal.time }
                return result
            }
        }
    }

    func send(_ message: InvitationMessage) async throws {
        try await outbound.write(ByteBuffer(bytes: message.encoded))
    }

    /// Throws `InvitationRefusal` for a refusal, and `LinkEnded` when the other end goes.
    mutating func next() async throws -> InvitationMessage {
        while true {
            if let message = try reader.next() {
                if case .refuse(let refusal) = message { throw refusal }
                return message
            }
            guard let bytes = try await inbound.next() else { throw LinkEnded() }
            reader.append(bytes.readableBytesView)
        }
    }

    struct LinkEnded: Error {}
}
