import BlockExchange
import Cryptography
import NIOCore
import SyncTestKit
import Testing
import Transport
import TransportRelay

let someDevice = DeviceID(digest: SHA256.digest(Array("a device".utf8)))
let otherDevice = DeviceID(digest: SHA256.digest(Array("another device".utf8)))

func invitation(
    from device: DeviceID = someDevice, address: IPAddress? = nil, port: UInt16 = 22067, isServer: Bool = false
) -> SessionInvitation {
    SessionInvitation(
        from: device, key: [UInt8](repeating: 7, count: 32), address: address, port: port, isServer: isServer)
}

func response(_ code: Int32, _ message: String = "") -> RelayMessage {
    .response(RelayResponse(code: code, message: message))
}

extension [RelayAction] {
    /// The code of the error that ends the conversation; nil if it goes on, or ended well.
    var endCode: RelayError.Code? {
        if case .end(let error?)? = last { error.code } else { nil }
    }
}

@Suite struct JoinMachineTests {
    private static func joined(at now: Duration = .zero) -> JoinMachine {
        var machine = JoinMachine()
        _ = machine.begin(at: now)
        _ = machine.handle(.received(response(0, "success")), at: now)
        return machine
    }

    @Test func joinsAndMeasuresTheRoundTrip() {
        var machine = JoinMachine(token: "s3cret")
        #expect(machine.begin(at: .zero) == [.send(.joinRelayRequest(token: "s3cret"))])
        #expect(
            machine.handle(.received(response(0, "success")), at: .seconds(1)) == [.report(.joined), .send(.ping)])
        #expect(
            machine.handle(.received(.pong), at: .seconds(1) + .milliseconds(30))
                == [.report(.roundTrip(.milliseconds(30)))])
        #expect(machine.handle(.received(.ping), at: .seconds(60)) == [.send(.pong)])
        // An answer that nobody asked for is no measurement.
        #expect(machine.handle(.received(.pong), at: .seconds(61)) == [])
    }

    @Test(
        arguments: [
            (2, .alreadyConnected), (3, .wrongToken), (1, .refused), (100, .refused), (77, .refused), (-5, .refused),
        ] as [(Int32, RelayError.Code)])
    func responsesOtherThanSuccess(code: Int32, expected: RelayError.Code) {
        var machine = JoinMachine()
        _ = machine.begin(at: .zero)
        #expect(machine.handle(.received(response(code, "no")), at: .zero).endCode == expected)
        #expect(machine.deadline == nil)
        #expect(machine.handle(.received(.ping), at: .zero) == [])
    }

    @Test func theRemedyForATokenSaysWhichIsWrong() {
        let messages = ["", "old"].map { token in
            var machine = JoinMachine(token: token)
            _ = machine.begin(at: .zero)
            guard case .end(let error?)? = machine.handle(.received(response(3)), at: .zero).last else { return "" }
            return error.message
        }
        #expect(messages[0].contains("add token="))
        #expect(messages[1].contains("correct token="))
    }

    @Test(arguments: [
        RelayMessage.sessionInvitation(invitation()), .joinRelayRequest(token: ""), .joinSessionRequest(key: [1]),
        .connectRequest(device: []),
    ])
    func messagesThatMayNotComeBeforeJoining(message: RelayMessage) {
        var machine = JoinMachine()
        _ = machine.begin(at: .zero)
        #expect(machine.handle(.received(message), at: .zero).endCode == .unexpectedMessage)
    }

    @Test func anAnswerThatDoesNotCome() {
        var machine = JoinMachine()
        _ = machine.begin(at: .seconds(5))
        #expect(machine.deadline == .seconds(15))
        #expect(machine.handle(.timePassed, at: .seconds(14)) == [])
        #expect(machine.handle(.timePassed, at: .seconds(15)).endCode == .timedOut)
    }

    @Test func fullAndClosed() {
        var full = Self.joined()
        #expect(full.handle(.received(.relayFull), at: .seconds(9)).endCode == .full)
        var closed = Self.joined()
        #expect(closed.handle(.closed, at: .seconds(9)).endCode == .closed)
        var refused = Self.joined()
        #expect(refused.handle(.received(response(100)), at: .seconds(9)).endCode == .refused)
    }

    /// Silence is asked about after 90 s, and ends after 120 s if nothing comes.
    @Test func silence() {
        var machine = Self.joined()
        _ = machine.handle(.received(.pong), at: .zero)
        #expect(machine.deadline == .seconds(90))
        #expect(machine.handle(.timePassed, at: .seconds(89)) == [])
        #expect(machine.handle(.timePassed, at: .seconds(90)) == [.send(.ping)])
        #expect(machine.deadline == .seconds(120))
        var answered = machine
        #expect(answered.handle(.received(.pong), at: .seconds(91)) == [.report(.roundTrip(.seconds(1)))])
        #expect(answered.deadline == .seconds(181))
        #expect(machine.handle(.timePassed, at: .seconds(120)).endCode == .silent)
    }

    @Test func doubtIsSettledByAnyMessage() {
        var machine = Self.joined()
        _ = machine.handle(.received(.pong), at: .zero)
        #expect(machine.handle(.doubted, at: .seconds(10)) == [.send(.ping)])
        #expect(machine.handle(.doubted, at: .seconds(11)) == [])
        #expect(machine.deadline == .seconds(13))
        var alive = machine
        _ = alive.handle(.received(.ping), at: .seconds(12))
        #expect(alive.handle(.timePassed, at: .seconds(13)) == [])
        #expect(machine.handle(.timePassed, at: .seconds(13)).endCode == .silent)
    }

    @Test func invitationsWithinTheBudget() {
        var machine = Self.joined()
        let reports = (0..<100).flatMap { _ in
            machine.handle(.received(.sessionInvitation(invitation())), at: .seconds(1))
        }
        #expect(reports.prefix(64).allSatisfy { $0 == .report(.invited(invitation())) })
        #expect(reports.dropFirst(64).allSatisfy { $0 == .report(.refusedInvitation) })
        // A second later four more are allowed.
        let later = (0..<5).flatMap { _ in
            machine.handle(.received(.sessionInvitation(invitation())), at: .seconds(2))
        }
        #expect(
            later == [RelayAction](repeating: .report(.invited(invitation())), count: 4) + [.report(.refusedInvitation)]
        )
    }

    /// Whatever comes in whatever order: nothing after the end, and a deadline as long as it has not ended.
    @Test(arguments: 1...100) func anyEventsKeepTheRules(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var machine = JoinMachine()
        var now = Duration.zero
        _ = machine.begin(at: now)
        var hasEnded = false
        for _ in 0..<60 {
            now += .milliseconds(random.int(0...20_000))
            let actions = machine.handle(RelayEvent.random(using: &random), at: now)
            if hasEnded { #expect(actions == []) }
            let ends = actions.filter { if case .end = $0 { true } else { false } }
            #expect(ends.count <= 1)
            hasEnded = hasEnded || !ends.isEmpty
            #expect((machine.deadline == nil) == hasEnded)
        }
    }
}

