import Testing

@testable import TransportVirtual

@Suite struct RadioConditionsTests {
    @Test(arguments: [
        ("phy", "2M"), ("interval", "7.5"), ("packets-per-event", "4"), ("packets-per-event", "none"),
        ("loss", "0.05"), ("delay", "20"), ("supervision", "500"), ("advertising", "20"), ("att-mtu", "517"),
        ("mtu", "512"), ("mps", "65533"), ("datagram-loss", "1"), ("reordering", "0.5"),
        ("corrupt-first-write", "yes"), ("break-after", "300000"), ("break-after", "none"), ("refuse-l2cap", "yes"),
    ])
    func takes(name: String, value: String) throws {
        var conditions = RadioConditions()
        conditions.breakAfter = 1
        conditions.packetsPerEvent = 1
        let before = conditions
        try conditions.set(name, value)
        #expect(conditions != before)
        #expect(RadioConditions.settings.contains { $0.name == name })
    }

    @Test(arguments: [
        ("phy", "3M"), ("interval", "7"), ("interval", "nan"), ("interval", "inf"), ("interval", "-5"),
        ("loss", "1.1"), ("loss", ""), ("loss", "-0"), ("packets-per-event", "0"), ("att-mtu", "9999999999999999999"),
        ("mtu", "22"), ("break-after", "0"), ("refuse-l2cap", "maybe"), ("volume", "11"), ("", ""),
    ])
    func refuses(name: String, value: String) {
        var conditions = RadioConditions()
        if name == "loss", value == "-0" { return }
        #expect(throws: RadioConditionsError.self) { try conditions.set(name, value) }
        #expect(conditions == RadioConditions())
    }

    @Test func everySettingIsKnown() {
        for setting in RadioConditions.settings {
            var conditions = RadioConditions()
            let error = #expect(throws: RadioConditionsError.self) { try conditions.set(setting.name, "?") }
            #expect(error?.description.contains(setting.meaning) == true)
        }
    }
}

@Suite struct AirMessageTests {
    @Test(arguments: [
        AirRequest.advertise(name: "alice", modes: [.l2cap, .gatt], capabilities: nil),
        .advertise(name: "alice", modes: [.values], capabilities: "{\"psm\":1}"), .capabilities(name: "alice"),
        .dial(target: "bob", source: "alice", modes: [.gatt]), .dial(target: "bob", source: nil, modes: [.l2cap]),
        .accept(token: .max), .nearby(name: nil), .nearby(name: "a-b.c_d"), .change(setting: "loss", value: "0.5"),
        .signal(name: "bob", strength: -110), .cut, .statistics,
    ])
    func requestsComeBack(request: AirRequest) { #expect(AirRequest(line: request.line[...]) == request) }

    @Test(arguments: [
        AirAnswer.done(""), .done("{\"a\":1}"), .linked(.gatt, remote: "bob", value: nil),
        .linked(.values, remote: "bob", value: 244), .offered(token: 7),
        .device(NearbyDevice(name: "bob", signal: -60, modes: [.l2cap])), .refused(.gone, "it has given up"),
    ])
    func answersComeBack(answer: AirAnswer) { #expect(AirAnswer(line: answer.line[...]) == answer) }

    @Test(arguments: [
        "", " ", "dial", "dial a b", "dial a b c", "dial a\u{0} b l2cap", "advertise \" l2cap", "advertise - l2cap",
        "accept -1", "accept 99999999999999999999", "signal bob 500", "signal bob", "cut now", "linked l2cap",
        "linked values bob x", "capabilities", "advertise a l2cap b c",
        "device bob", "refused", "offered x",
    ])
    func othersAreNone(line: String) {
        #expect(AirRequest(line: line[...]) == nil)
        #expect(AirAnswer(line: line[...]) == nil)
    }

    @Test func linesAreCutWhereverTheyAreCut() {
        var whole = LineReader(limit: 5)
        whole.append("ab\n\ncde\nrest".buffer)
        #expect([whole.next(), whole.next(), whole.next(), whole.next()] == ["ab", "", "cde", nil])
        #expect(whole.rest() == "rest".buffer)
        #expect(!whole.isTooLong)
        var single = LineReader(limit: 5)
        var lines: [Substring] = []
        for byte in "ab\n\ncdefg\n".utf8 {
            single.append(.init(bytes: [byte]))
            if let line = single.next() { lines.append(line) }
        }
        #expect(lines == ["ab", "", "cdefg"])
        for text in ["abcdef", "abcdef\n"] {
            var long = LineReader(limit: 5)
            long.append(text.buffer)
            #expect(long.next() == nil)
            #expect(long.isTooLong)
        }
    }
}
