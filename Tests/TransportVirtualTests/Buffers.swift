import NIOCore

extension String {
    var buffer: ByteBuffer { ByteBuffer(string: self) }
}
