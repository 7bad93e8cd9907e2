import Cryptography

/// What anybody may write into a request for a link, as text after a first byte that says of how large a file it is. Built
/// with the sources that read it: whatever comes, nothing traps, and what is understood means what it says.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzLink(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: start, count: count)
    guard let control = input.first else { return 0 }
    let text = String(decoding: input.dropFirst(), as: UTF8.self)
    let size = control < 63 ? Int64(1) << Int64(control) - 1 : Int64.max - Int64(control)

    if let set = ByteRangeSet(header: text) {
        precondition((1...ByteRangeSet.limit).contains(set.ranges.count))
        let again = "bytes=" + set.ranges.map(\.text).joined(separator: ",")
        precondition(ByteRangeSet(header: again) == set, "no round trip of ranges")
        if case .parts(let parts) = set.answer(size: size) {
            precondition(!parts.isEmpty && parts.allSatisfy { $0.lowerBound >= 0 && $0.upperBound < size })
            let body = MultipartRanges(parts: parts, size: size, contentType: "a/b", boundary: "c")
            if parts.count > 1 { precondition(body.byteCount > 0) }
        }
    }

    // Without the key nothing is a link; what is signed is read as it was.
    let key: [UInt8] = [1, 2, 3]
    precondition((try? LinkTarget(target: text, key: key, now: .min)) == nil, "a link without the key")
    let made = LinkTarget(folder: String(text.prefix(3)), file: "x" + text, expires: size)
    if let signed = try? made.signed(with: key) {
        precondition(signed.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a link with bytes that no request has")
        precondition((try? LinkTarget(target: signed, key: key, now: .min)) == made, "no round trip of a link")
    }

    if RequestGuard().objection(hosts: [text], origins: []) == nil {
        precondition(text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x2F && $0 != 0x40 }, "a Host that is none")
    }
    let disposition = MediaType(path: text).disposition(path: text)
    precondition(disposition.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }, "a name that leaves its header")
    precondition(disposition.utf8.count { $0 == 0x22 } == 2, "a name that leaves its quotes")
    return 0
}
