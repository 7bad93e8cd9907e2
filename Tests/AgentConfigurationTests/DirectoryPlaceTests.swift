import FileAccess
import Foundation
import SyncTestKit
import Testing

@testable import AgentConfiguration

@Suite struct DirectoryPlaceTests {
    private static func node(_ inode: UInt64, on device: UInt64 = 1) -> DirectoryPlace.Node {
        .init(device: device, inode: inode)
    }

    private static func place(
        _ node: DirectoryPlace.Node?, below above: [DirectoryPlace.Node] = [], at path: String? = nil,
        on device: String = "8:1"
    ) -> DirectoryPlace {
        DirectoryPlace(
            node: node, above: above, origin: path.map { .init(device: device, path: Array($0.utf8)) })
    }

    private static let photos = place(node(7), below: [node(3), node(2)], at: "/home/photos")

    @Test(
        arguments: [
            (place(node(7), below: [node(9), node(2)]), .same),
            (place(node(7, on: 5), below: [node(2)]), nil),
            (place(node(8), below: [node(7), node(2)]), .nested),
            (place(node(3), below: [node(2)]), .nested),
            (place(node(8), below: [node(3), node(2)]), nil),
            (place(nil, below: [node(3)]), nil), (place(nil, below: [node(7)]), .nested),
            // Bind mounts: no number above says where they are from.
            (place(node(8), below: [node(2)], at: "/home/photos/2026"), .nested),
            (place(node(8), below: [node(2)], at: "/home"), .nested),
            (place(node(8), below: [node(2)], at: ""), .nested),
            (place(nil, below: [node(2)], at: "/home/photos"), .same),
            (place(node(8), below: [node(2)], at: "/home/photos2"), nil),
            (place(node(8), below: [node(2)], at: "/home/photos/2026", on: "8:2"), nil),
        ] as [(DirectoryPlace, DirectoryPlace.Relation?)])
    func twoPlacesAreComparedByWhatTheSystemSays(_ other: DirectoryPlace, _ expected: DirectoryPlace.Relation?) {
        #expect(other.relation(to: Self.photos) == expected)
        #expect(Self.photos.relation(to: other) == expected)
    }

    @Test func anotherPathToADirectoryIsTheSamePlace() throws {
        let directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: directory.path + "/a/b", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: directory.path + "/link", withDestinationPath: "a")
        func place(_ name: String) -> DirectoryPlace { DirectoryPlace(path: directory.path + "/" + name, mounts: []) }
        #expect(place("link").relation(to: place("a")) == .same)
        #expect(place("link/b").relation(to: place("a")) == .nested)
        #expect(place("link/new/deep").relation(to: place("a")) == .nested)
        #expect(place("c").relation(to: place("a")) == nil)
    }
}
