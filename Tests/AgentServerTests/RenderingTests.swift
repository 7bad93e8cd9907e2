import ControlAPI
import Foundation
import Testing

@testable import synctrain

struct RenderingTests {
    @Test(arguments: [
        ("plain ä 🌊.txt", "plain ä 🌊.txt"), ("a\nb", #"a\x0ab"#), ("\u{1b}[31mred", #"\x1b[31mred"#),
        ("back\\slash", #"back\\slash"#), ("\u{7f}", #"\x7f"#), ("\u{9b}31m", #"\xc2\x9b31m"#),
        ("a\u{202e}gpj.exe", #"a\xe2\x80\xaegpj.exe"#), ("\u{200d}", "\u{200d}"), ("", ""),
    ])
    func namesAreEscaped(name: String, expected: String) {
        #expect(EscapedName.escape(name) == expected)
        // A sentence may say what to type.
        #expect(EscapedName.sentence(name) == expected.replacing(#"\\"#, with: #"\"#))
    }

    @Test(arguments: [
        ("copy.mkv", "copy.mkv: no device has it", "copy.mkv: no device has it"), ("a", "it is gone", "a: it is gone"),
    ])
    func whatFailedIsNamedOnce(path: String, reason: String, line: String) {
        #expect(FetchReport.line(path, reason) == line)
    }

    @Test(
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "1.0 KiB"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (10_188, "9.9 KiB"),
            (10_230, "10 KiB"), (1_023_000, "999 KiB"), (1_023_999, "1.0 MiB"), (1_048_576, "1.0 MiB"),
            (300 << 20, "300 MiB"), (Int64.max, "8.0 EiB"), (-5, "0 B"),
        ] as [(Int64, String)])
    func sizesAreShort(bytes: Int64, expected: String) {
        #expect(Quantity.size(bytes) == expected)
    }

    @Test(
        arguments: [
            (0, 0, "0 s"), (-5, 10, "0 s"), (100, 0, "-"), (100, -1, "-"), (100, 100, "1 s"), (101, 100, "2 s"),
            (5900, 100, "59 s"), (6000, 100, "1 min 00 s"), (360_000, 100, "1 h 00 min"), (366_000, 100, "1 h 01 min"),
            (8_640_000 + 360_000, 100, "1 d 01 h"), (.max, 1, "106751991167300 d 15 h"),
        ] as [(Int64, Int64, String)])
    func remainingTimeIsRoundedUp(bytes: Int64, rate: Int64, expected: String) {
        #expect(Quantity.remaining(bytes, bytesPerSecond: rate) == expected)
    }

    @Test(
        arguments: [
            (0, 0, 100), (0, 10, 0), (1, 1000, 0), (999, 1000, 99), (1000, 1000, 100), (2000, 1000, 100),
            (Int64.max - 1, Int64.max, 99),
        ] as [(Int64, Int64, Int64)])
    func percentIsFullOnlyAtTheEnd(done: Int64, total: Int64, expected: Int64) {
        #expect(Quantity.percent(done, of: total) == expected)
    }

    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2000-02-29T12:00:00Z", 951_825_600),
            ("2026-11-21T14:03:05.25Z", 1_795_269_785),
            ("2026-11-21T15:03:05+01:00", 1_795_269_785), ("2026-11-21T04:33:05-09:30", 1_795_269_785),
            ("1969-12-31T23:59:59Z", -1), ("0001-01-01T00:00:00Z", -62_135_596_800),
            ("9999-12-31T23:59:60Z", 253_402_300_800),
            ("2026-13-01T00:00:00Z", nil), ("2026-11-21 14:03:05Z", nil), ("2026-11-21T14:03:05", nil), ("", nil),
            ("2026-11-21T14:03:05+0100", nil), ("2026-11-21T14:03:05Zx", nil), ("x", nil),
        ] as [(String, Int64?)])
    func timesAreRead(text: String, expected: Int64?) {
        #expect(Timestamp.seconds(text) == expected)
    }

