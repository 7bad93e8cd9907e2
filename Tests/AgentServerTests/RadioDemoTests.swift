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

    @Test func itsAgentsEndAlsoIfItIsCancelled() async throws {
        let tree = try TemporaryTree()
        let log = tree.root.path + "/output"
        let child = try AgentProcess.spawn(["/bin/sleep", "1000"], output: log, logFile: log)
        let ended = try AgentProcess.spawn(["/bin/true"], output: log, logFile: log)
        waitpid(ended, nil, 0)
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            let processes = DemoProcesses()
            for process in [child, ended] { processes.add(process) }
            processes.kill()
        }.value
        #expect(kill(child, 0) == -1)
        #expect(errno == ESRCH)
    }

    @Test func withoutAPlaceForItItSaysSo() throws {
        let tree = try TemporaryTree()
        #expect(throws: ControlError.self) {
            try RadioDemo.makeDirectory(in: URL(filePath: tree.root.path + "/missing"))
        }
    }
}
