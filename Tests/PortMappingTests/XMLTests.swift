import SyncTestKit
import Testing
import Transport

@testable import PortMapping

@Suite struct XMLTests {
    private func parse(_ text: String) throws -> XMLElement { try XMLElement(parsing: Array(text.utf8)) }

    @Test func elementsTextAndEntities() throws {
        let root = try parse(
            "\u{FEFF}<?xml version='1.0'?><!-- <x> --><a:root q=\"1>2\" r='\"'>\n <b>1 &lt; 2 &amp;&#x41;&#66; &x &nbsp;</b><c/>"
                + "<d><![CDATA[<&>]]></d></a:root> rest")
        #expect(root.name == "root" && root.children.map(\.name) == ["b", "c", "d"])
        #expect(root.child("b")?.text == "1 < 2 &AB &x &nbsp;")
        #expect(root.child("d")?.text == "<&>" && root.child("c")?.text == "")
    }

    @Test(arguments: [
        "", "text", "<a>", "<a></b>", "<a", "<a b='>", "</a>", "<>", "< a></ a>", "<a><!--</a>", "<a><![CDATA[</a>",
        "<!DOCTYPE a [<!ENTITY b \"cc\">]><a>&b;</a>", "<!ENTITY x SYSTEM 'file:///etc/passwd'><a/>",
    ])
    func refused(text: String) { #expect(throws: PortMappingError.self) { try parse(text) } }

    @Test func limits() throws {
        let deep = String(repeating: "<a>", count: 24) + String(repeating: "</a>", count: 24)
        #expect(try parse(deep).name == "a")
        #expect(throws: PortMappingError(.tooLarge, "its XML is nested too deeply")) { try parse("<a>\(deep)</a>") }
        #expect(throws: PortMappingError.self) { try parse("<a>" + String(repeating: "<b/>", count: 2000) + "</a>") }
        #expect(throws: PortMappingError.self) {
            try XMLElement(parsing: [UInt8](repeating: UInt8(ascii: " "), count: 256 * 1024 + 1))
        }
        #expect(try parse("<a>" + String(repeating: "x", count: 10_000) + "</a>").text.count == 4096)
        #expect(throws: PortMappingError.self) { try parse("<\(String(repeating: "x", count: 200))/>") }
    }

    /// The work is bounded by the bytes: no shape of 256 KiB takes long, or it would show in the time of the suite.
    @Test(arguments: ["&", "<!---->", "&#65;", "<", "<a ", "]]>", "<a>"])
    func repeated(piece: String) {
        let text = "<r>" + String(repeating: piece, count: 200_000 / piece.utf8.count) + "</r>"
        _ = try? parse(text)
        #expect((try? parse(text))?.children.isEmpty ?? true)
    }

    @Test func deviceDescription() throws {
        let location = try RouterURL("http://192.168.1.1:5000/rootDesc.xml")
        let parsed = try DeviceDescription(description(control: "http://8.8.8.8/ctl"), from: location)
        #expect(parsed.name == "Box & co")
        #expect(parsed.services.map(\.type) == ["urn:schemas-upnp-org:service:WANIPConnection:1"])
        #expect(parsed.services.map(\.control.description) == ["http://192.168.1.1:5000/ctl"])
        #expect(throws: PortMappingError.self) {
            try DeviceDescription(description(service: "WANIPConnection:9"), from: location)
        }
        #expect(throws: PortMappingError.self) { try DeviceDescription(description(root: "urn:tv"), from: location) }
        #expect(throws: PortMappingError.self) {
            try DeviceDescription(description(control: "/a\u{1}"), from: location)
        }
    }

    /// Whatever bytes come, each parser gives a value or an error; and what it gives stays in its bounds.
    @Test(arguments: 0..<8)
    func mutations(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let location = RouterURL(host: address("192.168.1.1"), port: 80, path: "/")
        let samples: [[UInt8]] = [
            description(), soapFault(718),
            envelope("GetExternalIPAddress", "<NewExternalIPAddress>1.2.3.4</NewExternalIPAddress>"),
            ssdpAnswer("http://192.168.1.1:5000/x"), hex("0082000000000b5755f055f000000e10"),
            hex("0080000000000b570b07000a"),
            hex(
                "0281000000000e1000000b59000000000000000000000000000102030405060708090a0b0600000055f055f0"
                    + "00000000000000000000ffff0b07000a"),
            Array("eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n".utf8),
        ]
        var reached = 0
        for _ in 0..<1500 {
            var bytes = random.pick(samples)
            for _ in 0..<random.int(0...6) where !bytes.isEmpty {
                let place = random.int(0...bytes.count - 1)
                switch random.int(0...4) {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(random.pick(Array("<>/&;\"'!-[]:\r\n\u{0}".utf8)), at: place)
                case 3: bytes = Array(bytes.prefix(place))
                default: bytes += bytes.suffix(place)
                }
            }
            if let found = try? DeviceDescription(bytes, from: location) {
                #expect(found.services.count <= 8 && found.services.allSatisfy { $0.control.host == location.host })
                #expect(found.services.allSatisfy { $0.control.path.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } })
                reached += 1
            }
            if let answer = try? SSDP.Answer(bytes) { #expect(answer.location.path.hasPrefix("/")) }
            if (try? SOAP.Answer(status: 500, body: bytes)) != nil { reached += 1 }
            if (try? NATPMP.Response(bytes)) != nil { reached += 1 }
            if let response = try? PCP.Response(bytes) { #expect(response.map?.nonce.count ?? 12 == 12) }
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(RouteTable.ipv4("head\n" + text).allSatisfy { $0.gateway.isIPv4 })
            #expect(RouteTable.ipv6(text).allSatisfy { !$0.gateway.isIPv4 })
            _ = NetworkView.ipv6Addresses(text)
            _ = try? RouterURL(text)
        }
        #expect(reached > 20, "the mutations leave enough that is valid")
    }
}
