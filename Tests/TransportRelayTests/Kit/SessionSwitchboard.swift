import BlockExchange
import NIOCore
import NIOPosix
import Synchronization
import TransportRelay

/// The sessions of a test relay.
final class SessionSwitchboard: Sendable {
    private struct Session {
        var devices: (DeviceID, DeviceID)
        var keys: ([UInt8], [UInt8])
        /// The ends that have joined, on the loop of all sessions.
        var ends: [NIOLoopBound<SessionEnd>?] = [nil, nil]
    }

    private struct State {
        var sessions: [Session] = []
        var keyCount: UInt64 = 0
        var switches: @Sendable () -> TestRelay.Switches = { TestRelay.Switches() }
        var passed: @Sendable (ByteBuffer) -> Void = { _ in }
        var misses: @Sendable () -> Bool = { false }
        var glued: @Sendable () -> Void = {}
    }

    private let state = Mutex(State())

    func start(
        switches: @escaping @Sendable () -> TestRelay.Switches, passed: @escaping @Sendable (ByteBuffer) -> Void,
        misses: @escaping @Sendable () -> Bool, glued: @escaping @Sendable () -> Void
    ) {
        state.withLock {
            $0.switches = switches
            $0.passed = passed
            $0.misses = misses
            $0.glued = glued
        }
    }

    var switches: TestRelay.Switches { state.withLock { $0.switches }() }

    func passed(_ bytes: ByteBuffer) { state.withLock { $0.passed }(bytes) }

    /// Whether the next end of a session is to be dropped.
    func misses() -> Bool { state.withLock { $0.misses }() }

    func glued() { state.withLock { $0.glued }() }

    func makeSession(of first: DeviceID, and second: DeviceID) async -> ([UInt8], [UInt8]) {
        state.withLock { state in
            func key() -> [UInt8] {
                state.keyCount += 1
                return [UInt8](repeating: 0xAB, count: 31) + [UInt8(truncatingIfNeeded: state.keyCount)]
            }
            let keys = (key(), key())
            state.sessions.append(Session(devices: (first, second), keys: keys))
            return keys
        }
    }

    /// Puts an end into the session of `key`; false if there is none, or if the key was used before.
    func join(_ end: SessionEnd, key: [UInt8], on loop: any EventLoop) -> Bool {
        let bound = NIOLoopBound(end, eventLoop: loop)
        let pair = state.withLock { state -> (place: Int, NIOLoopBound<SessionEnd>?)? in
            for index in state.sessions.indices {
                let keys = state.sessions[index].keys
                for (place, candidate) in [keys.0, keys.1].enumerated() where candidate == key {
                    guard state.sessions[index].ends[place] == nil else { return nil }
                    state.sessions[index].ends[place] = bound
                    return (place, state.sessions[index].ends[1 - place])
                }
            }
            return nil
        }
        guard let pair else { return false }
        end.isSecond = pair.place == 1
        if let peer = pair.1?.value {
            end.peer = peer
            peer.peer = end
        }
        return true
    }

    /// Ends the sessions of a device that has left the relay.
    func close(of device: DeviceID) async {
        close { $0.devices.0 == device || $0.devices.1 == device }
    }

    func closeAll() async { close { _ in true } }

    private func close(where isMeant: (Session) -> Bool) {
        let ends = state.withLock { $0.sessions.filter(isMeant).flatMap(\.ends).compactMap { $0 } }
        for end in ends { end.eventLoop.execute { end.value.close() } }
    }
}

/// One end of a session at a test relay.
final class SessionEnd: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let switchboard: SessionSwitchboard
    private var reader = RelayFrameReader()
    private var context: ChannelHandlerContext?
    private var hasJoined = false
    /// Whether this is the end of the device that was dialled.
    var isSecond = false
    /// What came before the other end was there.
    private var waiting: [ByteBuffer] = []
    private var passedCount = 0
    private var held: ByteBuffer?
    /// The response that is still to be sent, before the first byte of the other end.
    private var response: ByteBuffer?

    var peer: SessionEnd?

    init(switchboard: SessionSwitchboard) { self.switchboard = switchboard }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func close() { context?.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasJoined else {
            pass(unwrapInboundIn(data))
            return
        }
        if switchboard.switches.hasSilentSessions { return }
        reader.append(unwrapInboundIn(data))
        guard let message = try? reader.next() else { return }
        guard case .joinSessionRequest(let key) = message else {
            context.close(promise: nil)
            return
        }
        hasJoined = true
        if switchboard.misses() {
            context.writeAndFlush(
                wrapOutboundOut(RelayMessage.response(RelayResponse(code: 2, message: "already connected")).encoded),
                promise: nil)
            context.close(promise: nil)
            return
        }
        guard switchboard.join(self, key: key, on: context.eventLoop) else {
            context.writeAndFlush(
                wrapOutboundOut(RelayMessage.response(RelayResponse(code: 1, message: "not found")).encoded),
                promise: nil)
            context.close(promise: nil)
            return
        }
        let success = RelayMessage.response(RelayResponse(code: 0, message: "success")).encoded
        // The TLS client, which here is the one that dialled, speaks first: its response cannot wait for bytes.
        if switchboard.switches.gluesResponse, isSecond {
            response = success
        } else {
            context.writeAndFlush(wrapOutboundOut(success), promise: nil)
        }
        peer?.flushWaiting()
        if reader.rest.readableBytes > 0 { pass(reader.rest) }
    }

    private func flushWaiting() {
        let bytes = waiting
        waiting = []
        for piece in bytes { pass(piece) }
    }

    private func pass(_ bytes: ByteBuffer) {
        guard let peer, let output = peer.context else {
            waiting.append(bytes)
            setReading(waiting.count < 4)
            return
        }
        switchboard.passed(bytes)
        passedCount += bytes.readableBytes
        switch switchboard.switches.pipe {
        case .none: peer.write(bytes)
        case .truncates(let count):
            if passedCount <= count {
                peer.write(bytes)
            } else {
                close()
                peer.close()
            }
        case .reorders(let count):
            if let first = held {
                peer.write(bytes)
                peer.write(first)
                held = nil
            } else if passedCount > count {
                held = bytes
            } else {
                peer.write(bytes)
            }
        case .replays(let count):
            peer.write(bytes)
            if passedCount > count { peer.write(bytes) }
        }
        setReading(output.channel.isWritable)
    }

    private func write(_ bytes: ByteBuffer) {
        var bytes = bytes
        if var whole = response {
            response = nil
            switchboard.glued()
            whole.writeBuffer(&bytes)
            bytes = whole
        }
        context?.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }

    private func setReading(_ isReading: Bool) {
        // Fails only on a channel that has closed.
        _ = context?.channel.setOption(.autoRead, value: isReading)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { peer?.setReading(true) }
        context.fireChannelWritabilityChanged()
    }

    /// A test relay passes the end on at once; real ones do so when the other side writes, or after 120 s.
    func channelInactive(context: ChannelHandlerContext) {
        peer?.close()
        context.fireChannelInactive()
    }
}
