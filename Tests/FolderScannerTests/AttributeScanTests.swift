import BlockExchange
import Cryptography
import FileAccess
import Foundation
import SyncTestKit
import Testing

@testable import FolderScanner

/// Needs a disk that keeps attributes of users, as ext4, XFS and Btrfs do.
@Suite struct AttributeScanTests {
    let tree: TemporaryTree

    init() throws { tree = try TemporaryTree() }

    private var options: ScanOptions {
        var options = ScanOptions.plain
        options.attributes = AttributeReading(
            AttributeAccess(permits: { $0.hasPrefix("user.") }, usesOwner: true), AttributeFilter(patterns: ["user.*"]))
        return options
    }

    /// Gives what is at a path this one attribute, or none.
    private func set(_ name: String, _ value: String?, of path: String) throws {
        let extended = value.map { [DiskAttribute(name: name, value: Array($0.utf8))] } ?? []
        let access = AttributeAccess(permits: { $0.hasPrefix("user.") }, usesOwner: false)
        let change = AttributeChange(DiskAttributes(extended: extended), access)
        #expect(try tree.root.set(permissions: nil, change, of: relative(path)).extended == extended)
    }

    @Test func aChangeIsFoundWithoutReadingTheFile() async throws {
        try tree.write("hello", to: "d/f")
        try set("user.a", "1", of: "d/f")
        let index = try await tree.scanned(options: options)
        #expect(index["d/f"]?.attributes?.extended == [ExtendedAttribute(name: "user.a", value: [0x31])])
        #expect(index["d/f"]?.attributes?.owner?.uid == Int32(bitPattern: getuid()))
        #expect(try await tree.findings(index, options: options) == [])
        try set("user.a", "2", of: "d/f")
        try set("user.b", "3", of: "d")
        let (findings, report) = try await tree.scan(index, options: options)
        #expect(findings.map(\.summary) == ["metadata d", "metadata d/f"])
        #expect(report.filesHashed == 0)
        index.apply(findings)
        #expect(index["d"]?.attributes?.extended?.map(\.name) == ["user.b"])
        try set("user.a", nil, of: "d/f")
        index.apply(try await tree.findings(index, options: options))
        #expect(index["d/f"]?.attributes?.extended == [])
        #expect(try await tree.findings(index, options: options) == [])
    }

    @Test func whatWasNeverSeenIsReadOnce() async throws {
        try tree.write("hello", to: "f")
        try set("user.a", "1", of: "f")
        let index = try await tree.scanned()
        #expect(index["f"]?.attributes == nil)
        let findings = try await tree.findings(index, options: options)
        #expect(findings.map(\.summary) == ["metadata f"])
        index.apply(findings)
        #expect(try await tree.findings(index, options: options) == [])
    }

    @Test func anEditBesideAnUnseenAttributeIsRead() async throws {
        try tree.write("hello", to: "f")
        let index = try await tree.scanned()
        // The same size and time, so that only the time of change tells; the first look at attributes explains nothing.
        let status = try tree.status("f")
        try tree.write("jello", to: "f")
        try tree.root.setModificationTime(status.modified, of: relative("f"))
        #expect(try await tree.findings(index, options: options).map(\.summary) == ["file f"])
    }

    @Test func whatIsMissingIsSaidByEveryScan() async throws {
        try tree.write("hello", to: "f")
        let index = try await tree.scanned(options: options)
        index["f"]?.lacksAttributes = true
        for _ in 0..<2 {
            #expect(try await tree.findings(index, options: options).map(\.summary) == ["metadata f"])
        }
    }

    private static func known(_ names: [String]?) -> FileAttributes? {
        names.map { FileAttributes(extended: $0.map { ExtendedAttribute(name: $0, value: []) }) }
    }

    @Test(
        arguments: [
            // known, now, same inode, same time of change
            (["a"], ["a"], true, true, Comparison.same), (["a"], ["b"], true, false, .metadata),
            (["a"], [], true, false, .metadata), (["a"], ["b"], false, false, .unknown(canCompare: true)),
            (["a"], ["a"], true, false, .unknown(canCompare: true)), (nil, ["a"], true, true, .metadata),
            (nil, ["a"], true, false, .unknown(canCompare: true)), (["a"], nil, true, true, .same),
        ] as [([String]?, [String]?, Bool, Bool, Comparison)])
    private func attributesExplainATimeOfChange(
        known: [String]?, now: [String]?, isSameFile: Bool, isSameTime: Bool, expected: Comparison
    ) {
        let time = FileTime(seconds: 100)
        let entry = KnownEntry(
            name: "f", status: FileStatus(type: .regular, size: 5, modified: time, inode: 7, changed: time),
            blocksHash: SHA256.digest([1]), attributes: Self.known(known))
        let status = FileStatus(
            type: .regular, size: 5, modified: time, inode: isSameFile ? 7 : 8,
            changed: isSameTime ? time : FileTime(seconds: 101))
        #expect(
            Comparison(file: status, with: entry, ignoringPermissions: false, attributes: Self.known(now)) == expected)
    }
}
