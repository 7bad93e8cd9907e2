import Foundation
import SyncTestKit
import Testing

@testable import AgentConfiguration

@Suite struct AgentPlacesTests {
    @Test func followsXDG() throws {
        let places = try AgentPlaces.resolve(
            home: nil,
            environment: [
                "HOME": "/home/anna", "XDG_CONFIG_HOME": "/c/", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/k",
                "XDG_RUNTIME_DIR": "/run/user/1000",
            ])
        #expect(places.configurationFile == "/c/synctrain/config.toml")
        #expect(places.certificate == "/s/synctrain/cert.pem")
        #expect(places.privateKey == "/s/synctrain/key.pem")
        #expect(places.index == "/s/synctrain/index.sqlite")
        #expect(places.lock == "/s/synctrain/lock")
        #expect(places.log == "/s/synctrain/agent.log")
        #expect(places.blockCache == "/k/synctrain/blocks")
        #expect(places.controlSocket == "/run/user/1000/synctrain/agent.sock")
        #expect(places.home == nil)
    }

    @Test(arguments: [[:], ["XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "relative", "XDG_RUNTIME_DIR": ""]])
    func fallsBackToHome(_ variables: [String: String]) throws {
        let environment = variables.merging(["HOME": "/home/anna"]) { $1 }
        let places = try AgentPlaces.resolve(home: nil, environment: environment)
        #expect(places.configurationFile == "/home/anna/.config/synctrain/config.toml")
        #expect(places.index == "/home/anna/.local/state/synctrain/index.sqlite")
        #expect(places.blockCache == "/home/anna/.cache/synctrain/blocks")
        #expect(places.controlSocket == "/home/anna/.local/state/synctrain/agent.sock")
    }

    @Test func oneHomeHoldsAll() throws {
        for places in [
            try AgentPlaces.resolve(home: "/h", environment: ["SYNCTRAIN_HOME": "/other", "XDG_STATE_HOME": "/s"]),
            try AgentPlaces.resolve(home: nil, environment: ["SYNCTRAIN_HOME": "/x/.././h//"]),
        ] {
            #expect(places.home == "/h")
            #expect(places.configurationFile == "/h/config.toml")
            #expect(places.privateKey == "/h/key.pem")
            #expect(places.blockCache == "/h/blocks")
            #expect(places.controlSocket == "/h/agent.sock")
        }
    }

    @Test func relativeHomeIsBelowTheCurrentDirectory() throws {
        let places = try AgentPlaces.resolve(home: "a/../b", environment: [:])
        let current = FileManager.default.currentDirectoryPath
        #expect(places.home == (current == "/" ? "" : current) + "/b")
    }

    @Test func nowhereToGoIsAnError() {
        #expect(failure { _ = try AgentPlaces.resolve(home: nil, environment: [:]) }?.code == .noPlace)
        #expect(failure { _ = try AgentPlaces.resolve(home: "", environment: ["HOME": "/h"]) }?.code == .noPlace)
    }

    @Test(
        arguments: [
            ([:], "neither HOME nor XDG_STATE_HOME is set"), (["HOME": "", "XDG_STATE_HOME": ""], "neither HOME nor"),
            (["HOME": "me"], "HOME is `me`, which is not a full path"),
            (["XDG_STATE_HOME": "s"], "XDG_STATE_HOME is `s`, which is not a full path, and HOME is not set"),
        ] as [([String: String], String)])
    func theVariableThatIsWrongIsNamed(_ environment: [String: String], _ cause: String) {
        let error = failure { _ = try AgentPlaces.resolve(home: nil, environment: environment) }
        #expect(error?.message.hasPrefix(cause) == true, "\(error?.message ?? "")")
    }

    /// Where `HOME` is not set the account's directory stands for it.
    @Test(
        arguments: [
            (["HOME": "/home/anna"], "/home/account", "/home/anna"), ([:], "/home/account", "/home/account"),
            (["HOME": ""], "/home/account/", "/home/account"), (["HOME": "relative"], nil, nil), ([:], "nonsense", nil),
        ] as [([String: String], String?, String?)])
    func tildeIsTheUsersHome(_ environment: [String: String], _ account: String?, _ home: String?) throws {
        let places = try AgentPlaces.resolve(home: "/h", environment: environment, accountHome: account)
        #expect(places.userHome == home)
        #expect(try places.expanded("/a/~") == "/a/~")
        guard let home else {
            let error = failure { _ = try places.expanded("~/Library") }
            #expect(error?.code == .invalidValue)
            #expect(error?.message.contains("home directory is unknown; enter a full path") == true)
            return
        }
        #expect(try places.expanded("~/Library") == home + "/Library")
        #expect(try places.expanded("~") == home)
        #expect(try places.expanded("~other/x") == "~other/x")
        #expect(
            try AgentPlaces.resolve(home: nil, environment: environment, accountHome: account).configurationFile
                == home + "/.config/synctrain/config.toml")
    }

    @Test func socketPathHasALimit() throws {
        // "/agent.sock" has 11 bytes.
        let fits = "/" + String(repeating: "d", count: 87)
        #expect(try AgentPlaces.resolve(home: fits, environment: [:]).controlSocket.utf8.count == 99)
        let error = failure { _ = try AgentPlaces.resolve(home: fits + "d", environment: [:]) }
        #expect(error?.code == .noPlace)
        #expect(error?.message.contains("at most 99") == true)
        #expect(error?.message.contains("--home") == true)
        let runtime = failure {
            _ = try AgentPlaces.resolve(
                home: nil,
                environment: ["HOME": "/h", "XDG_RUNTIME_DIR": "/" + String(repeating: "ü", count: 50)])
        }
        #expect(runtime?.message.contains("XDG_RUNTIME_DIR") == true)
    }

    @Test func makesDirectoriesForTheUserAlone() throws {
        let directory = try TemporaryDirectory()
        let places = try AgentPlaces.resolve(
            home: nil,
            environment: ["HOME": directory.path + "/user", "XDG_RUNTIME_DIR": directory.path + "/run"])
        try places.createDirectories()
        try places.createDirectories()
        for name in [
            "user/.config/synctrain", "user/.local/state/synctrain", "user/.cache/synctrain/blocks", "run/synctrain",
        ] {
            #expect(try directory.mode(name) == 0o700)
        }
    }

    @Test func existingDirectoriesKeepTheirModeUnlessEmpty() throws {
        let directory = try TemporaryDirectory()
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path)
        try directory.places().createDirectories()
        #expect(try directory.mode() == 0o700)
        try FileManager.default.setAttributes([.posixPermissions: 0o750], ofItemAtPath: directory.path)
        try directory.places().createDirectories()
        #expect(try directory.mode() == 0o750)
        #expect(try directory.names() == ["blocks"])
    }

    @Test func aFileInTheWayIsAnError() throws {
        let directory = try TemporaryDirectory()
        try directory.write("", to: "blocks")
        let error = failure { try directory.places().createDirectories() }
        #expect(error?.file == directory.path + "/blocks")
        let below = try AgentPlaces.resolve(home: directory.path + "/blocks/x", environment: [:])
        #expect(failure { try below.createDirectories() }?.file?.hasPrefix(directory.path + "/blocks") == true)
    }
}
