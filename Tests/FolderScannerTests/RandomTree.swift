import Foundation
import Selection
import SyncTestKit

/// A tree that random users work on.
struct RandomTree {
    let tree: TemporaryTree
    var generator: SeededGenerator
    /// What exists, as far as this remembers: only paths to try.
    private static let names = ["a", "b", "a-b", "é", "x.md", "y.txt", "d"]

    /// Orders by bytes and by components differ for these; the lines include and leave out at several depths.
    static let selections = [
        "", "!/a\n*", "!/a/b\n!/d\n*", "!*.md\n*", "/a\n!/a-b/x.md\n/a-b", "!/a/b/d\n!*.txt\n*", "*", "(?d)y.txt",
        "/a/*", "!/é/a\n/é",
    ]

    mutating func selection() throws -> Selection { try Selection(parsing: generator.pick(Self.selections)) }

    mutating func path() -> String {
        (0...generator.int(0...3)).map { _ in generator.pick(Self.names) }.joined(separator: "/")
    }

    /// One random change; what cannot be done where it was to be done is not done.
    mutating func edit() {
        let path = tree.path(path())
        let files = FileManager.default
        switch generator.int(0...9) {
        case 0...3:
            let directory = URL(filePath: path).deletingLastPathComponent().path
            try? files.createDirectory(atPath: directory, withIntermediateDirectories: true)
            var isDirectory: ObjCBool = false
            guard !files.fileExists(atPath: path, isDirectory: &isDirectory) || !isDirectory.boolValue else { return }
            // Few sizes and times, so that these alone do not tell files apart.
            try? Data(generator.bytes(generator.int(0...2))).write(to: URL(filePath: path))
            if generator.isOne(in: 2) { touch(path) }
        case 4: try? files.createDirectory(atPath: path, withIntermediateDirectories: true)
        case 5: try? files.removeItem(atPath: path)
        case 6: rename(path, tree.path(self.path()))
        case 7:
            let permissions: mode_t = generator.pick([0o700, 0o755, 0o644, 0o777])
            var isDirectory: ObjCBool = false
            // Nobody but root looks into a directory without the right to.
            _ = files.fileExists(atPath: path, isDirectory: &isDirectory)
            chmod(path, isDirectory.boolValue ? permissions | 0o111 : permissions)
        case 8: symlink(generator.pick(["a", "../b", "nowhere"]), path)
        default: touch(path)
        }
    }

    private mutating func touch(_ path: String) {
        let time = timespec(tv_sec: generator.pick([1_700_000_000, 1_700_000_001]), tv_nsec: 0)
        utimensat(AT_FDCWD, path, [time, time], AT_SYMLINK_NOFOLLOW)
    }
}
