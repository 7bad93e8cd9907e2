import BlockExchange
import ControlAPI
import Testing

@testable import SyncAgent

@Suite struct PathResolverTests {
    private static let resolver = PathResolver(folders: [
        .init(id: FolderID(rawValue: "lib"), path: "/home/me/Library"),
        .init(id: FolderID(rawValue: "lib:a"), path: "/home/me/a"),
        .init(id: FolderID(rawValue: "\u{0D4E}"), path: "/home/me/\u{0D4E}"),
    ])

    /// A name may begin with what joins the Character before it, and a folder's id may end so.
    @Test(
        arguments: [
            ("lib:x/y", "lib", "x/y"), ("lib:\u{301}x", "lib", "\u{301}x"), ("lib:a:\u{301}x", "lib:a", "\u{301}x"),
            ("lib:/\u{301}x", "lib", "\u{301}x"), ("lib:", "lib", ""), ("\u{0D4E}:x", "\u{0D4E}", "x"),
            ("/home/me/Library/\u{301}x", "lib", "\u{301}x"), ("/home/me/\u{0D4E}/x", "\u{0D4E}", "x"),
            ("\u{301}x", "lib", "d/\u{301}x"), ("./\u{301}x", "lib", "d/\u{301}x"), ("../\u{301}x", "lib", "\u{301}x"),
        ])
    func marksBelongToNames(text: String, folder: String, path: String) throws {
        let found = try Self.resolver.resolve(PathReference(text: text, workingDirectory: "/home/me/Library/d"))
        #expect(found.folder.rawValue.utf8.elementsEqual(folder.utf8))
        #expect(found.path.utf8.elementsEqual(path.utf8))
    }

    @Test(arguments: ["nope:\u{301}x", "/home/me/Library\u{301}/x", "lib:../x"])
    func whatIsInNoFolderIsRefused(text: String) {
        #expect(throws: ControlError.self) {
            try Self.resolver.resolve(PathReference(text: text, workingDirectory: "/"))
        }
    }

    private static let mounted = PathResolver(
        folders: [
            .init(id: FolderID("docs"), path: "/home/me/docs"), .init(id: FolderID("docs:old"), path: "/home/me/old"),
        ],
        mounts: [.init(id: FolderID("docs"), path: "/home/me/M"), .init(id: FolderID("docs"), path: "/mnt/docs")])

    @Test(arguments: [
        ("docs:a/b", "/", "docs", "a/b"), ("docs:old:a", "/", "docs:old", "a"), ("a", "/home/me/docs", "docs", "a"),
        // In a mount, by where the shell is and by a whole path.
        ("2025", "/home/me/M/Photos", "docs", "Photos/2025"), (".", "/home/me/M", "docs", ""),
        ("/mnt/docs/./a", "/", "docs", "a"), ("../M/a", "/home/me/old", "docs", "a"),
    ])
    func aPathIsInAFolderOrWhereOneIsMounted(_ text: String, _ place: String, _ folder: String, _ path: String) throws {
        let found = try Self.mounted.resolve(PathReference(text: text, workingDirectory: place))
        #expect(found.folder == FolderID(folder) && found.path == path)
    }

    @Test(arguments: ["/home/me/Mx/a", "/home/me", "/mnt"])
    func besideThemIsNothing(_ text: String) {
        let error = #expect(throws: ControlError.self) {
            try Self.mounted.resolve(PathReference(text: text, workingDirectory: "/"))
        }
        #expect(error?.code == .noSuchPath)
    }
}
