import NIOCore

@testable import BlockExchange

/// Bodies of messages. The first byte says of which; what is decoded must, encoded, decode to the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzBodies(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    guard let kind = input.first else { return 0 }
    let body = UnsafeRawBufferPointer(rebasing: input.dropFirst())
    switch kind % 4 {
    case 0:
        check(body) { (reader) throws(ProtocolError) in
            try FileInfo(decoding: &reader, limits: .standard)
        } encode: { file, writer in
            // An older kind of symbolic link is written as the one that is left.
            file.encode(into: &writer)
        } normal: { file in
            var file = file
            if file.kind.isSymlink { file.kind = .symlink }
            return file
        }
    case 1:
        check(body) { (reader) throws(ProtocolError) in
            try ClusterConfig(decoding: &reader, limits: .standard)
        } encode: { config, writer in
            config.encode(into: &writer)
        } normal: { config in
            // Empty texts are not written, and an address is one of them.
            var config = config
            for folder in config.folders.indices {
                for device in config.folders[folder].devices.indices {
                    config.folders[folder].devices[device].addresses.removeAll(where: \.isEmpty)
                }
            }
            return config
        }
    case 2:
        check(body) { (reader) throws(ProtocolError) in
            try DownloadProgress(decoding: &reader, limits: .standard)
        } encode: { progress, writer in
            progress.encode(into: &writer)
        } normal: {
            $0
        }
    default:
        check(body) { (reader) throws(ProtocolError) in
            let (id, request) = try BlockRequest.decode(&reader, limits: .standard)
            return Numbered(id: id, request: request)
        } encode: {
            $1.raw($0.request.encoded(id: $0.id))
        } normal: {
            $0
        }
    }
    return 0
}

private struct Numbered: Equatable {
    var id: Int32
    var request: BlockRequest
}

private func check<Value: Equatable>(
    _ body: UnsafeRawBufferPointer, decode: (inout WireReader) throws(ProtocolError) -> Value,
    encode: (Value, inout WireWriter) -> Void, normal: (Value) -> Value
) {
    var reader = WireReader(body)
    guard let value = try? decode(&reader) else { return }
    precondition(reader.isAtEnd, "bytes are left")
    var writer = WireWriter()
    encode(value, &writer)
    let again = writer.bytes.withUnsafeBytes { bytes in
        var reader = WireReader(bytes)
        return try? decode(&reader)
    }
    precondition(again == normal(value), "encoding changed it")
}
