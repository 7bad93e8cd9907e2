import SyncTestKit
import Testing

@testable import Diagnosis

@Suite struct RedactorTests {
    static func redactor() -> Redactor {
        var redactor = Redactor(vocabulary: [
            "connected", "to", "the", "folder", "key", "path", "tcp", "idle", "halted", "root", "proxy", "id",
        ])
        redactor.learn(["JD5Q6SS-ABCDEFG-ABCDEFG", "my nas"], .device)
        redactor.learn(["photos", "/srv/Photos"], .folder)
        return redactor
    }

    @Test(arguments: [
        ("connected to my nas", "connected to device-1"), ("JD5Q6SS is idle", "device-1 name-1 idle"),
        ("JD5Q6SS-ABCDEFG-ABCDEFG", "device-1"), ("ZZZZZZ2-ZZZZZZ3", "device-2"),
        ("photos:2024/Taxes.pdf", "folder-1:name-1/name-2"), ("/srv/Photos/a b.jpg", "folder-1/name-1 name-2"),
        ("/home/me/x", "/home/name-1/name-2"), ("/home/\u{301}/x", "/home/name-1/name-2"), ("photosynthesis", "name-1"),
        ("(photos)", "(folder-1)"),
        ("tcp://192.0.2.7:22000", "tcp://address-1"), ("evil://x/y", "address://address-1"),
        ("192.0.2.7", "address-1"), ("10.0.0.1:80", "address-1"), ("2001:db8::7", "address-1"),
        ("nas.example.org", "name-1"),
        ("v1.29.5 12 3.5 80% 512MiB", "v1.29.5 12 3.5 80% 512MiB"),
        ("2026-11-25T14:51:13.123Z 14:51:13", "2026-11-25T14:51:13.123Z 14:51:13"),
        ("0170123456.vcf", "address-1"),
        ("halted-root: \"Secret\" `x` key=word", "halted-root: \"name-1\" `name-2` key=name-3"),
        ("word word", "name-1 name-1"), ("äöü", "name-1"), ("", ""), ("a\nb", "name-1\nname-2"),
    ])
    func onlyWhatIsHarmlessStays(_ text: String, _ expected: String) {
        var redactor = Self.redactor()
        #expect(redactor.text(text) == expected)
    }

    @Test func aNameIsReplacedEvenIfItsWordsAreHarmless() {
        var redactor = Self.redactor()
        #expect(redactor.name("root/idle") == "name-1/name-2")
        #expect(redactor.name("photos") == "folder-1")
        #expect(redactor.text("root") == "name-1", "and stays replaced")
    }

    @Test func aConfigurationKeepsItsShape() {
        var redactor = Self.redactor()
        let text = redactor.configuration(
            """
            # to the key
            key = "idle"   # Secret
            proxy = "socks5://u:p@h:1"
            [[folder]]
            id = "idle"
            path = '/srv/Photos'
            nonsense idle
            """)
        #expect(
            text
                == """
                key = "idle"   # name-1
                proxy = secret-1
                [[folder]]
                id = "name-2"
                path = 'folder-1'
                name-3 name-2

                """, "\(text)")
    }

    /// Names of any kind, in texts of any kind: none of them is in what comes out.
    @Test func noNameGetsThrough() {
        var random = SeededGenerator(seed: 20_261_125)
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZäöü0123456789 -_.")
        let glue = [" ", ": ", "/", "\"", "'", "`", ", ", "=", "(", ")", "\n", "://", "-", "."]
        let words = Array(Vocabulary.words).sorted()
        for _ in 0..<200 {
            var redactor = Redactor()
            let names = (0..<6).map { _ in
                // What cannot be told from a word of this program, a number, or a part of a pseudonym would prove nothing.
                "q" + String((0..<random.int(6...20)).map { _ in letters[random.int(0...letters.count - 1)] }) + "7z"
            }
            let kinds: [Redactor.Kind] = [.folder, .device, .name]
            for name in names.prefix(3) { redactor.learn([name], kinds[random.int(0...2)]) }
            var text = ""
            for _ in 0..<40 {
                text += random.int(0...2) == 0 ? names[random.int(0...5)] : words[random.int(0...words.count - 1)]
                text += glue[random.int(0...glue.count - 1)]
            }
            for result in [redactor.text(text), redactor.configuration(text)] {
                for name in names { #expect(!result.contains(name), "\(name) in \(result)") }
                #expect(!result.contains("7z"), "\(result)")
            }
        }
    }
}
