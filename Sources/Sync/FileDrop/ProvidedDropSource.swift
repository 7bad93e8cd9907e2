import AgentContext
import Arithmetic
import ControlAPI
import Cryptography

/// A file of the client's own, such as one that a browser has: its bytes are asked for as they are sent, and nothing of it is kept on
/// this disk.
struct ProvidedDropSource: DropSource {
    let name: String
    let size: Int64
    /// In the request, from 0 on.
    private let place: Int
    private let conversation: DropConversation
    private let time: AgentTime

    /// - Parameter file: one that `DropSendRequest.check` has passed, so its size is 0 or more.
    init(_ file: ProvidedFile, at place: Int, conversation: DropConversation, time: AgentTime) {
        (name, size) = (file.name, file.size)
        (self.place, self.conversation, self.time) = (place, conversation, time)
    }

    func digest() async throws -> SHA256Digest {
        var hasher = SHA256Hasher()
        var offset: Int64 = 0
        while offset < size {
            // bounded: the lesser of the two is within the file
            let end = min(offset.addingClamped(Int64(DropPart.longest)), size)
            // bounded: the offset is before the end
            let bytes = try await read(offset..<end)
            bytes.withUnsafeBytes { hasher.update($0) }
            offset = end
        }
        return hasher.finalize()
    }

    func read(_ range: Range<Int64>) async throws -> [UInt8] {
        try await conversation.parts.read(
            range, of: ProvidedParts.File(place: place, name: name, size: size), time: time
        ) {
            conversation.tell(.wanted(place: $0.place, offset: $0.offset, count: $0.count))
        }
    }
}
