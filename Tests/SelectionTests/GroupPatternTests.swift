import Selection
import Testing

@Suite struct GroupPatternTests {
    private func group(_ patterns: [String], _ name: String) throws -> [String]? {
        try GroupPatterns(patterns).group(of: name)?.names
    }

    @Test(
        arguments: [
            ("album/*.{jpg,txt}", "album/a.jpg", ["album/a.jpg", "album/a.txt"]),
            ("/album/*.{jpg,txt}", "album/a.txt", ["album/a.jpg", "album/a.txt"]),
            ("*.{jpg,txt}", "a.jpg", ["a.jpg", "a.txt"]),
            ("*.{jpg,txt}", "album/a.jpg", nil),
            ("album/*.{jpg,txt}", "album/b/a.jpg", nil),
            ("album/*.{jpg,txt}", "album/a.png", nil),
            ("album/*.{jpg,txt}", "album", nil),
            ("album/*.{jpg,txt}", "albums/a.jpg", nil),
            // The star takes at least one byte: these are hidden files.
            ("*.{jpg,txt}", ".jpg", nil),
            ("*.{jpg,txt}", "..jpg", ["..jpg", "..txt"]),
            // Case counts.
            ("*.{jpg,txt}", "a.JPG", nil),
            ("*.{jpg,JPG,txt}", "a.txt", ["a.JPG", "a.jpg", "a.txt"]),
            // The stem is what the star takes, with all its dots.
            ("*.{gz,sig}", "a.tar.gz", ["a.tar.gz", "a.tar.sig"]),
            ("*.{tar.gz,sig}", "a.tar.gz", ["a.sig", "a.tar.gz"]),
            ("*.{raw.xmp,raw}", "a.raw", ["a.raw", "a.raw.xmp"]),
            // Of two ways the one with the shorter stem.
            ("*.{xmp,raw.xmp}", "a.raw.xmp", ["a.raw.xmp", "a.xmp"]),
            ("*.{xmp,raw.xmp}", "a.raw.raw.xmp", nil),
            ("*{,.xmp}", "a.raw", ["a.raw", "a.raw.xmp"]),
            ("*{,.xmp}", "a.raw.xmp", ["a.raw", "a.raw.xmp"]),
            // Before the stem as well.
            ("{audio,video}-*.dat", "video-1.dat", ["audio-1.dat", "video-1.dat"]),
            ("{img_*.jpg,*.txt}", "img_1.jpg", ["1.txt", "img_1.jpg"]),
            // Without a star, the directory makes the group.
            ("**/{index,data}.db", "index.db", ["data.db", "index.db"]),
            ("**/{index,data}.db", "a/b/data.db", ["a/b/data.db", "a/b/index.db"]),
            ("**/{index,data}.db", "a/b/xdata.db", nil),
            // Directories.
            ("**/*.{a,b}", "x.a", ["x.a", "x.b"]),
            ("**/*.{a,b}", "d/e/x.a", ["d/e/x.a", "d/e/x.b"]),
            ("d/**/e/*.{a,b}", "d/e/x.a", ["d/e/x.a", "d/e/x.b"]),
            ("d/**/e/*.{a,b}", "d/1/2/e/x.a", ["d/1/2/e/x.a", "d/1/2/e/x.b"]),
            ("d/**/e/*.{a,b}", "d/1/x.a", nil),
            ("{2025,2026}/*.{a,b}", "2026/x.b", ["2026/x.a", "2026/x.b"]),
            ("2*5/*.{a,b}", "2025/x.b", ["2025/x.a", "2025/x.b"]),
            ("2*5/*.{a,b}", "25/x.b", ["25/x.a", "25/x.b"]),
            ("2*2*5/*.{a,b}", "2025/x.b", ["2025/x.a", "2025/x.b"]),
            ("2*2*5/*.{a,b}", "205/x.b", nil),
            ("a*a/*.{a,b}", "a/x.b", nil),
            ("é*/*.{ä,ö}", "élan/ü.ä", ["élan/ü.ä", "élan/ü.ö"]),
            // A mark behind a slash, a brace, a comma or a star is a character of the name.
            ("*/*.{a,b}", "d/\u{301}x.a", ["d/\u{301}x.a", "d/\u{301}x.b"]),
            ("/\u{301}d/*.{a,b}", "\u{301}d/x.a", ["\u{301}d/x.a", "\u{301}d/x.b"]),
            ("d/*{\u{301},b}", "d/x\u{301}", ["d/xb", "d/x\u{301}"]),
            ("d/{a,\u{301}b}*", "d/ax", ["d/ax", "d/\u{301}bx"]),
            ("*\u{301}.{a,b}", "xy\u{301}.a", ["xy\u{301}.a", "xy\u{301}.b"]),
        ] as [(String, String, [String]?)])
    func whatBelongsToAName(pattern: String, name: String, names: [String]?) throws {
        #expect(try group([pattern], name) == names)
        // All see the same group.
        for other in names ?? [] { #expect(try group([pattern], other) == names) }
    }

    @Test func theFirstPatternDecides() throws {
        let patterns = ["*.{jpg,txt}", "*.{txt,md,html}"]
        #expect(try group(patterns, "a.txt") == ["a.jpg", "a.txt"])
        #expect(try group(patterns, "a.md") == ["a.html", "a.md"])
        #expect(try group(["*.{jpg,txt}", "*.{txt,md}"], "a.md") == nil)
        #expect(try group([], "a.md") == nil)
    }

    @Test(arguments: [
        "", "/", "a//*.{b,c}", "../*.{a,b}", "./*.{a,b}", "a/", "!*.{a,b}", "*.jpg", "*", "**", "**/*.a", "*.{a}",
        "*.{a,a}", "*.*.{a,b}", "{*.a,b}", "*.{a", "*.a}", "*.{a,{b,c}}", "*.{a,b/c}", "a**/*.{a,b}", "a/**.{a,b}",
        "a?.{a,b}", "[a]*.{a,b}", "a\\*.{a,b}", "a\n*.{a,b}",
        "*.{" + (0...32).map(String.init).joined(separator: ",") + "}",
        String(repeating: "{a,b}", count: 6) + "*", String(repeating: "{a,b}", count: 150) + "*",
        String(repeating: "{a,b}/", count: 6) + "*.{a,b}", String(repeating: "x", count: 1020) + "*.{a,b}",
    ])
    func noPattern(_ text: String) {
        #expect(throws: GroupPatternError.self) { try GroupPatterns(["*.{a,b}", text]) }
    }

    @Test func limits() throws {
        #expect(try group([String(repeating: "{a,b}", count: 5) + "*"], "aaaaax")?.count == 32)
        let many = [String](repeating: "*.{a,b}", count: GroupLimits.patternCount)
        #expect(try group(many, "x.a") == ["x.a", "x.b"])
        #expect(throws: GroupPatternError.self) { try GroupPatterns(many + ["*.{a,b}"]) }
        // Ends soon, whatever the name is.
        let stars = String(repeating: "**/", count: 300) + "*.{a,b}"
        let deep = String(repeating: "d/", count: 255)
        #expect(try group([stars], deep + "x.a") == [deep + "x.a", deep + "x.b"])
    }
}
