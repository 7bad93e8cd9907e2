import NIOCore

@testable import BlockExchange

/// Compressed bodies: they unpack to what they declare or not at all; and any bytes survive packing.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzLZ4(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let limit = 1 << 20
    let input = UnsafeRawBufferPointer(start: start, count: count)
    if let unpacked = try? LZ4.decompress(input, atMost: limit) {
        precondition(unpacked.readableBytes <= limit && unpacked.readableBytes > 0, "beyond the limit")
        let declared = input.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        precondition(unpacked.readableBytes == declared, "not what was declared")
    }
    let body = Array(input)
    if let packed = LZ4.compress(body) {
        let again = packed.withUnsafeBytes { try? LZ4.decompress($0, atMost: body.count) }
        precondition(again.map { Array($0.readableBytesView) } == body, "packing changed it")
    }
    return 0
}
