import Foundation
import SyncTestKit
import Testing

@testable import AgentConfiguration

@Suite struct DeviceIdentityFilesTests {
    let directory: TemporaryDirectory
    let places: AgentPlaces

    init() throws {
        directory = try TemporaryDirectory()
        places = try directory.places()
    }

    @Test func writesAndReads() throws {
        try DeviceIdentityFiles.create(in: places, certificatePEM: "CERT\n", privateKeyPEM: "KEY\n")
        let identity = try DeviceIdentityFiles.load(from: places)
        #expect(identity.certificatePEM == "CERT\n")
        #expect(identity.privateKeyPEM == "KEY\n")
        #expect(identity.warnings.isEmpty)
        #expect(try directory.mode("key.pem") == 0o600)
        #expect(try directory.mode("cert.pem") == 0o644)
        #expect(try directory.names() == ["cert.pem", "key.pem"])
    }

    @Test(arguments: ["cert.pem", "key.pem"])
    func neverOverwrites(_ name: String) throws {
        try directory.write("old", to: name)
        let error = failure {
            try DeviceIdentityFiles.create(in: places, certificatePEM: "CERT", privateKeyPEM: "KEY")
        }
        #expect(error?.code == .alreadyExists)
        #expect(try directory.text(name) == "old")
        #expect(try directory.names() == [name])
    }

    @Test func whatCannotBeSeenIsNotMissing() throws {
        #expect(try !DeviceIdentityFiles.isThere(in: places))
        // A way that leads nowhere, as one into a closed directory.
        try FileManager.default.createSymbolicLink(atPath: places.certificate, withDestinationPath: "cert.pem")
        let error = failure { _ = try DeviceIdentityFiles.isThere(in: places) }
        #expect(error?.file == places.certificate && error?.code != .missing)
        try FileManager.default.removeItem(atPath: places.certificate)
        try directory.write("KEY", to: "key.pem")
        #expect(try DeviceIdentityFiles.isThere(in: places))
    }

    @Test func missingFilesSayWhatToDo() throws {
        try directory.write("KEY", to: "key.pem")
        let error = failure { _ = try DeviceIdentityFiles.load(from: places) }
        #expect(error?.code == .missing)
        #expect(error?.file == places.certificate)
        #expect(error?.message.contains("synctrain init") == true)
    }

    @Test(arguments: [("key.pem", "cert.pem"), ("cert.pem", "key.pem")])
    func halfAnIdentityNamesTheHalfThatIsMissing(_ there: String, _ missing: String) throws {
        #expect(try !DeviceIdentityFiles.isWhole(in: places))
        try directory.write("HALF", to: there)
        let error = failure { _ = try DeviceIdentityFiles.isWhole(in: places) }
        #expect(error?.code == .missing && error?.file == "\(directory.path)/\(missing)")
        // What `init` does is what the message advises.
        #expect(error?.message.contains("delete \(directory.path)/\(there) and run `synctrain init`") == true)
        #expect(failure { _ = try DeviceIdentityFiles.load(from: places) } == error)
        try directory.write("OTHER", to: missing)
        #expect(try DeviceIdentityFiles.isWhole(in: places))
    }

    @Test func aKeyThatOthersReadIsWarnedOf() throws {
        try DeviceIdentityFiles.create(in: places, certificatePEM: "CERT", privateKeyPEM: "KEY")
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: places.privateKey)
        #expect(try DeviceIdentityFiles.load(from: places).warnings.count == 1)
    }
}

@Suite struct LinkKeyFileTests {
    let directory: TemporaryDirectory
    let places: AgentPlaces

    init() throws {
        directory = try TemporaryDirectory()
        places = try directory.places()
    }

    @Test func isMadeOnceAndForItsUserAlone() throws {
        let key = try LinkKeyFile.load(from: places)
        #expect(key.count == 32)
        #expect(Set(key).count > 8)
        #expect(try LinkKeyFile.load(from: places) == key)
        #expect(try directory.mode("http.key") == 0o600)
        #expect(try directory.names() == ["http.key"])
        let other = try TemporaryDirectory()
        #expect(try LinkKeyFile.load(from: try other.places()) != key)
    }

    @Test func whatIsNoKeyIsNotUsed() throws {
        try directory.write("short", to: "http.key")
        #expect(failure { _ = try LinkKeyFile.load(from: places) }?.message.contains("delete it") == true)
        #expect(try directory.text("http.key") == "short")
    }

