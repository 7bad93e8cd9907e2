import Cryptography
import FileAccess
import Foundation
import SyncTestKit
import Testing
import Thumbnails

@testable import ThumbnailService

@Suite struct ThumbnailCacheTests {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "thumbs-\(UUID().uuidString)").path

    /// As small as one can be, and so many bytes more.
    private func picture(_ extra: Int = 0) -> [UInt8] {
        [0xFF, 0xD8, 0xFF, 0xC0, 0, 11, 8, 0, 10, 0, 10, 1, 1, 0x11, 0, 0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0]
            + [UInt8](repeating: 1, count: extra) + [0xFF, 0xD9]
    }

    private func name(_ number: Int) throws -> ThumbnailName {
        try #require(ThumbnailName(blocksHash: SHA256.digest([UInt8(truncatingIfNeeded: number)])))
    }

    private func files() -> Int {
        (FileManager.default.subpaths(atPath: directory) ?? []).count { $0.hasSuffix(".jpg") }
    }

    private func withCache(limit: Int, _ body: (ThumbnailCache) throws -> Void) rethrows {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try body(ThumbnailCache(directory: directory, byteLimit: limit))
    }

    @Test func whatWasUsedLongestAgoGoesFirst() throws {
        let size = picture(100).count
        try withCache(limit: 3 * size) { cache in
            for number in 1...3 { cache.keep(picture(100), as: try name(number)) }
            #expect(cache.thumbnail(try name(1)) == picture(100))
            cache.keep(picture(100), as: try name(4))
            #expect(cache.thumbnail(try name(2)) == nil)
            #expect(cache.thumbnail(try name(1)) != nil)
            #expect(files() == 3)
            // Kept a second time, it is counted once.
            cache.keep(picture(100), as: try name(4))
            #expect(files() == 3)
            // Another run goes on with what is there, and leaves alone what is none of its.
            try Data([1]).write(to: URL(fileURLWithPath: directory + "/note.txt"))
            let next = ThumbnailCache(directory: directory, byteLimit: 2 * size)
            next.keep(picture(100), as: try name(5))
            #expect(files() == 2)
            #expect(next.thumbnail(try name(5)) != nil)
            #expect(FileManager.default.fileExists(atPath: directory + "/note.txt"))
        }
    }

    /// The directory is a folder's, perhaps: other devices put into it what they like, sparse files too.
    @Test func aFileThatCanBeNoThumbnailIsNotCounted() throws {
        try withCache(limit: 1 << 20) { cache in
            for number in 1...2 { cache.keep(picture(100), as: try name(number)) }
            let path = "\(directory)/\(try name(2).path)"
            let file = try #require(FileHandle(forWritingAtPath: path))
            try file.truncate(atOffset: 1 << 40)
            try file.close()
            let next = ThumbnailCache(directory: directory, byteLimit: 1 << 20)
            next.keep(picture(100), as: try name(3))
            #expect(next.thumbnail(try name(1)) == picture(100))
            #expect(next.thumbnail(try name(3)) == picture(100))
        }
    }

    @Test func whatIsNoThumbnailIsNotGiven() throws {
        try withCache(limit: 1 << 20) { cache in
            let name = try name(1)
            #expect(cache.thumbnail(name) == nil)
            cache.keep(picture(), as: name)
            let path = "\(directory)/\(name.path)"
            for contents in [Array("<html>".utf8), [], picture(300_000), Array(picture().dropLast())] {
                try Data(contents).write(to: URL(fileURLWithPath: path))
                #expect(cache.thumbnail(name) == nil)
            }
            // A link leads nowhere.
            try Data(picture()).write(to: URL(fileURLWithPath: directory + "/other.jpg"))
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: directory + "/other.jpg")
            #expect(cache.thumbnail(name) == nil)
            cache.keep(picture(), as: name)
            #expect(cache.thumbnail(name) == picture())
        }
    }

    @Test func aLimitOfNothingKeepsNothing() throws {
        try withCache(limit: 0) { cache in
            cache.keep(picture(), as: try name(1))
            #expect(cache.thumbnail(try name(1)) == nil)
            #expect(files() == 0)
        }
    }

    @Test func anInputKnowsWhatItHolds() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let input = try ThumbnailInput(in: directory, size: 25, blockSize: 10)
        let path = input.path
        #expect(input.missing(0..<25) == [0, 1, 2])
        try input.add(1, [UInt8](10..<20), at: 10)
        #expect(input.missing(0..<100) == [0, 2])
        #expect(input.missing(12..<19) == [])
        #expect(input.read(12, 3) == [12, 13, 14])
        #expect(input.read(12, 9) == nil)
        #expect(input.read(-1, 3) == nil)
        #expect(input.read(20, .max) == nil)
        try input.extend(to: 25)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == 25)
        try input.replace(with: [1, 2])
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data([1, 2]))
        #expect(input.read(12, 3) == nil)
        input.remove()
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
