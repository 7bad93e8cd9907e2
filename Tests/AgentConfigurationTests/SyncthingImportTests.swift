import BlockExchange
import Foundation
import SyncTestKit
import Testing

@testable import AgentConfiguration

@Suite struct SyncthingImportTests {
    static let certificate = syncthingCertificate
    /// The id that Syncthing gave the certificate.
    static let own = "IFYEOZV-GQMPPGR-T3YYCEP-CN2LDA5-5PWT72S-OYQAJA3-FTIHATD-QKRP7QI"
    static let key = "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"

    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        try directory.write(Self.certificate, to: "cert.pem")
        try directory.write(Self.key, to: "key.pem")
    }

    func read(_ xml: String) throws -> SyncthingImport {
        try directory.write(xml, to: "config.xml")
        return try SyncthingImport.read(home: directory.path, userHome: directory.path)
    }

    @Test func takesOverWhatFits() throws {
        let id1 = testDevice(1), id2 = testDevice(2)
        try FileManager.default.createDirectory(atPath: directory.path + "/Sel", withIntermediateDirectories: false)
        try directory.write("// mine\n!/a\n*\n\n", to: "Sel/.stignore")
        let result = try read(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <configuration version="36">
                <folder id="default" label="All &amp; more" path="~/Sync" type="sendreceive" rescanIntervalS="3600">
                    <filesystemType>basic</filesystemType>
                    <device id="\(Self.own)" introducedBy=""><encryptionPassword></encryptionPassword></device>
                    <device id="\(id1)" introducedBy=""><encryptionPassword></encryptionPassword></device>
                    <device id="\(testDevice(9))" introducedBy=""></device>
                    <paused>false</paused>
                </folder>
                <folder id="sel" label="" path="\(directory.path)/Sel/" type="receiveonly"><paused>true</paused></folder>
                <folder id="enc" label="Enc" path="/e" type="receiveencrypted"></folder>
                <folder id="pw" label="" path="/p" type="sendreceive">
                    <device id="\(id1)"><encryptionPassword>secret</encryptionPassword></device>
                </folder>
                <folder id="in" label="" path="~/Sync/in" type="sendonly"></folder>
                <folder id="rel" label="" path="rel" type="sendonly"></folder>
                <folder id="odd" label="" path="/odd" type="strange"></folder>
                <device id="\(Self.own)" name="me" compression="metadata"><address>dynamic</address></device>
                <device id="\(id1)" name="nas" compression="metadata">
                    <address>tcp://192.0.2.7</address>
                    <address>quic://192.0.2.7:22000</address>
                    <address> tcp6://[fe80::1]:22001 </address>
                    <address>dynamic</address>
                    <paused>false</paused>
                </device>
                <device id="\(id2)" name="phone" introducer="true" skipIntroductionRemovals="true" introducedBy="\(id1)">
                    <address>relay://x:1/?id=Y</address><address>relay://x:1/?id=\(Self.own)&amp;token=t</address>
                    <paused>true</paused>
                    <maxSendKbps>100</maxSendKbps><maxRecvKbps>0</maxRecvKbps><numConnections>-1</numConnections>
                    <allowedNetwork>192.168.0.0/16</allowedNetwork><allowedNetwork>!10.0.0.0/8</allowedNetwork>
                    <ignoredFolder time="2026-01-01T00:00:00Z" id="spam from all" label="Spam"></ignoredFolder>
                    <ignoredFolder time="2026-01-01T00:00:00Z" id="" label=""></ignoredFolder>
                </device>
                <remoteIgnoredDevice time="2026-01-01T00:00:00Z" id="\(testDevice(7))" name="odd" address="1.2.3.4:5"/>
                <remoteIgnoredDevice id="\(id1)"/><remoteIgnoredDevice id="nonsense"/>
                <device id="nonsense" name="broken"></device>
                <gui enabled="true"><address>127.0.0.1:8384</address></gui>
                <options>
                    <listenAddress>default</listenAddress>
                    <listenAddress>tcp4://:22001</listenAddress>
                    <listenAddress>quic://:22000</listenAddress>
                    <listenAddress>dynamic+https://relays.example/endpoint</listenAddress>
                    <listenAddress>relay://192.0.2.9:22067/?id=\(id1)</listenAddress>
                    <listenAddress>relay://nowhere</listenAddress>
                    <localAnnounceEnabled>false</localAnnounceEnabled>
                    <globalAnnounceEnabled>false</globalAnnounceEnabled>
                    <globalAnnounceServer>default-v4</globalAnnounceServer>
                    <globalAnnounceServer>default</globalAnnounceServer>
                    <globalAnnounceServer>https://192.0.2.9:8443/?id=\(id1)</globalAnnounceServer>
                    <globalAnnounceServer>http://plain</globalAnnounceServer>
                    <relaysEnabled>false</relaysEnabled><natEnabled>false</natEnabled>
                    <announceLANAddresses>false</announceLANAddresses>
                </options>
                <defaults>
                    <folder id="template" path="~/Template"><device id="\(id2)"/></folder>
                    <device id="" name="template"><address>tcp://x:1</address></device>
                </defaults>
            </configuration>
            """)
        #expect(result.id.description == Self.own)
        #expect(result.certificatePEM == Self.certificate)
        #expect(result.privateKeyPEM == Self.key)
        #expect(result.name == "me")
        #expect(
            result.discovery
                == Configuration.Discovery(
                    local: false, global: false, servers: ["default", "https://192.0.2.9:8443/?id=\(id1)"],
                    announcesLocalAddresses: false))
        #expect(
            result.relays
                == Configuration.Relays(
                    isEnabled: false,
                    servers: [
                        "default", "dynamic+https://relays.example/endpoint", "relay://192.0.2.9:22067/?id=\(id1)",
                    ]))
        #expect(result.mapsPorts == false)
        #expect(
            result.ignored
                == Configuration.Ignored(
                    devices: [testDevice(7)], folders: [IgnoredFolder(FolderID("spam from all"), from: id2)]))
        var phone = DeviceConfiguration(
            id: id2, name: "phone", addresses: ["relay://x:1/?id=\(Self.own)&token=t"], isPaused: true,
            introducedBy: id1)
        phone.isIntroducer = true
        phone.skipsIntroductionRemovals = true
        phone.allowedNetworks = ["192.168.0.0/16", "!10.0.0.0/8"]
        phone.rates.up = 102_400
        phone.connections = 1
        #expect(result.listen == Configuration.defaultListen + ["tcp://0.0.0.0:22001"])
        #expect(
            result.devices == [
                DeviceConfiguration(
                    id: id1, name: "nas", addresses: ["tcp://192.0.2.7:22000", "tcp://[fe80::1]:22001", "dynamic"]),
                phone,
            ])
        #expect(
            result.folders == [
                FolderConfiguration(
                    id: FolderID("default"), label: "All & more", path: directory.path + "/Sync", mode: .full,
                    devices: [id1]),
                FolderConfiguration(
                    id: FolderID("sel"), path: directory.path + "/Sel", mode: .selective, kind: .receiveOnly,
                    isPaused: true),
            ])
        for words in [
            "`Enc`", "`pw`", "`in`", "`rel`", "`odd`", "quic://192.0.2.7:22000", "relay://x",
            "nonsense",
            "quic://:22000", testDevice(9).description, "Stop Syncthing", "relay://nowhere", "http://plain",
        ] {
            #expect(result.notes.map(\.english).count { $0.contains(words) } == 1, "\(words): \(result.notes)")
        }
        #expect(result.notes.count == 13)
        // What comes out can be written as it is.
        let file = ConfigurationFile(try AgentPlaces.resolve(home: directory.path, environment: [:]))
        let made = try file.create(
            name: result.name, listen: result.listen, discovery: result.discovery, relays: result.relays,
            mapsPorts: result.mapsPorts, edits: result.edits)
        #expect(made.discovery == result.discovery && made.relays == result.relays && !made.network.mapsPorts)
        #expect(made.ignored == result.ignored)
        #expect(made.devices == result.devices)
        #expect(made.folders == result.folders)
    }

    static let versionings: [(String, FolderVersions?)] = [
        ("<versioning></versioning>", FolderVersions()), ("<versioning type=\"\"></versioning>", FolderVersions()),
        (
            "<versioning type=\"simple\"><param key=\"keep\" val=\"9\"></param><param key=\"cleanoutDays\" val=\"7\"/>"
                + "<cleanupIntervalS>60</cleanupIntervalS><fsPath></fsPath><fsType>basic</fsType></versioning>",
            FolderVersions(kind: .simple, keep: 9, cleanoutDays: 7, cleanInterval: 60)
        ),
        (
            "<versioning type=\"staggered\"><param key=\"maxAge\" val=\"86401\"/><fsPath>/archive</fsPath></versioning>",
            FolderVersions(kind: .staggered, path: "/archive", maximumAgeDays: 2)
        ),
        ("<versioning type=\"trashcan\"><fsPath>.stversions</fsPath></versioning>", FolderVersions(kind: .trashcan)),
        ("<versioning type=\"external\"><param key=\"command\" val=\"x\"/></versioning>", nil),
        ("<versioning type=\"simple\"><param key=\"keep\" val=\"0\"/></versioning>", nil),
        ("<versioning type=\"simple\"><fsPath>sub</fsPath></versioning>", nil),
    ]

    /// Nil: nothing of it, and a note.
    @Test(arguments: versionings.indices) func versioningIsTakenOverWhereThereIsTheSame(_ number: Int) throws {
        let (xml, expected) = Self.versionings[number]
        let result = try read(
            "<configuration><folder id=\"f\" path=\"/f\" type=\"sendreceive\">\(xml)</folder></configuration>")
        #expect(result.folders.map(\.versions) == [expected ?? FolderVersions()])
        #expect(
            result.notes.map(\.english).contains { $0.contains("ersioning") } == (expected == nil), "\(result.notes)")
    }

    @Test func whatAFolderDoesWithChangesIsTakenOver() throws {
        func folder(_ attributes: String, _ xml: String) throws -> (FolderConfiguration, notes: [String]) {
            let result = try read(
                "<configuration><folder id=\"f\" path=\"/f\" type=\"sendreceive\" \(attributes)>\(xml)</folder></configuration>"
            )
            return (try #require(result.folders.first), result.notes.dropFirst().map(\.english))
        }
        let usual = FolderConfiguration(id: FolderID("f"), path: "/f", mode: .full)
        let asSyncthingWritesIt = try folder(
            "rescanIntervalS=\"3600\" fsWatcherEnabled=\"true\" ignorePerms=\"false\"",
            "<ignoreDelete>false</ignoreDelete><maxConflicts>-1</maxConflicts><markerName>.stfolder</markerName>"
                + "<copyOwnershipFromParent>false</copyOwnershipFromParent>")
        #expect(asSyncthingWritesIt == (usual, []))

        var changed = usual
        (changed.rescanInterval, changed.isWatched, changed.ignoresPermissions) = (600, false, true)
        changed.maxConflicts = 3
        #expect(
            try folder(
                "rescanIntervalS=\"600\" fsWatcherEnabled=\"false\" ignorePerms=\"true\"",
                "<maxConflicts>3</maxConflicts>")
                == (changed, []))
        for (seconds, expected) in [("-1", 0), ("99999999999", 31_536_000), ("x", 3600)] {
            #expect(try folder("rescanIntervalS=\"\(seconds)\"", "").0.rescanInterval == expected)
        }

        // What is protected from deletions must not be synced before somebody has decided.
        let protected = try folder("", "<ignoreDelete>true</ignoreDelete><paused>false</paused>")
        #expect(protected.0.isPaused && protected.notes.count == 1 && protected.notes[0].contains("`ignoreDelete`"))
        let odd = try folder(
            "",
            "<maxConflicts>0</maxConflicts><markerName>.here</markerName>"
                + "<copyOwnershipFromParent>true</copyOwnershipFromParent>")
        #expect(odd.0 == usual && odd.notes.count == 3 && odd.notes.contains { $0.contains("`.here`") })
    }

    @Test func attributesAreTakenOver() throws {
        func folder(_ xml: String) throws -> (attributes: FolderAttributes?, notes: [String]) {
            let result = try read(
                "<configuration><folder id=\"f\" path=\"/f\" type=\"sendreceive\">\(xml)</folder></configuration>")
            return (result.folders.first?.attributes, result.notes.map(\.english).filter { $0.contains("xattr") })
        }
        #expect(try folder("").attributes == FolderAttributes())
        var expected = FolderAttributes()
        (expected.syncsXattrs, expected.sendsOwnership) = (true, true)
        (expected.patterns, expected.entryByteLimit, expected.totalByteLimit) = (["!user.x*", "*"], 10, 0)
        let whole = try folder(
            "<syncXattrs>true</syncXattrs><sendXattrs>false</sendXattrs><sendOwnership>true</sendOwnership><xattrFilter>"
                + "<entry match=\"user.x*\" permit=\"false\"></entry><entry match=\"*\" permit=\"true\"></entry>"
                + "<maxSingleEntrySize>10</maxSingleEntrySize><maxTotalSize>0</maxTotalSize></xattrFilter>")
        #expect(whole.attributes == expected)
        #expect(whole.notes == [])
        let other = try folder("<xattrFilter><entry match=\"[ab]*\" permit=\"true\"></entry></xattrFilter>")
        #expect(other.attributes == FolderAttributes())
        #expect(other.notes.count == 1)
    }

    /// A device whose networks are not understood must not be reachable from all of them.
    @Test func networksThatAreNotUnderstoodPauseTheDevice() throws {
        let result = try read(
            "<configuration><device id=\"\(testDevice(1))\" name=\"nas\"><allowedNetwork>everywhere</allowedNetwork>"
                + "</device></configuration>")
        #expect(result.devices == [DeviceConfiguration(id: testDevice(1), name: "nas", isPaused: true)])
        #expect(result.notes.map(\.english).contains { $0.contains("`nas`") && $0.contains("“everywhere”") })
    }

    @Test func introducedSharesStayMarked() throws {
        let result = try read(
            """
            <configuration>
            <device id="\(testDevice(1))"/><device id="\(testDevice(2))"/>
            <folder id="f" path="/f"><device id="\(testDevice(1))" introducedBy=""/>
            <device id="\(testDevice(2))" introducedBy="\(testDevice(1))"/></folder>
            </configuration>
            """)
        #expect(result.folders[0].devices == [testDevice(1), testDevice(2)])
        #expect(result.folders[0].introductions == [FolderIntroduction(testDevice(2), by: testDevice(1))])
    }

    @Test func relaysWithoutAListenAddressAreNone() throws {
        let result = try read(
            "<configuration><options><listenAddress>tcp://:22000</listenAddress></options></configuration>")
        #expect(result.relays == Configuration.Relays(servers: []))
    }

    @Test func defaultsOfAnEmptyConfiguration() throws {
        let result = try read("<configuration version=\"51\"></configuration>")
        #expect(result.listen == Configuration.defaultListen)
        #expect(result.discovery == Configuration.Discovery() && result.relays == Configuration.Relays())
        #expect(result.mapsPorts)
        #expect(result.name == nil)
        #expect(result.devices.isEmpty && result.folders.isEmpty)
    }

    @Test(arguments: [
        "", "no xml", "<configuration>", "<other></other>", "<configuration></folder>",
        "<!DOCTYPE c [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><configuration><device id=\"&a;\"/></configuration>",
        "<configuration>&undefined;</configuration>",
        String(repeating: "<configuration>", count: 5000), "<configuration><device id=\"&#27;\"/></configuration>",
        "<configuration><options></options>",
    ])
    func refuses(_ xml: String) {
        let error = failure { _ = try read(xml) }
        #expect(error?.code == .syntax)
        #expect(error?.file == directory.path + "/config.xml")
    }

    /// A document in UTF-7 could spell `<!DOCTYPE` in other bytes; its claim is not believed.
    @Test func otherEncodingsAreNotBelieved() throws {
        let xml =
            "<?xml version=\"1.0\" encoding=\"UTF-7\"?>\n<configuration><options>"
            + "<listenAddress>tcp://+AGE-:1</listenAddress></options></configuration>"
        #expect(try read(xml).listen == Configuration.defaultListen)
    }

    @Test func hostileNamesAreMadeHarmless() throws {
        let long = String(repeating: "x", count: 3000)
        let result = try read(
            """
            <configuration>
            <device id="\(testDevice(1))" name="a&#10;b"/><device id="\(testDevice(1))" name="again"/>
            <device id="&#x9B;31m" name="&#x9B;2J\(long)"/>
            <folder id="f&#x85;" path="/f" type=""/><folder id="\(long)" path="/g"/><folder id="h" path="/h&#x0A;"/>
            </configuration>
            """)
        #expect(result.devices == [DeviceConfiguration(id: testDevice(1))])
        #expect(result.folders.isEmpty)
        #expect(result.notes.map(\.english).allSatisfy { $0.utf8.count < 600 && Configuration.isOneLine($0) })
        #expect(result.notes.count == 7)
    }

    @Test func missingFilesAreNamed() throws {
        #expect(
            failure { _ = try SyncthingImport.read(home: directory.path, userHome: nil) }?.file?.hasSuffix("config.xml")
                == true)
        try directory.write("nothing", to: "cert.pem")
        #expect(failure { _ = try read("<configuration/>") }?.file?.hasSuffix("cert.pem") == true)
        try directory.write(Self.certificate, to: "cert.pem")
        try directory.write("nothing", to: "key.pem")
        #expect(failure { _ = try read("<configuration/>") }?.file?.hasSuffix("key.pem") == true)
    }

    @Test(arguments: [
        ("", false), ("*", true), ("!/a\n*\n", true), ("*\n!/a\n", false), ("*\r\n// end\r\n\r\n", true),
        ("*.o\n", false),
        (" * \n", true),
    ])
    func knowsASelection(_ ignores: String, _ isSelective: Bool) {
        #expect(SyncthingImportBuilder.isSelective(ignores) == isSelective)
    }

    @Test(
        arguments: [
            ("tcp://host", "tcp://host:22000"), ("tcp4://1.2.3.4:5", "tcp://1.2.3.4:5"),
            ("tcp://[::1]", "tcp://[::1]:22000"),
            ("tcp://host:1/?x=y", "tcp://host:1"), ("quic://host:1", nil), ("tcp://", nil), ("tcp://:1", nil),
            ("", nil),
        ] as [(String, String?)])
    func readsAddresses(_ address: String, _ tcp: String?) { #expect(SyncthingImportBuilder.tcp(address) == tcp) }
}
