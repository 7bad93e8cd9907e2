import ControlAPI
import Foundation
import SyncTestKit
import Testing

@testable import synctrain

struct RadioDemoTests {
    @Test func itsDirectoryIsNewAndItsUsersAlone() throws {
        let tree = try TemporaryTree()
        let parent = URL(filePath: tree.root.path)
        let made = try (0..<2).map { _ in try RadioDemo.makeDirectory(in: parent) }
        #expect(made[0] != made[1])
        for directory in made {
            #expect(directory.deletingLastPathComponent().path == parent.path)
            let attributes = try FileManager.default.attributesOfItem(atPath: directory.path)
            #expect(attributes[.posixPermissions] as? Int == 0o700)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        }
    }

    @Test func withoutAPlaceForItItSaysSo() throws {
        let tree = try TemporaryTree()
        #expect(throws: ControlError.self) {
            try RadioDemo.makeDirectory(in: URL(filePath: tree.root.path + "/missing"))
        }
    }
}
