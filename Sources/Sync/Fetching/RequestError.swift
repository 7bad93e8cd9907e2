import BlockExchange
import NIOCore

/// Why a block did not come.
package enum RequestError: Error, Equatable, Sendable {
    case linkLost
    /// The same, after these first bytes.
    case cutShort(ByteBuffer)
    case refused(ResponseCode)
}