    @Test func aKeyThatOthersReadIsNotUsed() throws {
        _ = try LinkKeyFile.load(from: places)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: places.linkKey)
        #expect(failure { _ = try LinkKeyFile.load(from: places) }?.message.contains("chmod 600") == true)
    }
}

@Suite struct SessionFileTests {
    @Test func isForItsUserAlone() throws {
        let directory = try TemporaryDirectory()
        let places = try directory.places()
        #expect(try SessionFile.read(from: places) == nil)
        for text in ["one", "two"] {
            try SessionFile.write(Array(text.utf8), to: places)
            #expect(try SessionFile.read(from: places) == Array(text.utf8))
            #expect(try directory.mode("http.sessions") == 0o600)
        }
        #expect(try directory.names() == ["http.sessions"])
        // Who could write it could log in.
        try FileManager.default.setAttributes([.posixPermissions: 0o660], ofItemAtPath: places.sessions)
        #expect(failure { _ = try SessionFile.read(from: places) }?.file == places.sessions)
        try SessionFile.write(Array("three".utf8), to: places)
        #expect(try directory.mode("http.sessions") == 0o600)
        #expect(try SessionFile.read(from: places) == Array("three".utf8))
    }

    /// A link to another file would have that file read or written.
    @Test func aSymbolicLinkIsNotFollowed() throws {
        let directory = try TemporaryDirectory()
        let places = try directory.places()
        try directory.write("mine", to: "other")
        try FileManager.default.createSymbolicLink(
            atPath: places.sessions, withDestinationPath: directory.path + "/other")
        #expect(failure { _ = try SessionFile.read(from: places) } != nil)
        try SessionFile.write(Array("new".utf8), to: places)
        #expect(try directory.text("other") == "mine")
        #expect(try directory.text("http.sessions") == "new")
    }
}

@Suite struct AgentLockTests {
    @Test func onlyOneHoldsIt() throws {
        let directory = try TemporaryDirectory()
        let places = try directory.places()
        var first: AgentLock? = try AgentLock.take(places)
        let error = failure { _ = try AgentLock.take(places) }
        #expect(error?.code == .busy)
        #expect(error?.message.contains("process \(getpid())") == true)
        #expect(try directory.text("lock") == "\(getpid())\n")
        withExtendedLifetime(first) {}
        first = nil
        _ = try AgentLock.take(places)
    }

    @Test func itsHolderIsKnown() throws {
        let directory = try TemporaryDirectory()
        let places = try directory.places()
        #expect(try AgentLock.holder(in: places) == nil)
        var lock: AgentLock? = try AgentLock.take(places)
        #expect(try AgentLock.holder(in: places) == AgentLock.Holder(process: getpid()))
        try directory.write("", to: "lock")
        #expect(try AgentLock.holder(in: places) == AgentLock.Holder(process: nil))
        withExtendedLifetime(lock) {}
        lock = nil
        // The file stays; what it says is of before.
        try directory.write("1\n", to: "lock")
        #expect(try AgentLock.holder(in: places) == nil)
    }

    /// flock(1) of util-linux stands for the other process.
    @Test func itHoldsBetweenProcesses() throws {
        let directory = try TemporaryDirectory()
        let places = try directory.places()
        func tryFromOutside() throws -> Int32 {
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/flock")
            process.arguments = ["--nonblock", "--conflict-exit-code", "9", places.lock, "true"]
            try process.run()
            process.waitUntilExit()
            return process.terminationStatus
        }
        do {
            let lock = try AgentLock.take(places)
            #expect(try tryFromOutside() == 9)
            withExtendedLifetime(lock) {}
        }
        #expect(try tryFromOutside() == 0)
    }

    @Test func aShorterProcessIdLeavesNothingOfALongerOne() throws {
        let directory = try TemporaryDirectory()
        try directory.write("4294967295 and more\n", to: "lock")
        _ = try AgentLock.take(directory.places())
        #expect(try directory.text("lock") == "\(getpid())\n")
    }

    @Test func withoutADirectoryItSaysSo() throws {
        let places = try AgentPlaces.resolve(home: "/nonexistent/home", environment: [:])
        #expect(failure { _ = try AgentLock.take(places) }?.code == .missing)
    }
}
