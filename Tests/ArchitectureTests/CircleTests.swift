import Foundation
import Testing

/// Checks which types and folders name each other in circles, how long a class is, and how much stands behind one lock.
///
/// Read from the text: a type is mentioned where its name stands in the code of another one or of its extensions.
@Suite struct CircleTests {
    /// Circles of folders, each a target's or one within it. This list may only shrink: a circle that is mended is taken out.
    private static let knownFolderCircles: Set<[String]> = [
        // A setting is declared by what it is in the configuration, whose parts are conformed to that.
        ["Sync/AgentConfiguration/Schema", "Sync/AgentConfiguration/Settings"],
        // A format's reader is opened by the type that stands for all formats.
        ["Core/Archives", "Core/Archives/ISO", "Core/Archives/Zip"],
        ["Core/BlockExchange/Connection", "Core/BlockExchange/Index", "Core/BlockExchange/Messages"],
        // A step asks for the next step.
        [
            "Sync/FolderSync", "Sync/FolderSync/Freeing", "Sync/FolderSync/Pulling", "Sync/FolderSync/Runner",
            "Sync/FolderSync/Scanning", "Sync/FolderSync/Selecting", "Sync/FolderSync/Settling",
        ],
        // Queries in extensions of one type.
        ["Storage/IndexStore", "Storage/IndexStore/Reading", "Storage/IndexStore/Rows", "Storage/IndexStore/Writing"],
        [
            "Agent/SyncAgent", "Agent/SyncAgent/Configuration", "Agent/SyncAgent/Control/Requests",
            "Agent/SyncAgent/Pairing", "Agent/SyncAgent/Pairing/Invitations", "Agent/SyncAgent/Roles",
        ],
        [
            "Links/TransportBluetooth", "Links/TransportBluetooth/BlueZ", "Links/TransportBluetooth/GATT",
            "Links/TransportBluetooth/L2CAP", "Links/TransportBluetooth/System",
        ],
        [
            "Programs/synctrain", "Programs/synctrain/Commands", "Programs/synctrain/Live",
            "Programs/synctrain/Rendering", "Programs/synctrain/Terminal",
        ],
    ]

    /// Classes that are plain lists of queries and of system calls.
    private static let longClasses: Set<String> = ["IndexStore", "RootDirectory"]

    /// Values that one writer publishes as a whole, for others to read.
    private static let publishedSnapshots: Set<String> = ["FolderStatusBoard.swift", "DeviceSession.swift"]

    private struct Part {
        var target: String
        var folder: String
        var file: String
        var source: SourceCode.Part
    }

    private typealias File = (target: String, folder: String, file: String, code: String)

