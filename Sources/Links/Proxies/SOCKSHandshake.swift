import NIOCore
import Transport

/// Asks a SOCKS5 proxy for a connection: RFC 1928, with the user name and password of RFC 1929.
struct SOCKSHandshake: ProxyHandshake {
    private enum State {
        case awaitingMethod
        case awaitingAuthentication
        case awaitingReply
        case over
    }

    private enum Method {
        static let none: UInt8 = 0x00
        static let password: UInt8 = 0x02
        static let noneAcceptable: UInt8 = 0xFF
    }

    private static let version: UInt8 = 5
    private static let authenticationVersion: UInt8 = 1

    private let proxy: ProxyAddress
    private let host: String
    private let port: UInt16
    private var state = State.awaitingMethod

    /// `host` and `port` have been checked: see `ProxyAddress.handshake`.
    init(proxy: ProxyAddress, host: String, port: UInt16) {
        self.proxy = proxy
        self.host = host
        self.port = port
    }

    mutating func start() -> ByteBuffer {
        let methods = proxy.credentials == nil ? [Method.none] : [Method.none, Method.password]
        return ByteBuffer(bytes: [Self.version, UInt8(truncatingIfNeeded: methods.count)] + methods)
    }

    mutating func step(_ buffer: inout ByteBuffer) throws(ProxyError) -> ProxyHandshakeStep {
        switch state {
        case .awaitingMethod: try readMethod(&buffer)
        case .awaitingAuthentication: try readAuthentication(&buffer)
        case .awaitingReply: try readReply(&buffer)
        case .over: .established
        }
    }

    private mutating func readMethod(_ buffer: inout ByteBuffer) throws(ProxyError) -> ProxyHandshakeStep {
        try checkVersion(buffer)
        guard let bytes = buffer.readBytes(length: 2) else { return .needMore }
        switch (bytes[1], proxy.credentials) {
        case (Method.none, _):
            state = .awaitingReply
            return .send(request)
        case (Method.password, let credentials?):
            state = .awaitingAuthentication
            var message = ByteBuffer(bytes: [Self.authenticationVersion])
            for field in [credentials.user, credentials.password] {
                message.writeInteger(UInt8(truncatingIfNeeded: field.count))
                message.writeBytes(field)
            }
            return .send(message)
        case (Method.noneAcceptable, nil):
            throw ProxyError(
                .passwordRequired,
                "the proxy \(proxy) wants a user name and a password; set it as socks5://USER:PASSWORD@\(HostText.join(proxy.host, proxy.port))"
            )
        case (Method.noneAcceptable, _):
            throw ProxyError(
                .wrongPassword,
                "the proxy \(proxy) accepts no user name and password; ask its operator how to log in, or set it without them"
            )
        default: throw notAProxy("it chose a way to log in that was not offered")
        }
    }

    private mutating func readAuthentication(_ buffer: inout ByteBuffer) throws(ProxyError) -> ProxyHandshakeStep {
        guard let bytes = buffer.readBytes(length: 2) else { return .needMore }
        // Some servers answer with the version of SOCKS; only the status decides (RFC 1929, section 2).
        guard bytes[0] == Self.authenticationVersion || bytes[0] == Self.version else {
            throw notAProxy("its answer to the password is malformed")
        }
        guard bytes[1] == 0 else {
            throw ProxyError(
                .wrongPassword, "the proxy \(proxy) refused the user name or the password; correct them in its address")
        }
        state = .awaitingReply
        return .send(request)
    }

    private mutating func readReply(_ buffer: inout ByteBuffer) throws(ProxyError) -> ProxyHandshakeStep {
        try checkVersion(buffer)
        let start = buffer.readerIndex
        // A refusal counts as soon as its code is there: some proxies close after a shorter reply.
        if let code = buffer.getInteger(at: start + 1, as: UInt8.self), code != 0 { throw refusal(code) }
        guard let kind = buffer.getInteger(at: start + 3, as: UInt8.self) else { return .needMore }
        let addressByteCount: Int
        switch kind {
        case 1: addressByteCount = 4
        case 4: addressByteCount = 16
        case 3:
            guard let count = buffer.getInteger(at: start + 4, as: UInt8.self) else { return .needMore }
            // bounded: 8 bits
            addressByteCount = 1 + Int(count)
        default: throw notAProxy("its reply is malformed")
        }
        // Which address the proxy uses there is of no use to anyone here.
        guard buffer.readSlice(length: 4 + addressByteCount + 2) != nil else { return .needMore }
        state = .over
        return .established
    }

    /// CONNECT; a name goes as a name, so that the proxy resolves it.
    private var request: ByteBuffer {
        var message = ByteBuffer(bytes: [Self.version, 1, 0])
        if let address = IPAddress(host) {
            message.writeInteger(address.isIPv4 ? 1 : 4, as: UInt8.self)
            message.writeBytes(address.bytes)
        } else {
            message.writeInteger(3, as: UInt8.self)
            message.writeInteger(UInt8(truncatingIfNeeded: host.utf8.count))
            message.writeString(host)
        }
        message.writeInteger(port)
        return message
    }

    private func checkVersion(_ buffer: ByteBuffer) throws(ProxyError) {
        guard let version = buffer.getInteger(at: buffer.readerIndex, as: UInt8.self) else { return }
        guard version == Self.version else {
            throw notAProxy(
                version == UInt8(ascii: "H") ? "it speaks HTTP; set it as http://…" : "it does not speak SOCKS5")
        }
    }

    private func notAProxy(_ reason: String) -> ProxyError {
        ProxyError(.notAProxy, "what answers at \(proxy) cannot be used as a proxy: \(reason)")
    }

    private func refusal(_ code: UInt8) -> ProxyError {
        let target = HostText.join(host, port)
        return switch code {
        case 2:
            ProxyError(
                .refusedByProxy, "the proxy \(proxy) does not allow connections to \(target); ask its operator")
        case 3, 4, 6:
            ProxyError(
                .targetUnreachable,
                "the proxy \(proxy) cannot reach \(target); check that the other end is on and its address right")
        case 5: ProxyError(.targetRefused, "nothing listens at \(target), says the proxy \(proxy); check the port")
        case 7, 8:
            ProxyError(
                .refusedByProxy,
                "the proxy \(proxy) cannot connect to addresses such as \(target); use another proxy, or a name")
        default:
            ProxyError(
                .failed, "the proxy \(proxy) failed to connect to \(target); its log may tell why",
                cause: "SOCKS reply \(code)")
        }
    }
}
