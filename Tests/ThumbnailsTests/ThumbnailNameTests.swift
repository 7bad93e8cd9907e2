import Cryptography
import SyncTestKit
import Testing

@testable import Thumbnails

@Suite struct ThumbnailNameTests {
    /// Worked out apart, with Python's base64, from Sushitrain's rule.
    @Test(arguments: [
        // base64: 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
        (
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "4/7/deqpj8hbsatimw5jceuqerkm5nmpjwzg3hsufu.jpg"
        ),
        // AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=
        (
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            "a/a/ecawqfbgcicqolda0odxarehmufryxgbkagxwdhh8.jpg"
        ),
    ])
    func isWhatSushitrainCallsIt(hash: String, path: String) throws {
        let digest = try #require(SHA256Digest(hex: hash))
        let name = try #require(ThumbnailName(blocksHash: digest))
        #expect(name.path == path)
        #expect(ThumbnailName(path: path) == name)
    }

    @Test func aHashThatLeavesTooFewLettersHasNone() throws {
        // base64: 42 slashes, then 8
        let digest = try #require(SHA256Digest([UInt8](repeating: 0xFF, count: 32)))
        #expect(ThumbnailName(blocksHash: digest) == nil)
    }

    @Test(arguments: [
        "", "a/b/.jpg", "a/b/cde.jpg", "a/b/cdefg.jpeg", "A/b/cdefgh.jpg", "a/b/cde/gh.jpg", "a/b/..fgh.jpg",
        "ab/c/defgh.jpg", "a/b/cdefgh.jpg/x", "/a/b/cdefgh.jpg", "a/b/" + String(repeating: "c", count: 60) + ".jpg",
    ])
    func otherPathsAreNone(path: String) { #expect(ThumbnailName(path: path) == nil) }

    @Test func anyHashGivesAPathBeneath() throws {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<2000 {
            let hash = try #require(SHA256Digest(random.bytes(32)))
            let name = try #require(ThumbnailName(blocksHash: hash))
            #expect(ThumbnailName(path: name.path) == name)
            #expect(name.path.split(separator: "/").count == 3)
        }
    }
}
