import Spelling
import Testing

struct NearestWordTests {
    @Test(arguments: [
        ("", "", 0), ("a", "", 1), ("", "ab", 2), ("status", "status", 0), ("statsu", "status", 1), ("ab", "ba", 1),
        ("nsa", "nas", 1), ("statsu", "stat", 2),
        ("kitten", "sitting", 3),
    ])
    func distancesAreCounted(_ left: String, _ right: String, _ distance: Int) {
        #expect(NearestWord.distance(left, right) == distance)
        #expect(NearestWord.distance(right, left) == distance)
    }

    @Test(
        arguments: [
            ("statsu", "status"), ("STATUS", "status"), ("slect", "select"), ("fetsch", "fetch"), ("l", "ls"),
            ("zzz", nil), ("remove", nil), ("", nil), (String(repeating: "x", count: 10_000), nil),
        ] as [(String, String?)])
    func theNearestIsFound(_ word: String, _ found: String?) {
        #expect(NearestWord.find(word, in: ["status", "select", "fetch", "ls"]) == found)
    }

    @Test func namesKeepTheirCase() {
        #expect(NearestWord.find("photo", in: ["Photos"]) == "Photos")
        #expect(NearestWord.find("photo", in: []) == nil)
        #expect(NearestWord.find("f", in: ["g"]) == nil, "nothing of it is the same")
    }
}
