import BlockExchange
import Foundation
import Testing

@testable import PeerLinks
@testable import SessionTestKit

/// A device whose disk and index were put back to an earlier day. What it had since is not taken for a copy.
@Suite(.serialized, .timeLimit(.minutes(2))) struct RestoredDeviceTests {
    /// It keeps everything, and has changed more than it lost before it meets anybody: its sequences say nothing.
    @Test func whatADeviceLostWithItsBackupIsNoCopy() async throws {
        try await SessionScene.run { scene in
            let files = FileManager.default
            let (home, backup) = ("\(scene.home)/1", "\(scene.home)/backup")
            try scene[0].write([1], to: "before")
            try await scene.connect()
            try await scene.until { try await scene.haveBoth(["before": [1]]) }
            try await scene.stop(1)
            try files.copyItem(atPath: home, toPath: backup)
            try await scene.start(1)
            try await scene.connect()
            try scene[0].write([2], to: "since")
            try await scene.until { try await scene.haveBoth(["before": [1], "since": [2]]) }
            try await scene.stop(1)
            try files.removeItem(atPath: home)
            try files.copyItem(atPath: backup, toPath: home)
            // It takes nothing now, so it stays without what it lost.
            try await scene.start(1) { $0.kind = .sendOnly }
            for number in 0..<20 { try scene[1].write([3, UInt8(number)], to: "new \(number)") }
            try await scene.until { try await scene[1].version("new 19") != nil }
            #expect(try await scene[1].version("since") == nil)
            try await scene.connect()
            try await scene.until { try await scene[0].isCurrent(of: scene[1]) }
            #expect(try await scene[0].version("before", of: scene.ids[1]) != nil)
            #expect(try await scene[0].version("since", of: scene.ids[1]) == nil)
            #expect(scene[0].read("since") == [2])
        }
    }
}