    /// Read once for all tests.
    private static let everyFile = Result { () throws -> [File] in
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources")
        let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)?.allObjects ?? []
        let prefix = root.path().hasSuffix("/") ? root.path() : root.path() + "/"
        return try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            .sorted { $0.path() < $1.path() }.map { url in
                let parts = url.path().dropFirst(prefix.count).split(separator: "/").map(String.init)
                return (
                    parts[1], parts.dropLast().joined(separator: "/"), parts[parts.count - 1],
                    SourceCode.code(try String(contentsOf: url, encoding: .utf8))
                )
            }
    }

    private static let everyPart = everyFile.map { files in
        files.flatMap { file in
            SourceCode.parts(file.code).map {
                Part(target: file.target, folder: file.folder, file: file.file, source: $0)
            }
        }
    }

    private static func files() throws -> [File] { try everyFile.get() }
    private static func parts() throws -> [Part] { try everyPart.get() }

    /// Which folder of a target declares a type.
    private static func folders(_ parts: [Part]) -> [String: [String: String]] {
        var folders: [String: [String: String]] = [:]
        for part in parts where part.source.kind != "extension" {
            folders[part.target, default: [:]][part.source.type] = part.folder
        }
        return folders
    }

    @Test func noNewCircleOfFolders() throws {
        let parts = try Self.parts()
        let folders = Self.folders(parts)
        var mentions: [String: Set<String>] = [:]
        for part in parts {
            guard let own = folders[part.target], let folder = own[part.source.type] else { continue }
            mentions[folder, default: []].formUnion(part.source.mentions.compactMap { own[$0] })
        }
        let circles = Set(Circles.all(in: mentions))
        for circle in circles.subtracting(Self.knownFolderCircles) {
            Issue.record("the types of these folders name each other in a circle: \(circle.joined(separator: ", "))")
        }
        for circle in Self.knownFolderCircles.subtracting(circles) {
            Issue.record("this listed circle has changed; shorten the list: \(circle.joined(separator: ", "))")
        }
        // The walk has not missed the sources.
        #expect(parts.count > 500)
    }

    @Test func atMostThreeTypesOfAFolderAreInACircle() throws {
        let parts = try Self.parts().filter { $0.folder.hasPrefix("Sync/") || $0.folder.hasPrefix("Agent/") }
        let folders = Self.folders(parts)
        var mentions: [String: [String: Set<String>]] = [:]
        for part in parts {
            guard let own = folders[part.target], let folder = own[part.source.type] else { continue }
            mentions[folder, default: [:]][part.source.type, default: []]
                .formUnion(part.source.mentions.filter { own[$0] == folder })
        }
        let circles = Set(mentions.values.flatMap { Circles.all(in: $0) }.filter { $0.count > 3 })
        for circle in circles {
            Issue.record("these types name each other in a circle: \(circle.joined(separator: ", "))")
        }
    }

    @Test func noClassIsLongerThan800Lines() throws {
        var lineCounts: [String: Int] = [:]
        var classes: Set<String> = []
        for part in try Self.parts() {
            let name = "\(part.target).\(part.source.type)"
            lineCounts[name, default: 0] += part.source.lineCount
            if ["class", "actor"].contains(part.source.kind), !Self.longClasses.contains(part.source.type) {
                classes.insert(name)
            }
        }
        for name in classes.sorted() { #expect(lineCounts[name, default: 0] <= 800, "\(name)") }
        #expect(classes.count > 50)
    }

    @Test func noLockHoldsMoreThanEightFields() throws {
        var count = 0
        for file in try Self.files() where !Self.publishedSnapshots.contains(file.file) {
            for (name, fields) in SourceCode.lockedFieldCounts(file.code) {
                count += 1
                #expect(fields <= 8, "\(name) in \(file.folder)/\(file.file) has \(fields) fields behind one lock")
            }
        }
        #expect(count > 20)
    }

    /// What is done as a stream ends is done by who cancels its reader, under a lock of the runtime that who sends waits for:
    /// `Listeners` takes no other there.
    @Test func streamsOfSeveralReadersAreListeners() throws {
        let files = try Self.files().filter { $0.code.contains("onTermination") }
        #expect(files.map(\.file) == ["Listeners.swift"])
    }

    @Test func circlesAreFound() {
        let mentions: [String: Set<String>] = [
            "a": ["b"], "b": ["c", "x"], "c": ["a"], "d": ["a", "d"], "e": ["f"], "f": ["e"], "g": [],
        ]
        #expect(Circles.all(in: mentions) == [["a", "b", "c"], ["e", "f"]])
    }

    @Test(arguments: [
        ("let a = B() // C", "let a = B()     "), ("/* A /* B */ C */ D", "                  D"),
        (#""A \(B(c: "D")) E" F"#, #"     B(c:    )     F"#), ("\"\"\"\nA \"B\"\n\"\"\"\nC", "   \n     \n   \nC"),
        (#""\"A" B"#, #"      B"#),
    ])
    func commentsAndTextsAreBlank(_ source: String, _ code: String) {
        #expect(SourceCode.code(source) == code)
    }

    @Test func partsAreFound() {
        let code = """
            import A

            @MainActor package final class B: C<D> {
                let e: F.G = h()
            }

            private func i(_ j: K) {}

            extension B {
                struct L {}
            }
            """
        #expect(
            SourceCode.parts(code) == [
                SourceCode.Part(type: "B", kind: "class", lineCount: 4, mentions: ["B", "C", "D", "F", "MainActor"]),
                SourceCode.Part(type: "B", kind: "extension", lineCount: 3, mentions: ["B", "L"]),
            ])
    }

    @Test func lockedFieldsAreCounted() {
        let code = """
            final class A {
                private struct State: Sendable {
                    static let limit = 5
                    var a = 0
                    let b: [Int]
                    private(set) var c: Int?
                    var d: Int { a + 1 }
                    func e() {
                        let f = 1
                    }
                }

                private let state = Mutex(State(b: []))
                private let other = Mutex<Int>(0)
            }
            """
        #expect(SourceCode.lockedFieldCounts(code) == ["State": 3])
    }
}
