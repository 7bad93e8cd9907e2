import Dispatch

/// What anybody may call a zip or an image. The first byte says how: as a zip, or as an image after so many empty sectors,
/// for the fuzzer would not find sixteen of them by itself. Built with the sources that read it: whatever comes, nothing
/// traps, no read lies outside of the file, and no member gives more than it says.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzArchive(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: start, count: count)
    guard let control = input.first else { return 0 }
    let isImage = control & 1 == 1
    let source = FuzzedSource(before: isImage ? 16 * 2048 : 0, bytes: Array(input.dropFirst()))
    let done = DispatchSemaphore(value: 0)
    Task.detached {
        await read(source, name: isImage ? "x.iso" : "x.zip")
        done.signal()
    }
    done.wait()
    return 0
}

private func read(_ source: FuzzedSource, name: String) async {
    guard let archive = try? await Archive(source, name: name),
        let members = try? archive.members(offset: 0, limit: 100)
    else { return }
    precondition(archive.memberCount <= ArchiveLimits.members, "too many members")
    for member in members {
        precondition(member.size >= 0 && member.path.utf8.count <= 3 * ArchiveLimits.path, "\(member)")
        guard member.kind == .file, member.size < 1 << 22 else { continue }
        let tally = Tally()
        let isWhole = (try? await archive.read(member, range: nil) { tally.count += Int64($0.count) }) != nil
        precondition(tally.count <= member.size && (!isWhole || tally.count == member.size), "more than it says")
        guard member.isSeekable, member.size > 1 else { continue }
        let part = Tally()
        let isRead =
            (try? await archive.read(member, range: 1...member.size - 1) { part.count += Int64($0.count) }) != nil
        precondition(part.count <= member.size - 1 && (!isRead || part.count == member.size - 1), "more than asked")
    }
}

/// One task at a time counts.
private final class Tally: @unchecked Sendable { var count: Int64 = 0 }

private struct FuzzedSource: ArchiveSource {
    var before: Int64
    var bytes: [UInt8]

    var size: Int64 { before + Int64(bytes.count) }

    func read(_ range: Range<Int64>, emit: @Sendable ([UInt8]) async throws -> Void) async throws {
        precondition(range.lowerBound >= 0 && range.upperBound <= size && !range.isEmpty, "a read outside of the file")
        let zeros = Int(max(0, min(range.upperBound, before) - range.lowerBound))
        if zeros > 0 { try await emit([UInt8](repeating: 0, count: zeros)) }
        let first = max(range.lowerBound, before)
        if first < range.upperBound {
            try await emit(Array(bytes[Int(first - before)..<Int(range.upperBound - before)]))
        }
    }
}