extension RelayEvent {
    static func random(using random: inout SeededGenerator) -> RelayEvent {
        switch random.int(0...12) {
        case 0: .failed(RelayError(.malformed, "no message"))
        case 1: .closed
        case 2...4: .timePassed
        case 5: .doubted
        case 6: .received(response(Int32(random.int(-1...4))))
        case 7: .received(.sessionInvitation(invitation(from: random.pick([someDevice, otherDevice]))))
        case 8: .received(random.pick([.relayFull, .connectRequest(device: []), .joinRelayRequest(token: "")]))
        default: .received(random.pick([.ping, .pong]))
        }
    }
}

@Suite struct InvitationMachineTests {
    private func asking() -> InvitationMachine {
        var machine = InvitationMachine(device: someDevice)
        #expect(machine.begin(at: .zero) == [.send(.connectRequest(device: someDevice.digest.bytes))])
        return machine
    }

    @Test func isInvited() {
        var machine = asking()
        #expect(machine.handle(.received(.ping), at: .zero) == [.send(.pong)])
        #expect(
            machine.handle(.received(.sessionInvitation(invitation())), at: .zero)
                == [.report(.invited(invitation())), .end(nil)])
        #expect(machine.handle(.received(.sessionInvitation(invitation())), at: .zero) == [])
    }

    @Test(
        arguments: [
            (.received(response(1, "not found")), .deviceNotJoined), (.received(response(0)), .refused),
            (.received(response(55)), .refused), (.received(.relayFull), .full),
            (.received(.sessionInvitation(invitation(from: otherDevice))), .wrongDevice),
            (.received(.joinRelayRequest(token: "")), .unexpectedMessage), (.closed, .closed),
            (.failed(RelayError(.malformed, "")), .malformed),
        ] as [(RelayEvent, RelayError.Code)])
    func isNotInvited(event: RelayEvent, code: RelayError.Code) {
        var machine = asking()
        #expect(machine.handle(event, at: .seconds(1)).endCode == code)
        #expect(machine.deadline == nil)
    }

    @Test func waitsTenSeconds() {
        var machine = asking()
        #expect(machine.deadline == .seconds(10))
        #expect(machine.handle(.timePassed, at: .seconds(9)) == [])
        #expect(machine.handle(.timePassed, at: .seconds(10)).endCode == .timedOut)
    }
}

