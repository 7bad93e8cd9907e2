import BlockExchange
import NIOCore

/// What a peer gets for a request.
package struct BlockAnswer: Sendable {
    package var data: ByteBuffer
    package var code: ResponseCode
    /// Of the file that the bytes are of; nil where they are of none.
    package var fileSize: Int64?

    package init(_ data: ByteBuffer, fileSize: Int64? = nil) {
        self.data = data
        self.fileSize = fileSize
        code = .ok
    }

    package init(_ refusal: ResponseCode) {
        data = ByteBuffer()
        code = refusal
    }
}
