/// What a peer sent that BEP or this device's limits do not allow. It ends that link, and only that link.
public struct ProtocolError: Error, Equatable, Sendable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// The first bytes are no Hello, or one of a protocol that is too old.
        case invalidHello = "invalid-hello"
        /// A length beyond what BEP or this device's memory budget allows.
        case tooLarge = "too-large"
        /// Bytes that are no protobuf message of the announced type.
        case malformed
        /// A compressed body that is no LZ4 block of the size it declares.
        case invalidCompression = "invalid-compression"
        /// A message that may not come yet, or no more.
        case unexpectedMessage = "unexpected-message"
        /// An index entry that breaks BEP's rules: its name, its blocks, its size.
        case invalidEntry = "invalid-entry"
        /// More folders, devices, counters or blocks than this device takes.
        case tooMany = "too-many"
        /// Nothing came for five minutes.
        case timedOut = "timed-out"
    }

    public let code: Code
    /// A sentence for the log and for the peer (it travels in Close).
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
