import Testing

@testable import TOML

/// A text as `key=value` pairs with full paths, so that tables can be compared without their places.
func flattened(_ text: String) throws -> [String] {
    func lines(_ node: TOMLNode, _ path: String) -> [String] {
        switch node.value {
        case .table(let table): return lines(table, path + ".")
        case .array(let nodes):
            return nodes.isEmpty ? ["\(path)=[]"] : nodes.enumerated().flatMap { lines($1, "\(path)[\($0)]") }
        case .string(let text): return ["\(path)=\(text)"]
        case .integer(let number): return ["\(path)=\(number)"]
        default: return ["\(path)=\(node.value)"]
        }
    }
    func lines(_ table: TOMLTable, _ path: String) -> [String] {
        table.entries.isEmpty ? ["\(path){}"] : table.entries.flatMap { lines($0.node, path + $0.key.text) }
    }
    return lines(try TOMLDocument(parsing: Array(text.utf8)).root, "")
}

@Suite struct TOMLTableTests {
    @Test(
        arguments: [
            ("", ["{}"]), ("# c", ["{}"]), ("\u{FEFF}a = 1", ["a=1"]), ("\r\n\t \n# é\r\na=1# c\r\n", ["a=1"]),
            // Keys.
            ("a-_9 = 1", ["a-_9=1"]), ("1234 = 1", ["1234=1"]), ("\"\" = 1", ["=1"]), ("'a b' = 1", ["a b=1"]),
            ("\"\\u00e9\" = 1", ["é=1"]), ("a . 'b' .\t\"c\" = 1", ["a.b.c=1"]), ("3.1 = 1", ["3.1=1"]),
            ("true = 1\ninf = 2", ["true=1", "inf=2"]), ("a.b = 1\nc = 2\na.d = 3", ["a.b=1", "a.d=3", "c=2"]),
            // Two keys, as TOML does not normalize them.
            ("\"é\" = 1\n\"e\\u0301\" = 2", ["é=1", "e\u{301}=2"]),
            // Tables.
            ("[a]", ["a.{}"]), ("[a]\n[b]\nx = 1", ["a.{}", "b.x=1"]), ("[ a . \"b.c\" ] # d", ["a.b.c.{}"]),
            ("[a.b.c]\nx = 1\n[a]\ny = 2", ["a.b.c.x=1", "a.y=2"]),
            ("[a]\nb.c = 1\n[a.b.d]\nx = 2", ["a.b.c=1", "a.b.d.x=2"]),
            ("a.b = 1\n[a.c]\nd = 2", ["a.b=1", "a.c.d=2"]), ("[a.b.c]\n[a]\nb.d = 1", ["a.b.c.{}", "a.b.d=1"]),
            // Lists of tables.
            ("[[a]]\nx = 1\n[[a]]\n[[a]]\ny = 2", ["a[0].x=1", "a[1].{}", "a[2].y=2"]),
            (
                "[[a]]\n[a.b]\nx = 1\n[[a.c]]\n[[a.c]]\ny = 2\n[[a]]\n[a.b]\nx = 3",
                ["a[0].b.x=1", "a[0].c[0].{}", "a[0].c[1].y=2", "a[1].b.x=3"]
            ),
            ("[a.b]\n[[a.c]]", ["a.b.{}", "a.c[0].{}"]),
            // Inline tables.
            ("a = {}", ["a.{}"]),
            ("a = { b = 1, c.d = 2, c.e = { f = [{ g = 3 }] } }", ["a.b=1", "a.c.d=2", "a.c.e.f[0].g=3"]),
            ("a = { b = [\n1,\n] }", ["a.b[0]=1"]),
        ] as [(String, [String])])
    func tables(text: String, expected: [String]) throws { #expect(try flattened(text) == expected) }

    @Test func everythingHasItsPlace() throws {
        let text = """
            a.b = 1 # one
            [x . "y z"]
            's' = '''
            [[not]]
            n = 1
            ''' # after
             [[device]] # d
              id = "é\\"]b"; list = 1
            """
            .replacing("; ", with: "\n  ") + """

                  l = [ "p", # first
                    "q", [ 1, 2 ], { k = "v", m = [ 3 ] },
                  ]
                [[device]]
                """
        let bytes = Array(text.utf8)
        func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        func place(_ line: Int, _ column: Int) -> TOMLPosition { TOMLPosition(line: line, column: column) }
        let document = try TOMLDocument(parsing: bytes)

        let sections = document.sections
        #expect(sections.map { $0.keys.map(\.text) } == [[], ["x", "y z"], ["device"], ["device"]])
        #expect(sections.map(\.position) == [place(1, 1), place(2, 1), place(7, 2), place(13, 1)])
        #expect(sections.map(\.isElement) == [false, false, true, true])
        #expect(sections.map { string($0.header) } == ["", "[x . \"y z\"]", "[[device]]", "[[device]]"])
        #expect(sections.map { string($0.start..<$0.header.lowerBound) } == ["", "", " ", ""])
        #expect(sections.map { bytes.count - $0.contentEnd }.last == 0)
        let entries = sections.flatMap(\.entries)
        #expect(entries.map { $0.keys.map(\.text) } == [["a", "b"], ["s"], ["id"], ["list"], ["l"]])
        #expect(entries.map { string($0.node.range) }.prefix(3) == ["1", "'''\n[[not]]\nn = 1\n'''", "\"é\\\"]b\""])
        #expect(entries.map(\.node.position) == [place(1, 7), place(3, 7), place(8, 8), place(9, 10), place(10, 7)])
        #expect(entries.last?.comments.map(string) == ["# first"])

        let root = document.root
        #expect(root.style == .implicit)
        guard case .table(let a)? = root["a"]?.node.value, case .array(let devices)? = root["device"]?.node.value,
            case .table(let device)? = devices.first?.value, case .array(let list)? = device["l"]?.node.value
        else {
            Issue.record("the tree has another form")
            return
        }
        #expect(a.style == .dotted)
        #expect(a["b"]?.key.position == place(1, 3))
        #expect(device.style == .element)
        #expect(devices.map(\.position) == [place(7, 2), place(13, 1)])
        #expect(device["id"]?.key.position == place(8, 3))
        #expect(list.map { string($0.range) } == ["\"p\"", "\"q\"", "[ 1, 2 ]", "{ k = \"v\", m = [ 3 ] }"])
        #expect(list.map(\.position.line) == [10, 11, 11, 11])
        #expect(root["é"] == nil)
    }

    @Test func aQuotedKeyKnowsItsBytes() throws {
        let key = try TOMLDocument(parsing: Array("\"\\u006eame\" = 1".utf8)).root["name"]?.key
        #expect(key?.range == 0..<11)
    }
}
