import ControlAPI
import Testing

@testable import AgentServer
@testable import synctrain

/// What is special to a shell or a browser is quoted although it is part of a longer Character.
struct QuotingTests {
    /// Two that join the Character before them, and one that joins the one behind it.
    static let marks: [Unicode.Scalar] = ["\u{301}", "\u{200D}", "\u{0D4E}"]

    static func plain(_ text: String) -> [Unicode.Scalar] { text.unicodeScalars.filter { !marks.contains($0) } }

    private static func typed(_ start: String) -> @Sendable (String) -> String {
        { TypedLine("s " + start, shell: .bash).replacement(by: $0) ?? "" }
    }

    @Test(arguments: marks)
    func marksChangeNothing(mark: Unicode.Scalar) {
        let quotings: [(name: String, quote: (String) -> String)] = [
            ("ShellWord", ShellWord.quoted), ("single", Self.typed("'")), ("double", Self.typed("\"")),
            ("dollar", Self.typed("$'")), ("none", Self.typed("")), ("site", SiteListing.escape),
            (
                "settings",
                { value in
                    DeviceRestoring.command(
                        DeviceSettings(id: "A", settings: [SettingInput(key: "k", values: [value + ",", "b"])]))
                }
            ),
            (
                "share",
                { folder in
                    DeviceRestoring.command(DeviceSettings(id: "A", folders: [DeviceShare(folder: folder + "=x")]))
                }
            ),
        ]
        for (name, quote) in quotings {
            for special in "'\"\\$`!&<>;,=[]{}()#*? \n".unicodeScalars {
                // The space has all of it quoted.
                var text = "a ".unicodeScalars
                for scalar in [mark, special, mark, "b"] { text.append(scalar) }
                let expected = quote(String(String.UnicodeScalarView(Self.plain(String(text)))))
                #expect(Self.plain(quote(String(text))) == Array(expected.unicodeScalars), "\(name) \(special)")
            }
        }
    }

    @Test func aNameEndsNoQuotes() {
        let word = ShellWord.quoted("nas'\u{301};id;'\u{301}")
        #expect(Array(word.utf8) == Array("'nas'\\''\u{301};id;'\\''\u{301}'".utf8))
    }

    @Test(arguments: ["a\u{0D4E}", "a=\u{301}", "=\u{301}b", "\u{301}"])
    func sharesComeBack(folder: String) {
        for role in [nil, "read"] {
            let command = DeviceRestoring.command(
                DeviceSettings(id: "A", folders: [DeviceShare(folder: folder, role: role)]))
            let text = TypedLine(command + " ", shell: .bash).words.last ?? ""
            #expect(DeviceRestoring.share(text).folder.utf8.elementsEqual(folder.utf8))
            #expect(DeviceRestoring.share(text).role == role || role == nil)
        }
    }
}
