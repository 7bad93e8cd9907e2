/// Carries a stream of v1 frames over GATT values: cuts what one side writes into packets, and makes frames of those that
/// arrive. Knows no clock and no radio; packets may get lost on the way, and frames with them.
public struct DropPacketStream: Sendable {
    /// One value of a characteristic.
    public struct Packet: Sendable, Hashable {
        /// Whether a central writes it without response to the data characteristic; others with response to control. A
        /// peripheral notifies all of them on data.
        public var isBulk: Bool
        public var bytes: [UInt8]
    }

    private let maximumPacket: Int
    private var reader = DropFrameReader()
    private var packetizer = DropPacketizer()
    private var reassembler = DropReassembler()
    private var outgoing = Queue<Packet>()

    /// - Parameter maximumPacket: the longest value, in bytes.
    public init(maximumPacket: Int) { self.maximumPacket = maximumPacket }

    /// Packets that wait to be taken; who writes should wait while there are many.
    public var waitingCount: Int { outgoing.count }

    /// Takes bytes of frames, cut anywhere. After an error the stream is of no use any more.
    ///
    /// - Throws: what `DropFrameReader.next` throws, and `tooLarge` if packets of this size cannot carry a frame.
    public mutating func write(_ bytes: some Collection<UInt8>) throws(GhostDropError) {
        reader.append(bytes)
        while let frame = try reader.next() {
            for bytes in try packetizer.packets(frame, maximumPacket: maximumPacket) {
                outgoing.append(Packet(isBulk: frame.isBulk, bytes: bytes))
            }
        }
    }

    /// The next packet to send; nil: nothing before the next `write`.
    public mutating func nextPacket() -> Packet? { outgoing.removeFirst(1).first }

    /// Takes a packet that arrived; the frame that it completes, else nothing. What is no packet, or completes something
    /// that is no frame, is dropped as if it had been lost.
    public mutating func receive(_ packet: some Collection<UInt8>, at now: Duration) -> [UInt8] {
        guard let bytes = try? reassembler.assemble(Array(packet), at: now), (try? DropFrame(parsing: bytes)) != nil
        else { return [] }
        return bytes
    }
}
