import Cryptography
import NIOCore

// bounded-names: offset: an index of the bytes that came

/// Asks an HTTP proxy for a connection by CONNECT (RFC 9110, section 9.3.6), with basic authentication (RFC 7617).
struct ConnectHandshake: ProxyHandshake {
    /// Longest answer, status line and headers, in bytes; interim answers included.
    static let maximumByteCount = 8192

    private let proxy: ProxyAddress
    private let host: String
    private let port: UInt16
    /// How much of the buffer holds no end of the head, so that each byte is looked at once.
    private var searchedByteCount = 0
    /// Bytes of interim answers so far.
    private var interimByteCount = 0
    private var isOver = false

    /// `host` and `port` have been checked: see `ProxyAddress.handshake`.
    init(proxy: ProxyAddress, host: String, port: UInt16) {
        self.proxy = proxy
        self.host = host
        self.port = port
    }

    mutating func start() -> ByteBuffer {
        let target = HostText.join(host, port)
        var text = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n"
        if let credentials = proxy.credentials {
            text += "Proxy-Authorization: Basic "
            text += Base64.encode(credentials.user + [UInt8(ascii: ":")] + credentials.password) + "\r\n"
        }
        return ByteBuffer(string: text + "\r\n")
    }

    mutating func step(_ buffer: inout ByteBuffer) throws(ProxyError) -> ProxyHandshakeStep {
        while !isOver {
            try checkBeginning(buffer)
            let limit = Self.maximumByteCount - interimByteCount
            guard let headByteCount = endOfHead(in: buffer.readableBytesView.prefix(limit)) else {
                guard buffer.readableBytes < limit else {
                    throw notAProxy("its answer is longer than \(Self.maximumByteCount) bytes")
                }
                return .needMore
            }
            let head = buffer.readSlice(length: headByteCount) ?? ByteBuffer()
            searchedByteCount = 0
            switch try status(of: head) {
            case 101: throw notAProxy("it switches to another protocol")
            case 100..<200: interimByteCount += headByteCount
            // Of a success no header matters: the tunnel begins behind the empty line.
            case 200..<300: isOver = true
            case let status: throw refusal(status)
            }
        }
        return .established
    }

    /// The number of bytes of the head with the empty line that ends it. Lines may end without CR (RFC 9112, section 2.2).
    private mutating func endOfHead(in bytes: ByteBufferView) -> Int? {
        var newlines = 0
        // The last three bytes of the last search may be the start of the end.
        for (offset, byte) in bytes.enumerated().dropFirst(max(0, searchedByteCount - 3)) {
            switch byte {
            case UInt8(ascii: "\n"):
                newlines += 1
                if newlines == 2 { return offset + 1 }
            case UInt8(ascii: "\r"): break
            default: newlines = 0
            }
        }
        searchedByteCount = bytes.count
        return nil
    }

    /// Refuses what is no answer of HTTP at its first byte, as such a peer may never send an empty line.
    private func checkBeginning(_ buffer: ByteBuffer) throws(ProxyError) {
        let expected = Array("HTTP/1.".utf8)
        let beginning = Array(buffer.readableBytesView.prefix(expected.count))
        guard expected.starts(with: beginning) else {
            throw notAProxy(
                beginning.first == 5 ? "it speaks SOCKS5; set it as socks5://…" : "it does not speak HTTP/1")
        }
    }

    private func status(of head: ByteBuffer) throws(ProxyError) -> Int {
        // HTTP/1.1 200 Connection established
        let line = head.readableBytesView.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: true)
        guard parts.count >= 2, parts[0].count == 8, parts[1].count == 3,
            parts[1].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let status = Int(String(decoding: parts[1], as: UTF8.self)), status >= 100
        else { throw notAProxy("its answer is malformed") }
        return status
    }

    private func notAProxy(_ reason: String) -> ProxyError {
        ProxyError(.notAProxy, "what answers at \(proxy) cannot be used as a proxy: \(reason)")
    }

    private func refusal(_ status: Int) -> ProxyError {
        let target = HostText.join(host, port)
        let cause = "HTTP status \(status)"
        return switch status {
        case 407 where proxy.credentials == nil:
            ProxyError(
                .passwordRequired,
                "the proxy \(proxy) wants a user name and a password; set it as \(proxy.kind)://USER:PASSWORD@\(HostText.join(proxy.host, proxy.port))",
                cause: cause)
        case 407:
            ProxyError(
                .wrongPassword,
                "the proxy \(proxy) refused the user name or the password; correct them in its address, or ask whether it takes basic authentication",
                cause: cause)
        case 401, 403, 429, 451:
            ProxyError(
                .refusedByProxy, "the proxy \(proxy) does not allow connections to \(target); ask its operator",
                cause: cause)
        case 404, 500, 502, 503, 504:
            ProxyError(
                .targetUnreachable,
                "the proxy \(proxy) cannot reach \(target); check that the other end is on and its address right",
                cause: cause)
        default:
            ProxyError(
                .notAProxy,
                "\(proxy) answered CONNECT with \(status); check that it is a proxy that allows CONNECT to port \(port)",
                cause: cause)
        }
    }
}
