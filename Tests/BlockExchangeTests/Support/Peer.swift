import NIOCore
import SyncTestKit

@testable import BlockExchange

/// What a reader makes of a peer's bytes, in whatever pieces they come.
struct Peer {
    var reader: FrameReader

    /// A reader that has seen what must come first.
    init(limits: ExchangeLimits = .standard, before: Stage = .messages) {
        reader = FrameReader(limits: limits)
        switch before {
        case .hello: break
        case .clusterConfig: reader.append(ByteBuffer(bytes: Frame.hello()))
        case .messages: reader.append(ByteBuffer(bytes: Frame.hello() + Frame.message(Frame.clusterConfig)))
        }
        while (try? reader.next()) != nil {}
    }

    enum Stage { case hello, clusterConfig, messages }

    /// Feeds one piece and takes all events out.
    mutating func feed(_ bytes: some Sequence<UInt8>) throws(ProtocolError) -> [ConnectionEvent] {
        try feed(ByteBuffer(bytes: bytes))
    }

    mutating func feed(_ bytes: ByteBuffer) throws(ProtocolError) -> [ConnectionEvent] {
        reader.append(bytes)
        var events: [ConnectionEvent] = []
        while let event = try reader.next() { events.append(event) }
        return events
    }

    /// All events of `bytes`, or the code of the error that they end with.
    static func outcome(
        _ bytes: [UInt8], limits: ExchangeLimits = .standard, before: Stage = .messages
    ) -> Result<[ConnectionEvent], ProtocolError> {
        var peer = Peer(limits: limits, before: before)
        do {
            return .success(try peer.feed(bytes))
        } catch {
            return .failure(error)
        }
    }

    /// The code of the error that `bytes` end with; nil if they are taken.
    static func refusal(
        _ bytes: [UInt8], limits: ExchangeLimits = .standard, before: Stage = .messages
    ) -> ProtocolError.Code? {
        switch outcome(bytes, limits: limits, before: before) {
        case .success: nil
        case .failure(let error): error.code
        }
    }

    /// The one entry of an index that holds `entry`, or the error.
    static func entry(_ entry: Proto, limits: ExchangeLimits = .standard) throws -> FileInfo? {
        let events = try outcome(
            Frame.message(Frame.index, Proto().text(1, "f").message(2, entry)), limits: limits
        ).get()
        guard case .index(let batch) = events.first, events.count == 1 else { return nil }
        return batch.files.first
    }
}

extension Proto {
    /// An entry of a live file with one block of `size` bytes.
    static func file(_ name: String, size: Int64 = 5) -> Proto {
        Proto().text(1, name).signed(3, size).message(
            16, Proto().signed(2, size).bytes(3, [UInt8](repeating: 7, count: 32)))
    }

    /// A block as an entry holds it.
    static func block(offset: Int64, size: Int64) -> Proto {
        Proto().signed(1, offset).signed(2, size).bytes(3, [UInt8](repeating: 7, count: 32))
    }
}

extension ConnectionEvent {
    /// The message that a peer would send to say this; nil for what is no message or one of many parts.
    var message: OutgoingMessage? {
        switch self {
        case .clusterConfig(let config): .clusterConfig(config)
        case .index(let batch):
            batch.isFirst && batch.isLast
                ? .index(
                    folder: batch.folder, files: batch.files, isFullIndex: batch.isFullIndex,
                    previousSequence: batch.previousSequence) : nil
        case .response(let response): .response(response)
        case .downloadProgress(let progress): .downloadProgress(progress)
        case .keepAnswer(let id, let answer): .keepAnswer(id: id, answer)
        case .closed(let reason): .close(reason: reason)
        case .reachAnswer(let id, let answer): .reachAnswer(id: id, answer)
        case .renameAnswer(let id, let answer): .renameAnswer(id: id, answer)
        case .hello, .request, .keepRequest, .reachRequest, .renameRequest: nil
        }
    }
}
