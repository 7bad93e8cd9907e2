import Foundation
import Testing

@testable import Selection

extension IgnorePattern {
    /// The globs that the line stands for, as Syncthing lists them.
    var expansion: [String] {
        let prefix = (isDeletable ? "(?d)" : "") + (foldsCase ? "(?i)" : "") + (isIgnoring ? "" : "!")
        return Self.globTexts(of: body).map { prefix + (isRooted ? "/" : "") + String(scalars: $0) }
    }
}

/// What a real Syncthing made of pattern lists over a tree of files.
@Suite struct GoldenVectorTests {
    private struct Vectors<Included: Decodable>: Decodable {
        struct Case: Decodable {
            let patterns: [String]
            let error: String?
            let expanded: [String]?
            let included: Included?
        }

        let tree: [String]
        let cases: [Case]

        init(named name: String) throws {
            let url = try #require(
                Bundle.module.url(forResource: name, withExtension: "json", subdirectory: "Vectors"))
            self = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: url))
        }
    }

    /// The one answer that is not Syncthing's any more: the library of 1.19.2 took the bytes of a character for
    /// characters and so let `ß.txt` slip through; 1.20.3 and later match it (syncthing#8386).
    private static let outdated = (pattern: "[!a-w].txt", file: "üml/ß.txt")

    @Test func everyListIncludesTheSameFiles() throws {
        let vectors = try Vectors<[String]>(named: "stignore")
        #expect(vectors.cases.count == 62)
        var outdatedCount = 0
        for vector in vectors.cases {
            let result = Result { try Selection(parsing: vector.patterns.joined(separator: "\n")) }
            guard let included = vector.included, vector.error == nil else {
                #expect(throws: IgnoreError.self, "\(vector.patterns)") { try result.get() }
                continue
            }
            let selection = try result.get()
            #expect(selection.patterns.flatMap(\.expansion) == vector.expanded ?? [], "\(vector.patterns)")
            var expected = Set(included.filter { !$0.hasSuffix("/") })
            if vector.patterns == [Self.outdated.pattern] {
                #expect(expected.remove(Self.outdated.file) != nil)
                outdatedCount += 1
            }
            #expect(Set(vectors.tree.filter { !selection.isIgnored($0) }) == expected, "\(vector.patterns)")
        }
        #expect(outdatedCount == 1)
    }

    @Test func everyWalkReachesWhatIsIncluded() throws {
        for vector in try Vectors<[String]>(named: "stignore").cases {
            guard let included = vector.included, vector.error == nil else { continue }
            let selection = try Selection(parsing: vector.patterns.joined(separator: "\n"))
            for path in included where !path.hasSuffix("/") {
                let components = path.split(separator: "/")
                for depth in components.indices {
                    let directory = components[..<depth].joined(separator: "/")
                    #expect(selection.mayContainSelected(directory), "\(directory) for \(path) in \(vector.patterns)")
                }
            }
        }
    }

    @Test func randomListsIncludeTheSameFiles() throws {
        let vectors = try Vectors<String>(named: "stignore-random")
        #expect(vectors.cases.count > 600)
        for vector in vectors.cases {
            let selection = try Selection(parsing: vector.patterns.joined(separator: "\n"))
            // A bit set in hexadecimal, the file at index 0 last.
            let digits = Array(try #require(vector.included).reversed())
            let expected = vectors.tree.indices.filter { index in
                index / 4 < digits.count && (digits[index / 4].hexDigitValue ?? 0) >> (index % 4) & 1 == 1
            }
            #expect(
                vectors.tree.filter { !selection.isIgnored($0) } == expected.map { vectors.tree[$0] },
                "\(vector.patterns)")
        }
    }
}
