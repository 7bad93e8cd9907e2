import Archives
import Cryptography
import Foundation
import SyncTestKit
import Testing

/// Archives that zipfile, zip and genisoimage have made.
struct ArchiveVector: Sendable, CustomTestStringConvertible {
    var name: String
    var format: String
    var bytes: [UInt8]
    var members: [JSONValue]

    var testDescription: String { name }

    static let all: [ArchiveVector] = {
        guard let url = Bundle.module.url(forResource: "archives", withExtension: "json", subdirectory: "Vectors"),
            let data = try? Data(contentsOf: url), let list = try? JSONDecoder().decode(JSONValue.self, from: data)
        else { return [] }
        return list.array.map { vector in
            var bytes = [UInt8](repeating: 0, count: Int(vector["size"].int))
            for chunk in vector["chunks"].array {
                let part = chunk.array[1].bytes
                let start = Int(chunk.array[0].int)
                bytes.replaceSubrange(start..<start + part.count, with: part)
            }
            return ArchiveVector(
                name: vector["name"].string, format: vector["format"].string, bytes: bytes,
                members: vector["members"].array)
        }
    }()
}

@Suite(.timeLimit(.minutes(5)))
struct VectorTests {
    @Test func thereAreVectors() { #expect(ArchiveVector.all.count == 15) }

    @Test(arguments: ArchiveVector.all)
    func listsAndReadsWhatOthersHaveWritten(_ vector: ArchiveVector) async throws {
        for step in [7, 1 << 20] {
            let archive = try await Archive(MemorySource(vector.bytes, step: step), name: "x.\(vector.format)")
            #expect(archive.format.rawValue == vector.format)
            let members = try archive.all()
            #expect(members.count == vector.members.count)
            #expect(archive.memberCount == members.count)
            for fact in vector.members {
                let found = members.filter { $0.path == fact["path"].string }
                let member = try #require(found.first, "\(fact["path"].string) in \(members.map(\.path))")
                #expect(found.count == 1)
                #expect(member.kind.rawValue == fact["kind"].string)
                #expect(member.size == fact["size"].int, "\(member.path)")
                if case .integer(let modified) = fact["modified"] {
                    #expect(member.modified == modified, "\(member.path)")
                }
                #expect(member.isEncrypted == fact["encrypted"].bool)
                #expect(member.target ?? "" == fact["target"].string)
                if !fact["refused"].string.isEmpty {
                    let code = try await archiveError { _ = try await archive.content(member) }
                    #expect(code == (fact["refused"].string == "encrypted" ? .encrypted : .unsupported))
                } else if member.kind == .file {
                    #expect(try archive.file(member.path) == member)
                    let content = try await archive.content(member)
                    #expect(SHA256.digest(content).description == fact["sha256"].string, "\(member.path)")
                    if member.isSeekable, content.count > 20 {
                        #expect(try await archive.content(member, 5...16) == Array(content[5...16]))
                    }
                } else {
                    #expect(try await archiveError { _ = try archive.file(member.path) } == .notFile)
                }
            }
            #expect(try await archiveError { _ = try archive.file("nothing of the kind") } == .noSuchMember)
        }
    }

    @Test(arguments: ArchiveVector.all)
    func pagesAreTheWhole(_ vector: ArchiveVector) async throws {
        let archive = try await Archive(MemorySource(vector.bytes), name: "x")
        var paged: [ArchiveMember] = []
        while paged.count < archive.memberCount { paged += try archive.members(offset: paged.count, limit: 2) }
        #expect(paged == (try archive.all()))
        #expect(try archive.members(offset: archive.memberCount, limit: 2).isEmpty)
    }

    /// Cut anywhere: an error, or what is there, and no trap.
    @Test(arguments: ArchiveVector.all)
    func whatIsCutOffIsNoTrap(_ vector: ArchiveVector) async throws {
        for end in stride(from: 0, to: vector.bytes.count, by: max(1, vector.bytes.count / 60)) {
            await Self.readAll(Array(vector.bytes[..<end]))
        }
    }

    /// A byte changed: no trap, and what a zip gives of a file whole is right, for it has a checksum.
    @Test(arguments: ArchiveVector.all)
    func whatIsChangedIsNoTrap(_ vector: ArchiveVector) async throws {
        var generator = SeededGenerator(seed: 11)
        let right = Set(vector.members.map { $0["sha256"].string })
        let used = vector.bytes.indices.filter { vector.bytes[$0] != 0 || vector.format == "zip" }
        for _ in 0..<150 {
            var bytes = vector.bytes
            for _ in 0...generator.int(0...2) {
                bytes[generator.pick(used)] = UInt8(truncatingIfNeeded: generator.next())
            }
            for content in await Self.readAll(bytes) where vector.format == "zip" && !content.isEmpty {
                #expect(right.contains(SHA256.digest(content).description), "\(vector.name) gave wrong bytes")
            }
        }
    }

    /// What can be read whole of bytes that may be no archive.
    @discardableResult
    static func readAll(_ bytes: [UInt8]) async -> [[UInt8]] {
        var contents: [[UInt8]] = []
        guard let archive = try? await Archive(MemorySource(bytes), name: "x"), let members = try? archive.all() else {
            return []
        }
        for member in members where member.kind == .file && member.size < 1 << 20 {
            if let content = try? await archive.content(member) { contents.append(content) }
        }
        return contents
    }
}
