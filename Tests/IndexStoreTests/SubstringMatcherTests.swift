import Testing

@testable import IndexStore

@Suite struct SubstringMatcherTests {
    private static func finds(_ text: String, in name: String) -> Bool {
        Array(name.utf8).withUnsafeBytes { SubstringMatcher(text).matches($0) }
    }

    @Test(arguments: [
        ("cafe", "Café.txt"), ("CAFÉ", "cafe.txt"), ("café", "Cafe\u{301}.txt"), ("uber", "Über die Brücke.md"),
        ("brücke", "uber die BRUCKE.md"), ("lodz", "Łódź"), ("Sao", "SÃO PAULO"), ("istanbul", "İstanbul"),
        ("nguyen", "Nguyễn"),
        ("алёна", "Алена.jpg"), ("ежик", "Ёжик"), ("αθηνα", "Αθήνα.jpg"),
        ("δρόμος", "ΔΡΟΜΟΣ"), ("ΔΡΟΜΟΣ", "δρόμος"),
        ("привет", "ПРИВЕТ мир"), ("img_2", "IMG_2.jpg"), ("", "anything"),
        ("at the end of a long name é", "it is AT THE END OF A LONG NAME E"),
        ("end", "éééééééééééééééééé the END"),
    ])
    func caseAndAccentsMakeNoDifference(_ text: String, _ name: String) {
        #expect(Self.finds(text, in: name))
    }

    @Test(arguments: [("cafe", "Coffee"), ("привет", "privet"), ("é", "x"), ("strasse", "Straße"), ("long", "")])
    func otherLettersDo(_ text: String, _ name: String) {
        #expect(!Self.finds(text, in: name))
    }
}
