import Cryptography
import FileAccess
import Testing

@testable import FolderScanner

@Suite struct ComparisonTests {
    private static func status(
        _ type: FileType = .regular, size: Int64 = 5, modified: Int64 = 100, inode: UInt64 = 7,
        permissions: UInt32 = 0o644, changed: Int64? = 200
    ) -> FileStatus {
        FileStatus(
            type: type, size: size, modified: FileTime(seconds: modified), inode: inode, permissions: permissions,
            changed: changed.map { FileTime(seconds: $0) })
    }

    private static let hash = SHA256.digest([1])

    @Test(arguments: [
        (status(), Comparison.same),
        (status(permissions: 0o100644), .same),
        (status(size: 6, changed: 201), .unknown(canCompare: true)),
        (status(modified: 101, changed: 201), .unknown(canCompare: true)),
        (status(changed: 201), .unknown(canCompare: true)),
        (status(inode: 8, changed: 201), .unknown(canCompare: true)),
        // A file system that numbers its files anew each time.
        (status(inode: 8), .status),
        (status(permissions: 0o600, changed: 201), .metadata),
        (status(permissions: 0o600), .metadata),
        (status(inode: 8, permissions: 0o600, changed: 201), .unknown(canCompare: true)),
        (status(size: 6, permissions: 0o600, changed: 201), .unknown(canCompare: true)),
    ])
    func aKnownFile(now: FileStatus, expected: Comparison) {
        let known = KnownEntry(name: "f", status: Self.status(), blocksHash: Self.hash)
        #expect(Comparison(file: now, with: known, ignoringPermissions: false) == expected)
    }

    @Test func whatIsNotVouchedForIsRead() {
        let unknown = Comparison.unknown(canCompare: false)
        func compare(_ known: KnownEntry?) -> Comparison {
            Comparison(file: Self.status(), with: known, ignoringPermissions: false)
        }
        #expect(compare(nil) == unknown)
        #expect(compare(KnownEntry(name: "f", status: Self.status(), isIgnored: true)) == unknown)
        #expect(compare(KnownEntry(name: "f", status: Self.status(), mustRescan: true)) == unknown)
        #expect(compare(KnownEntry(name: "f", status: Self.status(.symlink))) == unknown)
        // Its time of change was not noted: it was unsettled.
        #expect(compare(KnownEntry(name: "f", status: Self.status(changed: nil))) == unknown)
        let unsettled = KnownEntry(name: "f", status: Self.status(changed: nil), blocksHash: Self.hash)
        #expect(compare(unsettled) == .unknown(canCompare: true))
        #expect(
            Comparison(file: Self.status(permissions: 0o600), with: unsettled, ignoringPermissions: false)
                == .unknown(canCompare: true))
    }

    @Test func withoutPermissionsOnlyTheRestCounts() {
        let known = KnownEntry(name: "f", status: Self.status(), hasPermissions: false, blocksHash: Self.hash)
        let now = Self.status(permissions: 0o600)
        #expect(Comparison(file: now, with: known, ignoringPermissions: false) == .same)
        let directory = KnownEntry(name: "d", status: Self.status(.directory), hasPermissions: false)
        let other = Self.status(.directory, size: 9, modified: 9, permissions: 0o700, changed: 9)
        #expect(Comparison(directory: other, with: directory, ignoringPermissions: false) == .same)
    }
}