@Suite struct SessionMachineTests {
    private let success = Array(buffer: response(0, "success").encoded)

    @Test func whatFollowsTheResponseBelongsToThePipe() {
        var machine = SessionMachine(key: [1, 2, 3])
        #expect(machine.request == .joinSessionRequest(key: [1, 2, 3]))
        #expect(
            machine.read(ByteBuffer(bytes: success + Array("hello".utf8))) == .open(rest: ByteBuffer(string: "hello")))
    }

    /// Even bytes that look like messages.
    @Test(arguments: 1...50) func nothingIsLostHoweverItArrives(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let pipe = random.isOne(in: 2) ? success + success : random.bytes(random.int(0...100))
        let bytes = success + pipe
        var machine = SessionMachine(key: [1])
        var offset = 0
        var got: [UInt8]?
        while offset < bytes.count {
            let piece = Array(bytes[offset...].prefix(random.int(1...60)))
            offset += piece.count
            if got != nil {
                got? += piece
                continue
            }
            switch machine.read(ByteBuffer(bytes: piece)) {
            case .waiting: break
            case .open(let rest): got = Array(buffer: rest)
            case .failed(let error): Issue.record("\(error)")
            }
        }
        #expect(got == pipe)
    }

    @Test(
        arguments: [
            (Array(buffer: response(1, "not found").encoded), .sessionExpired),
            (Array(buffer: response(100, "unexpected message").encoded), .refused),
            (Array(buffer: response(2, "already connected").encoded), .sessionMissed),
            (Array(buffer: response(9).encoded), .refused),
            (Array(buffer: RelayMessage.ping.encoded), .unexpectedMessage),
            (Array("220 mail.example.org ESMTP".utf8), .malformed),
        ] as [([UInt8], RelayError.Code)])
    func anythingElseFails(bytes: [UInt8], code: RelayError.Code) {
        var machine = SessionMachine(key: [1])
        guard case .failed(let error) = machine.read(ByteBuffer(bytes: bytes)) else {
            Issue.record("it did not fail")
            return
        }
        #expect(error.code == code)
        #expect(machine.read(ByteBuffer(bytes: success)) != .open(rest: ByteBuffer()))
    }
}

