import NIOCore

/// One end of a byte stream over a link: cuts what is written into frames and makes bytes of those that arrive. Knows
/// no clock and no link.
protocol StreamEnd: Sendable {
    /// How many bytes `write` would like to be given at most; more are taken, too.
    var room: Int { get }
    mutating func write(_ bytes: ByteBuffer, at now: Duration)
    /// Nothing more will be written: the stream ends when everything was sent.
    mutating func finish(at now: Duration)
    /// The next frame for the link; nil when nothing may be sent at the moment.
    mutating func nextFrame(at now: Duration) -> LinkFrame?
    mutating func receive(_ frame: LinkFrame, at now: Duration)
    /// Bytes that arrived in order and were not taken.
    var availableByteCount: Int { get }
    mutating func take(atMost byteCount: Int, at now: Duration) -> ByteBuffer
    /// How it stands with the stream.
    var state: StreamEndState { get }
    /// When `nextFrame` has to be asked although nothing has happened.
    var nextDeadline: Duration? { get }
}

enum StreamEndState: Equatable, Sendable {
    case open
    /// The other side has ended the stream; what arrived before may still have to be taken.
    case ended
    case failed
}
