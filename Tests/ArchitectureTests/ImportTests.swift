import Foundation
import Testing

/// Checks the imports that stand in the sources. The build's own check of undeclared imports does not know which
/// declared ones are wanted.
@Suite struct ImportTests {
    private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private let architecture = Architecture.synctrain

    /// The layers of `Sources`, lowest first, as docs/design.md draws them.
    private static let layers = ["System", "Core", "Storage", "Links", "Sync", "Agent", "Programs"]

    private func names(in directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root.appending(path: directory).path())
    }

    /// Every target of the product and of the benchmarks, by name.
    private func directories() throws -> [String: URL] {
        var directories: [String: URL] = [:]
        for layer in Self.layers {
            for name in try names(in: "Sources/\(layer)") {
                directories[name] = root.appending(path: "Sources/\(layer)/\(name)")
            }
        }
        let manifest = try String(contentsOf: root.appending(path: "Package.swift"), encoding: .utf8)
        for match in manifest.matches(of: /\.benchmark\("([^"]+)"/) {
            directories[String(match.output.1)] = root.appending(path: "Benchmarks/\(match.output.1)")
        }
        return directories
    }

    private func sources(in directory: URL) throws -> [(name: String, text: String)] {
        let files = FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil)
        return try (files?.allObjects ?? []).compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            .map { ($0.path(), try String(contentsOf: $0, encoding: .utf8)) }
    }

    @Test func everyTargetIsInTheTable() throws {
        #expect(try Set(directories().keys) == Set(architecture.targets.keys))
    }

    @Test func everyImportIsAllowed() throws {
        var count = 0
        for (target, directory) in try directories() {
            for (name, text) in try sources(in: directory) {
                for module in ImportScanner.modules(in: text) {
                    count += 1
                    if let objection = architecture.objection(to: module, in: target) {
                        Issue.record("\(name): \(objection)")
                    }
                }
            }
        }
        // The walk has not missed the sources.
        #expect(count > 100)
    }

    @Test func noProductReachesIntoAnother() throws {
        for (_, directory) in try directories() {
            for (name, text) in try sources(in: directory) {
                #expect(!text.contains("@testable"), "\(name): @testable is for tests")
                #expect(!text.contains("@_spi"), "\(name): make package what others need")
            }
        }
    }

    @Test func noLayerIsMissing() throws {
        #expect(try Set(names(in: "Sources")) == Set(Self.layers))
    }

    /// A target imports only targets of its own layer and of those before it.
    @Test func layersPointOneWay() throws {
        var height: [String: Int] = [:]
        for (index, layer) in Self.layers.enumerated() {
            for name in try names(in: "Sources/\(layer)") { height[name] = index }
        }
        for (target, imports) in architecture.targets {
            guard let own = height[target] else { continue }
            for name in imports { #expect(height[name].map { $0 <= own } == true, "\(target) imports \(name)") }
        }
    }

    /// Targets can be put in an order in which each imports only earlier ones.
    @Test func importsPointOneWay() {
        var rest = architecture.targets
        while let (name, _) = rest.first(where: { $0.value.isDisjoint(with: rest.keys) }) { rest[name] = nil }
        #expect(rest.isEmpty, "these import each other in a circle: \(rest.keys.sorted())")
    }

    @Test func pureTargetsStayPure() {
        for target in architecture.pure {
            for module in architecture.impure {
                #expect(architecture.objection(to: module, in: target) != nil, "\(target) is pure; \(module) is not")
            }
            let impureOwn = architecture.targets[target]?.filter { architecture.targets[$0]?.isEmpty == false }
            #expect(impureOwn?.isSubset(of: architecture.pure) == true)
        }
    }

    @Test func onlyTheCommandLineJoins() {
        for module in ["Reachability", "AgentServer", "SyncAgent"] {
            let importers = architecture.targets.filter { $0.value.contains(module) }.keys
            #expect(Array(importers) == ["synctrain"], "\(module)")
        }
    }

    @Test func everyNameInTheTablesIsATarget() {
        let names = Set(architecture.targets.keys)
        for (target, imports) in architecture.targets { #expect(imports.isSubset(of: names), "\(target)") }
        for (module, rule) in architecture.modules {
            #expect(rule.importers?.isSubset(of: names) ?? true, "\(module)")
            #expect(!rule.reason.isEmpty, "\(module)")
        }
        #expect(architecture.pure.isSubset(of: names))
    }

    @Test(arguments: [
        ("Selection", "Foundation"), ("BlockExchange", "NIOPosix"), ("BlockExchange", "IndexStore"),
        ("FolderSync", "GRDB"), ("PeerLinks", "TransportTCP"), ("AgentServer", "SyncAgent"),
        ("FolderSync", "PeerLinks"), ("PeerLinks", "FileDrop"), ("SyncDecisions", "IndexStore"),
        ("synctrain", "SyncTestKit"),
        ("synctrain", "Testing"), ("FileAccess", "Hummingbird"), ("Nowhere", "Swift"), ("Selection", "Selection"),
        ("Selection", "Unheard"),
    ])
    func violationsAreFound(_ target: String, _ module: String) {
        #expect(architecture.objection(to: module, in: target) != nil)
    }

    @Test(arguments: [
        ("import A", ["A"]), ("  @testable import A", ["A"]), ("@preconcurrency package import A.B", ["A"]),
        ("import struct A.B", ["A"]), ("import class A.B; import C", ["A", "C"]), ("// import A", []),
        ("/* x */ import A // B", ["A"]), ("/*\nimport A\n*/ import B", ["B"]),
        ("#if os(Linux)\nimport A\n#endif", ["A"]),
        ("@_exported import A", ["A"]), ("internal import A\r\nimport B", ["A", "B"]), ("let text = \"import A\"", []),
        ("importer A", []),
    ])
    func importsAreFound(_ source: String, _ modules: [String]) {
        #expect(ImportScanner.modules(in: source) == modules)
    }
}
