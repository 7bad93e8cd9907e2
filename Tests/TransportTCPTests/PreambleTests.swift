import BlockExchange
import Cryptography
import NIOCore
import NIOEmbedded
import SyncTestKit
import Testing
import Transport

@testable import LinkSecurity

@Suite struct PreambleTests {
    typealias Event = PreambleMachine.Event

    static func device(_ range: ClosedRange<UInt8>) throws -> DeviceID {
        DeviceID(digest: try #require(SHA256Digest(Array(range))))
    }

    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    // MARK: what is derived

    /// Made by `docs/bluetooth-wire.md` alone, in Python.
    @Test func `keys are those of the vector`() throws {
        let keys = try PreambleKeys(
            dialler: Self.device(0...31), responder: Self.device(32...63),
            diallerNonce: [UInt8](repeating: 0x11, count: 16), responderNonce: [UInt8](repeating: 0x22, count: 16))
        #expect(Self.hex(keys.proof) == "769dbd8f349315defd54a64a4ac53a25")
        #expect(Self.hex(keys.diallerKey) == "fb89cade2633f02d7f9650b51bb2eca96fdef1dc6a06ffa90253fc2061cf360e")
        #expect(Self.hex(keys.responderKey) == "f4dfbb7a8506b51483bc96b71a0672bfe4390bceafef961172b923ab12d55ebc")
        for (key, stream) in [
            (keys.diallerKey, "14541eed68900d7e19c256003c0690e7"),
            (keys.responderKey, "050cdad302738a8b14dd613e09037ce9"),
        ] {
            var cipher = try AES256CTR(key: key)
            var bytes = [UInt8](repeating: 0, count: 16)
            try bytes.withUnsafeMutableBytes { try cipher.apply(to: .init(rebasing: $0[..<5])) }
            try bytes.withUnsafeMutableBytes { try cipher.apply(to: .init(rebasing: $0[5...])) }
            #expect(Self.hex(bytes) == stream)
        }
        #expect(throws: CryptographyError.self) { _ = try AES256CTR(key: []) }
    }

    @Test func `nobody else's keys are the same`() throws {
        let (one, two, three) = (try Self.device(0...31), try Self.device(1...32), try Self.device(2...33))
        let (a, b) = ([UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: 16))
        let all = try [
            PreambleKeys(dialler: one, responder: two, diallerNonce: a, responderNonce: b),
            PreambleKeys(dialler: two, responder: one, diallerNonce: a, responderNonce: b),
            PreambleKeys(dialler: one, responder: three, diallerNonce: a, responderNonce: b),
            PreambleKeys(dialler: one, responder: two, diallerNonce: b, responderNonce: a),
            PreambleKeys(dialler: one, responder: two, diallerNonce: a, responderNonce: a),
        ]
        let values = all.flatMap { [Array($0.diallerKey.prefix(16)), Array($0.responderKey.prefix(16)), $0.proof] }
        #expect(Set(values).count == values.count)
    }

    // MARK: the machine

    private static func responder(
        knows known: [DeviceID], isPairing: Bool = false, nonce: UInt8 = 9
    ) throws -> PreambleMachine {
        PreambleMachine(
            .responder(own: try device(32...63), known: known, isPairing: isPairing),
            nonce: [UInt8](repeating: nonce, count: 16))
    }

    /// What the machine answers to `bytes` that come in pieces.
    private static func feed(
        _ bytes: [UInt8], to machine: inout PreambleMachine, _ random: inout SeededGenerator
    ) -> [Event] {
        var events: [Event] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Int.random(in: 1...rest.count, using: &random)
            events += machine.receive(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        return events
    }

    private static func sent(_ events: [Event]) -> [UInt8] {
        events.flatMap { event -> [UInt8] in if case .send(let bytes) = event { bytes } else { [] } }
    }

    @Test(arguments: 0..<50)
    func `two that know each other come together, however the bytes come`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let (own, other, third) = (try Self.device(0...31), try Self.device(32...63), try Self.device(3...34))
        var dialler = PreambleMachine(.dialler(own: own, peer: other), nonce: [UInt8](repeating: 5, count: 16))
        var responder = try Self.responder(knows: [third, own].shuffled(using: &random))
        let first = Self.sent(dialler.start())
        let answer = Self.feed(first, to: &responder, &random)
        let last = Self.feed(Self.sent(answer), to: &dialler, &random)
        let end = Self.feed(Self.sent(last) + [7, 8, 9], to: &responder, &random)
        guard case .opened(let peer, let keys)? = end.last, case .opened(let target, let theirs)? = last.last else {
            Issue.record("not open")
            return
        }
        #expect((peer, target) == (own, other))
        #expect(keys == theirs)
        #expect(responder.rest() == [7, 8, 9])
        #expect((first.count, Self.sent(answer).count, Self.sent(last).count) == (17, 16, 16))
    }

    /// Whatever a stranger sends, it gets 16 bytes that are the nonce, or nothing.
    @Test(arguments: 0..<300)
    func `a stranger gets a nonce and nothing more`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var machine = try Self.responder(knows: [Self.device(0...31)], isPairing: false)
        var bytes = (0..<Int.random(in: 1...80, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        if Bool.random(using: &random) { bytes[0] = 1 }
        let events = Self.feed(bytes, to: &machine, &random)
        #expect(!machine.isOpen)
        #expect(Self.sent(events) == (bytes[0] == 1 && bytes.count >= 17 ? [UInt8](repeating: 9, count: 16) : []))
        #expect(machine.isRefusing == (bytes[0] != 1 || bytes.count >= 33))
        #expect(Self.sent(machine.receive([1] + bytes)).isEmpty || bytes[0] == 1 && bytes.count < 17)
    }

    @Test func `a proof that was heard before proves nothing`() throws {
        let own = try Self.device(0...31)
        var dialler = PreambleMachine(
            .dialler(own: own, peer: try Self.device(32...63)), nonce: [UInt8](repeating: 5, count: 16))
        var first = try Self.responder(knows: [own], nonce: 9)
        let hello = Self.sent(dialler.start())
        let proof = Self.sent(dialler.receive(Self.sent(first.receive(hello))))
        let isOpened = !first.receive(proof).isEmpty
        #expect(isOpened)
        var later = try Self.responder(knows: [own], nonce: 10)
        _ = later.receive(hello)
        let answer = later.receive(proof)
        #expect(answer.isEmpty && later.isRefusing)
    }

    @Test func `a device that was removed is a stranger`() throws {
        let own = try Self.device(0...31)
        var dialler = PreambleMachine(
            .dialler(own: own, peer: try Self.device(32...63)), nonce: [UInt8](repeating: 5, count: 16))
        var responder = try Self.responder(knows: [Self.device(3...34)])
        let proof = Self.sent(dialler.receive(Self.sent(responder.receive(Self.sent(dialler.start())))))
        let answer = responder.receive(proof)
        #expect(answer.isEmpty && responder.isRefusing)
    }

    @Test func `pairing is taken only while it was asked for`() throws {
        var dialler = PreambleMachine(.pairingDialler, nonce: [])
        let events = dialler.start()
        #expect(events == [.send([2]), .openedForPairing])
        var willing = try Self.responder(knows: [], isPairing: true)
        let answer = willing.receive([2, 0x16, 3])
        #expect(answer == [.openedForPairing])
        #expect(willing.rest() == [0x16, 3])
        var unwilling = try Self.responder(knows: [])
        let refusal = unwilling.receive([2, 0x16, 3])
        #expect(refusal.isEmpty && unwilling.isRefusing)
    }

    // MARK: on a channel

    /// Whatever the cause, a link that is refused ends at the same moment, and until then nothing is said.
    @Test func `all refusals look alike`() throws {
        let limit = TimeAmount.seconds(5)
        let known = try Self.device(0...31)
        let nonce = [UInt8](repeating: 3, count: 16)
        let causes: [[[UInt8]]] = [
            [], [[0x16]], [[UInt8](repeating: 0x47, count: 100)], [[1]], [[1] + nonce], [[1] + nonce, nonce],
            [[1] + nonce, nonce + nonce, nonce], [[2, 0x16, 3, 1]], [[0]],
        ]
        for cause in causes {
            let channel = EmbeddedChannel()
            let promise = channel.eventLoop.makePromise(of: PreambleHandler.Outcome.self)
            let handler = PreambleHandler(
                .responder(own: try Self.device(32...63), known: [known], isPairing: false), nonce: nonce,
                patience: limit, promise: promise)
            try channel.pipeline.syncOperations.addHandler(handler)
            try channel.connect(to: SocketAddress(unixDomainSocketPath: "/x")).wait()
            for piece in cause { try channel.writeInbound(ByteBuffer(bytes: piece)) }
            let said = try channel.readOutbound(as: ByteBuffer.self).map { Array($0.readableBytesView) }
            #expect(said == (cause.joined().first == 1 && cause.joined().count >= 17 ? nonce : nil))
            channel.embeddedEventLoop.advanceTime(by: limit - .nanoseconds(1))
            #expect(channel.isActive)
            #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
            channel.embeddedEventLoop.advanceTime(by: .nanoseconds(1))
            #expect(!channel.isActive)
            #expect(throws: LinkSecurityError.self) { _ = try promise.futureResult.wait() }
            _ = try? channel.finish()
        }
    }

    /// Once both are convinced, what passes is the text to them and noise to others.
    @Test func `what follows is hidden both ways`() throws {
        let (one, two) = (try Self.device(0...31), try Self.device(32...63))
        func end(_ role: PreambleMachine.Role, _ nonce: UInt8) throws -> EmbeddedChannel {
            let channel = EmbeddedChannel()
            let promise = channel.eventLoop.makePromise(of: PreambleHandler.Outcome.self)
            promise.futureResult.whenFailure { _ in }
            try channel.pipeline.syncOperations.addHandler(
                PreambleHandler(
                    role, nonce: [UInt8](repeating: nonce, count: 16), patience: .seconds(5), promise: promise))
            try channel.connect(to: SocketAddress(unixDomainSocketPath: "/x")).wait()
            return channel
        }
        let dialler = try end(.dialler(own: one, peer: two), 1)
        let responder = try end(.responder(own: two, known: [one], isPairing: false), 2)
        var heard: [[UInt8]] = []
        func carry(_ from: EmbeddedChannel, _ to: EmbeddedChannel) throws {
            while let bytes = try from.readOutbound(as: ByteBuffer.self) {
                heard.append(Array(bytes.readableBytesView))
                try to.writeInbound(bytes)
            }
        }
        try carry(dialler, responder)
        try carry(responder, dialler)
        let text = ByteBuffer(repeating: 0, count: 1000)
        // The proof and the first text come in one piece.
        try dialler.writeOutbound(text)
        var joined = ByteBuffer()
        while let bytes = try dialler.readOutbound(as: ByteBuffer.self) { joined.writeImmutableBuffer(bytes) }
        heard.append(Array(joined.readableBytesView.dropFirst(16)))
        try responder.writeInbound(joined)
        #expect(try responder.readInbound(as: ByteBuffer.self) == text)
        try responder.writeOutbound(text)
        try carry(responder, dialler)
        #expect(try dialler.readInbound(as: ByteBuffer.self) == text)
        for hidden in heard.suffix(2) {
            #expect(hidden.count == 1000)
            #expect(Set(hidden).count > 200)
        }
        #expect(heard.suffix(2).first != heard.last)
        _ = try? dialler.finish()
        _ = try? responder.finish()
    }
}