    @Test func longLinesHaveColumns() {
        let rendering = EntryRendering(style: Style(hasColor: false, escapesNames: true), isLong: true)
        let time = Timestamp.local(Sample.time)
        #expect(time.count == 16)
        let lines = [
            Sample.directory("a/photos", size: 5_000_000), Sample.file("a/b\u{1b}.txt", size: 12, state: .present),
            Sample.file("a/c", size: 1 << 30, state: .extraneous, selected: .implicit, holders: []),
        ].map(rendering.line)
        #expect(
            lines == [
                "absent            no          -   4.8 MiB  -                 photos/",
                "present           no          1      12 B  \(time)  b\\x1b.txt",
                "extraneous        implicit    0   1.0 GiB  \(time)  c",
            ])
    }

    /// Of a directory it is said how much of what is selected is here, unless that is all of it.
    @Test func directoriesSayHowMuchIsHere() {
        let rendering = EntryRendering(style: Style(hasColor: false, escapesNames: true), isLong: true)
        let (size, half): (Int64, Int64) = (67 << 20, 3 << 20)
        let lines = [
            Sample.directory("a", selected: (3, size), present: (0, 0)),
            Sample.directory("a", selected: (3, size), present: (2, half)),
            Sample.directory("a", selected: (3, size), present: (3, size)),
            Sample.directory("a", selected: (3, 0), present: (1, 0)),
            Sample.directory("a", selected: (0, 0), present: (0, 0)), Sample.directory("a"),
        ].map { rendering.line($0) }
        for (line, (state, end)) in zip(
            lines,
            [
                ("queued", "a/  (0 of 67 MiB here)"), ("partial", "a/  (3.0 MiB of 67 MiB here)"), ("present", " a/"),
                ("partial", "a/  (1 of 3 files here)"), ("queued", " a/"), ("absent", " a/"),
            ])
        {
            #expect(line.hasPrefix(state) && line.hasSuffix(end), "\(line)")
        }
        let facts = rendering.facts(Sample.directory("a", selected: (3, size), present: (2, half)), deviceNames: [:])
        #expect(
            facts.contains { $0.hasPrefix("selected below") && $0.hasSuffix("3.0 MiB of 67 MiB here, 2 of 3 files") })
    }

    /// What is on its way is shown with its share, and what does not come with the reason.
    @Test func linesSayWhatIsMissingAndWhy() {
        let rendering = EntryRendering(style: Style(hasColor: false, escapesNames: true), isLong: true)
        var entry = Sample.directory("a", selected: (3, 67 << 20), present: (1, 16 << 20))
        entry.state = .downloading
        #expect(rendering.line(entry).hasPrefix("downloading 23 %  explicit "))
        entry.state = .partial
        entry.wait(for: .space, "does not fit: 47 MiB short")
        entry.short = 47 << 20
        #expect(rendering.line(entry).hasPrefix("partial 23 %      explicit "))
        #expect(rendering.line(entry).hasSuffix("  (16 MiB of 67 MiB here; does not fit: 47 MiB short)"))
        var file = Sample.file("a/x", state: .downloaded)
        #expect(
            rendering.line(file).hasPrefix("downloaded        no ")
                && rendering.line(file).hasSuffix("x  (not selected)"))
        (file.state, file.isAvailable) = (.absent, false)
        #expect(rendering.line(file).hasSuffix("x  (not available: no device that has it is connected)"))
        file.isAvailable = true
        #expect(rendering.line(file).hasSuffix("  x"))
    }

    @Test(
        arguments: [
            (nil, "a/b/c.txt", "c.txt"), ("", "a/b/c.txt", "a/b/c.txt"), ("a", "a/b/c.txt", "b/c.txt"),
            ("a/b/c.txt", "a/b/c.txt", "c.txt"), (nil, "a/\u{301}x", "\u{301}x"), ("a", "a/\u{301}x", "\u{301}x"),
            (nil, "", "."),
            ("", "", "."), ("a/b", "a/bc", "bc"),
        ] as [(String?, String, String)])
    func namesAreRelativeToTheirBase(base: String?, path: String, expected: String) {
        let rendering = EntryRendering(style: Style(hasColor: false, escapesNames: false), base: base)
        #expect(rendering.displayName(Sample.file(path)) == expected)
    }

    @Test func mountsAreTables() {
        let mounts = [
            MountStatus(
                folder: "library", directory: "/home/a/Lib\u{1b}rary", state: "mounted", since: "2026-11-26T07:00:00Z",
                isReadOnly: true, isConfigured: true,
                readers: [
                    MountReading(
                        program: "mpv", process: 7, path: "a\nb.mkv", files: 1, bytes: 1 << 20, bytesPerSecond: 2 << 20)
                ], moreReaders: 2),
            MountStatus(folder: "films", directory: "/f", state: "not-answering"),
            MountStatus(
                folder: "music", directory: "/m", state: "unmounted", isConfigured: true,
                problem: ControlError(.alreadyExists, "/m is not empty. Choose an empty directory.")),
        ]
        let lines = MountRendering(style: Style(hasColor: false, escapesNames: true)).lines(mounts)
        #expect(lines[0].contains("mounted") && lines[0].contains("read-only, whenever the agent starts"))
        #expect(lines[1].contains("does not answer") && lines[2].contains("not mounted"))
        #expect(lines[3].contains("mpv (7) reads a\\x0ab.mkv, 1.0 MiB of 1 file, 2.0 MiB/s"))
        #expect(lines[4] == "library: more programs that read: 2")
        #expect(lines[5] == "music: /m is not empty. Choose an empty directory.")
        #expect(!lines.joined().contains("\u{1b}"))
    }

    @Test func statusIsTables() {
        let lines = StatusRendering(style: Style(hasColor: false, escapesNames: true)).lines(.sample)
        let since = Timestamp.local(Sample.time)
        #expect(
            lines == [
                "device     XXXXXXX-Y (laptop)",
                "agent      0.1.0, since \(since)",
                "listening  tcp://0.0.0.0:22000",
                "",
                "Folders",
                "folder  state  mode       global             here             needs    path",
                "docs    idle   selective  20 files, 4.8 MiB  1 file, 1.0 KiB  nothing  /home/u/docs",
                "docs: 1 conflict",
                "",
                "Devices",
                "device  id       link     address               last seen       in   out",
                "nas     AAAAAAA  tcp-lan  10.0.0.2:22000        now        1.2 KiB  99 B",
                "phone   CCCCCCC  none     tcp://10.0.0.3:22000  -              0 B   0 B",
                "phone: connection refused",
                "",
                "Transfers",
                "25 %  200 B  docs:a/b.bin  from nas",
            ])
    }

    @Test func aTransferSaysHowFastItIsAndHowLongItTakes() {
        var status = AgentStatus.sample
        status.transfers[0].bytesPerSecond = 1 << 20
        status.transfers.append(
            TransferStatus(
                folder: "docs", path: "c", bytesDone: 0, bytesTotal: 4096, holders: [], bytesPerSecond: 0))
        status.transfers[0].secondsLeft = 75
        let lines = StatusRendering(style: Style(hasColor: false, escapesNames: true)).lines(status)
        #expect(
            lines.suffix(2) == [
                "25 %    200 B  docs:a/b.bin  from nas  1.0 MiB/s, 1 min 15 s left",
                " 0 %  4.0 KiB  docs:c                  0 B/s",
            ])
    }

    @Test func progressIsCutToTheWidth() {
        let text = ProgressLine.text(
            path: "photos/\u{7}x.jpg", done: 3 << 20, total: 30 << 20, bytesPerSecond: 1 << 20, peer: "from nas, b",
            width: 200)
        #expect(text == " 10%  3.0 MiB of 30 MiB  1.0 MiB/s  27 s left  from nas, b  photos/\\x07x.jpg")
        let short = ProgressLine.text(
            path: "x", done: 0, total: 1, bytesPerSecond: 0, peer: nil, width: 24)
        #expect(short == "  0%  0 B of 1 B  0 B/s")
    }

    @Test func progressIsDrawnAtMostTenTimesASecond() throws {
        let written = Box<[UInt8]>([])
        let now = Box(ContinuousClock.now)
        let output = Output(isBuffered: false) { bytes throws(OutputError) in written.change { $0 += bytes } }
        let line = ProgressLine(errors: output, isShown: true, width: 80, now: { now.current })
        for _ in 0..<25 {
            try line.show(path: "x", done: 1, total: 2, bytesPerSecond: 1, holders: [])
            now.change { $0 += .milliseconds(20) }
        }
        let draws = written.current.count { $0 == UInt8(ascii: "\r") }
        #expect(draws == 5)
        try line.clear()
        #expect(String(decoding: written.current, as: UTF8.self).hasSuffix("\r\u{1b}[K"))
    }

    @Test func qrCodesAreDrawnWithTheirQuietZone() {
        // A code of one dark module: nine rows in five lines, the last row's lower half empty.
        let lines = QRCode.lines([[true]], hasColor: false)
        #expect(lines == ["█████████", "█████████", "████▄████", "█████████", "█████████"])
        #expect(QRCode.lines([[true]], hasColor: true)[0] == "\u{1b}[97;40m█████████\u{1b}[0m")
    }

    @Test func qrCodesHaveTheirFinderPatterns() throws {
        let modules = try QRCode.modules("AAAAAAA-BBBBBBB-CCCCCCC-DDDDDDD-EEEEEEE-FFFFFFF-GGGGGGG-HHHHHHH")
        let finder = ["1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"]
        let corner = modules.prefix(7).map { row in row.prefix(7).map { $0 ? "1" : "0" }.joined() }
        #expect(corner == finder)
        #expect(modules.allSatisfy { $0.count == modules.count })
    }

    @Test func manualPageIsMadeFromTheParser() throws {
        let page = try ManualPage.text(dump: Synctrain._dumpHelp())
        #expect(page.hasPrefix(".TH SYNCTRAIN 1"))
        for text in [
            ".SS synctrain agent run", ".SS synctrain fetch [PATHS...]", ".SS synctrain deselect PATHS...",
            ".SS synctrain folder mode FOLDER MODE", ".SS synctrain folder confirm FOLDER",
            ".SS synctrain extraneous list [FOLDER]",
            ".SS synctrain explain PATHS...", ".SS synctrain scan [PATHS...]", ".SS synctrain need [FOLDER]",
            "\\-\\-import\\-syncthing DIR", "SYNCTRAIN_HOME",
        ] {
            #expect(page.contains(text), "the page lacks \(text)")
        }
        #expect(!page.contains("\n\n"))
    }

    @Test func theUnitIsTheOneInConfig() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = try String(contentsOf: root.appending(path: "config/synctrain.service"), encoding: .utf8)
        let lines = file.split(separator: "\n").filter { !$0.hasPrefix("#") }
        let unit = SystemdUnit(executable: "/usr/local/bin/synctrain", home: nil, path: "/x")
        #expect(unit.text.split(separator: "\n") == lines)
    }

    @Test func oddPathsAreQuotedInTheUnit() {
        let unit = SystemdUnit(executable: "/opt/a b/100%/synctrain", home: "/h/\"$x\"", path: "/x")
        #expect(
            unit.text.contains(
                #"ExecStart="/opt/a b/100%%/synctrain" agent run --log-format json --home "/h/\"$$x\"""#))
    }
}
