import ControlAPI
import Foundation
import SyncTestKit
import Testing

@testable import synctrain

/// What a package brings, and what the program says that it is.
struct InstallationTests {
    @Test func theUnitOfThePackageIsUsed() async throws {
        try await withTemporaryDirectory { directory in
            var unit = SystemdUnit(
                executable: directory + "/usr/bin/synctrain", home: nil, path: directory + "/own.service")
            #expect(unit.packaged(below: directory) == nil)
            let packaged = directory + "/usr/lib/systemd/user"
            try FileManager.default.createDirectory(atPath: packaged, withIntermediateDirectories: true)
            try Data().write(to: URL(filePath: packaged + "/synctrain.service"))
            #expect(unit.packaged(below: directory) == packaged + "/synctrain.service")
            unit.home = "/h"
            #expect(unit.packaged(below: directory) == nil)
            unit.home = nil
            unit.executable = directory + "/usr/local/bin/synctrain"
            #expect(unit.packaged(below: directory) == nil)
            unit.executable = directory + "/usr/bin/synctrain"
            try Data().write(to: URL(filePath: unit.path))
            #expect(unit.packaged(below: directory) == nil, "the user's own unit comes first")
        }
    }

    @Test func aUnitIsInstalledIfItStartsTheSame() async throws {
        try await withTemporaryDirectory { directory in
            let program = directory + "/usr/bin/synctrain"
            let own = SystemdUnit(executable: program, home: "/h", path: directory + "/own.service")
            #expect(!own.isInstalled(below: directory))
            try own.install()
            #expect(own.isInstalled(below: directory))
            let other = SystemdUnit(executable: program, home: "/other", path: own.path)
            #expect(!other.isInstalled(below: directory), "it starts the agent of another home")
            let provided = directory + "/usr/lib/systemd/user"
            try FileManager.default.createDirectory(atPath: provided, withIntermediateDirectories: true)
            try Data().write(to: URL(filePath: provided + "/" + SystemdUnit.name))
            #expect(!other.isInstalled(below: directory))
            let packaged = SystemdUnit(executable: program, home: nil, path: directory + "/none.service")
            #expect(packaged.isInstalled(below: directory))
        }
    }

    @Test func theVersionNamesCommitAndProtocols() async throws {
        let text = await Scene().run("--version").output
        let lines = text.split(separator: "\n")
        #expect(lines.first == "synctrain \(ProgramVersion.text)")
        #expect(lines.contains { $0.hasPrefix("commit: ") } && text.contains("\nprotocols: BEP v1, "))
        for arguments in [["--version", "--json"], ["--json", "--version"]] {
            let answer = try #require(
                try JSONSerialization.jsonObject(with: Data(await Scene().run(arguments).output.utf8))
                    as? [String: Any])
            #expect(answer["version"] as? String == ProgramVersion.text)
            #expect((answer["protocols"] as? [String])?.first == "BEP v1")
        }
    }

    @Test func theStarterOfTheDesktopAsksForTheAgent() async {
        let scene = Scene()
        #expect(await scene.run("ui", "--start").code == 0)
        #expect(scene.control?.asked.last == "log in false")
        #expect(await scene.run("ui", "--start", "--logout").code == 64)
        // Nothing is started before `init`, and the cause is named.
        var before = Scene(control: nil)
        before.isSetUp = false
        let result = await before.run("ui", "--start")
        #expect(result.code != 0 && result.errors.contains("synctrain init"))
    }
}
