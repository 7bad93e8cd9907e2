import SyncTestKit
import Testing

@testable import Thumbnails

@Suite struct FilmLayoutTests {
    /// What is asked for until the film is ready, in order, if each thing asked for is then known; and the end.
    private func walk(_ film: [UInt8]) -> (asked: [Range<Int64>], end: FilmLayout.Step) {
        var known: [Range<Int64>] = []
        for _ in 0..<100 {
            let layout = FilmLayout(size: Int64(film.count)) { [known] offset, count in
                let end = offset + Int64(count)
                guard known.contains(where: { $0.lowerBound <= offset && end <= $0.upperBound }) else { return nil }
                return Array(film[Int(offset)..<Int(end)])
            }
            let step = layout.next()
            guard case .need(let range) = step else { return (known, step) }
            known.append(range)
        }
        return (known, .none)
    }

    private static let head = Pictures.box("ftyp", Array("isomisom".utf8))

    /// The box that describes the film at the beginning, as for the web, or at the end, as cameras write it.
    @Test(arguments: [true, false], [true, false])
    func oneFrame(isFirst: Bool, long: Bool) {
        let pictures = [UInt8](repeating: 9, count: 5000)
        let data = Pictures.box("mdat", pictures, long: long)
        func movie(_ start: Int) -> [UInt8] {
            Pictures.box("moov", Pictures.Track(handler: "soun").box + Pictures.Track(chunks: [start]).box)
        }
        let start = Self.head.count + (isFirst ? movie(0).count : 0) + (long ? 16 : 8)
        let movie = movie(start)
        let film = isFirst ? Self.head + movie + data : Self.head + data + movie
        let (asked, end) = walk(film)
        #expect(end == .ready)
        #expect(asked.last == Int64(start)..<Int64(start + 1000))
        #expect(asked.reduce(0) { $0 + $1.count } < 3 * 16 + movie.count + 1000 + 16)
    }

    /// The first key frame may be any sample of any chunk.
    @Test func aLaterKeyFrame() {
        // Chunks of 2, 2, 3, 3, 3 samples.
        let track = Pictures.Track(
            syncs: [9, 12], sizes: (1...13).map { $0 * 10 }, runs: [(1, 2), (3, 3)], chunks: [100, 200, 300, 400, 500])
        let movie = MovieBox(Pictures.Track(handler: "soun").box[...] + track.box)
        // 8, 9 and 10 are in the fourth chunk: 9 comes behind 8, which has 80 bytes.
        #expect(movie.firstPicture() == .at(offset: 480, byteCount: 90))
    }

    @Test func longOffsetsAndEachSampleAKey() {
        let track = Pictures.Track(syncs: nil, sizes: [77], chunks: [5 << 32], long: true)
        #expect(MovieBox(track.box[...]).firstPicture() == .at(offset: 5 << 32, byteCount: 77))
    }

    @Test func inPieces() {
        let track = Pictures.Track(syncs: nil, sizes: [], runs: [], chunks: [])
        let film = Self.head + Pictures.box("moov", track.box + Pictures.box("mvex", [])) + Pictures.box("moof", [0])
        #expect(walk(film).end == .inPieces(from: Int64(film.count - 9)))
    }

    @Test func whatIsNoFilm() {
        let sound = Pictures.Track(handler: "soun")
        let outside = Pictures.Track(chunks: [1 << 20])
        let none: [(String, [UInt8])] = [
            ("empty", []), ("no film in it", Self.head), ("sound", Self.head + Pictures.box("moov", sound.box)),
            ("a frame beyond the end", Self.head + Pictures.box("moov", outside.box)),
            ("a box longer than the file", Self.head + Pictures.number(1000, 4) + Array("mdat".utf8)),
            ("a box without end", Self.head + Pictures.number(3, 4) + Array("mdat".utf8)),
            ("no box", [UInt8](repeating: 0x41, count: 100)),
        ]
        for (what, film) in none { #expect(walk(film).end == .none, "\(what)") }
    }

    /// A box of almost 2^63 bytes, and one that says it ends the file.
    @Test func sizesThatMeanHarm() {
        let film = Self.head + Pictures.number(1, 4) + Array("mdat".utf8) + [0x7F] + [UInt8](repeating: 0xFF, count: 7)
        #expect(walk(film).end == .none)
        #expect(walk(Self.head + Pictures.number(0, 4) + Array("mdat".utf8)).end == .none)
    }

    @Test(arguments: 1...20) func changedBytes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let track = Pictures.Track(
            syncs: [9, 12], sizes: (1...13).map { $0 * 10 }, runs: [(1, 2), (3, 3)], chunks: [100, 200, 300, 400, 500],
            long: seed.isMultiple(of: 2))
        let film = Self.head + Pictures.box("moov", track.box) + Pictures.box("mdat", [UInt8](repeating: 1, count: 800))
        for _ in 0..<500 {
            var bytes = film
            for _ in 0..<random.int(1...4) {
                bytes[random.int(0...bytes.count - 1)] = random.pick([0, 1, 0xFF, 0x7F, 0x80, random.bytes(1)[0]])
            }
            let (asked, end) = walk(bytes)
            #expect(asked.allSatisfy { $0.lowerBound >= 0 && $0.upperBound <= bytes.count && !$0.isEmpty })
            if case .need = end { Issue.record("it never ends") }
        }
    }
}
