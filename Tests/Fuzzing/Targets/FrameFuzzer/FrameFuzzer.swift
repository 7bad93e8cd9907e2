import NIOCore

@testable import BlockExchange

/// A whole connection: what a peer sends from its Hello on. The first byte says in what pieces it comes; whole and in
/// pieces it must be heard alike, and what is heard must hold what the code behind the codec relies on.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFrames(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    guard let first = input.first else { return 0 }
    let bytes = ByteBuffer(bytes: input.dropFirst())
    let whole = hear(bytes, inPiecesOf: bytes.readableBytes)
    let pieces = hear(bytes, inPiecesOf: Int(first) + 1)
    precondition(whole.events == pieces.events && whole.error == pieces.error, "pieces are heard otherwise")
    for event in whole.events { check(event) }
    return 0
}

/// Small limits, so that a few kilobytes reach them.
private let limits: ExchangeLimits = {
    var limits = ExchangeLimits.standard
    limits.bufferedByteCount = 1 << 20
    limits.entriesPerBatch = 3
    limits.bytesPerBatch = 400
    limits.blocksPerFile = 8
    limits.countersPerVector = 8
    limits.nameByteCount = 64
    limits.componentByteCount = 16
    limits.pathDepth = 4
    limits.carriedByteCount = 64
    return limits
}()

private func hear(_ bytes: ByteBuffer, inPiecesOf size: Int) -> (events: [ConnectionEvent], error: ProtocolError?) {
    var machine = ConnectionMachine(limits: limits, now: .zero)
    // Some answers are waited for.
    for _ in 0..<8 {
        _ = machine.request(
            BlockRequest(folder: FolderID("f"), name: "a", offset: 0, size: 1 << 17, hash: nil), at: .zero)
    }
    var rest = bytes
    var events: [ConnectionEvent] = []
    do throws(ProtocolError) {
        while let piece = rest.readSlice(length: min(size, rest.readableBytes)), piece.readableBytes > 0 {
            machine.receive(ByteBuffer(piece.readableBytesView), at: .zero)
            while let event = try machine.nextEvent() { events.append(event) }
            precondition(machine.bufferedByteCount <= bytes.readableBytes + limits.bufferedByteCount, "holds too much")
        }
    } catch {
        return (events, error)
    }
    return (events, nil)
}

private func check(_ event: ConnectionEvent) {
    switch event {
    case .index(let batch):
        precondition(batch.files.count <= limits.entriesPerBatch, "batch too large")
        for file in batch.files {
            let reason = Array(file.name.utf8).withUnsafeBytes { FileInfo.invalidName($0, limits: limits) }
            precondition(reason == nil, "name")
            precondition(file.blocks.reduce(0) { $0 + Int64($1.size) } == file.size, "size")
            precondition(BlockSize.isValid(file.effectiveBlockSize), "block size")
            precondition(file.carriedFields.count <= limits.carriedByteCount, "carried")
            precondition(file.diskAttributes == nil, "a peer has told what this disk has")
            var again = file
            again.setAttributes(file.attributes, onDisk: nil)
            precondition(again.attributes == file.attributes, "attributes")
        }
    case .request(_, let request):
        precondition(request.offset >= 0 && request.size >= 0 && request.offset <= .max - Int64(request.size), "range")
    case .clusterConfig(let config):
        precondition(Set(config.folders.map(\.id)).count == config.folders.count, "folder twice")
    case .hello, .response, .downloadProgress, .keepRequest, .keepAnswer, .reachAnswer, .renameAnswer, .closed: break
    case .renameRequest(_, let request):
        precondition(max(request.from.utf8.count, request.to.utf8.count) <= limits.nameByteCount, "names")
    case .reachRequest(_, let request):
        precondition(request.addresses.count <= limits.addressesPerReachRequest, "addresses")
    }
}
