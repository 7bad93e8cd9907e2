import BlockExchange
import ControlAPI
import Cryptography
import Fetching
import GhostDrop
import NIOCore
import SyncDecisions
import Synchronization

/// The transfers that the user has asked for, and who answers for them when another device asks.
package final class DropRegistry: Sendable {
    private struct State {
        var lastNumber = 0
        var conversations: [Int: DropConversation] = [:]
        var receiving: (any DeviceDropReceiver)?
        /// What paired devices may get, by its number.
        var outgoing: [UniqueID: any DeviceDropSource] = [:]
        /// Transfers that have ended here and whose sender has not been told yet; the sender of each.
        var ended: [UniqueID: DeviceID] = [:]
    }

    /// Requests of the user's at the same time.
    private static let requestLimit = 16

    /// This device, to GhostDrop apps; another one after each start, so that it tells nobody who this is.
    package let deviceID: UniqueID
    private let secret = SecureRandom.bytes(count: 32)
    private let state = Mutex(State())

    package init() {
        var random = SystemRandomNumberGenerator()
        deviceID = UniqueID(using: &random)
    }

    /// Throws `busy`.
    package func begin() throws(ControlError) -> DropConversation {
        let conversation = state.withLock { state -> DropConversation? in
            guard state.conversations.count < Self.requestLimit else { return nil }
            state.lastNumber += 1
            let conversation = DropConversation(number: state.lastNumber)
            state.conversations[conversation.number] = conversation
            return conversation
        }
        guard let conversation else {
            throw ControlError(.busy, "Too many transfers in progress. Stop one of them first.", isRetryable: true)
        }
        return conversation
    }

    package func end(_ conversation: DropConversation) {
        conversation.finish()
        state.withLock { $0.conversations[conversation.number] = nil }
    }

    package func conversation(_ number: Int) -> DropConversation? { state.withLock { $0.conversations[number] } }

    /// The number of a file's transfer: the same for the same file, so that a receiver can go on with it, and nothing to
    /// those who know the file and listen.
    package func transferID(of digest: SHA256Digest, name: String) -> UniqueID {
        let bytes = SHA256.digest(secret + digest.bytes + Array(name.utf8)).bytes
        // 16 bytes always make one.
        return UniqueID(bytes[..<UniqueID.byteCount]) ?? deviceID
    }

    // MARK: receiving

    /// False if somebody receives already.
    package func receive(_ session: any DeviceDropReceiver) -> Bool {
        state.withLock { state in
            guard state.receiving == nil else { return false }
            state.receiving = session
            return true
        }
    }

    package func endReceiving() { state.withLock { $0.receiving = nil } }

    /// A transfer of a paired device has ended here, and the device is going to be told. Where the link was lost first, it may offer
    /// the file over the next one before it knows: that begins nothing, until `told`.
    func ended(_ id: UniqueID, by device: DeviceID) { state.withLock { $0.ended[id] = device } }

    /// The device of a transfer that has ended knows, or could not be reached.
    func told(_ id: UniqueID) { state.withLock { $0.ended[id] = nil } }

    // MARK: paired devices

    package func offer(_ drop: any DeviceDropSource) { state.withLock { $0.outgoing[drop.id] = drop } }

    package func withdraw(_ drop: any DeviceDropSource) { state.withLock { $0.outgoing[drop.id] = nil } }

    /// Answers what a paired device asks about transfers.
    package func serve(_ request: BlockRequest, from device: DeviceID) async -> BlockAnswer {
        guard let message = DeviceDropMessage(request.name) else { return BlockAnswer(.noSuchFile) }
        let (receiving, outgoing, hasEnded) = state.withLock { state in
            (state.receiving, state.outgoing[message.id], state.ended[message.id] == device)
        }
        switch message.kind {
        case .offer:
            guard hasEnded || receiving?.offered(message.id, by: device) == true else {
                return BlockAnswer(.noSuchFile)
            }
            return BlockAnswer(ByteBuffer())
        case .cancel:
            receiving?.cancelled(message.id, by: device)
            return BlockAnswer(ByteBuffer())
        case .about, .data, .end:
            guard let outgoing, outgoing.device == device else { return BlockAnswer(.noSuchFile) }
            return await outgoing.serve(message, request)
        }
    }
}