@Suite struct SessionPlaceTests {
    @Test(
        arguments: [
            // The relay says nothing, itself, or an address of the internet.
            (nil, 22067, "11.7.0.1", "11.7.0.1"), ("11.7.0.1", 22067, "11.7.0.1", "11.7.0.1"),
            ("11.7.0.9", 22067, "11.7.0.1", "11.7.0.9"), ("11.7.0.9", 443, "11.7.0.1", "11.7.0.9"),
            ("2600::9", 22067, "11.7.0.1", "2600::9"), ("11.7.0.9", 22067, "192.168.1.5", "11.7.0.9"),
            // Its own address may be private, and have any port.
            ("192.168.1.5", 25, "192.168.1.5", "192.168.1.5"), ("127.0.0.1", 22067, "127.0.0.1", "127.0.0.1"),
            // What only this device can reach is not followed; nor are the ports of other services.
            ("192.168.1.1", 80, "11.7.0.1", "11.7.0.1"), ("127.0.0.1", 8384, "11.7.0.1", "11.7.0.1"),
            ("169.254.169.254", 80, "11.7.0.1", "11.7.0.1"), ("10.0.0.1", 22067, "192.168.1.5", "192.168.1.5"),
            ("100.64.0.1", 22067, "11.7.0.1", "11.7.0.1"), ("224.0.0.1", 22067, "11.7.0.1", "11.7.0.1"),
            ("::1", 22067, "11.7.0.1", "11.7.0.1"), ("fe80::1", 22067, "11.7.0.1", "11.7.0.1"),
            ("fd00::1", 22067, "11.7.0.1", "11.7.0.1"), ("2002:c0a8:101::1", 22067, "11.7.0.1", "11.7.0.1"),
            ("64:ff9b::c0a8:101", 22067, "11.7.0.1", "11.7.0.1"), ("11.7.0.9", 25, "11.7.0.1", "11.7.0.1"),
            ("11.7.0.9", 1023, "11.7.0.1", "11.7.0.1"),
        ] as [(String?, UInt16, String, String)])
    func onlyTheRelayAndTheInternet(said: String?, port: UInt16, reached: String, expected: String) {
        let address = said.flatMap { IPAddress($0) }
        #expect((address == nil) == (said == nil))
        let place = SessionPlace(
            invitation(address: address, port: port), relay: "relay.example.org", reached: IPAddress(reached))
        #expect(place.host == expected)
        #expect(place.port == port)
    }

    @Test func behindAProxyTheNameStandsForTheRelay() {
        let place = SessionPlace(invitation(port: 443), relay: "relay.example.org", reached: nil)
        #expect(place.host == "relay.example.org")
        let number = SessionPlace(invitation(port: 443), relay: "11.7.0.1", reached: nil)
        #expect(number.host == "11.7.0.1")
    }

    @Test(arguments: [
        ("11.7.0.1", true), ("172.15.0.1", true), ("172.32.0.1", true), ("172.20.0.1", false), ("192.0.2.7", false),
        ("198.18.0.1", false), ("203.0.113.9", false), ("255.255.255.255", false), ("0.0.0.0", false),
        ("2001:db8::1", false), ("2001::1", false), ("2a00:1450::1", true), ("2001:4860::8888", true),
        ("3fff::1", false), ("::", false), ("ff02::1", false), ("::ffff:192.168.1.1", false), ("::c0a8:101", false),
    ]) func publicAddresses(text: String, isPublic: Bool) throws {
        #expect(try #require(IPAddress(text)).isInternetAddress == isPublic)
    }
}

@Suite struct StrangerBudgetTests {
    @Test func oneAtATimeAndSixAMinute() {
        var budget = StrangerBudget()
        func take(_ now: Duration) -> Bool { budget.take(at: now) }
        #expect(take(.zero))
        #expect(!take(.seconds(30)), "the first is under way")
        budget.give()
        for second in 1..<StrangerBudget.perMinute {
            #expect(take(.seconds(second)))
            budget.give()
        }
        #expect(!take(.seconds(59)))
        #expect(take(.seconds(60)))
        budget.give()
        #expect(!take(.milliseconds(60_500)))
        #expect(take(.seconds(61)))
    }
}
